//! Each rule of a life: broken by one thing that was seen, and held by its lawful twin.

use crate::case::Case;
use crate::case::life::{Mood, Place, Slot, Step};
use crate::oracle::testing::{Said, Scene, raised};
use crate::oracle::{
    Difference, Ended, ErrorClass, Event, Fate, Grade, Growth, Lived, Manner, Moment, Outcome,
    Passing, Raced, Raised, Route, Stage, Starved,
};

/// A scene in which a lawful exporter lived this.
fn lived(steps: &str) -> Scene {
    Scene::plain().edit(|scene| {
        let text = format!("array(shape=(6,), dtype='float32').__dlpack__() then {steps}");
        scene.case = text.parse::<Case>().unwrap_or_else(|error| panic!("{text}: {error}"));
        let first = scene.seen.export.clone();
        let export = |step: &Step| match step {
            Step::Export(..) => Event::Exported(first.clone()),
            Step::Drop(_, Mood::Raising) | Step::Delete(_, Place::Raising) => {
                Event::InFlight(Fate::Kept)
            }
            Step::Change(_) => Event::Changed(Manner::Ordinary),
            _ => Event::Done,
        };
        let moments = (scene.case.life.with_end().iter())
            .map(|step| Moment {
                step: *step,
                event: export(step),
                error: None,
                references: Some(0),
                changed: None,
            })
            .collect();
        scene.seen.life = Some(Box::new(Lived {
            first: Some(first.clone()),
            moments,
            references: Some(0),
            blocks: Some(0),
            growth: None,
        }));
    })
}

impl Scene {
    /// Changes what was seen of a step.
    fn at(self, step: Step, change: impl FnOnce(&mut Moment)) -> Self {
        self.edit(|scene| {
            let life = scene.seen.life.as_mut().expect("the scene has a life");
            let moment = life.moments.iter_mut().find(|moment| moment.step == step);
            change(moment.unwrap_or_else(|| panic!("no step is {step}")));
        })
    }

    /// Export `slot` is another one after this step.
    fn changes(self, step: Step, slot: Slot, difference: Difference) -> Self {
        self.at(step, |moment| moment.changed = Some((slot, difference)))
    }

    fn leaks(self, references: isize, blocks: isize) -> Self {
        self.edit(|scene| {
            let life = scene.seen.life.as_mut().expect("the scene has a life");
            life.references = Some(1);
            life.growth = Some(Growth { rounds: 10, references, blocks, argument_references: 0 });
        })
    }
}

fn field(name: &'static str) -> Difference {
    Difference::Field(name, "0".into(), "1".into())
}

const SOURCE: Step = Step::DropSource;
const A: Slot = Slot::A;
const B: Slot = Slot::B;

fn drop_of(slot: Slot) -> Step {
    Step::Drop(slot, Mood::Calm)
}

#[test]
fn lawful_lives_break_nothing() {
    for steps in [
        "drop a",
        "drop a raising",
        "take a, drop a raising, delete a raising",
        "take a, drop source, churn, drop a, delete a on native thread",
        "export b, take b, delete b, churn, drop b",
        "reshape, resize, freeze, churn",
        "take a, disarm a, drop a, delete a",
    ] {
        lived(steps).assert_lawful();
    }
}

#[test]
fn a_change_of_a_living_export_belongs_to_the_step_that_made_it() {
    let elements = || Difference::Elements;
    for (rule, steps, step, slot, difference) in [
        ("LIFE-OWNER-DROPPED", "drop source", SOURCE, A, elements()),
        ("LIFE-OWNER-DROPPED-TAKEN", "take a, drop source", SOURCE, A, elements()),
        ("CAP-DTOR-CONSUMED-LIVE", "take a, drop a", drop_of(A), A, field("data")),
        ("CAP-INDEPENDENT", "export b, drop a", drop_of(A), B, field("shape")),
        (
            "CAP-INDEPENDENT",
            "export b, take a, delete a",
            Step::Delete(A, Place::Here),
            B,
            field("data"),
        ),
        ("CAP-DTOR-CONSUMED", "export b, take a, delete a, drop a", drop_of(A), B, elements()),
        (
            "MGT-META-SNAPSHOT",
            "reshape",
            Step::Change(crate::case::life::Change::Reshape),
            A,
            field("shape"),
        ),
        (
            "LIFE-OWNER-PINNED",
            "resize",
            Step::Change(crate::case::life::Change::Resize),
            A,
            elements(),
        ),
        ("RO-STATE", "freeze", Step::Change(crate::case::life::Change::Freeze), A, field("flags")),
    ] {
        assert_eq!(lived(steps).said(rule), Said::Holds, "{rule}: {steps}");
        lived(steps).changes(step, slot, difference).assert_only(rule, Grade::Violation);
    }
}

