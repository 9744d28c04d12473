//! Instructions per second of the emulated core: halfword copies, and calls with arithmetic and branches, from local
//! SRAM and from flash.

use criterion::{Criterion, Throughput, criterion_main};
use std::hint::black_box;
use wirelab_emulator::{Machine, Stop};

const LOCAL: u32 = 0x1000_0000;
const FLASH: u32 = 0x100;
/// movs r4,#100; then: mov r0,r8; mov r1,r9; mov r2,r10; ldrh r3,[r1],#2; strh r3,[r0],#2; cmp r1,r2; bne.n . - 10;
/// subs r4,#1; bne.n . - 20; bkpt 0
const COPY: &[u16] = &[
    0x2464, 0x4640, 0x4649, 0x4652, 0xf831, 0x3b02, 0xf820, 0x3b02, 0x4291, 0xd1f9, 0x3c01, 0xd1f4,
    0xbe00,
];
/// movw r4,#4024; bl . + 12; subs r4,#1; bne.n . - 6; bkpt 0; nop; and the function: push {r5,lr}; eor.w
/// r5,r4,r4,lsl #3; ubfx r0,r5,#4,#7; mla r1,r5,r0,r1; ite mi; addmi r1,#1; addpl r1,#2; pop {r5,pc}
const CALLS: &[u16] = &[
    0xf640, 0x74b8, 0xf000, 0xf804, 0x3c01, 0xd1fb, 0xbe00, 0xbf00, 0xb520, 0xea84, 0x05c4, 0xf3c5,
    0x1006, 0xfb05, 0x1100, 0xbf4c, 0x3101, 0x3102, 0xbd20,
];

fn machine(at: u32, code: &[u16]) -> Machine {
    let mut machine = Machine::new();
    let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    assert!(machine.write_memory(at, &bytes), "the code fits");
    machine
}

/// Runs to the breakpoint and returns the number of instructions.
fn run(machine: &mut Machine, at: u32) -> u64 {
    let before = machine.instructions();
    machine.start(at + 1, 0x2007_d000);
    for (register, value) in [
        (8, 0x2007_e000),
        (9, LOCAL + 0x4000),
        (10, LOCAL + 0x4000 + 1514),
    ] {
        machine.set_register(register, value);
    }
    let end = machine.cycle() + 100_000_000;
    assert_eq!(
        machine.run_until(end),
        Stop::Breakpoint(0),
        "the program ends"
    );
    machine.instructions() - before
}

fn core(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("emulated core");
    for (name, at, code) in [
        ("copy, in SRAM", LOCAL, COPY),
        ("copy, in flash", FLASH, COPY),
        ("calls, in SRAM", LOCAL, CALLS),
        ("calls, in flash", FLASH, CALLS),
    ] {
        let mut machine = machine(at, code);
        group.throughput(Throughput::Elements(run(&mut machine, at)));
        group.bench_function(name, |bencher| {
            bencher.iter(|| run(black_box(&mut machine), at))
        });
    }
    group.finish();
}

fn benches() {
    core(&mut Criterion::default().configure_from_args());
}

criterion_main!(benches);
