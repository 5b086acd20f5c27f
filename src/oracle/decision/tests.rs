//! The ruling on planted faults and their lawful twins, and the sweep that calibrates it.

use super::super::testing::{Said, Scene, call, raised};
use super::*;
use crate::case::{
    Access, Arg, Call, Dtype, Keyword::*, Probe, Probes, Scalar, SeqKind, Shape, Tensor, Value,
};
use crate::oracle::{Exportable, Kind};

const CUDA: DLDevice = DLDevice::new(2, 0);

fn values(keyword: Keyword) -> Vec<Value> {
    let pair = Value::pair;
    let list = Value::Seq(SeqKind::List, [Scalar::Int(1), Scalar::Int(0)].as_slice().into());
    let int_enum = [Scalar::IntEnum(1), Scalar::Int(0)];
    match keyword {
        Stream => [-1, 0, 1, 2, 3, -2, i64::MIN].map(Value::int).into_iter().collect(),
        MaxVersion => {
            vec![pair(0, 0), pair(0, 8), pair(1, 0), pair(1, 1), pair(1, 99), pair(2, 0), list]
        }
        DlDevice => vec![
            pair(1, 0),
            Value::Own,
            Value::Seq(SeqKind::Tuple, int_enum.as_slice().into()),
            pair(1, 3),
            pair(10, 0),
            pair(17, 0),
            pair(0, 0),
            pair(1, -1),
            Value::int(1),
            list,
        ],
        Copy => vec![Value::bool(true), Value::bool(false), Value::int(0)],
    }
}

fn every_call() -> Vec<Call> {
    Keyword::ALL.into_iter().fold(vec![Call::default()], |calls, keyword| {
        let mut args = vec![Arg::Absent, Arg::NONE];
        args.extend(values(keyword).into_iter().map(Arg::Given));
        calls
            .iter()
            .flat_map(|call| args.iter().map(|arg| call.clone().with(keyword, arg.clone())))
            .collect()
    })
}

/// The calibration: whatever is asked of a lawful exporter, its answer is granted, and so is any probe's.
#[test]
fn a_lawful_exporter_is_never_accused_whatever_the_call_and_the_array() {
    let plain = Tensor::plain();
    let arrays = [
        plain.clone(),
        Tensor { access: Access::ReadOnly, ..plain.clone() },
        Tensor { shape: Shape::from_slice(&[0, 3]), ..plain.clone() },
        Tensor { dtype: Dtype::named("object", 0).unwrap(), ..plain.clone() },
        Tensor { dtype: Dtype::named("int16", 0).unwrap().swapped(), ..plain.clone() },
        Tensor { device: CUDA, ..plain.clone() },
    ];
    for array in arrays {
        for call in every_call() {
            let bare = Scene::new(array.clone(), call);
            bare.assert_lawful();
            let scene = Probes::ALL.iter().fold(bare, Scene::with);
            scene.assert_lawful();
        }
    }
}

fn blame(scene: &Scene) -> Word {
    rule(&scene.case, &scene.seen, &scene.profile).word
}

#[track_caller]
fn assert_blamed(scene: &Scene, blamed: Blame, grade: Grade) {
    assert_eq!(blame(scene), Word::Blamed(blamed, grade));
    if super::super::rules().iter().any(|rule| rule.id == blamed.id()) {
        assert_eq!(scene.said(blamed.id()), Said::Breaks(grade));
    }
}

fn legacy() -> [(Keyword, Value); 1] {
    [(MaxVersion, Value::NONE)]
}

fn versioned() -> (Keyword, Value) {
    (MaxVersion, Value::pair(1, 0))
}

