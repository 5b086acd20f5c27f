//! **Frames**: the exporter's own functions in which a process died, in words.
//!
//! Goes in: the [`Trace`] that the process left, and what Python's `faulthandler` wrote of it. Comes out: texts such as
//! `to_dlpack+0x3c (_core.so)`, `_core.so+0x1c3d` where the module has no symbol there, and `crash (mylib.py:26)`,
//! innermost first. Frames of libc, of the interpreter and of this program are left out: they are the same whatever
//! the fault. None are left for a process that died without a trace.

use super::journal::Journal;
use super::trace::Trace;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::path::Path;

/// As many as tell one fault from another.
const KEPT: usize = 5;
/// The first letters of modules that are no exporter's.
const FOREIGN: [&str; 13] = [
    "libc.",
    "libc-",
    "libm.",
    "libpthread",
    "ld-linux",
    "libdl.",
    "libgcc_s",
    "libstdc++",
    "libffi",
    "libpython",
    "python",
    "_ctypes",
    "libasan",
];

/// The exporter's innermost frames in a process that is dead: from its journal, and from the file in which Python's
/// part of the trace is. `program` is what it ran.
pub fn of(journal: &Journal, stack: &Path, program: &Path) -> Vec<String> {
    let Some(trace) = journal.trace() else { return Vec::new() };
    let python = std::fs::read(stack).unwrap_or_default();
    let program = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    frames(Some(&trace), &String::from_utf8_lossy(&python), &program)
}

fn frames(trace: Option<&Trace>, python: &str, program: &Path) -> Vec<String> {
    let places = trace.into_iter().flat_map(|trace| &trace.places);
    let native = places.filter(|(module, _)| !is_foreign(module, program));
    let native = native.map(|(module, offset)| name(module, *offset));
    let mut all: Vec<String> = native.take(KEPT).collect();
    all.extend(python.lines().filter_map(python_frame).take(KEPT - all.len()));
    all
}

fn is_foreign(module: &Path, program: &Path) -> bool {
    let name = module.file_name().unwrap_or_default().to_string_lossy();
    module == program || FOREIGN.iter().any(|foreign| name.starts_with(foreign))
}

/// The function at a place of a module's file, if a symbol covers it. (The nearest symbol before it would be any
/// function at all where the module is stripped.)
fn name(module: &Path, offset: u64) -> String {
    let file = module.file_name().unwrap_or_default().to_string_lossy();
    match symbol(module, offset) {
        Some((symbol, into)) => format!("{}+{into:#x} ({file})", demangled(&symbol)),
        None => format!("{file}+{offset:#x}"),
    }
}

fn symbol(module: &Path, offset: u64) -> Option<(String, u64)> {
    let file = std::fs::File::open(module).ok()?;
    // SAFETY: a module that is loaded is not truncated by anybody who wants to use it.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.ok()?;
    let parsed = object::File::parse(&*bytes).ok()?;
    let address = parsed.segments().find_map(|segment| {
        let (start, size) = segment.file_range();
        (start..start + size).contains(&offset).then(|| segment.address() + offset - start)
    })?;
    let covers = |symbol: &object::Symbol<'_, '_>| {
        symbol.kind() == SymbolKind::Text
            && (symbol.address()..symbol.address() + symbol.size()).contains(&address)
    };
    let symbol = parsed.symbols().chain(parsed.dynamic_symbols()).find(covers)?;
    Some((symbol.name().ok()?.to_owned(), address - symbol.address()))
}

fn demangled(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    (cpp_demangle::Symbol::new(symbol).ok())
        .and_then(|name| name.demangle_with_options(&options).ok())
        .unwrap_or_else(|| symbol.to_owned())
}

/// `  File "/lib/mylib.py", line 26 in crash`, unless the file is the standard library's.
fn python_frame(line: &str) -> Option<String> {
    let (path, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
    let (number, function) = rest.split_once(" in ")?;
    let is_standard = path.contains("/lib/python3.") && !path.contains("/site-packages/");
    if is_standard || path.starts_with('<') {
        return None;
    }
    let file = Path::new(path).file_name()?.to_string_lossy();
    Some(format!("{function} ({file}:{number})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn frames_of_the_exporter_are_kept_and_others_left_out() {
        let module = |path: &str| (PathBuf::from(path), 0x10);
        let places = vec![
            module("/usr/lib/libc.so.6"),
            module("/nowhere/_core.so"),
            module("/usr/lib/libpython3.11.so.1.0"),
            module("/me"),
        ];
        let trace = Trace { signal: 11, places };
        let python = "Stack (most recent call first):\n  \
            File \"/usr/lib/python3.11/ctypes/__init__.py\", line 519 in string_at\n  \
            File \"/x/lib/python3.11/site-packages/mylib.py\", line 26 in crash\n  \
            File \"<frozen importlib>\", line 2 in f\n";
        let found = frames(Some(&trace), python, Path::new("/me"));
        assert_eq!(found, ["_core.so+0x10", "crash (mylib.py:26)"]);
        assert_eq!(frames(None, "", Path::new("/me")), [""; 0]);
    }

    #[test]
    fn a_symbol_that_covers_the_place_names_it() {
        #[inline(never)]
        #[unsafe(no_mangle)]
        extern "C" fn dlpack_fuzz_a_function_with_a_name() -> usize {
            std::hint::black_box(7)
        }
        let program = std::env::current_exe().unwrap();
        let address = dlpack_fuzz_a_function_with_a_name as *const () as usize;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let offset = maps.lines().find_map(|line| {
            let (range, rest) = line.split_once(' ')?;
            let (start, end) = range.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).ok();
            let (start, end) = (number(start)?, number(end)?);
            let offset = number(rest.split(' ').nth(1)?)?;
            (start..end).contains(&address).then(|| (address - start + offset) as u64)
        });
        let (found, into) = symbol(&program, offset.unwrap()).expect("tests are not stripped");
        assert_eq!((found.as_str(), into), ("dlpack_fuzz_a_function_with_a_name", 0));
    }

    #[test]
    fn names_of_other_languages_are_read() {
        assert_eq!(demangled("to_dlpack"), "to_dlpack");
        assert_eq!(demangled("_ZN2at8toDLPackERKNS_6TensorE"), "at::toDLPack");
        assert_eq!(demangled("_ZN5mylib6export17h0123456789abcdefE"), "mylib::export");
    }
}
