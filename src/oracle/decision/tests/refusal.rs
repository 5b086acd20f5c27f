//! Calls that raise.

use super::calibration::every_call;
use super::*;

#[test]
fn an_unsupported_device_demands_buffer_error() {
    let scene = Scene::of(&[(DlDevice, Value::pair(2, 0))]);
    assert_eq!(blame(&scene), Word::Lawful);
    let numpy_2_3 = scene.raising(ErrorClass::Value);
    assert_blamed(&numpy_2_3, Blame::ExcDevice, Grade::Violation);
    let unknown = Scene::of(&[(DlDevice, Value::pair(17, 0))]);
    assert_eq!(blame(&unknown), Word::Lawful);
    assert_blamed(&unknown.clone().raising(ErrorClass::Type), Blame::ExcDevice, Grade::Info);
    // The stream error may come first (NumPy <= 2.3: RuntimeError).
    let both = Scene::of(&[(DlDevice, Value::pair(2, 0)), (Stream, Value::int(1))]);
    assert_eq!(blame(&both.raising(ErrorClass::Runtime)), Word::Lawful);
}

#[test]
fn a_read_only_array_explains_a_refusal_only_where_it_is_refused() {
    let immutable = Scene::of(&[(DlDevice, Value::pair(2, 0))])
        .edit(|it| it.seen.exporter.mutable = false)
        .raising(ErrorClass::Runtime);
    assert_blamed(&immutable, Blame::ExcNotexportable, Grade::Warning);
    let refused = immutable.clone().with_raised(Probe::Plain, ErrorClass::Buffer);
    assert_blamed(&refused, Blame::ExcNotexportable, Grade::Warning);
    // JAX exports its arrays as legacy structs, and raises RuntimeError for a device that it has not.
    let served = immutable.with(Probe::Plain);
    assert_blamed(&served, Blame::ExcDevice, Grade::Violation);
    assert_eq!(blame(&served.raising(ErrorClass::Buffer)), Word::Lawful);
}

#[test]
fn a_malformed_argument_explains_every_exception_but_a_missing_check() {
    let scene = Scene::of(&[(DlDevice, Value::int(1))]);
    for class in [ErrorClass::Type, ErrorClass::Value, ErrorClass::Overflow, ErrorClass::Buffer] {
        assert_eq!(blame(&scene.clone().raising(class)), Word::Lawful);
    }
    let unchecked = scene.raising(ErrorClass::Other);
    assert_blamed(&unchecked, Blame::ExcUnexpected, Grade::Warning);
}

#[test]
fn a_refusal_without_max_version_is_measured_by_the_plain_call() {
    let args = [(Copy, Value::NONE)];
    let refused = Scene::of(&args).raising(ErrorClass::Buffer);
    assert_eq!(blame(&refused), Word::NotJudged);
    let always = refused.clone().with_raised(Probe::Plain, ErrorClass::Buffer);
    assert_eq!(blame(&always), Word::Lawful);
    let sometimes = refused.with(Probe::Plain);
    assert_blamed(&sometimes, Blame::SigAbsentIsNone, Grade::Warning);
    // An exporter without legacy capsules.
    let plain = Scene::plain().raising(ErrorClass::Buffer);
    assert_eq!(blame(&plain), Word::Lawful);
}

#[test]
fn a_refused_version_is_measured_by_the_others() {
    let refused = Scene::of(&[versioned()]).raising(ErrorClass::Buffer);
    assert_eq!(blame(&refused), Word::NotJudged);
    let minor = refused.clone().with(Probe::Version199);
    assert_blamed(&minor, Blame::VerSameMajor, Grade::Warning);
    let all = refused.clone().with_raised(Probe::Version199, ErrorClass::Buffer);
    assert_blamed(&all.clone().with(Probe::Unversioned), Blame::VerIndependent, Grade::Warning);
    assert_eq!(blame(&all), Word::NotJudged);
    // No call exports it (DTY-STANDARD-ALL); or some call does.
    let never = all.clone().with_raised(Probe::Plain, ErrorClass::Buffer);
    assert_eq!(blame(&never), Word::Lawful);
    assert_blamed(&never.with(Probe::Version11), Blame::ExcUnexpected, Grade::Violation);
    let major = Scene::of(&[(MaxVersion, Value::pair(2, 0))]).raising(ErrorClass::Value);
    assert_blamed(&major.with(Probe::Version199), Blame::VerHigherMajor, Grade::Violation);
}

