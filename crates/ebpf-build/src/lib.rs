//! For build scripts: compiles eBPF programs of `bpf/` with clang, so that a crate contains them and needs no
//! compiler at run time.
//!
//! `port` and `stages` use it. Their build scripts call [`compile`], the only function; the program itself does not
//! link this crate. It knows no other crate. Start reading at `crates/port/build.rs`.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compile `bpf/NAME.bpf.c` of the repository of the crate being built to `OUT_DIR/NAME.bpf.o`, for each name.
///
/// # Panics
/// If clang is missing or finds an error, with the fix, because a build script fails by a panic.
pub fn compile(programs: &[&str]) {
    // Not the folder in which the build script was compiled, because a target folder may be a copy.
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let sources = Path::new(&folder).join("../../bpf");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed={}", sources.display());
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    for program in programs {
        let source = sources.join(format!("{program}.bpf.c"));
        let object = out.join(format!("{program}.bpf.o"));
        let status = Command::new(&clang)
            .args([
                "-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3",
            ])
            .args(system_headers())
            .arg("-c")
            .arg(&source)
            .arg("-o")
            .arg(&object)
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("{clang} could not compile {}: {status}", source.display()),
            Err(error) => panic!(
                "{clang} is needed to compile the eBPF programs and did not start ({error}); \
                 fix: install it with 'apt-get install clang libbpf-dev', or name another with CLANG=…"
            ),
        }
    }
}

/// Distributions keep asm/types.h in a folder of the host's architecture, which clang does not search for a bpf
/// target.
fn system_headers() -> Vec<String> {
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let folder = format!("/usr/include/{arch}-linux-gnu");
    if Path::new(&folder).is_dir() {
        vec![format!("-I{folder}")]
    } else {
        Vec::new()
    }
}
