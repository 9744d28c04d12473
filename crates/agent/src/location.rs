//! Where on the host a node is: its address, the interface with that address, and the cores that do its work.

use std::fs;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrLike, SockaddrStorage, socket};
use wirelab_control::value::Mac;
use wirelab_cores::interrupts::interrupts;
use wirelab_cores::{Cores, Meter, Steering, allowed};
use wirelab_port::iface::{Interface, PortName};
use wirelab_port::netns::{Privilege, PrivilegedWork};

use crate::options::{AgentError, Options};

/// Address, interface and cores of a node.
#[derive(Clone, Debug)]
pub struct Location {
    pub ip: IpAddr,
    /// The interface of the trials.
    pub interface: Interface,
    /// The node's cores.
    pub cores: Cores,
    /// Whether the node's cores may also do the tester's work.
    pub shared: bool,
    /// Whether the node can send and receive frames of the link layer.
    pub ethernet: bool,
    /// The cores that do the receive work of the interface; `None` if the system chooses.
    pub receive_cores: Option<Cores>,
}

/// What is missing, and the fix, for the user.
pub type Notices = Vec<String>;

impl Location {
    /// Find the location that the options describe; `steering` lasts as long as the node.
    pub fn find(
        options: &Options,
        notices: &mut Notices,
    ) -> Result<(Location, Option<Steering>), AgentError> {
        let ip = options.listen.ip();
        let name = match &options.interface {
            Some(name) => name.clone(),
            None => interface_of(ip)?.ok_or(AgentError::NoAddress(ip))?,
        };
        let port = PortName::new(None, &name)?;
        let interface = Interface::query(&port)?;
        interface.require_up()?;
        let all = allowed()?;
        let cores = match &options.cores {
            Some(cores) => cores.clone(),
            None => Cores::new(all.numbers().last().copied())?,
        };
        // Refuse an offline core before anything is changed.
        Meter::new(&cores)?;
        let mut location = Location {
            ip,
            ethernet: has_ethernet(ip, &interface, notices),
            interface,
            shared: false,
            cores,
            receive_cores: None,
        };
        let steering = location.separate(options.steer, notices);
        Ok((location, steering))
    }

    /// Steer the receive work to the node's cores. Set `shared` if their load includes the tester's.
    fn separate(&mut self, steer: bool, notices: &mut Notices) -> Option<Steering> {
        let name = &self.interface.port.interface;
        let mut shared = |why: String| {
            self.shared = true;
            notices.push(format!("CPU load will be marked as shared: {why}"));
        };
        if self.interface.loopback {
            shared(
                "over the loopback interface the tester's receive work is done here too".to_owned(),
            );
            return None;
        }
        // The node has all cores, so each core that receives is the node's. A tester on the same machine has no core
        // of its own; it detects that by the set-up keys `host` and `cpus`.
        if online().is_some_and(|online| online.without(&self.cores).is_none()) {
            self.receive_cores = Some(self.cores.clone());
            return None;
        }
        if !steer {
            shared(
                "the receive work of the interface stays on the cores that get its interrupts"
                    .to_owned(),
            );
            return None;
        }
        match Steering::to(name, &self.cores) {
            Ok(steering) => {
                notices.extend(stray_interrupts(name, &self.cores));
                self.receive_cores = Some(self.cores.clone());
                Some(steering)
            }
            Err(error) => {
                shared(error.to_string());
                None
            }
        }
    }

    /// The link-layer address of a host, as the kernel's neighbour table has it.
    pub fn neighbour(&self, ip: IpAddr) -> Option<Mac> {
        // In the calling thread's network namespace.
        let table = fs::read_to_string("/proc/thread-self/net/arp").ok()?;
        neighbour_in(&table, ip, &self.interface.port.interface)
    }
}

