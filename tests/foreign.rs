//! Exporters made by others behind the C header: the crates dlpark and dlpack-rs, each whole sweep.

mod common;

use common::{Sweep, text};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds one of them.
fn built(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(root.join("scripts/foreign")).arg(name).output().expect("a script");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let path = text(&output.stdout);
    std::path::absolute(root.join(path.trim())).expect("a path")
}

#[test]
fn dlpark_breaks_nothing_and_departs_from_nothing() {
    let sweep = Sweep::of(&format!("c:{}", built("dlpark").display()), &[]);
    assert_eq!((sweep.status, sweep.grade("violation")), (Some(0), 0), "{}", sweep.json);
    assert_eq!(sweep.grade("warning"), 0, "{}", sweep.json);
}

/// Every struct of dlpack-rs 0.3.4 declares version 1.0, whatever its type and flags need.
#[test]
fn dlpack_rs_declares_1_0_whatever_the_struct_needs() {
    let backend = format!("c:{}", built("dlpack-rs").display());
    let sweep = Sweep::of(&backend, &[]);
    assert_eq!((sweep.status, sweep.grade("violation")), (Some(0), 0), "{}", sweep.json);
    let covers = (sweep.json["rules"].as_array().into_iter().flatten())
        .find(|rule| rule["id"] == "MGT-VERSION-COVERS");
    let fired = covers.and_then(|rule| rule["times_fired"].as_u64());
    assert!(fired > Some(0) && sweep.grade("warning") > 0, "{}", sweep.json);
}
