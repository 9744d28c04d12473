//! The registers of the system control space and of the cycle counter (ARM DDI 0403, B3 and C1.8).

use super::Core;
use super::nvic::{FIRST_LINE, LINES, PRIORITY_MASK, number};
use crate::bus::{BusFault, Width};

/// The core's registers that only store a value.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// VTOR.
    pub vectors: u32,
    /// SCR.
    pub sleep: u32,
    /// CCR.
    pub config: u32,
    /// SHCSR's enable bits.
    handlers: u32,
    /// DEMCR.
    debug: u32,
    /// DWT_CTRL's bit 0 and CYCCNT's value when it started or stopped.
    counting: bool,
    count: u32,
    count_since: u64,
    /// Whether AIRCR requested a reset.
    pub reset: bool,
}

/// CCR: trap a division by zero.
pub const DIV_0_TRP: u32 = 1 << 4;
/// CCR: trap an unaligned access.
pub const UNALIGN_TRP: u32 = 1 << 3;
/// CCR: align the stack to 8 bytes on exception entry.
pub const STKALIGN: u32 = 1 << 9;
/// AIRCR's key when written, and when read.
const KEY: u32 = 0x05fa_0000;
const KEY_READ: u32 = 0xfa05_0000;

impl Control {
    /// The state after a reset: exceptions align the stack (ARM DDI 0403, B3.2.8; the Cortex-M3 r2p0 resets STKALIGN to
    /// 1).
    pub fn new() -> Self {
        Self {
            config: STKALIGN,
            ..Self::default()
        }
    }
}

impl Core {
    fn cycle_count(&self) -> u32 {
        match self.control.counting {
            true => self
                .control
                .count
                .wrapping_add((self.pipeline.cycle - self.control.count_since) as u32),
            false => self.control.count,
        }
    }

    /// Reads a private register; halfwords and bytes are parts of the word.
    pub(super) fn read_private(&mut self, address: u32, width: Width) -> Result<u32, BusFault> {
        let word = self.read_word(address & !3)?;
        Ok(word >> (address % 4 * 8) & width.mask())
    }

    fn read_word(&mut self, address: u32) -> Result<u32, BusFault> {
        let now = self.pipeline.cycle;
        let lines = |bits: u64, n: u32| (bits >> FIRST_LINE >> (32 * n)) as u32;
        Ok(match address {
            0xe000_1000 => 0x4000_0000 | u32::from(self.control.counting),
            0xe000_1004 => self.cycle_count(),
            0xe000_e004 => 1,
            0xe000_e010..=0xe000_e01c => {
                self.tick(now);
                self.systick.read(address & 15)
            }
            0xe000_e100 | 0xe000_e104 => lines(self.nvic.enabled, address >> 2 & 1),
            0xe000_e180 | 0xe000_e184 => lines(self.nvic.enabled, address >> 2 & 1),
            0xe000_e200 | 0xe000_e204 => lines(self.nvic.pending, address >> 2 & 1),
            0xe000_e280 | 0xe000_e284 => lines(self.nvic.pending, address >> 2 & 1),
            0xe000_e300 | 0xe000_e304 => lines(self.nvic.active, address >> 2 & 1),
            0xe000_e400..=0xe000_e423 => {
                self.priorities(FIRST_LINE as usize + (address & 0xff) as usize)
            }
            0xe000_ed00 => 0x412f_c230,
            0xe000_ed04 => self.interrupt_state(),
            0xe000_ed08 => self.control.vectors,
            0xe000_ed0c => KEY_READ | u32::from(self.nvic.group) << 8,
            0xe000_ed10 => self.control.sleep,
            0xe000_ed14 => self.control.config,
            0xe000_ed18..=0xe000_ed20 => self.priorities((address - 0xe000_ed14) as usize),
            0xe000_ed24 => self.control.handlers,
            // Faults have no status, because a fault stops the machine.
            0xe000_ed28..=0xe000_ed3c => 0,
            // No MPU regions.
            0xe000_ed90 => 0,
            0xe000_edfc => self.control.debug,
            // The rest of the debug and trace blocks: not connected.
            0xe000_0000..=0xe000_2fff | 0xe000_ed40..=0xe000_ed7c | 0xe000_edf0..=0xe000_edf8 => 0,
            0xe004_0000..=0xe00f_ffff => 0,
            _ => return Err(BusFault::new("no such register of the core").at(address)),
        })
    }

    fn priorities(&self, first: usize) -> u32 {
        let byte = |n: usize| self.nvic.priority.get(first + n).copied().unwrap_or(0);
        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
    }

