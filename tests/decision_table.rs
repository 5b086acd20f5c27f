//! The factors of the decision table against its written-out form: every row, cell by cell.
//!
//! `data/decision_table.tsv` was written from the specification's text, not from the code: one row per
//! combination in the order of the classes, tokens sorted inside a cell, `-` for an empty one.

use dlpack_fuzz::oracle::decision::{
    Classes, CopyArg, DlDevice, MaxVersion, Own, Stream, expected,
};

const TABLE: &str = include_str!("data/decision_table.tsv");

fn every_class() -> impl Iterator<Item = Classes> {
    Own::ALL.into_iter().flat_map(|own| {
        DlDevice::ALL.into_iter().flat_map(move |dl_device| {
            CopyArg::ALL.into_iter().flat_map(move |copy| {
                MaxVersion::ALL.into_iter().flat_map(move |max_version| {
                    Stream::ALL.into_iter().map(move |stream| Classes {
                        own,
                        dl_device,
                        copy,
                        max_version,
                        stream,
                    })
                })
            })
        })
    })
}

#[test]
fn the_factors_give_every_row_of_the_table() {
    let mut lines = TABLE.lines();
    assert_eq!(lines.next(), Some("own\tdl_device\tcopy\tmax_version\tstream\tok\tinfo\twarn"));
    let mut rows = 0;
    for classes in every_class() {
        let cell = expected(classes);
        let row = [
            classes.own.name(),
            classes.dl_device.name(),
            classes.copy.name(),
            classes.max_version.name(),
            classes.stream.name(),
            &cell.ok.to_string(),
            &cell.info.to_string(),
            &cell.warn.to_string(),
        ];
        assert_eq!(Some(row.join("\t").as_str()), lines.next());
        rows += 1;
    }
    assert_eq!((rows, lines.next()), (4116, None));
}
