use crate::abi::DLDevice;
use crate::case::{Access, Call, Keyword, Object, Probe, Tensor, Value};
use crate::oracle::testing::{Said, Scene, call, raised};
use crate::oracle::{
    Container, DeviceAnswer, DeviceElement, ErrorClass, Grade, Number, Outcome, Raised,
};

fn on(device: (i32, i32), args: &[(Keyword, Value)]) -> Scene {
    let device = DLDevice::new(device.0, device.1);
    Scene::new(Tensor { device, ..Tensor::plain() }, call(args))
}

fn pair(device: (i32, i32), container: Container, elements: [Number; 2]) -> DeviceAnswer {
    let [type_element, id_element] = elements;
    DeviceAnswer::Pair {
        device: DLDevice::new(device.0, device.1),
        container,
        type_element,
        id_element,
    }
}

fn answering(answer: DeviceAnswer) -> Scene {
    Scene::plain().edit(|it| {
        it.seen.device_before = answer.clone();
        it.seen.device_after = Some(answer);
    })
}

fn device_arg(device: i64, id: i64) -> (Keyword, Value) {
    (Keyword::DlDevice, Value::pair(device, id))
}

#[test]
fn a_type_has_both_methods_or_neither() {
    let id = "DEV-BOTH";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    Scene::plain()
        .edit(|it| it.seen.exporter.methods = [true, false])
        .assert_only(id, Grade::Violation);
    let neither = Scene::plain().edit(|it| it.seen.exporter.methods = [false; 2]);
    assert_eq!(neither.said(id), Said::Holds);
}

#[test]
fn the_answer_is_a_tuple_of_two_numbers() {
    let id = "DEV-TUPLE";
    let ints = [Number::Int; 2];
    let said = |container| answering(pair((1, 0), container, ints)).said(id);
    assert_eq!(said(Container::Tuple), Said::Holds);
    assert_eq!(said(Container::TupleSubclass), Said::Breaks(Grade::Info));
    assert_eq!(said(Container::List), Said::Breaks(Grade::Warning));
    assert_eq!(said(Container::Other), Said::Breaks(Grade::Violation));
    let none = answering(DeviceAnswer::Malformed("NoneType: None".into()));
    none.assert_only(id, Grade::Violation);
}

/// A word is no number to anyone: one report, and not as a malformed answer too.
#[test]
fn an_element_that_is_no_number_is_accused_under_its_own_rule() {
    for (element, id) in
        [(DeviceElement::Type, "DEV-TYPE-ELEM"), (DeviceElement::Id, "DEV-ID-ELEM")]
    {
        let word = answering(DeviceAnswer::NoNumber(element, "('cpu', '0')".into()));
        word.assert_only(id, Grade::Violation);
        assert_eq!(word.said("DEV-TUPLE"), Said::Silent);
    }
}

/// Trap: what `operator.index` takes is a number.
#[test]
fn elements_are_numbers_to_their_users() {
    let said = |id, kind, index| answering(pair((1, 0), Container::Tuple, [kind, index])).said(id);
    for number in [Number::Int, Number::IntEnum, Number::IntSubclass, Number::Index, Number::Bool] {
        assert_eq!(said("DEV-TYPE-ELEM", number, Number::Int), Said::Holds);
    }
    assert_eq!(said("DEV-TYPE-ELEM", Number::Enum, Number::Int), Said::Breaks(Grade::Warning));
    for (number, word) in [
        (Number::Int, Said::Holds),
        (Number::IntSubclass, Said::Holds),
        (Number::Bool, Said::Breaks(Grade::Warning)),
        (Number::Index, Said::Breaks(Grade::Warning)),
        (Number::Enum, Said::Breaks(Grade::Violation)),
    ] {
        assert_eq!(said("DEV-ID-ELEM", Number::Int, number), word);
    }
}

