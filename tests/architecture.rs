//! Who may use whom, as the doc of `src/lib.rs` has it: reads the paths in `src/**` and fails on an arrow
//! that is not drawn there, and on names that only some modules may know.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const MODULES: [&str; 9] =
    ["abi", "backend", "case", "command", "finding", "host", "oracle", "report", "subject"];

/// What a module may use beside itself; `main` and `lib` may use everything.
fn may_use(module: &str) -> &'static [&'static str] {
    match module {
        "abi" => &[],
        "case" => &["abi"],
        "oracle" => &["abi", "case"],
        "backend" | "host" => &["abi", "case", "oracle", "backend", "host"],
        // Versions and errors are plain data; a stored finding holds its reports; a reproducer that runs is watched.
        "finding" => &[
            "abi",
            "case",
            "oracle",
            "report",
            "host::Versions",
            "host::Error",
            "host::process::resident",
        ],
        "report" => &["abi", "case", "oracle", "finding", "host::Versions"],
        "subject" => &["backend", "case", "oracle", "finding", "host"],
        _ => &MODULES,
    }
}

/// Names in code that a module must not have, each with the reason.
fn forbidden(module: &str) -> &'static [(&'static str, &'static str)] {
    const LIBFUZZER: (&str, &str) = ("libfuzzer_sys", "only fuzz/ names libFuzzer");
    const SAFE: [(&str, &str); 4] = [
        LIBFUZZER,
        ("unsafe", "only abi, host and backend hold unsafe blocks"),
        ("pyo3", "only host and backend know Python"),
        ("libc", "only host and backend call the C library"),
    ];
    match module {
        "backend" | "host" => &[LIBFUZZER],
        "abi" => &[LIBFUZZER, SAFE[2], SAFE[3]],
        "report" => &[
            LIBFUZZER,
            SAFE[1],
            SAFE[2],
            SAFE[3],
            ("process", "a report runs nothing"),
            ("Session", "a report runs nothing"),
        ],
        _ => &SAFE,
    }
}

/// The complaints about one file.
fn complaints(file: &Path, text: &str) -> Vec<String> {
    let module = module_of(file);
    let code = code(text);
    let mut complaints = Vec::new();
    for used in uses(file, &code) {
        let top = used.split("::").next().unwrap_or_default();
        let allowed = may_use(&module).iter().any(|may| {
            // `host::Versions` allows that name alone, `host` everything in it.
            used == *may || used.strip_prefix(may).is_some_and(|rest| rest.starts_with("::"))
        });
        if top != module && MODULES.contains(&top) && !allowed {
            complaints.push(format!("{} must not use {used}", file.display()));
        }
    }
    // The number of a signal is plain data.
    let code = code.replace("libc::SIG", "SIG");
    let names: BTreeSet<_> = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    for (name, reason) in forbidden(&module) {
        if names.contains(name) {
            complaints.push(format!("{} has `{name}`: {reason}", file.display()));
        }
    }
    complaints
}

/// The top-level module of a file below `src`; `main` and `lib` for the roots.
fn module_of(file: &Path) -> String {
    let first = file.iter().next().unwrap_or_default().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// How many `super` lead from the file's module to the crate's root.
fn depth(file: &Path) -> usize {
    let parts = file.iter().count();
    match file.file_name().and_then(|name| name.to_str()) {
        Some("mod.rs") => parts - 1,
        Some("lib.rs" | "main.rs") => 0,
        _ => parts,
    }
}

/// Paths from the crate's root that the code names: `case`, `host::Versions`.
fn uses(file: &Path, code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut depth_here = depth(file);
    for (number, line) in code.lines().enumerate() {
        // rustfmt leaves an inline module's braces at the margin.
        if line.starts_with("mod ") && line.ends_with('{') {
            depth_here += 1;
        } else if line == "}" && depth_here > depth(file) {
            depth_here -= 1;
        }
        let rest_of_file = || code.lines().skip(number + 1).collect::<Vec<_>>().join(" ");
        for start in ["crate::", "dlpack_fuzz::", "super::"] {
            for (at, _) in line.match_indices(start) {
                if line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                    continue;
                }
                let mut path = line[at..].to_owned() + " " + &rest_of_file();
                let mut ups = 0;
                while let Some(rest) = path.strip_prefix("super::") {
                    path = rest.to_owned();
                    ups += 1;
                }
                let from_root = match start {
                    "super::" => (ups >= depth_here).then_some(path.as_str()),
                    _ => path.strip_prefix(start),
                };
                found.extend(from_root.map(heads).unwrap_or_default());
            }
        }
    }
    found
}

/// `a::b::c` → `a::b`; `{a::b, c}` and `a::{b, c}` one by one.
fn heads(path: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    if let Some(list) = path.strip_prefix('{') {
        return items(list).iter().flat_map(|item| heads(item)).collect();
    }
    let first = name(path);
    match path.trim_start()[first.len()..].strip_prefix("::") {
        None => vec![first],
        Some(rest) => match rest.strip_prefix('{') {
            Some(list) => {
                items(list).iter().map(|item| format!("{first}::{}", name(item))).collect()
            }
            None => vec![format!("{first}::{}", name(rest))],
        },
    }
}

