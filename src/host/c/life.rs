//! Lives the **life** of a case in C, where no capsule holds a struct: to take it is to keep it, and to drop what nobody
//! took is to run its deleter here.
//!
//! Counts are the shared object's own. References are counted on one array; nobody else holds one, so an exporter that
//! gives back too many may end the array under its owner, and then the process.

use super::arguments::arguments;
use super::held::is_deletable;
use super::{Session, Subject};
use crate::abi::DLDevice;
use crate::backend::Inexpressible;
use crate::case::life::{Place, Slot, Step};
use crate::case::{Call, Case};
use crate::host::Detail;
use crate::host::life::churn::{Blocks, others};
use crate::host::life::course::{Living as _, live_again, live_through, on_thread};
use crate::host::life::{course, held};
use crate::host::session::{GROWTH_ROUNDS, WARM_UP_ROUNDS};
use crate::oracle::{Event, Growth, Lived, Moment, Outcome};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Lives the case's life once; counts that are off are confirmed by living it many times.
pub fn live(
    session: &mut Session,
    case: &Case,
    detail: Detail,
) -> Result<Option<Box<Lived>>, Inexpressible> {
    if case.life.is_empty() {
        return Ok(None);
    }
    if !case.life.is_of_c() {
        return Err(Inexpressible("a step of the life is Python's".into()));
    }
    // Another such array is asked: the one of the life is not (DEV-ORDER).
    let other = session.build(&case.tensor)?;
    let own = session.device(&other);
    session.release(&other);
    for probe in case.life.probes() {
        arguments(&probe.call(&case.call, own), own)?;
    }
    let mut lived = live_once(session, case, own, detail)?;
    let is_off = |count: Option<isize>| count.is_some_and(|count| count != 0);
    if is_off(lived.references) || is_off(lived.blocks) {
        lived.growth = Some(measure_growth(session, case, own, &lived)?);
    }
    Ok(Some(Box::new(lived)))
}

fn live_once(
    session: &mut Session,
    case: &Case,
    own: DLDevice,
    detail: Detail,
) -> Result<Lived, Inexpressible> {
    let blocks = session.live_blocks();
    let mut living = Living::new(session, case, own, detail)?;
    let lived = live_through(&mut living, case);
    drop(living);
    let blocks = blocks.and_then(|before| Some(session.live_blocks()? - before));
    Ok(Lived { blocks, ..lived? })
}

/// Lives over and over: on one array for references that are left, on new ones for blocks of memory.
fn measure_growth(
    session: &mut Session,
    case: &Case,
    own: DLDevice,
    lived: &Lived,
) -> Result<Growth, Inexpressible> {
    let mut growth =
        Growth { rounds: GROWTH_ROUNDS, references: 0, blocks: 0, argument_references: 0 };
    if lived.references.is_some_and(|references| references > 0) {
        let mut living = Living::new(session, case, own, Detail::Brief)?;
        for round in 0..WARM_UP_ROUNDS + GROWTH_ROUNDS {
            if round == WARM_UP_ROUNDS {
                growth.references = living.references().unwrap_or(0);
            }
            live_again(&mut living, case)?;
            living.forget_churned();
        }
        growth.references = living.references().unwrap_or(0) - growth.references;
    }
    for round in 0..WARM_UP_ROUNDS + GROWTH_ROUNDS {
        let lived = live_once(session, case, own, Detail::Brief)?;
        if round >= WARM_UP_ROUNDS {
            growth.blocks += lived.blocks.unwrap_or(0);
            // What was given back twice is missing on every array.
            growth.references += lived.references.unwrap_or(0).min(0);
        }
    }
    Ok(growth)
}

/// An array and its exports, as long as they live.
struct Living<'a> {
    session: &'a mut Session,
    case: &'a Case,
    own: DLDevice,
    detail: Detail,
    built: Subject,
    /// The array was not released yet.
    is_held: bool,
    /// References before the export `a`.
    baseline: isize,
    exports: [Option<Export>; 4],
    /// Memory in the place of what was freed.
    blocks: Blocks,
    others: Vec<Subject>,
}