#[test]
fn the_device_is_one_that_exists() {
    let (kind, negative, zero) = ("DEV-TYPE-KNOWN", "DEV-ID-NONNEG", "DEV-ID-ZERO");
    for id in [kind, negative, zero] {
        assert_eq!(Scene::plain().said(id), Said::Holds);
    }
    for (device, id) in
        [((0, 0), kind), ((5, 0), kind), ((-1, 0), kind), ((1, -1), negative), ((2, -7), negative)]
    {
        answering(pair(device, Container::Tuple, [Number::Int; 2]))
            .edit(|it| it.tensor().device = DLDevice::new(device.0, device.1))
            .assert_only(id, Grade::Violation);
        // Only the struct says so.
        Scene::plain()
            .edit(|it| it.tensor().device = DLDevice::new(device.0, device.1))
            .assert_only(if device.0 == 2 { negative } else { id }, Grade::Violation);
    }
    Scene::plain()
        .edit(|it| it.tensor().device = DLDevice::new(1, 3))
        .assert_only(zero, Grade::Violation);
    // The library has several CPU devices; managed memory keeps the GPU's index.
    assert_eq!(on((1, 1), &[]).said(zero), Said::Breaks(Grade::Warning));
    assert_eq!(on((13, 2), &[]).said(zero), Said::Breaks(Grade::Warning));
    // A newer header's device.
    assert_eq!(on((19, 0), &[]).said(kind), Said::Breaks(Grade::Info));
    assert_eq!(on((17, 0), &[]).said(kind), Said::Holds);
    assert_eq!(on((17, 0), &[]).under("aat").said(kind), Said::Breaks(Grade::Violation));
}

/// Trap: a device that the call invented, stamped by the exporter.
#[test]
fn invented_devices_say_nothing_of_the_exporter() {
    for (device, id) in [(99, 0), (1, 3)] {
        let scene = Scene::of(&[device_arg(device, id)]).edit(|it| {
            it.seen.export = Scene::plain().seen.export;
            it.tensor().device = DLDevice::new(device as i32, id as i32);
        });
        for id in ["DEV-TYPE-KNOWN", "DEV-ID-NONNEG", "DEV-ID-ZERO"] {
            assert_eq!(scene.said(id), Said::Holds, "the device method is lawful");
        }
        assert_eq!(scene.said("DEV-CONSISTENT"), Said::Silent);
    }
}

#[test]
fn the_answer_stays() {
    let id = "DEV-STABLE";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    let moved = Scene::plain()
        .edit(|it| it.seen.device_after = Some(pair((2, 0), Container::Tuple, [Number::Int; 2])));
    moved.assert_only(id, Grade::Violation);
    // Another type for the same numbers.
    let typed = Scene::plain().edit(|it| {
        it.seen.device_after =
            Some(pair((1, 0), Container::TupleSubclass, [Number::IntEnum, Number::Int]))
    });
    assert_eq!(typed.said(id), Said::Holds);
    assert_eq!(Scene::plain().edit(|it| it.seen.device_after = None).said(id), Said::Silent);
}

#[test]
fn the_struct_agrees_with_the_method() {
    let id = "DEV-CONSISTENT";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    Scene::plain()
        .edit(|it| it.tensor().device = DLDevice::new(3, 0))
        .assert_only(id, Grade::Violation);
    let pinned = on((3, 0), &[]).edit(|it| it.tensor().device = DLDevice::CPU);
    assert_eq!(pinned.said(id), Said::Breaks(Grade::Warning));
    assert_eq!(pinned.clone().under("strict").said(id), Said::Breaks(Grade::Violation));
    assert_eq!(pinned.under("lenient").said(id), Said::Breaks(Grade::Info));
}