    fn interrupt_state(&self) -> u32 {
        let waiting = self.nvic.pending;
        let first = self
            .nvic
            .first()
            .map_or(0, |(exception, _)| u32::from(exception));
        let bit = |exception: u16, place: u32| (waiting >> exception & 1) as u32 * (1 << place);
        bit(number::NMI, 31)
            | bit(number::PENDSV, 28)
            | bit(number::SYSTICK, 26)
            | u32::from(waiting >> FIRST_LINE != 0) << 22
            | first << 12
            | u32::from(self.nvic.active.count_ones() < 2) << 11
            | u32::from(self.ipsr)
    }

    /// Writes a private register. Only priorities can be written as halfwords or bytes.
    pub(super) fn write_private(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusFault> {
        let byte_wise = |at: u32| {
            (0xe000_e400..=0xe000_e423).contains(&at) || (0xe000_ed18..=0xe000_ed23).contains(&at)
        };
        if byte_wise(address) {
            let base = if address < 0xe000_ed00 {
                0xe000_e400 - u32::from(FIRST_LINE)
            } else {
                0xe000_ed14
            };
            for (n, byte) in value
                .to_le_bytes()
                .iter()
                .take(width.bytes() as usize)
                .enumerate()
            {
                if let Some(place) = self.nvic.priority.get_mut((address - base) as usize + n) {
                    *place = byte & PRIORITY_MASK;
                }
            }
            self.attention = true;
            return Ok(());
        }
        // Firmware writes halfwords and bytes only to the trace stimulus ports and the software trigger.
        if width != Width::Word
            && !(0xe000_0000..0xe000_1000).contains(&address)
            && address != 0xe000_ef00
        {
            return Err(
                BusFault::new("this register of the core needs 32-bit accesses").at(address),
            );
        }
        self.write_word(address, value)
    }

    fn write_word(&mut self, address: u32, value: u32) -> Result<(), BusFault> {
        let now = self.pipeline.cycle;
        let lines = u64::from(value) << (32 * (address >> 2 & 1)) << FIRST_LINE
            & ((1 << (FIRST_LINE + LINES)) - 1);
        self.attention = true;
        match address {
            0xe000_1000 => {
                self.control.count = self.cycle_count();
                self.control.count_since = now;
                self.control.counting = value & 1 != 0;
            }
            0xe000_1004 => {
                self.control.count = value;
                self.control.count_since = now;
            }
            0xe000_e010..=0xe000_e01c => {
                self.tick(now);
                self.systick.write(address & 15, value);
            }
            0xe000_e100 | 0xe000_e104 => self.nvic.enabled |= lines,
            0xe000_e180 | 0xe000_e184 => self.nvic.enabled &= !lines,
            0xe000_e200 | 0xe000_e204 => self.nvic.pending |= lines,
            0xe000_e280 | 0xe000_e284 => self.nvic.clear(lines),
            0xe000_ed04 => self.write_interrupt_state(value),
            0xe000_ed08 => self.control.vectors = value & 0x3fff_ff80,
            0xe000_ed0c => {
                if value & 0xffff_0000 == KEY {
                    self.nvic.group = (value >> 8 & 7) as u8;
                    self.control.reset = value & 4 != 0;
                }
            }
            0xe000_ed10 => self.control.sleep = value,
            0xe000_ed14 => self.control.config = value,
            0xe000_ed24 => self.control.handlers = value & 0x7_0000,
            0xe000_edfc => self.control.debug = value,
            0xe000_ef00 => {
                self.nvic.pending |=
                    1 << (FIRST_LINE + (value & 0x1ff) as u16).min(63) & lines_mask()
            }
            0xe000_ed94 if value & 1 != 0 => {
                return Err(BusFault::new("the MPU is not emulated").at(address));
            }
            0xe000_0000..=0xe000_2fff | 0xe000_ed28..=0xe000_edf8 | 0xe004_0000..=0xe00f_ffff => {}
            _ => return Err(BusFault::new("no such register of the core").at(address)),
        }
        Ok(())
    }

    fn write_interrupt_state(&mut self, value: u32) {
        let set = |pending: &mut u64, place: u32, exception: u16| {
            if value & 1 << place != 0 {
                *pending |= 1 << exception;
            }
        };
        set(&mut self.nvic.pending, 31, number::NMI);
        set(&mut self.nvic.pending, 28, number::PENDSV);
        set(&mut self.nvic.pending, 26, number::SYSTICK);
        for (place, exception) in [(27, number::PENDSV), (25, number::SYSTICK)] {
            if value & 1 << place != 0 {
                self.nvic.pending &= !(1 << exception);
            }
        }
    }
}

const fn lines_mask() -> u64 {
    ((1 << (FIRST_LINE + LINES)) - 1) & !0xffff
}
