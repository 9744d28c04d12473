//! The streams of a running test: a thread each, and counts that can be looked at while it runs.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt};
use wirelab_cores::prefer_this_thread;
use wirelab_socket::tcp::TcpInfo;
use wirelab_socket::udp::Drops;
use wirelab_trial::{Histogram, HoldWatch, Holds};

use super::parameters::Parameters;
use super::payload::{Payload, payload};
use super::receive::Receiver;
use super::run::{Run, SLICE};
use super::settle::settle;
use super::test::{Counted, Ends, StreamOutcome};
use super::udp;
use crate::queue::Queue;
use crate::sending::{Sending, is_wait};
use crate::v2::progress::{Progress, Stall};
use crate::v2::schedule::Schedule;

/// How long a receiver goes on after the end at most, for what is still on its way.
pub(super) const DRAIN: Duration = Duration::from_millis(500);
/// What TCP lost comes again after so long: at least 200 ms on Linux (TCP_RTO_MIN), and a little more.
pub(super) const RETRANSMISSION: Duration = Duration::from_millis(250);
/// Where a UDP stream is received: its socket, and what that had dropped when the test began.
pub(super) type Place = (Arc<UdpSocket>, Drops);

/// The counts of one stream.
pub(super) struct Meter {
    bytes: AtomicU64,
    packets: AtomicU64,
    last_ns: AtomicU64,
    /// Whether a sender's stream is over.
    settled: AtomicBool,
    receiver: Option<(Mutex<Receiver>, Place)>,
}

impl Meter {
    fn new(receiver: Option<(Receiver, Place)>) -> Arc<Meter> {
        Arc::new(Meter {
            bytes: AtomicU64::new(0),
            packets: AtomicU64::new(0),
            last_ns: AtomicU64::new(0),
            settled: AtomicBool::new(false),
            receiver: receiver.map(|(receiver, place)| (Mutex::new(receiver), place)),
        })
    }

    pub(super) fn counted(&self) -> Counted {
        let received = self.receiver.as_ref().map(|(receiver, (socket, before))| {
            let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
            let (received, longest) = (receiver.received(), receiver.longest_bytes());
            // The system is asked while nothing is held up for it.
            drop(receiver);
            let queue = Queue::alone(socket, *before);
            received.with_missed(queue.missed(longest, true).at_most)
        });
        match received {
            Some(received) => Counted {
                bytes: received.bytes,
                packets: received.peer_packets,
                received,
            },
            None => Counted {
                bytes: self.bytes.load(Relaxed),
                packets: self.packets.load(Relaxed),
                ..Counted::default()
            },
        }
    }

    pub(super) fn add(&self, run: &Run, bytes: u64, packets: u64, now_ns: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
        self.packets.fetch_add(packets, Relaxed);
        self.last_ns.store(now_ns, Relaxed);
        run.add(bytes);
    }