#[test]
fn the_asked_device_is_the_one_that_comes() {
    let id = "DEV-HONOUR";
    assert_eq!(Scene::of(&[device_arg(1, 0)]).said(id), Said::Holds);
    assert_eq!(Scene::plain().said(id), Said::Silent);
    assert_eq!(Scene::of(&[device_arg(10, 0)]).said(id), Said::Silent, "refused");
    let ignored =
        Scene::of(&[device_arg(10, 0)]).edit(|it| it.seen.export = Scene::plain().seen.export);
    assert_eq!(ignored.said(id), Said::Breaks(Grade::Violation));
    // Both readings of another index of the CPU, and managed memory for (1, 0).
    let index =
        Scene::of(&[device_arg(1, 2)]).edit(|it| it.seen.export = Scene::plain().seen.export);
    assert_eq!(index.said(id), Said::Holds);
    let managed =
        on((13, 0), &[device_arg(1, 0)]).edit(|it| it.tensor().device = DLDevice::new(13, 0));
    assert_eq!(managed.said(id), Said::Holds);
    assert_eq!(managed.said("DEV-HONOUR-CPU"), Said::Breaks(Grade::Warning));
    assert_eq!(managed.under("lenient").said("DEV-HONOUR-CPU"), Said::Silent);
    let device =
        on((2, 0), &[device_arg(1, 0)]).edit(|it| it.tensor().device = DLDevice::new(2, 0));
    assert_eq!(device.said(id), Said::Breaks(Grade::Violation));
    assert_eq!(on((2, 0), &[device_arg(1, 0)]).said("DEV-HONOUR-CPU"), Said::Holds);
    // What cannot be a device is not honoured.
    let malformed =
        Scene::of(&[device_arg(1, -1)]).edit(|it| it.seen.export = Scene::plain().seen.export);
    assert_eq!(malformed.said(id), Said::Silent);
}

#[test]
fn other_devices_offer_a_copy_to_the_cpu() {
    let id = "DEV-CPU-OFFER";
    assert_eq!(on((2, 0), &[device_arg(1, 0)]).said(id), Said::Holds);
    // With (2, 0) nothing else can explain the refusal (VER-HIGHER-MAJOR).
    let refused = on((2, 0), &[device_arg(1, 0), (Keyword::MaxVersion, Value::pair(2, 0))])
        .raising(ErrorClass::Buffer);
    assert_eq!(refused.said(id), Said::Breaks(Grade::Warning));
    assert_eq!(refused.under("aat").said(id), Said::Breaks(Grade::Violation));
    let no_copy = on((2, 0), &[device_arg(1, 0), (Keyword::Copy, Value::bool(false))]);
    assert_eq!(no_copy.said(id), Said::Silent);
    assert_eq!(Scene::of(&[device_arg(1, 0)]).said(id), Said::Silent);
}

#[test]
fn another_index_of_the_cpu_is_recorded() {
    let id = "DEV-CPU-ID-OTHER";
    let scene = Scene::of(&[device_arg(1, 1)]);
    assert_eq!(scene.said(id), Said::Breaks(Grade::Info));
    let value_error = scene.clone().raising(ErrorClass::Value);
    assert_eq!(value_error.said(id), Said::Breaks(Grade::Warning));
    // The stream explains it (EXC-PRECEDENCE).
    let both =
        Scene::of(&[device_arg(1, 1), (Keyword::Stream, Value::int(1))]).raising(ErrorClass::Value);
    assert_eq!(both.said(id), Said::Silent);
    let stamped = scene.edit(|it| {
        it.seen.export = Scene::plain().seen.export;
        it.tensor().device = DLDevice::new(1, 1);
    });
    assert_eq!(stamped.said(id), Said::Breaks(Grade::Info));
    assert_eq!(stamped.said("DEV-HONOUR"), Said::Holds);
    assert_eq!(stamped.said("DEV-ID-ZERO"), Said::Holds);
    assert_eq!(Scene::plain().said(id), Said::Silent);
}

#[test]
fn the_method_may_refuse_what_is_no_block() {
    let id = "DEV-DUNDER-RAISES";
    let refusing = |class| {
        let Outcome::Raised(error) = raised(class) else { unreachable!() };
        answering(DeviceAnswer::Raised(Raised { ..error })).said(id)
    };
    assert_eq!(refusing(ErrorClass::Buffer), Said::Holds);
    assert_eq!(refusing(ErrorClass::Value), Said::Breaks(Grade::Warning));
    assert_eq!(Scene::plain().said(id), Said::Silent);
}

