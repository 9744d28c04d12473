//! What this host's own queues dropped of a flow that it receives: that is never a loss of the path.

use std::cell::Cell;
use std::net::UdpSocket;

use wirelab_socket::udp::{Dropped, Drops};
use wirelab_trial::job::Missed;

/// The queue of a socket since a flow began on it.
pub(crate) struct Queue<'a> {
    counters: Counters<'a>,
    before: Drops,
    /// Whether the socket takes datagrams from anybody; then what it dropped may have been anybody's.
    is_open: bool,
    /// Datagrams taken from it that are not the flow's.
    foreign: Cell<u64>,
}

enum Counters<'a> {
    Alone(&'a UdpSocket),
    Shared(&'a SharedSocket<'a>),
}

/// A socket that several flows use. Its counters are read once for all that was taken from it at a time, and only where
/// somebody asks: what the host dropped before one of these datagrams is counted by then.
pub(crate) struct SharedSocket<'a> {
    pub(crate) socket: &'a UdpSocket,
    now: Cell<Option<Drops>>,
}

impl<'a> SharedSocket<'a> {
    /// As it is from now on.
    pub(crate) const fn new(socket: &'a UdpSocket) -> SharedSocket<'a> {
        SharedSocket {
            socket,
            now: Cell::new(None),
        }
    }

    /// What its host had dropped when first asked.
    pub(crate) fn drops(&self) -> Drops {
        let now = self.now.get();
        let now = now.unwrap_or_else(|| Drops::of_shared(self.socket));
        self.now.set(Some(now));
        now
    }
}

impl<'a> Queue<'a> {
    /// That of a socket which was made for one test: what it dropped since then.
    pub(crate) fn alone(socket: &'a UdpSocket, before: Drops) -> Queue<'a> {
        Queue {
            counters: Counters::Alone(socket),
            before,
            is_open: socket.peer_addr().is_err(),
            foreign: Cell::new(0),
        }
    }

    /// That of a socket which other flows use too.
    pub(crate) const fn shared(socket: &'a SharedSocket<'a>, before: Drops) -> Queue<'a> {
        Queue {
            counters: Counters::Shared(socket),
            before,
            is_open: true,
            foreign: Cell::new(0),
        }
    }

    /// A datagram was taken from it that is not the flow's.
    pub(crate) fn took_foreign(&self) {
        self.foreign.set(self.foreign.get() + 1);
    }

    /// Datagrams taken from it that are not the flow's.
    pub(crate) fn foreign(&self) -> u64 {
        self.foreign.get()
    }

    fn dropped(&self) -> Dropped {
        match self.counters {
            Counters::Alone(socket) => Drops::of(socket).since_made(self.before),
            Counters::Shared(socket) => socket.drops().since(self.before),
        }
    }

    /// Bounds of the datagrams of `longest_bytes` that were dropped. None is certain where something else came or can have
    /// come too, or may be missing behind the last that came.
    pub(crate) fn missed(&self, longest_bytes: u64, others: bool) -> Missed {
        let bytes = u32::try_from(longest_bytes).unwrap_or(u32::MAX);
        let others = others || self.is_open || self.foreign() > 0;
        self.dropped().datagrams(bytes, true, others)
    }
}

/// What is said of a receiver whose own queues dropped datagrams.
pub(crate) fn too_slow(at_least: u64, at_most: u64, lost: u64) -> String {
    format!(
        "this host was too slow: its own queues dropped {at_least} to {at_most} datagrams, which are not in the {lost} that were lost for certain; ask for a lower rate (-b)"
    )
}
