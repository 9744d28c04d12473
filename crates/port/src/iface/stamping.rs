//! Hardware timestamping of an interface by its own clock (`ethtool -T`): whether it is possible and on, and switching
//! it on for the time of a run. A record lets the next run switch off what a killed one left on.

use std::fmt;
use std::io;

use wirelab_cores::{Recorded, restore_recorded};

use super::PortName;
use super::sys::{ControlSocket, Stamping};

/// Bits of SO_TIMESTAMPING in linux/net_tstamp.h.
const TX_HARDWARE: u32 = 1;
const RX_HARDWARE: u32 = 1 << 2;
const RAW_HARDWARE: u32 = 1 << 6;
/// HWTSTAMP_TX_ON and HWTSTAMP_FILTER_ALL.
const TX_ON: u32 = 1;
const FILTER_ALL: u32 = 1;
/// Transmit type and receive filter, with timestamping on and off.
const ON: (i32, i32) = (TX_ON as i32, FILTER_ALL as i32);
const OFF: (i32, i32) = (0, 0);
/// The records of timestamping that was switched on.
const RECORDS: &str = "stamps";

/// Hardware timestamping of an interface that has a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardStamps {
    /// The interface.
    pub port: PortName,
    /// The number of its clock, as in `/dev/ptp0`.
    pub clock: u32,
    /// Whether sent frames are stamped now.
    pub sent: bool,
    /// Whether all received frames are stamped now.
    pub received: bool,
    /// Whether it can stamp every frame; some drivers stamp only PTP.
    pub every: bool,
    /// Why it was not switched on; empty if nothing was tried.
    pub why_off: String,
}

/// Timestamping that this process switched on. Dropping this switches it off.
#[derive(Debug)]
pub struct SwitchedOn {
    port: PortName,
    /// Dropped after timestamping is off. `None` without a folder for records, which does not prevent timestamping.
    _record: Option<Recorded>,
}

impl Drop for SwitchedOn {
    fn drop(&mut self) {
        if let Some(socket) = socket(&self.port) {
            // A setting that cannot be restored, e.g. because the interface is gone, does no harm.
            switch_off(&socket, &self.port.interface);
        }
    }
}

/// Switches timestamping off if its setting is wirelab's; returns whether nothing is left to do. Another program may
/// have changed the setting meanwhile, which then stays.
fn switch_off(socket: &ControlSocket, interface: &str) -> bool {
    socket.stamps_on(interface) != Some(ON) || socket.set_stamps(interface, OFF).is_ok()
}

fn socket(port: &PortName) -> Option<ControlSocket> {
    ControlSocket::open(&port.netns().ok()?).ok()
}

impl CardStamps {
    /// Hardware timestamping of a port, switched on if no program uses it. It is a setting of the whole interface, so
    /// an existing one stays. The returned guard switches it off again. `None` if the port has no clock or cannot be
    /// queried. A port that cannot stamp every frame is unchanged. Timestamping that a killed process left on is
    /// switched off first.
    pub fn switched_on(port: &PortName) -> Option<(CardStamps, Option<SwitchedOn>)> {
        let socket = socket(port)?;
        let name = &port.interface;
        let can = socket.stamping(name)?;
        CardStamps::read(port, can, None)?;
        let here = port.netns().ok()?;
        // A setting that cannot be read or restored stays on record for a process that may.
        let _ = here.run_in(|| restore_recorded(RECORDS, |left, _| switch_off(&socket, left)));
        let now = socket.stamps_on(name);
        let mut card = CardStamps::read(port, can, now)?;
        let record = match now == Some(OFF) && card.every {
            true => here.run_in(|| Recorded::new(RECORDS, name, "off").ok()),
            false => Ok(None),
        };
        let on = card.switch(now, |stamps| socket.set_stamps(name, stamps));
        let on = on.then(|| SwitchedOn {
            port: port.clone(),
            _record: record.ok().flatten(),
        });
        Some((card, on))
    }

    fn read(port: &PortName, can: Stamping, on: Option<(i32, i32)>) -> Option<CardStamps> {
        let wanted = TX_HARDWARE | RX_HARDWARE | RAW_HARDWARE;
        let has = can.so_timestamping & wanted == wanted;
        let all = can.tx_types & (1 << TX_ON) != 0 && can.rx_filters & (1 << FILTER_ALL) != 0;
        let clock = u32::try_from(can.phc_index).ok().filter(|_| has)?;
        Some(CardStamps {
            port: port.clone(),
            clock,
            sent: on.is_some_and(|(sent, _)| sent == TX_ON as i32),
            received: on.is_some_and(|(_, received)| received == FILTER_ALL as i32),
            every: all,
            why_off: String::new(),
        })
    }

    /// Switches timestamping on by `set` if the present setting allows it; returns whether this call switched it on.
    fn switch(
        &mut self,
        now: Option<(i32, i32)>,
        mut set: impl FnMut((i32, i32)) -> io::Result<(i32, i32)>,
    ) -> bool {
        self.why_off = match now {
            _ if !self.every => return false,
            Some(ON) => return false,
            Some(OFF) => match set(ON) {
                Ok(ON) => {
                    (self.sent, self.received) = (true, true);
                    return true;
                }
                Ok((sent, filter)) => {
                    let _ = set(OFF);
                    format!(
                        "its driver took type {sent} and filter {filter} in place of all frames"
                    )
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    "switching them on needs CAP_NET_ADMIN".to_owned()
                }
                Err(error) => format!("its driver did not switch them on: {error}"),
            },
            Some((sent, filter)) => {
                format!("another program set them (type {sent}, filter {filter}), e.g. ptp4l")
            }
            None => "its driver does not say how they are set".to_owned(),
        };
        false
    }
}

