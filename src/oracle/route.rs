//! What a **route** has not: rules about what Python puts around a struct say nothing of an exporter in C.
//!
//! One list and not a condition in each rule: such a rule would answer "holds" to an observation in which
//! there was nothing to be seen.

use super::rules;
use super::{Route, RuleSet};
use std::sync::LazyLock;

/// The rules that speak of Python objects.
const OF_PYTHON: [&str; 27] = [
    // The capsule, its name and its destructor.
    "CAP-TYPE",
    "CAP-NAME-LEGACY",
    "CAP-NAME-VERSIONED",
    "CAP-NAME-KNOWN",
    "CAP-NAME-STATIC",
    "CAP-DTOR-PRESENT",
    "CAP-DTOR-UNCONSUMED",
    "CAP-DTOR-EXC-CLEAN",
    // In C no exception can be set.
    "MGT-DELETER-NO-EXC",
    // The two methods and the types in the pair.
    "DEV-BOTH",
    "DEV-TUPLE",
    "DEV-TYPE-ELEM",
    "DEV-ID-ELEM",
    "DEV-DUNDER-RAISES",
    // The spelling of arguments: in C what is left out and what is None are one.
    "SIG-KWONLY",
    "SIG-STREAM",
    "SIG-2023",
    "SIG-OLD-TYPEERROR",
    "SIG-UNKNOWN-KW",
    "SIG-ABSENT-IS-NONE",
    "SIG-NONE-NEUTRAL",
    "SIG-ORDER-FREE",
    "SIG-ARG-UNCHANGED",
    "SIG-DEVICE-ENUM",
    "STR-NONE",
    "STR-NONINT",
    // The header names no error that is none of Exception's.
    "EXC-CLASS",
];

/// Rules that say nothing of exporters of this route.
pub(super) fn silent_on(route: Route) -> &'static RuleSet {
    static SETS: LazyLock<[RuleSet; 2]> =
        LazyLock::new(|| [RuleSet::default(), places(&OF_PYTHON)]);
    &SETS[match route {
        Route::Python => 0,
        Route::C => 1,
    }]
}

fn places(ids: &[&str]) -> RuleSet {
    let mut set = RuleSet::default();
    for id in ids {
        let place = rules().iter().position(|rule| rule.id == *id);
        set.insert(place.expect("every id on the lists is a rule's"));
    }
    set
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::super::{CapsuleName, Container, Grade, judge};
    use super::*;

    #[test]
    fn what_python_puts_around_a_struct_is_not_judged_in_c() {
        let broken = |route| {
            let mut scene = Scene::plain().edit(|it| {
                it.seen.exporter.route = route;
                it.capsule().has_destructor = false;
                it.capsule().name = CapsuleName::Null;
                if let super::super::DeviceAnswer::Pair { container, .. } =
                    &mut it.seen.device_before
                {
                    *container = Container::Other;
                }
            });
            scene.seen.device_after = None;
            judge(&scene.case, &scene.seen, &scene.profile, Grade::Info)
        };
        assert!(broken(Route::Python).violations.len() >= 3);
        let c = broken(Route::C);
        assert!(c.violations.is_empty(), "{:?}", c.violations);
        for (place, rule) in rules().iter().enumerate() {
            assert!(!(c.checked.contains(place) && OF_PYTHON.contains(&rule.id)), "{}", rule.id);
        }
    }

    #[test]
    fn the_struct_itself_is_judged_by_both_routes() {
        for route in [Route::Python, Route::C] {
            let scene = Scene::plain().edit(|it| {
                it.seen.exporter.route = route;
                it.tensor().ndim = 7;
                it.tensor().shape.clear();
            });
            assert!(
                !judge(&scene.case, &scene.seen, &scene.profile, Grade::Violation)
                    .violations
                    .is_empty()
            );
        }
    }
}