/// The comma-separated items up to the brace that closes the list.
fn items(list: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut open = 0;
    for c in list.chars() {
        match c {
            '{' => open += 1,
            '}' if open == 0 => break,
            '}' => open -= 1,
            _ => {}
        }
        if c == ',' && open == 0 {
            items.push(String::new());
        } else if let Some(item) = items.last_mut() {
            item.push(c);
        }
    }
    items.iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// The text without comments and without what stands in strings; lines stay.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if c == '"' {
            string_length(rest)
        } else if rest.starts_with("r\"") || rest.starts_with("r#\"") {
            let end = if rest.starts_with("r\"") { "\"" } else { "\"#" };
            let body = rest.find('"').unwrap_or(0) + 1;
            rest[body..].find(end).map_or(rest.len(), |at| body + at + end.len())
        } else if rest.starts_with("'\"'") {
            3
        } else if rest.starts_with("'\\\"'") {
            4
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        code.extend(rest[..skip].chars().filter(|&c| c == '\n'));
        rest = &rest[skip..];
    }
    code
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("src can be read") {
        let path = entry.expect("src can be read").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_arrow_is_drawn_in_the_doc_of_lib() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&src, &mut found);
    assert!(found.len() > 20, "the sources are elsewhere");
    let complaints: Vec<_> = found
        .iter()
        .flat_map(|file| {
            let text = std::fs::read_to_string(file).expect("a source file can be read");
            complaints(file.strip_prefix(&src).expect("it was found there"), &text)
        })
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn planted_arrows_are_found() {
    for (file, text) in [
        ("abi/mod.rs", "use super::case::Case;"),
        ("case/call.rs", "use crate::oracle::Rule;"),
        ("case/mod.rs", "fn f() -> super::host::Session { todo!() }"),
        ("oracle/exc.rs", "use super::super::backend::Backend;"),
        ("oracle/exc.rs", "use crate::{abi::DLDevice, host::Session};"),
        ("oracle/exc.rs", "use crate::{\n    abi::DLDevice,\n    host::Session,\n};"),
        ("oracle/ten/mod.rs", "use super::super::finding;"),
        ("oracle/cap.rs", "mod tests {\n    use super::super::super::report;\n}"),
        ("finding/store.rs", "use crate::host::Session;"),
        ("finding/store.rs", "use crate::host::{Session, Versions};"),
        ("oracle/cap/mod.rs", "use crate::report::terminal;"),
        ("report/json.rs", "use std::process::Command;"),
        ("report/json.rs", "use crate::command::fuzz;"),
        ("oracle/cap.rs", "unsafe { f() }"),
        ("command/fuzz.rs", "use libc::kill;"),
        ("finding/cause.rs", "use libc::kill; const DEATH: i32 = libc::SIGFPE;"),
        ("abi/mod.rs", "use pyo3::prelude::*;"),
        ("host/mod.rs", "use libfuzzer_sys::fuzz_target;"),
    ] {
        assert_eq!(complaints(Path::new(file), text).len(), 1, "{file}: {text}");
    }
}

#[test]
fn lawful_twins_are_not() {
    for (file, text) in [
        ("abi/mod.rs", "//! Not crate::case.\nuse std::ffi::c_void; /* unsafe */ unsafe fn f() {}"),
        ("case/call.rs", "use super::Dtype;\nuse crate::abi::DLDevice;"),
        (
            "oracle/exc.rs",
            "use super::{Context, Rule};\nuse crate::{abi::DLDevice, case::{Call, Case}};",
        ),
        ("oracle/cap.rs", "mod tests {\n    use super::super::testing::Scene;\n}"),
        ("oracle/ten/data.rs", "use super::super::export;\nuse super::by_knob;"),
        ("oracle/cap.rs", "const TEXT: &str = \"unsafe \\\" crate::host\"; const C: char = '\"';"),
        ("oracle/cap.rs", "const TEXT: &str = r#\"pyo3 \" libc\"#;"),
        ("finding/store.rs", "use crate::host::Versions;\nuse crate::host::{Versions};"),
        ("report/json.rs", "use crate::finding::Finding;"),
        ("finding/cause.rs", "const DEATH: i32 = libc::SIGFPE;"),
        ("command/fuzz.rs", "use crate::host::Session;\nuse std::process::Command;"),
        ("main.rs", "use dlpack_fuzz::report;\nmod command;"),
        ("host/capsule.rs", "use pyo3::ffi;\nunsafe fn f() {}"),
    ] {
        let complaints = complaints(Path::new(file), text);
        assert!(complaints.is_empty(), "{file}: {text}: {complaints:?}");
    }
}
