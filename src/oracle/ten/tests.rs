use crate::abi::{DLDevice, DLPackVersion, FLAG_READ_ONLY};
use crate::case::{Access, Dtype, Keyword, Layout, Shape, Strides, Tensor, Value};
use crate::oracle::testing::{SOURCE, Said, Scene};
use crate::oracle::{Elements, Grade, Memory};

fn versioned(tensor: Tensor) -> Scene {
    Scene::new(tensor, crate::oracle::testing::call(&[(Keyword::MaxVersion, Value::pair(1, 0))]))
}

fn array(shape: &[i64], layout: Layout) -> Tensor {
    Tensor { shape: Shape::from_slice(shape), layout, ..Tensor::plain() }
}

fn strided(shape: &[i64], strides: &[i64]) -> Tensor {
    array(shape, Layout::Strided { strides: Strides::from_slice(strides), lead: 0 })
}

fn declares(scene: &mut Scene, minor: u32) {
    scene.managed().version = Some(DLPackVersion { major: 1, minor });
}

#[test]
fn lawful_layouts_are_sound() {
    for tensor in [
        Tensor::plain(),
        array(&[], Layout::C),
        array(&[2, 3], Layout::F),
        array(&[0, 3], Layout::C),
        strided(&[2, 3], &[32, 8]),
        strided(&[4], &[-8]),
        strided(&[3, 2], &[0, 4]),
        strided(&[1, 2], &[7, 4]),
        strided(&[1], &[1 << 60]),
        strided(&[0, 2], &[3, 5]),
    ] {
        versioned(tensor).assert_lawful();
    }
}

#[test]
fn the_rank_is_the_array_s() {
    let id = "TEN-NDIM";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    for ndim in [-1, 0, 2] {
        let scene = versioned(array(&[2], Layout::C)).edit(|it| it.tensor().ndim = ndim);
        scene.assert_only(id, Grade::Violation);
    }
    let unreadable = versioned(Tensor::plain()).edit(|it| it.managed().tensor = None);
    unreadable.assert_only(id, Grade::Violation);
    // No source sets a bound.
    let many = Scene::new(array(&[1; 65], Layout::C), Default::default());
    assert_eq!(many.said(id), Said::Breaks(Grade::Info));
}

#[test]
fn the_shape_is_there_and_is_the_array_s() {
    let missing = Scene::plain().edit(|it| {
        it.tensor().shape_pointer = 0;
        it.tensor().shape.clear();
        it.tensor().memory = Memory::Unknown;
    });
    missing.assert_only("TEN-SHAPE-PTR", Grade::Violation);
    // Rank 0: NULL or not, nothing is read.
    let scalar = Scene::new(array(&[], Layout::C), Default::default());
    assert_eq!(scalar.said("TEN-SHAPE-PTR"), Said::Holds);
    scalar.edit(|it| it.tensor().shape_pointer = 0x5000).assert_lawful();
    for extent in [5, 7, -6] {
        let wrong = Scene::plain().edit(|it| {
            it.tensor().shape[0] = extent;
            it.tensor().memory = Memory::Unknown;
            it.tensor().elements = Elements::NotRead("the shape is another one");
        });
        wrong.assert_only("TEN-SHAPE-VALUES", Grade::Violation);
    }
}

#[test]
fn a_shape_that_overflows_is_recorded() {
    let id = "TEN-SHAPE-OVERFLOW";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    // A broadcast array, which has no such memory.
    let huge = versioned(strided(&[1 << 31, 1 << 31], &[0, 0]));
    assert_eq!(huge.said(id), Said::Breaks(Grade::Info));
    huge.assert_lawful();
    assert_eq!(versioned(strided(&[0, 1 << 62], &[0, 0])).said(id), Said::Silent);
}

