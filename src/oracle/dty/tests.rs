use crate::abi::{DLDataType, DLDevice, DLPackVersion, FLAG_SUBBYTE_PADDED};
use crate::case::{Call, Dtype, Keyword, Probe, Shape, Tensor, Value};
use crate::oracle::testing::{Said, Scene, call};
use crate::oracle::{Elements, ErrorClass, Exportable, Grade, Memory};

fn array(name: &str) -> Tensor {
    Tensor { dtype: Dtype::named(name, 8).unwrap(), ..Tensor::plain() }
}

fn versioned(tensor: Tensor) -> Scene {
    Scene::new(tensor, call(&[(Keyword::MaxVersion, Value::pair(1, 0))]))
}

/// A capsule with this type, from a lawful exporter or one that should have refused.
fn exported(tensor: Tensor, (code, bits, lanes): (u8, u8, u16)) -> Scene {
    let out = DLDataType::new(code, bits, lanes);
    let item = tensor.dtype.item_size();
    let like = Tensor { dtype: Dtype::FLOAT32, ..tensor.clone() };
    let shown = versioned(like);
    versioned(tensor).edit(|it| {
        if it.seen.export.capsule().is_none() {
            it.seen.export = shown.seen.export;
        }
        it.tensor().dtype = out;
        if out.item_size() != item {
            it.tensor().memory = Memory::Unknown;
            it.tensor().elements = Elements::NotRead("the item size is another one");
        }
    })
}

#[test]
fn each_type_of_the_table_is_lawful_as_itself() {
    for info in Dtype::TABLE {
        let scene = versioned(array(info.name));
        scene.assert_lawful();
        if info.triple.is_some() {
            assert_eq!(scene.said("DTY-MATCH"), Said::Holds, "{}", info.name);
            // The pair type's own triple has two lanes.
            let word =
                if info.name.ends_with("_x2") { Said::Breaks(Grade::Info) } else { Said::Holds };
            assert_eq!(scene.said("DTY-LANES"), word, "{}", info.name);
        }
    }
}

#[test]
fn a_wrong_type_is_reported_once_under_the_special_rule() {
    for (name, out, id) in [
        ("float32", (2, 32, 0), "DTY-LANES"),
        ("float32", (0, 32, 1), "DTY-MATCH"),
        ("float32", (2, 16, 2), "DTY-MATCH"),
        ("float32", (3, 32, 1), "DTY-MATCH"),
        ("float32", (99, 32, 1), "DTY-MATCH"),
        ("longlong", (1, 64, 1), "DTY-MATCH"),
        ("object", (0, 64, 1), "DTY-MATCH"),
        ("void", (1, 8, 1), "DTY-MATCH"),
        ("int32", (0, 64, 1), "DTY-SIZE"),
        ("float16", (2, 32, 1), "DTY-SIZE"),
        ("clongdouble", (5, 0, 1), "DTY-BITS-TRUNC"),
        ("float8_e5m2", (12, 16, 1), "DTY-BITS-FIXED"),
        ("float4_e2m1fn", (17, 8, 1), "DTY-BITS-FIXED"),
        ("float6_e2m3fn", (15, 8, 1), "DTY-BITS-FIXED"),
        ("bool", (1, 8, 1), "DTY-BOOL"),
        ("bool", (6, 1, 1), "DTY-BOOL"),
        ("complex64", (5, 32, 1), "DTY-COMPLEX"),
        ("complex64", (2, 64, 1), "DTY-COMPLEX"),
        ("bfloat16", (2, 16, 1), "DTY-BF16"),
        ("float8_e4m3", (10, 8, 1), "DTY-FP8-CODE"),
        ("float8_e4m3fn", (2, 8, 1), "DTY-FP8-CODE"),
    ] {
        exported(array(name), out).assert_only(id, Grade::Violation);
    }
    if cfg!(target_arch = "x86_64") {
        exported(array("longdouble"), (2, 128, 1)).assert_only("DTY-FLOAT-IEEE", Grade::Violation);
    }
}

