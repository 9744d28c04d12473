//! Many datagrams taken with few system calls.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::MOST_MESSAGES;
use crate::sys::{self, Messages};

/// Bytes between two places of a receiver, so that they do not fall on the same lines of a cache.
const GAP: usize = 192;

/// How long a receiver rests: the system's queue must hold what comes meanwhile.
const REST: Duration = Duration::from_micros(30);
/// Messages after which a receiver looks how fast they came.
const LOOK: usize = 64;
/// A receiver rests where messages come faster than one in this time.
const FAST: Duration = Duration::from_micros(10);
/// A rest that brings fewer messages than this was not worth it.
const WORTH: usize = 3;

/// One datagram that came.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Its content, as far as there was room.
    pub bytes: &'a [u8],
    /// Who sent it.
    pub from: SocketAddr,
    /// When the system got it, CLOCK_REALTIME in ns, where the socket is set to tell (SO_TIMESTAMPNS or
    /// SO_TIMESTAMPING). Datagrams that came joined share one time.
    pub kernel_ns: Option<u64>,
    /// Whether it was longer than the room.
    pub truncated: bool,
}

/// Let the system keep `bytes` of what came and was not taken yet, if it keeps less: a receiver that is not run for a
/// moment must not lose what the path delivered. Without the right to more, it keeps what its limit allows.
pub fn lengthen_queue(socket: &UdpSocket, bytes: u32) {
    let fd = socket.as_fd();
    let wanted = i32::try_from(bytes).unwrap_or(i32::MAX);
    // The system tells twice what it was asked for (socket(7)).
    let now = sys::option(fd, sys::RECEIVE_QUEUE).map_or(0, |bytes| bytes / 2);
    if now < wanted && sys::set_option(fd, sys::RECEIVE_QUEUE_FORCE, wanted).is_err() {
        // Where even this fails, datagrams are taken all the same.
        let _ = sys::set_option(fd, sys::RECEIVE_QUEUE, wanted);
    }
}

/// When a receiver rests before it takes what came.
#[derive(Default)]
struct Rest {
    /// Whether datagrams come so fast that each would wake the receiver.
    now: bool,
    /// Whether the last call left others behind.
    more: bool,
    /// Messages since the last look at the clock, and when that was.
    messages: usize,
    since: Option<Instant>,
}

impl Rest {
    /// So many messages came after a wait.
    fn came(&mut self, messages: usize) {
        self.messages += messages;
        if self.messages < LOOK {
            return;
        }
        let now = Instant::now();
        let took = self.since.replace(now).map(|since| now - since);
        self.now = took.is_some_and(|took| took < FAST * self.messages as u32);
        self.messages = 0;
        if self.now {
            sys::set_timer_slack(1000);
        }
    }
}

/// Takes many datagrams at once. Nothing is allocated after [`Receiver::new`].
pub struct Receiver {
    buf: Vec<u8>,
    room: usize,
    messages: Messages,
    came: usize,
    rest: Rest,
}

impl Receiver {
    /// Room for `most` datagrams at once (at most 64), of at most `bytes` each; what is longer is cut.
    pub fn new(most: usize, bytes: usize) -> Receiver {
        let most = most.clamp(1, MOST_MESSAGES);
        Receiver {
            buf: vec![0; most * (bytes.next_multiple_of(64) + GAP)],
            room: bytes,
            messages: Messages::new(most),
            came: 0,
            rest: Rest::default(),
        }
    }

    /// Let the system hand over datagrams of one flow joined, where it has them so (UDP_GRO, Linux 5.0), with room for
    /// `most` of such pieces. Where it cannot, they come one by one.
    pub fn joining(socket: &UdpSocket, most: usize) -> Receiver {
        // Without it, all goes on as before.
        let _ = sys::set_option(socket.as_fd(), sys::UDP_GRO, 1);
        Receiver::new(most, 65_536)
    }

