//! A **reproducer** is a stand-alone Python script that shows a finding: Python 3.10, ctypes and the
//! library, and no trace of this project.
//!
//! Goes in: the case, the cause with its facts, and the statements that build the array. Comes out: a
//! script with only the parts it needs (`reproducer.py.in`), readable like a bug report. It exits with 1 if
//! the fault shows (every fact is found as it was reported), 0 if it does not, 2 if that cannot be decided.
//! For a crash it makes the calls; dying is the answer.

mod exchange;
mod facts;
mod life;
mod template;

use super::python::{self, CALLEE, Needs};
use super::{Cause, Crash, Versions, Violation};
use crate::abi::DLDevice;
use crate::case::life::Change;
use crate::case::{CHANGE_MARK, Case, Probe, VIEW_MARK};
use crate::oracle::catalogue;
use crate::oracle::{Fact, Of, ProbeName, What};
use crate::report::prose::{ascii, wrap};
use facts::{needs_result, part, reported};
use life::{Extent, Words};
use template::parts;

/// Last line of a script that shows the fault: it tells its exit status 1 from an uncaught exception's.
pub(super) const SHOWN: &str = "FAULT SHOWN";
/// First words of a crash script's line before the call: a death before it is not the one.
pub(super) const CALLING: &str = "calling ";

/// What a script is made of.
#[derive(Clone, Copy, Debug)]
pub struct ReproInput<'a> {
    pub case: &'a Case,
    pub cause: &'a Cause,
    /// Statements that leave the exporter in `x`. If they also leave an array in `source`, its memory is
    /// the one that the export is compared with (for exporters that wrap an array).
    pub build: &'a str,
    pub versions: &'a Versions,
    /// What `__dlpack_device__()` answered, for probes that pass it as numbers.
    pub own: DLDevice,
}

/// The script.
pub fn reproducer(input: &ReproInput) -> String {
    let mut script = Script::new(input);
    match input.cause {
        Cause::Violation(violation) => script.show_violation(violation),
        Cause::Crash(crash) => script.show_crash(crash),
    }
    script.finish()
}

struct Script<'a> {
    input: &'a ReproInput<'a>,
    needs: Needs,
    /// What follows the array.
    body: String,
}

impl<'a> Script<'a> {
    fn new(input: &'a ReproInput<'a>) -> Self {
        Self { input, needs: Needs::default(), body: String::new() }
    }

    fn need(&mut self, part: &'static str) {
        self.needs.0.insert(part);
    }

    fn line(&mut self, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
    }

    /// The call of an export, as an expression.
    fn call(&mut self, of: Of) -> String {
        let call = match of {
            Of::Export => self.input.case.call.clone(),
            Of::FromPy => {
                self.need("exchange_export");
                return "exchange_export(x)".into();
            }
            Of::Probe(ProbeName(probe)) => probe.call(&self.input.case.call, self.input.own),
        };
        python::call(&call, &mut self.needs)
    }

    /// Every export that the case makes.
    fn case_exports(&self) -> Vec<Of> {
        let probes = self.input.case.probes.iter().map(|probe| Of::Probe(ProbeName(probe)));
        std::iter::once(Of::Export).chain(probes).collect()
    }

    /// Their calls: a leak is counted over all of them.
    fn round(&mut self) -> Vec<String> {
        self.case_exports().into_iter().map(|of| self.call(of)).collect()
    }

    fn show_violation(&mut self, violation: &Violation) {
        let facts = &violation.evidence.facts;
        self.need("hook");
        for extent in extents(facts) {
            self.live(extent);
        }
        if facts.iter().any(|fact| fact.what == What::SourceState) {
            self.need("source_state");
            self.line("before = state()");
        }
        if facts.is_empty() || facts.iter().any(|fact| needs_result(fact.what)) {
            self.need("attempt");
            for of in exports(facts) {
                let call = self.call(of);
                self.line(&format!("{} = attempt(lambda: {call})", variable(of)));
            }
        }
        self.line(&format!(
            "\nprint({})",
            text(&format!("expected: {}", violation.evidence.expected))
        ));
        if facts.is_empty() {
            self.need("undecided");
            self.line("print(f\"seen:     {export!r}\")");
            self.line("undecided(\"the report has no fact to compare\")");
            return;
        }
        self.line("facts = [  # what, as it is now, as it was reported");
        for fact in facts {
            let now = self.look_up(fact, facts);
            let what = text(&self.name(fact));
            self.line(&format!("    ({what}, {now}, {}),", text(&reported(fact))));
        }
        self.line("]");
        self.line("for what, now, reported in facts:");
        self.line("    print(f\"seen:     {what} = {now}\" + (\"\" if str(now) == reported else f\", not {reported}\"))");
        self.line("shown = all(str(now) == reported for _, now, reported in facts)");
        self.line(&format!("print(\"{SHOWN}\" if shown else \"fault not shown\")"));
        self.line("sys.exit(1 if shown else 0)");
    }