#[test]
fn null_strides_end_with_version_1_2() {
    let (new, old) = ("TEN-STRIDES-NONNULL-1.2", "TEN-STRIDES-NULL-OLD");
    let null = |minor| {
        versioned(Tensor::plain()).edit(|it| {
            declares(it, minor);
            it.tensor().strides_pointer = 0;
            it.tensor().strides.clear();
        })
    };
    null(2).assert_only(new, Grade::Violation);
    null(1).assert_lawful();
    assert_eq!(null(1).said(old), Said::Breaks(Grade::Info));
    assert_eq!(null(1).said(new), Said::Silent);
    assert_eq!(null(1).under("strict").said(old), Said::Breaks(Grade::Warning));
    assert_eq!(null(1).under("lenient").said(old), Said::Silent);
    assert_eq!(versioned(Tensor::plain()).said(old), Said::Holds);
    let given = versioned(Tensor::plain()).edit(|it| declares(it, 3));
    assert_eq!(given.said(new), Said::Holds);
    // Rank 0 has no strides to tell.
    let scalar = versioned(array(&[], Layout::C)).edit(|it| declares(it, 3));
    assert_eq!(scalar.said(new), Said::Silent);
    // Without elements the pointer is due all the same.
    let empty = versioned(array(&[0, 3], Layout::C)).edit(|it| {
        declares(it, 2);
        it.tensor().strides_pointer = 0;
        it.tensor().strides.clear();
    });
    assert_eq!(empty.said(new), Said::Breaks(Grade::Violation));
}

#[test]
fn null_strides_mean_compact_data() {
    let id = "TEN-STRIDES-NULL-COMPACT";
    let null = |tensor| {
        versioned(tensor).edit(|it| {
            it.tensor().strides_pointer = 0;
            it.tensor().strides.clear();
        })
    };
    assert_eq!(null(array(&[2, 3], Layout::C)).said(id), Said::Holds);
    null(array(&[2, 3], Layout::F)).assert_only(id, Grade::Violation);
    // The stride of an axis of extent 1 is no gap.
    assert_eq!(null(strided(&[1, 3], &[999, 4])).said(id), Said::Holds);
    assert_eq!(null(array(&[0, 3], Layout::F)).said(id), Said::Silent);
    assert_eq!(versioned(Tensor::plain()).said(id), Said::Silent);
}

#[test]
fn strides_count_elements() {
    let id = "TEN-STRIDES-UNIT";
    let bytes = versioned(array(&[2, 3], Layout::C)).edit(|it| {
        it.tensor().strides = Strides::from_slice(&[12, 4]);
        it.tensor().elements =
            Elements::OutOfBounds { low: SOURCE as i128, high: SOURCE as i128 + 84 };
    });
    bytes.assert_only(id, Grade::Violation);
    let fortran = versioned(array(&[2, 3], Layout::F)).edit(|it| {
        it.tensor().strides = Strides::from_slice(&[3, 1]);
        it.tensor().elements = Elements::Differ {
            index: Shape::from_slice(&[0, 1]),
            expected: vec![1],
            seen: vec![2],
        };
    });
    fortran.assert_only(id, Grade::Violation);
    // A step that is no number of elements cannot be told.
    let odd = versioned(strided(&[2], &[6])).edit(|it| {
        it.seen.export =
            versioned(Tensor { shape: Shape::from_slice(&[2]), ..Tensor::plain() }).seen.export;
    });
    assert_eq!(odd.said(id), Said::Breaks(Grade::Violation));
}

/// Trap: an axis of length 0 or 1, or an array without elements, has no stride that counts.
#[test]
fn strides_that_mean_nothing_are_not_compared() {
    let id = "TEN-STRIDES-UNIT";
    for odd in [7, 1 << 60, i64::MIN, i64::MAX] {
        let one = versioned(strided(&[1, 2], &[8, 4])).edit(|it| it.tensor().strides[0] = odd);
        one.assert_lawful();
        assert_eq!(one.said(id), Said::Holds);
        let empty = versioned(strided(&[0, 2], &[8, 4])).edit(|it| it.tensor().strides[1] = odd);
        empty.assert_lawful();
        assert_eq!(empty.said(id), Said::Silent);
    }
    // A copy has a layout of its own.
    let copy = Scene::new(
        array(&[2, 3], Layout::F),
        crate::oracle::testing::call(&[(Keyword::Copy, Value::bool(true))]),
    );
    assert_eq!(copy.said(id), Said::Silent);
    let unknown = versioned(array(&[2, 3], Layout::F)).edit(|it| {
        it.seen.source.address = None;
        it.tensor().memory = Memory::Unknown;
        it.tensor().strides = Strides::from_slice(&[3, 1]);
    });
    assert_eq!(unknown.said(id), Said::Silent);
}

