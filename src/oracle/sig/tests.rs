use super::super::testing::{Said, Scene, call};
use super::super::{Growth, Kind};
use super::*;
use crate::abi::DLDevice;
use crate::case::Keyword::*;
use crate::case::{Call, SeqKind, Tensor};

const VIOLATION: Said = Said::Breaks(Grade::Violation);
const WARNING: Said = Said::Breaks(Grade::Warning);
const INFO: Said = Said::Breaks(Grade::Info);

fn versioned() -> (Keyword, Value) {
    (MaxVersion, Value::pair(1, 0))
}

fn extra(extra: Extra) -> Scene {
    Scene::new(Tensor::plain(), Call { extra, ..Call::default() })
}

#[test]
fn a_positional_argument_is_refused() {
    let twin = extra(Extra::Positional);
    assert_eq!(twin.said("SIG-KWONLY"), Said::Holds);
    let accepted = twin.clone().answering(&[]);
    accepted.assert_only("SIG-KWONLY", Grade::Warning);
    assert_eq!(twin.raising(ErrorClass::Value).said("SIG-KWONLY"), WARNING);
    assert_eq!(Scene::plain().said("SIG-KWONLY"), Said::Silent);
}

#[test]
fn an_unknown_keyword_is_refused_with_type_error() {
    let twin = extra(Extra::UnknownKeyword);
    assert_eq!(twin.said("SIG-UNKNOWN-KW"), Said::Holds);
    assert_eq!(twin.clone().raising(ErrorClass::Value).said("SIG-UNKNOWN-KW"), WARNING);
    assert_eq!(twin.answering(&[]).said("SIG-UNKNOWN-KW"), INFO);
    // The stream error may come first.
    let mut both = extra(Extra::UnknownKeyword).raising(ErrorClass::Value);
    both.case.call.stream = Arg::Given(Value::int(1));
    assert_eq!(both.said("SIG-UNKNOWN-KW"), Said::Silent);
}

#[test]
fn a_keyword_that_is_promised_exists() {
    let without = |keyword: Keyword| {
        let scene = Scene::of(&[(keyword, Value::NONE)]).raising(ErrorClass::Type);
        scene.edit(|it| it.seen.exporter.keywords[keyword as usize] = false)
    };
    assert_eq!(without(Stream).said("SIG-STREAM"), VIOLATION);
    assert_eq!(Scene::of(&[(Stream, Value::NONE)]).said("SIG-STREAM"), Said::Holds);
    for keyword in [MaxVersion, DlDevice, Copy] {
        assert_eq!(without(keyword).said("SIG-2023"), VIOLATION);
        assert_eq!(Scene::of(&[(keyword, Value::NONE)]).said("SIG-2023"), Said::Holds);
        // NumPy 1.26 claims nothing: an older exporter, no breaker of 2023.12.
        let old = without(keyword).edit(|it| it.seen.exporter.claims = None);
        old.assert_lawful();
        assert_eq!(old.said("SIG-OLD-TYPEERROR"), Said::Holds);
        assert_eq!(old.raising(ErrorClass::Value).said("SIG-OLD-TYPEERROR"), WARNING);
    }
}

#[test]
fn absent_equals_none() {
    let args = [(Copy, Value::bool(true)), versioned()];
    let twin = Scene::of(&args).with(Probe::NoneForAbsent);
    assert_eq!(twin.said("SIG-ABSENT-IS-NONE"), Said::Holds);
    let refused = Scene::of(&args).with_raised(Probe::NoneForAbsent, ErrorClass::Type);
    refused.assert_only("SIG-ABSENT-IS-NONE", Grade::Warning);
    let kind = Scene::of(&args).probe_answering(Probe::NoneForAbsent, &args[..1]);
    assert_eq!(kind.said("SIG-ABSENT-IS-NONE"), WARNING);
}

#[test]
fn four_nones_equal_the_plain_call() {
    for probe in [Probe::AllNone, Probe::NoneForAbsent] {
        assert_eq!(Scene::plain().with(probe).said("SIG-NONE-NEUTRAL"), Said::Holds);
        let refused = Scene::plain().with_raised(probe, ErrorClass::Type);
        refused.assert_only("SIG-NONE-NEUTRAL", Grade::Violation);
    }
    let none = Keyword::ALL.map(|keyword| (keyword, Value::NONE));
    let refused = Scene::of(&none).raising(ErrorClass::Type).with(Probe::Plain);
    refused.assert_only("SIG-NONE-NEUTRAL", Grade::Violation);
    // An exporter without a keyword cannot take None for it.
    let old = Scene::plain().with_raised(Probe::AllNone, ErrorClass::Type);
    let old = old.edit(|it| it.seen.exporter.keywords[1] = false);
    assert_eq!(old.said("SIG-NONE-NEUTRAL"), Said::Silent);
}

