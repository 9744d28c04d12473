//! The kernel's counts of a checker's sockets: frames of the port, frames in the ring, and frames that did not fit
//! the ring.

use std::io;

use super::error::PacketError;
use super::sys::socket::PacketSocket;
use crate::clock::now_ns;
use crate::iface::{Interface, PortName};

/// Interval between two reads of the kernel's counts, in ns: long before their 32 bits overflow.
const TALLY_NS: u64 = 1_000_000_000;

/// A socket beside the ring that receives every frame, keeps none, and counts them.
pub(super) fn open_counter(
    port: &PortName,
    interface: &Interface,
) -> Result<PacketSocket, PacketError> {
    let failed = |what| move |e| PacketError::setup(port, what, e);
    let socket = super::socket_of(port)?;
    // The kernel's minimum. When it is full, each further frame only costs a count.
    socket
        .set(libc::SOL_SOCKET, libc::SO_RCVBUF, &0i32)
        .map_err(failed("a small buffer"))?;
    let _ = socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32);
    socket
        .bind(interface.index, libc::ETH_P_ALL as u16)
        .map_err(failed("the interface"))?;
    Ok(socket)
}

/// The kernel's counts of the sockets so far. The kernel's own counts have 32 bits and restart at each read.
pub(super) struct Tally {
    /// Receives every frame; `None` if the ring does.
    counter: Option<PacketSocket>,
    began_ns: u64,
    next_ns: u64,
    all: u64,
    passed: u64,
    /// Frames that did not fit the ring.
    pub(super) dropped: u64,
    /// Why a count is unknown.
    pub(super) error: Option<io::Error>,
}

impl Tally {
    pub(super) fn new(counter: Option<PacketSocket>) -> Tally {
        let now = now_ns();
        Tally {
            counter,
            began_ns: now,
            next_ns: now + TALLY_NS,
            all: 0,
            passed: 0,
            dropped: 0,
            error: None,
        }
    }

    pub(super) fn take(&mut self, ring: &PacketSocket, now: u64) {
        self.next_ns = now + TALLY_NS;
        // The counter first, so that a frame that arrives in between does not count as foreign.
        let all = self.counter.as_ref().map(PacketSocket::take_statistics);
        match (all.transpose(), ring.take_statistics()) {
            (Ok(all), Ok((passed, dropped))) => {
                self.all += all.map_or(0, |(frames, _)| u64::from(frames));
                self.passed += u64::from(passed);
                self.dropped += u64::from(dropped);
            }
            (Err(error), _) | (_, Err(error)) => self.error = Some(error),
        }
    }

    pub(super) fn is_due(&self, now: u64) -> bool {
        now >= self.next_ns
    }

    pub(super) fn began_ns(&self) -> u64 {
        self.began_ns
    }

    /// Whether the ring holds only possible test frames.
    pub(super) fn is_filtered(&self) -> bool {
        self.counter.is_some()
    }

    /// Frames that the ring's filter kept out.
    pub(super) fn kept_out(&self) -> u64 {
        match self.counter {
            Some(_) => self.all.saturating_sub(self.passed),
            None => 0,
        }
    }
}
