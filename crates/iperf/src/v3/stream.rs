//! The streams of a running test: one thread each, with counts that can be read while it runs.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use nix::sys::socket::{getsockopt, sockopt};
use wirelab_cores::prefer_this_thread;
use wirelab_socket::batch::Receiver as Joined;
use wirelab_socket::tcp::TcpInfo;
use wirelab_socket::udp::Drops;
use wirelab_socket::{Batch, lengthen_queue};
use wirelab_trial::{Histogram, HoldWatch, Holds};

use super::datagram::{DatagramHead, OPENING_LEN, reply_to};
use super::parameters::Parameters;
use super::payload::{Payload, payload};
use super::receive::Receiver;
use super::run::{Run, SLICE};
use super::test::{Ends, StreamCounts, StreamOutcome};
use crate::queue::Queue;
use crate::sending::{Sending, is_full, is_wait};
use crate::v2::progress::{Progress, Stall};
use crate::v2::schedule::Schedule;

/// Longest wait of a receiver after the end, for data in flight.
pub(super) const DRAIN: Duration = Duration::from_millis(500);
/// Time until TCP retransmits: at least 200 ms on Linux (TCP_RTO_MIN), and a little more.
pub(super) const RETRANSMISSION: Duration = Duration::from_millis(250);
/// The socket of a UDP stream, and its drops when the test began.
pub(super) type DropBaseline = (Arc<UdpSocket>, Drops);

/// The counts of one stream.
pub(super) struct Meter {
    bytes: AtomicU64,
    packets: AtomicU64,
    last_ns: AtomicU64,
    /// Whether a sender's stream is over.
    settled: AtomicBool,
    receiver: Option<(Mutex<Receiver>, DropBaseline)>,
}

impl Meter {
    fn new(receiver: Option<(Receiver, DropBaseline)>) -> Arc<Meter> {
        Arc::new(Meter {
            bytes: AtomicU64::new(0),
            packets: AtomicU64::new(0),
            last_ns: AtomicU64::new(0),
            settled: AtomicBool::new(false),
            receiver: receiver.map(|(receiver, baseline)| (Mutex::new(receiver), baseline)),
        })
    }

    pub(super) fn counted(&self) -> StreamCounts {
        let received = self.receiver.as_ref().map(|(receiver, (socket, before))| {
            let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
            let (received, longest) = (receiver.received(), receiver.longest_bytes());
            // The system is queried while no lock is held.
            drop(receiver);
            let queue = Queue::alone(socket, *before);
            received.with_missed(queue.missed(longest, true).at_most)
        });
        match received {
            Some(received) => StreamCounts {
                bytes: received.bytes,
                packets: received.peer_packets,
                received,
            },
            None => StreamCounts {
                bytes: self.bytes.load(Relaxed),
                packets: self.packets.load(Relaxed),
                ..StreamCounts::default()
            },
        }
    }

    pub(super) fn add(&self, run: &Run, bytes: u64, packets: u64, now_ns: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
        self.packets.fetch_add(packets, Relaxed);
        self.last_ns.store(now_ns, Relaxed);
        run.add(bytes);
    }

    /// Takes datagrams that arrived together.
    pub(super) fn take<'a>(
        &self,
        run: &Run,
        now_ns: u64,
        datagrams: impl Iterator<Item = &'a [u8]>,
    ) {
        let Some((receiver, _)) = &self.receiver else {
            return;
        };
        let mut receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = 0;
        for datagram in datagrams {
            if receiver.take(datagram, now_ns) {
                bytes += datagram.len() as u64;
            }
        }
        if bytes > 0 {
            self.last_ns.store(now_ns, Relaxed);
            run.add(bytes);
        }
    }
}

/// The result of a thread.
#[derive(Default)]
pub(super) struct ThreadResult {
    gaps: Option<Histogram>,
    slips: u64,
    slipped_ns: u64,
    longest_burst: Option<u64>,
    segmented: bool,
    holds: Holds,
    retransmits: Option<u64>,
    stall: Option<Stall>,
    unread: Option<Stall>,
    /// When this end's TCP stream was over.
    settled_ns: Option<u64>,
}