#[test]
fn a_version_that_is_too_old_is_refused_on_purpose_or_by_oversight() {
    // JAX: BufferError below (0, 5), which is lawful.
    let old = Scene::of(&[(MaxVersion, Value::pair(0, 0))]);
    assert_eq!(blame(&old.clone().raising(ErrorClass::Buffer)), Word::Lawful);
    let served = old.clone().with(Probe::Unversioned);
    for class in [ErrorClass::Value, ErrorClass::Runtime] {
        assert_blamed(&served.clone().raising(class), Blame::VerOldBe, Grade::Warning);
    }
    // tvm-ffi: AttributeError for (0, 8). Without the call that has no version the array may be the reason.
    for class in [ErrorClass::Other, ErrorClass::Assertion] {
        let overlooked = served.clone().raising(class);
        assert_blamed(&overlooked, Blame::ExcUnexpected, Grade::Violation);
        assert_blamed(&old.clone().raising(class), Blame::VerOldBe, Grade::Warning);
    }
    let own_type = served.raising(ErrorClass::Other).edit(|it| {
        let (class, name) = (ErrorClass::Other, "LibraryError".into());
        it.seen.export = Outcome::Raised(Raised { class, name, message: None });
    });
    assert_blamed(&own_type, Blame::VerOldBe, Grade::Warning);
}

#[test]
fn a_refused_copy_is_measured_by_the_call_without_it() {
    let strict = Scene::of(&[versioned(), (Copy, Value::bool(false))]);
    let refused = strict
        .clone()
        .raising(ErrorClass::Buffer)
        .with_raised(Probe::Version199, ErrorClass::Buffer);
    assert_eq!(blame(&refused), Word::NotJudged);
    let shareable = refused.clone().with(Probe::CopyNone);
    assert_blamed(&shareable, Blame::CopyFalseConsistent, Grade::Violation);
    let unshareable =
        refused.probe_answering(Probe::CopyNone, &[versioned(), (Copy, Value::bool(true))]);
    assert_eq!(blame(&unshareable), Word::Lawful);
    let other = unshareable.raising(ErrorClass::Value);
    assert_blamed(&other, Blame::ExcCopyImpossible, Grade::Violation);
    // A layout that is exported on request only, as a copy.
    let requested = strict
        .edit(|it| it.seen.source.exportable = Exportable::Unknown)
        .raising(ErrorClass::Buffer)
        .with_raised(Probe::Version199, ErrorClass::Buffer)
        .with_raised(Probe::Plain, ErrorClass::Buffer)
        .with_raised(Probe::CpuDevice, ErrorClass::Buffer)
        .with_raised(Probe::CopyNone, ErrorClass::Buffer)
        .with(Probe::CopyTrue);
    assert_eq!(blame(&requested), Word::Lawful);
    let other = requested.clone().raising(ErrorClass::Value);
    assert_blamed(&other, Blame::CopyFalseBe, Grade::Violation);
    let unasked = requested.edit(|it| it.case.call.copy = Arg::Absent);
    assert_eq!(blame(&unasked), Word::Lawful);
    let legacy = Scene::of(&[(Copy, Value::bool(false))]).raising(ErrorClass::Buffer);
    let legacy = legacy.with(Probe::Plain).with(Probe::CopyNone);
    assert_blamed(&legacy, Blame::CopyFalseConsistent, Grade::Warning);

    let refused = Scene::of(&[versioned(), (Copy, Value::bool(true))]).raising(ErrorClass::Buffer);
    let refused = refused.with_raised(Probe::Version199, ErrorClass::Buffer);
    assert_blamed(&refused, Blame::CopyTrueRefused, Grade::Warning);
    assert_blamed(&refused.clone().under("strict"), Blame::CopyTrueRefused, Grade::Violation);
    assert_blamed(&refused.clone().under("aat"), Blame::CopyTrueRefused, Grade::Violation);
    assert_eq!(blame(&refused.clone().under("lenient")), Word::Lawful);
    let other = refused.clone().raising(ErrorClass::Runtime);
    assert_blamed(&other, Blame::CopyTrueRefused, Grade::Violation);
    assert_eq!(blame(&refused.raising(ErrorClass::Memory)), Word::Lawful);
}

