//! Instructions of 16 bits (ARM DDI 0403, A5.2).

use super::inst::{Address, Alu, Flags, Hint, Op, Operand, Reverse, Shift};
use crate::bus::Width;

/// Bits `low..low + count` of `code`.
const fn bits(code: u16, low: u32, count: u32) -> u16 {
    (code >> low) & ((1 << count) - 1)
}

const fn reg(code: u16, low: u32) -> u8 {
    bits(code, low, 3) as u8
}

const fn imm(value: u32) -> Operand {
    Operand::Imm { value, carry: None }
}

const fn plain(rm: u8) -> Operand {
    Operand::Reg {
        rm,
        shift: Shift::Lsl,
        amount: 0,
    }
}

/// Decodes an instruction of 16 bits.
pub fn decode(code: u16) -> Op {
    match code >> 12 {
        0 | 1 => shift_add(code),
        2 | 3 => {
            let kind = [Alu::Mov, Alu::Cmp, Alu::Add, Alu::Sub][bits(code, 11, 2) as usize];
            let rd = reg(code, 8);
            Op::Alu {
                kind,
                rd,
                rn: rd,
                operand: imm(u32::from(code & 0xff)),
                flags: Flags::OutsideIt,
            }
            .compare_sets()
        }
        4 => match bits(code, 10, 2) {
            0 => data(code),
            1 => special(code),
            _ => Op::Load {
                rt: reg(code, 8),
                address: Address::Literal {
                    offset: i32::from(code & 0xff) * 4,
                },
                width: Width::Word,
                signed: false,
            },
        },
        5 => indexed(code),
        6..=8 => offset(code),
        9 => {
            let address = Address::Offset {
                rn: 13,
                offset: i32::from(code & 0xff) * 4,
            };
            access(code & 0x800 != 0, reg(code, 8), address, Width::Word)
        }
        10 => address(code),
        11 => misc(code),
        12 => many(code),
        13 => match bits(code, 8, 4) {
            14 => Op::Undefined,
            15 => Op::Supervisor,
            cond => Op::Branch {
                cond: cond as u8,
                offset: i32::from(code as u8 as i8) * 2,
            },
        },
        // 0b11101, 0b1111x: the first half of 32 bits, decoded elsewhere.
        _ if code & 0x1800 != 0 => Op::Undefined,
        _ => Op::Branch {
            cond: 14,
            offset: i32::from((code << 5) as i16 >> 5) * 2,
        },
    }
}

fn address(code: u16) -> Op {
    let value = u32::from(code & 0xff) * 4;
    let rd = reg(code, 8);
    if code & 0x800 == 0 {
        Op::Adr {
            rd,
            offset: value as i32,
        }
    } else {
        Op::Alu {
            kind: Alu::Add,
            rd,
            rn: 13,
            operand: imm(value),
            flags: Flags::Keep,
        }
    }
}

fn many(code: u16) -> Op {
    let (rn, list) = (reg(code, 8), code & 0xff);
    match (list, code & 0x800 != 0) {
        (0, _) => Op::Undefined,
        (_, true) => Op::LoadMany {
            rn,
            list,
            writeback: list & 1 << rn == 0,
            before: false,
        },
        (_, false) => Op::StoreMany {
            rn,
            list,
            writeback: true,
            before: false,
        },
    }
}

impl Op {
    /// CMP and similar instructions change the flags in an IT block too.
    fn compare_sets(self) -> Self {
        match self {
            Self::Alu {
                kind,
                rd,
                rn,
                operand,
                ..
            } if kind.only_flags() => Self::Alu {
                kind,
                rd,
                rn,
                operand,
                flags: Flags::Set,
            },
            other => other,
        }
    }
}

fn shift_add(code: u16) -> Op {
    let (rd, rm) = (reg(code, 0), reg(code, 3));
    let amount = bits(code, 6, 5) as u8;
    let moved = |shift, amount| {
        let operand = Operand::Reg { rm, shift, amount };
        Op::Alu {
            kind: Alu::Mov,
            rd,
            rn: 0,
            operand,
            flags: Flags::OutsideIt,
        }
    };
    match bits(code, 11, 2) {
        0 => moved(Shift::Lsl, amount),
        1 => moved(Shift::Lsr, if amount == 0 { 32 } else { amount }),
        2 => moved(Shift::Asr, if amount == 0 { 32 } else { amount }),
        _ => {
            let kind = if code & 0x200 == 0 {
                Alu::Add
            } else {
                Alu::Sub
            };
            let third = reg(code, 6);
            let operand = if code & 0x400 == 0 {
                plain(third)
            } else {
                imm(u32::from(third))
            };
            Op::Alu {
                kind,
                rd,
                rn: rm,
                operand,
                flags: Flags::OutsideIt,
            }
        }
    }
}

