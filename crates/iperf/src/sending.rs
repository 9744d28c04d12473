//! The thread of a sender: what holds it up, and how it waits for room in its socket.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, send};
use wirelab_socket::udp;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::{HoldWatch, Holds};

/// How data is handed to the system, which the peer need not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendOptions {
    /// Whether the system may cut what is sent without a rate late, out of pieces of many datagrams.
    pub segmentation: bool,
    /// Whether what is late after a hold keeps its distance to the next, and is not made up for in a burst.
    pub strict_gaps: bool,
}

impl SendOptions {
    /// As fast as it goes, and as close to the rate.
    pub const DEFAULT: SendOptions = SendOptions {
        segmentation: true,
        strict_gaps: false,
    };
}

/// Watches the thread that it was made on while that sends.
pub(crate) struct Sending {
    watch: HoldWatch,
    paced: bool,
}

impl Sending {
    /// Begins to watch a sender with or without a schedule.
    pub(crate) fn start(paced: bool) -> Sending {
        Sending {
            watch: HoldWatch::start(HoldWatch::SENDER),
            paced,
        }
    }

    /// The sender goes on at `now_ns` of any steady clock.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        self.watch.tick(now_ns);
    }

    /// Wait until a socket that is full may have room again; for how long there was none, in ns.
    pub(crate) fn wait_for_room(&mut self, socket: &impl AsFd) -> u64 {
        let began_ns = now_ns();
        udp::wait_for_room(socket);
        self.watch.blocked(began_ns, now_ns(), udp::PATIENCE)
    }

    /// What was found until now. Of a paced sender its schedule tells what was held up.
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

/// Whether a socket only says that nothing came in time, or that there is no room now.
pub(crate) fn is_wait(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// Whether the system only had no room for a datagram: it did not leave.
pub(crate) fn has_no_room(error: &io::Error) -> bool {
    is_wait(error) || error.raw_os_error() == Some(Errno::ENOBUFS as i32)
}

/// Write as much as there is room for, whatever the other users of the same stream want of it.
pub(crate) fn write_at_once(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    Ok(send(stream.as_raw_fd(), bytes, flags)?)
}
