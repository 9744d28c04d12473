//! Compiles the plugin by which QEMU counts the instructions of a machine, so that the program contains it.

use std::path::{Path, PathBuf};

fn main() {
    // Not the folder in which the build script was compiled, because a target folder may be a copy.
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let source = Path::new(&folder).join("../../qemu-plugin/wirelab.c");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed={}", source.display());
    let compiler = cc::Build::new().opt_level(2).pic(true).get_compiler();
    let status = compiler
        .to_command()
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g0"])
        .args(["-shared", "-fvisibility=hidden", "-o"])
        .arg(out.join("wirelab.so"))
        .arg(&source)
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("the compiler could not make {}: {status}", source.display()),
        Err(error) => panic!(
            "a C compiler is needed to build QEMU's plugin and did not start ({error}): install it with \
             'apt-get install gcc', or name another with CC=…"
        ),
    }
}