fn data(code: u16) -> Op {
    let (rd, rm) = (reg(code, 0), reg(code, 3));
    let flags = Flags::OutsideIt;
    let alu = |kind| {
        Op::Alu {
            kind,
            rd,
            rn: rd,
            operand: plain(rm),
            flags,
        }
        .compare_sets()
    };
    let shift = |shift| Op::ShiftBy {
        shift,
        rd,
        rn: rd,
        rm,
        flags,
    };
    match bits(code, 6, 4) {
        0 => alu(Alu::And),
        1 => alu(Alu::Eor),
        2 => shift(Shift::Lsl),
        3 => shift(Shift::Lsr),
        4 => shift(Shift::Asr),
        5 => alu(Alu::Adc),
        6 => alu(Alu::Sbc),
        7 => shift(Shift::Ror),
        8 => alu(Alu::Tst),
        9 => Op::Alu {
            kind: Alu::Rsb,
            rd,
            rn: rm,
            operand: imm(0),
            flags,
        },
        10 => alu(Alu::Cmp),
        11 => alu(Alu::Cmn),
        12 => alu(Alu::Orr),
        13 => Op::Mul {
            rd,
            rn: rm,
            rm: rd,
            flags,
        },
        14 => alu(Alu::Bic),
        _ => alu(Alu::Mvn),
    }
}

fn special(code: u16) -> Op {
    let rm = bits(code, 3, 4) as u8;
    let rd = (bits(code, 7, 1) << 3 | bits(code, 0, 3)) as u8;
    match bits(code, 8, 2) {
        0 => Op::Alu {
            kind: Alu::Add,
            rd,
            rn: rd,
            operand: plain(rm),
            flags: Flags::Keep,
        },
        1 => Op::Alu {
            kind: Alu::Cmp,
            rd,
            rn: rd,
            operand: plain(rm),
            flags: Flags::Set,
        },
        2 => Op::Alu {
            kind: Alu::Mov,
            rd,
            rn: 0,
            operand: plain(rm),
            flags: Flags::Keep,
        },
        _ if code & 0x80 == 0 => Op::BranchTo { rm },
        _ => Op::CallTo { rm },
    }
}

fn access(load: bool, rt: u8, address: Address, width: Width) -> Op {
    if load {
        Op::Load {
            rt,
            address,
            width,
            signed: false,
        }
    } else {
        Op::Store { rt, address, width }
    }
}

fn indexed(code: u16) -> Op {
    let rt = reg(code, 0);
    let address = Address::Index {
        rn: reg(code, 3),
        rm: reg(code, 6),
        shift: 0,
    };
    match bits(code, 9, 3) {
        0 => access(false, rt, address, Width::Word),
        1 => access(false, rt, address, Width::Half),
        2 => access(false, rt, address, Width::Byte),
        3 => Op::Load {
            rt,
            address,
            width: Width::Byte,
            signed: true,
        },
        4 => access(true, rt, address, Width::Word),
        5 => access(true, rt, address, Width::Half),
        6 => access(true, rt, address, Width::Byte),
        _ => Op::Load {
            rt,
            address,
            width: Width::Half,
            signed: true,
        },
    }
}

fn offset(code: u16) -> Op {
    let width = match code >> 12 {
        6 => Width::Word,
        7 => Width::Byte,
        _ => Width::Half,
    };
    let offset = i32::from(bits(code, 6, 5)) * width.bytes() as i32;
    access(
        code & 0x800 != 0,
        reg(code, 0),
        Address::Offset {
            rn: reg(code, 3),
            offset,
        },
        width,
    )
}

fn misc(code: u16) -> Op {
    let (rd, rm) = (reg(code, 0), reg(code, 3));
    let list = code & 0xff;
    match bits(code, 8, 4) {
        0 => {
            let kind = if code & 0x80 == 0 { Alu::Add } else { Alu::Sub };
            Op::Alu {
                kind,
                rd: 13,
                rn: 13,
                operand: imm(u32::from(code & 0x7f) * 4),
                flags: Flags::Keep,
            }
        }
        1 | 3 | 9 | 11 => Op::CompareBranch {
            nonzero: code & 0x800 != 0,
            rn: rd,
            offset: (bits(code, 9, 1) << 6 | bits(code, 3, 5) << 1) as u8,
        },
        2 => {
            let width = if code & 0x40 == 0 {
                Width::Half
            } else {
                Width::Byte
            };
            Op::Extend {
                signed: code & 0x80 == 0,
                width,
                rd,
                rm,
                rotate: 0,
            }
        }
        4 | 5 => match list | (code & 0x100) << 6 {
            0 => Op::Undefined,
            list => Op::StoreMany {
                rn: 13,
                list,
                writeback: true,
                before: true,
            },
        },
        6 if code & 0xe8 == 0x60 => Op::ChangeState {
            disable: code & 0x10 != 0,
            primask: code & 2 != 0,
            faultmask: code & 1 != 0,
        },
        10 => match bits(code, 6, 2) {
            0 => Op::Reverse {
                how: Reverse::Bytes,
                rd,
                rm,
            },
            1 => Op::Reverse {
                how: Reverse::Halves,
                rd,
                rm,
            },
            3 => Op::Reverse {
                how: Reverse::SignedHalf,
                rd,
                rm,
            },
            _ => Op::Undefined,
        },
        12 | 13 => match list | (code & 0x100) << 7 {
            0 => Op::Undefined,
            list => Op::LoadMany {
                rn: 13,
                list,
                writeback: true,
                before: false,
            },
        },
        14 => Op::Breakpoint { imm: list as u8 },
        15 if code & 15 != 0 => Op::IfThen { state: list as u8 },
        15 => hint(bits(code, 4, 4)),
        _ => Op::Undefined,
    }
}

/// The hint of this number; unknown ones do nothing (A5.2.5).
pub const fn hint(number: u16) -> Op {
    Op::Hint(match number {
        2 => Hint::WaitEvent,
        3 => Hint::WaitInterrupt,
        4 => Hint::SendEvent,
        _ => Hint::Nop,
    })
}