/// Of a library that takes neither keyword (cuda.core 1.2).
#[test]
fn a_copy_on_a_named_device_is_refused_as_the_copy_is() {
    let both = [versioned(), (DlDevice, Value::Own), (Copy, Value::bool(true))];
    let refused = Scene::of(&both)
        .raising(ErrorClass::Buffer)
        .with_raised(Probe::Version199, ErrorClass::Buffer)
        .with_raised(Probe::OwnDevice, ErrorClass::Buffer)
        .with_raised(Probe::CopyNone, ErrorClass::Buffer)
        .with(Probe::Plain);
    let copy = refused.clone().with_raised(Probe::NoDevice, ErrorClass::Buffer);
    assert_blamed(&copy, Blame::CopyTrueRefused, Grade::Warning);
    let device = refused.with(Probe::NoDevice);
    assert_blamed(&device, Blame::CopySameDeviceNeutral, Grade::Violation);
}

#[test]
fn what_cannot_be_exported_demands_buffer_error() {
    let objects = Tensor { dtype: Dtype::named("object", 0).unwrap(), ..Tensor::plain() };
    let scene = Scene::new(objects, Call::default());
    assert_eq!(blame(&scene), Word::Lawful);
    let other = scene.raising(ErrorClass::Runtime);
    assert_blamed(&other, Blame::ExcNotexportable, Grade::Warning);
    assert_blamed(&other.clone().under("strict"), Blame::ExcNotexportable, Grade::Violation);
    let older = other.edit(|it| it.seen.exporter.claims = Some(crate::oracle::ArrayApi::V2021));
    assert_blamed(&older, Blame::ExcNotexportable, Grade::Info);
    // Nobody says whether it can be exported: the plain call and the one with (1, 0) decide.
    let unknown = Scene::of(&[versioned()]).raising(ErrorClass::Runtime);
    let unknown = unknown.edit(|it| it.seen.source.exportable = Exportable::Unknown);
    assert_eq!(blame(&unknown), Word::NotJudged);
    assert_blamed(&unknown.clone().with(Probe::Plain), Blame::ExcUnexpected, Grade::Violation);
    let never = unknown
        .with_raised(Probe::Plain, ErrorClass::Runtime)
        .with_raised(Probe::CpuDevice, ErrorClass::Runtime);
    assert_blamed(&never, Blame::ExcNotexportable, Grade::Warning);
}

#[test]
fn a_dtype_outside_the_standard_is_refused_at_a_warning_at_most() {
    let half = Tensor { dtype: Dtype::named("float16", 0).unwrap(), ..Tensor::plain() };
    let refused = Scene::new(half, call(&[versioned(), (Copy, Value::bool(true))]));
    assert_blamed(&refused.raising(ErrorClass::Runtime), Blame::CopyTrueRefused, Grade::Warning);
}