    /// The case's life, or a function that lives it.
    fn live(&mut self, extent: Extent) {
        self.need("held");
        let case = self.input.case;
        let changes = changes(self.input.build);
        let mut call = |probe: Option<Probe>| {
            self.call(probe.map_or(Of::Export, |probe| Of::Probe(ProbeName(probe))))
        };
        let change = |change: Change| {
            changes.iter().find(|(known, _)| *known == change).map(|(_, text)| text.to_string())
        };
        let lines = life::lines(case, extent, &mut Words { call: &mut call, change: &change });
        if extent == Extent::Repeated {
            self.line("\ndef life():");
        }
        let indent = if extent == Extent::Repeated { "    " } else { "" };
        for line in lines.iter().flat_map(|line| line.lines()) {
            self.line(&format!("{indent}{line}"));
        }
    }

    fn show_crash(&mut self, crash: &Crash) {
        let exports = self.case_exports();
        let fate = crash.death.fate();
        self.need("import sys");
        for (part, call) in exchange::calls(self.input.case) {
            self.need(part);
            self.need("attempt");
            self.line(&format!("print({}, flush=True)", text(&format!("{CALLING}{call}"))));
            self.line(&format!("attempt(lambda: {call})"));
        }
        let has_life = !self.input.case.life.is_empty();
        if let [only] = exports[..]
            && !self.input.case.probes.asks_exchange()
            && !has_life
        {
            let call = self.call(only);
            self.line(&format!("print({}, flush=True)", text(&format!("{CALLING}{call}: {fate}"))));
            self.line("try:");
            self.line(&format!("    print(\"not shown, it returned\", {call})"));
            self.line("except BaseException as error:");
            self.line("    print(\"not shown, it raised\", repr(error))");
            self.line("sys.exit(0)");
            return;
        }
        self.need("attempt");
        for of in exports {
            let call = self.call(of);
            self.line(&format!("print({}, flush=True)", text(&format!("{CALLING}{call}"))));
            self.line(&format!("{} = attempt(lambda: {call})", variable(of)));
        }
        if has_life {
            let life = format!("{CALLING}steps: {}", self.input.case.life);
            self.line(&format!("print({}, flush=True)", text(&life)));
            self.live(Extent::Once);
        }
        self.line(&format!("print({})", text(&format!("not shown; reported: {fate}"))));
        self.line("sys.exit(0)");
    }

    /// A fact in words: the call and what of it.
    fn name(&mut self, fact: &Fact) -> String {
        match fact.what {
            What::DeviceMethod => return "x.__dlpack_device__()".into(),
            What::DeviceForm => return "types in x.__dlpack_device__()".into(),
            what if what.is_exchange() => return exchange::look_up(fact, self.input.case),
            what if what.is_life() => return format!("{} of the life", part(what)),
            _ => {}
        }
        let what = serde_json::to_value(fact.what).expect("a unit variant is a string");
        let what = what.as_str().unwrap_or_default().replace('-', " ");
        format!("{what} of {}", self.call(fact.of))
    }

    /// The expression that looks a fact up again.
    fn look_up(&mut self, fact: &Fact, facts: &[Fact]) -> String {
        let part = part(fact.what);
        self.need(part);
        match fact.what {
            What::DeviceMethod | What::DeviceForm | What::SourceState => format!("{part}()"),
            What::ArgumentReferences => {
                let calls = self.round().into_iter();
                let calls =
                    calls.map(|call| format!("lambda f: {}", call.replacen(CALLEE, "f", 1)));
                format!("{part}({})", calls.collect::<Vec<_>>().join(", "))
            }
            // Which exception it was, the report does not know.
            What::PendingError if fact.value == "True" => {
                format!("{part}(lambda: {}) is not None", self.call(fact.of))
            }
            What::PendingError => format!("{part}(lambda: {})", self.call(fact.of)),
            What::ReferenceGrowth | What::MemoryGrowth | What::HeapGrowth => {
                let calls = self.round().into_iter().map(|call| format!("lambda: {call}"));
                format!("{part}({})", calls.collect::<Vec<_>>().join(", "))
            }
            What::Shares => {
                let others = exports(facts).into_iter().filter(|of| *of != fact.of).map(variable);
                format!("{part}({}, {})", variable(fact.of), others.collect::<Vec<_>>().join(", "))
            }
            what if what.is_exchange() => exchange::look_up(fact, self.input.case),
            What::LifeGrowth => format!("{part}(life)"),
            what if what.is_life() => format!("{part}()"),
            _ => format!("{part}({})", variable(fact.of)),
        }
    }

