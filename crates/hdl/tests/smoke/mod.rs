//! The smoke program of the reference node, compiled for it.

use std::path::Path;
use std::process::Command;

/// The program as an ELF file; `None` with a skip line if there is no compiler for RISC-V.
pub fn program() -> Option<Vec<u8>> {
    const COMPILER: &str = "riscv64-unknown-elf-gcc";
    if Command::new(COMPILER).arg("--version").output().is_err() {
        eprintln!("WIRELAB-SKIP {COMPILER}: the reference node's program cannot be compiled");
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder is made");
    let (here, elf) = (
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/smoke"),
        folder.path().join("smoke.elf"),
    );
    let words = "-march=rv32im_zicsr -mabi=ilp32 -std=gnu11 -O2 -Wall -Wextra -Werror -ffreestanding -nostdlib";
    let done = Command::new(COMPILER)
        .args(words.split(' '))
        .arg(concat!("-I", env!("WIRELAB_HDL_HEADERS")))
        .arg("-T")
        .args(["smoke.ld", "start.S", "smoke.c"].map(|name| here.join(name)))
        .arg("-o")
        .arg(&elf)
        .output()
        .expect("the compiler starts");
    assert!(
        done.status.success(),
        "the smoke program does not compile: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    Some(std::fs::read(elf).expect("the compiler wrote the program"))
}
