//! What instructions do: compiled programs and random instructions give the same on the emulator and on QEMU.

use crate::code::random;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use wirelab_emulator::{Machine, Stop, symbol};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");

/// Whether the compiler and QEMU are there; says what is missing.
fn tools() -> bool {
    for (feature, binary) in [
        ("arm-none-eabi-gcc", "arm-none-eabi-gcc"),
        ("qemu", "qemu-system-arm"),
    ] {
        if Command::new(binary).arg("--version").output().is_err() {
            let _ = writeln!(
                std::io::stderr(),
                "WIRELAB-SKIP {feature}: {binary} is missing"
            );
            return false;
        }
    }
    true
}

/// Builds a program of these sources with the start-up code.
fn build(folder: &Path, sources: &[&Path], level: &str) -> PathBuf {
    let elf = folder.join("program.elf");
    let output = Command::new("arm-none-eabi-gcc")
        .args([
            "-mcpu=cortex-m3",
            "-mthumb",
            "-nostartfiles",
            "-ffreestanding",
            "-fno-tree-loop-distribute-patterns",
            level,
        ])
        .args([
            "-T",
            &format!("{PROGRAMS}/program.ld"),
            &format!("{PROGRAMS}/start.S"),
        ])
        .args(sources)
        .args(["-lc", "-lgcc", "-o"])
        .arg(&elf)
        .output()
        .expect("the compiler runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    elf
}

/// What the program prints on QEMU's Cortex-M3.
fn on_qemu(elf: &Path) -> String {
    let output = Command::new("timeout")
        .args([
            "60",
            "qemu-system-arm",
            "-M",
            "mps2-an385",
            "-display",
            "none",
            "-monitor",
            "none",
            "-serial",
            "none",
        ])
        .args(["-semihosting-config", "enable=on,target=native", "-kernel"])
        .arg(elf)
        .output()
        .expect("QEMU runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// What it prints on the emulator.
fn on_emulator(elf: &Path) -> String {
    let mut machine = Machine::new();
    machine
        .load_elf(&std::fs::read(elf).expect("the program was built"))
        .expect("the program fits");
    let mut text = String::new();
    loop {
        match machine.run_until(2_000_000_000) {
            Stop::Breakpoint(0xab) => {
                let [operation, mut at, ..] = *machine.registers();
                if operation == 0x18 {
                    return text;
                }
                assert_eq!(operation, 4, "only SYS_WRITE0 and SYS_EXIT are used");
                while let Some(byte) = machine
                    .memory(at, 1)
                    .and_then(|bytes| bytes.first())
                    .filter(|byte| **byte != 0)
                {
                    text.push(char::from(*byte));
                    at += 1;
                }
            }
            other => panic!("{other:?} after {text}"),
        }
    }
}

#[test]
fn compiled_programs_give_what_they_give_on_qemu() {
    if !tools() {
        return;
    }
    for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
        let folder = tempfile::tempdir().expect("a folder");
        let elf = build(
            folder.path(),
            &[&Path::new(PROGRAMS).join("semantics.c")],
            level,
        );
        let expected = on_qemu(&elf);
        assert_eq!(expected.lines().count(), 7, "{expected}");
        assert_eq!(on_emulator(&elf), expected, "{level}");
    }
}

#[test]
fn exceptions_come_and_go_in_the_order_that_they_do_on_qemu() {
    if !tools() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let elf = build(
        folder.path(),
        &[&Path::new(PROGRAMS).join("exceptions.c")],
        "-O2",
    );
    let file = std::fs::read(&elf).expect("the program was built");
    assert!(
        symbol(&file, "supervisor_body")
            .is_some_and(|(address, bytes)| address < 0x1000 && bytes > 20)
    );
    assert_eq!(
        (symbol(&file, "supervisor"), symbol(&file, "used")),
        (None, None),
        "a part of a name, and no function"
    );
    let expected = on_qemu(&elf);
    assert_eq!(expected.lines().count(), 6, "{expected}");
    assert_eq!(on_emulator(&elf), expected);
}

#[test]
fn random_instructions_give_what_they_give_on_qemu() {
    if !tools() {
        return;
    }
    for seed in 1..=8 {
        let folder = tempfile::tempdir().expect("a folder");
        let generated = folder.path().join("generated.s");
        std::fs::write(&generated, random::source(seed * 0x9e37_79b9, 480)).expect("a file");
        let elf = build(
            folder.path(),
            &[&Path::new(PROGRAMS).join("dump.c"), &generated],
            "-O2",
        );
        let (expected, found) = (on_qemu(&elf), on_emulator(&elf));
        assert_eq!(
            expected.lines().count(),
            480 * 13,
            "seed {seed}: {}",
            &expected[..expected.len().min(200)]
        );
        let different = expected
            .lines()
            .zip(found.lines())
            .position(|(one, other)| one != other);
        if let Some(line) = different {
            let source = std::fs::read_to_string(&generated).unwrap_or_default();
            let block = line / 13;
            let from = source.find(&format!("t{block}\n")).unwrap_or(0);
            panic!(
                "seed {seed}, block {block}, value {}:\n{}",
                line % 13,
                &source[from..(from + 600).min(source.len())]
            );
        }
        assert_eq!(found.lines().count(), 480 * 13);
    }
}