    fn finish(self) -> String {
        let input = self.input;
        // What the array's own statements define stands in the place of the template's part.
        let mut parts = parts(&self.needs);
        parts.retain(|part| !input.build.contains(&format!("\ndef {}(", part.name)));
        let imports: String =
            parts.iter().filter(|part| part.is_import()).map(|part| part.code).collect();
        let helpers: String =
            parts.iter().filter(|part| !part.is_import()).map(|part| part.code).collect();
        let space = if helpers.is_empty() { "\n" } else { "\n\n" };
        let (build, view) = input.build.split_once(VIEW_MARK).unwrap_or((input.build, ""));
        let build: String =
            (build.split_inclusive('\n')).filter(|line| !line.starts_with(CHANGE_MARK)).collect();
        let mut script = header(input);
        script += &format!("{imports}{helpers}{space}{build}");
        if !script.ends_with('\n') {
            script.push('\n');
        }
        let built = |start: &str| input.build.lines().any(|line| line.starts_with(start));
        if self.needs.0.contains("np") && !built("import numpy as np") {
            script.push_str("import numpy as np\n");
        }
        if parts.iter().any(|part| part.code.contains("source")) && !built("source = ") {
            script.push_str("source = x\n");
        }
        if self.needs.0.contains("own") {
            script.push_str("own = x.__dlpack_device__()\n");
        }
        if parts.iter().any(|part| part.name == "source view") {
            // Instead of what the part has for arrays that tell it as NumPy's do.
            script.push_str(view);
        }
        script.push('\n');
        script.push_str(&self.body);
        script
    }
}

/// The ways in which the facts need the life lived.
fn extents(facts: &[Fact]) -> Vec<Extent> {
    let has = |wanted: fn(What) -> bool| facts.iter().any(|fact| wanted(fact.what));
    let mut extents = Vec::new();
    if has(|what| what.is_life() && !matches!(what, What::LifeGrowth | What::LifeRace)) {
        extents.push(Extent::Once);
    }
    if has(|what| what == What::LifeGrowth) {
        extents.push(Extent::Repeated);
    }
    extents
}

/// The statements that change the array in place, which the build's text names.
fn changes(build: &str) -> Vec<(Change, &str)> {
    build
        .lines()
        .filter_map(|line| {
            let (name, statement) = line.strip_prefix(CHANGE_MARK)?.split_once(": ")?;
            let change = Change::ALL.into_iter().find(|change| change.name() == name)?;
            Some((change, statement))
        })
        .collect()
}

/// The exports that the facts speak of, the case's own first and always: it may be what makes the others
/// differ. The exchange API does without.
fn exports(facts: &[Fact]) -> Vec<Of> {
    let is_alone =
        !facts.is_empty() && facts.iter().all(|fact| fact.of == Of::FromPy || fact.what.is_life());
    let mut exports = if is_alone { vec![] } else { vec![Of::Export] };
    for fact in facts {
        if needs_result(fact.what) && !exports.contains(&fact.of) {
            exports.push(fact.of);
        }
    }
    exports
}

fn variable(of: Of) -> String {
    match of {
        Of::Export => "export".into(),
        Of::FromPy => "from_py".into(),
        Of::Probe(ProbeName(probe)) => Probe::name(probe).replace(['-', '.'], "_"),
    }
}

/// The comment at the top: the clause, its source, the case and what was seen.
fn header(input: &ReproInput) -> String {
    let rule = input.cause.rule(input.case);
    let entry = catalogue::entry(rule);
    let mut header = String::new();
    let mut paragraph = |label: &str, text: &str| {
        header.push_str(&wrap(&ascii(text), 96, label, "#     "));
    };
    match entry {
        Some(entry) => {
            paragraph("# ", &format!("{rule} ({}): {}", entry.level, entry.statement));
            paragraph("# Source:   ", entry.source);
        }
        None => paragraph("# ", rule),
    }
    paragraph("# Expected: ", &input.cause.expected());
    paragraph("# Seen:     ", &input.cause.seen());
    paragraph("# With:     ", &versions(input.versions));
    if matches!(input.cause, Cause::Violation(_)) {
        paragraph("# ", "Exit status: 1 the fault shows, 0 it does not, 2 undecided.");
    }
    header
}

/// `numpy 2.4.6, Python 3.11.7`.
fn versions(versions: &Versions) -> String {
    let mut words: Vec<_> =
        (versions.libraries.iter()).map(|(name, version)| format!("{name} {version}")).collect();
    // No interpreter takes part in the run of an exporter in C.
    if !versions.python.is_empty() {
        words.push(format!("Python {}", versions.python));
    }
    words.join(", ")
}

/// A Python string literal.
fn text(text: &str) -> String {
    let mut literal = String::from("\"");
    for letter in ascii(text).chars() {
        match letter {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            letter => literal.push(letter),
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests;
