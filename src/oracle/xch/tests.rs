//! Each rule of the family on a hand-written observation: a fault, and the lawful twin.

use crate::abi::{DLDataType, DLDevice, DLPackVersion, FLAG_READ_ONLY};
use crate::case::{Arg, Call, Keyword, Shape, Tensor, Value};
use crate::oracle::testing::{Said, Scene, raised};
use crate::oracle::*;

const I: Grade = Grade::Info;
const W: Grade = Grade::Warning;
const V: Grade = Grade::Violation;

fn answer(code: i32, error: Option<ErrorClass>, out: Out) -> Answer {
    let error = error.and_then(|class| raised(class).raised().cloned());
    Answer { code, error, out }
}

fn success() -> Answer {
    answer(0, None, Out::Set)
}

fn refusal() -> Answer {
    answer(-1, Some(ErrorClass::Buffer), Out::Untouched)
}

/// A lawful table on a lawful array.
fn lawful() -> Scene {
    of(Tensor::plain())
}

fn of(tensor: Tensor) -> Scene {
    let newest = Call::default().with(Keyword::MaxVersion, Arg::Given(Value::pair(1, 99)));
    let mut scene = Scene::new(tensor.clone(), newest);
    let reference = scene.seen.export.clone();
    let managed = scene.managed().clone();
    let view = View {
        answer: success(),
        tensor: managed.tensor.clone(),
        unwritten: Vec::new(),
        stays: true,
        kept: Kept::default(),
    };
    let from_py = FromPy {
        answer: success(),
        pointer: scene.capsule().pointer,
        managed: Some(managed.clone()),
        second: Second::Separate,
        kept: Kept::default(),
        error_after_release: None,
    };
    let exchange = Exchange {
        attribute: Attribute::Capsule { name: Some("dlpack_exchange_api".into()), pointer: 0x100 },
        old: Attribute::Int(0x100),
        table: Some(Table {
            is_old_form: false,
            version: version(1, 3),
            older: vec![version(1, 2)],
            chain_end: ChainEnd::Null,
            present: Some([true; 5]),
            look_ups: LookUps::Same,
            changed: false,
        }),
        reference: Some(reference),
        from_py: Some(from_py),
        view: Some(view),
        to_py: Parcel::ALL.map(import).into(),
        allocations: (Prototype::ALL.into_iter())
            .filter_map(|it| Some(allocation(it, it.wanted(&tensor)?, &managed)))
            .collect(),
        streams: vec![
            Stream { device: DLDevice::CPU, answer: answer(0, None, Out::Null) },
            Stream { device: DLDevice::new(2, 7), answer: refusal() },
        ],
        pending: vec![Pending { function: Some(Function::FromPy), code: 0, fate: Fate::Kept }],
        without_gil: None,
    };
    scene.seen.exchange = Some(Box::new(exchange));
    scene.case.call = Call::default();
    scene.answering(&[])
}

fn version(major: u32, minor: u32) -> DLPackVersion {
    DLPackVersion { major, minor }
}

fn import(parcel: Parcel) -> ToPy {
    let refused = matches!(parcel, Parcel::MajorTwo | Parcel::UnknownDtype | Parcel::UnknownDevice);
    let object = Imported { type_name: "Array".into(), fits: true, references: 1 };
    ToPy {
        parcel,
        answer: if refused { refusal() } else { success() },
        object: (!refused).then_some(object),
        deleted: u32::from(parcel == Parcel::Plain),
    }
}

fn allocation(prototype: Prototype, wanted: Wanted, like: &Managed) -> Allocation {
    let Wanted { dtype, shape, device } = wanted;
    let refused = prototype.is_absurd()
        || matches!(
            prototype,
            Prototype::UnknownDtype | Prototype::UnknownDevice | Prototype::Negative
        );
    let mut managed = like.clone();
    if let Some(tensor) = &mut managed.tensor {
        (tensor.dtype, tensor.shape, tensor.device) = (dtype, shape.clone(), device);
        tensor.ndim = shape.len() as i32;
    }
    Allocation {
        prototype,
        dtype,
        shape,
        device,
        answer: if refused { answer(-1, None, Out::Untouched) } else { success() },
        complaints: u32::from(refused),
        managed: (!refused).then_some(managed),
    }
}

fn exchange(scene: &mut Scene) -> &mut Exchange {
    scene.seen.exchange.as_mut().expect("the scene has one")
}

fn table(it: &mut Exchange) -> &mut Table {
    it.table.as_mut().expect("a table")
}

fn from_py(it: &mut Exchange) -> &mut FromPy {
    it.from_py.as_mut().expect("from_py")
}