#[test]
fn imported_memory_keeps_its_device() {
    let id = "DEV-FOREIGN";
    let imported =
        Scene::new(Tensor { object: Object::Imported, ..Tensor::plain() }, Call::default());
    assert_eq!(imported.said(id), Said::Holds);
    let lost = imported.edit(|it| it.case.tensor.device = DLDevice::new(13, 0));
    assert_eq!(lost.said(id), Said::Breaks(Grade::Warning));
    assert_eq!(Scene::plain().with(Probe::Repeat).said(id), Said::Silent);
}

/// The decision table names a rule; the rule's own function must agree with it, or a finding would have
/// two words for one thing.
#[test]
fn rules_that_the_table_blames_say_so_themselves() {
    use crate::abi::{FLAG_IS_COPIED, FLAG_READ_ONLY};
    use crate::oracle::decision::Word;
    use crate::oracle::{Context, Memory};

    let devices: [Option<(i64, i64)>; 6] =
        [None, Some((1, 0)), Some((1, 1)), Some((2, 0)), Some((10, 0)), Some((13, 0))];
    let mut blamed = std::collections::BTreeSet::new();
    let owns = [(1, 0), (2, 0), (13, 0), (3, 0)];
    for (own, access) in
        owns.into_iter().flat_map(|own| [(own, Access::Writable), (own, Access::ReadOnly)])
    {
        for asked in devices {
            for copy in [None, Some(true), Some(false)] {
                for version in [None, Some((0, 8)), Some((1, 0)), Some((2, 0))] {
                    let mut args = Vec::new();
                    args.extend(asked.map(|(device, id)| device_arg(device, id)));
                    args.extend(copy.map(|copy| (Keyword::Copy, Value::bool(copy))));
                    args.extend(version.map(|(a, b)| (Keyword::MaxVersion, Value::pair(a, b))));
                    let tensor =
                        Tensor { device: DLDevice::new(own.0, own.1), access, ..Tensor::plain() };
                    let lawful = Scene::new(tensor, call(&args));
                    let mut scenes: Vec<Scene> = [
                        ErrorClass::Buffer,
                        ErrorClass::Type,
                        ErrorClass::Value,
                        ErrorClass::Runtime,
                        ErrorClass::Other,
                    ]
                    .into_iter()
                    .map(|class| lawful.clone().raising(class))
                    .collect();
                    for device in [(1, 0), (1, 1), (2, 0), (3, 0), (13, 0)] {
                        for memory in [Memory::Alias, Memory::Distinct] {
                            for flags in [0, FLAG_READ_ONLY, FLAG_IS_COPIED] {
                                let shown = on(
                                    own,
                                    if version.is_some() { &args[args.len() - 1..] } else { &[] },
                                );
                                scenes.push(lawful.clone().edit(|it| {
                                    it.seen.export = shown.seen.export;
                                    it.tensor().device = DLDevice::new(device.0, device.1);
                                    it.tensor().memory = memory;
                                    it.managed().flags = flags;
                                }));
                            }
                        }
                    }
                    for scene in scenes {
                        for profile in ["spec", "strict", "lenient", "aat"] {
                            let scene = scene.clone().under(profile);
                            let context =
                                Context::new(&scene.case, &scene.seen, &scene.profile, Grade::Info);
                            let Word::Blamed(blame, grade) = context.table.word else {
                                continue;
                            };
                            blamed.insert(blame.id());
                            assert_eq!(
                                scene.said(blame.id()),
                                Said::Breaks(grade),
                                "{} under {profile}: own {own:?}, {args:?}, {:?}",
                                blame.id(),
                                scene.seen.export
                            );
                        }
                    }
                }
            }
        }
    }
    for id in ["DEV-HONOUR", "DEV-HONOUR-CPU", "DEV-CPU-OFFER", "DEV-CPU-ID-OTHER"] {
        assert!(blamed.contains(id), "{id} was never blamed");
    }
}
