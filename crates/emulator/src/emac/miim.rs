//! MII management: the serial bus to the PHY, with its timing (UM10360: MCFG to MIND).

use super::regs::miim;
use crate::phy::{self, Phy};

/// The management interface and the PHY behind it.
#[derive(Clone, Debug, Default)]
pub struct Miim {
    /// MCFG.
    pub config: u32,
    /// MCMD.
    pub command: u32,
    /// MADR.
    pub address: u32,
    /// MRDD.
    pub data: u32,
    /// The PHY.
    pub phy: Phy,
    busy_until: u64,
    /// The value for MRDD, or for the PHY, when the access ends.
    pending: Option<Access>,
}

#[derive(Clone, Copy, Debug)]
enum Access {
    Read,
    Write(u16),
}

impl Miim {
    fn access_cycles(&self) -> u64 {
        miim::DIVIDER[(self.config >> 2 & 0xF) as usize] * miim::PERIODS
    }

    /// Brings the state up to `now`.
    fn settle(&mut self, now: u64) {
        if now < self.busy_until {
            return;
        }
        let (at, register) = (self.busy_until, self.address & 0x1F);
        let here = self.address >> 8 & 0x1F == phy::ADDRESS;
        match self.pending.take() {
            // An undriven line is pulled up.
            Some(Access::Read) if !here => self.data = 0xFFFF,
            Some(Access::Read) => self.data = u32::from(self.phy.read(register, at)),
            Some(Access::Write(value)) if here => self.phy.write(register, value, at),
            _ => {}
        }
        if self.command & miim::SCAN != 0 {
            self.begin(Access::Read, now);
        }
    }

    fn begin(&mut self, access: Access, now: u64) {
        self.pending = Some(access);
        self.busy_until = now + self.access_cycles();
    }

    /// Handles a write to MCMD: a rising READ or SCAN begins an access.
    pub fn set_command(&mut self, value: u32, now: u64) {
        self.settle(now);
        let rising = value & !self.command;
        self.command = value & (miim::READ | miim::SCAN);
        if rising & (miim::READ | miim::SCAN) != 0 {
            self.begin(Access::Read, now);
        }
    }

    /// Handles a write to MWTD.
    pub fn write_data(&mut self, value: u32, now: u64) {
        self.settle(now);
        self.begin(Access::Write(value as u16), now);
    }

    /// MRDD.
    pub fn read_data(&mut self, now: u64) -> u32 {
        self.settle(now);
        self.data
    }

    /// MIND.
    pub fn indicators(&mut self, now: u64) -> u32 {
        self.settle(now);
        let reading = matches!(self.pending, Some(Access::Read));
        let mut bits = if self.pending.is_some() {
            miim::BUSY
        } else {
            0
        };
        if reading {
            bits |= miim::NOT_VALID;
        }
        if self.command & miim::SCAN != 0 {
            bits |= miim::SCANNING;
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_takes_64_periods_of_the_clock_that_is_chosen() {
        let mut miim = Miim {
            // CLOCK SELECT 10: divided by 44, the 2.5 MHz of IEEE 802.3 from below at 100 MHz.
            config: 10 << 2,
            address: phy::ADDRESS << 8 | 2,
            ..Miim::default()
        };
        miim.set_command(miim::READ, 1000);
        assert_eq!(miim.indicators(1000), miim::BUSY | miim::NOT_VALID);
        assert_eq!(miim.indicators(1000 + 44 * 64 - 1) & miim::BUSY, 1);
        assert_eq!(miim.indicators(1000 + 44 * 64), 0);
        assert_eq!(miim.read_data(4000), 0x2000);
    }

    #[test]
    fn nobody_answers_at_another_address() {
        let mut miim = Miim {
            address: 5 << 8,
            ..Miim::default()
        };
        miim.write_data(0x8000, 0);
        miim.set_command(miim::READ, 10_000);
        assert_eq!(miim.read_data(20_000), 0xFFFF);
        miim.address = phy::ADDRESS << 8;
        miim.set_command(0, 20_000);
        miim.set_command(miim::READ, 20_000);
        assert_eq!(miim.read_data(30_000), 0x3100);
    }
}
