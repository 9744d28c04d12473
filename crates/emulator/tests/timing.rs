//! The core's timing against the figures of ARM DDI 0337I, 3.3 (table 3-1 and "Load/store timings").
//!
//! Code stands in the local SRAM, data in AHB SRAM: two slaves without wait states, as the manual's figures assume.

use crate::code::{CODE, DATA, Setup};

/// Where the measured code begins: behind eight NOPs.
const START: u32 = CODE + 16;

/// Name, code, cycles by the manual.
#[rustfmt::skip]
const CASES: &[(&str, &[u16], u64)] = &[
    ("STR with an immediate offset is always one cycle", &[0x6048], 1), // str r0,[r1,#4]
    ("LDR alone", &[0x6808], 2), // ldr r0,[r1]
    ("the manual's LDR R0,[R1]; LDR R1,[R2]", &[0x6808, 0x6811], 3), // ldr r0,[r1]; ldr r1,[r2]
    ("the manual's LDR R0,[R1,R2]; STR R0,[R3,#20]", &[0x5948, 0x6158], 3), // ldr r0,[r1,r5]; str r0,[r3,#20]
    ("the manual's LDR R0,[R1,R2]; STR R1,[R3,R2]", &[0x5948, 0x5159], 3), // ldr r0,[r1,r5]; str r1,[r3,r5]
    ("the manual's LDR R0,[R1,R5]; LDR R1,[R2]; LDR R2,[R3,#4]", &[0x5948, 0x6811, 0x685a], 4), // ldr r0,[r1,r5]; ldr r1,[r2]; ldr r2,[r3,#4]
    ("an address that the load before brought pairs with nothing", &[0x680c, 0x6820], 4), // ldr r4,[r1]; ldr r0,[r4]
    ("an address that the addition before made waits a cycle", &[0x4429, 0x6808], 4), // add r1,r1,r5; ldr r0,[r1]
    ("and so does a store's", &[0x4429, 0x6008], 3), // add r1,r1,r5; str r0,[r1]
    ("but not one that an older addition made", &[0x4429, 0xbf00, 0x6808], 4), // add r1,r1,r5; nop; ldr r0,[r1]
    ("STR with a register offset", &[0x5148], 2), // str r0,[r1,r5]
    ("nothing pairs after STR with a register offset", &[0x5148, 0x681a], 4), // str r0,[r1,r5]; ldr r2,[r3]
    ("a store's data phase is the next instruction's cycle", &[0x6008, 0x681a], 3), // str r0,[r1]; ldr r2,[r3]
    ("LDRD is three cycles", &[0xe9d1, 0x6700], 3), // ldrd r6,r7,[r1]
    ("STRD is three cycles", &[0xe9c1, 0x6700], 3), // strd r6,r7,[r1]
    ("LDM of three is four cycles", &[0xe891, 0x00d0], 4), // ldm r1,{r4,r6,r7}
    ("STM of eight is nine cycles", &[0xe881, 0x01fd], 9), // stm r1,{r0,r2,r3,r4,r5,r6,r7,r8}
    ("LDM pairs with no LDR before it", &[0x6810, 0xe891, 0x00d0], 6), // ldr r0,[r2]; ldm r1,{r4,r6,r7}
    ("LDR pairs with no LDM before it", &[0xe891, 0x00d0, 0x6810], 6), // ldm r1,{r4,r6,r7}; ldr r0,[r2]
    ("PUSH of three", &[0xb470], 4), // push {r4,r5,r6}
    ("a load that moves its base", &[0xf851, 0x0b04, 0x442e], 3), // ldr r0,[r1],#4; add r6,r5
    ("reduced to one where the next instruction reads no register", &[0xf851, 0x0b04, 0xbf00], 2), // ldr r0,[r1],#4; nop
    ("a load that moves its base pairs with no LDR behind it", &[0xf851, 0x0b04, 0x6814], 4), // ldr r0,[r1],#4; ldr r4,[r2]
    ("nor with one before it", &[0x6808, 0xf852, 0x4b04], 4), // ldr r0,[r1]; ldr r4,[r2],#4
    ("a store that moves its base", &[0xf841, 0x0b04, 0xbf00], 2), // str r0,[r1],#4; nop
    ("LDREX pairs as LDR does", &[0x6808, 0xe852, 0x4f00], 3), // ldr r0,[r1]; ldrex r4,[r2]
    ("an unaligned halfword takes one more", &[0xf8b2, 0x0001], 3), // ldrh r0,[r2,#1]
    ("a word on a halfword takes one more", &[0xf8d2, 0x0002], 3), // ldr r0,[r2,#2]
    ("a word on a byte takes two more", &[0xf8d2, 0x0001], 4), // ldr r0,[r2,#1]
    ("an unaligned store does not delay the core", &[0xf8c2, 0x0001, 0xbf00], 2), // str r0,[r2,#1]; nop
    ("data processing", &[0x1940, 0x0080, 0xea80, 0x00c5, 0xfab5, 0xf085, 0xf365, 0x00c6, 0xf3c5, 0x0042], 6), // adds r0,r5; lsls r0,r0,#2; eor.w r0,r0,r5,lsl #3; clz r0,r5; bfi r0,r5,#3,#4; ubfx r0,r5,#1,#3
    ("MUL", &[0x4368], 1), // muls r0,r5
    ("MLA and MLS", &[0xfb05, 0x5005, 0xfb05, 0x5015], 4), // mla r0,r5,r5,r5; mls r0,r5,r5,r5
    ("UMULL of small values", &[0xfba5, 0x0605], 3), // umull r0,r6,r5,r5
    ("UMULL of large values", &[0xfba1, 0x0602], 5), // umull r0,r6,r1,r2
    ("UMLAL of small values", &[0xfbe5, 0x0605], 4), // umlal r0,r6,r5,r5
    ("UMLAL of large values", &[0xfbe1, 0x0602], 7), // umlal r0,r6,r1,r2
    ("UDIV of a dividend below the divisor", &[0xfbb5, 0xf0f1], 2), // udiv r0,r5,r1
    ("UDIV of the longest quotient", &[0xf06f, 0x0600, 0x2701, 0xfbb6, 0xf0f7], 14), // mvn.w r6,#0; movs r7,#1; udiv r0,r6,r7
    ("SDIV by zero", &[0x2700, 0xfb95, 0xf0f7], 3), // movs r7,#0; sdiv r0,r5,r7
    ("MRS and MSR", &[0xf3ef, 0x8010, 0xf380, 0x8812], 4), // mrs r0,primask; msr basepri_max,r0
    ("NOP", &[0xbf00], 1), // nop
    ("IT folds onto an instruction of 16 bits", &[0xbf00, 0xbf08, 0x4628], 2), // nop; it eq; moveq r0,r5
    ("IT after one of 32 bits takes a cycle", &[0xf3af, 0x8000, 0xbf08, 0x4628], 3), // nop.w; it eq; moveq r0,r5
    ("what IT leaves out takes a cycle", &[0xbf00, 0xbf08, 0x6808], 2), // nop; it eq; ldreq r0,[r1]
    ("DMB and DSB", &[0xf3bf, 0x8f5f, 0xf3bf, 0x8f4f], 2), // dmb; dsb
    ("B to a 16-bit target: 1 + 1", &[0xe000, 0xbf00, 0xbf00], 3), // b.n . + 4; nop; nop
    ("B to a 32-bit target across two words: one more", &[0xe001, 0xbf00, 0xbf00, 0xf3af, 0x8000], 4), // b.n . + 6; nop; nop; nop.w
    ("B that is not taken", &[0xd000, 0xbf00], 2), // beq.n . + 4; nop
    ("CBZ is taken as it executes: 1 + 2", &[0xb905, 0xbf00, 0xbf00], 4), // cbnz r5,. + 4; nop; nop
    ("BL and back through LR", &[0xf000, 0xf802, 0xe001, 0xbf00, 0x4770, 0xbf00], 7), // bl . + 8; b.n . + 6; nop; bx lr; nop
    ("BX of a register: 1 + 2", &[0x467e, 0x3607, 0x4730, 0xbf00, 0xbf00, 0xbf00], 6), // mov r6,pc; adds r6,#7; bx r6; nop; nop; nop
    ("TBB is at least six", &[0xe8df, 0xf007, 0x0101, 0xbf00], 7), // tbb [pc,r7]; .short 0x0101; nop
    ("LDR PC is at least five", &[0xf8d8, 0xf000, 0xbf00, 0xbf00], 6), // ldr.w pc,[r8]; nop; nop
    ("POP of PC: 1 + N + P", &[0xbd10, 0xbf00, 0xbf00, 0xbf00], 7), // pop {r4,pc}; nop; nop; nop
    ("ISB refills", &[0xf3bf, 0x8f6f], 3), // isb
];

fn setup() -> Setup {
    let mut setup = Setup::new(CODE);
    for (register, value) in [
        (1, DATA + 0x100),
        (2, DATA + 0x200),
        (3, DATA + 0x300),
        (5, 4),
        (7, 0),
        (8, DATA + 0x400),
    ] {
        setup.register(register, value);
    }
    // What LDR PC and POP PC find: the address three halfwords into the code.
    setup.word(DATA + 0x400, START + 6 + 1);
    setup.word(DATA + 0x500 + 4, START + 6 + 1);
    setup.word(DATA + 0x100, DATA + 0x200);
    setup.register(13, DATA + 0x500);
    setup
}

#[test]
fn instructions_take_the_cycles_of_the_manual() {
    let wrong: Vec<String> = CASES
        .iter()
        .filter_map(|(name, code, expected)| {
            let took = setup().cycles(code);
            (took != *expected)
                .then(|| format!("{name}: {took} cycles, the manual says {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
