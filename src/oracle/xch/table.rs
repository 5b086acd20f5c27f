//! The attribute and the table that it leads to.

use super::{fact, judged, seen, shown};
use crate::abi::DLPackVersion;
use crate::oracle::export::evidence;
use crate::oracle::{
    Attribute, ChainEnd, Context, Function, Grade, LookUps, Matter, Rule, Table, Verdict, What,
};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "XCH-ON-TYPE", needs: Matter::EXCHANGE, judge: on_type },
    Rule { id: "XCH-CAPSULE", needs: Matter::EXCHANGE, judge: capsule },
    Rule { id: "XCH-OLD-NAME", needs: Matter::EXCHANGE, judge: old_name },
    Rule { id: "XCH-STATIC", needs: Matter::EXCHANGE, judge: is_static },
    Rule { id: "XCH-CONST", needs: Matter::EXCHANGE, judge: constant },
    Rule { id: "XCH-VERSION", needs: Matter::EXCHANGE, judge: version },
    Rule { id: "XCH-PREV", needs: Matter::EXCHANGE, judge: older },
    Rule { id: "XCH-FN-NONNULL", needs: Matter::EXCHANGE, judge: functions },
];

fn attribute_fact(attribute: &Attribute) -> [crate::oracle::Fact; 1] {
    [fact(What::ExchangeAttribute, attribute)]
}

fn on_type(ctx: &Context) -> Verdict {
    judged(seen(ctx), |exchange| match &exchange.attribute {
        Attribute::Absent { on_instance: false } => Verdict::Silent,
        attribute @ (Attribute::Absent { on_instance: true } | Attribute::Descriptor(_)) => ctx
            .breaks(Grade::Violation, || {
                evidence(
                    "instance",
                    "a capsule on the type itself, to be had without an instance",
                    format!("on the type: {attribute}"),
                    attribute_fact(attribute),
                )
            }),
        _ => Verdict::Holds,
    })
}

fn capsule(ctx: &Context) -> Verdict {
    let expected = "a PyCapsule named `dlpack_exchange_api`";
    judged(seen(ctx), |exchange| {
        let attribute = &exchange.attribute;
        let key = match attribute {
            // XCH-ON-TYPE's.
            Attribute::Descriptor(_) | Attribute::Absent { on_instance: true } => {
                return Verdict::Silent;
            }
            Attribute::Absent { .. } => {
                let is_old = matches!(exchange.old, Attribute::Int(_));
                return match is_old {
                    true => ctx.breaks(Grade::Info, || {
                        let seen = "only `__c_dlpack_exchange_api__`, the int of DLPack 1.2";
                        evidence("old form", expected, seen, attribute_fact(attribute))
                    }),
                    false => Verdict::Silent,
                };
            }
            Attribute::Capsule { .. } if attribute.address().is_some_and(|it| it != 0) => {
                return Verdict::Holds;
            }
            Attribute::Capsule { .. } => "name",
            Attribute::Int(_) => "int",
            Attribute::Other(_) => "type",
            Attribute::Raised(_) => "raises",
        };
        ctx.breaks(Grade::Violation, || {
            let seen = attribute.to_string();
            evidence(key, expected, seen, attribute_fact(attribute))
        })
    })
}

/// Both names lead to one table.
fn old_name(ctx: &Context) -> Verdict {
    judged(seen(ctx), |exchange| {
        let (Some(new), Some(old)) = (exchange.attribute.address(), exchange.old.address()) else {
            return Verdict::Silent;
        };
        ctx.require(new == old, Grade::Info, || {
            shown(
                "differs",
                "one table behind both names of the attribute",
                "two tables",
                What::ExchangeOneTable,
                "False",
            )
        })
    })
}

fn table_of<'a>(ctx: &Context<'a>) -> Option<&'a Table> {
    seen(ctx)?.table.as_ref()
}

