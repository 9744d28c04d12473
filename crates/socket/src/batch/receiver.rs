//! Many datagrams received with few system calls.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::MOST_MESSAGES;
use crate::sys::{self, Messages};

/// Bytes between two buffers of a receiver, so that they use different cache lines.
const GAP: usize = 192;

/// How long a receiver rests; the system's queue must hold what arrives meanwhile.
const REST: Duration = Duration::from_micros(30);
/// Number of messages after which a receiver checks their rate.
const LOOK: usize = 64;
/// A receiver rests if messages arrive faster than one in this time.
const FAST: Duration = Duration::from_micros(10);
/// A rest with fewer messages than this was not worth it.
const WORTH: usize = 3;

/// A received datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Its content, cut to the buffer.
    pub bytes: &'a [u8],
    /// Its sender.
    pub from: SocketAddr,
    /// When the system received it, CLOCK_REALTIME in ns, if the socket has this option (SO_TIMESTAMPNS or
    /// SO_TIMESTAMPING). Datagrams that arrived joined share one time.
    pub kernel_ns: Option<u64>,
    /// When the device received it, by the device's own clock, if its stamps are switched on.
    pub device_ns: Option<u64>,
    /// Whether it was longer than the buffer.
    pub truncated: bool,
}

/// Let the system queue at least `bytes`, so that a receiver without a core for a moment loses nothing that the path delivered.
/// Without the privilege for more, the system's limit applies.
pub fn lengthen_queue(socket: &UdpSocket, bytes: u32) {
    let fd = socket.as_fd();
    let wanted = i32::try_from(bytes).unwrap_or(i32::MAX);
    // The system reports twice the requested size (socket(7)).
    let now = sys::option(fd, sys::RECEIVE_QUEUE).map_or(0, |bytes| bytes / 2);
    if now < wanted && sys::set_option(fd, sys::RECEIVE_QUEUE_FORCE, wanted).is_err() {
        // If this fails too, datagrams are still received.
        let _ = sys::set_option(fd, sys::RECEIVE_QUEUE, wanted);
    }
}

/// Decides when a receiver rests before it reads.
#[derive(Default)]
struct RestRule {
    /// Whether datagrams arrive so fast that each would wake the receiver.
    now: bool,
    /// Whether the last call left datagrams in the queue.
    more: bool,
    /// Messages since the last reading of the clock, and its time.
    messages: usize,
    since: Option<Instant>,
}

impl RestRule {
    /// This many messages arrived after a wait.
    fn arrived(&mut self, messages: usize) {
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

/// Receives many datagrams at once. It allocates only in [`Receiver::new`].
pub struct Receiver {
    buf: Vec<u8>,
    room: usize,
    messages: Messages,
    arrived: usize,
    rest: RestRule,
}

impl Receiver {
    /// Space for `most` datagrams at once (at most 64), of at most `bytes` each; longer ones are cut.
    pub fn new(most: usize, bytes: usize) -> Receiver {
        let most = most.clamp(1, MOST_MESSAGES);
        Receiver {
            buf: vec![0; most * (bytes.next_multiple_of(64) + GAP)],
            room: bytes,
            messages: Messages::new(most),
            arrived: 0,
            rest: RestRule::default(),
        }
    }

    /// Let the system deliver datagrams of one flow joined, if it has them so (UDP_GRO, Linux 5.0), with space for
    /// `most` such buffers. Otherwise they arrive one by one.
    pub fn joining(socket: &UdpSocket, most: usize) -> Receiver {
        // Without the option, datagrams arrive one by one.
        let _ = sys::set_option(socket.as_fd(), sys::UDP_GRO, 1);
        Receiver::new(most, 65_536)
    }

    /// Wait for a datagram, up to the socket's timeout, and take all others that are waiting.
    ///
    /// # Errors
    /// The system's error; a timeout is an error too.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<Datagrams<'_>> {
        self.take(socket, true)
    }

    /// Take the waiting datagrams, without waiting.
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::WouldBlock`] if none is waiting.
    pub fn receive_now(&mut self, socket: &UdpSocket) -> io::Result<Datagrams<'_>> {
        self.take(socket, false)
    }

    /// The same as [`Receiver::receive`] for flows at load `max`. A receiver that waits for each datagram must be
    /// woken for each, which costs the sending core of the same machine more than everything else. If datagrams
    /// arrive faster than one in 10 µs, this rests for 30 µs and takes what arrived meanwhile. It makes the sleeps of
    /// this thread exact to 1 µs.
    ///
    /// # Errors
    /// As [`Receiver::receive`].
    pub fn receive_resting(&mut self, socket: &UdpSocket) -> io::Result<Datagrams<'_>> {
        if self.rest.now {
            if !self.rest.more {
                std::thread::sleep(REST);
            }
            let arrived = self.fetch(socket, false).unwrap_or(0);
            self.rest.more = arrived == self.most();
            self.rest.now = arrived >= WORTH;
            if arrived > 0 {
                return Ok(self.datagrams());
            }
        }
        let arrived = self.fetch(socket, true)?;
        self.rest.arrived(arrived);
        Ok(self.datagrams())
    }

    fn take(&mut self, socket: &UdpSocket, wait: bool) -> io::Result<Datagrams<'_>> {
        self.fetch(socket, wait)?;
        Ok(self.datagrams())
    }

    fn fetch(&mut self, socket: &UdpSocket, wait: bool) -> io::Result<usize> {
        let stride = self.stride();
        self.arrived = 0;
        self.arrived =
            self.messages
                .receive(socket.as_fd(), &mut self.buf, self.room, stride, wait)?;
        Ok(self.arrived)
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

/// The datagrams of one [`Receiver::receive`], in the order of arrival.
pub struct Datagrams<'a> {
    receiver: &'a Receiver,
    message: usize,
    /// The rest of a buffer, and the length of its datagrams.
    rest: Option<(Datagram<'a>, usize)>,
}

impl Datagrams<'_> {
    /// Whether the buffers are full, so others may be waiting.
    pub fn full(&self) -> bool {
        self.receiver.arrived == self.receiver.most()
    }
}

impl<'a> Iterator for Datagrams<'a> {
    type Item = Datagram<'a>;

    fn next(&mut self) -> Option<Datagram<'a>> {
        if let Some((rest, bytes)) = self.rest.take() {
            return Some(self.split(rest, bytes));
        }
        while self.message < self.receiver.arrived {
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
                device_ns: arrived.device_ns,
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
