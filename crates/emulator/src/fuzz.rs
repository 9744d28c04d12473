//! Entries for fuzzing: any bytes as code or as a program file. Nothing may panic, and time has to pass.

use crate::map::{AHB_SRAM, EMAC, FLASH_BYTES, GPDMA, GPIO, LOCAL_SRAM, LOCAL_SRAM_BYTES};
use crate::{Machine, Stop};

/// Cycles that code gets.
const CYCLES: u64 = 30_000;
/// Stops behind which it goes on.
const STOPS: usize = 50;

/// Runs `code` in the local SRAM of a machine, with registers and vectors that lead to memories,
/// devices and back into the code.
pub fn fuzz_code_on(machine: &mut Machine, code: &[u8]) {
    let code = &code[..code.len().min(LOCAL_SRAM_BYTES as usize)];
    let vectors: Vec<u8> = (0..64u32)
        .flat_map(|n| (LOCAL_SRAM + 1 + n * 6).to_le_bytes())
        .collect();
    let placed = machine.write_memory(LOCAL_SRAM, code) && machine.write_memory(0, &vectors);
    assert!(placed, "code and vectors fit");
    machine.start(LOCAL_SRAM + 1, AHB_SRAM + 0x1000);
    let registers = [
        AHB_SRAM,
        LOCAL_SRAM,
        EMAC,
        GPDMA,
        GPIO,
        0x400f_c000,
        0xe000_e000,
        0xe000_ed00,
        4,
        0x4000_4000,
        u32::MAX,
    ];
    for (register, value) in (0..).zip(registers) {
        machine.set_register(register, value);
    }
    let end = machine.cycle() + CYCLES;
    for _ in 0..STOPS {
        let before = (machine.cycle(), machine.instructions());
        match machine.run_until(end) {
            Stop::Reached => break,
            Stop::Breakpoint(_) => {
                assert!(machine.instructions() > before.1, "a breakpoint is passed")
            }
            Stop::Reset => machine.reset(),
            Stop::Crash(crash) => {
                assert!(
                    crash.to_string().contains("pc"),
                    "the report names the place"
                );
                break;
            }
        }
    }
}

/// Runs any bytes as code on the bare machine.
pub fn fuzz_code(code: &[u8]) {
    fuzz_code_on(&mut Machine::new(), code);
}

/// Takes any bytes for a program file, and runs what it takes.
pub fn fuzz_elf(file: &[u8]) {
    let mut machine = Machine::new();
    match machine.load_elf(file) {
        Ok(()) => {
            let _ = machine.run_until(1000);
        }
        Err(error) => assert!(
            !error.to_string().is_empty(),
            "the error says what is wrong"
        ),
    }
    assert!(
        machine.memory(0, FLASH_BYTES as usize).is_some(),
        "the memories keep their size"
    );
}
