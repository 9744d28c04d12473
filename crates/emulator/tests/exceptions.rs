//! Exceptions, priorities, sleep and SysTick (ARM DDI 0403, B1.5), with the cycles of ARM DDI 0337I, 3.9.

use crate::code::{CODE, DATA, Setup};
use wirelab_emulator::{Reason, Stop};

const SET_PENDING: u32 = 0xe000_e200;
const ENABLE: u32 = 0xe000_e100;
const PRIORITY: u32 = 0xe000_e400;
const SYSTICK: u32 = 0xe000_e010;
/// Handlers in the tests, one after the other.
const HANDLERS: u32 = CODE + 0x1000;
/// nop; bx lr
const NOP_RETURN: &[u16] = &[0xbf00, 0x4770];

/// A machine whose lines 0 to 7 have `handler` as theirs, and are enabled with the priorities of `priorities`.
fn with_handler(handler: &[u16], priorities: [u8; 8]) -> Setup {
    let mut setup = Setup::new(CODE);
    setup.place(HANDLERS, handler);
    for exception in 2..24 {
        setup.word(exception * 4, HANDLERS + 1);
    }
    let [low, high] = [0, 4].map(|n| u32::from_le_bytes([0, 1, 2, 3].map(|k| priorities[n + k])));
    // str r0,[r1]; str r2,[r3]; str r4,[r5]
    setup.registers(&[
        (0, 0xff),
        (1, ENABLE),
        (2, low),
        (3, PRIORITY),
        (4, high),
        (5, PRIORITY + 4),
    ]);
    setup.run(&[0x6008, 0x601a, 0x602c]);
    setup
}

/// Executes single instructions until one at `address` has been executed; the cycles of that one.
fn step_to(setup: &mut Setup, address: u32) -> u64 {
    for _ in 0..200 {
        let before = setup.machine.cycle();
        assert_eq!(setup.machine.run_until(before + 1), Stop::Reached);
        if setup.machine.pc() == address {
            return setup.machine.cycle() - before;
        }
    }
    panic!("never at {address:#x}, but at {:#x}", setup.machine.pc());
}

/// Starts `code` with these registers.
fn begin(setup: &mut Setup, code: &[u16], registers: &[(u8, u32)]) {
    setup.place(CODE, code);
    setup.machine.start(CODE + 1, DATA + 0x500);
    for (register, value) in registers {
        setup.machine.set_register(*register, *value);
    }
}

// str r0,[r1]; eight nop; bkpt 0
const PEND: &[u16] = &[
    0x6008, 0xbf00, 0xbf00, 0xbf00, 0xbf00, 0xbf00, 0xbf00, 0xbf00, 0xbf00, 0xbe00,
];

#[test]
fn entry_takes_12_cycles_and_tail_chaining_6() {
    let mut setup = with_handler(NOP_RETURN, [0; 8]);
    begin(&mut setup, PEND, &[(0, 0b11), (1, SET_PENDING)]);
    assert_eq!(
        step_to(&mut setup, HANDLERS),
        12 + 1,
        "the entry, and the handler's NOP"
    );
    assert_eq!(
        step_to(&mut setup, HANDLERS + 2),
        6,
        "BX LR leads to the second handler"
    );
    assert_eq!(step_to(&mut setup, HANDLERS), 1);
    assert_eq!(step_to(&mut setup, HANDLERS + 2), 12, "BX LR leads back");
    assert_eq!(setup.machine.run_until(10_000), Stop::Breakpoint(0));
}

#[test]
fn registers_and_flags_come_back() {
    // movs r0,#0; movs r3,#0; adds r3,#1; bx lr: flags and registers that the caller must not see
    let mut setup = with_handler(&[0x2000, 0x2300, 0x3301, 0x4770], [0; 8]);
    // cmp r0,r0; ittt eq; streq r0,[r1]; addeq r3,#1; addeq r3,#2; bkpt 0: interrupted within the IT block
    begin(
        &mut setup,
        &[0x4280, 0xbf02, 0x6008, 0x3301, 0x3302, 0xbe00],
        &[(0, 1), (1, SET_PENDING), (3, 10)],
    );
    assert_eq!(setup.machine.run_until(10_000), Stop::Breakpoint(0));
    let registers = setup.machine.registers();
    assert_eq!(
        (registers[0], registers[3], registers[13]),
        (1, 13, DATA + 0x500)
    );
}

