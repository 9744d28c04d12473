//! The portable path: frames in and out of any Linux interface by AF_PACKET, without native XDP.
//!
//! - [`send`] builds every frame with its own sequence, time and content, and sends it on its schedule: in batches of
//!   a system call, or through the transmit ring if a type of buffers is requested;
//! - [`Checker`] judges every received frame of a port, from a receive ring;
//! - [`Replayer`] sends frames that were made elsewhere;
//! - [`FrameSink`] gets the frames during the check, [`CaptureSink`] for a capture.
//!
//! Transmit times are read from CLOCK_MONOTONIC just before a frame's header is written: in a batch up to 31 frames
//! before it leaves, on a paced flow just before the system call. The kernel stamps arrivals with CLOCK_REALTIME when
//! it puts a frame into the ring (resolution 1 ns). They are converted by the offset of the two clocks, which is read
//! for each block, to some tens of ns.

mod announce;
mod build;
mod capture;
mod error;
mod filter;
mod judge;
mod neighbour;
mod outlet;
mod receive;
mod replay;
mod send;
mod sys;
mod tally;
mod thread;

pub use announce::announce;
pub use capture::{CaptureSink, FrameSink};
pub use error::PacketError;
pub use neighbour::{Arrival, Neighbour};
pub use receive::{CheckOptions, Checker, RING_BYTES};
pub use replay::Replayer;
pub use send::{KeptRing, PREFILLED_SLOTS, SendOptions, send, send_again};

use crate::iface::PortName;
use sys::socket::PacketSocket;

/// A socket in a port's namespace, not yet bound to an interface.
fn socket_of(port: &PortName) -> Result<PacketSocket, PacketError> {
    port.netns()?
        .run_in(PacketSocket::open)?
        .map_err(|e| PacketError::setup(port, "a socket", e))
}