fn struct_of(it: &mut Exchange) -> &mut Managed {
    from_py(it).managed.as_mut().expect("a struct")
}

fn tensor_of(it: &mut Exchange) -> &mut DlTensor {
    struct_of(it).tensor.as_mut().expect("a tensor")
}

fn view(it: &mut Exchange) -> &mut View {
    it.view.as_mut().expect("a view")
}

fn view_tensor(it: &mut Exchange) -> &mut DlTensor {
    view(it).tensor.as_mut().expect("a tensor")
}

fn parcel(it: &mut Exchange, parcel: Parcel) -> &mut ToPy {
    it.to_py.iter_mut().find(|it| it.parcel == parcel).expect("every parcel")
}

fn asked(it: &mut Exchange, prototype: Prototype) -> &mut Allocation {
    it.allocations.iter_mut().find(|it| it.prototype == prototype).expect("every prototype")
}

fn grown(growth: f64) -> Kept {
    Kept { once: 1, growth: Some(growth) }
}

type Change = fn(&mut Exchange);

/// Rule, grade and the fault that draws it.
const FAULTS: &[(&str, Grade, Change)] = &[
    ("XCH-ON-TYPE", V, |it| it.attribute = Attribute::Absent { on_instance: true }),
    ("XCH-ON-TYPE", V, |it| it.attribute = Attribute::Descriptor("property".into())),
    ("XCH-CAPSULE", V, |it| it.attribute = Attribute::Capsule { name: None, pointer: 0x100 }),
    ("XCH-CAPSULE", V, |it| it.attribute = Attribute::Int(0x100)),
    ("XCH-CAPSULE", V, |it| it.attribute = Attribute::Other("str".into())),
    ("XCH-CAPSULE", I, |it| it.attribute = Attribute::default()),
    ("XCH-OLD-NAME", I, |it| it.old = Attribute::Int(0x200)),
    ("XCH-STATIC", W, |it| table(it).look_ups = LookUps::Moved),
    ("XCH-STATIC", V, |it| table(it).look_ups = LookUps::Gone),
    ("XCH-CONST", V, |it| table(it).changed = true),
    ("XCH-VERSION", V, |it| (table(it).version, table(it).older) = (version(0, 9), vec![])),
    ("XCH-VERSION", W, |it| (table(it).version, table(it).older) = (version(1, 1), vec![])),
    ("XCH-VERSION", I, |it| (table(it).version, table(it).present) = (version(2, 0), None)),
    ("XCH-PREV", V, |it| table(it).chain_end = ChainEnd::Cycle),
    ("XCH-PREV", V, |it| table(it).chain_end = ChainEnd::TooLong),
    ("XCH-PREV", V, |it| table(it).chain_end = ChainEnd::Unreadable),
    ("XCH-PREV", W, |it| table(it).older = vec![version(1, 3)]),
    ("XCH-FN-NONNULL", V, |it| table(it).present = Some([false, true, true, true, true])),
    ("XCH-RET", V, |it| from_py(it).answer = answer(0, Some(ErrorClass::Value), Out::Set)),
    ("XCH-RET", V, |it| view(it).answer = answer(-1, None, Out::Untouched)),
    ("XCH-RET", V, |it| it.streams[1].answer = answer(-1, None, Out::Null)),
    ("XCH-RET", I, |it| it.pending[0].fate = Fate::Lost),
    ("XCH-RET-DOC", W, |it| parcel(it, Parcel::MajorTwo).answer.out = Out::Set),
    ("XCH-FROMPY-STRUCT", V, |it| {
        tensor_of(it).strides_pointer = 0;
        tensor_of(it).strides = Shape::new();
    }),
    ("XCH-FROMPY-STRUCT", V, |it| tensor_of(it).dtype = DLDataType::new(1, 16, 1)),
    ("XCH-FROMPY-STRUCT", V, |it| struct_of(it).flags = 1 << 20),
    ("XCH-FROMPY-STRUCT", V, |it| {
        struct_of(it).version = Some(version(2, 0));
        struct_of(it).tensor = None;
    }),
    ("XCH-FROMPY-EQUIV", V, |it| struct_of(it).flags ^= FLAG_READ_ONLY),
    ("XCH-FROMPY-OWNED", V, |it| from_py(it).kept = grown(1.0)),
    ("XCH-FROMPY-OWNED", V, |it| from_py(it).kept = grown(-1.0)),
    ("XCH-FROMPY-OWNED", V, |it| from_py(it).second = Second::Disturbs),
    ("XCH-FROMPY-OWNED", W, |it| from_py(it).second = Second::SameStruct),
    ("XCH-FROMPY-OWNED", W, |it| from_py(it).error_after_release = Some("KeyError".into())),
    ("XCH-FROMPY-BE", W, |it| {
        from_py(it).answer = answer(-1, Some(ErrorClass::Runtime), Out::Untouched);
        from_py(it).managed = None;
    }),
    ("XCH-FROMPY-GUARDS", I, |it| {
        from_py(it).answer = refusal();
        from_py(it).managed = None;
    }),
    ("XCH-FROMPY-GUARDS", I, |it| it.reference = Some(raised(ErrorClass::Buffer))),
    ("XCH-DLT-VIEW", V, |it| view_tensor(it).data += 4),
    ("XCH-DLT-VIEW", V, |it| view_tensor(it).device = DLDevice::new(2, 0)),
    ("XCH-DLT-VIEW", V, |it| view(it).kept = grown(1.0)),
    ("XCH-DLT-LIFETIME", V, |it| view(it).stays = false),
    ("XCH-DLT-ALLWRITTEN", V, |it| {
        view(it).unwritten = vec!["byte_offset"];
        view(it).tensor = None;
    }),
    ("XCH-STREAM-CPU", W, |it| it.streams[0].answer = refusal()),
    ("XCH-STREAM-CPU", W, |it| it.streams[0].answer.out = Out::Untouched),
    ("XCH-STREAM-CPU", I, |it| it.streams[0].answer.out = Out::Set),
    ("XCH-STREAM-OTHER", I, |it| it.streams[1].answer = success()),
    ("XCH-TOPY-STEAL", V, |it| parcel(it, Parcel::Plain).deleted = 0),
    ("XCH-TOPY-STEAL", V, |it| parcel(it, Parcel::Plain).deleted = 2),
    ("XCH-TOPY-STEAL", V, |it| parcel(it, Parcel::UnknownDtype).deleted = 2),
    ("XCH-TOPY-NEWREF", V, |it| parcel(it, Parcel::Plain).object.as_mut().unwrap().fits = false),
    ("XCH-TOPY-NEWREF", V, |it| {
        parcel(it, Parcel::Plain).object = None;
        parcel(it, Parcel::Plain).answer.out = Out::Null;
    }),
    ("XCH-TOPY-NEWREF", I, |it| {
        parcel(it, Parcel::Plain).object.as_mut().unwrap().references = 2;
        parcel(it, Parcel::Plain).deleted = 0;
    }),
    ("XCH-TOPY-FAIL", I, |it| parcel(it, Parcel::MajorTwo).deleted = 1),
    ("XCH-TOPY-NULLDEL", V, |it| {
        parcel(it, Parcel::NoDeleter).answer = refusal();
        parcel(it, Parcel::NoDeleter).object = None;
    }),
    ("XCH-TOPY-MAJOR", V, |it| {
        *parcel(it, Parcel::MajorTwo) = ToPy { parcel: Parcel::MajorTwo, ..import(Parcel::Plain) };
    }),
    ("XCH-ALLOC-PROTO", V, |it| asked(it, Prototype::Garbage).managed = None),
    ("XCH-ALLOC-RESULT", V, |it| {
        asked(it, Prototype::Shape).managed.as_mut().unwrap().flags = FLAG_READ_ONLY;
    }),
    ("XCH-ALLOC-RESULT", V, |it| {
        let scalar = asked(it, Prototype::NoAxes);
        (scalar.answer, scalar.complaints) = (answer(-1, None, Out::Untouched), 1);
    }),
    ("XCH-ALLOC-RESULT", V, |it| {
        let huge = asked(it, Prototype::Wrapping);
        (huge.answer, huge.complaints) = (success(), 0);
    }),
    ("XCH-ALLOC-ERR", V, |it| asked(it, Prototype::UnknownDtype).complaints = 0),
    ("XCH-ALLOC-ERR", V, |it| asked(it, Prototype::Plain).complaints = 1),
    ("XCH-ALLOC-ERR", W, |it| asked(it, Prototype::Huge).complaints = 2),
];

