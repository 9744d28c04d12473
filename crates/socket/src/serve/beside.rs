//! A second socket beside the flow's: background traffic, counted and dropped.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use crate::batch::Receiver;
use crate::udp::enlarge_queue;

/// Datagrams in one round of the loop: few enough that the flow does not wait long for them, enough that the loop
/// keeps up with half of the stack's rate.
const TURN: usize = 8;
/// Longest datagram whose bytes are counted completely.
const LONGEST: usize = 2048;
/// How long a closed socket may stay open in a child process, which has this process's sockets until its own program begins.
const LET_GO: Duration = Duration::from_millis(500);

/// A socket whose datagrams are counted and dropped.
pub struct CountingSocket {
    socket: UdpSocket,
    receiver: Receiver,
    counted: DatagramCounts,
}

/// The counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Number of datagrams.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl CountingSocket {
    /// Open it on an address, and wait half a second where that is in use.
    ///
    /// # Errors
    /// The system's error, e.g. that the port is in use.
    pub fn bind(local: SocketAddr) -> io::Result<CountingSocket> {
        let began = Instant::now();
        let socket = loop {
            match UdpSocket::bind(local) {
                Err(error)
                    if error.kind() == io::ErrorKind::AddrInUse && began.elapsed() < LET_GO =>
                {
                    thread::sleep(LET_GO / 50);
                }
                done => break done?,
            }
        };
        socket.set_nonblocking(true)?;
        let _ = enlarge_queue(&socket);
        Ok(CountingSocket {
            socket,
            receiver: Receiver::new(TURN, LONGEST),
            counted: DatagramCounts::default(),
        })
    }

    /// The descriptor to poll for datagrams.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Take waiting datagrams, at most one round's share; returns their number.
    pub fn take(&mut self) -> usize {
        let Ok(datagrams) = self.receiver.receive_now(&self.socket) else {
            return 0;
        };
        let before = self.counted.frames;
        for datagram in datagrams {
            self.counted.frames += 1;
            self.counted.bytes += datagram.bytes.len() as u64;
        }
        (self.counted.frames - before) as usize
    }

    /// The counts so far.
    pub const fn counted(&self) -> DatagramCounts {
        self.counted
    }
}

impl fmt::Debug for CountingSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beside")
            .field("socket", &self.socket)
            .field("counted", &self.counted)
            .finish_non_exhaustive()
    }
}