impl ThreadResult {
    /// The result of a receiver that its host paused.
    pub(super) fn received(watch: &mut HoldWatch) -> ThreadResult {
        ThreadResult {
            holds: watch.finish(),
            ..ThreadResult::default()
        }
    }
}

/// A running stream.
pub(super) struct Running {
    id: u32,
    sender: bool,
    local: SocketAddr,
    remote: SocketAddr,
    congestion: Option<String>,
    pub(super) meter: Arc<Meter>,
    thread: Option<JoinHandle<ThreadResult>>,
}

impl Running {
    /// Whether the peer has taken everything that this end had to send.
    pub(super) fn is_settled(&self) -> bool {
        !self.sender || self.meter.settled.load(Relaxed)
    }

    /// Identifies the stream.
    pub(super) const fn ends(&self) -> Ends {
        Ends {
            id: self.id,
            sender: self.sender,
            local: self.local,
            remote: self.remote,
        }
    }

    fn finish(self, done: &ThreadResult, span: TestSpan, omitted: StreamCounts) -> StreamOutcome {
        let TestSpan {
            began_ns,
            stopped_ns,
            seconds,
        } = span;
        let last_ns = match self.meter.last_ns.load(Relaxed) {
            0 => stopped_ns,
            last_ns => last_ns,
        };
        // A thread notices the end of the test slightly later.
        let last_ns = done.settled_ns.map_or(last_ns, |ns| ns.min(stopped_ns));
        // A pause at the end of a test of a time is part of it.
        let requested_end_ns = began_ns.saturating_add(seconds.saturating_mul(1_000_000_000));
        let over_ns = match seconds {
            0 => last_ns,
            _ => last_ns.max(requested_end_ns.min(stopped_ns)),
        };
        StreamOutcome {
            ends: self.ends(),
            counted: self.meter.counted().since(&omitted),
            omitted,
            end_ns: over_ns.saturating_sub(began_ns),
            last_ns: last_ns.saturating_sub(began_ns),
            slips: done.slips,
            slipped_ns: done.slipped_ns,
            longest_burst: done.longest_burst,
            holds: done.holds,
            segmented: done.segmented,
            gaps: done.gaps.clone(),
            congestion: self.congestion.clone(),
            retransmits: done.retransmits,
            stall: done.stall,
            unread: done.unread,
        }
    }
}

/// The time of a test without the start that is omitted.
#[derive(Clone, Copy)]
pub(super) struct TestSpan {
    pub(super) began_ns: u64,
    pub(super) stopped_ns: u64,
    /// The requested duration in s; 0 for a test of an amount.
    pub(super) seconds: u64,
}

/// Waits for all threads, including `shared`, which end soon after [`Run::stop`]. Then returns the counts of each
/// stream in the span, without the counts of the `omitted` start.
pub(super) fn finish(
    mut streams: Vec<Running>,
    shared: Option<JoinHandle<ThreadResult>>,
    span: TestSpan,
    omitted: Vec<StreamCounts>,
) -> Vec<StreamOutcome> {
    let join = |thread: JoinHandle<ThreadResult>| thread.join().unwrap_or_default();
    let shared = shared.map(join).unwrap_or_default();
    let done: Vec<Option<ThreadResult>> = streams
        .iter_mut()
        .map(|stream| stream.thread.take().map(join))
        .collect();
    let streams = streams.into_iter().zip(done).zip(omitted);
    streams
        .map(|((stream, done), omitted)| {
            let done = done.as_ref().unwrap_or(&shared);
            stream.finish(done, span, omitted)
        })
        .collect()
}

/// The transport of one stream.
pub(super) enum StreamSocket {
    Tcp(TcpStream),
    /// A socket, and the destination where it is shared.
    Udp(UdpSocket, SocketAddr),
}

