use super::*;
use smallvec::smallvec;

const CUDA: DLDevice = DLDevice::new(2, 0);

fn device(value: Value, own: DLDevice) -> Result<DlDevice, Unclassed> {
    device_class(&Arg::Given(value), own)
}

#[test]
fn devices_fall_into_the_classes_of_16_2() {
    let pair = Value::pair;
    assert_eq!(device(pair(1, 0), DLDevice::CPU), Ok(DlDevice::Same));
    assert_eq!(device(Value::Own, CUDA), Ok(DlDevice::Same));
    assert_eq!(device(pair(1, 3), DLDevice::CPU), Ok(DlDevice::CpuOther));
    assert_eq!(device(pair(1, 0), CUDA), Ok(DlDevice::CpuOther));
    assert_eq!(device(pair(1, 3), CUDA), Err(Unclassed::CpuIndex));
    assert_eq!(device(pair(2, 1), CUDA), Ok(DlDevice::UnsupportedOther));
    assert_eq!(device(pair(10, 0), DLDevice::CPU), Ok(DlDevice::UnsupportedOther));
    for kind in [5, 12, 17, 99] {
        assert_eq!(device(pair(kind, 0), DLDevice::CPU), Ok(DlDevice::UnknownType));
    }
    for (kind, id) in [(0, 0), (-1, 0), (1, -1), (1 << 31, 0), (1, 1 << 31)] {
        assert_eq!(device(pair(kind, id), DLDevice::CPU), Ok(DlDevice::Malformed));
    }
    assert_eq!(device(Value::int(1), DLDevice::CPU), Ok(DlDevice::Malformed));
}

#[test]
fn an_int_enum_is_the_number_it_is_and_no_near_miss() {
    let items = smallvec![Scalar::IntEnum(1), Scalar::Int(0)];
    let value = Value::Seq(SeqKind::Tuple, items);
    assert!(!is_near_miss(&Arg::Given(value.clone())));
    assert_eq!(device(value, DLDevice::CPU), Ok(DlDevice::Same));
}

#[test]
fn near_misses_are_those_of_sig_malformed() {
    let seq = |kind, items: &[Scalar]| Arg::Given(Value::Seq(kind, items.into()));
    let (one, zero) = (Scalar::Int(1), Scalar::Int(0));
    for near in [
        seq(SeqKind::List, &[one, zero]),
        seq(SeqKind::TupleSubclass, &[one, zero]),
        seq(SeqKind::Tuple, &[Scalar::Bool(true), zero]),
        seq(SeqKind::Tuple, &[Scalar::Halves(2), zero]),
        seq(SeqKind::Tuple, &[Scalar::Enum(1), zero]),
        seq(SeqKind::Tuple, &[one, Scalar::Object]),
        seq(SeqKind::Tuple, &[one, zero, zero]),
    ] {
        assert!(is_near_miss(&near), "{near:?}");
    }
    for far in [
        seq(SeqKind::Tuple, &[one]),
        seq(SeqKind::Tuple, &[Scalar::Object, zero]),
        seq(SeqKind::Tuple, &[Scalar::Halves(3), zero]),
        seq(SeqKind::Tuple, &[Scalar::Int(-1), zero]),
        Arg::Given(Value::int(1)),
        Arg::NONE,
    ] {
        assert!(!is_near_miss(&far), "{far:?}");
    }
}

#[test]
fn a_stream_of_another_integer_type_is_not_judged() {
    let stream = |scalar| Stream::of(&Arg::Given(Value::Scalar(scalar)));
    assert_eq!(stream(Scalar::Bool(true)), None);
    assert_eq!(stream(Scalar::NumpyInt(1)), None);
    assert_eq!(stream(Scalar::Str(0)), Some(Stream::Bad));
    assert_eq!(stream(Scalar::Huge { negative: true }), Some(Stream::Negative));
    assert_eq!(stream(Scalar::Int(i64::MIN)), Some(Stream::Negative));
}

#[test]
fn versions_fall_into_the_classes_of_16_2() {
    let version = |major, minor| MaxVersion::of(&Arg::Given(Value::pair(major, minor)));
    assert_eq!(version(0, 8), MaxVersion::Zero);
    assert_eq!(version(1, 0), MaxVersion::OneZero);
    assert_eq!(version(1, 99), MaxVersion::OneMore);
    assert_eq!(version(100, 3), MaxVersion::Two);
    assert_eq!(version(-1, 0), MaxVersion::Malformed);
    assert_eq!(version(1, 1 << 40), MaxVersion::Malformed);
    assert_eq!(MaxVersion::of(&Arg::NONE), MaxVersion::None);
}