#[test]
fn a_refusal_that_is_due_counts_as_checked() {
    assert_eq!(versioned(array("clongdouble")).said("DTY-BITS-TRUNC"), Said::Holds);
    assert_eq!(versioned(array("longdouble")).said("DTY-FLOAT-IEEE"), Said::Holds);
    let swapped = Tensor { dtype: array("int16").dtype.swapped(), ..Tensor::plain() };
    assert_eq!(versioned(swapped).said("DTY-ENDIAN"), Said::Holds);
    assert_eq!(versioned(array("int16")).said("DTY-ENDIAN"), Said::Silent);
}

#[test]
fn bool_as_a_number_is_an_old_habit_in_a_legacy_struct() {
    let legacy = |out: (u8, u8, u16)| {
        Scene::new(array("bool"), Call::default())
            .edit(|it| it.tensor().dtype = DLDataType::new(out.0, out.1, out.2))
    };
    assert_eq!(legacy((6, 8, 1)).said("DTY-BOOL"), Said::Holds);
    legacy((1, 8, 1)).assert_only("DTY-BOOL", Grade::Warning);
    legacy((0, 8, 1)).assert_only("DTY-MATCH", Grade::Violation);
    // Bytes other than 0 and 1 are never judged.
    let odd = legacy((6, 8, 1)).edit(|it| it.tensor().elements = Elements::SameValues);
    odd.assert_lawful();
}

#[test]
fn swapped_bytes_are_not_exported() {
    let id = "DTY-ENDIAN";
    let swapped = || Tensor { dtype: array("int16").dtype.swapped(), ..Tensor::plain() };
    let differ =
        Elements::Differ { index: Shape::from_slice(&[0]), expected: vec![1, 0], seen: vec![0, 1] };
    let alias = exported(swapped(), (0, 16, 1)).edit(|it| {
        it.tensor().memory = Memory::Alias;
        it.tensor().elements = differ.clone();
    });
    alias.assert_only(id, Grade::Violation);
    let copy = |elements: Elements| {
        exported(swapped(), (0, 16, 1)).edit(|it| {
            it.tensor().memory = Memory::Distinct;
            it.tensor().elements = elements;
        })
    };
    assert_eq!(copy(differ).said(id), Said::Breaks(Grade::Violation));
    assert_eq!(copy(Elements::Same).said(id), Said::Breaks(Grade::Warning));
    let empty = exported(Tensor { shape: Shape::from_slice(&[0]), ..swapped() }, (0, 16, 1));
    assert_eq!(empty.said(id), Said::Breaks(Grade::Info));
    // An item of one byte has no order.
    assert_eq!(array("uint8").dtype.swapped(), array("uint8").dtype);
}

#[test]
fn unknown_codes_are_judged_where_the_table_is_silent() {
    let id = "DTY-CODE-KNOWN";
    assert_eq!(versioned(array("float32")).said(id), Said::Holds);
    // A type that the library registered: the adapter says that it can be exported.
    let registered = |code| {
        exported(array("record"), (code, 96, 1))
            .edit(|it| it.seen.source.exportable = Exportable::Yes)
    };
    assert_eq!(registered(60).said(id), Said::Breaks(Grade::Warning));
    for code in [18, 129, 200] {
        assert_eq!(registered(code).said(id), Said::Breaks(Grade::Info));
    }
    // A newer library (P-NEWER).
    let newer = exported(array("float32"), (60, 32, 1))
        .edit(|it| it.managed().version = Some(DLPackVersion { major: 1, minor: 4 }));
    assert_eq!(newer.said(id), Said::Breaks(Grade::Info));
    assert_eq!(newer.said("DTY-MATCH"), Said::Silent);
    assert_eq!(registered(3).said("DTY-OPAQUE"), Said::Breaks(Grade::Warning));
    assert_eq!(registered(2).said("DTY-OPAQUE"), Said::Holds);
}

