//! Instructions of 32 bits (ARM DDI 0403, A5.3). The first halfword is the upper one.

use super::decode16::hint;
use super::inst::{Address, Alu, Field, Flags, Hint, Op, Operand, Reverse, Shift};
use crate::bus::Width;

/// Bits `low..low + count` of `code`.
pub(super) const fn bits(code: u32, low: u32, count: u32) -> u32 {
    (code >> low) & ((1 << count) - 1)
}

pub(super) const fn reg(code: u32, low: u32) -> u8 {
    bits(code, low, 4) as u8
}

const fn flags(code: u32) -> Flags {
    if code & 1 << 20 != 0 {
        Flags::Set
    } else {
        Flags::Keep
    }
}

/// Sign-extends the low `width` bits.
const fn signed(value: u32, width: u32) -> i32 {
    (value << (32 - width)) as i32 >> (32 - width)
}

/// Decodes an instruction of 32 bits.
pub fn decode(code: u32) -> Op {
    match bits(code, 27, 2) {
        1 if code & 1 << 26 != 0 => Op::Undefined,
        1 if code & 1 << 25 != 0 => shifted_register(code),
        1 if code & 1 << 22 != 0 => pair_or_exclusive(code),
        1 => many(code),
        2 if code & 1 << 15 != 0 => branch_or_misc(code),
        2 if code & 1 << 25 != 0 => plain_immediate(code),
        2 => modified_immediate(code),
        3 => match bits(code, 24, 3) {
            0 if code & 1 << 20 == 0 => store(code),
            0 | 1 if code & 1 << 20 != 0 => load(code),
            2 => register(code),
            3 if code & 1 << 23 == 0 => multiply(code),
            3 => long_multiply(code),
            _ => Op::Undefined,
        },
        _ => Op::Undefined,
    }
}

/// The operation of the bits 24..21, for both kinds of second operand (A5.3.1, A5.3.11).
fn alu(code: u32, operand: Operand) -> Op {
    let (rn, rd, set) = (reg(code, 16), reg(code, 8), code & 1 << 20 != 0);
    let kind = match bits(code, 21, 4) {
        0 if rd == 15 && set => Alu::Tst,
        0 => Alu::And,
        1 => Alu::Bic,
        2 if rn == 15 => Alu::Mov,
        2 => Alu::Orr,
        3 if rn == 15 => Alu::Mvn,
        3 => Alu::Orn,
        4 if rd == 15 && set => Alu::Teq,
        4 => Alu::Eor,
        8 if rd == 15 && set => Alu::Cmn,
        8 => Alu::Add,
        10 => Alu::Adc,
        11 => Alu::Sbc,
        13 if rd == 15 && set => Alu::Cmp,
        13 => Alu::Sub,
        14 => Alu::Rsb,
        _ => return Op::Undefined,
    };
    // Register 15 as destination is unpredictable except for the comparisons above.
    if rd == 15 && !kind.only_flags() || rn == 15 && !kind.unary() {
        return Op::Undefined;
    }
    Op::Alu {
        kind,
        rd,
        rn,
        operand,
        flags: flags(code),
    }
}

const fn shift_of(kind: u32, amount: u32) -> (Shift, u8) {
    match (kind, amount) {
        (0, _) => (Shift::Lsl, amount as u8),
        (1, 0) => (Shift::Lsr, 32),
        (1, _) => (Shift::Lsr, amount as u8),
        (2, 0) => (Shift::Asr, 32),
        (2, _) => (Shift::Asr, amount as u8),
        (_, 0) => (Shift::Rrx, 1),
        (_, _) => (Shift::Ror, amount as u8),
    }
}

fn shifted_register(code: u32) -> Op {
    let (shift, amount) = shift_of(bits(code, 4, 2), bits(code, 12, 3) << 2 | bits(code, 6, 2));
    alu(
        code,
        Operand::Reg {
            rm: reg(code, 0),
            shift,
            amount,
        },
    )
}

/// The constant that 12 bits encode, and its carry (A5.3.2).
fn expand(imm: u32) -> Operand {
    let byte = imm & 0xff;
    let (value, carry) = match imm >> 8 {
        0 => (byte, None),
        1 => (byte << 16 | byte, None),
        2 => (byte << 24 | byte << 8, None),
        3 => (byte * 0x0101_0101, None),
        _ => {
            let value = (0x80 | imm & 0x7f).rotate_right(imm >> 7);
            (value, Some(value >> 31 != 0))
        }
    };
    Operand::Imm { value, carry }
}

const fn imm12(code: u32) -> u32 {
    bits(code, 26, 1) << 11 | bits(code, 12, 3) << 8 | code & 0xff
}

