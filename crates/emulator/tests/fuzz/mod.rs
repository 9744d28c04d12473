//! What a fuzzer runs, shared by the fuzz targets and the tests that replay their corpora: any bytes as code, as accesses to
//! devices, or as a program file. Nothing may panic, and time must pass.

use wirelab_emulator::lpc1768::{Halt, Lpc1768};
use wirelab_emulator::map::{
    AHB_SRAM, EMAC, FLASH_BYTES, GPDMA, GPIO, LOCAL_SRAM, LOCAL_SRAM_BYTES,
};
use wirelab_emulator::{Machine, Stop, symbol};

/// Cycles that code gets.
const CYCLES: u64 = 30_000;
/// Stops behind which it goes on.
const STOPS: usize = 50;
/// The register that powers the peripherals.
const PCONP: u32 = 0x400f_c0c4;
/// Where accesses go: all devices, and memory for what the DMA masters read.
const PLACES: [u32; 12] = [
    EMAC,
    EMAC,
    EMAC + 0x100,
    EMAC + 0x200,
    EMAC + 0xf00,
    GPDMA,
    GPDMA + 0x100,
    GPIO,
    0x4000_4000,
    0x4000_c000,
    0x400f_c000,
    AHB_SRAM,
];
/// Accesses of one input.
const MAX_ACCESSES: usize = 400;
/// str.w r10,[r5]: everything is powered.
const POWER: [u8; 4] = [0xc5, 0xf8, 0x00, 0xa0];

fn begin(machine: &mut Machine, code: &[u8]) {
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
        PCONP,
        0xe000_e000,
        0xe000_ed00,
        4,
        0x4000_4000,
        u32::MAX,
    ];
    for (register, value) in (0..).zip(registers) {
        machine.set_register(register, value);
    }
}

/// Runs any bytes as code in the local SRAM of the board, with registers and vectors that lead to memories, devices and
/// back into the code.
pub fn fuzz_code(code: &[u8]) {
    let length = code.len().min(LOCAL_SRAM_BYTES as usize - POWER.len());
    let mut board = Lpc1768::new();
    let machine = board.machine();
    begin(machine, &[&POWER, &code[..length]].concat());
    let end = machine.cycle() + CYCLES;
    for _ in 0..STOPS {
        let before = machine.instructions();
        match machine.run_until(end) {
            Stop::Reached => break,
            Stop::Breakpoint(_) => {
                assert!(machine.instructions() > before, "a breakpoint is passed")
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

/// Code that puts `value` into a low register: MOVW and MOVT.
fn constant(register: u8, value: u32) -> [u8; 8] {
    let half = |first: u16, imm: u32| {
        let upper = first | (imm >> 12) as u16 | (imm >> 1) as u16 & 0x400;
        let lower = (imm << 4) as u16 & 0x7000 | u16::from(register) << 8 | imm as u16 & 0xff;
        [upper.to_le_bytes(), lower.to_le_bytes()]
    };
    let [[a, b], [c, d]] = half(0xf240, value & 0xffff);
    let [[e, f], [g, h]] = half(0xf2c0, value >> 16);
    [a, b, c, d, e, f, g, h]
}

/// Takes every seven bytes for an access: where, which register, read or written, the value. The board runs on between
/// them; a refused access is skipped.
pub fn fuzz_devices(bytes: &[u8]) {
    let mut code = POWER.to_vec();
    for record in bytes.chunks_exact(7).take(MAX_ACCESSES) {
        let place = PLACES[record[0] as usize % PLACES.len()];
        let offset = u32::from(record[1]) * 4 + u32::from(record[2] >> 6) * 0x400;
        let value = [record[3], record[4], record[5], record[6]];
        code.extend(constant(0, place + offset % 0x1000));
        code.extend(constant(1, u32::from_le_bytes(value)));
        // str r1,[r0] or ldr r1,[r0]; then b.n . + 2
        let access: u16 = if record[2] & 1 == 0 { 0x6001 } else { 0x6801 };
        code.extend(access.to_le_bytes());
        code.extend([0xff, 0xe7]);
    }
    // b.n .
    code.extend([0xfe, 0xe7]);
    let mut board = Lpc1768::new();
    begin(board.machine(), &code);
    let end = board.cycle() + 3 * CYCLES;
    for _ in 0..=MAX_ACCESSES {
        match board.run_until(end) {
            Ok(()) | Err(Halt::Breakpoint(_)) => break,
            Err(Halt::Crash(crash)) => board.machine().start(crash.pc + 2 + 1, AHB_SRAM + 0x1000),
        }
    }
    let _ = (board.take_sent(), board.take_edges(), board.take_serial());
}

/// Takes any bytes for a program file, and runs what it takes.
pub fn fuzz_elf(file: &[u8]) {
    let mut machine = Machine::new();
    let _ = symbol(file, "main");
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
