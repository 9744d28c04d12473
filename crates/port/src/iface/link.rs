//! The kernel's counters of a port's link (rtnetlink(7), linux/if_link.h). They record each fault, however short.

use std::fmt;
use std::io;

use nix::sys::socket::SockProtocol;

use super::{IfaceError, PortName};
use crate::netlink::{self, NetlinkQuery, attribute, find, number32, number64};

const RTM_GETLINK: u16 = 18;
const IFLA_IFNAME: u16 = 3;
const IFLA_STATS64: u16 = 23;
const IFLA_CARRIER_CHANGES: u16 = 35;
/// Length of `struct ifinfomsg`, and the offsets of its number and flags.
const INFO: usize = 16;
pub(super) const INFO_INDEX: usize = 4;
pub(super) const INFO_FLAGS: usize = 8;
/// Offsets of `rx_packets`, `tx_packets` and `tx_dropped` in `struct rtnl_link_stats64`.
const STATS_RX_PACKETS: usize = 0;
const STATS_TX_PACKETS: usize = 8;
const STATS_TX_DROPPED: usize = 56;
pub(super) const IFF_UP: u32 = 1;
const IFF_LOWER_UP: u32 = 1 << 16;

/// A port's link at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// The interface's number. Another number is another interface, even of the same name.
    pub index: u32,
    /// Whether it was set up.
    pub up: bool,
    /// Whether it has a carrier.
    pub carrier: bool,
    /// How often the carrier changed since the interface exists.
    pub carrier_changes: u32,
    /// Frames that the driver has received.
    pub received_frames: u64,
    /// Frames that the driver has sent.
    pub transmitted_frames: u64,
    /// Frames that the driver did not take, or dropped.
    pub dropped_frames: u64,
}

/// What happened to a link between two queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// The interface is gone.
    Deleted,
    /// Another interface has its name now.
    Recreated,
    /// It is down.
    Down,
    /// It has no carrier.
    NoCarrier,
    /// The carrier changed this often.
    CarrierChanged(u32),
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkFault::Deleted => write!(f, "the interface was deleted"),
            LinkFault::Recreated => write!(f, "the interface was deleted and created again"),
            LinkFault::Down => write!(f, "the interface was set down"),
            LinkFault::NoCarrier => write!(f, "the carrier was lost"),
            LinkFault::CarrierChanged(1) => write!(f, "the carrier changed once"),
            LinkFault::CarrierChanged(n) => write!(f, "the carrier changed {n} times"),
        }
    }
}

impl LinkState {
    /// Query the kernel about a port; `None` if it does not exist.
    ///
    /// # Errors
    /// Errors of the namespace, or [`IfaceError::Ask`].
    pub fn query(port: &PortName) -> Result<Option<LinkState>, IfaceError> {
        let answer = port.netns()?.run_in(|| ask(&port.interface))?;
        match answer {
            Ok(state) => Ok(Some(state)),
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(source) => Err(IfaceError::Ask {
                port: port.clone(),
                what: "link state",
                source,
            }),
        }
    }

    /// What happened to the link from this moment to `now`.
    pub fn fault_until(&self, now: Option<&LinkState>) -> Option<LinkFault> {
        let Some(now) = now else {
            return Some(LinkFault::Deleted);
        };
        let changes = now.carrier_changes.wrapping_sub(self.carrier_changes);
        if now.index != self.index {
            Some(LinkFault::Recreated)
        } else if self.up && !now.up {
            Some(LinkFault::Down)
        } else if self.carrier && !now.carrier {
            Some(LinkFault::NoCarrier)
        } else {
            (changes > 0).then_some(LinkFault::CarrierChanged(changes))
        }
    }
}

/// Query an interface of the calling thread's namespace.
fn ask(name: &str) -> io::Result<LinkState> {
    let request = NetlinkQuery {
        kind: RTM_GETLINK,
        all: false,
        head: &[0; INFO],
        attributes: &attribute(IFLA_IFNAME, &[name.as_bytes(), b"\0"].concat()),
    };
    let answer = request.ask(&netlink::open(SockProtocol::NetlinkRoute)?)?;
    let unreadable = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "the kernel's reply lacks attributes of a link",
        )
    };
    answer
        .first()
        .and_then(|info| read(info))
        .ok_or_else(unreadable)
}

fn read(info: &[u8]) -> Option<LinkState> {
    let attributes = info.get(INFO..)?;
    let flags = number32(info.get(INFO_FLAGS..)?)?;
    let stats = find(attributes, IFLA_STATS64)?;
    Some(LinkState {
        index: number32(info.get(INFO_INDEX..)?)?,
        up: flags & IFF_UP != 0,
        carrier: flags & IFF_LOWER_UP != 0,
        carrier_changes: number32(find(attributes, IFLA_CARRIER_CHANGES)?)?,
        received_frames: number64(stats.get(STATS_RX_PACKETS..)?)?,
        transmitted_frames: number64(stats.get(STATS_TX_PACKETS..)?)?,
        dropped_frames: number64(stats.get(STATS_TX_DROPPED..)?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_loopback_has_a_link_and_an_unknown_interface_has_none() {
        let lo = LinkState::query(&"lo".parse().unwrap()).unwrap().unwrap();
        assert_eq!(lo.fault_until(Some(&lo)), None);
        assert_eq!(LinkState::query(&"nosuch0".parse().unwrap()).unwrap(), None);
    }

    #[test]
    fn each_change_is_a_fault_of_its_own() {
        let before = LinkState {
            index: 4,
            up: true,
            carrier: true,
            carrier_changes: u32::MAX,
            received_frames: 0,
            transmitted_frames: 0,
            dropped_frames: 0,
        };
        let fault = |change: fn(&mut LinkState)| {
            let mut now = before;
            change(&mut now);
            before.fault_until(Some(&now))
        };
        assert_eq!(before.fault_until(None), Some(LinkFault::Deleted));
        assert_eq!(fault(|s| s.index = 5), Some(LinkFault::Recreated));
        assert_eq!(fault(|s| s.up = false), Some(LinkFault::Down));
        assert_eq!(fault(|s| s.carrier = false), Some(LinkFault::NoCarrier));
        let twice = fault(|s| s.carrier_changes = 1);
        assert_eq!(twice, Some(LinkFault::CarrierChanged(2)), "it wraps");
        assert_eq!(fault(|s| s.transmitted_frames = 9), None);
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
