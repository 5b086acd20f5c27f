//! Each rule on a planted fault and on its lawful twin.

use crate::abi::{DLDevice, FLAG_IS_COPIED, FLAG_READ_ONLY};
use crate::case::Keyword::{self, *};
use crate::case::{Access, Arg, Call, Case, Dtype, Layout, Probe, Shape, Strides, Tensor, Value};
use crate::oracle::testing::{Said, Scene, call};
use crate::oracle::{
    DeviceAnswer, Elements, ErrorClass, Exportable, Grade, Memory, Raised, WriteThrough,
};

const VIOLATION: Said = Said::Breaks(Grade::Violation);
const WARNING: Said = Said::Breaks(Grade::Warning);

fn versioned() -> (Keyword, Value) {
    (MaxVersion, Value::pair(1, 0))
}

fn copy(value: bool) -> (Keyword, Value) {
    (Copy, Value::bool(value))
}

fn copied() -> Scene {
    Scene::of(&[versioned(), copy(true)])
}

fn shared() -> Scene {
    Scene::of(&[versioned()])
}

#[test]
fn a_copy_shares_no_byte() {
    assert_eq!(copied().said("COPY-TRUE-DISTINCT"), Said::Holds);
    let overlap = copied().edit(|it| it.tensor().memory = Memory::Overlap);
    assert_eq!(overlap.said("COPY-TRUE-DISTINCT"), VIOLATION);
    overlap.assert_only("COPY-TRUE-DISTINCT", Grade::Violation);
    let mapped = copied().edit(|it| it.tensor().write_through = WriteThrough::OneWay);
    assert_eq!(mapped.said("COPY-TRUE-DISTINCT"), VIOLATION);
}

#[test]
fn an_ignored_copy_is_one_cause() {
    let ignored = copied().answering(&[versioned()]);
    ignored.assert_only("COPY-TRUE-IGNORED", Grade::Violation);
    assert_eq!(ignored.said("COPY-TRUE-DISTINCT"), Said::Holds);
    // Also when only a probe shows it (tvm without max_version).
    let probe = Scene::plain().probe_answering(Probe::CopyTrue, &[]);
    probe.assert_only("COPY-TRUE-IGNORED", Grade::Violation);
    Scene::plain().with(Probe::CopyTrue).assert_lawful();
}

#[test]
fn two_copies_share_nothing_with_each_other() {
    let twin = copied().with(Probe::Repeat);
    assert_eq!(twin.said("COPY-TRUE-SOLE"), Said::Holds);
    let data = twin.clone().tensor().data;
    let cached = twin.edit(|it| it.probe_tensor(Probe::Repeat).data = data + 8);
    assert_eq!(cached.said("COPY-TRUE-SOLE"), VIOLATION);
    // Aliases of one array are no copies.
    let aliases = shared().with(Probe::Repeat);
    assert_eq!(aliases.said("COPY-TRUE-SOLE"), Said::Silent);
    // Interleaved strides may lie in one span, two blocks may not; neighbours touch and do not overlap.
    let next = copied().with(Probe::Repeat);
    let data = next.clone().tensor().data;
    let next = next.edit(|it| it.probe_tensor(Probe::Repeat).data = data + 24);
    assert_eq!(next.said("COPY-TRUE-SOLE"), Said::Holds);
    // Eight packed elements of 4 bits take four bytes, padded ones eight.
    let narrow = Dtype::named("uint4", 0).unwrap();
    let array = Tensor { dtype: narrow, shape: Shape::from_slice(&[8]), ..Tensor::plain() };
    let packed =
        Scene::new(array, call(&[versioned(), copy(true)])).with(Probe::Repeat).edit(|it| {
            let data = it.tensor().data;
            (it.managed().flags, it.probe_managed(Probe::Repeat).flags) =
                (FLAG_IS_COPIED, FLAG_IS_COPIED);
            it.probe_tensor(Probe::Repeat).data = data + 4;
        });
    assert_eq!(packed.said("COPY-TRUE-SOLE"), Said::Holds);
    let shared = packed.edit(|it| it.probe_tensor(Probe::Repeat).data -= 1);
    assert_eq!(shared.said("COPY-TRUE-SOLE"), VIOLATION);
}