fn is_static(ctx: &Context) -> Verdict {
    judged(table_of(ctx), |table| {
        let grade = match table.look_ups {
            LookUps::Same => return Verdict::Holds,
            LookUps::Moved => Grade::Warning,
            LookUps::Gone => Grade::Violation,
        };
        ctx.breaks(grade, || {
            let seen = match table.look_ups {
                LookUps::Gone => "a table that is gone when the capsule is, or at a later look-up",
                _ => "another address at a later look-up",
            };
            shown(
                if grade == Grade::Violation { "gone" } else { "moved" },
                "one table for the life of the process",
                seen,
                What::ExchangeLookUps,
                if grade == Grade::Violation { "gone" } else { "moved" },
            )
        })
    })
}

fn constant(ctx: &Context) -> Verdict {
    judged(table_of(ctx).filter(|table| table.look_ups == LookUps::Same), |table| {
        ctx.require(!table.changed, Grade::Violation, || {
            shown(
                "changed",
                "the same bytes whenever the table is read, since it may be cached",
                "other bytes after the calls",
                What::ExchangeTable,
                "changed",
            )
        })
    })
}

fn readable<'a>(ctx: &Context<'a>) -> Option<&'a Table> {
    table_of(ctx).filter(|table| table.look_ups != LookUps::Gone)
}

fn text(version: DLPackVersion) -> String {
    format!("({}, {})", version.major, version.minor)
}

fn version(ctx: &Context) -> Verdict {
    judged(readable(ctx), |table| {
        let (grade, key, expected) = match table.version {
            DLPackVersion { major: 1, minor: 2.. } => return Verdict::Holds,
            // A newer table is walked to an older one, which need not exist (P-NEWER).
            DLPackVersion { major: 2.., .. } if table.present.is_some() => return Verdict::Holds,
            DLPackVersion { major: 2.., .. } => (Grade::Info, "newer", "major version 1"),
            DLPackVersion { major: 1, .. } => {
                (Grade::Warning, "minor", "version (1, 2) or newer, since the table came with it")
            }
            _ => (Grade::Violation, "major", "major version 1, the only one with this layout"),
        };
        let version = text(table.version);
        ctx.breaks(grade, || {
            shown(key, expected, format!("version {version}"), What::ExchangeVersion, &version)
        })
    })
}

fn older(ctx: &Context) -> Verdict {
    judged(readable(ctx), |table| {
        let versions = std::iter::once(&table.version).chain(&table.older);
        let falls = versions.clone().zip(versions.clone().skip(1)).all(|(new, old)| new > old);
        let (grade, key) = match table.chain_end {
            ChainEnd::Null if falls => return Verdict::Holds,
            ChainEnd::Null => (Grade::Warning, "versions"),
            ChainEnd::Cycle => (Grade::Violation, "cycle"),
            ChainEnd::TooLong => (Grade::Violation, "endless"),
            ChainEnd::Unreadable => (Grade::Violation, "invalid pointer"),
        };
        ctx.breaks(grade, || {
            let mut words: Vec<String> = table.older.iter().map(|it| text(*it)).collect();
            words.push(
                match table.chain_end {
                    ChainEnd::Null => "NULL",
                    ChainEnd::Cycle => "a table that was met before",
                    ChainEnd::TooLong => "and more",
                    ChainEnd::Unreadable => "memory that cannot be read",
                }
                .into(),
            );
            let chain = words.join(", ");
            let seen = format!("behind {}: {chain}", text(table.version));
            let expected = "prev_api that is NULL, or leads through older and older tables to NULL";
            shown(key, expected, seen, What::ExchangeChain, chain)
        })
    })
}

fn functions(ctx: &Context) -> Verdict {
    judged(readable(ctx).and_then(|table| table.present), |present| {
        let missing: Vec<&str> = (Function::ALL.into_iter().zip(present))
            .filter(|(function, present)| *function != Function::View && !present)
            .map(|(function, _)| function.name())
            .collect();
        let Some(&first) = missing.first() else { return Verdict::Holds };
        ctx.breaks(Grade::Violation, || {
            let list = missing.join(" ");
            shown(
                first,
                "no NULL but dltensor_from_py_object_no_sync",
                format!("NULL: {list}"),
                What::ExchangeNull,
                list,
            )
        })
    })
}
