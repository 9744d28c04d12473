//! Code, programs and accesses that nobody would write: clear errors, never a panic.

use crate::code::random::Random;
use crate::code::{CODE, DATA, Setup};
use crate::fuzz::{fuzz_code, fuzz_devices, fuzz_elf};
use std::path::Path;
use wirelab_emulator::{ElfError, Machine, Reason, Stop};

#[test]
fn random_bytes_as_code_never_panic() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..600 {
        let length = 2 + random.below(400) as usize;
        // Half of it from the spaces of 32-bit instructions, which random halfwords rarely begin.
        let bytes: Vec<u8> = (0..length)
            .flat_map(|_| {
                let half = random.next() as u16;
                let half = if random.below(2) == 0 {
                    half | 0xe800
                } else {
                    half
                };
                half.to_le_bytes()
            })
            .collect();
        fuzz_code(&bytes);
    }
}

#[test]
fn random_accesses_to_devices_never_panic() {
    let mut random = Random(0x0fed_cba9_8765_4321);
    for _ in 0..150 {
        let bytes: Vec<u8> = (0..7 * 200)
            .map(|at| match at % 7 {
                // Values that mean something: small ones, and addresses in AHB SRAM.
                5 | 6 if random.below(2) == 0 => [7, 0x20][at % 7 - 5],
                4..=6 if random.below(2) == 0 => 0,
                _ => random.next() as u8,
            })
            .collect();
        fuzz_devices(&bytes);
    }
}

#[test]
fn the_fuzz_corpus_is_replayed() {
    type Target = fn(&[u8]);
    for (name, target) in [
        ("emulator_code", fuzz_code as Target),
        ("emulator_devices", fuzz_devices),
        ("emulator_elf", fuzz_elf),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fuzz/corpus")
            .join(name);
        let mut files = 0;
        for entry in std::fs::read_dir(folder).expect("the corpus is there") {
            target(&std::fs::read(entry.expect("an entry").path()).expect("a file"));
            files += 1;
        }
        assert!(files >= 3, "{name}: {files} files");
    }
}