#[test]
fn a_copy_is_flagged_and_an_alias_is_not() {
    assert_eq!(copied().said("COPY-FLAG-SET"), Said::Holds);
    let clear = copied().edit(|it| it.managed().flags = 0);
    clear.assert_only("COPY-FLAG-SET", Grade::Violation);
    assert_eq!(shared().said("COPY-FLAG-CLEAR"), Said::Holds);
    let set = shared().edit(|it| it.managed().flags = FLAG_IS_COPIED);
    set.assert_only("COPY-FLAG-CLEAR", Grade::Violation);
    // The legacy struct has no flags.
    assert_eq!(Scene::of(&[copy(true)]).said("COPY-FLAG-SET"), Said::Silent);
}

#[test]
fn a_host_copy_that_the_library_keeps_may_be_unflagged_with_a_warning() {
    let array = Tensor { device: DLDevice::new(2, 0), ..Tensor::plain() };
    let moved = Scene::new(array, call(&[versioned(), (DlDevice, Value::pair(1, 0))]));
    assert_eq!(moved.said("COPY-FLAG-SET"), Said::Holds);
    let kept = moved.clone().edit(|it| it.managed().flags = FLAG_READ_ONLY);
    assert_eq!(kept.said("COPY-FLAG-SET"), WARNING);
    let owned = moved.edit(|it| it.managed().flags = 0);
    assert_eq!(owned.said("COPY-FLAG-SET"), VIOLATION);
}

#[test]
fn size_zero_is_exempt() {
    let empty = Tensor { shape: Shape::from_slice(&[0, 3]), ..Tensor::plain() };
    let both_flags = [0, FLAG_IS_COPIED];
    for (flags, value) in both_flags.into_iter().flat_map(|flags| [(flags, true), (flags, false)]) {
        let scene = Scene::new(empty.clone(), call(&[versioned(), copy(value)]));
        let scene = scene.with(Probe::CopyNone).with(Probe::Repeat);
        scene.edit(|it| it.managed().flags = flags).assert_lawful();
    }
}

#[test]
fn an_address_is_compared_only_where_the_pointer_is_plain() {
    // An OpenCL handle that equals the number of a host address.
    let array = Tensor { device: DLDevice::new(4, 0), ..Tensor::plain() };
    let handle = Scene::new(array, call(&[versioned(), copy(true)])).answering(&[versioned()]);
    let handle = handle.edit(|it| {
        it.tensor().memory = Memory::Unknown;
        it.managed().flags = FLAG_IS_COPIED;
    });
    handle.assert_lawful();
}

#[test]
fn mapped_memory_with_two_addresses_is_an_alias() {
    let mapped = Scene::of(&[versioned(), copy(false)]).edit(|it| {
        it.tensor().memory = Memory::Distinct;
        it.tensor().write_through = WriteThrough::Shared;
    });
    mapped.assert_lawful();
    assert_eq!(mapped.said("COPY-FALSE-ALIAS"), Said::Holds);
}

#[test]
fn a_fresh_copy_can_be_written_to() {
    let array = Tensor { access: Access::ReadOnly, ..Tensor::plain() };
    let twin = Scene::new(array, call(&[versioned(), copy(true)]));
    assert_eq!(twin.said("COPY-TRUE-WRITABLE"), Said::Holds);
    let jax = twin.edit(|it| it.managed().flags |= FLAG_READ_ONLY);
    assert_eq!(jax.said("COPY-TRUE-WRITABLE"), WARNING);
}

#[test]
fn a_copy_although_none_was_allowed() {
    let strict = Scene::of(&[versioned(), copy(false)]);
    assert_eq!(strict.said("COPY-FALSE-ALIAS"), Said::Holds);
    let given = strict.answering(&[versioned(), copy(true)]);
    given.assert_only("COPY-FALSE-ALIAS", Grade::Violation);
    let probe = shared().probe_answering(Probe::CopyFalse, &[versioned(), copy(true)]);
    assert_eq!(probe.said("COPY-FALSE-ALIAS"), VIOLATION);
}

