//! The table of rules at the end of a sweep: how many of each family were checked, fired, or cannot be
//! observed here, and then every rule that fired.

use crate::oracle::catalogue::{self, State};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// How often one rule had something to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCount {
    pub id: String,
    /// Cases in which its preconditions were met.
    pub checked: u64,
    /// Cases in which it was broken, at any grade.
    pub fired: u64,
}

/// The table. Rules of the catalogue that `counts` lacks count as never checked.
pub fn table(counts: &[RuleCount]) -> String {
    let mut families: Vec<Family> = vec![];
    for entry in catalogue::all() {
        let count = counts.iter().find(|count| count.id == entry.id).cloned().unwrap_or_default();
        let place = families.iter().position(|family| family.name == entry.family);
        let place = place.unwrap_or_else(|| {
            families.push(Family { name: entry.family, ..Family::default() });
            families.len() - 1
        });
        families[place].add(&entry.state, count);
    }
    let mut text =
        String::from("family   rules  checked    fired  never checked  not observable\n");
    let mut total = Family { name: "all", ..Family::default() };
    for family in &families {
        text += &family.line();
        total.join(family);
    }
    text += &total.line();
    let mut fired: Vec<_> = total.fired_rules.iter().collect();
    fired.sort_by(|one, other| other.fired.cmp(&one.fired).then(one.id.cmp(&other.id)));
    if !fired.is_empty() {
        text += "\nrules that fired                  times  of checked\n";
    }
    for count in fired {
        let _ = writeln!(text, "{:<28} {:>10} {:>11}", count.id, count.fired, count.checked);
    }
    text
}

#[derive(Clone, Debug, Default)]
struct Family {
    name: &'static str,
    rules: usize,
    checked: usize,
    unobservable: usize,
    fired_rules: Vec<RuleCount>,
}

impl Family {
    fn add(&mut self, state: &State, count: RuleCount) {
        self.rules += 1;
        // A rule that no observation shows may be shown by something else, as EXC-NO-CRASH is by a death.
        match state {
            _ if count.checked > 0 => self.checked += 1,
            State::NotObservable(_) => self.unobservable += 1,
            State::Judged => {}
        }
        if count.fired > 0 {
            self.fired_rules.push(count);
        }
    }

    fn join(&mut self, other: &Self) {
        self.rules += other.rules;
        self.checked += other.checked;
        self.unobservable += other.unobservable;
        self.fired_rules.extend(other.fired_rules.iter().cloned());
    }

    fn line(&self) -> String {
        let never = self.rules - self.checked - self.unobservable;
        format!(
            "{:<8} {:>5} {:>8} {:>8} {:>14} {:>15}\n",
            self.name,
            self.rules,
            self.checked,
            self.fired_rules.len(),
            never,
            self.unobservable
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::catalogue::Entry;

    fn count(id: &str, checked: u64, fired: u64) -> RuleCount {
        RuleCount { id: id.into(), checked, fired }
    }

    #[test]
    fn every_rule_of_the_catalogue_is_counted_once_per_family() {
        let text = table(&[count("EXC-NO-CRASH", 1200, 3), count("EXC-DEVICE", 70, 70)]);
        let (families, fired) = text.split_once("\n\n").unwrap();
        assert_eq!(
            fired,
            "rules that fired                  times  of checked\n\
             EXC-DEVICE                           70          70\n\
             EXC-NO-CRASH                          3        1200\n"
        );
        let row = |name: &str| -> Vec<usize> {
            let line = families.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().skip(1).map(|number| number.parse().unwrap()).collect()
        };
        let unobservable = |entry: &&Entry| matches!(entry.state, State::NotObservable(_));
        let all = catalogue::all();
        let counted = |entry: &&Entry| ["EXC-NO-CRASH", "EXC-DEVICE"].contains(&entry.id);
        let hidden = all.iter().filter(unobservable).filter(|entry| !counted(entry)).count();
        assert_eq!(row("all"), [all.len(), 2, 2, all.len() - 2 - hidden, hidden]);
        let exc = all.iter().filter(|entry| entry.family == "EXC").count();
        assert_eq!(row("EXC")[..3], [exc, 2, 2]);
        assert!(
            families
                .starts_with("family   rules  checked    fired  never checked  not observable\n")
        );
    }

    #[test]
    fn a_clean_sweep_names_no_rule() {
        assert!(!table(&[count("EXC-NO-CRASH", 5, 0)]).contains("rules that fired"));
    }
}
