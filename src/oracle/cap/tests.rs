use crate::abi::{DLDataType, DLDevice, DLPackVersion};
use crate::case::{Keyword, Probe, Value};
use crate::oracle::testing::{Said, Scene, raised};
use crate::oracle::{Capsule, CapsuleName, ErrorClass, Grade, Growth, Kind, Memory, Outcome};

fn versioned() -> Scene {
    Scene::of(&[(Keyword::MaxVersion, Value::pair(1, 0))])
}

fn probe_capsule(scene: &mut Scene) -> &mut Capsule {
    match &mut scene.seen.further[0].1 {
        Outcome::Capsule(capsule) => capsule,
        other => panic!("{other:?} is no capsule"),
    }
}

fn growing(scene: &mut Scene, references: isize, blocks: isize) {
    scene.seen.ledger.source_references = 1;
    scene.seen.ledger.growth =
        Some(Growth { rounds: 1000, references, blocks, argument_references: 0 });
}

#[test]
fn what_a_call_returns_is_a_capsule() {
    Scene::plain().assert_lawful();
    versioned().assert_lawful();
    assert_eq!(Scene::plain().said("CAP-TYPE"), Said::Holds);
    assert_eq!(Scene::plain().raising(ErrorClass::Buffer).said("CAP-TYPE"), Said::Silent);
    let returned = Scene::plain().edit(|it| it.seen.export = Outcome::Returned("int".into()));
    returned.assert_only("CAP-TYPE", Grade::Violation);
    let inexact = Scene::plain().edit(|it| it.capsule().exact = false);
    inexact.assert_only("CAP-TYPE", Grade::Violation);
}

#[test]
fn a_capsule_has_the_name_of_its_struct() {
    for (id, scene, other) in [
        ("CAP-NAME-LEGACY", Scene::plain(), CapsuleName::Versioned),
        ("CAP-NAME-VERSIONED", versioned(), CapsuleName::Legacy),
    ] {
        assert_eq!(scene.said(id), Said::Holds);
        let wrong = scene.edit(|it| it.capsule().name = other);
        assert_eq!(wrong.said(id), Said::Breaks(Grade::Violation));
    }
    assert_eq!(versioned().said("CAP-NAME-LEGACY"), Said::Silent);
    assert_eq!(Scene::plain().said("CAP-NAME-VERSIONED"), Said::Silent);
}

#[test]
fn a_capsule_is_returned_under_a_producing_name() {
    assert_eq!(Scene::plain().said("CAP-NAME-KNOWN"), Said::Holds);
    for name in [CapsuleName::Null, CapsuleName::Other("used_dltensor".into())] {
        let wrong = Scene::plain().edit(|it| {
            it.capsule().name = name;
            // No struct is read behind a name that promises none.
            it.capsule().managed = None;
        });
        wrong.assert_only("CAP-NAME-KNOWN", Grade::Violation);
    }
}

#[test]
fn names_of_one_kind_lie_at_one_address() {
    let scene = Scene::plain().with(Probe::Repeat);
    assert_eq!(scene.said("CAP-NAME-STATIC"), Said::Holds);
    let mut moved = scene;
    probe_capsule(&mut moved).name_address += 16;
    assert_eq!(moved.said("CAP-NAME-STATIC"), Said::Breaks(Grade::Info));
    // The two kinds have two names.
    let kinds = Scene::plain().with(Probe::Version10);
    assert_eq!(kinds.said("CAP-NAME-STATIC"), Said::Silent);
}

#[test]
fn the_struct_is_the_one_of_the_name() {
    let id = "CAP-STRUCT-MATCHES-NAME";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    assert_eq!(versioned().said(id), Said::Holds);
    // A legacy struct begins with a pointer to the data.
    let legacy = versioned().edit(|it| {
        it.managed().version = Some(DLPackVersion { major: 0x5581_2340, minor: 0x7f12 });
        it.managed().tensor = None;
    });
    legacy.assert_only(id, Grade::Violation);
    // A versioned struct has half of the deleter's address where the legacy one has ndim.
    let versioned = Scene::plain().edit(|it| {
        it.tensor().ndim = 0x1234;
        it.tensor().dtype = DLDataType::new(0x12, 0x7f, 0);
    });
    versioned.assert_only(id, Grade::Violation);
    Scene::plain().edit(|it| it.managed().tensor = None).assert_only(id, Grade::Violation);
    // Many axes are no sign of another struct.
    let axes = Scene::plain().edit(|it| it.tensor().ndim = 2);
    assert_eq!(axes.said(id), Said::Holds);
}

#[test]
fn a_capsule_has_a_destructor() {
    let id = "CAP-DTOR-PRESENT";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    let missing = Scene::plain().edit(|it| it.capsule().has_destructor = false);
    missing.assert_only(id, Grade::Violation);
    // What it would have released leaks, and that is no second fault.
    missing.clone().edit(|it| growing(it, 1000, 1000)).assert_only(id, Grade::Violation);
    let static_data = missing.edit(|it| it.managed().has_deleter = false);
    assert_eq!(static_data.said(id), Said::Breaks(Grade::Info));
}