#[test]
fn the_kind_of_capsule_is_judged_by_max_version() {
    let answered_versioned = |args: &[_]| Scene::of(args).answering(&[versioned()]);
    let answered_legacy = |args: &[_]| Scene::of(args).answering(&legacy());
    let violation = Grade::Violation;
    assert_blamed(&answered_versioned(&[]), Blame::VerNoneLegacy, violation);
    assert_blamed(&answered_versioned(&[]).under("lenient"), Blame::VerNoneLegacy, Grade::Warning);
    let zero = [(MaxVersion, Value::pair(0, 8))];
    assert_blamed(&answered_versioned(&zero), Blame::Ver0x, Grade::Warning);
    assert_eq!(blame(&answered_legacy(&zero)), Word::Lawful);
    assert_blamed(&answered_legacy(&[versioned()]), Blame::Ver1xVersioned, Grade::Info);
    let mlx = answered_legacy(&[versioned()]).edit(|it| it.seen.exporter.versioned = false);
    assert_eq!(blame(&mlx), Word::Lawful);
    assert_blamed(&mlx.under("strict"), Blame::Ver1xVersioned, Grade::Warning);
    let ceiling =
        Scene::of(&[versioned()]).edit(|it| it.managed().version.as_mut().unwrap().major = 2);
    assert_blamed(&ceiling, Blame::VerCeiling, Grade::Warning);
}

#[test]
fn the_memory_is_judged_by_copy() {
    let copy = |value| (Copy, Value::bool(value));
    let ignored = Scene::of(&[versioned(), copy(true)]).answering(&[versioned()]);
    assert_blamed(&ignored, Blame::CopyTrueIgnored, Grade::Violation);
    let legacy_ignored = Scene::of(&[copy(true)]).answering(&[]);
    assert_blamed(&legacy_ignored, Blame::CopyTrueIgnored, Grade::Violation);
    let copied = Scene::of(&[copy(false)]).answering(&[copy(true)]);
    assert_blamed(&copied, Blame::CopyFalseAlias, Grade::Violation);
    let unasked = Scene::of(&[versioned()]).answering(&[versioned(), copy(true)]);
    assert_blamed(&unasked, Blame::CopyNoneAlias, Grade::Warning);
    let shareable = unasked.clone().with(Probe::CopyFalse);
    assert_blamed(&shareable, Blame::CopyNoneAlias, Grade::Violation);
    // A stride that no number of items makes has no form without a copy.
    let packed = unasked.edit(|it| it.seen.source.strides[0] = 6);
    assert_eq!(blame(&packed), Word::Lawful);
}

#[test]
fn size_zero_is_neither_alias_nor_copy() {
    let empty = Tensor { shape: Shape::from_slice(&[0]), ..Tensor::plain() };
    for copy in [true, false] {
        let scene = Scene::new(empty.clone(), call(&[(Copy, Value::bool(copy))]));
        assert_eq!(blame(&scene), Word::Lawful);
    }
}

#[test]
fn a_capsule_on_another_device_is_that_and_nothing_else() {
    let ignored = Scene::of(&[(DlDevice, Value::pair(10, 0)), (Copy, Value::bool(true))]);
    assert_blamed(&ignored.answering(&[]), Blame::DevHonour, Grade::Violation);
    // mlx stamps any CPU index, torch ignores it: DEV-CPU-ID-OTHER takes note of both.
    let index = Scene::of(&[(DlDevice, Value::pair(1, 3))]).answering(&[]);
    assert_eq!(blame(&index), Word::Lawful);
    let stamped = index.edit(|it| it.tensor().device = DLDevice::new(1, 3));
    assert_eq!(blame(&stamped), Word::Lawful);
    // A device that the exporter has after all.
    let second = Tensor { device: CUDA, ..Tensor::plain() };
    let moved =
        Scene::new(second, call(&[(DlDevice, Value::pair(2, 1)), (Copy, Value::bool(true))]));
    let moved = moved.answering(&[(DlDevice, Value::pair(1, 0))]);
    let moved = moved.edit(|it| it.tensor().device = DLDevice::new(2, 1));
    assert_eq!(blame(&moved), Word::Lawful);
}