#[test]
fn copy_false_follows_copy_none() {
    let twin = shared().with(Probe::CopyFalse);
    assert_eq!(twin.said("COPY-FALSE-CONSISTENT"), Said::Holds);
    let refused = shared().with_raised(Probe::CopyFalse, ErrorClass::Buffer);
    refused.assert_only("COPY-FALSE-CONSISTENT", Grade::Violation);
    // Arrow refuses every copy argument on the legacy path.
    let arrow = Scene::plain().with_raised(Probe::CopyFalse, ErrorClass::Buffer);
    assert_eq!(arrow.said("COPY-FALSE-CONSISTENT"), WARNING);
    // What is malformed may be refused in one call and passed over in the other.
    let odd: Case =
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(0,))".parse().unwrap();
    let odd = Scene::new(odd.tensor, odd.call).with_raised(Probe::CopyFalse, ErrorClass::Buffer);
    assert_eq!(odd.said("COPY-FALSE-CONSISTENT"), Said::Silent);
    // A copy was needed: nothing to be consistent with.
    let needed = shared().answering(&[versioned(), copy(true)]);
    let needed = needed.with_raised(Probe::CopyFalse, ErrorClass::Buffer);
    assert_eq!(needed.said("COPY-FALSE-CONSISTENT"), Said::Silent);
    // RO-LEGACY: a read-only array is refused by both.
    let array = Tensor { access: Access::ReadOnly, ..Tensor::plain() };
    Scene::new(array, Call::default()).with(Probe::CopyFalse).assert_lawful();
}

#[test]
fn the_own_device_changes_nothing() {
    let twin = shared().with(Probe::OwnDevice);
    assert_eq!(twin.said("COPY-SAME-DEVICE-NEUTRAL"), Said::Holds);
    let refused = shared().with_raised(Probe::OwnDevice, ErrorClass::Value);
    refused.assert_only("COPY-SAME-DEVICE-NEUTRAL", Grade::Violation);
    let copies = Scene::of(&[versioned(), (DlDevice, Value::pair(1, 0))]);
    let copies = copies.probe_answering(Probe::NoDevice, &[versioned(), copy(true)]);
    assert_eq!(copies.said("COPY-SAME-DEVICE-NEUTRAL"), VIOLATION);
}

#[test]
fn what_is_not_the_own_device_may_change_something() {
    // torch's meta tensors: no device, and two ways to say so.
    let meta = shared().raising(ErrorClass::Buffer);
    let meta = meta.with_raised(Probe::OwnDevice, ErrorClass::Runtime);
    assert_eq!(meta.said("COPY-SAME-DEVICE-NEUTRAL"), VIOLATION);
    let meta = meta.edit(|it| {
        let raised = Raised { class: ErrorClass::Value, name: "ValueError".into(), message: None };
        it.seen.device_before = DeviceAnswer::Raised(raised);
    });
    assert_eq!(meta.said("COPY-SAME-DEVICE-NEUTRAL"), Said::Silent);
    // JAX's second CPU: the method names the first one, and a move is what the pair asks for.
    let second = shared().with_raised(Probe::OwnDevice, ErrorClass::Value);
    let second = second.edit(|it| it.tensor().device = DLDevice::new(1, 1));
    assert_eq!(second.said("COPY-SAME-DEVICE-NEUTRAL"), Said::Silent);
}

#[test]
fn an_alias_is_the_same_memory_in_both_directions() {
    assert_eq!(shared().said("COPY-WRITE-THROUGH"), Said::Holds);
    for seen in [WriteThrough::OneWay, WriteThrough::Separate] {
        let broken = shared().edit(|it| it.tensor().write_through = seen);
        broken.assert_only("COPY-WRITE-THROUGH", Grade::Violation);
    }
    let immutable = shared().edit(|it| {
        it.seen.exporter.mutable = false;
        it.tensor().write_through = WriteThrough::NotTried;
    });
    assert_eq!(immutable.said("COPY-WRITE-THROUGH"), Said::Silent);
}

