//! The labs on this host, and their state.

use std::net::IpAddr;

use super::record::{self, LabFile};
use super::{LabError, Side, build};
use crate::iface::Interface;
use crate::netns::NetNs;

/// The owner of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabOwner {
    /// None: it stays until it is taken down.
    Nobody,
    /// A process, with which it ends.
    Process {
        /// Its number.
        pid: u32,
        /// Whether it still runs. If not, the next operation with the right to do so removes the lab.
        alive: bool,
    },
}

/// One interface of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabInterface {
    /// The pair, counted from 0.
    pub pair: u8,
    /// The side.
    pub side: Side,
    /// Its state from the kernel; absent, with the reason in words, if it is gone.
    pub interface: Result<Interface, String>,
    /// Its IP addresses.
    pub addresses: Vec<IpAddr>,
}

impl LabInterface {
    /// Whether it exists, is up, and has a carrier.
    pub fn is_up(&self) -> bool {
        self.interface.as_ref().is_ok_and(|i| i.up && i.carrier)
    }
}

/// One lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabStatus {
    /// Its name.
    pub name: String,
    /// Number of pairs it was made with.
    pub pairs: u8,
    /// Its owner.
    pub owner: LabOwner,
    /// Its interfaces, pair by pair, the node's side first.
    pub interfaces: Vec<LabInterface>,
}

pub(super) fn status() -> Result<Vec<LabStatus>, LabError> {
    // Users without the right to remove labs may still list them.
    if let Ok(_lock) = record::lock() {
        let _ = build::sweep();
    }
    Ok(record::all()?.iter().map(of_one).collect())
}

fn of_one(record: &LabFile) -> LabStatus {
    let spec = &record.spec;
    LabStatus {
        name: spec.name.clone(),
        pairs: spec.pairs,
        owner: match record.owner {
            None => LabOwner::Nobody,
            Some(pid) => LabOwner::Process {
                pid,
                alive: !record::is_orphan(record),
            },
        },
        interfaces: (0..spec.pairs)
            .flat_map(|pair| Side::BOTH.map(|side| of_interface(record, pair, side)))
            .collect(),
    }
}

fn of_interface(record: &LabFile, pair: u8, side: Side) -> LabInterface {
    let port = record.spec.port(pair, side);
    LabInterface {
        pair,
        side,
        interface: Interface::query(&port).map_err(|error| error.to_string()),
        addresses: port
            .netns()
            .ok()
            .and_then(|namespace| addresses(&namespace, &port.interface))
            .unwrap_or_default(),
    }
}

fn addresses(namespace: &NetNs, interface: &str) -> Option<Vec<IpAddr>> {
    let all = namespace.run_in(|| {
        let found = nix::ifaddrs::getifaddrs().ok()?;
        Some(
            found
                .filter(|entry| entry.interface_name == interface)
                .filter_map(|entry| {
                    let address = entry.address?;
                    let v4 = address.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
                    v4.or_else(|| address.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))
                })
                .collect(),
        )
    });
    all.ok().flatten()
}