#[test]
fn a_read_only_array_may_be_refused_in_a_legacy_capsule() {
    let array = Tensor { access: Access::ReadOnly, ..Tensor::plain() };
    let numpy = Scene::new(array.clone(), Call::default());
    assert_eq!(blame(&numpy), Word::Lawful);
    assert_blamed(
        &numpy.clone().raising(ErrorClass::Runtime),
        Blame::ExcNotexportable,
        Grade::Warning,
    );
    let mut given = Scene::plain();
    given.seen.source.writable = Some(false);
    assert_eq!(blame(&given), Word::Blamed(Blame::RoLegacy, Grade::Info));
    let strict = given.clone().under("strict");
    assert_eq!(blame(&strict), Word::Blamed(Blame::RoLegacy, Grade::Violation));
    assert_eq!(blame(&given.under("lenient")), Word::Lawful);
}

#[test]
fn an_exporter_without_a_keyword_is_not_judged_by_it() {
    let numpy_1_26 = |args: &[(Keyword, Value)]| {
        Scene::of(args).edit(|it| it.seen.exporter.keywords = [true, false, false, false])
    };
    for args in [[(Copy, Value::bool(true))], [(DlDevice, Value::pair(10, 0))], [versioned()]] {
        let scene = numpy_1_26(&args).raising(ErrorClass::Type);
        assert_eq!(blame(&scene), Word::Lawful);
        assert_eq!(scene.said("EXC-UNEXPECTED"), Said::Holds);
        let other = scene.raising(ErrorClass::Value);
        assert_blamed(&other, Blame::SigOldTypeerror, Grade::Warning);
    }
}

#[test]
fn a_foreign_enum_is_no_proof_that_a_device_is_not_handled() {
    let items = [Scalar::IntEnum(10), Scalar::Int(0)];
    let rocm = Value::Seq(SeqKind::Tuple, items.as_slice().into());
    let scene = Scene::of(&[(DlDevice, rocm)]);
    assert_eq!(blame(&scene), Word::Lawful);
    assert_blamed(&scene.raising(ErrorClass::Type), Blame::SigDeviceEnum, Grade::Warning);
}

#[test]
fn no_row_makes_a_system_error_or_a_base_exception_lawful() {
    for call in every_call().into_iter().step_by(7) {
        let scene = Scene::new(Tensor::plain(), call);
        assert_blamed(
            &scene.clone().raising(ErrorClass::System),
            Blame::ExcSystemerror,
            Grade::Violation,
        );
        assert_blamed(&scene.raising(ErrorClass::Base), Blame::ExcClass, Grade::Violation);
    }
}

#[test]
fn the_suite_accepts_buffer_error_across_devices_only() {
    let array = Tensor { device: CUDA, ..Tensor::plain() };
    let cpu = (DlDevice, Value::pair(1, 0));
    let refused = Scene::new(array, call(&[cpu])).raising(ErrorClass::Buffer).with(Probe::Plain);
    assert_eq!(blame(&refused), Word::Blamed(Blame::DevCpuOffer, Grade::Warning));
    let refused = refused.under("aat");
    assert_eq!(blame(&refused), Word::Blamed(Blame::DevCpuOffer, Grade::Violation));
    let old = Scene::of(&[(MaxVersion, Value::pair(0, 0))]).raising(ErrorClass::Buffer);
    assert_blamed(&old.under("aat"), Blame::Ver0x, Grade::Violation);
}

#[test]
fn a_refusal_that_the_order_of_keywords_explains_is_not_blamed_on_a_value() {
    let scene = Scene::of(&[versioned(), (DlDevice, Value::pair(1, 0))]);
    let scene = scene.raising(ErrorClass::Value).with(Probe::NoDevice).with(Probe::Reordered);
    scene.assert_only("SIG-ORDER-FREE", Grade::Violation);
}

#[test]
fn names_made_at_run_time_that_are_not_known_say_nothing_of_the_values() {
    let mut scene = Scene::of(&[versioned()]).raising(ErrorClass::Type);
    scene.case.call.keys = crate::case::Keys::Fresh;
    scene.with(Probe::Plain).with_raised(Probe::NoneForAbsent, ErrorClass::Type).assert_lawful();
}
