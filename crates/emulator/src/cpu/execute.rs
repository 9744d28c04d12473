//! Data processing (ARM DDI 0403, A7.7).

use super::inst::{Alu, Field, Flags, Inst, Op, Operand, Reverse, Shift};
use super::trap::{Reason, Trap};
use super::{Core, scs};
use crate::bus::Width;
use crate::timing::{MULTIPLY_ADD, Refill, divide, multiply_long};

/// A shifted value and its carry. `amount` may have any value; 0 changes nothing except with RRX.
pub(super) const fn shifted(value: u32, shift: Shift, amount: u32, carry: bool) -> (u32, bool) {
    match (shift, amount) {
        (Shift::Rrx, _) => (value >> 1 | (carry as u32) << 31, value & 1 != 0),
        (_, 0) => (value, carry),
        (Shift::Lsl, 1..=31) => (value << amount, value >> (32 - amount) & 1 != 0),
        (Shift::Lsl, 32) => (0, value & 1 != 0),
        (Shift::Lsr, 1..=31) => (value >> amount, value >> (amount - 1) & 1 != 0),
        (Shift::Lsr, 32) => (0, value >> 31 != 0),
        (Shift::Lsl | Shift::Lsr, _) => (0, false),
        (Shift::Asr, 1..=31) => (
            (value as i32 >> amount) as u32,
            value >> (amount - 1) & 1 != 0,
        ),
        (Shift::Asr, _) => ((value as i32 >> 31) as u32, value >> 31 != 0),
        (Shift::Ror, _) => {
            let result = value.rotate_right(amount & 31);
            (result, result >> 31 != 0)
        }
    }
}

/// `a + b + carry`, its carry and its overflow.
const fn add(a: u32, b: u32, carry: bool) -> (u32, bool, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(carry as u32);
    (
        sum,
        first || second,
        (a ^ sum) & (b ^ sum) & 0x8000_0000 != 0,
    )
}

impl Core {
    const fn operand(&self, operand: Operand) -> (u32, bool) {
        match operand {
            Operand::Imm { value, carry: None } => (value, self.flags.c),
            Operand::Imm {
                value,
                carry: Some(carry),
            } => (value, carry),
            Operand::Reg { rm, shift, amount } => {
                shifted(self.get(rm), shift, amount as u32, self.flags.c)
            }
        }
    }

    pub(super) fn alu(&mut self, inst: &Inst, in_it: bool) -> Result<(), Trap> {
        match inst.op {
            Op::Alu {
                kind,
                rd,
                rn,
                operand,
                flags,
            } => return self.arithmetic(inst, kind, (rd, rn), operand, Self::sets(flags, in_it)),
            Op::ShiftBy {
                shift,
                rd,
                rn,
                rm,
                flags,
            } => {
                let (result, carry) =
                    shifted(self.get(rn), shift, self.get(rm) & 0xff, self.flags.c);
                self.set(rd, result);
                self.logic_flags(result, carry, Self::sets(flags, in_it));
            }
            Op::MovTop { rd, imm } => {
                let low = self.get(rd) & 0xffff;
                self.set(rd, u32::from(imm) << 16 | low);
            }
            Op::Adr { rd, offset } => {
                let base = self.registers[15] & !3;
                self.set(rd, base.wrapping_add_signed(offset));
            }
            _ => {}
        }
        self.pipeline.data(1, inst);
        Ok(())
    }

    fn logic_flags(&mut self, result: u32, carry: bool, sets: bool) {
        if sets {
            self.flags.n = result >> 31 != 0;
            self.flags.z = result == 0;
            self.flags.c = carry;
        }
    }

    fn arithmetic(
        &mut self,
        inst: &Inst,
        kind: Alu,
        (rd, rn): (u8, u8),
        operand: Operand,
        sets: bool,
    ) -> Result<(), Trap> {
        let a = if kind.unary() { 0 } else { self.get(rn) };
        let (b, shifter) = self.operand(operand);
        let carry = self.flags.c;
        let sum = match kind {
            Alu::Add | Alu::Cmn => Some(add(a, b, false)),
            Alu::Adc => Some(add(a, b, carry)),
            Alu::Sub | Alu::Cmp => Some(add(a, !b, true)),
            Alu::Sbc => Some(add(a, !b, carry)),
            Alu::Rsb => Some(add(!a, b, true)),
            _ => None,
        };
        let (result, carry, overflow) = sum.unwrap_or_else(|| {
            let result = match kind {
                Alu::And | Alu::Tst => a & b,
                Alu::Bic => a & !b,
                Alu::Orr => a | b,
                Alu::Orn => a | !b,
                Alu::Eor | Alu::Teq => a ^ b,
                Alu::Mvn => !b,
                _ => b,
            };
            (result, shifter, self.flags.v)
        });
        self.logic_flags(result, carry, sets);
        if sets {
            self.flags.v = overflow;
        }
        if kind.only_flags() {
            self.pipeline.data(1, inst);
        } else if rd == 15 {
            // MOV and ADD to PC, of 16 bits; bit 0 is ignored (ALUWritePC). MOV PC, LR is a return, and its target is
            // known early.
            let through_lr = matches!(operand, Operand::Reg { rm: 14, .. }) && kind == Alu::Mov;
            let refill = if through_lr && self.pipeline.knows(14) {
                Refill::Decode
            } else {
                Refill::Execute
            };
            self.next = result & !1;
            self.pipeline.branch(1, self.next, refill);
        } else {
            self.set(rd, result);
            self.pipeline.data(1, inst);
        }
        Ok(())
    }

