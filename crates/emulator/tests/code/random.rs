//! Random instructions that every Cortex-M3 executes alike, as an assembler source that dumps what they leave.

use std::fmt::Write as _;

/// A small generator (xorshift): the same instructions in each run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        self.next() % end
    }

    fn pick(&mut self, of: &[u32]) -> u32 {
        of[self.below(of.len() as u32) as usize]
    }

    /// A register that the test uses: not the pointer to the results, the place of the flags, SP and PC.
    fn reg(&mut self) -> u32 {
        self.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14])
    }

    fn low(&mut self) -> u32 {
        self.below(8)
    }
}

/// One instruction; 16-bit ones are below 0x10000.
pub fn data_processing(random: &mut Random) -> u32 {
    match random.below(3) {
        0 => narrow(random),
        _ => wide(random),
    }
}

fn narrow(random: &mut Random) -> u32 {
    let (a, b, c) = (random.low(), random.low(), random.low());
    match random.below(8) {
        0 => (1 + random.below(31)) << 6 | a << 3 | b,
        1 => (1 + random.below(2)) << 11 | random.below(32) << 6 | a << 3 | b,
        2 => 0x1800 | random.below(4) << 9 | c << 6 | a << 3 | b,
        3 => 0x2000 | random.below(4) << 11 | a << 8 | random.below(256),
        4 => 0x4000 | random.below(16) << 6 | a << 3 | b,
        5 => {
            let rd = random.reg();
            random.pick(&[0x4400, 0x4600]) | (rd & 8) << 4 | random.reg() << 3 | rd & 7
        }
        6 => 0xb200 | random.below(4) << 6 | a << 3 | b,
        _ => 0xba00 | random.pick(&[0, 1, 3]) << 6 | a << 3 | b,
    }
}

fn wide(random: &mut Random) -> u32 {
    let (rd, rn, rm, ra) = (random.reg(), random.reg(), random.reg(), random.reg());
    let set = random.below(2) << 20;
    let operation = |random: &mut Random| match random.below(4) {
        // Comparisons go nowhere; MOV and MVN have no first operand.
        0 => random.pick(&[0, 4, 8, 13]) << 21 | 1 << 20 | rn << 16 | 15 << 8,
        1 => random.pick(&[2, 3]) << 21 | set | 15 << 16 | rd << 8,
        _ => random.pick(&[0, 1, 2, 3, 4, 8, 10, 11, 13, 14]) << 21 | set | rn << 16 | rd << 8,
    };
    match random.below(12) {
        0..=2 => {
            0xea00_0000 | operation(random) | random.below(8) << 12 | random.below(16) << 4 | rm
        }
        3 | 4 => {
            let imm = random.below(8) << 12 | random.below(2) << 26 | (1 + random.below(255));
            0xf000_0000 | operation(random) | imm
        }
        5 => {
            let imm = random.below(2) << 26 | random.below(8) << 12 | random.below(256);
            match random.below(4) {
                0 => 0xf200_0000 | rn << 16 | rd << 8 | imm,
                1 => 0xf2a0_0000 | rn << 16 | rd << 8 | imm,
                which => 0xf240_0000 | (which - 2) << 23 | random.below(16) << 16 | rd << 8 | imm,
            }
        }
        6 => {
            let (lsb, bits) = (1 + random.below(31), random.below(32));
            let shift = (lsb & 28) << 10 | (lsb & 3) << 6;
            random.pick(&[0xf300_0000, 0xf320_0000, 0xf380_0000, 0xf3a0_0000])
                | rn << 16
                | rd << 8
                | shift
                | bits
        }
        7 => {
            let lsb = random.below(32);
            let place = (lsb & 28) << 10 | (lsb & 3) << 6;
            match random.below(4) {
                0 => {
                    0xf360_0000
                        | random.pick(&[rn, 15]) << 16
                        | rd << 8
                        | place
                        | (lsb + random.below(32 - lsb))
                }
                which => {
                    0xf340_0000
                        | (which & 1) << 23
                        | rn << 16
                        | rd << 8
                        | place
                        | random.below(32 - lsb)
                }
            }
        }
        8 => 0xfa00_f000 | random.below(4) << 21 | set | rn << 16 | rd << 8 | rm,
        9 => match random.below(3) {
            0 => {
                0xfa0f_f080 | random.pick(&[0, 1, 4, 5]) << 20 | rd << 8 | random.below(4) << 4 | rm
            }
            1 => 0xfa90_f080 | rm << 16 | rd << 8 | random.below(4) << 4 | rm,
            _ => 0xfab0_f080 | rm << 16 | rd << 8 | rm,
        },
        10 => match random.below(3) {
            0 => 0xfb00_f000 | rn << 16 | rd << 8 | rm,
            which => 0xfb00_0000 | (which - 1) << 4 | rn << 16 | ra << 12 | rd << 8 | rm,
        },
        _ => {
            let hi = if rd == ra { (rd + 1) % 8 } else { rd };
            match random.below(3) {
                0 => random.pick(&[0xfb90_f0f0, 0xfbb0_f0f0]) | rn << 16 | rd << 8 | rm,
                _ => {
                    let kind = random.pick(&[0xfb80_0000, 0xfba0_0000, 0xfbc0_0000, 0xfbe0_0000]);
                    kind | rn << 16 | ra << 12 | hi << 8 | rm
                }
            }
        }
    }
}

