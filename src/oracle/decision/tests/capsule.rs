//! Calls that return a capsule.

use super::*;

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
    let claims = other.edit(|it| it.seen.exporter.claims = Some(crate::oracle::ArrayApi::V2023));
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
fn none_as_a_stream_is_accepted() {
    let scene = Scene::of(&[(Stream, Value::NONE)]);
    assert_eq!(scene.said("STR-NONE"), Said::Holds);
    let refused = scene.raising(ErrorClass::Type).with(Probe::NoStream);
    assert_blamed(&refused, Blame::StrNone, Grade::Violation);
}

#[test]
fn a_wrong_address_is_not_taken_for_a_copy() {
    let differs = crate::oracle::Elements::Differ {
        index: Shape::from_slice(&[0]),
        expected: vec![0],
        seen: vec![1],
    };
    let scene = Scene::of(&[versioned()]).edit(|it| {
        it.tensor().memory = crate::oracle::Memory::Distinct;
        it.tensor().elements = differs;
    });
    assert_eq!(blame(&scene), Word::Lawful);
    assert_eq!(scene.seen.export.managed().unwrap().kind, Kind::Versioned);
    assert_eq!(scene.said("COPY-FLAG-SET"), Said::Silent);
    assert_eq!(scene.said("COPY-VALUES"), Said::Breaks(Grade::Violation));
}