    /// Take datagrams that came together.
    pub(super) fn take<'a>(&self, run: &Run, now_ns: u64, came: impl Iterator<Item = &'a [u8]>) {
        let Some((receiver, _)) = &self.receiver else {
            return;
        };
        let mut receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = 0;
        for datagram in came {
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

/// What a thread tells of itself at its end.
#[derive(Default)]
pub(super) struct Done {
    gaps: Option<Histogram>,
    slips: u64,
    slipped_ns: u64,
    longest_burst: Option<u64>,
    segmented: bool,
    holds: Holds,
    retransmits: Option<u64>,
    stall: Option<Stall>,
    unread: Option<Stall>,
    /// When a TCP stream of ours was over.
    settled_ns: Option<u64>,
}

impl Done {
    /// Of a receiver that was held up by its host.
    pub(super) fn received(watch: &mut HoldWatch) -> Done {
        Done {
            holds: watch.finish(),
            ..Done::default()
        }
    }
}

/// One stream that runs.
pub(super) struct Running {
    id: u32,
    sender: bool,
    local: SocketAddr,
    remote: SocketAddr,
    congestion: Option<String>,
    pub(super) meter: Arc<Meter>,
    thread: Option<JoinHandle<Done>>,
}

impl Running {
    /// Whether nothing is left to be taken of what our end had to send.
    pub(super) fn is_settled(&self) -> bool {
        !self.sender || self.meter.settled.load(Relaxed)
    }

    /// Which stream it is.
    pub(super) const fn ends(&self) -> Ends {
        Ends {
            id: self.id,
            sender: self.sender,
            local: self.local,
            remote: self.remote,
        }
    }

    fn finish(
        self,
        done: &Done,
        began_ns: u64,
        stopped_ns: u64,
        omitted: Counted,
    ) -> StreamOutcome {
        let last_ns = match self.meter.last_ns.load(Relaxed) {
            0 => stopped_ns,
            last_ns => last_ns,
        };
        // A thread learns a little later that the test is over.
        let last_ns = done.settled_ns.map_or(last_ns, |ns| ns.min(stopped_ns));
        StreamOutcome {
            ends: self.ends(),
            counted: self.meter.counted().since(&omitted),
            omitted,
            end_ns: last_ns.saturating_sub(began_ns),
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

/// Wait for all threads, which end soon after [`Run::stop`], `shared` among them; what each stream counted since
/// `began_ns` without what was `omitted` before. Nothing is counted before all have ended.
pub(super) fn finish(
    mut streams: Vec<Running>,
    shared: Option<JoinHandle<Done>>,
    (began_ns, stopped_ns): (u64, u64),
    omitted: Vec<Counted>,
) -> Vec<StreamOutcome> {
    let join = |thread: JoinHandle<Done>| thread.join().unwrap_or_default();
    let shared = shared.map(join).unwrap_or_default();
    let done: Vec<Option<Done>> = streams
        .iter_mut()
        .map(|stream| stream.thread.take().map(join))
        .collect();
    let streams = streams.into_iter().zip(done).zip(omitted);
    streams
        .map(|((stream, done), omitted)| {
            let done = done.as_ref().unwrap_or(&shared);
            stream.finish(done, began_ns, stopped_ns, omitted)
        })
        .collect()
}

/// The way of one stream through a socket.
pub(super) enum Way {
    Tcp(TcpStream),
    /// A socket, and whom to send to where it is shared.
    Udp(UdpSocket, SocketAddr),
}

impl Way {
    /// TCP's congestion control, where the system tells it.
    fn congestion(&self) -> Option<String> {
        match self {
            Way::Tcp(stream) => {
                let name = getsockopt(stream, sockopt::TcpCongestion).ok()?;
                let name = name.to_string_lossy();
                Some(name.trim_end_matches('\0').to_owned())
            }
            Way::Udp(..) => None,
        }
    }

    fn ends(&self) -> std::io::Result<(SocketAddr, SocketAddr)> {
        match self {
            Way::Tcp(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(SLICE))?;
                stream.set_write_timeout(Some(SLICE))?;
                Ok((stream.local_addr()?, stream.peer_addr()?))
            }
            Way::Udp(socket, peer) => {
                socket.set_read_timeout(Some(SLICE))?;
                socket.set_write_timeout(Some(SLICE))?;
                Ok((socket.local_addr()?, *peer))
            }
        }
    }
}

/// Begin to send.
pub(super) fn send(
    run: &Arc<Run>,
    id: u32,
    way: Way,
    parameters: &Parameters,
) -> std::io::Result<Running> {
    let (local, remote) = way.ends()?;
    let congestion = way.congestion();
    let meter = Meter::new(None);
    let (its, run, parameters) = (Arc::clone(&meter), Arc::clone(run), parameters.clone());
    let interval_ps = parameters.interval_ps();
    let thread = preferred(interval_ps, move || send_loop(&run, &its, way, &parameters));
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

/// A thread that goes before others, so that a schedule is kept on a busy host.
fn preferred<R: Send + 'static>(
    interval_ps: Option<u64>,
    work: impl FnOnce() -> R + Send + 'static,
) -> JoinHandle<R> {
    thread::spawn(move || {
        prefer_this_thread(interval_ps);
        work()
    })
}

fn send_loop(run: &Run, meter: &Meter, way: Way, parameters: &Parameters) -> Done {
    let interval_ps = parameters.interval_ps();
    let mut sending = Sending::start(interval_ps.is_some());
    let block = payload(parameters, run.stamp_ns(0));
    // Last, so that the schedule starts when all is ready.
    let mut schedule = Schedule::of(run.now_ns(), interval_ps, run.options().strict_gaps);
    let mut progress = Progress::start(run.now_ns());
    let mut settled_ns = None;
    let segmented = match &way {
        Way::Tcp(stream) => {
            let block = Payload::new(block, parameters.zerocopy);
            let follow = (&mut schedule, &mut sending, &mut progress);
            write(run, meter, stream, &block, follow);
            settled_ns = Some(settle(run, stream, &mut progress));
            meter.bytes.fetch_sub(progress.unacked(), Relaxed);
            false
        }
        Way::Udp(socket, peer) => {
            let to = socket.peer_addr().is_err().then_some(*peer);
            let mut ends = udp::Sender::new(run, meter, socket, to, parameters);
            ends.send(block, &mut schedule, &mut sending)
        }
    };
    meter.settled.store(true, Relaxed);
    let holds = sending.finish();
    // A stream that is closed before the results would look like an error to the peer.
    while !run.stopped() {
        thread::sleep(Duration::from_millis(1));
    }
    let retransmits = match &way {
        // Those of the start that is omitted would count.
        Way::Tcp(stream) if parameters.omit_seconds == 0 => TcpInfo::of(stream).ok(),
        _ => None,
    };
    drop(way);
    Done {
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

/// Write a block again and again, each when it is due.
fn write(
    run: &Run,
    meter: &Meter,
    stream: &TcpStream,
    block: &Payload,
    (schedule, sending, progress): (&mut Schedule, &mut Sending, &mut Progress),
) {
    while !run.stopped() && !run.reached() {
        run.wait_until(schedule.due_ns());
        sending.tick(run.now_ns());
        progress.tick(stream, run.now_ns());
        match block.write_at_once(stream) {
            Ok(len) => {
                let now_ns = run.now_ns();
                schedule.leaves(now_ns);
                meter.add(run, len as u64, 0, now_ns);
                progress.wrote(len);
            }
            Err(error) if is_wait(&error) => schedule.was_blocked(sending.wait_for_room(stream)),
            Err(_) => return,
        }
    }
}

/// Begin to receive one stream from its own socket.
pub(super) fn receive(
    run: &Arc<Run>,
    id: u32,
    way: Way,
    parameters: &Parameters,
) -> std::io::Result<Running> {
    let (local, remote) = way.ends()?;
    let congestion = way.congestion();
    let (run, parameters) = (Arc::clone(run), parameters.clone());
    let (meter, thread) = match way {
        Way::Udp(socket, _) => {
            let socket = Arc::new(socket);
            let place = (Arc::clone(&socket), Drops::of(&socket));
            let meter = Meter::new(Some((Receiver::new(parameters.counters_64), place)));
            let its = Arc::clone(&meter);
            let work = move || udp::receive(&run, &its, &socket, &parameters);
            (meter, preferred(None, work))
        }
        Way::Tcp(stream) => {
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

/// Receive the streams of `peers`, told apart by address; all `greeted` get a lost answer again. See [`finish`].
pub(super) fn receive_shared(
    run: &Arc<Run>,
    socket: UdpSocket,
    peers: &[(u32, SocketAddr)],
    greeted: Vec<SocketAddr>,
    parameters: &Parameters,
) -> std::io::Result<(Vec<Running>, JoinHandle<Done>)> {
    socket.set_read_timeout(Some(SLICE))?;
    let local = socket.local_addr()?;
    let socket = Arc::new(socket);
    let drops = Drops::of(&socket);
    let streams: Vec<Running> = peers
        .iter()
        .map(|(id, remote)| {
            let place = (Arc::clone(&socket), drops);
            let meter = Meter::new(Some((Receiver::new(parameters.counters_64), place)));
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
        udp::receive_shared(&run, &socket, &meters, &greeted, &parameters)
    });
    Ok((streams, thread))
}

/// Read until nothing more comes.
fn read(run: &Run, meter: &Meter, mut stream: TcpStream, length_bytes: u32) -> Done {
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

/// Call `step` until the test was stopped and nothing has come for so long. It says when it had waited.
pub(super) fn until_quiet(
    run: &Run,
    quiet: Duration,
    mut step: impl FnMut() -> std::io::Result<u64>,
) -> Done {
    let (mut stopped, mut came_last): (Option<Instant>, _) = (None, Instant::now());
    let mut watch = HoldWatch::start(HoldWatch::RECEIVER);
    loop {
        if run.stopped() && stopped.get_or_insert_with(Instant::now).elapsed() > DRAIN {
            break;
        }
        let began_ns = run.now_ns();
        watch.tick(began_ns);
        let came = step();
        let waited_ns = *came.as_ref().unwrap_or(&run.now_ns());
        // When it came is not known.
        watch.idle(began_ns, waited_ns, SLICE);
        let is_over = stopped.is_some() && came_last.elapsed() >= quiet;
        match came {
            Ok(_) => came_last = Instant::now(),
            Err(error) if is_wait(&error) && is_over => break,
            Err(error) if is_wait(&error) || error.kind() == ErrorKind::ConnectionRefused => {}
            Err(_) => break,
        }
    }
    Done::received(&mut watch)
}