#[test]
fn order_and_names_do_not_matter() {
    let args = [(Copy, Value::bool(true)), versioned()];
    assert_eq!(Scene::of(&args).with(Probe::Reordered).said("SIG-ORDER-FREE"), Said::Holds);
    let broken = Scene::of(&args).with_raised(Probe::Reordered, ErrorClass::Type);
    broken.assert_only("SIG-ORDER-FREE", Grade::Violation);
    // Of two wrong arguments either may be named first (EXC-PRECEDENCE).
    let both = Scene::of(&[(DlDevice, Value::int(1)), (Stream, Value::int(1))]);
    let both = both.raising(ErrorClass::Type).with_raised(Probe::Reordered, ErrorClass::Value);
    assert_eq!(both.said("SIG-ORDER-FREE"), Said::Holds);
}

#[test]
fn arguments_are_given_back() {
    let leak = |references, growth| {
        Scene::of(&[versioned()]).edit(|it| {
            it.seen.ledger.argument_references = references;
            it.seen.ledger.growth = growth;
        })
    };
    let growth = |argument_references| {
        Some(Growth { rounds: 100, references: 0, blocks: 0, argument_references })
    };
    assert_eq!(leak(0, None).said("SIG-ARG-UNCHANGED"), Said::Holds);
    assert_eq!(leak(1, None).said("SIG-ARG-UNCHANGED"), Said::Silent);
    assert_eq!(leak(1, growth(1)).said("SIG-ARG-UNCHANGED"), Said::Holds);
    assert_eq!(leak(1, growth(100)).said("SIG-ARG-UNCHANGED"), VIOLATION);
    assert_eq!(leak(-1, growth(-100)).said("SIG-ARG-UNCHANGED"), VIOLATION);
}

#[test]
fn malformed_arguments_are_noticed_with_and_without_max_version() {
    let device = (DlDevice, Value::int(1));
    let twin = Scene::of(std::slice::from_ref(&device)).with(Probe::Version10);
    assert_eq!(twin.said("SIG-MALFORMED"), Said::Holds);
    assert_eq!(twin.said("SIG-MALFORMED-IGNORED"), Said::Holds);
    let accepted = Scene::of(std::slice::from_ref(&device)).answering(&[]);
    accepted.assert_only("SIG-MALFORMED", Grade::Warning);
    let tvm = accepted.with_raised(Probe::Version10, ErrorClass::Type);
    tvm.assert_only("SIG-MALFORMED-IGNORED", Grade::Warning);
    let reverse = Scene::of(&[device, versioned()]).probe_answering(Probe::Unversioned, &[]);
    reverse.assert_only("SIG-MALFORMED-IGNORED", Grade::Warning);
}

#[test]
fn a_refused_legacy_capsule_is_no_notice_of_the_device() {
    // A list is taken for a pair; without max_version the read-only array is refused as such.
    let list = Value::Seq(SeqKind::List, [Scalar::Int(1), Scalar::Int(0)].as_slice().into());
    let scene = Scene::of(&[(DlDevice, list), versioned()]).answering(&[versioned()]);
    let scene = scene.with_raised(Probe::Unversioned, ErrorClass::Buffer);
    scene.assert_lawful();
}

#[test]
fn the_own_device_may_be_written_as_it_was_returned() {
    for (probe, broken) in [(Probe::OwnTuple, VIOLATION), (Probe::OwnEnum, WARNING)] {
        assert_eq!(Scene::plain().with(probe).said("SIG-DEVICE-ENUM"), Said::Holds);
        let refused = Scene::plain().with(Probe::OwnDevice).with_raised(probe, ErrorClass::Type);
        assert_eq!(refused.said("SIG-DEVICE-ENUM"), broken);
        assert_eq!(refused.said("COPY-SAME-DEVICE-NEUTRAL"), Said::Holds);
    }
    // Paddle answers (kDLCPU, None): that is DEV-ID-ELEM, and to refuse it is nothing more.
    let refused = Scene::plain().with(Probe::OwnDevice);
    let mut refused = refused.with_raised(Probe::OwnTuple, ErrorClass::Type);
    let element = crate::oracle::DeviceElement::Id;
    refused.seen.device_before = crate::oracle::DeviceAnswer::NoNumber(element, "(1, None)".into());
    assert_eq!(refused.said("SIG-DEVICE-ENUM"), Said::Silent);
    // A plain Enum is no IntEnum: any outcome is lawful.
    let plain = Value::Seq(SeqKind::Tuple, [Scalar::Enum(1), Scalar::Int(0)].as_slice().into());
    for class in [ErrorClass::Type, ErrorClass::Buffer] {
        Scene::of(&[(DlDevice, plain.clone())]).raising(class).assert_lawful();
    }
    Scene::of(&[(DlDevice, plain)]).answering(&[]).assert_lawful();
}

#[test]
fn a_device_that_answers_as_an_int_enum_is_a_device() {
    let array = Tensor { device: DLDevice::new(3, 0), ..Tensor::plain() };
    let mut scene = Scene::new(array, call(&[(DlDevice, Value::Own)]));
    assert_eq!(scene.managed().kind, Kind::Legacy);
    scene.assert_lawful();
}
