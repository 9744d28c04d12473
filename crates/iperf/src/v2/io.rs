//! The loops that move bytes between sockets and the ends without I/O, for client and server.

use std::cell::Cell;
use std::io;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(super) use blocks::{BURST_LEN, Blocks};
pub(super) use bursts::Bursts;
use nix::sys::socket::{MsgFlags, SockaddrStorage, recv, send, sendto};
pub(super) use streams::{Reading, receive_stream, retransmits, send_stream};
use wirelab_socket::Batch;

use super::clock::Wall;
use super::enhanced::EnhancedColumns;
use super::intervals::{Intervals, Span};
use super::outcome::{UdpReceived, datagrams};
use super::receive::{Arrival, Received, Receiver};
use super::send::{SendAction, Sender};
use super::stream::Meter;
use super::table::{Id, Row};
use crate::queue::Queue;
use crate::sending::{Sending, is_full};

mod blocks;
mod bursts;
mod streams;

/// Longest wait between two checks of the stop flag.
pub(super) const TICK: Duration = Duration::from_millis(20);
/// For shorter waits sleep is too coarse, so the thread spins.
const SPIN_NS: u64 = 100_000;

/// Joined datagrams that one system call reads.
pub(super) const PIECES: usize = 32;

/// The clock, the stop flags, and the receiver of lines.
#[derive(Clone, Copy)]
pub(super) struct Env<'a> {
    pub(super) clock: Instant,
    /// The wall clock at the clock's zero, in µs: read once, so that its steps have no effect.
    pub(super) epoch_us: u64,
    pub(super) stop: &'a AtomicBool,
    /// Ends only this flow, because the other end refuses it.
    pub(super) refused: Option<&'a AtomicBool>,
    pub(super) every_ns: u64,
    pub(super) on_row: &'a (dyn Fn(Row) + Sync),
}

