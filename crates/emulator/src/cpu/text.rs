//! Instructions as text, in ARM's notation.

use super::inst::{Address, Alu, Field, Flags, Hint, Inst, Op, Operand, Reverse, Shift};
use super::{decode16, decode32};
use crate::bus::Width;
use std::fmt::Write as _;

const REGISTERS: [&str; 16] = [
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "sp", "lr",
    "pc",
];
const CONDITIONS: [&str; 16] = [
    "eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "", "",
];

fn r(register: u8) -> &'static str {
    REGISTERS[(register & 15) as usize]
}

fn condition(number: u8) -> &'static str {
    CONDITIONS[(number & 15) as usize]
}

/// The text of the instruction `code` (its first halfword in the low half) at `address`, and its size in bytes.
///
/// The text is for readers: 16-bit instructions have the `s` of their form outside IT blocks, and conditions of an IT
/// block are shown in its IT.
pub fn disassemble(address: u32, code: u32) -> (String, u32) {
    let first = code as u16;
    let inst = match first >= 0xe800 {
        true => Inst::new(decode32::decode(u32::from(first) << 16 | code >> 16), true),
        false => Inst::new(decode16::decode(first), false),
    };
    (text(inst.op, address), inst.bytes())
}

fn text(op: Op, at: u32) -> String {
    let pc = at.wrapping_add(4);
    match op {
        Op::Alu { .. } | Op::ShiftBy { .. } | Op::MovTop { .. } | Op::Adr { .. } => data(op, pc),
        Op::Bitfield { .. }
        | Op::Saturate { .. }
        | Op::Extend { .. }
        | Op::Reverse { .. }
        | Op::Clz { .. } => bits(op),
        Op::Mul { .. } | Op::MulAdd { .. } | Op::MulLong { .. } | Op::Divide { .. } => multiply(op),
        Op::Branch { .. }
        | Op::BranchLink { .. }
        | Op::CompareBranch { .. }
        | Op::BranchTo { .. }
        | Op::CallTo { .. } => branch(op, pc),
        Op::Table { .. }
        | Op::IfThen { .. }
        | Op::Hint(_)
        | Op::Barrier { .. }
        | Op::Supervisor
        | Op::Breakpoint { .. } => control(op),
        Op::ChangeState { .. }
        | Op::ReadSpecial { .. }
        | Op::WriteSpecial { .. }
        | Op::ClearExclusive
        | Op::Undefined => control(op),
        _ => memory(op, pc),
    }
}

const fn s(flags: Flags) -> &'static str {
    match flags {
        Flags::Keep => "",
        Flags::Set | Flags::OutsideIt => "s",
    }
}

const fn shift_name(shift: Shift) -> &'static str {
    match shift {
        Shift::Lsl => "lsl",
        Shift::Lsr => "lsr",
        Shift::Asr => "asr",
        Shift::Ror => "ror",
        Shift::Rrx => "rrx",
    }
}

fn shift_text(shift: Shift, amount: u8) -> String {
    match (shift, amount) {
        (Shift::Rrx, _) => ", rrx".to_owned(),
        (Shift::Lsl, 0) => String::new(),
        _ => format!(", {} #{amount}", shift_name(shift)),
    }
}

fn operand_text(operand: Operand) -> String {
    match operand {
        Operand::Imm { value, .. } => format!("#{value}"),
        Operand::Reg { rm, shift, amount } => format!("{}{}", r(rm), shift_text(shift, amount)),
    }
}

fn data(op: Op, pc: u32) -> String {
    match op {
        // A move of a shifted register is the shift.
        Op::Alu {
            kind: Alu::Mov,
            rd,
            operand: Operand::Reg { rm, shift, amount },
            flags,
            ..
        } if amount != 0 && shift != Shift::Rrx => {
            format!(
                "{}{} {}, {}, #{amount}",
                shift_name(shift),
                s(flags),
                r(rd),
                r(rm)
            )
        }
        Op::Alu {
            kind,
            rd,
            rn,
            operand,
            flags,
        } => {
            let name = format!("{kind:?}").to_lowercase();
            let second = operand_text(operand);
            match (kind.only_flags(), kind.unary()) {
                (true, _) => format!("{name} {}, {second}", r(rn)),
                (_, true) => format!("{name}{} {}, {second}", s(flags), r(rd)),
                _ => format!("{name}{} {}, {}, {second}", s(flags), r(rd), r(rn)),
            }
        }
        Op::ShiftBy {
            shift,
            rd,
            rn,
            rm,
            flags,
        } => {
            format!(
                "{}{} {}, {}, {}",
                shift_name(shift),
                s(flags),
                r(rd),
                r(rn),
                r(rm)
            )
        }
        Op::MovTop { rd, imm } => format!("movt {}, #{imm}", r(rd)),
        Op::Adr { rd, offset } => format!(
            "adr {}, {:#x}",
            r(rd),
            (pc & !3).wrapping_add_signed(offset)
        ),
        _ => String::new(),
    }
}