/// Trap: JAX without x64 builds a float32 for a float64.
#[test]
fn the_built_array_s_type_counts_not_the_case_s() {
    let scene = exported(array("float64"), (2, 32, 1)).edit(|it| {
        it.seen.source.item_size = 4;
        it.tensor().memory = Memory::Unknown;
    });
    assert_eq!(scene.said("DTY-MATCH"), Said::Holds);
    assert_eq!(scene.said("DTY-SIZE"), Said::Holds);
}

#[test]
fn narrow_types_are_packed_or_flagged() {
    let padded = "DTY-SUBBYTE-PADDED";
    let minor_1 =
        |it: &mut Scene| it.managed().version = Some(DLPackVersion { major: 1, minor: 1 });
    let int4 = || versioned(array("int4")).edit(minor_1);
    // The scene stores one element per byte.
    assert_eq!(int4().said(padded), Said::Breaks(Grade::Violation));
    let flagged = int4().edit(|it| it.managed().flags = FLAG_SUBBYTE_PADDED);
    assert_eq!(flagged.said(padded), Said::Holds);
    let old = versioned(array("int4"));
    assert_eq!(old.said(padded), Said::Breaks(Grade::Info));
    let legacy = Scene::new(array("int4"), Call::default());
    assert_eq!(legacy.said(padded), Said::Breaks(Grade::Info));
    // Six elements in three bytes are packed.
    let packed = |elements: Elements| {
        int4().edit(|it| {
            let start = it.seen.source.address.unwrap();
            it.seen.source.allocation = Some(start..start + 3);
            it.tensor().elements = elements;
        })
    };
    assert_eq!(packed(Elements::Same).said(padded), Said::Silent);
    assert_eq!(packed(Elements::Same).said("DTY-SUBBYTE-PACK"), Said::Holds);
    let differ =
        Elements::Differ { index: Shape::from_slice(&[1]), expected: vec![1], seen: vec![2] };
    packed(differ).assert_only("DTY-SUBBYTE-PACK", Grade::Violation);
    // The label of the storage.
    let label = exported(array("int4"), (0, 8, 1));
    assert_eq!(label.said("DTY-MATCH"), Said::Breaks(Grade::Warning));
}

#[test]
fn packed_shapes_may_count_pairs() {
    let id = "DTY-SUBBYTE-SHAPE";
    assert_eq!(versioned(array("float4_e2m1fn")).said(id), Said::Holds);
    let pairs = exported(array("float4_e2m1fn"), (17, 4, 2)).edit(|it| {
        it.tensor().shape = Shape::from_slice(&[3]);
        it.tensor().memory = Memory::Unknown;
    });
    assert_eq!(pairs.said(id), Said::Breaks(Grade::Info));
    assert_eq!(pairs.said("TEN-SHAPE-VALUES"), Said::Silent);
    assert_eq!(pairs.said("DTY-LANES"), Said::Breaks(Grade::Info));
    pairs.assert_lawful();
    assert_eq!(versioned(array("float32")).said(id), Said::Silent);
}

#[test]
fn standard_types_can_be_exported() {
    let id = "DTY-STANDARD-ALL";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    let refused = Scene::plain()
        .raising(ErrorClass::Buffer)
        .with_raised(Probe::Version10, ErrorClass::Buffer);
    assert_eq!(refused.said(id), Said::Breaks(Grade::Warning));
    assert_eq!(refused.clone().under("aat").said(id), Said::Breaks(Grade::Violation));
    // An exporter that has dropped the legacy struct, and a type that is not in the standard.
    let versioned_only = Scene::plain().raising(ErrorClass::Buffer).with(Probe::Version10);
    assert_eq!(versioned_only.said(id), Said::Holds);
    assert_eq!(Scene::new(array("float16"), Call::default()).said(id), Said::Silent);
    let unclaimed = refused.edit(|it| it.seen.exporter.claims = None);
    assert_eq!(unclaimed.said(id), Said::Silent);
    assert_eq!(DLDevice::CPU, Scene::plain().tensor().device);
}