    pub(super) fn bits(&mut self, inst: &Inst) -> Result<(), Trap> {
        match inst.op {
            Op::Bitfield {
                field,
                rd,
                rn,
                lsb,
                width,
            } => self.bitfield(field, (rd, rn), u32::from(lsb), u32::from(width)),
            Op::Saturate {
                signed,
                rd,
                rn,
                bits,
                shift,
                amount,
            } => {
                let value =
                    i64::from(shifted(self.get(rn), shift, u32::from(amount), false).0 as i32);
                let (low, high) = match signed {
                    true => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
                    false => (0, (1i64 << bits) - 1),
                };
                let result = value.clamp(low, high);
                self.flags.q |= result != value;
                self.set(rd, result as u32);
            }
            Op::Extend {
                signed,
                width,
                rd,
                rm,
                rotate,
            } => {
                let value = self.get(rm).rotate_right(u32::from(rotate));
                let result = match (width, signed) {
                    (Width::Byte, true) => value as i8 as u32,
                    (Width::Byte, false) => value & 0xff,
                    (_, true) => value as i16 as u32,
                    (_, false) => value & 0xffff,
                };
                self.set(rd, result);
            }
            Op::Reverse { how, rd, rm } => {
                let value = self.get(rm);
                let result = match how {
                    Reverse::Bytes => value.swap_bytes(),
                    Reverse::Halves => value.swap_bytes().rotate_left(16),
                    Reverse::SignedHalf => (value as u16).swap_bytes() as i16 as u32,
                    Reverse::Bits => value.reverse_bits(),
                };
                self.set(rd, result);
            }
            Op::Clz { rd, rm } => self.set(rd, self.get(rm).leading_zeros()),
            _ => {}
        }
        self.pipeline.data(1, inst);
        Ok(())
    }

    fn bitfield(&mut self, field: Field, (rd, rn): (u8, u8), lsb: u32, width: u32) {
        let mask = u32::MAX >> (32 - width);
        let result = match field {
            Field::Insert => {
                // Register 15 as source encodes BFC.
                let source = if rn == 15 { 0 } else { self.get(rn) };
                self.get(rd) & !(mask << lsb) | (source & mask) << lsb
            }
            Field::Unsigned => self.get(rn) >> lsb & mask,
            Field::Signed => (self.get(rn) << (32 - lsb - width)) as i32 as u32,
        };
        let result = if field == Field::Signed {
            (result as i32 >> (32 - width)) as u32
        } else {
            result
        };
        self.set(rd, result);
    }

    pub(super) fn multiply(&mut self, inst: &Inst, in_it: bool) -> Result<(), Trap> {
        let cycles = match inst.op {
            Op::Mul { rd, rn, rm, flags } => {
                let result = self.get(rn).wrapping_mul(self.get(rm));
                self.set(rd, result);
                // MULS leaves C and V unchanged.
                self.logic_flags(
                    result,
                    self.flags.c,
                    Self::sets(flags, in_it) && flags != Flags::Keep,
                );
                1
            }
            Op::MulAdd {
                rd,
                rn,
                rm,
                ra,
                subtract,
            } => {
                let product = self.get(rn).wrapping_mul(self.get(rm));
                let ra = self.get(ra);
                self.set(
                    rd,
                    if subtract {
                        ra.wrapping_sub(product)
                    } else {
                        ra.wrapping_add(product)
                    },
                );
                MULTIPLY_ADD
            }
            Op::MulLong {
                signed,
                add,
                lo,
                hi,
                rn,
                rm,
            } => {
                let (a, b) = (self.get(rn), self.get(rm));
                let product = match signed {
                    true => (i64::from(a as i32) * i64::from(b as i32)) as u64,
                    false => u64::from(a) * u64::from(b),
                };
                let before = if add {
                    u64::from(self.get(hi)) << 32 | u64::from(self.get(lo))
                } else {
                    0
                };
                let result = product.wrapping_add(before);
                self.set(lo, result as u32);
                self.set(hi, (result >> 32) as u32);
                multiply_long(a, b, signed, add)
            }
            Op::Divide { signed, rd, rn, rm } => {
                let (a, b) = (self.get(rn), self.get(rm));
                if b == 0 && self.control.config & scs::DIV_0_TRP != 0 {
                    return Err(Trap::Crash(Reason::DivideByZero));
                }
                let result = match (b, signed) {
                    (0, _) => 0,
                    (_, true) => (a as i32).wrapping_div(b as i32) as u32,
                    (_, false) => a / b,
                };
                self.set(rd, result);
                match signed {
                    true => divide((a as i32).unsigned_abs(), (b as i32).unsigned_abs()),
                    false => divide(a, b),
                }
            }
            _ => 1,
        };
        self.pipeline.data(cycles, inst);
        Ok(())
    }
}