impl<'a> Env<'a> {
    pub(super) fn new(
        clock: Instant,
        wall: Wall,
        stop: &'a AtomicBool,
        every_ns: u64,
        on_row: &'a (dyn Fn(Row) + Sync),
    ) -> Env<'a> {
        let epoch_us = wall().saturating_sub(clock.elapsed()).as_micros() as u64;
        Env {
            clock,
            epoch_us,
            stop,
            refused: None,
            every_ns,
            on_row,
        }
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.clock.elapsed().as_nanos() as u64
    }

    /// Seconds and microseconds of the wall clock at `now_ns`, as datagrams carry them.
    pub(super) fn wall(&self, now_ns: u64) -> (u32, u32) {
        let us = self.epoch_us.wrapping_add(now_ns / 1000);
        ((us / 1_000_000) as u32, (us % 1_000_000) as u32)
    }

    /// The wall clock at `now_ns` in µs.
    pub(super) fn wall_us(&self, now_ns: u64) -> i64 {
        self.epoch_us.wrapping_add(now_ns / 1000) as i64
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self
                .refused
                .is_some_and(|refused| refused.load(Ordering::Relaxed))
    }

    /// Sleeps until then, and checks the flag regularly.
    fn wait_until(&self, until_ns: u64) {
        loop {
            let left = until_ns.saturating_sub(self.now_ns());
            if left == 0 || self.stopped() {
                return;
            }
            if left > SPIN_NS {
                std::thread::sleep(Duration::from_nanos(left - SPIN_NS).min(TICK));
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Reports the lines that are due; `more` makes the additions of `-e` from the meter.
    fn tell(&self, id: Id, meter: &mut Meter, more: impl FnMut(&mut Meter) -> EnhancedColumns) {
        self.tell_until(self.now_ns(), id, meter, more);
    }

    /// Reports the lines still due at the end of a flow, including that of a partial interval.
    fn tell_rest(
        &self,
        id: Id,
        meter: &mut Meter,
        mut more: impl FnMut(&mut Meter) -> EnhancedColumns,
    ) {
        let (total, _) = meter.total();
        self.tell_until(total.end_ns, id, meter, &mut more);
        if let Some((span, bytes)) = meter.rest() {
            self.tell_one(id, total.start_ns, (span, bytes), more(meter));
        }
    }

    fn tell_until(
        &self,
        now_ns: u64,
        id: Id,
        meter: &mut Meter,
        mut more: impl FnMut(&mut Meter) -> EnhancedColumns,
    ) {
        let start_ns = meter.total().0.start_ns;
        while let Some(moved) = meter.over(now_ns) {
            self.tell_one(id, start_ns, moved, more(meter));
        }
    }

    fn tell_one(&self, id: Id, start_ns: u64, (span, bytes): (Span, u64), more: EnhancedColumns) {
        (self.on_row)(Row {
            bytes,
            more: Some(more),
            ..row(id, start_ns, span)
        });
    }
}

/// A line with times relative to the start of the flow.
fn row(id: Id, start_ns: u64, span: Span) -> Row {
    let seconds = |ns: u64| ns.saturating_sub(start_ns) as f64 / 1e9;
    Row::new(id, seconds(span.start_ns), seconds(span.end_ns))
}

/// Waits until a full socket may have room for the next datagram; returns whether to try again.
pub(super) fn wait_for_room(
    socket: &UdpSocket,
    sender: &mut Sender,
    sending: &mut Sending,
    env: &Env<'_>,
) -> bool {
    sender.was_blocked(sending.wait_for_room(socket));
    !env.stopped()
}

/// Sends one datagram. If the system's buffers are full it waits, and counts as refused only if the test ends before.
fn send_datagram(
    (socket, to): (&UdpSocket, Option<SocketAddr>),
    datagram: &[u8],
    sender: &mut Sender,
    sending: &mut Sending,
    env: &Env<'_>,
) -> io::Result<()> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    let send_once = || -> io::Result<()> {
        match to {
            Some(to) => sendto(
                socket.as_raw_fd(),
                datagram,
                &SockaddrStorage::from(to),
                flags,
            )?,
            None => send(socket.as_raw_fd(), datagram, flags)?,
        };
        Ok(())
    };
    loop {
        // With an address, the first try may only return an ICMP error of another peer of this socket.
        match send_once().or_else(|error| match to {
            Some(_) => send_once(),
            None => Err(error),
        }) {
            Err(error) if is_full(&error) && wait_for_room(socket, sender, sending, env) => {}
            done => return done,
        }
    }
}

/// Runs a sender to its end. `to` is given where the socket is not connected; then nothing is read from it.
pub(super) fn send_datagrams(
    socket: &UdpSocket,
    to: Option<SocketAddr>,
    sender: &mut Sender,
    env: &Env<'_>,
    id: Id,
) -> io::Result<()> {
    let mut sending = Sending::start(!sender.is_unpaced());
    let result = drive((socket, to), sender, &mut sending, env, id);
    if result.is_err() {
        sender.abandon(env.now_ns());
        sender.was_held(sending.finish());
    }
    result
}

fn drive(
    (socket, to): (&UdpSocket, Option<SocketAddr>),
    sender: &mut Sender,
    sending: &mut Sending,
    env: &Env<'_>,
    id: Id,
) -> io::Result<()> {
    let mut buf = vec![0; sender.buffer_bytes()];
    sender.prepare(&mut buf);
    let mut meter = Meter::new(sender.start_ns(), env.every_ns);
    let mut metered_bytes = 0;
    let listed_packets = Cell::new((0, 0));
    let mut answer = [0; 2048];
    let mut together = SenderDatagrams::of(sender, &buf);
    let mut ended = false;
    loop {
        let now_ns = env.now_ns();
        if env.stopped() {
            sender.stop(now_ns);
        }
        if sender.ended_ns().is_none() {
            sending.tick(now_ns);
            env.tell(id, &mut meter, |_| packets(sender, &listed_packets));
        } else if !std::mem::replace(&mut ended, true) {
            sender.was_held(sending.finish());
            meter.until(sender.ended_ns().unwrap_or(now_ns));
            env.tell_rest(id, &mut meter, |_| packets(sender, &listed_packets));
        }
        let wall = env.wall(now_ns);
        if let Some(together) = &mut together {
            if together.send((socket, to), sender, sending, env, now_ns)? {
                meter.add((sender.bytes() - metered_bytes) as usize, now_ns);
                metered_bytes = sender.bytes();
                continue;
            }
        }
        match sender.step(now_ns, wall, &mut buf) {
            SendAction::Send(len) => {
                match send_datagram((socket, to), &buf[..len], sender, sending, env) {
                    Err(error) if is_full(&error) => sender.was_refused(),
                    // A late ICMP message about an earlier datagram, while only the report is missing.
                    Err(error)
                        if error.kind() == ErrorKind::ConnectionRefused
                            && sender.ended_ns().is_some() => {}
                    done => done?,
                }
                meter.add((sender.bytes() - metered_bytes) as usize, now_ns);
                metered_bytes = sender.bytes();
            }
            SendAction::Hear if to.is_none() => {
                let now = MsgFlags::MSG_DONTWAIT;
                while let Ok(len) = recv(socket.as_raw_fd(), &mut answer, now) {
                    sender.take_answer(&answer[..len]);
                }
            }
            SendAction::Hear => {}
            SendAction::Wait { until_ns } if sender.ended_ns().is_some() && to.is_none() => {
                let left =
                    Duration::from_nanos(until_ns.saturating_sub(env.now_ns()).max(1_000_000));
                socket.set_read_timeout(Some(left))?;
                match socket.recv(&mut answer) {
                    Ok(len) => {
                        sender.take_answer(&answer[..len]);
                    }
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                        env.wait_until(until_ns);
                    }
                    Err(_) => {}
                }
            }
            SendAction::Wait { until_ns } => env.wait_until(until_ns),
            SendAction::Done => return Ok(()),
        }
    }
}

