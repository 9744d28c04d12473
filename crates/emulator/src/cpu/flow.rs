//! Branches, IT, special registers and hints (ARM DDI 0403, A7.7).

use super::inst::{Hint, Inst, Op};
use super::trap::{Reason, Trap};
use super::{Apsr, Core, Sleep, System};
use crate::bus::Width;
use crate::timing::{BARRIER, Refill, SPECIAL};

impl Core {
    pub(super) fn flow(&mut self, inst: &Inst, system: &mut System<'_>) -> Result<(), Trap> {
        match inst.op {
            Op::Branch { cond, offset } => {
                if cond < 14 && !self.passes(cond) {
                    self.pipeline.not_taken(inst);
                } else {
                    self.jump(
                        self.registers[15].wrapping_add_signed(offset),
                        1,
                        Refill::Decode,
                    );
                }
            }
            Op::BranchLink { offset } => {
                self.set(14, self.next | 1);
                self.jump(
                    self.registers[15].wrapping_add_signed(offset),
                    1,
                    Refill::Decode,
                );
            }
            Op::BranchTo { rm } => {
                let refill = if rm == 14 && self.pipeline.knows(14) {
                    Refill::Decode
                } else {
                    Refill::Execute
                };
                return self.branch_to(self.get(rm), 1, refill, system);
            }
            Op::CallTo { rm } => {
                let target = self.get(rm);
                if target & 1 == 0 {
                    return Err(Trap::Crash(Reason::NotThumb(target)));
                }
                self.set(14, self.next | 1);
                self.jump(target & !1, 1, Refill::Execute);
            }
            Op::CompareBranch {
                nonzero,
                rn,
                offset,
            } => {
                if (self.get(rn) != 0) == nonzero {
                    self.jump(
                        self.registers[15].wrapping_add(u32::from(offset)),
                        1,
                        Refill::Execute,
                    );
                } else {
                    self.pipeline.other(1, inst);
                }
            }
            Op::Table { rn, rm, half } => return self.table_branch(inst, rn, rm, half, system),
            _ => return self.state(inst),
        }
        Ok(())
    }

    /// Instructions that change the state of the processor, and hints.
    fn state(&mut self, inst: &Inst) -> Result<(), Trap> {
        match inst.op {
            Op::IfThen { state } => {
                self.it = state;
                self.pipeline.if_then();
            }
            Op::Hint(hint) => self.hint(hint, inst),
            Op::Barrier {
                instructions: false,
            } => self.pipeline.other(BARRIER, inst),
            // ISB refills the pipeline (TRM table 3-1).
            Op::Barrier { instructions: true } => self.jump(self.next, 1, Refill::Execute),
            Op::Supervisor => self.supervisor(inst)?,
            Op::Breakpoint { imm } => {
                self.pipeline.other(1, inst);
                return Err(Trap::Breakpoint(imm));
            }
            Op::ChangeState {
                disable,
                primask,
                faultmask,
            } => {
                if self.privileged() {
                    self.primask = if primask { disable } else { self.primask };
                    self.faultmask = if faultmask {
                        disable && self.running() > -1
                    } else {
                        self.faultmask
                    };
                }
                self.attention = true;
                self.pipeline.other(1, inst);
            }
            Op::ReadSpecial { rd, special } => {
                let value = self.read_special(special);
                self.set(rd, value);
                self.pipeline.other(SPECIAL, inst);
            }
            Op::WriteSpecial { special, rn, mask } => {
                self.write_special(special, self.get(rn), mask);
                self.attention = true;
                self.pipeline.other(SPECIAL, inst);
            }
            _ => return Err(Trap::Crash(Reason::Undefined)),
        }
        Ok(())
    }

    fn jump(&mut self, target: u32, own: u64, refill: Refill) {
        self.next = target & !1;
        self.pipeline.branch(own, self.next, refill);
    }

    /// A branch to a value from a register or memory; in a handler it may be an exception return.
    pub(super) fn branch_to(
        &mut self,
        target: u32,
        own: u64,
        refill: Refill,
        system: &mut System<'_>,
    ) -> Result<(), Trap> {
        if self.ipsr != 0 && target >> 28 == 15 {
            return self.exception_return(target, system);
        }
        if target & 1 == 0 {
            return Err(Trap::Crash(Reason::NotThumb(target)));
        }
        self.jump(target, own, refill);
        Ok(())
    }