fn bits(op: Op) -> String {
    match op {
        Op::Bitfield {
            field: Field::Insert,
            rd,
            rn: 15,
            lsb,
            width,
        } => format!("bfc {}, #{lsb}, #{width}", r(rd)),
        Op::Bitfield {
            field,
            rd,
            rn,
            lsb,
            width,
        } => {
            let name = ["bfi", "ubfx", "sbfx"][field as usize];
            format!("{name} {}, {}, #{lsb}, #{width}", r(rd), r(rn))
        }
        Op::Saturate {
            signed,
            rd,
            rn,
            bits,
            shift,
            amount,
        } => {
            let name = if signed { "ssat" } else { "usat" };
            format!(
                "{name} {}, #{bits}, {}{}",
                r(rd),
                r(rn),
                shift_text(shift, amount)
            )
        }
        Op::Extend {
            signed,
            width,
            rd,
            rm,
            rotate,
        } => {
            let sign = if signed { 's' } else { 'u' };
            let size = if width == Width::Byte { 'b' } else { 'h' };
            let turn = if rotate == 0 {
                String::new()
            } else {
                format!(", ror #{rotate}")
            };
            format!("{sign}xt{size} {}, {}{turn}", r(rd), r(rm))
        }
        Op::Reverse { how, rd, rm } => {
            let name = match how {
                Reverse::Bytes => "rev",
                Reverse::Halves => "rev16",
                Reverse::SignedHalf => "revsh",
                Reverse::Bits => "rbit",
            };
            format!("{name} {}, {}", r(rd), r(rm))
        }
        Op::Clz { rd, rm } => format!("clz {}, {}", r(rd), r(rm)),
        _ => String::new(),
    }
}

fn multiply(op: Op) -> String {
    match op {
        Op::Mul { rd, rn, rm, flags } => format!("mul{} {}, {}, {}", s(flags), r(rd), r(rn), r(rm)),
        Op::MulAdd {
            rd,
            rn,
            rm,
            ra,
            subtract,
        } => {
            format!(
                "{} {}, {}, {}, {}",
                if subtract { "mls" } else { "mla" },
                r(rd),
                r(rn),
                r(rm),
                r(ra)
            )
        }
        Op::MulLong {
            signed,
            add,
            lo,
            hi,
            rn,
            rm,
        } => {
            let name =
                [["umull", "umlal"], ["smull", "smlal"]][usize::from(signed)][usize::from(add)];
            format!("{name} {}, {}, {}, {}", r(lo), r(hi), r(rn), r(rm))
        }
        Op::Divide { signed, rd, rn, rm } => {
            format!(
                "{}div {}, {}, {}",
                if signed { 's' } else { 'u' },
                r(rd),
                r(rn),
                r(rm)
            )
        }
        _ => String::new(),
    }
}

fn branch(op: Op, pc: u32) -> String {
    match op {
        Op::Branch { cond, offset } => {
            format!("b{} {:#x}", condition(cond), pc.wrapping_add_signed(offset))
        }
        Op::BranchLink { offset } => format!("bl {:#x}", pc.wrapping_add_signed(offset)),
        Op::CompareBranch {
            nonzero,
            rn,
            offset,
        } => {
            let name = if nonzero { "cbnz" } else { "cbz" };
            format!(
                "{name} {}, {:#x}",
                r(rn),
                pc.wrapping_add(u32::from(offset))
            )
        }
        Op::BranchTo { rm } => format!("bx {}", r(rm)),
        Op::CallTo { rm } => format!("blx {}", r(rm)),
        _ => String::new(),
    }
}