/// Datagrams since the last line.
fn packets(sender: &Sender, listed: &Cell<(u64, u64)>) -> EnhancedColumns {
    let all = sender.packets();
    let before = listed.replace(all);
    EnhancedColumns::Packets {
        writes: all.0 - before.0,
        errors: all.1 - before.1,
    }
}

/// Counts a UDP flow and its intervals.
pub(super) struct Listener {
    pub(super) receiver: Receiver,
    intervals: Intervals,
    before: Received,
    id: Id,
}

impl Listener {
    pub(super) fn new(receiver: Receiver, every_ns: u64, id: Id) -> Listener {
        let intervals = Intervals::new(receiver.start_ns(), every_ns);
        Listener {
            receiver,
            intervals,
            before: Received::default(),
            id,
        }
    }

    /// Takes a datagram, and reports the intervals that ended before it.
    pub(super) fn take(
        &mut self,
        datagram: &[u8],
        now_ns: u64,
        queue: &Queue<'_>,
        on_row: &dyn Fn(Row),
    ) -> Arrival {
        self.tell(now_ns, queue, on_row);
        self.receiver.take(datagram, now_ns)
    }

    pub(super) fn tell(&mut self, now_ns: u64, queue: &Queue<'_>, on_row: &dyn Fn(Row)) {
        while !self.receiver.is_finished() {
            let Some(span) = self.intervals.over(now_ns) else {
                return;
            };
            self.tell_one(span, queue, on_row);
        }
    }

    /// Reports the lines still due at the end of the flow, including that of a partial interval.
    pub(super) fn tell_rest(&mut self, queue: &Queue<'_>, on_row: &dyn Fn(Row)) {
        let end_ns = self.receiver.last_ns();
        while let Some(span) = self.intervals.over(end_ns) {
            self.tell_one(span, queue, on_row);
        }
        if let Some(span) = self.intervals.rest(end_ns) {
            self.tell_one(span, queue, on_row);
        }
    }

    fn tell_one(&mut self, span: Span, queue: &Queue<'_>, on_row: &dyn Fn(Row)) {
        let received = self.received(queue).received;
        let added = received.since(&self.before);
        self.before = received;
        let jitter = (self.receiver.iperf_jitter_ms(), self.receiver.jitter_ps());
        on_row(Row {
            bytes: added.bytes,
            datagrams: Some(datagrams(&added, jitter)),
            more: Some(EnhancedColumns::Latency(
                self.receiver.take_interval_transit(),
            )),
            ..row(self.id, self.receiver.start_ns(), span)
        });
    }

    /// What arrived so far, with the drops of `queue`.
    pub(super) fn received(&self, queue: &Queue<'_>) -> UdpReceived {
        UdpReceived::of(&self.receiver).with_queue(queue)
    }

    pub(super) const fn id(&self) -> Id {
        self.id
    }
}

/// Bytes of datagrams that are sent together: few enough to stay in the processor's cache.
const BYTES: usize = 128 * 1024;
/// Most datagrams that are sent together: the clock is not read between them.
const MOST: usize = 128;

/// The datagrams of one sender.
pub(super) struct SenderDatagrams {
    batch: Batch,
}

impl SenderDatagrams {
    /// A buffer of datagrams, each a copy of the first bytes of `prepared`; `None` for a paced sender.
    pub(super) fn of(sender: &Sender, prepared: &[u8]) -> Option<SenderDatagrams> {
        if !sender.is_unpaced() {
            return None;
        }
        let (length, cut) = (
            sender.plan().length_bytes as usize,
            sender.plan().sending.segmentation,
        );
        let mut batch = Batch::new(length, (BYTES / length).clamp(2, MOST), cut).without_waiting();
        for at in 0..batch.most() {
            batch.slot_mut(at).copy_from_slice(&prepared[..length]);
        }
        Some(SenderDatagrams { batch })
    }

    /// Sends as many as there is room for; returns whether any could be sent in this way.
    pub(super) fn send(
        &mut self,
        (socket, to): (&UdpSocket, Option<SocketAddr>),
        sender: &mut Sender,
        sending: &mut Sending,
        env: &Env<'_>,
        now_ns: u64,
    ) -> io::Result<bool> {
        let wall = env.wall(now_ns);
        let Some(ids) = sender.take_together(now_ns, self.batch.most()) else {
            return Ok(false);
        };
        let mut count = 0;
        for id in ids {
            sender.write(id, wall, self.batch.slot_mut(count));
            count += 1;
        }
        let (mut sent, mut again) = (0, to.is_some());
        while sent < count {
            match self.batch.send(socket, to, sent..count) {
                Ok(more) => {
                    sent += more;
                    again = to.is_some();
                }
                Err(error) if is_full(&error) => {
                    if !wait_for_room(socket, sender, sending, env) {
                        sender.was_refused();
                        sent += 1;
                    }
                }
                // An ICMP error of another peer of this socket comes first.
                Err(_) if again => again = false,
                Err(error) => return Err(error),
            }
        }
        if self.batch.segmented() {
            sender.was_segmented();
        }
        Ok(true)
    }
}
