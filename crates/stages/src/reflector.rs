//! The reflector sends test frames back from the driver: the fastest echo of a node.

use wirelab_port::ebpf::Mode;
use wirelab_port::iface::PortName;

use crate::error::StagesError;
use crate::store::Store;
use crate::xdp::{NodeCounters, NodeOptions, NodeXdp, Reflect, Xdp};

/// Sends test frames back from the driver of a port, before the kernel allocates anything for them. It ends with this
/// value, and with the process.
///
/// Addresses and ports of a frame are swapped, and nothing else changes. On a veth pair the other end needs an XDP
/// program (a checker), or the kernel drops the reflected frames. A UDP checksum that the other end's stack left
/// incomplete is omitted in the reply over IPv4, and stays wrong over IPv6, which requires one (`ethtool -K IFACE tx
/// off` there lets the stack complete it).
pub struct Reflector(NodeXdp);

impl Reflector {
    /// Reflect on `port`. It never replaces another program. With a store it also records the points of the store's
    /// flow.
    ///
    /// # Errors
    /// [`StagesError::BadOptions`] if nothing is to be reflected; [`StagesError::Refused`] if the driver does not
    /// support the requested XDP mode; other variants for what is missing.
    pub fn attach(
        port: &PortName,
        reflect: &Reflect,
        xdp: Xdp,
        store: Option<&Store>,
    ) -> Result<Reflector, StagesError> {
        if !reflect.ethernet && reflect.udp_ports.is_empty() {
            return Err(StagesError::BadOptions(format!(
                "{port}: nothing to reflect; fix: give a UDP port, or request frames of the test EtherType"
            )));
        }
        let options = NodeOptions {
            xdp,
            reflect: Some(*reflect),
            ..NodeOptions::default()
        };
        NodeXdp::attach(port, &options, store).map(Reflector)
    }

    /// Frames sent back so far, and the counts of others.
    pub fn counters(&self) -> NodeCounters {
        self.0.counters()
    }

    /// Where it is attached.
    pub fn mode(&self) -> Mode {
        // An attached program has a mode.
        self.0.mode().unwrap_or_default()
    }

    /// Why it is attached after the driver although that was not requested.
    pub fn remark(&self) -> Option<&str> {
        self.0.remark()
    }
}
