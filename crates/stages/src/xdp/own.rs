//! The own addresses of a port.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{SockaddrLike, SockaddrStorage};
use wirelab_port::iface::{Interface, PortName};
use wirelab_wire::rule::{FixedList, PortAddresses};

use crate::error::StagesError;

/// An IP address in the form of [`PortAddresses::addresses`].
pub fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(ip) => PortAddresses::mapped(ip.octets()),
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// The present MAC and IP addresses of a port: at most 8 IP addresses, the first ones. Rules do not count further addresses as
/// own, so frames to them go to the stack.
///
/// # Errors
/// Errors of the port and its namespace, or the kernel's error.
pub fn own_addresses(port: &PortName) -> Result<PortAddresses, StagesError> {
    let interface = Interface::query(port)?;
    let listed = port.netns()?.run_in(|| {
        getifaddrs().map(|all| {
            all.filter(|entry| entry.interface_name == port.interface)
                .filter_map(|entry| entry.address.as_ref().and_then(ip_of))
                .collect::<Vec<IpAddr>>()
        })
    })?;
    let listed = listed.map_err(|e| {
        StagesError::kernel(format!("requesting the addresses of {port}"), e.into())
    })?;
    let mut own = PortAddresses {
        mac: interface.mac.0,
        addresses: FixedList::default(),
    };
    for address in listed {
        own.addresses.push(mapped(address));
    }
    Ok(own)
}

fn ip_of(address: &SockaddrStorage) -> Option<IpAddr> {
    match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
        (Some(v4), _) => Some(v4.ip().into()),
        (_, Some(v6)) => Some(v6.ip().into()),
        _ => {
            debug_assert!(address.family().is_some());
            None
        }
    }
}
