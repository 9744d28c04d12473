//! The thread of a sender: what delays it, and how it waits for room in its socket.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, send};
use wirelab_socket::udp;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::{HoldWatch, Holds};

/// How data is handed to the system; the peer does not see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendOptions {
    /// Whether unpaced data may be handed over in pieces of many datagrams, which the kernel or the device segments.
    pub segmentation: bool,
    /// Whether datagrams that are late after a pause keep their distance, and are not sent in a burst.
    pub strict_gaps: bool,
}

impl SendOptions {
    /// As fast as possible, and as close to the rate as possible.
    pub const DEFAULT: SendOptions = SendOptions {
        segmentation: true,
        strict_gaps: false,
    };
}

/// Watches its own thread while it sends.
pub(crate) struct Sending {
    watch: HoldWatch,
    paced: bool,
}

impl Sending {
    /// Starts to watch a sender with or without a schedule.
    pub(crate) fn start(paced: bool) -> Sending {
        Sending {
            watch: HoldWatch::start(HoldWatch::SENDER),
            paced,
        }
    }

    /// Records that the sender runs, at `now_ns` of any steady clock.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        self.watch.tick(now_ns);
    }

    /// Waits until a full socket may have room again; returns the waiting time in ns.
    pub(crate) fn wait_for_room(&mut self, socket: &impl AsFd) -> u64 {
        let began_ns = now_ns();
        udp::wait_for_room(socket);
        self.watch.blocked(began_ns, now_ns(), udp::PATIENCE)
    }

    /// The pauses so far. For a paced sender the schedule shows them.
    pub(crate) fn finish(&mut self) -> Holds {
        let holds = self.watch.finish();
        match self.paced {
            true => Holds {
                blocked_ns: holds.blocked_ns,
                ..Holds::default()
            },
            false => holds,
        }
    }
}

/// Whether a socket only reports that nothing arrived in time, or that its buffer is full.
pub(crate) fn is_wait(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// Whether the system's buffers were full, and nothing else was wrong: the datagram was not sent.
pub(crate) fn is_full(error: &io::Error) -> bool {
    is_wait(error) || error.raw_os_error() == Some(Errno::ENOBUFS as i32)
}

/// Writes as much as there is room for, without changing the blocking mode that other users of the stream rely on.
pub(crate) fn write_at_once(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    Ok(send(stream.as_raw_fd(), bytes, flags)?)
}
