//! **Faults**: one way or more to break each rule, in the kinds that real exporters were found with.
//!
//! Goes in: the name of a fault ([`plant`]). From then on the [exporter](crate::export()) breaks the fault's
//! rule, mostly on some arrays or calls only, so that a search has something to find; it stays lawful
//! everywhere else. Every fault is a row of its family's table: its name, the rule, the story, and a [`Plant`].
//!
//! One fault is planted at a time, for the process. What a fault must remember between calls is its
//! [`Past`], which ends with the array.

mod cap;
mod copy;
mod dev;
mod dty;
mod exc;
mod freed;
mod life;
mod mgt;
mod past;
mod surface;
mod ten;
mod ver;

pub use life::Life;
pub use past::{Past, forget};
pub use surface::Surface;

use crate::arguments::Request;
use crate::array::Array;
use crate::dlpack::{Device, ManagedTensor, ManagedTensorVersioned};
use crate::error::{Cause, Error, Kind};
use crate::export::Export;
use crate::memory::Memory;
use crate::plan::Plan;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A way to break a rule.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub name: &'static str,
    /// Id of the rule that it breaks.
    pub rule: &'static str,
    /// What goes wrong, and when.
    pub story: &'static str,
    /// How the rule grades it under the profile `spec`.
    pub grade: Grade,
    /// Rules that see the same cause and cannot but complain too.
    pub also: &'static [&'static str],
    pub route: Route,
    /// The device of the arrays on which it shows, if that is not the CPU.
    pub device: Option<Device>,
    pub shown: Shown,
    pub plant: Plant,
}

/// By what a fault is to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    ByCalls,
    /// By what becomes of an export.
    ByLife,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    Info,
    Warning,
    Violation,
}

/// Where a fault can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    Both,
    /// Behind the C header only: it counts blocks of memory.
    C,
    /// In Python only.
    Python,
}

/// What is done in place of the lawful thing.
#[derive(Clone, Copy, Debug)]
pub enum Plant {
    /// A decision, or an error, in place of the lawful one.
    Decide(fn(&mut Scene, Result<Plan, Error>) -> Result<Plan, Error>),
    /// What the owner of an array does when it lets go.
    Release(fn(&Array)),
    /// The export after it was made.
    Alter(fn(&mut Scene, &Plan, Export) -> Export),
    /// What stays behind after a call that succeeded or failed.
    Leave(fn(&mut Scene, &Result<Export, Error>) -> Option<Left>),
    /// The device that an array is built with.
    Disguise(fn(&Array) -> Device),
    /// What the device method answers, after so many exports.
    Method(fn(&Array, &Past) -> Device),
    /// Something that only the Python object can do; it looks at the name itself.
    Surface(Surface),
}

/// What a call leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// A reference to the array.
    Reference,
    /// A block of memory; it is already left.
    Block,
}

/// A call that a fault may change.
#[derive(Debug)]
pub struct Scene<'a> {
    pub array: &'a Arc<Array>,
    pub request: &'a Request,
    pub past: &'a mut Past,
}

/// How a call ended.
#[derive(Debug)]
pub struct Outcome {
    pub result: Result<Export, Error>,
    /// The caller leaves a reference behind, of the sort that its users count.
    pub left: Option<Left>,
}

const FAMILIES: [&[Fault]; 11] = [
    cap::FAULTS,
    mgt::FAULTS,
    ten::FAULTS,
    dty::FAULTS,
    dev::FAULTS,
    copy::FAULTS,
    ver::FAULTS,
    exc::FAULTS,
    surface::FAULTS,
    life::FAULTS,
    life::IN_C,
];

/// All faults, by family, that show the same every time.
pub fn faults() -> impl Iterator<Item = &'static Fault> {
    FAMILIES.into_iter().flatten()
}

/// Faults that touch memory after it was freed. AddressSanitizer sees them.
pub fn freeing() -> impl Iterator<Item = &'static Fault> {
    freed::FAULTS.iter()
}

pub fn named(name: &str) -> Option<&'static Fault> {
    faults().chain(freeing()).find(|fault| fault.name == name)
}

/// The one that is planted; NULL for none.
static PLANTED: AtomicPtr<Fault> = AtomicPtr::new(null_mut());

/// No fault has that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

/// Plants the fault of that name in place of the one before; `none` is a lawful exporter.
pub fn plant(name: &str) -> Result<(), Unknown> {
    let fault = match name {
        "none" => null_mut(),
        name => std::ptr::from_ref(named(name).ok_or(Unknown)?).cast_mut(),
    };
    PLANTED.store(fault, Ordering::Relaxed);
    forget();
    Ok(())
}