#[test]
fn device_memory_has_no_form_on_the_cpu_without_a_copy() {
    let array = Tensor { device: CUDA, ..Tensor::plain() };
    let args = [(DlDevice, Value::pair(1, 0)), (Copy, Value::bool(false))];
    let scene = Scene::new(array.clone(), call(&args));
    assert_eq!(blame(&scene), Word::Lawful);
    let given = scene.clone().answering(&[(DlDevice, Value::pair(1, 0))]);
    assert_blamed(&given, Blame::CopyFalseBe, Grade::Violation);
    let other = scene.raising(ErrorClass::Value);
    assert_blamed(&other, Blame::ExcNocopyCrossdev, Grade::Violation);
    assert_blamed(
        &other.clone().under("spec-2023.12-first"),
        Blame::ExcNocopyCrossdev,
        Grade::Warning,
    );
    let claims = other.edit(|it| it.seen.exporter.claims = Some(super::super::ArrayApi::V2023));
    assert_blamed(&claims, Blame::ExcNocopyCrossdev, Grade::Warning);
}

#[test]
fn streams_are_judged_by_the_device() {
    let cpu = |number| Scene::of(&[(Stream, Value::int(number))]).answering(&[]);
    assert_blamed(&cpu(1), Blame::StrCpuNoneOnly, Grade::Warning);
    assert_blamed(&cpu(-1), Blame::StrCpuNoneOnly, Grade::Info);
    assert_blamed(&cpu(-1).under("strict"), Blame::StrCpuNoneOnly, Grade::Violation);
    assert_eq!(blame(&cpu(1).under("lenient")), Word::Lawful);
    let on = |device, value: Value| {
        let array = Tensor { device, ..Tensor::plain() };
        Scene::new(array, call(&[(Stream, value)])).answering(&[])
    };
    assert_eq!(blame(&on(CUDA, Value::int(1))), Word::Lawful);
    assert_blamed(&on(CUDA, Value::int(0)), Blame::StrCudaZero, Grade::Warning);
    assert_blamed(&on(CUDA, Value::int(-5)), Blame::StrRange, Grade::Warning);
    assert_blamed(&on(CUDA, Value::Scalar(Scalar::Bytes)), Blame::StrNonint, Grade::Warning);
    let rocm = DLDevice::new(10, 0);
    assert_eq!(blame(&on(rocm, Value::int(0))), Word::Lawful);
    assert_blamed(&on(rocm, Value::int(2)), Blame::StrRocmValues, Grade::Warning);
    // SYCL queues and the like: only None is judged.
    let one_api = on(DLDevice::new(14, 0), Value::Scalar(Scalar::Object));
    assert_eq!(blame(&one_api), Word::NotJudged);
    // `True` is no test value.
    assert_eq!(blame(&on(DLDevice::CPU, Value::bool(true)).answering(&[])), Word::NotJudged);
}

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
    // tvm-ffi: AttributeError for (0, 8). JAX: BufferError below (0, 5), which is lawful.
    let old = Scene::of(&[(MaxVersion, Value::pair(0, 0))]);
    assert_blamed(&old.clone().raising(ErrorClass::Other), Blame::VerOldBe, Grade::Warning);
    assert_eq!(blame(&old.raising(ErrorClass::Buffer)), Word::Lawful);
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