#[test]
fn negative_strides_are_recorded_where_they_mean_something() {
    let id = "TEN-STRIDES-NEG";
    let reversed = versioned(strided(&[4], &[-4]));
    assert_eq!(reversed.said(id), Said::Breaks(Grade::Info));
    assert_eq!(reversed.under("lenient").said(id), Said::Silent);
    assert_eq!(versioned(strided(&[1], &[-4])).said(id), Said::Holds);
    assert_eq!(versioned(Tensor::plain()).said(id), Said::Holds);
}

#[test]
fn writable_overlap_is_recorded() {
    let id = "TEN-STRIDES-ZERO";
    let broadcast = versioned(strided(&[3], &[0]));
    assert_eq!(broadcast.said(id), Said::Breaks(Grade::Info));
    let flagged = broadcast.edit(|it| it.managed().flags = FLAG_READ_ONLY);
    assert_eq!(flagged.said(id), Said::Holds);
    assert_eq!(versioned(strided(&[1], &[0])).said(id), Said::Holds);
}

#[test]
fn elements_lie_in_the_allocation() {
    let id = "TEN-STRIDES-EXTENT";
    let outside = |scene: Scene| {
        scene.edit(|it| {
            it.tensor().elements =
                Elements::OutOfBounds { low: SOURCE as i128, high: SOURCE as i128 + 99 };
        })
    };
    assert_eq!(outside(Scene::plain()).said(id), Said::Breaks(Grade::Violation));
    assert_eq!(Scene::plain().said(id), Said::Holds);
    // A copy has bounds of its own.
    let copy = outside(Scene::of(&[(Keyword::Copy, Value::bool(true))]));
    assert_eq!(copy.said(id), Said::Silent);
}

#[test]
fn data_is_an_address_where_there_are_elements() {
    let id = "TEN-DATA-NONNULL";
    let null = Scene::plain().edit(|it| {
        it.tensor().data = 0;
        it.tensor().memory = Memory::Unknown;
        it.tensor().elements = Elements::NotRead("no address");
    });
    null.assert_only(id, Grade::Violation);
    // A handle, or an address space that begins at 0.
    let handle = null.edit(|it| it.tensor().device = DLDevice::new(4, 0));
    assert_eq!(handle.said(id), Said::Breaks(Grade::Info));
    assert_eq!(Scene::plain().said(id), Said::Holds);
}

/// Trap: no address verdict without elements.
#[test]
fn data_without_elements_is_anything() {
    let empty = Scene::new(array(&[0], Layout::C), Default::default());
    assert_eq!(empty.said("TEN-DATA-NULL-SIZE0"), Said::Breaks(Grade::Info));
    assert_eq!(empty.clone().under("lenient").said("TEN-DATA-NULL-SIZE0"), Said::Silent);
    for data in [0, SOURCE + 4096, 7] {
        let scene = empty.clone().edit(|it| it.tensor().data = data);
        scene.assert_lawful();
        assert_eq!(scene.said("TEN-DATA-NONNULL"), Said::Silent);
        assert_eq!(scene.said("TEN-DATA-ADDR"), Said::Silent);
        assert_eq!(scene.said("TEN-BYTEOFFSET-RANGE"), Said::Holds);
    }
    let null = empty.edit(|it| it.tensor().data = 0);
    assert_eq!(null.said("TEN-DATA-NULL-SIZE0"), Said::Holds);
}

#[test]
fn the_first_element_is_where_the_array_has_it() {
    let id = "TEN-DATA-ADDR";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    let shifted = Scene::plain().edit(|it| {
        it.tensor().data += 4;
        it.tensor().memory = Memory::Overlap;
        it.tensor().elements =
            Elements::OutOfBounds { low: SOURCE as i128 + 4, high: SOURCE as i128 + 28 };
    });
    shifted.assert_only(id, Grade::Violation);
    // A reversed view begins at its highest address, not at its lowest.
    assert_eq!(versioned(strided(&[4], &[-4])).said(id), Said::Holds);
    // The same memory by way of an offset.
    let offset = Scene::plain().edit(|it| {
        it.tensor().data -= 16;
        it.tensor().byte_offset = 16;
    });
    offset.assert_lawful();
    // An address that nobody knows (P-ADAPTER), and a handle (P-POINTER).
    let unknown = Scene::plain().edit(|it| {
        it.seen.source.address = None;
        it.tensor().data = 0x7777;
        it.tensor().memory = Memory::Unknown;
    });
    assert_eq!(unknown.said(id), Said::Silent);
}