pub fn planted() -> Option<&'static Fault> {
    // SAFETY: NULL, or a row of a static table that nobody writes to.
    unsafe { PLANTED.load(Ordering::Relaxed).as_ref() }
}

/// The Python object's fault, if one of those is planted.
pub fn surface() -> Option<Surface> {
    match planted()?.plant {
        Plant::Surface(surface) => Some(surface),
        _ => None,
    }
}

/// A new array, as its users will see it.
pub fn built(mut array: Arc<Array>) -> Arc<Array> {
    if let Some(fault) = planted() {
        forget();
        if let (Plant::Disguise(disguise), Some(array)) = (fault.plant, Arc::get_mut(&mut array)) {
            array.device = disguise(array);
        }
    }
    array
}

/// The owner of an array lets go.
pub fn released(array: &Array) {
    if let Some(Plant::Release(release)) = planted().map(|fault| fault.plant) {
        release(array);
    }
    if planted().is_some() {
        forget();
    }
}

/// `__dlpack_device__()`.
pub fn device(array: &Array) -> Device {
    if planted().is_some() {
        past::with(|past| past.asked = true);
    }
    match planted().map(|fault| fault.plant) {
        Some(Plant::Method(method)) => past::with(|past| method(array, past)),
        _ => array.device,
    }
}

/// `__dlpack__()`, as the planted fault has it.
pub fn export(array: &Arc<Array>, request: &Request) -> Outcome {
    match planted() {
        None => Outcome { result: crate::export(array, request), left: None },
        Some(fault) => past::with(|past| fault.export(Scene { array, request, past })),
    }
}

impl Fault {
    fn export(&self, mut scene: Scene) -> Outcome {
        let mut plan = Plan::of(scene.array, scene.request);
        if let Plant::Decide(decide) = self.plant {
            plan = decide(&mut scene, plan);
        }
        let result = plan.and_then(|plan| {
            let export = Export::make(scene.array, &plan)?;
            Ok(match self.plant {
                Plant::Alter(alter) => alter(&mut scene, &plan, export),
                _ => export,
            })
        });
        let left = match self.plant {
            Plant::Leave(leave) => leave(&mut scene, &result),
            _ => None,
        };
        if left == Some(Left::Block) {
            std::mem::forget(Memory::new(64));
        }
        scene.past.note(scene.request, &result);
        Outcome { result, left }
    }

    // The rows are written with these.

    const fn new(
        name: &'static str,
        rule: &'static str,
        story: &'static str,
        plant: Plant,
    ) -> Self {
        Self {
            name,
            rule,
            story,
            grade: Grade::Violation,
            also: &[],
            route: Route::Both,
            device: None,
            shown: Shown::ByCalls,
            plant,
        }
    }

    const fn warning(mut self) -> Self {
        self.grade = Grade::Warning;
        self
    }

    const fn info(mut self) -> Self {
        self.grade = Grade::Info;
        self
    }

    const fn also(mut self, rules: &'static [&'static str]) -> Self {
        self.also = rules;
        self
    }

    const fn only(mut self, route: Route) -> Self {
        self.route = route;
        self
    }

    const fn in_life(mut self) -> Self {
        self.shown = Shown::ByLife;
        self
    }

    const fn on(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }
}

/// The same refusal as another exception.
fn raised_as(plan: Result<Plan, Error>, cause: Cause, kind: Kind) -> Result<Plan, Error> {
    plan.map_err(|error| if error.cause == cause { Error { kind, ..error } } else { error })
}

/// A refusal of what should be served.
fn refuse(kind: Kind) -> Result<Plan, Error> {
    Err(Error { cause: Cause::Planted, kind })
}

/// Gives an export one of these deleters, which end with its own.
fn set_deleter(
    export: &mut Export,
    legacy: unsafe extern "C" fn(*mut ManagedTensor),
    versioned: unsafe extern "C" fn(*mut ManagedTensorVersioned),
) {
    match export {
        // SAFETY: the struct is alive, and nobody else has it yet.
        Export::Legacy(managed) => unsafe { managed.as_mut().deleter = Some(legacy) },
        // SAFETY: likewise.
        Export::Versioned(managed) => unsafe { managed.as_mut().deleter = Some(versioned) },
    }
}

/// Some axis with neighbours runs backwards.
fn runs_backwards(array: &Array) -> bool {
    !array.is_empty()
        && (array.shape().iter().zip(array.strides())).any(|(&n, &step)| n > 1 && step < 0)
}

/// The lowest address of an element.
fn lowest(array: &Array) -> *mut u8 {
    let below: i64 = (array.shape().iter().zip(array.strides()))
        .filter(|&(&extent, &stride)| extent > 1 && stride < 0)
        .map(|(&extent, &stride)| (extent - 1) * stride)
        .sum();
    array.first().wrapping_offset(below as isize)
}