impl StreamSocket {
    /// TCP's congestion control, where the system reports it.
    fn congestion(&self) -> Option<String> {
        match self {
            StreamSocket::Tcp(stream) => {
                let name = getsockopt(stream, sockopt::TcpCongestion).ok()?;
                let name = name.to_string_lossy();
                Some(name.trim_end_matches('\0').to_owned())
            }
            StreamSocket::Udp(..) => None,
        }
    }

    fn ends(&self) -> std::io::Result<(SocketAddr, SocketAddr)> {
        match self {
            StreamSocket::Tcp(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(SLICE))?;
                stream.set_write_timeout(Some(SLICE))?;
                Ok((stream.local_addr()?, stream.peer_addr()?))
            }
            StreamSocket::Udp(socket, peer) => {
                socket.set_read_timeout(Some(SLICE))?;
                socket.set_write_timeout(Some(SLICE))?;
                Ok((socket.local_addr()?, *peer))
            }
        }
    }
}

/// Starts to send.
pub(super) fn send(
    run: &Arc<Run>,
    id: u32,
    transport: StreamSocket,
    parameters: &Parameters,
) -> std::io::Result<Running> {
    let (local, remote) = transport.ends()?;
    let congestion = transport.congestion();
    let meter = Meter::new(None);
    let (its, run, parameters) = (Arc::clone(&meter), Arc::clone(run), parameters.clone());
    let interval_ps = parameters.interval_ps();
    let thread = preferred(interval_ps, move || {
        send_loop(&run, &its, transport, &parameters)
    });
    Ok(Running {
        id,
        sender: true,
        local,
        remote,
        congestion,
        meter,
        thread: Some(thread),
    })
}

/// Starts a thread with a higher priority, so that a busy host keeps its schedule.
fn preferred<R: Send + 'static>(
    interval_ps: Option<u64>,
    work: impl FnOnce() -> R + Send + 'static,
) -> JoinHandle<R> {
    thread::spawn(move || {
        prefer_this_thread(interval_ps);
        work()
    })
}

fn send_loop(
    run: &Run,
    meter: &Meter,
    transport: StreamSocket,
    parameters: &Parameters,
) -> ThreadResult {
    let interval_ps = parameters.interval_ps();
    let mut sending = Sending::start(interval_ps.is_some());
    let block = payload(parameters, run.stamp_ns(0));
    // Last, so that the schedule starts when everything is ready.
    let mut schedule = Schedule::of(run.now_ns(), interval_ps, run.options().strict_gaps);
    let mut progress = Progress::start(run.now_ns());
    let mut settled_ns = None;
    let segmented = match &transport {
        StreamSocket::Tcp(stream) => {
            let block = Payload::new(block, parameters.zerocopy);
            let follow = (&mut schedule, &mut sending, &mut progress);
            write(run, meter, stream, &block, follow);
            settled_ns = Some(settle(run, stream, &mut progress));
            meter.bytes.fetch_sub(progress.unacked(), Relaxed);
            false
        }
        StreamSocket::Udp(socket, peer) => {
            let to = socket.peer_addr().is_err().then_some(*peer);
            let mut ends = Sender::new(run, meter, socket, to, parameters);
            ends.send(block, &mut schedule, &mut sending)
        }
    };
    meter.settled.store(true, Relaxed);
    let holds = sending.finish();
    // The peer would interpret a stream that closes before the results as an error.
    while !run.stopped() {
        thread::sleep(Duration::from_millis(1));
    }
    let retransmits = match &transport {
        // The kernel's counters include the omitted start.
        StreamSocket::Tcp(stream) if parameters.omit_seconds == 0 => TcpInfo::of(stream).ok(),
        _ => None,
    };
    drop(transport);
    ThreadResult {
        gaps: Some(schedule.gaps()),
        slips: schedule.slips(),
        slipped_ns: schedule.slipped_ns(),
        longest_burst: schedule.longest_burst(),
        segmented,
        holds,
        retransmits: retransmits.map(|info| u64::from(info.retransmits)),
        stall: progress.stall(),
        unread: progress.unread(),
        settled_ns,
    }
}

