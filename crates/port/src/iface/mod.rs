//! An interface: its address, MTU, state, driver, link rate and queues, and the lock on it.
//!
//! All queries use a socket opened inside the interface's namespace, because sysfs shows the namespace in which it
//! was mounted.

mod egress;
mod error;
mod events;
mod hop;
mod link;
mod lock;
mod name;
mod qdisc;
mod stamping;
pub(crate) mod sys;

use crate::netns::{NetNs, Privilege, PrivilegedWork};

pub use egress::{Departed, Egress};
pub use error::IfaceError;
pub use events::LinkEvents;
pub use hop::router_to;
pub use link::{LinkFault, LinkState};
pub use lock::PortLock;
pub use name::{PortName, PortNameError};
pub use qdisc::shaper_of;
pub use stamping::{CardStamps, SwitchedOn};
pub use wirelab_wire::Mac;

/// Length of the Ethernet header in bytes, which the MTU does not count (IEEE 802.3).
const HEADER: u32 = 14;

/// Length of a VLAN tag in bytes, which the MTU does not count either (IEEE 802.1Q).
const VLAN_TAG: u32 = 4;

/// Drivers of software interfaces. The speed that `ethtool` shows for them is a constant in the driver's source (veth
/// and bridge 10 Gbit/s, tun 10 Mbit/s), not the rate of a link.
const WITHOUT_LINK: [&str; 9] = [
    "veth", "tun", "dummy", "bridge", "ifb", "macvlan", "ipvlan", "vxlan", "lo",
];

/// The state of an interface at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its port.
    pub port: PortName,
    /// Its number inside its namespace.
    pub index: u32,
    /// Its Ethernet address.
    pub mac: Mac,
    /// Its MTU in bytes: the bytes after the Ethernet header, without FCS.
    pub mtu: u32,
    /// Whether it was set up (`ip link set … up`).
    pub up: bool,
    /// Whether it has a carrier: the other end exists and is up.
    pub carrier: bool,
    /// Whether it is the loopback interface.
    pub loopback: bool,
    /// The driver's name; `None` if the kernel reports none.
    pub driver: Option<String>,
    /// The link rate in bit/s; `None` without a carrier or link, or if the driver does not report it.
    pub link_rate: Option<u64>,
    /// Number of transmit queues in use, if the driver reports it.
    pub tx_queues: Option<u32>,
    /// Number of receive queues in use, if the driver reports it.
    pub rx_queues: Option<u32>,
}

impl Interface {
    /// Queries the kernel about a port.
    ///
    /// # Errors
    /// [`IfaceError::Unknown`], which lists the interfaces that exist there; errors of the namespace.
    pub fn query(port: &PortName) -> Result<Interface, IfaceError> {
        let namespace = port.netns()?;
        let socket = sys::ControlSocket::open(&namespace)?;
        Interface::query_on(&socket, &namespace, port)
    }

    fn query_on(
        socket: &sys::ControlSocket,
        namespace: &NetNs,
        port: &PortName,
    ) -> Result<Interface, IfaceError> {
        let name = port.interface.as_str();
        let failed = |what: &'static str| {
            move |source: std::io::Error| IfaceError::Ask {
                port: port.clone(),
                what,
                source,
            }
        };
        let index = socket.index(name).map_err(|source| {
            if source.raw_os_error() == Some(libc::ENODEV) {
                IfaceError::Unknown {
                    port: port.clone(),
                    known: names_in(namespace).unwrap_or_default(),
                }
            } else {
                failed("number")(source)
            }
        })?;
        let flags = socket.flags(name).map_err(failed("flags"))?;
        let driver = socket.driver(name);
        let carrier = socket
            .carrier(name)
            .unwrap_or(flags & libc::IFF_RUNNING != 0);
        let has_link = driver
            .as_deref()
            .is_some_and(|d| !WITHOUT_LINK.contains(&d));
        let queues = socket.channels(name);
        Ok(Interface {
            port: port.clone(),
            index,
            mac: Mac(socket.mac(name).map_err(failed("address"))?),
            mtu: socket.mtu(name).map_err(failed("MTU"))?,
            up: flags & libc::IFF_UP != 0,
            carrier,
            loopback: flags & libc::IFF_LOOPBACK != 0,
            link_rate: if has_link && carrier {
                socket.link_rate(name)
            } else {
                None
            },
            driver,
            tx_queues: queues.map(|q| q.tx),
            rx_queues: queues.map(|q| q.rx),
        })
    }

    /// Whether frames sent now would leave: the interface is up, has a carrier, and the kernel's link watch has
    /// started its queues, which happens some time after the carrier appears.
    pub(crate) fn is_running(port: &PortName) -> Result<bool, IfaceError> {
        let socket = sys::ControlSocket::open(&port.netns()?)?;
        let flags = socket
            .flags(&port.interface)
            .map_err(|source| IfaceError::Ask {
                port: port.clone(),
                what: "flags",
                source,
            })?;
        // The link watch sets the flag and starts the queues under one lock, which the carrier query also takes.
        let carrier = socket.carrier(&port.interface).unwrap_or(true);
        Ok(flags & libc::IFF_RUNNING != 0 && carrier)
    }

    /// Refuses an interface that is down, with the command that brings it up.
    ///
    /// # Errors
    /// [`IfaceError::Down`].
    pub fn require_up(&self) -> Result<(), IfaceError> {
        if self.up {
            return Ok(());
        }
        Err(IfaceError::Down {
            port: self.port.clone(),
        })
    }

    /// Refuses an interface that is down or without a carrier.
    ///
    /// # Errors
    /// [`IfaceError::Down`], [`IfaceError::NoCarrier`].
    pub fn require_carrier(&self) -> Result<(), IfaceError> {
        self.require_up()?;
        if self.carrier {
            return Ok(());
        }
        Err(IfaceError::NoCarrier {
            port: self.port.clone(),
        })
    }

    /// The maximum length in bytes (without FCS), with or without a VLAN tag in the frame.
    pub fn greatest_length(&self, tagged: bool) -> u32 {
        let tag = if tagged { VLAN_TAG } else { 0 };
        self.mtu.saturating_add(HEADER + tag)
    }

    /// Refuses a length (without FCS) that the MTU does not allow.
    ///
    /// # Errors
    /// [`IfaceError::MtuTooSmall`], which names both numbers and the command that raises the MTU.
    pub fn require_length(&self, length: u32, tagged: bool) -> Result<(), IfaceError> {
        if length <= self.greatest_length(tagged) {
            return Ok(());
        }
        Err(IfaceError::MtuTooSmall {
            port: self.port.clone(),
            length,
            mtu: self.mtu,
            needed: length - HEADER - if tagged { VLAN_TAG } else { 0 },
        })
    }
}

