//! The rule catalogue against the functions: nothing is judged that is not written down, and nothing is
//! written down that is neither judged nor explained.

use dlpack_fuzz::oracle::catalogue::{self, Obligation, State};
use dlpack_fuzz::oracle::{Knob, rules};
use std::collections::{HashMap, HashSet};

#[test]
fn has_217_rules_with_ids_of_their_own() {
    let ids: HashSet<_> = catalogue::all().iter().map(|entry| entry.id).collect();
    assert_eq!((catalogue::all().len(), ids.len()), (217, 217));
}

#[test]
fn every_function_is_in_the_catalogue_once() {
    let mut places = HashMap::new();
    for (place, rule) in rules().iter().enumerate() {
        assert!(catalogue::entry(rule.id).is_some(), "{} is not in the catalogue", rule.id);
        assert_eq!(places.insert(rule.id, place), None, "{} has two functions", rule.id);
    }
}

#[test]
fn every_rule_has_a_function_or_a_reason_and_never_both() {
    let judged: HashSet<_> = rules().iter().map(|rule| rule.id).collect();
    let mut reasons = HashMap::new();
    for (id, reason) in catalogue::not_observable() {
        assert!(catalogue::entry(id).is_some(), "the reason for {id} has no rule");
        assert_eq!(reasons.insert(id, reason), None, "{id} has two reasons");
        assert!(!reason.is_empty(), "{id}");
    }
    let both: Vec<_> = reasons.keys().filter(|id| judged.contains(*id)).collect();
    assert!(both.is_empty(), "judged, and said to be not observable: {both:?}");
    let neither: Vec<_> = (catalogue::all().iter().map(|entry| entry.id))
        .filter(|id| !judged.contains(id) && !reasons.contains_key(id))
        .collect();
    assert!(neither.is_empty(), "neither a function nor a reason: {neither:?}");
    for entry in catalogue::all() {
        assert_eq!(entry.state == State::Judged, judged.contains(entry.id), "{}", entry.id);
    }
}

#[test]
fn every_rule_can_be_understood_alone() {
    for entry in catalogue::all() {
        let id = entry.id;
        assert!(id.starts_with(&format!("{}-", entry.family)), "{id} {}", entry.family);
        let ends = entry.statement.ends_with(['.', ')']);
        assert!(ends && entry.statement.len() > 24, "{id} is no sentence: {}", entry.statement);
        assert!(
            !entry.level.is_empty() && !entry.source.is_empty(),
            "{id} has no level or no source"
        );
        for cell in [entry.statement, entry.check, entry.verdict, entry.inputs, entry.source] {
            for word in ["rules.md", "dtypes.md", "knob:", "as above", "*observed*", "H1.3"] {
                assert!(!cell.contains(word), "{id} speaks of {word}: {cell}");
            }
            assert!(!["same", "check", "kind", "type"].contains(&cell), "{id} says only {cell}");
        }
    }
}

#[test]
fn every_knob_is_known_and_touches_a_rule() {
    let mut touched = HashSet::new();
    for entry in catalogue::all() {
        for name in entry.knob_names() {
            let knob = Knob::ALL.into_iter().find(|knob| knob.name() == name);
            touched.insert(knob.unwrap_or_else(|| panic!("{} names the knob {name}", entry.id)));
        }
    }
    let untouched: Vec<_> = Knob::ALL.into_iter().filter(|knob| !touched.contains(knob)).collect();
    assert!(untouched.is_empty(), "{untouched:?}");
}

#[test]
fn sources_are_resolved_by_their_full_names() {
    let entry = catalogue::entry("COPY-NONE-ALIAS").unwrap();
    let names: Vec<_> = entry.references().map(|(name, _)| name).collect();
    assert_eq!(names, ["DLPack Python specification", "array API data interchange", "array API"]);
    assert!(catalogue::source_legend("dlpack.h 1.3").unwrap().contains("include/dlpack/dlpack.h"));
    assert_eq!(catalogue::source_legend("hearsay"), None);
}

#[test]
fn only_what_binds_an_exporter_may_accuse_it() {
    let may = |id: &str| catalogue::entry(id).unwrap().may_accuse();
    assert!(may("CAP-TYPE") && may("TEN-NDIM"));
    assert!(may("RO-FLAG-SET"), "treated as MUST, and the level says why");
    assert!(may("DEV-TYPE-ELEM") && may("COPY-TRUE-REFUSED"), "the level says which part binds");
    assert!(!may("RO-FLAG-CLEAR"), "a recommendation");
    assert!(!may("EXC-ARGS"), "contested throughout");
    assert!(!may("DEV-DUNDER-RAISES"), "an allowance");
    let allowances = catalogue::all().iter().filter(|entry| entry.obligation() == Obligation::May);
    assert!(allowances.clone().count() > 10);
    assert!(allowances.clone().all(|entry| !entry.may_accuse()));
}