/// Write a block again and again, each when it is due, and whole.
fn write(
    run: &Run,
    meter: &Meter,
    stream: &TcpStream,
    block: &Payload,
    (schedule, sending, progress): (&mut Schedule, &mut Sending, &mut Progress),
) {
    let mut written = 0;
    while !run.stopped() && !run.reached() {
        if written == 0 {
            run.wait_until(schedule.due_ns());
            if run.stopped() {
                return;
            }
        }
        sending.tick(run.now_ns());
        progress.tick(stream, run.now_ns());
        match block.write_at_once(stream, written) {
            Ok(len) => {
                let now_ns = run.now_ns();
                if written == 0 {
                    schedule.leaves(now_ns);
                }
                written = (written + len) % block.len();
                meter.add(run, len as u64, 0, now_ns);
                progress.wrote(len);
            }
            Err(error) if is_wait(&error) => schedule.was_blocked(sending.wait_for_room(stream)),
            Err(_) => return,
        }
    }
}

/// Starts to receive one stream from its own socket.
pub(super) fn receive(
    run: &Arc<Run>,
    id: u32,
    transport: StreamSocket,
    parameters: &Parameters,
) -> std::io::Result<Running> {
    let (local, remote) = transport.ends()?;
    let congestion = transport.congestion();
    let (run, parameters) = (Arc::clone(run), parameters.clone());
    let (meter, thread) = match transport {
        StreamSocket::Udp(socket, _) => {
            let socket = Arc::new(socket);
            let baseline = (Arc::clone(&socket), Drops::of(&socket));
            let meter = Meter::new(Some((Receiver::new(parameters.counters_64), baseline)));
            let its = Arc::clone(&meter);
            let work = move || take_datagrams(&run, &its, &socket, &parameters);
            (meter, preferred(None, work))
        }
        StreamSocket::Tcp(stream) => {
            let meter = Meter::new(None);
            let its = Arc::clone(&meter);
            let work = move || read(&run, &its, stream, parameters.length_bytes);
            (meter, preferred(None, work))
        }
    };
    Ok(Running {
        id,
        sender: false,
        local,
        remote,
        congestion,
        meter,
        thread: Some(thread),
    })
}

/// Receives the streams of `peers`, identified by address; all `greeted` get a repeated answer if theirs was lost. See
/// [`finish`].
pub(super) fn receive_shared(
    run: &Arc<Run>,
    socket: UdpSocket,
    peers: &[(u32, SocketAddr)],
    greeted: Vec<SocketAddr>,
    parameters: &Parameters,
) -> std::io::Result<(Vec<Running>, JoinHandle<ThreadResult>)> {
    socket.set_read_timeout(Some(SLICE))?;
    let local = socket.local_addr()?;
    let socket = Arc::new(socket);
    let drops = Drops::of(&socket);
    let streams: Vec<Running> = peers
        .iter()
        .map(|(id, remote)| {
            let baseline = (Arc::clone(&socket), drops);
            let meter = Meter::new(Some((Receiver::new(parameters.counters_64), baseline)));
            Running {
                id: *id,
                sender: false,
                local,
                remote: *remote,
                congestion: None,
                meter,
                thread: None,
            }
        })
        .collect();
    let meters: Vec<_> = streams
        .iter()
        .map(|s| (s.remote, Arc::clone(&s.meter)))
        .collect();
    let (run, parameters) = (Arc::clone(run), parameters.clone());
    let thread = preferred(None, move || {
        take_shared(&run, &socket, &meters, &greeted, &parameters)
    });
    Ok((streams, thread))
}

/// Reads until no more data arrives.
fn read(run: &Run, meter: &Meter, mut stream: TcpStream, length_bytes: u32) -> ThreadResult {
    let mut block = vec![0; length_bytes as usize];
    until_quiet(run, RETRANSMISSION, || match stream.read(&mut block)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        len => {
            let now_ns = run.now_ns();
            meter.add(run, len as u64, 0, now_ns);
            Ok(now_ns)
        }
    })
}

