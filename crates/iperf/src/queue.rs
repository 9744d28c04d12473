//! Counts what this host's own queues dropped of a received flow: that is never a loss of the path.

use std::cell::Cell;
use std::net::UdpSocket;

use wirelab_socket::udp::{Dropped, Drops};
use wirelab_trial::job::Missed;

/// The queue of a socket since the start of a flow.
pub(crate) struct Queue<'a> {
    counters: Counters<'a>,
    before: Drops,
    /// Whether the socket receives datagrams from any host; then the dropped ones may be of other flows.
    is_open: bool,
    /// Datagrams read from it that do not belong to the flow.
    foreign: Cell<u64>,
}

enum Counters<'a> {
    Alone(&'a UdpSocket),
    Shared(&'a SharedSocket<'a>),
}

/// A socket that several flows use. Its counters are read once for each batch of datagrams, and only on request: by
/// then they include drops before any of these datagrams.
pub(crate) struct SharedSocket<'a> {
    pub(crate) socket: &'a UdpSocket,
    now: Cell<Option<Drops>>,
}

impl<'a> SharedSocket<'a> {
    /// Starts with the present counters.
    pub(crate) const fn new(socket: &'a UdpSocket) -> SharedSocket<'a> {
        SharedSocket {
            socket,
            now: Cell::new(None),
        }
    }

    /// The drops at the first call.
    pub(crate) fn drops(&self) -> Drops {
        let now = self.now.get();
        let now = now.unwrap_or_else(|| Drops::of_shared(self.socket));
        self.now.set(Some(now));
        now
    }
}

impl<'a> Queue<'a> {
    /// The queue of a socket that was made for one test: its drops since then.
    pub(crate) fn alone(socket: &'a UdpSocket, before: Drops) -> Queue<'a> {
        Queue {
            counters: Counters::Alone(socket),
            before,
            is_open: socket.peer_addr().is_err(),
            foreign: Cell::new(0),
        }
    }

    /// The queue of a socket that other flows use too.
    pub(crate) const fn shared(socket: &'a SharedSocket<'a>, before: Drops) -> Queue<'a> {
        Queue {
            counters: Counters::Shared(socket),
            before,
            is_open: true,
            foreign: Cell::new(0),
        }
    }

    /// Records a datagram that does not belong to the flow.
    pub(crate) fn took_foreign(&self) {
        self.foreign.set(self.foreign.get() + 1);
    }

    /// Datagrams read from it that do not belong to the flow.
    pub(crate) fn foreign(&self) -> u64 {
        self.foreign.get()
    }

    fn dropped(&self) -> Dropped {
        match self.counters {
            Counters::Alone(socket) => Drops::of(socket).since_made(self.before),
            Counters::Shared(socket) => socket.drops().since(self.before),
        }
    }

    /// Bounds on the dropped datagrams of `longest_bytes`. No drop is certain where other datagrams arrived or may have
    /// arrived too, or where some may be missing after the last one.
    pub(crate) fn missed(&self, longest_bytes: u64, others: bool) -> Missed {
        let bytes = u32::try_from(longest_bytes).unwrap_or(u32::MAX);
        let others = others || self.is_open || self.foreign() > 0;
        self.dropped().datagrams(bytes, true, others)
    }
}

/// The warning about a receiver whose own queues dropped datagrams.
pub(crate) fn too_slow(at_least: u64, at_most: u64, lost: u64) -> String {
    format!(
        "this host was too slow: its own queues dropped {at_least} to {at_most} datagrams, which are not in the {lost} that were lost for certain; fix: ask for a lower rate (-b)"
    )
}
