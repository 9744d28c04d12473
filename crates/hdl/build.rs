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
        "firmware/drivers",
        ".cache/tools/hdl/complete",
    ] {
        println!("cargo::rerun-if-changed={}", tree.join(input).display());
    }
    println!("cargo::rerun-if-changed=src/shim.cpp");
    println!("cargo::rerun-if-env-changed=GHDL");
    let mut compiler = cc::Build::new();
    let mut registers = None;
    for line in model(&tree, &out).lines() {
        match line.split_once(' ') {
            Some(("source", path)) => drop(compiler.file(path)),
            Some(("include", path)) => drop(compiler.include(path)),
            Some(("registers", path)) => {
                println!("cargo::rustc-env=WIRELAB_HDL_REGISTERS={path}");
                registers = Path::new(path).parent().map(Path::to_path_buf);
            }
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
    let registers = registers.expect("rtl/tools/model.py prints where the registers are");
    drivers(&tree.join("firmware/drivers"), &registers, &out);
}

/// Compiles the drivers of the blocks, for tests alone, which give them the accesses to registers.
fn drivers(folder: &Path, registers: &Path, out: &Path) {
    let mut compiler = cc::Build::new();
    for part in ["", "examples", "tests"] {
        let files = std::fs::read_dir(folder.join(part)).expect("firmware/drivers is there");
        let files = files.map(|file| file.expect("firmware/drivers can be read").path());
        compiler.files(files.filter(|path| path.extension().is_some_and(|it| it == "c")));
    }
    compiler
        .include(folder)
        .include(registers)
        .std("c11")
        .define("WL_REGISTERS_HEADER", "\"tests/callback.h\"")
        .flag("-Wpedantic")
        .flag("-Wconversion")
        .extra_warnings(true)
        .warnings_into_errors(true)
        .cargo_metadata(false)
        .compile("wirelab_drivers");
    let library = out.join("libwirelab_drivers.a");
    println!("cargo::rustc-link-arg-tests={}", library.display());
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
