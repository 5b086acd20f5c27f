//! Notices as SARIF 2.1.0, which code-scanning services read.
//!
//! The rules of the log are those that its results name, worded by the catalogue. A result has the finding's
//! identity as its fingerprint: a service sees that it is the same finding again although its case is another.

use super::notice::{Level, Notice, Place};
use super::standing;
use crate::oracle::catalogue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Everything that a path in a URI may not hold as it is.
const PATH: AsciiSet =
    NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'+');

/// The log, indented, ending in a line feed.
pub fn sarif(notices: &[Notice]) -> String {
    let rules: BTreeSet<&str> =
        notices.iter().filter_map(|notice| notice.rule.as_deref()).collect();
    let rules: Vec<&str> = rules.into_iter().collect();
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "dlpack-fuzz",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|id| rule(id)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": notices.iter().map(|notice| result(notice, &rules)).collect::<Vec<_>>(),
        }],
    });
    format!("{log:#}\n")
}

fn rule(id: &str) -> Value {
    let Some(entry) = catalogue::entry(id) else {
        return json!({ "id": id });
    };
    json!({
        "id": id,
        "shortDescription": { "text": entry.statement },
        "help": { "text": format!("{} ({})\nSource: {}", entry.statement, standing(entry), entry.source) },
        "properties": { "tags": ["dlpack", entry.family], "level": entry.level },
    })
}

fn result(notice: &Notice, rules: &[&str]) -> Value {
    let mut result = json!({
        "level": match notice.level {
            Level::Error => "error",
            Level::Note => "note",
        },
        "message": { "text": notice.text },
        "partialFingerprints": { "identity/v1": notice.identity },
        "locations": notice.place.iter().map(location).collect::<Vec<_>>(),
        "properties": notice.details.iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect::<Map<_, _>>(),
    });
    if let Some(id) = &notice.rule {
        result["ruleId"] = json!(id);
        result["ruleIndex"] = json!(rules.iter().position(|rule| rule == id));
    }
    result
}

fn location(place: &Place) -> Value {
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(&place.path) },
        "region": { "startLine": place.line },
    }})
}

/// Relative paths stay so: a service resolves them in the checkout.
fn uri(path: &Path) -> String {
    let text = path.to_string_lossy();
    let encoded = utf8_percent_encode(&text, &PATH);
    if path.is_absolute() { format!("file://{encoded}") } else { encoded.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::finding;

    #[test]
    fn a_finding_is_a_result_of_a_rule_with_its_clause() {
        let finding = finding("EXC-DEVICE");
        let notice = Notice::of_finding(&finding, Some(Path::new("findings/my lib/EXC")));
        let unplaced = Notice { rule: None, place: None, ..notice.clone() };
        let log: Value = serde_json::from_str(&sarif(&[notice, unplaced])).unwrap();
        insta::assert_json_snapshot!(log);
    }

    #[test]
    fn a_uri_holds_no_space_and_no_scheme_of_its_own() {
        assert_eq!(uri(Path::new("/a b/c.txt")), "file:///a%20b/c.txt");
        assert_eq!(uri(Path::new("py:m/x#1")), "py%3Am/x%231");
    }
}
