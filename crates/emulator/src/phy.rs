//! The PHY of the MCB1700: a National DP83848 at management address 1, as a driver sees it.
//!
//! Its registers are those of the register block in its datasheet. Negotiation ends after [`NEGOTIATION_CYCLES`], far
//! sooner than on a cable: no figure of a trial depends on it.

/// Its address on the management bus: the strap of the MCB1700.
pub const ADDRESS: u32 = 1;
/// PHYIDR1 and PHYIDR2 of a DP83848C.
pub const IDS: [u16; 2] = [0x2000, 0x5C90];
/// Cycles from the start of negotiation to a link. Assumption, for quick tests: 100 µs; on a cable it takes some
/// seconds.
pub const NEGOTIATION_CYCLES: u64 = 10_000;

const BMCR_RESET: u16 = 1 << 15;
const BMCR_LOOPBACK: u16 = 1 << 14;
const BMCR_SPEED: u16 = 1 << 13;
const BMCR_NEGOTIATE: u16 = 1 << 12;
const BMCR_POWER_DOWN: u16 = 1 << 11;
const BMCR_RESTART: u16 = 1 << 9;
const BMCR_DUPLEX: u16 = 1 << 8;
const BMSR_COMPLETE: u16 = 1 << 5;
const BMSR_LINK: u16 = 1 << 2;
/// 10 and 100 Mbit/s, half and full duplex, autonegotiation, no preamble needed.
const BMSR_ABILITIES: u16 = 0x7849;
const STS_LINK: u16 = 1;
const STS_SPEED_10: u16 = 1 << 1;
const STS_DUPLEX: u16 = 1 << 2;
const STS_COMPLETE: u16 = 1 << 4;

/// The PHY.
#[derive(Clone, Debug)]
pub struct Phy {
    bmcr: u16,
    anar: u16,
    others: [u16; 32],
    linked_at: u64,
    cable: bool,
    /// BMSR shows a lost link until it is read (IEEE 802.3, 22.2.4.2.13).
    lost: bool,
}

impl Default for Phy {
    fn default() -> Phy {
        Phy {
            bmcr: BMCR_SPEED | BMCR_NEGOTIATE | BMCR_DUPLEX,
            anar: 0x01E1,
            others: [0; 32],
            linked_at: NEGOTIATION_CYCLES,
            cable: true,
            lost: false,
        }
    }
}

impl Phy {
    /// Plugs or unplugs the cable; a link must then be negotiated again.
    pub fn set_cable(&mut self, plugged: bool, now: u64) {
        if plugged && !self.cable {
            self.linked_at = now + NEGOTIATION_CYCLES;
        }
        self.lost |= !plugged;
        self.cable = plugged;
    }

    /// Whether frames pass.
    pub fn has_link(&self, now: u64) -> bool {
        let powered = self.bmcr & BMCR_POWER_DOWN == 0;
        let negotiated = self.bmcr & BMCR_NEGOTIATE == 0 || now >= self.linked_at;
        self.cable && powered && negotiated
    }

    /// Whether the PHY loops transmitted frames back to the MAC.
    pub const fn loops_back(&self) -> bool {
        self.bmcr & BMCR_LOOPBACK != 0
    }

    /// Whether the link runs at 100 Mbit/s.
    pub const fn is_fast(&self) -> bool {
        self.bmcr & BMCR_NEGOTIATE != 0 && self.anar & 0x0180 != 0
            || self.bmcr & BMCR_NEGOTIATE == 0 && self.bmcr & BMCR_SPEED != 0
    }

    fn is_full_duplex(&self) -> bool {
        if self.bmcr & BMCR_NEGOTIATE == 0 {
            return self.bmcr & BMCR_DUPLEX != 0;
        }
        let full = if self.is_fast() { 0x0100 } else { 0x0040 };
        self.anar & full != 0
    }

    /// Reads a register.
    pub fn read(&mut self, register: u32, now: u64) -> u16 {
        let link = self.has_link(now);
        let complete = link && self.bmcr & BMCR_NEGOTIATE != 0;
        let when = |is: bool, bit: u16| if is { bit } else { 0 };
        match register {
            0 => self.bmcr,
            1 => {
                let shown = link && !std::mem::take(&mut self.lost);
                BMSR_ABILITIES | when(shown, BMSR_LINK) | when(complete, BMSR_COMPLETE)
            }
            2 => IDS[0],
            3 => IDS[1],
            4 => self.anar,
            // The partner supports everything, and has answered.
            5 => when(complete, 0x45E1),
            0x10 => {
                when(link, STS_LINK)
                    | when(!self.is_fast(), STS_SPEED_10)
                    | when(self.is_full_duplex(), STS_DUPLEX)
                    | when(complete, STS_COMPLETE)
            }
            _ => self.others[(register % 32) as usize],
        }
    }

    /// Writes a register.
    pub fn write(&mut self, register: u32, value: u16, now: u64) {
        match register {
            0 if value & BMCR_RESET != 0 => {
                let (cable, lost) = (self.cable, self.lost);
                *self = Phy {
                    cable,
                    lost,
                    linked_at: now + NEGOTIATION_CYCLES,
                    ..Phy::default()
                };
            }
            0 => {
                if value & (BMCR_RESTART | BMCR_NEGOTIATE & !self.bmcr) != 0 {
                    self.linked_at = now + NEGOTIATION_CYCLES;
                }
                self.bmcr = value & !BMCR_RESTART;
            }
            4 => self.anar = value,
            1..=3 | 5 | 0x10 => {}
            _ => self.others[(register % 32) as usize] = value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negotiation_gives_a_full_duplex_link_at_100_mbit_per_s() {
        let mut phy = Phy::default();
        assert_eq!((phy.read(2, 0), phy.read(3, 0)), (0x2000, 0x5C90));
        assert_eq!(phy.read(1, 0) & (BMSR_LINK | BMSR_COMPLETE), 0);
        let later = NEGOTIATION_CYCLES;
        assert_eq!(phy.read(1, later), 0x7849 | BMSR_LINK | BMSR_COMPLETE);
        let status = phy.read(0x10, later);
        assert_eq!(status, STS_LINK | STS_DUPLEX | STS_COMPLETE);
        phy.write(0, BMCR_RESET, later);
        assert_eq!(phy.read(0, later), 0x3100, "the reset bit clears itself");
        assert!(!phy.has_link(later));
    }

    #[test]
    fn a_lost_link_is_shown_once_even_when_it_is_back() {
        let mut phy = Phy::default();
        let now = NEGOTIATION_CYCLES;
        phy.set_cable(false, now);
        assert!(!phy.has_link(now));
        phy.set_cable(true, now + 10);
        let later = now + 10 + NEGOTIATION_CYCLES;
        assert_eq!(phy.read(1, later) & BMSR_LINK, 0);
        assert_eq!(phy.read(1, later) & BMSR_LINK, BMSR_LINK);
    }

    #[test]
    fn the_link_is_the_result_of_what_is_advertised() {
        let mut phy = Phy::default();
        phy.write(4, 0x0041, 0);
        let status = phy.read(0x10, NEGOTIATION_CYCLES);
        assert_eq!(
            status & (STS_SPEED_10 | STS_DUPLEX),
            STS_SPEED_10 | STS_DUPLEX
        );
        phy.write(0, BMCR_SPEED, 0);
        assert_eq!(phy.read(0x10, 0) & (STS_SPEED_10 | STS_DUPLEX), 0);
        assert!(!phy.loops_back());
    }
}