    /// Wait for a datagram, as long as the socket's deadline says, and take what else is there.
    ///
    /// # Errors
    /// What the system says; a deadline that passed is an error too.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<Datagrams<'_>> {
        self.take(socket, true)
    }

    /// Take what is there, without waiting.
    ///
    /// # Errors
    /// What the system says; nothing there is [`io::ErrorKind::WouldBlock`].
    pub fn receive_now(&mut self, socket: &UdpSocket) -> io::Result<Datagrams<'_>> {
        self.take(socket, false)
    }

    /// The same as [`Receiver::receive`] for flows at load `max`. A receiver that waits for each datagram has to be
    /// woken for each, which costs the sending core of the same machine more than all the rest. Where datagrams come
    /// faster than one in 10 µs, it rests for 30 µs and takes what came meanwhile. It makes the sleeps of this thread
    /// exact to 1 µs.
    ///
    /// # Errors
    /// As [`Receiver::receive`].
    pub fn receive_resting(&mut self, socket: &UdpSocket) -> io::Result<Datagrams<'_>> {
        if self.rest.now {
            if !self.rest.more {
                std::thread::sleep(REST);
            }
            let came = self.fetch(socket, false).unwrap_or(0);
            self.rest.more = came == self.most();
            self.rest.now = came >= WORTH;
            if came > 0 {
                return Ok(self.datagrams());
            }
        }
        let came = self.fetch(socket, true)?;
        self.rest.came(came);
        Ok(self.datagrams())
    }

    fn take(&mut self, socket: &UdpSocket, wait: bool) -> io::Result<Datagrams<'_>> {
        self.fetch(socket, wait)?;
        Ok(self.datagrams())
    }

    fn fetch(&mut self, socket: &UdpSocket, wait: bool) -> io::Result<usize> {
        let stride = self.stride();
        self.came = 0;
        self.came =
            self.messages
                .receive(socket.as_fd(), &mut self.buf, self.room, stride, wait)?;
        Ok(self.came)
    }

    const fn datagrams(&self) -> Datagrams<'_> {
        Datagrams {
            receiver: self,
            message: 0,
            rest: None,
        }
    }

    fn most(&self) -> usize {
        self.buf.len() / self.stride()
    }

    const fn stride(&self) -> usize {
        self.room.next_multiple_of(64) + GAP
    }
}

/// The datagrams of one [`Receiver::receive`], in the order in which they came.
pub struct Datagrams<'a> {
    receiver: &'a Receiver,
    message: usize,
    /// What is left of a piece, and the length of its datagrams.
    rest: Option<(Datagram<'a>, usize)>,
}

impl Datagrams<'_> {
    /// Whether there was room for no more, so that others may be waiting.
    pub fn full(&self) -> bool {
        self.receiver.came == self.receiver.most()
    }
}

impl<'a> Iterator for Datagrams<'a> {
    type Item = Datagram<'a>;

    fn next(&mut self) -> Option<Datagram<'a>> {
        if let Some((rest, bytes)) = self.rest.take() {
            return Some(self.split(rest, bytes));
        }
        while self.message < self.receiver.came {
            let at = self.message;
            self.message += 1;
            let Some(arrived) = self.receiver.messages.arrived(at) else {
                continue;
            };
            let whole = &self.receiver.buf[at * self.receiver.stride()..];
            let datagram = Datagram {
                bytes: &whole[..arrived.len.min(self.receiver.room)],
                from: arrived.from,
                kernel_ns: arrived.kernel_ns,
                truncated: arrived.truncated,
            };
            return Some(self.split(datagram, arrived.segment.unwrap_or(usize::MAX)));
        }
        None
    }
}

impl<'a> Datagrams<'a> {
    fn split(&mut self, piece: Datagram<'a>, bytes: usize) -> Datagram<'a> {
        if piece.bytes.len() <= bytes {
            return piece;
        }
        let (first, rest) = piece.bytes.split_at(bytes);
        self.rest = Some((
            Datagram {
                bytes: rest,
                ..piece
            },
            bytes,
        ));
        Datagram {
            bytes: first,
            truncated: false,
            ..piece
        }
    }
}