    fn table_branch(
        &mut self,
        inst: &Inst,
        rn: u8,
        rm: u8,
        half: bool,
        system: &mut System<'_>,
    ) -> Result<(), Trap> {
        let (base, index) = (self.get(rn), self.get(rm));
        let width = if half { Width::Half } else { Width::Byte };
        let address = base.wrapping_add(index.wrapping_mul(width.bytes()));
        if address % width.bytes() != 0 {
            return Err(Trap::Crash(Reason::Unaligned(address)));
        }
        self.pipeline
            .load(inst, &[address], false, &mut system.memory.buses);
        let entry = system
            .memory
            .peek(address, width)
            .ok_or(Trap::Crash(Reason::Vector(address)))?;
        self.pipeline.table_add();
        self.jump(
            self.registers[15].wrapping_add(entry * 2),
            0,
            Refill::Loaded,
        );
        Ok(())
    }

    fn hint(&mut self, hint: Hint, inst: &Inst) {
        self.pipeline.other(1, inst);
        match hint {
            Hint::Nop => {}
            Hint::WaitInterrupt => {
                self.sleep = Sleep::Interrupt;
                self.attention = true;
            }
            Hint::WaitEvent if self.event => self.event = false,
            Hint::WaitEvent => {
                self.sleep = Sleep::Event;
                self.attention = true;
            }
            Hint::SendEvent => self.event = true,
        }
    }

    pub(super) const fn privileged(&self) -> bool {
        self.ipsr != 0 || self.stack & 1 == 0
    }

    const fn apsr(&self) -> u32 {
        let Apsr { n, z, c, v, q } = self.flags;
        (n as u32) << 31 | (z as u32) << 30 | (c as u32) << 29 | (v as u32) << 28 | (q as u32) << 27
    }

    /// The program status with the rest of an IT block, as it is stacked.
    pub(super) fn xpsr(&self) -> u32 {
        let it = u32::from(self.it);
        self.apsr() | (it & 3) << 25 | 1 << 24 | (it >> 2) << 10 | u32::from(self.ipsr)
    }

    pub(super) fn set_xpsr(&mut self, value: u32) {
        self.set_flags(value);
        self.it = (value >> 25 & 3 | value >> 8 & 0xfc) as u8;
    }

    fn set_flags(&mut self, value: u32) {
        let bit = |place: u32| value >> place & 1 != 0;
        self.flags = Apsr {
            n: bit(31),
            z: bit(30),
            c: bit(29),
            v: bit(28),
            q: bit(27),
        };
    }

    const fn on_process_stack(&self) -> bool {
        self.stack & 2 != 0 && self.ipsr == 0
    }

    /// Uses the other stack pointer.
    pub(super) fn swap_stacks(&mut self) {
        std::mem::swap(&mut self.registers[13], &mut self.other_sp);
    }

    fn read_special(&self, special: u8) -> u32 {
        let process = self.on_process_stack();
        match special {
            // Parts of the status; the execution state reads as zero.
            0..=7 => {
                let apsr = if special & 4 == 0 { self.apsr() } else { 0 };
                let ipsr = if special & 1 != 0 {
                    u32::from(self.ipsr)
                } else {
                    0
                };
                apsr | ipsr
            }
            8 if process => self.other_sp,
            9 if !process => self.other_sp,
            8 | 9 => self.registers[13],
            16 => u32::from(self.primask),
            17 | 18 => u32::from(self.basepri),
            19 => u32::from(self.faultmask),
            20 => u32::from(self.stack),
            _ => 0,
        }
    }

    fn write_special(&mut self, special: u8, value: u32, mask: u8) {
        if special < 4 && mask & 2 != 0 {
            self.set_flags(value);
        }
        if !self.privileged() {
            return;
        }
        let process = self.on_process_stack();
        let priority = value as u8 & super::nvic::PRIORITY_MASK;
        match special {
            8 if process => self.other_sp = value & !3,
            9 if !process => self.other_sp = value & !3,
            8 | 9 => self.registers[13] = value & !3,
            16 => self.primask = value & 1 != 0,
            17 => self.basepri = priority,
            18 if priority != 0 && (priority < self.basepri || self.basepri == 0) => {
                self.basepri = priority
            }
            19 => self.faultmask = value & 1 != 0 && self.running() > -1,
            20 => {
                let swap = self.ipsr == 0 && (value as u8 ^ self.stack) & 2 != 0;
                self.stack = self.stack & 2 | value as u8 & 1;
                // The stack can be selected only outside handlers.
                if swap {
                    self.stack ^= 2;
                    self.swap_stacks();
                }
            }
            _ => {}
        }
    }
}