fn modified_immediate(code: u32) -> Op {
    alu(code, expand(imm12(code)))
}

/// The two numbers of bits in an instruction with a plain immediate.
fn bit_range(code: u32) -> (u8, u8) {
    let lsb = (bits(code, 12, 3) << 2 | bits(code, 6, 2)) as u8;
    (lsb, bits(code, 0, 5) as u8)
}

fn saturate(code: u32, signed: bool, bits: u8) -> Op {
    let (amount, _) = bit_range(code);
    let shift = match code & 1 << 21 == 0 {
        true => Shift::Lsl,
        false => Shift::Asr,
    };
    // ASR #0 would be the 16-bit forms of the DSP extension, which this core lacks.
    if shift == Shift::Asr && amount == 0 {
        return Op::Undefined;
    }
    Op::Saturate {
        signed,
        rd: reg(code, 8),
        rn: reg(code, 16),
        bits,
        shift,
        amount,
    }
}

fn extract(code: u32, field: Field) -> Op {
    let (lsb, last) = bit_range(code);
    match lsb + last < 32 {
        true => Op::Bitfield {
            field,
            rd: reg(code, 8),
            rn: reg(code, 16),
            lsb,
            width: last + 1,
        },
        false => Op::Undefined,
    }
}

fn plain_immediate(code: u32) -> Op {
    let (rn, rd) = (reg(code, 16), reg(code, 8));
    let (imm, imm16) = (imm12(code), bits(code, 16, 4) << 12 | imm12(code));
    let (lsb, last) = bit_range(code);
    if rd == 15 {
        return Op::Undefined;
    }
    let with = |kind, rn, value| Op::Alu {
        kind,
        rd,
        rn,
        operand: Operand::Imm { value, carry: None },
        flags: Flags::Keep,
    };
    match bits(code, 20, 5) {
        0 if rn == 15 => Op::Adr {
            rd,
            offset: imm as i32,
        },
        0 => with(Alu::Add, rn, imm),
        4 => with(Alu::Mov, 0, imm16),
        10 if rn == 15 => Op::Adr {
            rd,
            offset: -(imm as i32),
        },
        10 => with(Alu::Sub, rn, imm),
        12 => Op::MovTop {
            rd,
            imm: imm16 as u16,
        },
        16 | 18 => saturate(code, true, last + 1),
        24 | 26 => saturate(code, false, last),
        20 => extract(code, Field::Signed),
        22 if last >= lsb => Op::Bitfield {
            field: Field::Insert,
            rd,
            rn,
            lsb,
            width: last - lsb + 1,
        },
        28 => extract(code, Field::Unsigned),
        _ => Op::Undefined,
    }
}

fn branch_or_misc(code: u32) -> Op {
    let (s, j1, j2) = (bits(code, 26, 1), bits(code, 13, 1), bits(code, 11, 1));
    if code & 1 << 12 != 0 {
        let (i1, i2) = (1 ^ j1 ^ s, 1 ^ j2 ^ s);
        let offset =
            s << 24 | i1 << 23 | i2 << 22 | bits(code, 16, 10) << 12 | bits(code, 0, 11) << 1;
        let offset = signed(offset, 25);
        return match code & 1 << 14 != 0 {
            true => Op::BranchLink { offset },
            false => Op::Branch { cond: 14, offset },
        };
    }
    if code & 1 << 14 != 0 {
        return Op::Undefined;
    }
    if bits(code, 23, 3) != 7 {
        let offset =
            s << 20 | j2 << 19 | j1 << 18 | bits(code, 16, 6) << 12 | bits(code, 0, 11) << 1;
        return Op::Branch {
            cond: bits(code, 22, 4) as u8,
            offset: signed(offset, 21),
        };
    }
    match bits(code, 20, 7) {
        0b011_1000 | 0b011_1001 => Op::WriteSpecial {
            special: code as u8,
            rn: reg(code, 16),
            mask: bits(code, 10, 2) as u8,
        },
        0b011_1010 if bits(code, 8, 3) == 0 => hint(bits(code, 0, 8).min(15) as u16),
        0b011_1011 => match bits(code, 4, 4) {
            2 => Op::ClearExclusive,
            4 | 5 => Op::Barrier {
                instructions: false,
            },
            6 => Op::Barrier { instructions: true },
            _ => Op::Undefined,
        },
        0b011_1110 | 0b011_1111 if !matches!(reg(code, 8), 13 | 15) => Op::ReadSpecial {
            rd: reg(code, 8),
            special: code as u8,
        },
        _ => Op::Undefined,
    }
}

