//! Loads and stores of 32 bits (ARM DDI 0403, A5.3.5 to A5.3.10).

use super::decode32::{bits, reg};
use super::inst::{Address, Hint, Op};
use crate::bus::Width;

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
    let (rn, rt, rt2) = (reg(code, 16), reg(code, 12), reg(code, 8));
    let load = code & 1 << 20 != 0;
    let (index, add, writeback) = (
        code & 1 << 24 != 0,
        code & 1 << 23 != 0,
        code & 1 << 21 != 0,
    );
    if index || writeback {
        let size = (code & 0xff) as i32 * 4;
        let offset = if add { size } else { -size };
        let address = match (index, writeback) {
            (true, false) if rn == 15 && load => Address::Literal { offset },
            (true, false) => Address::Offset { rn, offset },
            (true, true) => Address::Pre { rn, offset },
            _ => Address::Post { rn, offset },
        };
        let clash = writeback && (rn == rt || rn == rt2 || rn == 15)
            || load && rt == rt2
            || !load && rn == 15;
        if clash || [13, 15].contains(&rt) || [13, 15].contains(&rt2) {
            return Op::Undefined;
        }
        return match load {
            true => Op::LoadPair { rt, rt2, address },
            false => Op::StorePair { rt, rt2, address },
        };
    }
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

/// The addresses of single loads and stores but literals (A5.3.7 to A5.3.10).
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
