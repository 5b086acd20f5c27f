//! The pinned libraries obey the specification as far as it can be called for on the CPU: neither the rows of
//! the decision table nor the whole sweep give a warning. Whatever is said there is either a false
//! accusation or a finding, and belongs into `corpus/known` then.

mod common;

use common::{Calibration, Sweep};

const LIBRARIES: [&str; 2] = ["numpy", "array-api-strict"];

/// Live blocks are counted for the whole process: one library after the other.
#[test]
fn no_row_of_the_decision_table_accuses_a_pinned_library() {
    for library in LIBRARIES {
        let counts = Calibration::of(&mut common::open(library, None));
        println!("{library}: {counts}");
        assert_eq!(counts.calls(), 14_976, "{library}");
        assert_eq!((counts.warning, counts.violation), (0, 0), "{library}: {:?}", counts.accused);
        // Most calls are of use: a library that refused everything would be as silent.
        assert!(counts.ok > counts.info, "{library}: {counts}");
    }
}

#[test]
fn the_sweep_does_not_accuse_a_pinned_library() {
    for library in LIBRARIES {
        let sweep = Sweep::of(library, &[]);
        let grades = ["lawful", "info", "warning", "violation"].map(|name| sweep.grade(name));
        println!("{library}: {grades:?}");
        assert_eq!(grades[2..], [0, 0], "{library}");
        assert!(grades[0] + grades[1] > 100_000, "{library}: {grades:?}");
        assert_eq!((sweep.status, sweep.findings()), (Some(0), vec![]), "{library}");
    }
}