fn crash(setup: &mut Setup, code: &[u16]) -> (Reason, String) {
    setup.place(CODE, code);
    setup.machine.start(CODE + 1, DATA + 0x500);
    for (register, value) in [(0, 0x3000_0000), (1, 3)] {
        setup.machine.set_register(register, value);
    }
    match setup.machine.run_until(10_000) {
        Stop::Crash(crash) => {
            assert_eq!(
                setup.machine.run_until(20_000),
                Stop::Crash(crash.clone()),
                "it stays stopped"
            );
            (crash.reason, crash.to_string())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn faults_name_what_where_and_the_registers() {
    let mut setup = Setup::new(CODE);
    // ldr r0,[r0]
    let (reason, text) = crash(&mut setup, &[0xbf00, 0x6800]);
    assert!(matches!(reason, Reason::Bus(fault) if fault.address == 0x3000_0000));
    assert!(
        text.contains("pc 0x10000002") && text.contains("0x30000000: nothing there"),
        "{text}"
    );
    assert!(
        text.contains("r0 30000000") && text.contains("sp 2007c500"),
        "{text}"
    );
    for (code, expected) in [
        // udf #0; bx r0; ldm r1,{r2,r3}
        (&[0xde00][..], Reason::Undefined),
        (&[0x4700], Reason::NotThumb(0x3000_0000)),
        (&[0xe891, 0x000c], Reason::Unaligned(3)),
        // mcr p15, 0, r0, c0, c0, 0: no coprocessor
        (&[0xee00, 0x0f10], Reason::Undefined),
    ] {
        assert_eq!(crash(&mut Setup::new(CODE), code).0, expected);
    }
    // bx r1: behind the last memory
    let mut setup = Setup::new(CODE);
    setup.place(CODE, &[0x4708]);
    setup.machine.start(CODE + 1, DATA);
    setup.machine.set_register(1, 0x2008_4001);
    let stop = setup.machine.run_until(100);
    assert!(matches!(stop, Stop::Crash(crash) if crash.reason == Reason::Fetch(0x2008_4000)));
    // str r0,[r1] to flash
    let mut setup = Setup::new(CODE);
    setup.place(CODE, &[0x6008]);
    setup.machine.start(CODE + 1, DATA);
    setup.machine.set_register(1, 0x100);
    assert!(
        matches!(setup.machine.run_until(100), Stop::Crash(crash) if crash.to_string().contains("flash cannot be written"))
    );
}

#[test]
fn traps_that_the_program_asks_for() {
    // str r0,[r1]: CCR; movs r7,#0; udiv r0,r1,r7
    let mut setup = Setup::new(CODE);
    setup.place(CODE, &[0x6008, 0x2700, 0xfbb1, 0xf0f7]);
    setup.machine.start(CODE + 1, DATA);
    setup.machine.set_register(0, 1 << 4);
    setup.machine.set_register(1, 0xe000_ed14);
    assert!(
        matches!(setup.machine.run_until(100), Stop::Crash(crash) if crash.reason == Reason::DivideByZero)
    );
}

/// A header and one segment.
fn elf(address: u32, offset: u32, stored: u32, bytes: u32) -> Vec<u8> {
    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend([2, 0, 40, 0]);
    for word in [1, address, 52, 0, 0, 52 | 32 << 16, 1] {
        file.extend_from_slice(&u32::to_le_bytes(word));
    }
    file.extend([0; 4]);
    for word in [1, offset, address, address, stored, bytes, 5, 4] {
        file.extend_from_slice(&u32::to_le_bytes(word));
    }
    file
}

#[test]
fn files_that_are_no_programs_are_refused_with_a_reason() {
    let load = |file: &[u8]| Machine::new().load_elf(file);
    let mut good = elf(CODE, 84, 12, 12);
    good.extend([0x00, 0x40, 0, 0x10, 9, 0, 0, 0x10, 0x00, 0xbe, 0, 0]);
    let mut machine = Machine::new();
    machine.load_elf(&good).expect("the file is a program");
    assert_eq!(machine.run_until(100), Stop::Breakpoint(0));
    for end in 0..good.len() {
        assert!(load(&good[..end]).is_err(), "cut at {end}");
    }
    let changed = |at: usize, value: u8| {
        let mut file = good.clone();
        file[at] = value;
        load(&file)
    };
    assert!(matches!(changed(0, 0), Err(ElfError::Cut(_))));
    assert!(matches!(changed(4, 2), Err(ElfError::Foreign(_))));
    assert!(matches!(changed(18, 62), Err(ElfError::Foreign(_))));
    assert!(matches!(changed(45, 2), Err(ElfError::Segments(513))));
    assert_eq!(changed(52, 2), Err(ElfError::Empty));
    for (address, offset, stored, bytes) in [
        (0x3000_0000, 84, 12, 12),
        (CODE + 0x7ffc, 84, 12, 12),
        (CODE, u32::MAX, 12, 12),
        (CODE, 84, 12, 4),
        (CODE, 84, 12, u32::MAX),
        (u32::MAX - 4, 84, 12, 12),
        (0x2008_3ffc, 84, 12, 12),
    ] {
        let mut file = elf(address, offset, stored, bytes);
        file.extend([0; 12]);
        let error = load(&file).expect_err("it does not fit");
        assert!(
            matches!(error, ElfError::Outside { .. } | ElfError::Cut(_)),
            "{error}"
        );
    }
}

#[test]
fn a_program_whose_vector_leads_nowhere_crashes_at_its_first_step() {
    let mut file = elf(CODE, 84, 8, 8);
    file.extend([0x00, 0x40, 0, 0x10, 8, 0, 0, 0x10]);
    let mut machine = Machine::new();
    machine.load_elf(&file).expect("the file is a program");
    assert!(
        matches!(machine.run_until(10), Stop::Crash(crash) if crash.reason == Reason::NotThumb(CODE + 8))
    );
}