fn register(code: u32) -> Op {
    let (rn, rd, rm) = (reg(code, 16), reg(code, 8), reg(code, 0));
    if bits(code, 12, 4) != 15 || rd == 15 || rm == 15 {
        return Op::Undefined;
    }
    let kind = bits(code, 20, 4);
    if code & 1 << 7 == 0 {
        if kind < 8 && bits(code, 4, 4) == 0 {
            let shift = [Shift::Lsl, Shift::Lsr, Shift::Asr, Shift::Ror][(kind >> 1) as usize];
            return Op::ShiftBy {
                shift,
                rd,
                rn,
                rm,
                flags: flags(code),
            };
        }
        return Op::Undefined;
    }
    let rotate = (bits(code, 4, 2) * 8) as u8;
    let extend = |signed, width| match rn {
        15 => Op::Extend {
            signed,
            width,
            rd,
            rm,
            rotate,
        },
        _ => Op::Undefined,
    };
    match (kind, bits(code, 4, 2)) {
        (0, _) => extend(true, Width::Half),
        (1, _) => extend(false, Width::Half),
        (4, _) => extend(true, Width::Byte),
        (5, _) => extend(false, Width::Byte),
        (9, how) => {
            let how = [
                Reverse::Bytes,
                Reverse::Halves,
                Reverse::Bits,
                Reverse::SignedHalf,
            ][how as usize];
            Op::Reverse { how, rd, rm }
        }
        (11, 0) => Op::Clz { rd, rm },
        _ => Op::Undefined,
    }
}

fn multiply(code: u32) -> Op {
    let (rn, ra, rd, rm) = (reg(code, 16), reg(code, 12), reg(code, 8), reg(code, 0));
    match (bits(code, 20, 3), bits(code, 4, 2)) {
        _ if rd == 15 || rn == 15 || rm == 15 || bits(code, 6, 2) != 0 => Op::Undefined,
        (0, 0) if ra == 15 => Op::Mul {
            rd,
            rn,
            rm,
            flags: Flags::Keep,
        },
        (0, 0) => Op::MulAdd {
            rd,
            rn,
            rm,
            ra,
            subtract: false,
        },
        (0, 1) => Op::MulAdd {
            rd,
            rn,
            rm,
            ra,
            subtract: true,
        },
        _ => Op::Undefined,
    }
}

fn long_multiply(code: u32) -> Op {
    let (rn, lo, hi, rm) = (reg(code, 16), reg(code, 12), reg(code, 8), reg(code, 0));
    let long = |signed, add| match lo == hi || lo == 15 || hi == 15 {
        true => Op::Undefined,
        false => Op::MulLong {
            signed,
            add,
            lo,
            hi,
            rn,
            rm,
        },
    };
    match (bits(code, 20, 3), bits(code, 4, 4)) {
        (0, 0) => long(true, false),
        (2, 0) => long(false, false),
        (4, 0) => long(true, true),
        (6, 0) => long(false, true),
        (1, 15) if hi != 15 => Op::Divide {
            signed: true,
            rd: hi,
            rn,
            rm,
        },
        (3, 15) if hi != 15 => Op::Divide {
            signed: false,
            rd: hi,
            rn,
            rm,
        },
        _ => Op::Undefined,
    }
}

pub(super) fn many(code: u32) -> Op {
    let rn = reg(code, 16);
    let (list, writeback) = (code as u16, code & 1 << 21 != 0);
    let load = code & 1 << 20 != 0;
    let before = match bits(code, 23, 2) {
        1 => false,
        2 => true,
        _ => return Op::Undefined,
    };
    // Fewer than two registers, SP, both PC and LR, or PC as base are unpredictable.
    let forbidden = if load { 0x2000 } else { 0xa000 };
    let both = load && list & 0xc000 == 0xc000;
    if list.count_ones() < 2
        || list & forbidden != 0
        || both
        || rn == 15
        || writeback && list & 1 << rn != 0
    {
        return Op::Undefined;
    }
    match load {
        true => Op::LoadMany {
            rn,
            list,
            writeback,
            before,
        },
        false => Op::StoreMany {
            rn,
            list,
            writeback,
            before,
        },
    }
}

pub(super) fn pair_or_exclusive(code: u32) -> Op {
    let (index, writeback) = (code & 1 << 24 != 0, code & 1 << 21 != 0);
    match index || writeback {
        true => pair(code, index, writeback),
        false => exclusive_or_table(code),
    }
}