/// The names of all interfaces in a namespace.
///
/// # Errors
/// Errors of the namespace, or the kernel's error.
pub fn names_in(namespace: &NetNs) -> Result<Vec<String>, IfaceError> {
    let found = namespace.run_in(|| {
        nix::net::if_::if_nameindex().map(|all| {
            all.iter()
                .map(|interface| interface.name().to_string_lossy().into_owned())
                .collect()
        })
    })?;
    found.map_err(|errno| IfaceError::List {
        namespace: namespace.label(),
        source: errno.into(),
    })
}

/// Switches a feature of the driver by one of ethtool's one-value commands (`ETHTOOL_S…`).
pub(crate) fn set_feature(
    namespace: &NetNs,
    interface: &str,
    feature: sys::Feature,
    on: bool,
) -> Result<(), IfaceError> {
    let socket = sys::ControlSocket::open(namespace)?;
    match socket.set_feature(interface, feature, on) {
        // A driver without the feature has it off.
        Err(e) if !on && e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
        Err(e) if e.raw_os_error() == Some(libc::EPERM) => {
            Err(IfaceError::Privilege(Privilege::new(
                format!("to set {feature:?} of {interface}"),
                PrivilegedWork::Interface,
            )))
        }
        Err(source) => Err(IfaceError::Feature {
            interface: interface.to_owned(),
            feature: format!("{feature:?}"),
            source,
        }),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback() -> Interface {
        Interface::query(&"lo".parse().unwrap()).unwrap()
    }

    #[test]
    fn the_loopback_is_known_and_has_no_link_rate() {
        let lo = loopback();
        assert!(lo.loopback);
        assert_eq!(lo.mac, Mac::default());
        assert_eq!(lo.link_rate, None);
        assert!(lo.mtu >= 1280, "{}", lo.mtu);
    }

    #[test]
    fn an_unknown_interface_is_named_beside_those_that_exist() {
        let text = Interface::query(&"nosuch0".parse().unwrap())
            .unwrap_err()
            .to_string();
        assert!(text.contains("nosuch0") && text.contains("lo"), "{text}");
    }

    #[test]
    fn down_and_no_carrier_and_a_small_mtu_say_what_to_do() {
        let mut interface = loopback();
        interface.port = "lab-node/n0".parse().unwrap();
        interface.mtu = 1500;
        interface.up = false;
        let text = interface.require_carrier().unwrap_err().to_string();
        assert!(
            text.contains("`sudo ip -n lab-node link set dev n0 up`"),
            "{text}"
        );
        interface.up = true;
        interface.carrier = false;
        let text = interface.require_carrier().unwrap_err().to_string();
        assert!(text.contains("carrier"), "{text}");
        assert!(interface.require_length(1514, false).is_ok());
        assert!(interface.require_length(1518, true).is_ok());
        let text = interface
            .require_length(1515, false)
            .unwrap_err()
            .to_string();
        assert!(text.contains("1515") && text.contains("1500"), "{text}");
        assert!(
            text.contains("`sudo ip -n lab-node link set dev n0 mtu 1501`"),
            "{text}"
        );
    }
}