impl fmt::Display for CardStamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CardStamps { port, clock, .. } = self;
        if !self.every {
            return write!(
                f,
                "by the kernel: the card of {port} has a clock (/dev/ptp{clock}), and does not stamp every frame (ethtool -T {})",
                port.interface
            );
        }
        if self.sent && self.received {
            return write!(f, "by the card of {port} (/dev/ptp{clock})");
        }
        write!(
            f,
            "by the kernel: the card of {port} has a clock (/dev/ptp{clock}), and its stamps are off"
        )?;
        if !self.why_off.is_empty() {
            write!(f, ": {}", self.why_off)?;
        }
        write!(f, "; fix: hwstamp_ctl -i {} -t 1 -r 1", port.interface)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `ethtool -T` shows for a card such as an Intel I210.
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
    fn a_card_with_a_clock_is_reported_with_its_state() {
        let on = of(CARD, Some((1, 1))).unwrap();
        assert_eq!((on.clock, on.sent, on.received), (2, true, true));
        assert_eq!(on.to_string(), "by the card of eth1 (/dev/ptp2)");
        for off in [None, Some((0, 0)), Some((1, 0)), Some((1, 12))] {
            let text = of(CARD, off).unwrap().to_string();
            assert!(
                text.starts_with("by the kernel") && text.contains("hwstamp_ctl -i eth1"),
                "{text}"
            );
        }
    }

    #[test]
    fn stamps_that_nobody_uses_are_switched_on() {
        let mut card = of(CARD, Some((0, 0))).unwrap();
        let mut settings = Vec::new();
        assert!(card.switch(Some((0, 0)), |stamps| {
            settings.push(stamps);
            Ok(stamps)
        }));
        assert_eq!(settings, [(1, 1)]);
        assert_eq!(card.to_string(), "by the card of eth1 (/dev/ptp2)");
        // Already on: another program switched them on, so they stay.
        let mut card = of(CARD, Some((1, 1))).unwrap();
        assert!(!card.switch(Some((1, 1)), |_| panic!("nothing is to be set")));
        assert_eq!(card.to_string(), "by the card of eth1 (/dev/ptp2)");
    }

    #[test]
    fn stamps_that_stay_off_say_why() {
        let refused = |errno| move |_| Err(io::Error::from_raw_os_error(errno));
        let why = |now, set: &mut dyn FnMut((i32, i32)) -> io::Result<(i32, i32)>| {
            let mut card = of(CARD, now).unwrap();
            assert!(!card.switch(now, set));
            let text = card.to_string();
            assert!(
                text.starts_with("by the kernel")
                    && text.ends_with("; fix: hwstamp_ctl -i eth1 -t 1 -r 1"),
                "{text}"
            );
            text
        };
        let text = why(Some((0, 0)), &mut refused(libc::EPERM));
        assert!(text.contains("CAP_NET_ADMIN"), "{text}");
        let text = why(Some((0, 0)), &mut refused(libc::ERANGE));
        assert!(text.contains("did not switch them on"), "{text}");
        // ptp4l stamps only PTP frames: its setting is not changed.
        let text = why(Some((1, 12)), &mut |_| panic!("nothing is to be set"));
        assert!(
            text.contains("another program set them (type 1, filter 12)"),
            "{text}"
        );
        assert!(why(None, &mut |_| panic!("nothing is to be set")).contains("does not say"));
        // A driver may accept less than requested: then the setting is restored.
        let mut settings = Vec::new();
        let text = why(Some((0, 0)), &mut |stamps| {
            settings.push(stamps);
            Ok((stamps.0, if stamps == (1, 1) { 12 } else { stamps.1 }))
        });
        assert!(text.contains("filter 12 in place of all frames"), "{text}");
        assert_eq!(settings, [(1, 1), (0, 0)]);
    }

    #[test]
    fn what_stamps_only_in_software_has_no_card_and_only_ptp_says_so() {
        for can in [
            Stamping {
                so_timestamping: 0x1a,
                ..CARD
            },
            Stamping {
                phc_index: -1,
                ..CARD
            },
        ] {
            assert_eq!(of(can, Some((1, 1))), None, "{can:?}");
        }
        for can in [
            // Only PTP frames.
            Stamping {
                rx_filters: 1 << 12,
                ..CARD
            },
            Stamping {
                tx_types: 1,
                ..CARD
            },
        ] {
            let mut card = of(can, Some((0, 0))).unwrap();
            assert!(!card.switch(Some((0, 0)), |_| panic!("nothing is to be set")));
            let text = card.to_string();
            assert!(
                text.starts_with("by the kernel") && text.contains("does not stamp every frame"),
                "{text}"
            );
        }
        // The loopback has only the kernel's stamps, and refuses more.
        let lo = PortName::new(None, "lo").unwrap();
        let socket = socket(&lo).unwrap();
        assert!(switch_off(&socket, "lo"), "they are not on");
        assert!(socket.stamps_on("lo").is_none_or(|on| on == OFF));
        assert!(socket.set_stamps("lo", ON).is_err());
        assert!(CardStamps::switched_on(&lo).is_none());
    }
}