fn pair(code: u32, index: bool, writeback: bool) -> Op {
    let (rn, rt, rt2) = (reg(code, 16), reg(code, 12), reg(code, 8));
    let (load, add) = (code & 1 << 20 != 0, code & 1 << 23 != 0);
    let size = (code & 0xff) as i32 * 4;
    let offset = if add { size } else { -size };
    let address = match (index, writeback) {
        (true, false) if rn == 15 && load => Address::Literal { offset },
        (true, false) => Address::Offset { rn, offset },
        (true, true) => Address::Pre { rn, offset },
        _ => Address::Post { rn, offset },
    };
    let clash =
        writeback && (rn == rt || rn == rt2 || rn == 15) || load && rt == rt2 || !load && rn == 15;
    if clash || [13, 15].contains(&rt) || [13, 15].contains(&rt2) {
        return Op::Undefined;
    }
    match load {
        true => Op::LoadPair { rt, rt2, address },
        false => Op::StorePair { rt, rt2, address },
    }
}

fn exclusive_or_table(code: u32) -> Op {
    let (rn, rt, rt2) = (reg(code, 16), reg(code, 12), reg(code, 8));
    let (load, add) = (code & 1 << 20 != 0, code & 1 << 23 != 0);
    if rn == 15 && !(load && add) {
        return Op::Undefined;
    }
    let offset = bits(code, 0, 8) as u16 * 4;
    let op = match (add, load, bits(code, 4, 4)) {
        (false, true, _) => Op::LoadExclusive {
            rt,
            rn,
            offset,
            width: Width::Word,
        },
        (false, false, _) => Op::StoreExclusive {
            rd: rt2,
            rt,
            rn,
            offset,
            width: Width::Word,
        },
        (true, true, kind @ 0..=1) => Op::Table {
            rn,
            rm: reg(code, 0),
            half: kind == 1,
        },
        (true, _, kind @ 4..=5) => {
            let width = if kind == 4 { Width::Byte } else { Width::Half };
            match load {
                true => Op::LoadExclusive {
                    rt,
                    rn,
                    offset: 0,
                    width,
                },
                false => Op::StoreExclusive {
                    rd: reg(code, 0),
                    rt,
                    rn,
                    offset: 0,
                    width,
                },
            }
        }
        _ => Op::Undefined,
    };
    match op {
        Op::LoadExclusive { rt, .. } | Op::StoreExclusive { rd: rt, .. }
            if matches!(rt, 13 | 15) =>
        {
            Op::Undefined
        }
        Op::StoreExclusive { rt: 13 | 15, .. } => Op::Undefined,
        op => op,
    }
}

const fn width(code: u32) -> Option<Width> {
    match bits(code, 21, 2) {
        0 => Some(Width::Byte),
        1 => Some(Width::Half),
        2 => Some(Width::Word),
        _ => None,
    }
}

/// The addresses of single loads and stores except literals (A5.3.7 to A5.3.10).
fn single(code: u32) -> Option<Address> {
    let rn = reg(code, 16);
    if code & 1 << 23 != 0 {
        return Some(Address::Offset {
            rn,
            offset: bits(code, 0, 12) as i32,
        });
    }
    if code & 1 << 11 == 0 {
        let index = Address::Index {
            rn,
            rm: reg(code, 0),
            shift: bits(code, 4, 2) as u8,
        };
        return (bits(code, 6, 5) == 0).then_some(index);
    }
    let size = bits(code, 0, 8) as i32;
    let offset = if code & 1 << 9 != 0 { size } else { -size };
    let rt = reg(code, 12);
    match (code & 1 << 10 != 0, code & 1 << 8 != 0) {
        (true, false) => Some(Address::Offset { rn, offset }),
        (_, true) if rn == rt => None,
        (true, true) => Some(Address::Pre { rn, offset }),
        (false, true) => Some(Address::Post { rn, offset }),
        (false, false) => None,
    }
}

pub(super) fn store(code: u32) -> Op {
    let (rt, rn) = (reg(code, 12), reg(code, 16));
    match (width(code), single(code)) {
        (Some(width), Some(address)) if rn != 15 && rt != 15 => Op::Store { rt, address, width },
        _ => Op::Undefined,
    }
}

pub(super) fn load(code: u32) -> Op {
    let (rt, rn) = (reg(code, 12), reg(code, 16));
    let signed = code & 1 << 24 != 0;
    let Some(width) = width(code) else {
        return Op::Undefined;
    };
    if signed && width == Width::Word {
        return Op::Undefined;
    }
    // Loads of bytes and halfwords into PC are the preload hints.
    if rt == 15 && width != Width::Word {
        return Op::Hint(Hint::Nop);
    }
    let address = match rn {
        15 => {
            let size = bits(code, 0, 12) as i32;
            Some(Address::Literal {
                offset: if code & 1 << 23 != 0 { size } else { -size },
            })
        }
        _ => single(code),
    };
    match address {
        Some(address) => Op::Load {
            rt,
            address,
            width,
            signed,
        },
        None => Op::Undefined,
    }
}
