//! Whether an interface stamps frames by a clock of its own (`ethtool -T`), and whether that is switched on.

use std::fmt;

use super::PortName;
use super::sys::{ControlSocket, Stamping};

/// Bits of SO_TIMESTAMPING in linux/net_tstamp.h.
const TX_HARDWARE: u32 = 1;
const RX_HARDWARE: u32 = 1 << 2;
const RAW_HARDWARE: u32 = 1 << 6;
/// HWTSTAMP_TX_ON and HWTSTAMP_FILTER_ALL.
const TX_ON: u32 = 1;
const FILTER_ALL: u32 = 1;

/// The stamps of a card that has a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardStamps {
    /// The interface.
    pub port: PortName,
    /// The number of the card's clock, as in `/dev/ptp0`.
    pub clock: u32,
    /// Whether sent frames are stamped now.
    pub sent: bool,
    /// Whether all received frames are stamped now.
    pub received: bool,
}

impl CardStamps {
    /// The stamps of a port's card; `None` where it has no clock, cannot stamp every frame, or cannot be queried.
    pub fn of(port: &PortName) -> Option<CardStamps> {
        let socket = ControlSocket::open(&port.netns().ok()?).ok()?;
        let can = socket.stamping(&port.interface)?;
        CardStamps::read(port, can, socket.stamps_on(&port.interface))
    }

    fn read(port: &PortName, can: Stamping, on: Option<(i32, i32)>) -> Option<CardStamps> {
        let wanted = TX_HARDWARE | RX_HARDWARE | RAW_HARDWARE;
        let has = can.so_timestamping & wanted == wanted;
        let all = can.tx_types & (1 << TX_ON) != 0 && can.rx_filters & (1 << FILTER_ALL) != 0;
        let clock = u32::try_from(can.phc_index).ok().filter(|_| has && all)?;
        Some(CardStamps {
            port: port.clone(),
            clock,
            sent: on.is_some_and(|(sent, _)| sent == TX_ON as i32),
            received: on.is_some_and(|(_, received)| received == FILTER_ALL as i32),
        })
    }
}

impl fmt::Display for CardStamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CardStamps { port, clock, .. } = self;
        match self.sent && self.received {
            true => write!(f, "by the card of {port} (/dev/ptp{clock})"),
            false => write!(
                f,
                "by the kernel: the card of {port} has a clock (/dev/ptp{clock}), and its stamps are off (hwstamp_ctl -i {} -t 1 -r 1)",
                port.interface
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `ethtool -T` shows of a card such as an Intel I210.
    const CARD: Stamping = Stamping {
        so_timestamping: 0x5f,
        phc_index: 2,
        tx_types: 0b11,
        rx_filters: 0b11,
    };

    fn of(can: Stamping, on: Option<(i32, i32)>) -> Option<CardStamps> {
        CardStamps::read(&PortName::new(None, "eth1").unwrap(), can, on)
    }

    #[test]
    fn a_card_with_a_clock_is_told_with_its_state() {
        let on = of(CARD, Some((1, 1))).unwrap();
        assert_eq!((on.clock, on.sent, on.received), (2, true, true));
        assert_eq!(on.to_string(), "by the card of eth1 (/dev/ptp2)");
        for off in [None, Some((0, 0)), Some((1, 0)), Some((1, 12))] {
            let told = of(CARD, off).unwrap().to_string();
            assert!(
                told.starts_with("by the kernel") && told.contains("hwstamp_ctl -i eth1"),
                "{told}"
            );
        }
    }

    #[test]
    fn what_stamps_only_in_software_or_only_ptp_has_no_card() {
        for can in [
            Stamping {
                so_timestamping: 0x1a,
                ..CARD
            },
            Stamping {
                phc_index: -1,
                ..CARD
            },
            // The frames of PTP alone.
            Stamping {
                rx_filters: 1 << 12,
                ..CARD
            },
            Stamping {
                tx_types: 1,
                ..CARD
            },
        ] {
            assert_eq!(of(can, Some((1, 1))), None, "{can:?}");
        }
        // The loopback has stamps of the kernel alone.
        assert_eq!(CardStamps::of(&PortName::new(None, "lo").unwrap()), None);
    }
}