/// Calls `step` until the test was stopped and `quiet` has passed without data.
pub(super) fn until_quiet(
    run: &Run,
    quiet: Duration,
    mut step: impl FnMut() -> std::io::Result<u64>,
) -> ThreadResult {
    let (mut stopped, mut last_arrival): (Option<Instant>, _) = (None, Instant::now());
    let mut watch = HoldWatch::start(HoldWatch::RECEIVER);
    loop {
        if run.stopped() && stopped.get_or_insert_with(Instant::now).elapsed() > DRAIN {
            break;
        }
        let began_ns = run.now_ns();
        watch.tick(began_ns);
        let received = step();
        let waited_ns = *received.as_ref().unwrap_or(&run.now_ns());
        // The arrival time is unknown.
        watch.idle(began_ns, waited_ns, SLICE);
        let is_over = stopped.is_some() && last_arrival.elapsed() >= quiet;
        match received {
            Ok(_) => last_arrival = Instant::now(),
            Err(error) if is_wait(&error) && is_over => break,
            Err(error) if is_wait(&error) || error.kind() == ErrorKind::ConnectionRefused => {}
            Err(_) => break,
        }
    }
    ThreadResult::received(&mut watch)
}

/// A peer that took nothing for this long will not take the rest of an amount.
const GIVEN_UP: Duration = Duration::from_secs(5);
/// Time between checks.
const LOOK: Duration = Duration::from_millis(1);

/// Follows written data until the peer has all of it, takes no more, or the test is over; returns that time in ns. Data
/// in flight at the end of the test is followed a little longer, because a receiver takes it too.
pub(super) fn settle(run: &Run, stream: &TcpStream, progress: &mut Progress) -> u64 {
    let mut stopped: Option<Instant> = None;
    loop {
        if run.stopped() {
            stopped.get_or_insert_with(Instant::now);
        }
        let now_ns = run.now_ns();
        progress.look(stream, now_ns);
        let patience = match stopped {
            Some(_) => RETRANSMISSION,
            None => GIVEN_UP,
        };
        if progress.unacked() == 0
            || u128::from(progress.stalls_for_ns()) > patience.as_nanos()
            || stopped.is_some_and(|since| since.elapsed() > DRAIN)
            // A reset stream takes nothing more.
            || stream.take_error().is_ok_and(|error| error.is_some())
        {
            return now_ns;
        }
        thread::sleep(LOOK);
    }
}

/// Bytes of datagrams that are sent together: few enough to stay in the processor's cache.
const BYTES: usize = 128 * 1024;
/// Most datagrams that are sent together: the clock is not read between them.
const MOST: usize = 128;
/// Joined datagrams that one system call reads.
const PIECES: usize = 32;
/// Default size of the system's receive queue: enough for a pause of some ms.
const QUEUE_BYTES: u32 = 4 << 20;

/// The sending end of one stream.
pub(super) struct Sender<'a> {
    run: &'a Run,
    meter: &'a Meter,
    socket: &'a UdpSocket,
    /// The destination, where the socket is not connected.
    to: Option<SocketAddr>,
    length: usize,
    counters_64: bool,
    number: u64,
}

