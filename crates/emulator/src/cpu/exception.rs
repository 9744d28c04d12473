//! Entry to and return from exceptions (ARM DDI 0403, B1.5.6 to B1.5.8).

use super::nvic::{LOWEST, number};
use super::trap::{Reason, Trap};
use super::{Core, Inst, Sleep, System, scs};
use crate::bus::{BusFault, Width};
use crate::memory::Memory;
use crate::timing::{EXCEPTION_ENTRY, EXCEPTION_RETURN, FETCH_TO_EXECUTE, TAIL_CHAIN};

impl Core {
    /// The priority that a new exception must exceed: that of the running code, raised by the masks.
    pub(super) fn running(&self) -> i16 {
        let base = if self.basepri == 0 {
            LOWEST
        } else {
            self.nvic.group_of(i16::from(self.basepri))
        };
        let mask = match (self.faultmask, self.primask) {
            (true, _) => -1,
            (_, true) => 0,
            _ => LOWEST,
        };
        self.nvic.running().min(base).min(mask)
    }

    /// Wakes from sleep, and takes the first exception that may be taken.
    pub(super) fn take_exceptions(&mut self, system: &mut System<'_>) -> Result<(), Trap> {
        let Some((exception, priority)) = self.nvic.first() else {
            return Ok(());
        };
        let limit = if self.primask && !self.faultmask {
            self.without_primask()
        } else {
            self.running()
        };
        if priority < limit && self.sleep != Sleep::Awake {
            self.sleep = Sleep::Awake;
        }
        if priority >= self.running() {
            return Ok(());
        }
        let frame = self.push(system.memory)?;
        let waits = self.pipeline.stack(frame, true, &mut system.memory.buses);
        let back = match (self.ipsr, self.stack & 2) {
            (0, 0) => 0xffff_fff9,
            (0, _) => 0xffff_fffd,
            _ => 0xffff_fff1,
        };
        if back == 0xffff_fffd {
            self.swap_stacks();
        }
        self.registers[14] = back;
        self.enter(exception, EXCEPTION_ENTRY + waits, system.memory)
    }

    fn without_primask(&self) -> i16 {
        let base = if self.basepri == 0 {
            LOWEST
        } else {
            self.nvic.group_of(i16::from(self.basepri))
        };
        self.nvic.running().min(base)
    }

    /// Starts a handler after `cycles`.
    fn enter(&mut self, exception: u16, cycles: u64, memory: &Memory) -> Result<(), Trap> {
        let vector = self.control.vectors.wrapping_add(u32::from(exception) * 4);
        let entry = memory
            .peek(vector, Width::Word)
            .ok_or(Trap::Crash(Reason::Vector(vector)))?;
        if entry & 1 == 0 {
            return Err(Trap::Crash(Reason::NotThumb(entry)));
        }
        self.nvic.begin(exception);
        self.ipsr = exception;
        self.it = 0;
        self.monitor = None;
        self.event = true;
        self.next = entry & !1;
        let start = self.pipeline.cycle + cycles;
        self.pipeline
            .restart(self.next, start.max(FETCH_TO_EXECUTE));
        Ok(())
    }

    fn push(&mut self, memory: &mut Memory) -> Result<u32, Trap> {
        let sp = self.registers[13];
        let align = self.control.config & scs::STKALIGN != 0;
        let padded = align && sp & 4 != 0;
        let frame = sp.wrapping_sub(32) & if align { !4 } else { !0 };
        let [r0, r1, r2, r3, ..] = self.registers;
        let status = self.xpsr() | u32::from(padded) << 9;
        let words = [
            r0,
            r1,
            r2,
            r3,
            self.registers[12],
            self.registers[14],
            self.next,
            status,
        ];
        for (n, word) in (0..).zip(words) {
            let at = frame.wrapping_add(4 * n);
            let written = memory.poke(at, Width::Word, word);
            written.ok_or(Trap::Crash(Reason::Bus(
                BusFault::new("no memory to stack an exception's frame").at(at),
            )))?;
        }
        self.registers[13] = frame;
        Ok(frame)
    }

    /// Leaves a handler: to a pending exception, or back to the interrupted code.
    pub(super) fn exception_return(
        &mut self,
        back: u32,
        system: &mut System<'_>,
    ) -> Result<(), Trap> {
        let wrong = Trap::Crash(Reason::Return(back));
        let last = self.nvic.active & !(1 << self.ipsr) == 0;
        let fits = match back {
            0xffff_fff1 => !last,
            0xffff_fff9 | 0xffff_fffd => last || self.control.config & 1 != 0,
            _ => false,
        };
        if !fits {
            return Err(wrong);
        }
        self.nvic.end(self.ipsr);
        if self.ipsr != number::NMI {
            self.faultmask = false;
        }
        self.attention = true;
        // A pending exception above the priority of the return runs next, on the existing frame.
        let running = self.running();
        let next = self
            .nvic
            .first()
            .filter(|(_, priority)| *priority < running);
        if let Some((exception, _)) = next {
            self.registers[14] = back;
            return self.enter(exception, TAIL_CHAIN, system.memory);
        }
        self.ipsr = 0;
        if back == 0xffff_fffd {
            self.swap_stacks();
            self.stack |= 2;
        } else if back == 0xffff_fff9 {
            self.stack &= !2;
        }
        self.pop(back, system)
    }

    fn pop(&mut self, back: u32, system: &mut System<'_>) -> Result<(), Trap> {
        let frame = self.registers[13];
        let waits = self.pipeline.stack(frame, false, &mut system.memory.buses);
        let mut words = [0; 8];
        for (n, word) in (0..).zip(&mut words) {
            let at = frame.wrapping_add(4 * n);
            let fault = Trap::Crash(Reason::Bus(
                BusFault::new("no memory with an exception's frame").at(at),
            ));
            *word = system.memory.peek(at, Width::Word).ok_or(fault)?;
        }
        let [r0, r1, r2, r3, r12, lr, pc, status] = words;
        self.registers[..4].copy_from_slice(&[r0, r1, r2, r3]);
        self.registers[12] = r12;
        self.registers[14] = lr;
        self.ipsr = (status & 0x1ff) as u16;
        if (self.ipsr != 0) != (back == 0xffff_fff1) || self.ipsr > 63 || status & 1 << 24 == 0 {
            return Err(Trap::Crash(Reason::Return(back)));
        }
        self.set_xpsr(status);
        self.registers[13] = frame.wrapping_add(32) | (status >> 9 & 1) << 2;
        self.next = pc & !1;
        self.monitor = None;
        let start = self.pipeline.cycle + EXCEPTION_RETURN + waits;
        self.pipeline.restart(self.next, start);
        Ok(())
    }

    /// SVC: its exception is taken immediately.
    pub(super) fn supervisor(&mut self, inst: &Inst) -> Result<(), Trap> {
        self.nvic.pending |= 1 << number::SVCALL;
        self.attention = true;
        self.pipeline.other(1, inst);
        let priority = self
            .nvic
            .group_of(i16::from(self.nvic.priority[number::SVCALL as usize]));
        if priority >= self.running() {
            return Err(Trap::Crash(Reason::Supervisor));
        }
        Ok(())
    }
}
