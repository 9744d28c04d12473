//! The raw sockets of the impairer: one receives everything that arrives at a port, one sends at the other.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::{TimeSpec, TimeValLike};

use super::ImpairError;
use super::frame::{self, Offload};
use super::sys::{self, Batch};
use wirelab_port::iface::{Interface, PortName};
use wirelab_port::netns::{Privilege, PrivilegedWork};

/// Most batches that are discarded at the end.
const MOST_DISCARDS: u32 = 10_000;

/// How long a full transmit queue is waited for before a frame counts as lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// Pause between two tries on a full queue: a few frames of a gigabit link.
const PAUSE: Duration = Duration::from_micros(50);

/// Receives what arrives at a port.
pub(super) struct Receiver {
    socket: OwnedFd,
    batch: Batch,
}

/// The result of receiving once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Received {
    /// Messages taken from the buffer, of whatever kind.
    pub messages: usize,
    /// Frames among them that could not be forwarded.
    pub oversize: u64,
}

impl Receiver {
    /// `buffer` is the size of its receive buffer in bytes.
    pub(super) fn open(port: &PortName, buffer: u32) -> Result<Receiver, ImpairError> {
        let (socket, index) = open(port)?;
        sys::prepare_receiver(&socket, index, i32::try_from(buffer).unwrap_or(i32::MAX))
            .and_then(|()| sys::bind_to(&socket, index, true))
            .map_err(|source| failed(port, "receiving everything", source))?;
        Ok(Receiver {
            socket,
            batch: Batch::new(),
        })
    }

    /// Takes what is there, without waiting, and hands each frame on as it would be on a wire.
    pub(super) fn receive(&mut self, mut each: impl FnMut(&mut [u8])) -> io::Result<Received> {
        let messages = match sys::receive_batch(&self.socket, &mut self.batch) {
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
            // The kernel takes a frame whose offload it cannot describe from the queue and says so.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
                return Ok(Received {
                    messages: 1,
                    oversize: 1,
                });
            }
            Err(e) => return Err(e),
        };
        let mut oversize = 0;
        for number in 0..messages {
            let (message, bytes) = self.batch.message(number);
            if message.outgoing {
                continue;
            }
            let Some((header, bytes)) = bytes.split_first_chunk_mut() else {
                continue;
            };
            let length = message.length.saturating_sub(header.len());
            match frame::offload(header) {
                Offload::None => {}
                _ if message.truncated => {}
                Offload::Checksum { start, offset } => {
                    frame::complete_checksum(&mut bytes[..length], start, offset);
                }
                Offload::Segments => {
                    oversize += 1;
                    continue;
                }
            }
            if message.truncated {
                oversize += 1;
                continue;
            }
            let length = match message.tag {
                Some(tag) => frame::insert_tag(bytes, length, tag),
                None => length,
            };
            each(&mut bytes[..length]);
        }
        Ok(Received { messages, oversize })
    }

    /// Waits until something is there or the time is over.
    pub(super) fn wait(&self, at_most: Duration) {
        let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let time = i64::try_from(at_most.as_nanos()).unwrap_or(i64::MAX);
        // An error shows at the next attempt to receive, where it is looked at.
        let _ = ppoll(&mut fds, Some(TimeSpec::nanoseconds(time)), None);
    }

    /// Discards what is in the buffer and returns how many frames that were.
    pub(super) fn discard(&mut self) -> u64 {
        let mut thrown = 0;
        // A flood would refill it forever.
        for _ in 0..MOST_DISCARDS {
            match self.receive(|_| thrown += 1) {
                Ok(received) if received.messages > 0 => {}
                _ => break,
            }
        }
        thrown
    }

    /// Takes in no more frames; those that came are still received.
    pub(super) fn shut(&self) {
        // Without it the last frames may be counted as lost.
        let _ = sys::refuse_frames(&self.socket);
    }

    /// Frames that the kernel dropped because the buffer was full, since the last call.
    pub(super) fn dropped(&self) -> u64 {
        sys::dropped(&self.socket).unwrap_or(0)
    }
}

/// Sends at a port.
pub(super) struct Sender {
    socket: OwnedFd,
}

impl Sender {
    pub(super) fn open(port: &PortName) -> Result<Sender, ImpairError> {
        let (socket, index) = open(port)?;
        sys::bind_to(&socket, index, false)
            .map_err(|source| failed(port, "binding for sending", source))?;
        Ok(Sender { socket })
    }

    /// Sends one frame, and waits while the port's queue is full.
    pub(super) fn send(&self, frame: &[u8]) -> io::Result<()> {
        let mut since = None;
        loop {
            let error = match sys::send(&self.socket, frame) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let full = matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS));
            let begin = *since.get_or_insert_with(Instant::now);
            if !full || begin.elapsed() > PATIENCE {
                return Err(error);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

fn open(port: &PortName) -> Result<(OwnedFd, u32), ImpairError> {
    let index = Interface::query(port)?.index;
    let opened = port.netns()?.run_in(sys::packet_socket)?;
    let socket = opened.map_err(|source| failed(port, "opening it", source))?;
    Ok((socket, index))
}

fn failed(port: &PortName, what: &'static str, source: io::Error) -> ImpairError {
    if source.raw_os_error() == Some(libc::EPERM) {
        return Privilege::new(
            format!("to forward frames at {port}"),
            PrivilegedWork::Packet,
        )
        .into();
    }
    ImpairError::Socket {
        port: port.clone(),
        what,
        source,
    }
}