#[test]
fn a_higher_priority_interrupts_a_handler_and_a_lower_one_waits() {
    // str r4,[r5]; nop; str r6,[r7]; bx lr: pends its other line, then counts
    let handler: &[u16] = &[0x602c, 0xbf00, 0x603e, 0x4770];
    for (priorities, nested) in [
        ([0x10, 0x08, 0, 0, 0, 0, 0, 0], true),
        ([0x08, 0x10, 0, 0, 0, 0, 0, 0], false),
    ] {
        let mut setup = with_handler(handler, priorities);
        let registers = [
            (0, 1),
            (1, SET_PENDING),
            (4, 2),
            (5, SET_PENDING),
            (6, 1),
            (7, DATA),
        ];
        begin(&mut setup, PEND, &registers);
        step_to(&mut setup, HANDLERS);
        // Line 1 pends itself again forever; only where it comes first matters.
        step_to(&mut setup, HANDLERS + if nested { 0 } else { 4 });
        let depth = DATA + 0x500 - setup.machine.registers()[13];
        assert_eq!(depth, if nested { 64 } else { 32 }, "{priorities:x?}");
    }
}

#[test]
fn equal_priorities_and_low_bits_do_not_preempt() {
    // The LPC1768 has five bits of priority: 0x10 and 0x17 are the same.
    let mut setup = with_handler(
        &[0x602c, 0xbf00, 0x603e, 0x4770],
        [0x17, 0x10, 0, 0, 0, 0, 0, 0],
    );
    begin(
        &mut setup,
        PEND,
        &[
            (0, 1),
            (1, SET_PENDING),
            (4, 2),
            (5, SET_PENDING),
            (6, 1),
            (7, DATA),
        ],
    );
    step_to(&mut setup, HANDLERS);
    step_to(&mut setup, HANDLERS + 4);
    assert_eq!(DATA + 0x500 - setup.machine.registers()[13], 32);
}

#[test]
fn basepri_holds_back_and_primask_does_not_keep_asleep() {
    let mut setup = with_handler(&[0x2309, 0x4770], [0x40; 8]);
    // msr basepri,r2; str r0,[r1]; nop; adds r3,#1; msr basepri,r4; nop; bkpt 0; the handler is: movs r3,#9; bx lr
    let code: &[u16] = &[
        0xf382, 0x8811, 0x6008, 0xbf00, 0x3301, 0xf384, 0x8811, 0xbf00, 0xbe00,
    ];
    begin(
        &mut setup,
        code,
        &[(0, 1), (1, SET_PENDING), (2, 0x40), (3, 1), (4, 0)],
    );
    step_to(&mut setup, CODE + 8);
    assert_eq!(setup.machine.registers()[3], 2, "held back");
    step_to(&mut setup, HANDLERS);

    let mut setup = Setup::new(CODE);
    setup.word(15 * 4, HANDLERS + 1);
    // ldr r2,[r1]; adds r2,#1; str r2,[r1]; bx lr
    setup.place(HANDLERS, &[0x680a, 0x3201, 0x600a, 0x4770]);
    setup.registers(&[(0, 99), (1, SYSTICK + 4), (2, 7), (3, SYSTICK)]);
    // str r0,[r1]; str r2,[r3]
    setup.run(&[0x6008, 0x601a]);
    // cpsid i; wfi; adds r3,#1; cpsie i; adds r3,#2; bkpt 0
    begin(
        &mut setup,
        &[0xb672, 0xbf30, 0x3301, 0xb662, 0x3302, 0xbe00],
        &[(1, DATA), (3, 0)],
    );
    step_to(&mut setup, CODE + 4);
    assert_eq!(
        setup.machine.memory(DATA, 4),
        Some(&[0; 4][..]),
        "PRIMASK keeps the handler away"
    );
    step_to(&mut setup, CODE + 8);
    assert_eq!(
        setup.machine.memory(DATA, 4),
        Some(&[1, 0, 0, 0][..]),
        "and lets it in behind CPSIE"
    );
}