#[test]
fn what_a_low_level_operation_changes_is_a_warning() {
    let step = Step::Change(crate::case::life::Change::Resize);
    let scene = lived("resize")
        .at(step, |moment| moment.event = Event::Changed(Manner::LowLevel))
        .changes(step, A, Difference::Elements);
    assert_eq!(scene.said("LIFE-OWNER-PINNED"), Said::Breaks(Grade::Warning));
    let refused = lived("resize").at(step, |moment| {
        let Outcome::Raised(raised) = raised(ErrorClass::Value) else { unreachable!() };
        moment.event = Event::Refused(raised);
    });
    assert_eq!(refused.said("LIFE-OWNER-PINNED"), Said::Silent);
    refused.assert_lawful();
}

#[test]
fn what_shows_later_belongs_to_the_only_step_that_can_have_done_it() {
    let late = |steps| lived(steps).changes(Step::Churn, A, Difference::Elements);
    late("drop source, churn").assert_only("LIFE-OWNER-DROPPED", Grade::Violation);
    late("take a, drop a, churn, delete a").assert_only("CAP-DTOR-CONSUMED-LIVE", Grade::Violation);
    // Either of two steps: nobody is accused.
    late("take a, drop a, drop source, churn").assert_lawful();
    // None.
    late("churn").assert_lawful();
}

#[test]
fn destructors_keep_the_exception_in_flight() {
    let step = Step::Drop(A, Mood::Raising);
    for fate in [Fate::Lost, Fate::Replaced("ValueError".into())] {
        let scene = lived("drop a raising").at(step, |moment| moment.event = Event::InFlight(fate));
        scene.assert_only("CAP-DTOR-EXC-KEPT", Grade::Violation);
        let python = scene.edit(|it| it.seen.exporter.python_destructor = true);
        python.assert_only("CAP-DTOR-EXC-PY", Grade::Warning);
    }
    assert_eq!(lived("drop a raising").said("CAP-DTOR-EXC-KEPT"), Said::Holds);
    let python = lived("drop a raising").edit(|it| it.seen.exporter.python_destructor = true);
    assert_eq!(python.said("CAP-DTOR-EXC-PY"), Said::Holds);
}

#[test]
fn releases_leave_no_exception() {
    let error = |moment: &mut Moment| moment.error = Some("ValueError".into());
    let consumed = lived("take a, delete a, drop a");
    assert_eq!(consumed.said("CAP-DTOR-EXC-CLEAN"), Said::Holds);
    consumed.at(drop_of(A), error).assert_only("CAP-DTOR-EXC-CLEAN", Grade::Violation);
    let deleted = lived("take a, delete a, drop a");
    assert_eq!(deleted.said("MGT-DELETER-NO-EXC"), Said::Holds);
    let broken = deleted.at(Step::Delete(A, Place::Here), error);
    broken.assert_only("MGT-DELETER-NO-EXC", Grade::Warning);
}

#[test]
fn a_leak_belongs_to_the_way_of_the_release() {
    for (rule, grade, steps) in [
        ("CAP-DTOR-UNCONSUMED", Grade::Violation, "drop a raising"),
        ("MGT-DELETER-FREES-ALL", Grade::Violation, "take a, delete a, drop a"),
        ("CAP-DTOR-REMOVED", Grade::Warning, "take a, disarm a, drop a, delete a"),
        ("LIFE-DELETER-NO-GIL", Grade::Violation, "take a, delete a on native thread, drop a"),
        ("LIFE-DELETER-NO-GIL", Grade::Violation, "take a, delete a unlocked, drop a"),
        ("LIFE-DELETER-PY-THREAD", Grade::Violation, "take a, delete a on thread, drop a"),
        ("LIFE-REFCOUNT", Grade::Violation, "export b, take a, delete a, drop a, drop b"),
    ] {
        assert_eq!(lived(steps).said(rule), Said::Holds, "{rule}: {steps}");
        lived(steps).leaks(10, 0).assert_only(rule, grade);
        lived(steps).leaks(0, 10).assert_only(rule, grade);
        // Once is a cache.
        lived(steps).leaks(1, 0).assert_lawful();
        lived(steps).leaks(0, 1).assert_lawful();
    }
    let cycle = lived("attach a, drop source, collect").leaks(0, 10);
    assert_eq!(cycle.said("LIFE-CYCLE"), Said::Breaks(Grade::Info));
    assert_eq!(lived("attach a, drop source").leaks(0, 1).said("LIFE-CYCLE"), Said::Silent);
}

/// What Python would run by way of the capsule's destructor.
#[test]
fn without_a_capsule_it_is_the_deleter_that_leaks() {
    for (rule, steps) in [
        ("MGT-DELETER-FREES-ALL", "drop a"),
        ("MGT-DELETER-FREES-ALL", "export b, take a, delete a, drop b"),
        ("LIFE-DELETER-NO-GIL", "take a, delete a on native thread"),
    ] {
        let in_c = |scene: Scene| scene.edit(|it| it.seen.exporter.route = Route::C);
        assert_eq!(in_c(lived(steps)).said(rule), Said::Holds, "{rule}: {steps}");
        in_c(lived(steps).leaks(0, 10)).assert_only(rule, Grade::Violation);
    }
}

