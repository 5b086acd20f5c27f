//! As the main crate's, and the sanitizers' entry points made visible to loaded modules, so that a library
//! built with coverage or AddressSanitizer feeds this program's libFuzzer.

fn main() {
    pyo3_build_config::add_libpython_rpath_link_args();
    for symbols in ["__sanitizer_*", "__asan_*", "__ubsan_*", "__sancov_*"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbols}");
    }
}