/// Why the node's CPU load lacks work: other cores get interrupts of the interface. `None` if no other core does.
fn stray_interrupts(interface: &str, cores: &Cores) -> Option<String> {
    let all = interrupts(interface).ok()?;
    let stray: Vec<String> = all
        .iter()
        .filter(|one| one.cores.without(cores).is_some())
        .map(|one| one.number.to_string())
        .collect();
    (!stray.is_empty()).then(|| {
        format!(
            "other cores get interrupts of {interface}, whose work is not in the CPU load; fix: move \
             them: `for i in {}; do echo {cores} | sudo tee /proc/irq/$i/smp_affinity_list; done`",
            stray.join(" ")
        )
    })
}

fn online() -> Option<Cores> {
    fs::read_to_string("/sys/devices/system/cpu/online")
        .ok()?
        .parse()
        .ok()
}

/// Whether Ethernet trials are possible; if not, a notice says why.
fn has_ethernet(ip: IpAddr, interface: &Interface, notices: &mut Notices) -> bool {
    if interface.loopback {
        notices.push(
            "Ethernet trials are not offered: the loopback interface has no frames".to_owned(),
        );
        return false;
    }
    if ip.is_ipv6() {
        notices.push(
            "Ethernet trials are not offered over IPv6; fix: listen on an IPv4 address".to_owned(),
        );
        return false;
    }
    let opened = socket(
        AddressFamily::Packet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        None,
    );
    if opened.is_err() {
        let lacks = Privilege::new("for Ethernet trials", PrivilegedWork::Packet);
        notices.push(format!("Ethernet trials are not offered: {lacks}"));
    }
    opened.is_ok()
}

/// The interface that has an address, in the network namespace of the calling thread.
fn interface_of(ip: IpAddr) -> Result<Option<String>, AgentError> {
    let all = getifaddrs().map_err(|errno| AgentError::Addresses(errno.into()))?;
    let has = |address: &SockaddrStorage| match ip {
        IpAddr::V4(v4) => address.as_sockaddr_in().is_some_and(|a| a.ip() == v4),
        IpAddr::V6(v6) => address.as_sockaddr_in6().is_some_and(|a| a.ip() == v6),
    };
    let mut found = all.filter(|one| {
        one.address
            .as_ref()
            .is_some_and(|address| address.family().is_some() && has(address))
    });
    Ok(found.next().map(|one| one.interface_name))
}

/// A complete entry of proc(5)'s `net/arp`.
fn neighbour_in(table: &str, ip: IpAddr, interface: &str) -> Option<Mac> {
    let row = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [address, _, flags, mac, _, device] = columns[..] else {
            return None;
        };
        let flags = u32::from_str_radix(flags.strip_prefix("0x")?, 16).ok()?;
        // ATF_COM of linux/if_arp.h: the entry is complete.
        let known = flags & 2 != 0 && address.parse() == Ok(ip) && device == interface;
        let mac: Option<Mac> = mac.parse().ok();
        mac.filter(|mac| known && mac.is_individual())
    };
    table.lines().skip(1).find_map(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_is_found_by_address_interface_and_state() {
        let table = "IP address HW type Flags HW address Mask Device\n\
            10.0.0.2 0x1 0x2 02:57:4c:00:00:02 * n0\n\
            10.0.0.3 0x1 0x0 00:00:00:00:00:00 * n0\n\
            10.0.0.4 0x1 0x2 02:57:4c:00:00:04 * n1\n\
            10.0.0.5 0x1 0x2 nonsense * n0\n";
        let find = |ip: &str| neighbour_in(table, ip.parse().unwrap(), "n0");
        assert_eq!(find("10.0.0.2"), Some(Mac([2, 0x57, 0x4c, 0, 0, 2])));
        for other in ["10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "::1"] {
            assert_eq!(find(other), None, "{other}");
        }
    }

    #[test]
    fn the_loopback_has_its_address() {
        let found = interface_of("127.0.0.1".parse().unwrap()).unwrap();
        assert_eq!(found.as_deref(), Some("lo"));
        assert_eq!(interface_of("192.0.2.77".parse().unwrap()).unwrap(), None);
    }
}