#[test]
fn a_dropped_capsule_releases_everything() {
    let id = "CAP-DTOR-UNCONSUMED";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    let references = Scene::plain().edit(|it| growing(it, 1000, 1000));
    references.assert_only(id, Grade::Violation);
    let blocks = Scene::plain().edit(|it| growing(it, 0, 1000));
    blocks.assert_only(id, Grade::Violation);
    // What no count knows of, if all calls of the case return capsules.
    let heap = Scene::plain().edit(|it| it.seen.ledger.heap = Some(128.0));
    heap.assert_only(id, Grade::Violation);
    assert_eq!(Scene::plain().edit(|it| it.seen.ledger.heap = Some(0.0)).said(id), Said::Holds);
    let either = heap.with_raised(Probe::Version10, ErrorClass::Buffer);
    assert_eq!(either.said(id), Said::Holds);
    // A cache takes one reference, whatever the number of rounds (P-BASELINE).
    let cache = Scene::plain().edit(|it| growing(it, 1, 2));
    assert_eq!(cache.said(id), Said::Holds);
    assert_eq!(cache.said("LIFE-REFCOUNT"), Said::Breaks(Grade::Info));
    cache.assert_lawful();
}

#[test]
fn references_come_back_one_for_one() {
    let id = "LIFE-REFCOUNT";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    let twice = Scene::plain().with(Probe::Version10);
    twice.clone().edit(|it| growing(it, 1000, 0)).assert_only(id, Grade::Violation);
    twice.edit(|it| growing(it, -1000, 0)).assert_only(id, Grade::Violation);
}

#[test]
fn a_destructor_leaves_no_exception() {
    let id = "CAP-DTOR-EXC-CLEAN";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    let error = |it: &mut Scene| it.seen.ledger.error_after_release = Some("ValueError".into());
    Scene::plain().edit(error).assert_only(id, Grade::Violation);
}

#[test]
fn a_shared_struct_is_recorded() {
    let id = "CAP-DISTINCT-STRUCT";
    let scene = Scene::plain().with(Probe::Repeat);
    assert_eq!(scene.said(id), Said::Holds);
    let mut shared = scene;
    let pointer = shared.capsule().pointer;
    probe_capsule(&mut shared).pointer = pointer;
    assert_eq!(shared.said(id), Said::Breaks(Grade::Info));
}

#[test]
fn a_call_that_raises_leaks_nothing() {
    let id = "CAP-EXC-NO-LEAK";
    let refused = Scene::of(&[(Keyword::Stream, Value::int(5))]);
    assert_eq!(refused.said(id), Said::Holds);
    refused.edit(|it| growing(it, 1000, 0)).assert_only(id, Grade::Violation);
    assert_eq!(Scene::plain().said(id), Said::Silent);
    // Of two calls, one of which raises, either may be what leaks.
    let mixed = Scene::plain().with_raised(Probe::Repeat, ErrorClass::Memory);
    mixed.edit(|it| growing(it, 1000, 0)).assert_lawful();
}

#[test]
fn equal_calls_have_equal_answers() {
    let id = "CAP-REPEAT";
    let scene = Scene::plain().with(Probe::Repeat);
    assert_eq!(scene.said(id), Said::Holds);
    assert_eq!(Scene::plain().said(id), Said::Silent);
    let faults: [fn(&mut Scene); 6] = [
        |it| it.seen.further[0].1 = raised(ErrorClass::Buffer),
        |it| probe_capsule(it).name = CapsuleName::Versioned,
        |it| it.probe_tensor(Probe::Repeat).device = DLDevice::new(2, 0),
        |it| it.probe_tensor(Probe::Repeat).dtype = DLDataType::new(0, 32, 1),
        |it| it.probe_tensor(Probe::Repeat).shape[0] = 5,
        |it| it.probe_tensor(Probe::Repeat).memory = Memory::Overlap,
    ];
    for fault in faults {
        assert_eq!(scene.clone().edit(fault).said(id), Said::Breaks(Grade::Violation));
    }
    // Two copies lie in two places, and memory may run out in between.
    let copies = Scene::of(&[(Keyword::Copy, Value::bool(true))]).with(Probe::Repeat);
    assert_eq!(copies.said(id), Said::Holds);
    let memory = Scene::plain().with_raised(Probe::Repeat, ErrorClass::Memory);
    assert_eq!(memory.said(id), Said::Silent);
    // A refusal is as good as an export if it is repeated.
    let refused = Scene::of(&[(Keyword::Stream, Value::int(5))]).with(Probe::Repeat);
    assert_eq!(refused.said(id), Said::Holds);
}

#[test]
fn an_export_leaves_the_source_alone() {
    let id = "CAP-SOURCE-UNCHANGED";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    let changed = Scene::plain().edit(|it| it.seen.source.unchanged = Err("the values".into()));
    changed.assert_only(id, Grade::Violation);
    assert_eq!(Scene::plain().managed().kind, Kind::Legacy);
}
