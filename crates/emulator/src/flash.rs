//! The flash accelerator (UM10360, chapter 5): eight lines of 128 bits, and a prefetch of the next line.

use crate::timing::{FLASH_BUFFERS, FLASHCFG_RESET, flash_access};

/// Stands for no line.
const NONE: u32 = u32::MAX;

/// The accelerator's buffers and clock.
#[derive(Clone, Debug)]
pub struct Flash {
    /// FLASHCFG.
    pub config: u32,
    /// Lines (address / 16) with the cycle of their last use; the oldest is replaced. That is an assumption: the manual
    /// says only that the strategy keeps lines that may be needed again.
    lines: [(u32, u64); FLASH_BUFFERS],
    /// The latest prefetched line, and the cycle in which it is available.
    ahead: (u32, u64),
}

impl Default for Flash {
    fn default() -> Self {
        Self {
            config: FLASHCFG_RESET,
            lines: [(NONE, 0); FLASH_BUFFERS],
            ahead: (NONE, 0),
        }
    }
}

impl Flash {
    /// A fetch that reaches the accelerator in cycle `at`; returns the cycle in which its data are available.
    pub fn fetch(&mut self, address: u32, at: u64) -> u64 {
        let line = address >> 4;
        let there = self.line(line, at);
        // A prefetch begins where the next line is neither in a buffer nor being fetched (UM 5.3).
        if self.ahead.0 != line + 1 && !self.holds(line + 1) {
            self.ahead = (line + 1, there + flash_access(self.config));
        }
        there
    }

    /// A data read, which stops a prefetch in progress; the prefetch starts again after it (UM 5.3).
    pub fn data(&mut self, address: u32, at: u64) -> u64 {
        let line = address >> 4;
        let missed = !self.holds(line);
        let there = self.line(line, at);
        if missed && self.ahead.1 > at {
            self.ahead.1 = there + flash_access(self.config);
        }
        there
    }

    fn holds(&self, line: u32) -> bool {
        self.lines.iter().any(|(held, _)| *held == line)
    }

    fn line(&mut self, line: u32, at: u64) -> u64 {
        if let Some(held) = self.lines.iter_mut().find(|(held, _)| *held == line) {
            held.1 = at;
            return at;
        }
        let there = match self.ahead {
            (ahead, done) if ahead == line => at.max(done),
            _ => at + flash_access(self.config) - 1,
        };
        if let Some(oldest) = self.lines.iter_mut().min_by_key(|(_, used)| *used) {
            *oldest = (line, there);
        }
        there
    }
}