fn control(op: Op) -> String {
    match op {
        Op::Table { rn, rm, half: true } => format!("tbh [{}, {}, lsl #1]", r(rn), r(rm)),
        Op::Table {
            rn,
            rm,
            half: false,
        } => format!("tbb [{}, {}]", r(rn), r(rm)),
        Op::IfThen { state } => {
            let mut name = String::from("i");
            let length = 4 - (state & 15).trailing_zeros() as u8;
            for n in 0..length {
                let same = n == 0 || (state >> (4 - n) ^ state >> 4) & 1 == 0;
                name.push(if same { 't' } else { 'e' });
            }
            format!("{name} {}", condition(state >> 4))
        }
        Op::Hint(hint) => match hint {
            Hint::Nop => "nop",
            Hint::WaitEvent => "wfe",
            Hint::WaitInterrupt => "wfi",
            Hint::SendEvent => "sev",
        }
        .to_owned(),
        Op::Barrier { instructions } => if instructions { "isb" } else { "dsb" }.to_owned(),
        Op::Supervisor => "svc".to_owned(),
        Op::Breakpoint { imm } => format!("bkpt {imm:#x}"),
        Op::ChangeState {
            disable,
            primask,
            faultmask,
        } => {
            let what = [
                if primask { "i" } else { "" },
                if faultmask { "f" } else { "" },
            ]
            .concat();
            format!("cps{} {what}", if disable { "id" } else { "ie" })
        }
        Op::ReadSpecial { rd, special } => format!("mrs {}, #{special}", r(rd)),
        Op::WriteSpecial { special, rn, .. } => format!("msr #{special}, {}", r(rn)),
        Op::ClearExclusive => "clrex".to_owned(),
        _ => "undefined".to_owned(),
    }
}

fn address_text(address: Address, pc: u32) -> String {
    match address {
        Address::Offset { rn, offset: 0 } => format!("[{}]", r(rn)),
        Address::Offset { rn, offset } => format!("[{}, #{offset}]", r(rn)),
        Address::Pre { rn, offset } => format!("[{}, #{offset}]!", r(rn)),
        Address::Post { rn, offset } => format!("[{}], #{offset}", r(rn)),
        Address::Index { rn, rm, shift: 0 } => format!("[{}, {}]", r(rn), r(rm)),
        Address::Index { rn, rm, shift } => format!("[{}, {}, lsl #{shift}]", r(rn), r(rm)),
        Address::Literal { offset } => format!(
            "[pc, #{offset}] ({:#x})",
            (pc & !3).wrapping_add_signed(offset)
        ),
    }
}

const fn size(width: Width) -> &'static str {
    match width {
        Width::Byte => "b",
        Width::Half => "h",
        Width::Word => "",
    }
}

fn list_text(list: u16) -> String {
    let mut names = String::new();
    for register in (0..16u8).filter(|register| list & 1 << register != 0) {
        let gap = if names.is_empty() { "" } else { ", " };
        let _ = write!(names, "{gap}{}", r(register));
    }
    format!("{{{names}}}")
}

fn memory(op: Op, pc: u32) -> String {
    match op {
        Op::Load {
            rt,
            address,
            width,
            signed,
        } => {
            format!(
                "ldr{}{} {}, {}",
                if signed { "s" } else { "" },
                size(width),
                r(rt),
                address_text(address, pc)
            )
        }
        Op::Store { rt, address, width } => format!(
            "str{} {}, {}",
            size(width),
            r(rt),
            address_text(address, pc)
        ),
        Op::LoadPair { rt, rt2, address } => {
            format!("ldrd {}, {}, {}", r(rt), r(rt2), address_text(address, pc))
        }
        Op::StorePair { rt, rt2, address } => {
            format!("strd {}, {}, {}", r(rt), r(rt2), address_text(address, pc))
        }
        Op::LoadMany { .. } | Op::StoreMany { .. } => many(op),
        _ => exclusive(op),
    }
}

fn many(op: Op) -> String {
    match op {
        Op::LoadMany {
            rn: 13,
            list,
            writeback: true,
            before: false,
        } => format!("pop {}", list_text(list)),
        Op::StoreMany {
            rn: 13,
            list,
            writeback: true,
            before: true,
        } => format!("push {}", list_text(list)),
        Op::LoadMany {
            rn,
            list,
            writeback,
            before,
        }
        | Op::StoreMany {
            rn,
            list,
            writeback,
            before,
        } => {
            let name = if matches!(op, Op::LoadMany { .. }) {
                "ldm"
            } else {
                "stm"
            };
            let how = if before { "db" } else { "ia" };
            format!(
                "{name}{how} {}{}, {}",
                r(rn),
                if writeback { "!" } else { "" },
                list_text(list)
            )
        }
        _ => "undefined".to_owned(),
    }
}

fn exclusive(op: Op) -> String {
    match op {
        Op::LoadExclusive {
            rt,
            rn,
            offset,
            width,
        } => {
            format!("ldrex{} {}, [{}, #{offset}]", size(width), r(rt), r(rn))
        }
        Op::StoreExclusive {
            rd,
            rt,
            rn,
            offset,
            width,
        } => {
            format!(
                "strex{} {}, {}, [{}, #{offset}]",
                size(width),
                r(rd),
                r(rt),
                r(rn)
            )
        }
        _ => "undefined".to_owned(),
    }
}