#[test]
fn a_copy_holds_the_values() {
    let differs = Elements::Differ {
        index: Shape::from_slice(&[3]),
        expected: vec![0, 0, 0x80, 0x3f],
        seen: vec![0, 0, 0, 0x40],
    };
    assert_eq!(copied().said("COPY-VALUES"), Said::Holds);
    let broken = copied().edit(|it| it.tensor().elements = differs.clone());
    assert_eq!(broken.said("COPY-VALUES"), VIOLATION);
    let quieted = copied().edit(|it| it.tensor().elements = Elements::SameValues);
    assert_eq!(quieted.said("COPY-VALUES"), Said::Breaks(Grade::Info));
    // A wrong shape makes every value look wrong.
    let shape = copied().edit(|it| {
        it.tensor().elements = differs.clone();
        it.tensor().shape = Shape::from_slice(&[7]);
    });
    assert_eq!(shape.said("COPY-VALUES"), Said::Silent);
}

#[test]
fn an_unflagged_copy_is_noted_where_it_could_be_flagged() {
    let asked = copied().answering(&[copy(true)]);
    assert_eq!(asked.said("COPY-LEGACY-SILENT"), Said::Breaks(Grade::Info));
    assert_eq!(Scene::of(&[copy(true)]).said("COPY-LEGACY-SILENT"), Said::Holds);
}

#[test]
fn an_odd_copy_argument_acts_by_its_truth_value() {
    let odd = |value, answer: &[(Keyword, Value)]| {
        Scene::of(&[versioned(), (Copy, value)]).answering(answer)
    };
    let truthy = odd(Value::int(2), &[versioned(), copy(true)]);
    assert_eq!(truthy.said("COPY-TYPE"), Said::Holds);
    let flagged = odd(Value::int(2), &[versioned()]).edit(|it| it.managed().flags = FLAG_IS_COPIED);
    assert_eq!(flagged.said("COPY-TYPE"), Said::Breaks(Grade::Info));
    let falsy = odd(Value::int(0), &[versioned(), copy(true)]);
    assert_eq!(falsy.said("COPY-TYPE"), Said::Breaks(Grade::Info));
    assert_eq!(odd(Value::int(0), &[versioned()]).said("COPY-TYPE"), Said::Holds);
}

#[test]
fn an_exporter_that_does_not_know_copy_is_not_judged_by_it() {
    let old = Scene::of(&[copy(true)]).raising(ErrorClass::Type);
    let old = old.edit(|it| it.seen.exporter.keywords[Copy as usize] = false);
    for id in ["COPY-TRUE-REFUSED", "COPY-TRUE-IGNORED", "COPY-TRUE-DISTINCT"] {
        assert_eq!(old.said(id), Said::Silent);
    }
}

#[test]
fn a_packed_field_may_be_copied_and_refused_without_a_copy() {
    // A stride that is no multiple of the item size: copy=None copies, copy=False is refused.
    let layout = Layout::Strided { strides: Strides::from_slice(&[6]), lead: 0 };
    let array = Tensor { layout, ..Tensor::plain() };
    let plain = Scene::new(array, call(&[versioned()]));
    let plain = plain.edit(|it| it.seen.source.exportable = Exportable::Unknown);
    let copies = Scene::of(&[versioned(), copy(true)]).seen.export;
    let lawful = plain.edit(|it| it.seen.export = copies.clone());
    let strict = lawful.clone().with_raised(Probe::CopyFalse, ErrorClass::Buffer);
    strict.assert_lawful();
    let refused = lawful.edit(|it| {
        it.case.call.copy = Arg::Given(Value::bool(false));
        it.seen.further.push((Probe::CopyNone, copies));
    });
    refused.raising(ErrorClass::Buffer).assert_lawful();
}
