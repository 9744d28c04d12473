//! TIMER0 to TIMER3: counters with four match registers (UM10360, chapter 21). Pins are neither captured nor driven.

use std::any::Any;
use std::sync::Arc;

use crate::bus::{BusFault, Device, Masters, Width};
use crate::syscon::{ClockOf, Clocks};

const ENABLE: u32 = 1;
const RESET: u32 = 2;
const INTERRUPT: u32 = 1;
const RESETS: u32 = 2;
const STOPS: u32 = 4;

/// A timer. A change of its clock's divider takes effect at the next write to the timer.
#[derive(Debug)]
pub struct Timer {
    clocks: Arc<Clocks>,
    clock: ClockOf,
    /// IR, TCR, PR, MCR, MR0 to MR3.
    flags: u32,
    control: u32,
    prescale: u32,
    actions: u32,
    matches: [u32; 4],
    /// CCR, EMR and CTCR, which only store a value.
    kept: [u32; 3],
    /// TC and PC at cycle `since`, which is an edge of the timer's clock.
    counter: u32,
    prescaler: u64,
    since: u64,
    divider: u64,
    /// The counter returns to 0 with its next step.
    returns: bool,
}

impl Timer {
    /// The timer with the clock `of`.
    pub fn new(of: ClockOf, clocks: &Arc<Clocks>) -> Timer {
        Timer {
            divider: clocks.divider(of),
            clocks: Arc::clone(clocks),
            clock: of,
            flags: 0,
            control: 0,
            prescale: 0,
            actions: 0,
            matches: [0; 4],
            kept: [0; 3],
            counter: 0,
            prescaler: 0,
            since: 0,
            returns: false,
        }
    }

    fn counts(&self) -> bool {
        self.control & (ENABLE | RESET) == ENABLE
    }

    fn action(&self, index: usize) -> u32 {
        self.actions >> (3 * index) & 7
    }

    /// Cycles of one step of the counter.
    fn step_cycles(&self) -> u64 {
        self.divider * (u64::from(self.prescale) + 1)
    }

    /// Cycle of the counter's next step.
    fn next_step(&self) -> u64 {
        let left = (u64::from(self.prescale) + 1).saturating_sub(self.prescaler);
        self.since + left.max(1) * self.divider
    }

    /// Steps until the next match with an effect; the counter must change to reach it.
    fn steps_to_match(&self) -> Option<u64> {
        let active = (0..4).filter(|index| self.action(*index) != 0);
        let counter = if self.returns { u32::MAX } else { self.counter };
        let steps = active.map(|index| match self.matches[index].wrapping_sub(counter) {
            0 => 1 << 32,
            steps => u64::from(steps),
        });
        steps.min()
    }

    /// Brings counter and flags up to `now`.
    fn settle(&mut self, now: u64) {
        while self.counts() {
            let first = self.next_step();
            if first > now {
                let clocks = now.saturating_sub(self.since) / self.divider;
                self.prescaler += clocks;
                self.since += clocks * self.divider;
                return;
            }
            let whole = (now - first) / self.step_cycles() + 1;
            let to_match = self.steps_to_match();
            let steps = to_match.map_or(whole, |steps| steps.min(whole));
            self.since = first + (steps - 1) * self.step_cycles();
            self.prescaler = 0;
            let from = if self.returns { u32::MAX } else { self.counter };
            self.counter = from.wrapping_add(steps as u32);
            self.returns = false;
            if to_match == Some(steps) {
                self.matched();
            }
        }
        self.since = self.since.max(now);
    }

    fn matched(&mut self) {
        for index in 0..4 {
            let action = self.action(index);
            if self.matches[index] != self.counter {
                continue;
            }
            if action & INTERRUPT != 0 {
                self.flags |= 1 << index;
            }
            self.returns |= action & RESETS != 0;
            if action & STOPS != 0 {
                self.control &= !ENABLE;
            }
        }
    }
}

/// Why an access of another size is refused.
const WORDS_ONLY: &str = "registers of a timer need 32-bit accesses";

impl Device for Timer {
    fn read(&mut self, offset: u32, width: Width, now: u64) -> Result<u32, BusFault> {
        width.only_word(WORDS_ONLY)?;
        self.settle(now);
        Ok(match offset {
            0x00 => self.flags,
            0x04 => self.control,
            0x08 => self.counter,
            0x0C => self.prescale,
            0x10 => self.prescaler as u32,
            0x14 => self.actions,
            0x18..=0x24 => self.matches[(offset as usize - 0x18) / 4],
            0x28 => self.kept[0],
            0x2C | 0x30 => 0,
            0x3C => self.kept[1],
            0x70 => self.kept[2],
            _ => return Err(BusFault::new("the timer has no such register")),
        })
    }