struct Export {
    held: held::Held,
    taken: bool,
}

impl Export {
    fn delete(&mut self, place: Place) -> Event {
        let Some(deletion) = self.held.deletion() else {
            return Event::Skipped("there is no deleter to run");
        };
        match place {
            Place::Native => on_thread(|| deletion.run()),
            _ => deletion.run(),
        }
        Event::Done
    }
}

impl<'a> Living<'a> {
    fn new(
        session: &'a mut Session,
        case: &'a Case,
        own: DLDevice,
        detail: Detail,
    ) -> Result<Self, Inexpressible> {
        let built = session.build(&case.tensor)?;
        Ok(Self {
            baseline: session.references(&built),
            session,
            case,
            own,
            detail,
            built,
            is_held: true,
            exports: [const { None }; 4],
            blocks: Blocks::default(),
            others: Vec::new(),
        })
    }

    fn let_go(&mut self) {
        if std::mem::replace(&mut self.is_held, false) {
            self.session.release(&self.built);
        }
    }

    fn churn(&mut self) {
        self.blocks.fill(&self.built.facts);
        for other in others(&self.case.tensor) {
            self.others.extend(self.session.build(&other));
        }
    }

    fn forget_churned(&mut self) {
        self.blocks.clear();
        self.others.drain(..).for_each(|other| self.session.release(&other));
    }
}

impl course::Living for Living<'_> {
    fn export(&mut self, slot: Slot, call: &Call) -> Result<Outcome, Inexpressible> {
        if !self.is_held {
            return Err(Inexpressible("no step exports an array that was let go".into()));
        }
        let call = arguments(call, self.own)?;
        let dtype = self.case.tensor.dtype;
        let outcome =
            self.session.export(&self.built, dtype, &call, self.detail, &mut SmallVec::new());
        let capsule = outcome.capsule();
        let deletable = capsule.filter(|it| it.managed.as_ref().is_some_and(is_deletable));
        self.exports[slot as usize] =
            deletable.and_then(held::Held::of).map(|held| Export { held, taken: false });
        Ok(outcome)
    }

    fn take(&mut self, step: Step) -> Result<Event, Inexpressible> {
        let event = match step {
            Step::Export(slot, probe) => {
                let call = match probe {
                    Some(probe) => Cow::Owned(probe.call(&self.case.call, self.own)),
                    None => Cow::Borrowed(&self.case.call),
                };
                Event::Exported(self.export(slot, &call)?)
            }
            Step::Take(slot) | Step::Drop(slot, _) | Step::Delete(slot, _) => {
                match (&mut self.exports[slot as usize], step) {
                    (None, _) => Event::Skipped("there is no such export"),
                    (Some(export), Step::Take(_)) => {
                        export.taken = true;
                        Event::Done
                    }
                    (Some(export), Step::Drop(..)) if export.taken => {
                        Event::Skipped("no capsule is left of it")
                    }
                    (Some(export), Step::Delete(_, place)) => export.delete(place),
                    (Some(export), _) => export.delete(Place::Here),
                }
            }
            Step::DropSource => {
                self.let_go();
                Event::Done
            }
            Step::Churn => {
                self.churn();
                Event::Done
            }
            _ => Event::Skipped("the step is Python's"),
        };
        Ok(event)
    }

    fn moment(&self, step: Step, event: Event) -> Moment {
        let changed = Slot::ALL.into_iter().find_map(|slot| {
            let export = self.exports[slot as usize].as_ref()?;
            Some((slot, export.held.difference()?))
        });
        Moment { step, event, error: None, references: self.references(), changed }
    }

    fn references(&self) -> Option<isize> {
        let counts = self.is_held && self.session.counts_references();
        counts.then(|| self.session.references(&self.built) - self.baseline)
    }

    fn is_empty(&self) -> bool {
        self.exports.iter().flatten().all(|export| export.held.is_deleted())
    }
}

impl Drop for Living<'_> {
    fn drop(&mut self) {
        for export in self.exports.iter_mut().flatten() {
            export.delete(Place::Here);
        }
        self.forget_churned();
        self.let_go();
    }
}
