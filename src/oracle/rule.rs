//! A **rule** is one clause of the specification with a function that judges it. All rules have a place, in
//! the order of [`rules`]; a [`RuleSet`] holds places.

use super::{Context, Matter, Route, Verdict, route};
use super::{cap, copy, dev, dty, exc, life, mgt, ro, sig, str, ten, ver, xch};
use std::sync::LazyLock;

/// A rule: its id in the catalogue, what it cannot do without, and its function.
pub struct Rule {
    pub id: &'static str,
    pub needs: Matter,
    pub judge: fn(&Context) -> Verdict,
}

/// Every rule that has a function, family after family.
pub fn rules() -> &'static [&'static Rule] {
    static RULES: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
        let families: [&'static [Rule]; 12] = [
            cap::RULES,
            mgt::RULES,
            ten::RULES,
            dty::RULES,
            dev::RULES,
            copy::RULES,
            ro::RULES,
            life::RULES,
            sig::RULES,
            ver::RULES,
            str::RULES,
            exc::RULES,
        ];
        families.into_iter().flatten().chain(xch::rules()).collect()
    });
    &RULES
}

/// The rules that have something to speak of, on this route.
pub(super) fn asked(matter: Matter, route: Route) -> RuleSet {
    /// All rules, and those that cannot do without each single thing.
    static BY_NEED: LazyLock<(RuleSet, Vec<(Matter, RuleSet)>)> = LazyLock::new(|| {
        let places = |wanted: &dyn Fn(&Rule) -> bool| {
            let mut set = RuleSet::default();
            let places = (0..rules().len()).filter(|&place| wanted(rules()[place]));
            places.for_each(|place| set.insert(place));
            set
        };
        let needing =
            Matter::EACH.map(|thing| (thing, places(&|rule: &Rule| rule.needs.has(thing))));
        (places(&|_| true), needing.to_vec())
    });
    let (mut asked, by_need) = (BY_NEED.0, &BY_NEED.1);
    for (thing, needing) in by_need {
        if !matter.has(*thing) {
            asked.remove_all(needing);
        }
    }
    asked.remove_all(route::silent_on(route));
    asked
}

/// A rule that is not asked for want of matter would say nothing.
#[cfg(test)]
pub(super) fn assert_silent(context: &Context, asked: RuleSet) {
    let silent = route::silent_on(context.seen.exporter.route);
    for (place, rule) in rules().iter().enumerate() {
        if !asked.contains(place) && !silent.contains(place) {
            assert!(matches!((rule.judge)(context), Verdict::Silent), "{} speaks", rule.id);
        }
    }
}

/// A set of rules, by their place in [`rules`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleSet([u64; 4]);

impl RuleSet {
    pub fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    pub fn contains(&self, place: usize) -> bool {
        self.0[place / 64] & (1 << (place % 64)) != 0
    }

    pub fn union(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The places in the set, in order.
    pub fn places(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(number, word)| {
            let rests = std::iter::successors(Some(word), |left| Some(left & left.wrapping_sub(1)));
            rests
                .take_while(|left| *left != 0)
                .map(move |left| 64 * number + left.trailing_zeros() as usize)
        })
    }

    /// Takes out what the other set has.
    fn remove_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine &= !theirs);
    }

    pub fn words(&self) -> [u64; 4] {
        self.0
    }

    pub fn from_words(words: [u64; 4]) -> Self {
        Self(words)
    }
}
