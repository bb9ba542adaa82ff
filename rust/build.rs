//! Hands the interpreter's version flags and the build profile to the crate.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    let profile = std::env::var("PROFILE").unwrap_or_default();
    println!("cargo::rustc-env=CLIKA_PYTREE_PROFILE={profile}");
}