#[test]
fn alignment_is_recorded_where_one_asks() {
    let aligned = Scene::plain();
    assert_eq!(aligned.clone().said("TEN-DATA-ALIGN256"), Said::Silent);
    assert_eq!(aligned.clone().under("strict").said("TEN-DATA-ALIGN256"), Said::Holds);
    let lead = Tensor {
        layout: Layout::Strided { strides: Strides::from_slice(&[4]), lead: 1 },
        ..Tensor::plain()
    };
    let odd = Scene::new(lead, Default::default());
    odd.assert_lawful();
    assert_eq!(odd.said("TEN-DATA-ALIGN-ITEM"), Said::Breaks(Grade::Info));
    assert_eq!(odd.under("strict").said("TEN-DATA-ALIGN256"), Said::Breaks(Grade::Info));
    assert_eq!(aligned.said("TEN-DATA-ALIGN-ITEM"), Said::Holds);
}

#[test]
fn the_offset_stays_in_the_allocation() {
    let id = "TEN-BYTEOFFSET-RANGE";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    let wraps = Scene::plain().edit(|it| {
        it.tensor().byte_offset = u64::MAX;
        it.tensor().memory = Memory::Unknown;
        it.tensor().elements = Elements::NotRead("no address");
    });
    wraps.assert_only(id, Grade::Violation);
    let outside = Scene::plain().edit(|it| {
        it.tensor().byte_offset = 4096;
        it.tensor().memory = Memory::Distinct;
        it.tensor().elements = Elements::NotRead("outside");
    });
    outside.assert_only(id, Grade::Violation);
}

#[test]
fn an_offset_that_is_no_number_of_items_is_recorded() {
    let id = "TEN-BYTEOFFSET-MULT";
    assert_eq!(Scene::plain().said(id), Said::Holds);
    let odd = Scene::plain().edit(|it| {
        it.tensor().data -= 2;
        it.tensor().byte_offset = 2;
    });
    assert_eq!(odd.said(id), Said::Breaks(Grade::Info));
}

#[test]
fn an_alias_shows_the_source_s_elements() {
    let id = "TEN-VALUES";
    let differ = Elements::Differ {
        index: Shape::from_slice(&[2]),
        expected: vec![0, 0, 0, 0],
        // -0.0 counts.
        seen: vec![0, 0, 0, 0x80],
    };
    let wrong = Scene::plain().edit(|it| it.tensor().elements = differ.clone());
    wrong.assert_only(id, Grade::Violation);
    assert_eq!(Scene::plain().said(id), Said::Holds);
    // Truth values and NaN payloads.
    let same = Scene::plain().edit(|it| it.tensor().elements = Elements::SameValues);
    assert_eq!(same.said(id), Said::Breaks(Grade::Info));
    same.assert_lawful();
    let unread =
        Scene::plain().edit(|it| it.tensor().elements = Elements::NotRead("device memory"));
    assert_eq!(unread.said(id), Said::Silent);
    // COPY-VALUES
    let copy = Scene::of(&[(Keyword::Copy, Value::bool(true))])
        .edit(|it| it.tensor().elements = differ.clone());
    assert_eq!(copy.said(id), Said::Silent);
    // DTY-ENDIAN
    let swapped = Tensor { dtype: Dtype::named("int16", 0).unwrap().swapped(), ..Tensor::plain() };
    let swapped = Scene::new(swapped, Default::default()).edit(|it| {
        it.seen.export = Scene::plain().edit(|it| it.tensor().elements = differ).seen.export;
    });
    assert_eq!(swapped.said(id), Said::Silent);
}

#[test]
fn a_wrong_shape_is_reported_once() {
    let wrong = Scene::new(
        Tensor { access: Access::Writable, ..array(&[2, 3], Layout::C) },
        Default::default(),
    )
    .edit(|it| {
        let tensor = it.tensor();
        tensor.shape = Shape::from_slice(&[3, 3]);
        tensor.strides = Strides::from_slice(&[12, 4]);
        tensor.data += 4;
        tensor.memory = Memory::Unknown;
        tensor.elements = Elements::NotRead("the shape is another one");
    });
    wrong.assert_only("TEN-SHAPE-VALUES", Grade::Violation);
}
