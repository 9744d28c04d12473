//! Paths past the stack: the fast track to the application, and the driver that sends and echoes alone.

mod driver;
mod fast_track;

pub use driver::{echo, send};
pub use fast_track::{Track, receive};

use std::io;

use wirelab_control::Refusal;
use wirelab_control::value::Mac;
use wirelab_port::iface::PortName;
use wirelab_stages::{StagesError, Xdp};
use wirelab_wire::Layer;

/// A trial past the stack.
#[derive(Clone, Debug)]
pub struct FastTrackTrial {
    pub port: PortName,
    pub xdp: Xdp,
    pub layer: Layer,
    /// Link-layer address of the peer.
    pub peer: Mac,
    /// UDP port of the node.
    pub udp_port: u16,
}

/// Why a path is not available.
pub fn refused(error: &StagesError) -> Refusal {
    Refusal::unsupported("path", &error.to_string())
}

/// An error of a library as an I/O error.
fn failed(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}
