//! The struct of the owning export by the rules that every exported struct obeys.

use crate::case::{Arg, Call, Case, Keyword, Probes, Value};
use crate::oracle::{
    Capsule, CapsuleName, Context, Evidence, Fact, FromPy, Grade, Kind, Ledger, Managed,
    Observation, Of, Outcome, Verdict, What, dev, dty, mgt, ten,
};
use std::borrow::Cow;

/// What is wrong with a struct: the rule that says so, and its evidence.
pub(super) struct Fault {
    pub rule: &'static str,
    pub evidence: Evidence,
}

/// The faults of the owning export that `__dlpack__` does not show too.
pub(super) fn faults(ctx: &Context, from_py: &FromPy, managed: &Managed) -> Vec<Fault> {
    let capsule = Capsule {
        exact: true,
        name: CapsuleName::Versioned,
        name_address: 0,
        has_destructor: true,
        pointer: from_py.pointer,
        managed: Some(managed.clone()),
        error_pending: false,
    };
    let mut faults = faults_of(ctx, Outcome::Capsule(Box::new(capsule)));
    faults.extend(own_faults(managed));
    let reference = ctx.seen.exchange.as_ref().and_then(|exchange| exchange.reference.clone());
    if !faults.is_empty()
        && let Some(reference) = reference
    {
        let known = faults_of(ctx, reference);
        faults.retain(|fault| {
            known.iter().all(|it| (it.rule, &it.evidence.key) != (fault.rule, &fault.evidence.key))
        });
    }
    for fault in &mut faults {
        for fact in &mut fault.evidence.facts {
            if fact.of == Of::Export {
                fact.of = Of::FromPy;
            }
        }
    }
    faults
}

/// Judges an outcome as if it were that of `__dlpack__(max_version=(1, 99))`.
fn faults_of(ctx: &Context, export: Outcome) -> Vec<Fault> {
    let newest = Arg::Given(Value::pair(1, 99));
    let call = Call::default().with(Keyword::MaxVersion, newest);
    let case = Case::new(ctx.case.tensor.clone(), call, Probes::NONE);
    let seen = Observation {
        exporter: ctx.seen.exporter,
        source: ctx.seen.source.clone(),
        device_before: ctx.seen.device_before.clone(),
        device_after: None,
        export,
        further: Default::default(),
        ledger: Ledger::default(),
        exchange: None,
        life: None,
    };
    let inner = Context::new(&case, &seen, ctx.profile, Grade::Violation);
    let families = [mgt::RULES, ten::RULES, dty::RULES, dev::RULES];
    (families.into_iter().flatten())
        .filter_map(|rule| match (rule.judge)(&inner) {
            Verdict::Breaks(Grade::Violation, Some(evidence)) if is_of_the_struct(&evidence) => {
                Some(Fault { rule: rule.id, evidence: *evidence })
            }
            _ => None,
        })
        .collect()
}

/// And not of `__dlpack_device__` alone.
fn is_of_the_struct(evidence: &Evidence) -> bool {
    let of_the_method = |what| matches!(what, What::DeviceMethod | What::DeviceForm);
    evidence.facts.iter().any(|fact| !of_the_method(fact.what))
}

/// What the header demands of this struct beyond the families: version 1, and strides whatever the minor.
fn own_faults(managed: &Managed) -> Option<Fault> {
    let fault = |key: &'static str, expected: &str, seen: &str, what, value: String| Fault {
        rule: "XCH-FROMPY-STRUCT",
        evidence: Evidence {
            key: Cow::Borrowed(key),
            expected: expected.into(),
            seen: seen.into(),
            facts: vec![Fact { of: Of::Export, what, value }],
        },
    };
    if let Some(version) = managed.version
        && version.major != 1
    {
        let text = format!("({}, {})", version.major, version.minor);
        let seen = format!("version {text}");
        return Some(fault("major", "major version 1", &seen, What::Version, text));
    }
    let tensor = managed.tensor.as_ref()?;
    (managed.kind == Kind::Versioned && tensor.ndim > 0 && tensor.strides_pointer == 0).then(|| {
        fault("strides", "strides, as the tensor has axes", "NULL", What::Strides, "None".into())
    })
}
