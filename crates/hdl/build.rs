//! Translates the VHDL of a port, has Verilator make C++ of it, and compiles that into the crate.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for input in [
        "rtl/src",
        "rtl/registers",
        "rtl/tools",
        ".cache/tools/hdl/complete",
    ] {
        println!("cargo::rerun-if-changed={}", tree.join(input).display());
    }
    println!("cargo::rerun-if-changed=src/shim.cpp");
    println!("cargo::rerun-if-env-changed=GHDL");
    let mut compiler = cc::Build::new();
    for line in model(&tree, &out).lines() {
        match line.split_once(' ') {
            Some(("source", path)) => drop(compiler.file(path)),
            Some(("include", path)) => drop(compiler.include(path)),
            Some(("registers", path)) => println!("cargo::rustc-env=WIRELAB_HDL_REGISTERS={path}"),
            _ => panic!("rtl/tools/model.py printed '{line}', which is no word and path"),
        }
    }
    compiler
        .file("src/shim.cpp")
        .cpp(true)
        .std("c++20")
        // Without optimisation a test would wait ten times as long for its clocks.
        .opt_level(2)
        .warnings(false)
        .define("VL_TIME_CONTEXT", None)
        .compile("wirelab_hdl_model");
}

/// Has the C++ made; gives the lines that rtl/tools/model.py prints.
fn model(tree: &Path, out: &Path) -> String {
    let done = Command::new("python3")
        .arg("-B")
        .arg(tree.join("rtl/tools/model.py"))
        .arg("ethernet_port")
        .arg(out.join("model"))
        // What the tools keep for later is of this build.
        .env("CARGO_TARGET_DIR", out)
        .output();
    match done {
        Ok(done) if done.status.success() => {
            String::from_utf8(done.stdout).expect("paths of a build folder are UTF-8")
        }
        Ok(done) => panic!(
            "the model of rtl/src/ethernet_port.vhd could not be made: {}",
            String::from_utf8_lossy(&done.stderr)
        ),
        Err(error) => panic!(
            "python3 is needed to make the model of rtl/src/ethernet_port.vhd and did not start ({error}): \
             run scripts/setup.sh test"
        ),
    }
}