    fn write(&mut self, offset: u32, width: Width, value: u32, now: u64) -> Result<(), BusFault> {
        width.only_word(WORDS_ONLY)?;
        self.settle(now);
        self.divider = self.clocks.divider(self.clock);
        match offset {
            0x00 => self.flags &= !value,
            0x04 => {
                self.control = value & 3;
                if value & RESET != 0 {
                    (self.counter, self.prescaler, self.returns) = (0, 0, false);
                }
                self.since = now;
            }
            0x08 => (self.counter, self.returns) = (value, false),
            0x0C => self.prescale = value,
            0x10 => self.prescaler = u64::from(value),
            0x14 => self.actions = value & 0xFFF,
            0x18..=0x24 => self.matches[(offset as usize - 0x18) / 4] = value,
            0x28 => self.kept[0] = value,
            0x3C => self.kept[1] = value,
            0x70 if value & 3 != 0 => {
                return Err(BusFault::new(
                    "the emulated timer counts only its clock, not a pin",
                ));
            }
            0x70 => self.kept[2] = value,
            _ => return Err(BusFault::new("the timer has no such register")),
        }
        Ok(())
    }

    fn next_event(&self) -> Option<u64> {
        if !self.counts() {
            return None;
        }
        let steps = self.steps_to_match()?;
        let further = (steps - 1).saturating_mul(self.step_cycles());
        Some(self.next_step().saturating_add(further))
    }

    fn run(&mut self, now: u64, _: &mut dyn Masters) {
        self.settle(now);
    }

    fn irq(&self) -> bool {
        self.flags != 0
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer() -> Timer {
        Timer::new(ClockOf::TIMERS[0], &Arc::new(Clocks::default()))
    }

    fn write(timer: &mut Timer, offset: u32, value: u32, now: u64) {
        timer.write(offset, Width::Word, value, now).unwrap();
    }

    #[test]
    fn it_counts_a_quarter_of_the_core_clock_after_a_reset() {
        let mut timer = timer();
        write(&mut timer, 0x04, ENABLE, 1000);
        assert_eq!(timer.read(0x08, Width::Word, 1000), Ok(0));
        assert_eq!(timer.read(0x08, Width::Word, 1003), Ok(0));
        assert_eq!(timer.read(0x08, Width::Word, 1004), Ok(1));
        assert_eq!(timer.read(0x08, Width::Word, 1000 + 4 * 12_345), Ok(12_345));
        write(&mut timer, 0x04, 0, 1000 + 4 * 12_345 + 3);
        assert_eq!(timer.read(0x08, Width::Word, 9_999_999), Ok(12_345));
    }

    #[test]
    fn the_prescaler_divides_by_one_more_than_its_register() {
        let mut timer = timer();
        write(&mut timer, 0x0C, 24, 0);
        write(&mut timer, 0x04, ENABLE, 0);
        assert_eq!(timer.read(0x08, Width::Word, 99), Ok(0));
        assert_eq!(timer.read(0x10, Width::Word, 99), Ok(24));
        assert_eq!(timer.read(0x08, Width::Word, 100), Ok(1));
        assert_eq!(timer.read(0x08, Width::Word, 1_000_099), Ok(10_000));
    }

    #[test]
    fn a_match_raises_the_line_and_returns_to_0_with_the_next_step() {
        let mut timer = timer();
        write(&mut timer, 0x18, 9, 0);
        write(&mut timer, 0x14, INTERRUPT | RESETS, 0);
        write(&mut timer, 0x04, ENABLE, 0);
        assert_eq!(timer.next_event(), Some(36));
        assert_eq!(timer.read(0x08, Width::Word, 36), Ok(9));
        assert!(timer.irq());
        assert_eq!(timer.read(0x08, Width::Word, 40), Ok(0));
        assert_eq!(timer.next_event(), Some(76), "a period of MR0 + 1 steps");
        write(&mut timer, 0x00, 1, 41);
        assert!(!timer.irq());
    }

    #[test]
    fn a_match_can_stop_the_timer() {
        let mut timer = timer();
        write(&mut timer, 0x24, 5, 0);
        write(&mut timer, 0x14, STOPS << 9, 0);
        write(&mut timer, 0x04, ENABLE, 0);
        assert_eq!(timer.read(0x08, Width::Word, 1_000_000), Ok(5));
        assert_eq!(timer.read(0x04, Width::Word, 1_000_000), Ok(0));
        assert!(!timer.irq());
        assert_eq!(timer.next_event(), None);
    }

    #[test]
    fn the_farthest_match_is_farther_than_time_itself() {
        let mut timer = timer();
        write(&mut timer, 0x0C, u32::MAX, 0);
        write(&mut timer, 0x14, INTERRUPT, 0);
        write(&mut timer, 0x04, ENABLE, 0);
        assert_eq!(timer.next_event(), Some(u64::MAX));
        assert_eq!(timer.read(0x08, Width::Word, 1 << 40), Ok(64));
    }

    #[test]
    fn the_counter_wraps() {
        let mut timer = timer();
        write(&mut timer, 0x08, u32::MAX, 0);
        write(&mut timer, 0x04, ENABLE, 0);
        assert_eq!(timer.read(0x08, Width::Word, 8), Ok(1));
    }
}