#[test]
fn what_the_calls_alone_leak_is_told_of_them() {
    let scene = lived("take a, delete a, drop a").leaks(10, 0).edit(|it| {
        it.seen.ledger.source_references = 1;
        it.seen.ledger.growth =
            Some(Growth { rounds: 64, references: 64, blocks: 0, argument_references: 0 });
    });
    scene.assert_only("CAP-DTOR-UNCONSUMED", Grade::Violation);
}

#[test]
fn a_release_too_many_belongs_to_its_step() {
    for (rule, steps, step) in [
        ("CAP-DTOR-CONSUMED", "take a, delete a, drop a", drop_of(A)),
        ("LIFE-DELETER-ONCE", "take a, delete a, drop a", Step::Delete(A, Place::Here)),
        ("LIFE-DELETER-ONCE", "drop a, collect", Step::Collect),
    ] {
        let twice = lived(steps).at(step, |moment| moment.references = Some(-1)).leaks(-10, 0);
        twice.assert_only(rule, Grade::Violation);
        // What was off once is no growth.
        let once = lived(steps).at(step, |moment| moment.references = Some(-1)).leaks(-1, 0);
        once.assert_lawful();
    }
    // The capsule released it first, and then the consumer, whose it was.
    let early = lived("take a, drop a, delete a")
        .at(Step::Take(A), |moment| moment.references = Some(1))
        .at(Step::Delete(A, Place::Here), |moment| moment.references = Some(-1))
        .leaks(-10, 0);
    early.assert_only("CAP-DTOR-CONSUMED-LIVE", Grade::Violation);
    let late = early.at(drop_of(A), |moment| moment.references = Some(1));
    late.assert_only("LIFE-DELETER-ONCE", Grade::Violation);
}

#[test]
fn two_threads_are_as_good_as_one() {
    let raced = |raised, references| {
        lived("race").at(Step::Race, |moment| {
            moment.event = Event::Raced(Raced { exports: 400, raised, references });
        })
    };
    assert_eq!(raced(0, 1).said("LIFE-CONCURRENT"), Said::Holds);
    raced(1, 0).assert_only("LIFE-CONCURRENT", Grade::Warning);
    raced(0, 400).assert_only("LIFE-CONCURRENT", Grade::Warning);
}

#[test]
fn a_failed_allocation_is_a_memory_error() {
    let starved = |class: Option<ErrorClass>, references| {
        lived("starve").at(Step::Starve, |moment| {
            let raised: Option<Raised> = class.map(|class| match raised(class) {
                Outcome::Raised(raised) => raised,
                _ => unreachable!(),
            });
            let raised = raised.into_iter().collect();
            moment.event = Event::Starved(Starved { failures: 4, raised, references });
        })
    };
    assert_eq!(starved(None, 0).said("EXC-OOM"), Said::Holds);
    assert_eq!(starved(Some(ErrorClass::Buffer), 0).said("EXC-OOM"), Said::Holds);
    starved(Some(ErrorClass::System), 0).assert_only("EXC-OOM", Grade::Violation);
    starved(None, 7).assert_only("CAP-EXC-NO-LEAK", Grade::Violation);
    starved(None, 1).assert_lawful();
}

#[test]
fn the_end_of_the_interpreter_is_survived() {
    let ended = |with, without, capsules, structs| {
        lived("exit").at(Step::Exit, |moment| {
            moment.event = Event::Ended(Ended { with, without, capsules, structs });
        })
    };
    let clean = Passing::Clean;
    let dies = |stage| Passing::Died("SIGSEGV", stage);
    assert_eq!(ended(clean, clean, 1, 0).said("LIFE-CAPSULE-AT-EXIT"), Said::Holds);
    assert_eq!(ended(clean, clean, 0, 1).said("LIFE-DELETER-FINALIZED"), Said::Holds);
    let early = ended(dies(Stage::Finalizing), clean, 1, 0);
    early.assert_only("LIFE-CAPSULE-AT-EXIT", Grade::Violation);
    let late = ended(dies(Stage::Finalized), clean, 0, 1);
    late.assert_only("LIFE-DELETER-FINALIZED", Grade::Warning);
    // The library does not end well without the export either.
    ended(dies(Stage::Finalizing), dies(Stage::Finalizing), 1, 0).assert_lawful();
}

#[test]
fn an_export_needs_no_word_about_the_device_before() {
    assert_eq!(lived("drop a").said("DEV-ORDER"), Said::Holds);
    let refused = lived("drop a").edit(|it| {
        it.seen.life.as_mut().expect("a life").first = Some(raised(ErrorClass::Buffer));
    });
    assert_eq!(refused.said("DEV-ORDER"), Said::Breaks(Grade::Violation));
}