#[test]
fn each_fault_draws_its_own_rule_and_no_other() {
    for (place, (id, grade, fault)) in FAULTS.iter().enumerate() {
        let scene = lawful().edit(|scene| fault(exchange(scene)));
        assert_eq!(scene.said(id), Said::Breaks(*grade), "{id} at {place}");
        let others: Vec<String> = (scene.judge().violations.iter())
            .filter(|it| it.rule != *id && it.grade >= Grade::Warning)
            .map(|it| format!("{} {:?}", it.rule, it.grade))
            .collect();
        assert!(others.is_empty(), "{id} at {place}: {others:?}");
    }
}

#[test]
fn a_lawful_table_is_not_accused_and_every_rule_looks_at_it() {
    for profile in ["spec", "strict", "lenient"] {
        let scene = lawful().under(profile);
        scene.assert_lawful();
        for (id, ..) in FAULTS {
            if !matches!(*id, "XCH-FROMPY-BE") {
                assert_eq!(scene.said(id), Said::Holds, "{id} under {profile}");
            }
        }
    }
    let refused = lawful().edit(|scene| {
        exchange(scene).reference = Some(raised(ErrorClass::Buffer));
        from_py(exchange(scene)).answer = refusal();
        from_py(exchange(scene)).managed = None;
    });
    assert_eq!(refused.said("XCH-FROMPY-BE"), Said::Holds);
    assert_eq!(refused.said("XCH-FROMPY-GUARDS"), Said::Holds);
    refused.assert_lawful();
}

