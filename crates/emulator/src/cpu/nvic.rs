//! Pending and active exceptions, their priorities, and SysTick (ARM DDI 0403, B1.5 and B3.3 to B3.4).

/// Interrupt lines of the LPC1768 (UM10360, table 50: 0 to 34).
pub const LINES: u16 = 35;
/// Number of the first interrupt line's exception.
pub const FIRST_LINE: u16 = 16;
/// All exceptions.
const EXCEPTIONS: usize = (FIRST_LINE + LINES) as usize;
/// Priority bits of the LPC1768: the upper five.
pub const PRIORITY_MASK: u8 = 0xf8;
/// A priority below all.
pub const LOWEST: i16 = 256;

/// Exception numbers of the core.
pub mod number {
    pub const NMI: u16 = 2;
    pub const HARD_FAULT: u16 = 3;
    pub const SVCALL: u16 = 11;
    pub const PENDSV: u16 = 14;
    pub const SYSTICK: u16 = 15;
}

/// The state of all exceptions.
#[derive(Clone, Debug)]
pub struct Nvic {
    /// Pending exceptions, bit by number.
    pub pending: u64,
    /// Active exceptions: begun and not ended.
    pub active: u64,
    /// Enabled exceptions; those of the core always are.
    pub enabled: u64,
    /// Levels of the interrupt lines, bit by exception number.
    levels: u64,
    /// Priorities by exception number.
    pub priority: [u8; EXCEPTIONS],
    /// PRIGROUP of AIRCR.
    pub group: u8,
}

impl Default for Nvic {
    fn default() -> Self {
        Self {
            pending: 0,
            active: 0,
            enabled: 0xffff,
            levels: 0,
            priority: [0; EXCEPTIONS],
            group: 0,
        }
    }
}

impl Nvic {
    /// Sets the levels of the interrupt lines; a rising edge makes its exception pending.
    pub fn set_lines(&mut self, lines: u64) {
        let levels = lines << FIRST_LINE & ((1 << EXCEPTIONS) - 1);
        self.pending |= levels & !self.levels;
        self.levels = levels;
    }

    /// Clears the pending state of these exceptions; a line that is high makes its exception pending again.
    pub fn clear(&mut self, exceptions: u64) {
        self.pending = self.pending & !exceptions | self.levels & exceptions & !self.active;
    }

    fn priority_of(&self, exception: u16) -> i16 {
        match exception {
            number::NMI => -2,
            number::HARD_FAULT => -1,
            _ => i16::from(self.priority.get(exception as usize).copied().unwrap_or(0)),
        }
    }

    /// The part of a priority that decides about preemption.
    pub fn group_of(&self, priority: i16) -> i16 {
        if priority < 0 {
            priority
        } else {
            priority & !((2 << self.group) - 1)
        }
    }

    /// The pending exception that would be taken first, and its group priority.
    pub fn first(&self) -> Option<(u16, i16)> {
        let mut waiting = self.pending & self.enabled;
        let mut best: Option<(u16, i16)> = None;
        while waiting != 0 {
            let exception = waiting.trailing_zeros() as u16;
            waiting &= waiting - 1;
            let priority = self.priority_of(exception);
            if best.is_none_or(|(_, other)| priority < other) {
                best = Some((exception, priority));
            }
        }
        best.map(|(exception, priority)| (exception, self.group_of(priority)))
    }

    /// The group priority of the running code.
    pub fn running(&self) -> i16 {
        let mut active = self.active;
        let mut lowest = LOWEST;
        while active != 0 {
            lowest = lowest.min(self.group_of(self.priority_of(active.trailing_zeros() as u16)));
            active &= active - 1;
        }
        lowest
    }

    /// Starts an exception's handler.
    pub fn begin(&mut self, exception: u16) {
        self.pending &= !(1 << exception);
        self.active |= 1 << exception;
    }

    /// Ends an exception's handler; a line that is still high makes it pending again.
    pub fn end(&mut self, exception: u16) {
        self.active &= !(1 << exception);
        self.pending |= self.levels & 1 << exception;
    }
}

/// The core's own timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct SysTick {
    /// CSR without COUNTFLAG.
    control: u32,
    reload: u32,
    /// The counter at cycle `since`.
    value: u32,
    since: u64,
    flag: bool,
}

impl SysTick {
    const ENABLE: u32 = 1;

    /// Cycles until the counter reaches zero; `None` if it is stopped.
    fn left(&self) -> Option<u64> {
        match (self.control & Self::ENABLE, self.value, self.reload) {
            (0, ..) | (_, 0, 0) => None,
            // One cycle to reload, then down to zero.
            (_, 0, reload) => Some(u64::from(reload) + 1),
            (_, value, _) => Some(u64::from(value)),
        }
    }

    /// The cycle in which the counter reaches zero, if that makes the exception pending.
    pub fn next_event(&self) -> Option<u64> {
        if self.control & 2 == 0 {
            None
        } else {
            Some(self.since + self.left()?)
        }
    }

    /// Advances to `now`; returns whether the exception becomes pending.
    pub fn run(&mut self, now: u64) -> bool {
        let mut fired = false;
        let passed = now.saturating_sub(self.since);
        if let Some(left) = self.left() {
            if passed >= left {
                self.flag = true;
                fired = self.control & 2 != 0;
                let period = u64::from(self.reload) + 1;
                let rest = (passed - left) % period;
                self.value = if rest == 0 { 0 } else { (period - rest) as u32 };
            } else if self.value == 0 {
                self.value = (left - passed) as u32;
            } else {
                self.value -= passed as u32;
            }
            if self.reload == 0 && passed >= left {
                self.value = 0;
            }
        }
        self.since = self.since.max(now);
        fired
    }

    /// Reads CSR, RVR, CVR or CALIB (offsets 0 to 12).
    pub fn read(&mut self, offset: u32) -> u32 {
        match offset {
            0 => self.control | u32::from(std::mem::take(&mut self.flag)) << 16,
            4 => self.reload,
            8 => self.value,
            // No reference clock, no calibration value (STCALIB, UM10360 chapter 23, is set by the boot code).
            _ => 0x8000_0000,
        }
    }

    /// Writes CSR, RVR or CVR.
    pub fn write(&mut self, offset: u32, value: u32) {
        match offset {
            0 => self.control = value & 7,
            4 => self.reload = value & 0xff_ffff,
            8 => {
                self.value = 0;
                self.flag = false;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_LINE, Nvic};

    #[test]
    fn a_line_that_stays_up_waits_again_when_its_handler_ends_or_it_is_cleared() {
        let mut nvic = Nvic {
            enabled: u64::MAX,
            ..Nvic::default()
        };
        let bit = 1 << FIRST_LINE;
        nvic.set_lines(1);
        nvic.clear(bit);
        assert_eq!(nvic.pending, bit, "the line is up");
        nvic.begin(FIRST_LINE);
        assert_eq!((nvic.pending, nvic.active), (0, bit));
        nvic.end(FIRST_LINE);
        assert_eq!(nvic.pending, bit, "nobody served the device");
        nvic.begin(FIRST_LINE);
        nvic.set_lines(0);
        nvic.end(FIRST_LINE);
        assert_eq!(nvic.pending, 0);
        nvic.set_lines(1);
        nvic.set_lines(0);
        assert_eq!(nvic.first(), Some((FIRST_LINE, 0)), "a pulse is remembered");
        nvic.clear(bit);
        assert_eq!(nvic.first(), None);
    }
}