#[test]
fn systick_fires_once_a_period_while_the_core_sleeps() {
    let mut setup = Setup::new(CODE);
    setup.word(15 * 4, HANDLERS + 1);
    setup.place(HANDLERS, &[0x680a, 0x3201, 0x600a, 0x4770]);
    setup.registers(&[(0, 999), (1, SYSTICK + 4), (2, 7), (3, SYSTICK)]);
    setup.run(&[0x6008, 0x601a]);
    // wfi; b.n . - 2
    begin(&mut setup, &[0xbf30, 0xe7fd], &[(1, DATA)]);
    let start = setup.machine.cycle();
    let executed = setup.machine.instructions();
    assert_eq!(setup.machine.run_until(start + 100_500), Stop::Reached);
    assert_eq!(setup.machine.memory(DATA, 4), Some(&[100, 0, 0, 0][..]));
    assert!(setup.machine.asleep());
    assert_eq!(
        setup.machine.instructions() - executed,
        1 + 100 * 6,
        "it executes nothing while it sleeps"
    );
}

#[test]
fn svc_runs_on_the_main_stack_and_returns_to_the_process_stack() {
    // mrs r1,psp; mov r4,sp; bx lr
    let mut setup = with_handler(&[0xf3ef, 0x8109, 0x466c, 0x4770], [0; 8]);
    // msr psp,r0; movs r0,#2; msr control,r0; isb; mov r2,sp; svc 1; mov r3,sp; bkpt 0
    let code: &[u16] = &[
        0xf380, 0x8809, 0x2002, 0xf380, 0x8814, 0xf3bf, 0x8f6f, 0x466a, 0xdf01, 0x466b, 0xbe00,
    ];
    begin(&mut setup, code, &[(0, DATA + 0x800)]);
    assert_eq!(setup.machine.run_until(100_000), Stop::Breakpoint(0));
    let registers = setup.machine.registers();
    assert_eq!(
        (registers[2], registers[3], registers[4]),
        (DATA + 0x800, DATA + 0x800, DATA + 0x500)
    );
}

#[test]
fn svc_that_cannot_be_taken_and_wrong_returns_are_errors() {
    let mut setup = with_handler(NOP_RETURN, [0; 8]);
    // cpsid i; svc 7
    begin(&mut setup, &[0xb672, 0xdf07], &[]);
    assert!(
        matches!(setup.machine.run_until(10_000), Stop::Crash(crash) if crash.reason == Reason::Supervisor)
    );
    // mov lr,r7; bx lr
    let mut setup = with_handler(&[0x46be, 0x4770], [0; 8]);
    begin(
        &mut setup,
        PEND,
        &[(0, 1), (1, SET_PENDING), (7, 0xffff_fff3)],
    );
    let Stop::Crash(crash) = setup.machine.run_until(10_000) else {
        panic!("no crash")
    };
    assert_eq!(
        (crash.reason, crash.exception),
        (Reason::Return(0xffff_fff3), 16)
    );
}

#[test]
fn a_program_can_ask_for_a_reset_and_read_the_cycle_counter() {
    let mut setup = Setup::new(CODE);
    // ldr r0,[pc,#4]; ldr r1,[pc,#8]; str r1,[r0]; nop; AIRCR; VECTKEY and SYSRESETREQ
    let code: &[u16] = &[
        0x4801, 0x4902, 0x6001, 0xbf00, 0xed0c, 0xe000, 0x0004, 0x05fa,
    ];
    begin(&mut setup, code, &[]);
    assert_eq!(setup.machine.run_until(1000), Stop::Reset);
    // str r2,[r1]; ldr r3,[r1,#4]; three nop; ldr r4,[r1,#4]; bkpt 0: DWT_CTRL and CYCCNT
    let code: &[u16] = &[0x600a, 0x684b, 0xbf00, 0xbf00, 0xbf00, 0x684c, 0xbe00];
    begin(&mut setup, code, &[(1, 0xe000_1000), (2, 1)]);
    let end = setup.machine.cycle() + 1000;
    assert_eq!(setup.machine.run_until(end), Stop::Breakpoint(0));
    let registers = setup.machine.registers();
    assert_eq!(registers[4] - registers[3], 5, "three NOPs and an LDR");
}