/// A load or store through r7 (in 256 bytes that r7 points into the middle of), with r6 as a small index.
pub fn load_store(random: &mut Random) -> u32 {
    let rt = random.pick(&[0, 1, 2, 3, 4, 5, 8, 9, 10]);
    let low = random.below(6);
    // The kinds of single accesses: bits of size, load and sign.
    let kind = random.pick(&[
        0xf800_0000,
        0xf810_0000,
        0xf820_0000,
        0xf830_0000,
        0xf840_0000,
        0xf850_0000,
        0xf910_0000,
        0xf930_0000,
    ]);
    match random.below(8) {
        0 => kind | 1 << 23 | 7 << 16 | rt << 12 | random.below(64),
        1 => {
            let mode = random.pick(&[0xc00, 0x900, 0xb00, 0xd00, 0xf00]);
            kind | 7 << 16 | rt << 12 | mode | random.below(64)
        }
        2 => kind | 7 << 16 | rt << 12 | random.below(4) << 4 | 6,
        3 => {
            random.pick(&[0x6000, 0x6800, 0x7000, 0x7800, 0x8000, 0x8800])
                | random.below(16) << 6
                | 7 << 3
                | low
        }
        4 => 0x5000 | random.below(8) << 9 | 6 << 6 | 7 << 3 | low,
        5 => {
            let second = if rt == 10 { 0 } else { 10 };
            let mode = random.pick(&[
                0x0100_0000,
                0x0180_0000,
                0x0120_0000,
                0x01a0_0000,
                0x0020_0000,
                0x00a0_0000,
            ]);
            0xe840_0000
                | mode
                | random.below(2) << 20
                | 7 << 16
                | rt << 12
                | second << 8
                | random.below(16)
        }
        6 => {
            let mode = random.pick(&[0x0080_0000, 0x00a0_0000, 0x0100_0000, 0x0120_0000]);
            0xe800_0000 | mode | random.below(2) << 20 | 7 << 16 | (random.below(0x40) | 0x300)
        }
        _ => random.pick(&[0xc000, 0xc800]) | 7 << 8 | (1 + random.below(0x3f)),
    }
}

fn emit(source: &mut String, code: u32) {
    let _ = match code >> 16 {
        0 => writeln!(source, "    .inst.n {code:#06x}"),
        _ => writeln!(source, "    .inst.w {code:#010x}"),
    };
}

/// The routine `generated`: `blocks` times it sets registers and flags, runs four instructions (in every third block
/// under an IT, in every third loads and stores), and stores registers 0 to 10, the flags and LR.
pub fn source(seed: u64, blocks: u32) -> String {
    let mut random = Random(seed);
    let mut code = String::from(
        ".syntax unified\n.cpu cortex-m3\n.thumb\n.text\n.global generated\n.thumb_func\ngenerated:\n",
    );
    code.push_str("    push {r4-r11, lr}\n    mov r11, r0\n");
    let mut table = String::from("    .section .rodata\n    .align 2\n");
    for block in 0..blocks {
        let _ = writeln!(
            code,
            "    movw r12, #:lower16:t{block}\n    movt r12, #:upper16:t{block}"
        );
        code.push_str("    ldmia r12, {r0-r10, r12, lr}\n    msr apsr_nzcvq, r12\n");
        let values: Vec<String> = (0..13).map(|_| random.value().to_string()).collect();
        let _ = writeln!(table, "t{block}: .word {}", values.join(", "));
        if block % 3 == 1 {
            emit(
                &mut code,
                0xbf01 | random.below(14) << 4 | random.below(8) << 1,
            );
        }
        for _ in 0..4 {
            if block % 3 == 2 {
                let offset = 96 + 4 * random.below(8);
                let _ = writeln!(
                    code,
                    "    ldr r7, =scratch + {offset}\n    movs r6, #{}",
                    random.below(16)
                );
                emit(&mut code, load_store(&mut random));
            } else {
                emit(&mut code, data_processing(&mut random));
            }
        }
        code.push_str("    mrs r12, apsr\n    stmia r11!, {r0-r10, r12, lr}\n");
        if block % 8 == 7 {
            code.push_str("    b 1f\n    .ltorg\n1:\n");
        }
    }
    code.push_str("    mov r0, r11\n    pop {r4-r11, pc}\n    .ltorg\n");
    code + &table + "    .bss\n    .align 2\nscratch: .space 256\n"
}

impl Random {
    /// A value with a chance of being at an edge.
    fn value(&mut self) -> u32 {
        match self.below(4) {
            0 => self.pick(&[
                0,
                1,
                0x7fff_ffff,
                0x8000_0000,
                u32::MAX,
                31,
                32,
                33,
                255,
                0x8000,
            ]),
            1 => self.next() >> self.below(32),
            _ => self.next(),
        }
    }
}
