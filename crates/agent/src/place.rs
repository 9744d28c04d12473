//! Where on the host a node is: its address, the interface that has it, and the cores that do its work.

use std::fs;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{SockaddrLike, SockaddrStorage};
use wirelab_cores::{Cores, Meter, Steering, allowed, steer};
use wirelab_port::iface::{Interface, PortName};

use crate::options::Options;
use crate::serve::AgentError;

/// Address, interface and cores of a node.
#[derive(Clone, Debug)]
pub struct Place {
    pub ip: IpAddr,
    /// The interface of the trials.
    pub interface: Interface,
    /// The node's cores.
    pub cores: Cores,
    /// Whether the tester's work may be done on the node's cores too.
    pub shared: bool,
    /// Whether frames of the link layer can be sent and seen.
    pub ethernet: bool,
}

/// What is missing, and how to get it, in words for the user.
pub type Notices = Vec<String>;

impl Place {
    /// Find the place that the options speak of; `steering` lasts as long as the node.
    pub fn find(
        options: &Options,
        notices: &mut Notices,
    ) -> Result<(Place, Option<Steering>), AgentError> {
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
        // A core that is offline is named before anything is changed.
        Meter::new(&cores)?;
        let mut place = Place {
            ip,
            ethernet: false,
            interface,
            shared: false,
            cores,
        };
        let steering = place.separate(notices);
        Ok((place, steering))
    }

    /// Steer the receive work to the node's cores, and tell whether the load of these is the node's alone.
    fn separate(&mut self, notices: &mut Notices) -> Option<Steering> {
        let name = &self.interface.port.interface;
        let mut shared = |why: String| {
            self.shared = true;
            notices.push(format!("CPU load will be marked as shared: {why}"));
        };
        if self.interface.loopback {
            shared("over the loopback the tester's receive work is done here too".to_owned());
            return None;
        }
        if online().is_some_and(|online| online.without(&self.cores).is_none()) {
            shared(format!(
                "the node has every core of this machine ({}); a tester elsewhere is not disturbed by that",
                self.cores
            ));
        }
        match Steering::to(name, &self.cores) {
            Ok(steering) => Some(steering),
            Err(error) => {
                shared(error.to_string());
                None
            }
        }
    }
}

/// All cores that are online.
fn online() -> Option<Cores> {
    fs::read_to_string("/sys/devices/system/cpu/online")
        .ok()?
        .parse()
        .ok()
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

/// What steers the interface now, for tests and for the log.
pub fn steered(interface: &str) -> Option<String> {
    steer::masks(interface).ok().map(|masks| masks.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_its_address() {
        let found = interface_of("127.0.0.1".parse().unwrap()).unwrap();
        assert_eq!(found.as_deref(), Some("lo"));
        assert_eq!(interface_of("192.0.2.77".parse().unwrap()).unwrap(), None);
    }
}