#[test]
fn what_cannot_be_exported_demands_buffer_error() {
    let objects = Tensor { dtype: Dtype::named("object", 0).unwrap(), ..Tensor::plain() };
    let scene = Scene::new(objects, Call::default());
    assert_eq!(blame(&scene), Word::Lawful);
    let other = scene.raising(ErrorClass::Runtime);
    assert_blamed(&other, Blame::ExcNotexportable, Grade::Warning);
    assert_blamed(&other.clone().under("strict"), Blame::ExcNotexportable, Grade::Violation);
    let older = other.edit(|it| it.seen.exporter.claims = Some(super::super::ArrayApi::V2021));
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
fn malformed_arguments_that_are_accepted() {
    let list = Value::Seq(SeqKind::List, [Scalar::Int(1), Scalar::Int(0)].as_slice().into());
    let near = Scene::of(&[(DlDevice, list)]).answering(&[]);
    assert_blamed(&near, Blame::SigMalformed, Grade::Info);
    assert_blamed(&near.clone().under("strict"), Blame::SigMalformed, Grade::Warning);
    let far = Scene::of(&[(DlDevice, Value::int(1))]).answering(&[]);
    assert_blamed(&far, Blame::SigMalformed, Grade::Warning);
    let ignored = far.with_raised(Probe::Version10, ErrorClass::Type);
    assert_blamed(&ignored, Blame::SigMalformedIgnored, Grade::Warning);
    let negative = Scene::of(&[(MaxVersion, Value::pair(-1, 0))]);
    assert_blamed(&negative, Blame::VerNegative, Grade::Info);
}

#[test]
fn the_own_device_in_any_spelling_is_no_device() {
    let int_enum = [Scalar::IntEnum(1), Scalar::Int(0)];
    let written = Value::Seq(SeqKind::Tuple, int_enum.as_slice().into());
    let cases = [
        (Value::pair(1, 0), Blame::CopySameDeviceNeutral, Grade::Violation),
        (Value::Own, Blame::SigDeviceEnum, Grade::Violation),
        (written, Blame::SigDeviceEnum, Grade::Warning),
    ];
    for (value, blamed, grade) in cases {
        let lawful = Scene::of(&[versioned(), (DlDevice, value)]);
        assert_eq!(blame(&lawful), Word::Lawful);
        let refused = lawful.raising(ErrorClass::Type).with(Probe::NoDevice);
        assert_blamed(&refused.with(Probe::OwnDevice), blamed, grade);
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
fn none_as_a_stream_is_accepted() {
    let scene = Scene::of(&[(Stream, Value::NONE)]);
    assert_eq!(scene.said("STR-NONE"), Said::Holds);
    let refused = scene.raising(ErrorClass::Type).with(Probe::NoStream);
    assert_blamed(&refused, Blame::StrNone, Grade::Violation);
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
fn a_refusal_asks_for_the_probes_that_settle_it() {
    let call = call(&[versioned(), (Copy, Value::bool(false))]);
    let scene = Scene::new(Tensor::plain(), call);
    let probes = |outcome: &Outcome| probes_to_settle(&scene.case, DLDevice::CPU, outcome);
    assert!(probes(&scene.seen.export).is_empty());
    let refused = probes(&raised(ErrorClass::Buffer));
    for probe in [Probe::Plain, Probe::CpuDevice, Probe::Version199, Probe::CopyNone] {
        assert!(refused.contains(probe), "{}", probe.name());
    }
    // BufferError is due for this device: nothing to settle.
    let foreign = Scene::of(&[(DlDevice, Value::pair(10, 0))]);
    assert!(probes_to_settle(&foreign.case, DLDevice::CPU, &foreign.seen.export).is_empty());
}

#[test]
fn with_the_probes_it_asks_for_a_refusal_is_always_judged() {
    for call in every_call() {
        let scene = Scene::new(Tensor::plain(), call).raising(ErrorClass::Runtime);
        if Classes::of(&scene.case.call, DLDevice::CPU).is_err() {
            continue;
        }
        let probes = probes_to_settle(&scene.case, DLDevice::CPU, &scene.seen.export);
        // Where another order succeeds the order is to blame.
        let settled = probes.iter().fold(scene, |scene, probe| match probe {
            Probe::Reordered => scene.with_raised(probe, ErrorClass::Runtime),
            _ => scene.with(probe),
        });
        assert_ne!(blame(&settled), Word::NotJudged, "{:?}", settled.case.call);
    }
}

#[test]
fn a_wrong_address_is_not_taken_for_a_copy() {
    let differs = super::super::Elements::Differ {
        index: Shape::from_slice(&[0]),
        expected: vec![0],
        seen: vec![1],
    };
    let scene = Scene::of(&[versioned()]).edit(|it| {
        it.tensor().memory = super::super::Memory::Distinct;
        it.tensor().elements = differs;
    });
    assert_eq!(blame(&scene), Word::Lawful);
    assert_eq!(scene.seen.export.managed().unwrap().kind, Kind::Versioned);
    assert_eq!(scene.said("COPY-FLAG-SET"), Said::Silent);
    assert_eq!(scene.said("COPY-VALUES"), Said::Breaks(Grade::Violation));
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