#[test]
fn nothing_is_said_where_no_step_was_asked_for() {
    for rule in rules().iter().filter(|rule| rule.id.starts_with("XCH-")) {
        assert_eq!(Scene::plain().said(rule.id), Said::Silent, "{}", rule.id);
    }
}

/// What looks like a fault and is none.
#[test]
fn lawful_twins_near_a_fault() {
    let twins: &[(&str, Change)] = &[
        // No table of 1.2 at all is the exporter's choice.
        ("XCH-CAPSULE", |it| it.old = Attribute::default()),
        ("XCH-VERSION", |it| table(it).version = version(2, 0)),
        ("XCH-FN-NONNULL", |it| table(it).present = Some([true, true, true, false, true])),
        // A leak is confirmed by growth.
        ("XCH-FROMPY-OWNED", |it| from_py(it).kept = Kept { once: 1, growth: Some(0.02) }),
        // The stride of one element, and pinned memory under the host's name.
        ("XCH-FROMPY-EQUIV", |it| tensor_of(it).device = DLDevice::CPU),
        // A copy on one side is another tensor.
        ("XCH-STREAM-OTHER", |it| it.streams[1].answer = answer(0, None, Out::Null)),
        // The object lives on in the library's cache.
        ("XCH-TOPY-STEAL", |it| {
            parcel(it, Parcel::Plain).object.as_mut().unwrap().references = 2;
            parcel(it, Parcel::Plain).deleted = 0;
        }),
        // Without memory and without axes at once, the allocator fails for every reason.
        ("XCH-ALLOC-ERR", |it| asked(it, Prototype::Negative).complaints = 0),
    ];
    for (id, twin) in twins {
        let scene = lawful().edit(|scene| twin(exchange(scene)));
        assert_eq!(scene.said(id), Said::Holds, "{id}");
        scene.assert_lawful();
    }
}

#[test]
fn a_fault_of_dunder_dlpack_too_is_not_reported_twice() {
    let scene = lawful().edit(|scene| {
        let exchange = exchange(scene);
        tensor_of(exchange).dtype = DLDataType::new(1, 16, 1);
        view(exchange).tensor = None;
        let same = struct_of(exchange).clone();
        let Some(Outcome::Capsule(capsule)) = &mut exchange.reference else { panic!("a capsule") };
        capsule.managed = Some(same);
    });
    assert_eq!(scene.said("XCH-FROMPY-STRUCT"), Said::Holds);
}

#[test]
fn scalars_need_neither_shape_nor_strides() {
    let scalar = Tensor { shape: Shape::new(), ..Tensor::plain() };
    of(scalar.clone()).assert_lawful();
    let scene = of(scalar).edit(|scene| {
        view(exchange(scene)).unwritten = vec!["shape", "strides"];
    });
    scene.assert_only("XCH-DLT-ALLWRITTEN", Grade::Warning);
}

#[test]
fn the_allocator_without_the_gil_is_told_when_somebody_asks() {
    let id = "XCH-ALLOC-NOGIL";
    let refused = |scene: &mut Scene| {
        let mut it = asked(exchange(scene), Prototype::Plain).clone();
        (it.answer, it.complaints) = (answer(-1, None, Out::Untouched), 1);
        exchange(scene).without_gil = Some(it);
    };
    let scene = lawful().edit(refused);
    assert_eq!(scene.said(id), Said::Silent);
    let mut asking = scene;
    asking.profile.set("alloc_nogil=I").unwrap();
    assert_eq!(asking.said(id), Said::Breaks(Grade::Info));
    let works = asking.edit(|scene| {
        let it = asked(exchange(scene), Prototype::Plain).clone();
        exchange(scene).without_gil = Some(it);
    });
    assert_eq!(works.said(id), Said::Holds);
}