impl<'a> Sender<'a> {
    pub(super) fn new(
        run: &'a Run,
        meter: &'a Meter,
        socket: &'a UdpSocket,
        to: Option<SocketAddr>,
        parameters: &Parameters,
    ) -> Sender<'a> {
        Sender {
            run,
            meter,
            socket,
            to,
            length: parameters.length_bytes as usize,
            counters_64: parameters.counters_64,
            number: 1,
        }
    }

    /// Sends `block` with a new head repeatedly until the test is over; returns whether the system got several in one
    /// piece. Paced datagrams are sent one by one.
    pub(super) fn send(
        &mut self,
        block: Vec<u8>,
        schedule: &mut Schedule,
        sending: &mut Sending,
    ) -> bool {
        let paced = schedule.is_paced();
        let (most, cut) = match paced {
            true => (1, false),
            false => (
                (BYTES / self.length).clamp(2, MOST),
                self.run.options().segmentation,
            ),
        };
        let mut batch = Batch::new(self.length, most, cut).without_waiting();
        for at in 0..most {
            batch.slot_mut(at).copy_from_slice(&block);
        }
        while !self.run.stopped() && !self.run.reached() {
            if paced {
                self.run.wait_until(schedule.due_ns());
                if self.run.stopped() {
                    break;
                }
            }
            let left = self.run.left().div_ceil(self.length as u64);
            let count = most.min(usize::try_from(left).unwrap_or(most));
            let now_ns = self.run.now_ns();
            sending.tick(now_ns);
            let stamp_ns = self.run.stamp_ns(now_ns);
            for at in 0..count {
                let head = DatagramHead::new(self.number + at as u64, stamp_ns);
                head.emit(batch.slot_mut(at), self.counters_64);
            }
            match self.send_once(&mut batch, count, now_ns, schedule) {
                Ok(()) => {}
                Err(error) if is_full(&error) => {
                    schedule.was_blocked(sending.wait_for_room(self.socket));
                }
                // An unreachable peer shows on the control connection, where it differs from a lost datagram.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(_) => break,
            }
        }
        batch.segmented()
    }

    fn send_once(
        &mut self,
        batch: &mut Batch,
        count: usize,
        now_ns: u64,
        schedule: &mut Schedule,
    ) -> io::Result<()> {
        // Numbers of unsent datagrams are reused.
        let sent = batch.send(self.socket, self.to, 0..count)?;
        schedule.leave_together(now_ns, sent as u64);
        let bytes = (sent * self.length) as u64;
        self.meter
            .add(self.run, bytes, sent as u64, self.run.now_ns());
        self.number += sent as u64;
        Ok(())
    }
}

/// Receives one stream from its own socket until no more data arrives.
fn take_datagrams(
    run: &Run,
    meter: &Meter,
    socket: &UdpSocket,
    parameters: &Parameters,
) -> ThreadResult {
    let mut joined = joined(socket, parameters);
    until_quiet(run, Duration::ZERO, || {
        let arrived = joined.receive_resting(socket)?;
        let now_ns = run.now_ns();
        // A repeated answer to the opening is not data.
        let data = arrived
            .map(|datagram| datagram.bytes)
            .filter(|bytes| bytes.len() != OPENING_LEN);
        meter.take(run, now_ns, data);
        Ok(now_ns)
    })
}

/// Receives the streams of `meters` from one socket, identified by the sender's address, until no more data arrives.
/// All `greeted` get another answer to an opening.
fn take_shared(
    run: &Run,
    socket: &UdpSocket,
    meters: &[(SocketAddr, Arc<Meter>)],
    greeted: &[SocketAddr],
    parameters: &Parameters,
) -> ThreadResult {
    let mut joined = joined(socket, parameters);
    until_quiet(run, Duration::ZERO, || {
        let mut arrived = joined.receive_resting(socket)?.peekable();
        let now_ns = run.now_ns();
        while let Some(first) = arrived.next() {
            let from = first.from;
            if let Some(reply) = reply_to(first.bytes) {
                if greeted.contains(&from) {
                    socket.send_to(&reply, from)?;
                }
            } else if let Some((_, meter)) = meters.iter().find(|(remote, _)| *remote == from) {
                // The next ones are nearly always of the same stream.
                let next =
                    || arrived.next_if(|next| next.from == from && reply_to(next.bytes).is_none());
                let rest = std::iter::from_fn(next).map(|next| next.bytes);
                meter.take(run, now_ns, std::iter::once(first.bytes).chain(rest));
            }
        }
        Ok(now_ns)
    })
}

fn joined(socket: &UdpSocket, parameters: &Parameters) -> Joined {
    if parameters.window_bytes == 0 {
        lengthen_queue(socket, QUEUE_BYTES);
    }
    Joined::joining(socket, PIECES)
}
