//! Translates the VHDL of a port and of the reference node, lets Verilator generate C++ from them, and compiles that
//! into the crate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Entities, each with the C++ that runs its model.
const MODELS: [(&str, &str); 2] = [
    ("ethernet_port", "src/shim.cpp"),
    ("reference_node", "src/reference/shim.cpp"),
];

fn main() {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for input in [
        "rtl/src",
        "rtl/reference",
        "rtl/registers",
        "rtl/tools",
        "firmware/drivers",
        ".cache/tools/hdl/complete",
    ] {
        println!("cargo::rerun-if-changed={}", tree.join(input).display());
    }
    println!("cargo::rerun-if-env-changed=GHDL");
    let mut includes = Vec::new();
    // The models share Verilator's own sources.
    let mut sources = BTreeSet::new();
    let mut registers = None;
    for (entity, shim) in MODELS {
        println!("cargo::rerun-if-changed={shim}");
        sources.insert(shim.to_owned());
        for line in model(&tree, &out, entity).lines() {
            match line.split_once(' ') {
                Some(("source", path)) => drop(sources.insert(path.to_owned())),
                Some(("include", path)) => includes.push(path.to_owned()),
                Some(("registers", path)) => {
                    let name = entity.to_uppercase();
                    println!("cargo::rustc-env=WIRELAB_HDL_{name}={path}");
                    registers = Path::new(path).parent().map(Path::to_path_buf);
                }
                _ => panic!("rtl/tools/model.py printed '{line}', which is not a word and a path"),
            }
        }
    }
    // Verilator puts what runs once, at the start, into files of this name.
    let (once, each_clock): (Vec<_>, Vec<_>) = sources
        .into_iter()
        .partition(|path| path.ends_with("Slow.cpp"));
    // Without optimisation a test would run ten times as long. The library that is named first needs the other.
    compile("wirelab_hdl_model", each_clock, &includes, 2);
    compile("wirelab_hdl_model_start", once, &includes, 0);
    let registers = registers.expect("rtl/tools/model.py prints where the registers are");
    // The C headers are in the same folder as the constants.
    println!(
        "cargo::rustc-env=WIRELAB_HDL_HEADERS={}",
        registers.display()
    );
    drivers(&tree.join("firmware/drivers"), &registers, &out);
}

/// Compiles C++ of Verilator into a library.
fn compile(library: &str, sources: Vec<String>, includes: &[String], optimisation: u32) {
    cc::Build::new()
        .files(sources)
        .includes(includes)
        .cpp(true)
        .std("c++20")
        .opt_level(optimisation)
        // Verilator's code is not debugged, and compiles in half the time without debug information.
        .debug(false)
        .warnings(false)
        .define("VL_TIME_CONTEXT", None)
        .compile(library);
}

/// Compiles the drivers of the blocks, for tests only, which provide the register accesses.
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

/// Generates the C++ of an entity; returns the lines that rtl/tools/model.py prints.
fn model(tree: &Path, out: &Path, entity: &str) -> String {
    let done = Command::new("python3")
        .arg("-B")
        .arg(tree.join("rtl/tools/model.py"))
        .arg(entity)
        .arg(out.join(entity))
        // The tools' cache belongs to this build.
        .env("CARGO_TARGET_DIR", out)
        .output();
    match done {
        Ok(done) if done.status.success() => {
            String::from_utf8(done.stdout).expect("paths of a build folder are UTF-8")
        }
        Ok(done) => panic!(
            "the model of {entity} could not be made: {}",
            String::from_utf8_lossy(&done.stderr)
        ),
        Err(error) => panic!(
            "python3 is needed to make the model of {entity} and did not start ({error}): \
             run scripts/setup.sh test"
        ),
    }
}
