//! The reflector: test frames turned around in the driver, the floor of what a node can do.

use wirelab_port::ebpf::Mode;
use wirelab_port::iface::PortName;

use crate::error::StagesError;
use crate::store::Store;
use crate::xdp::{NodeCounters, NodeOptions, NodeXdp, Reflect, Xdp};

/// Sends test frames back from the driver of a port, before the kernel makes anything of them. It goes with this value,
/// and with the process.
///
/// A frame goes back where it came from: addresses and ports are swapped, and nothing else changes. On a veth pair the
/// other end needs an XDP program (a checker), or the kernel drops what is sent back; and a UDP checksum that the other
/// end's stack left unfinished is left out of the reply over IPv4, and stays wrong over IPv6, which must have one
/// (`ethtool -K IFACE tx off` there lets the stack finish it).
pub struct Reflector(NodeXdp);

impl Reflector {
    /// Reflect on `port`; a program of somebody else is never replaced. With a store the points of its flow are taken
    /// too.
    ///
    /// # Errors
    /// [`StagesError::BadOptions`] where nothing is to be reflected; [`StagesError::Refused`] where the driver has no
    /// XDP as it was asked for; other variants what is missing.
    pub fn attach(
        port: &PortName,
        reflect: &Reflect,
        xdp: Xdp,
        store: Option<&Store>,
    ) -> Result<Reflector, StagesError> {
        if !reflect.ethernet && reflect.udp_ports.is_empty() {
            return Err(StagesError::BadOptions(format!(
                "{port}: nothing to reflect: name a UDP port, or ask for frames of the test EtherType"
            )));
        }
        let options = NodeOptions {
            xdp,
            reflect: Some(*reflect),
            ..NodeOptions::default()
        };
        NodeXdp::attach(port, &options, store).map(Reflector)
    }

    /// Frames sent back so far, and what became of others.
    pub fn counters(&self) -> NodeCounters {
        self.0.counters()
    }

    /// Where it sits.
    pub fn mode(&self) -> Mode {
        // An attached program has one.
        self.0.mode().unwrap_or_default()
    }

    /// Why it sits behind the driver where nobody asked for that.
    pub fn remark(&self) -> Option<&str> {
        self.0.remark()
    }
}
