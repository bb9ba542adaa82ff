//! Hands the interpreter's version flags to the crate.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
