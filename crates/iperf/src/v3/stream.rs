//! The streams of a running test: a thread each, and counts that can be looked at while it runs.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wirelab_trial::Histogram;

use super::link::is_wait;
use super::parameters::Parameters;
use super::receive::Receiver;
use super::test::{Counted, Ends, StreamOutcome};
use super::udp;
use crate::v2::schedule::Schedule;

/// How long a socket may block before its thread looks whether the test is over.
const SLICE: Duration = Duration::from_millis(20);
/// Below this a sleep is too coarse to be on time.
const SPIN_NS: u64 = 100_000;
/// How long a receiver goes on after the end at most, for what is still on its way.
const DRAIN: Duration = Duration::from_millis(500);

/// What the threads of a test share.
pub(super) struct Run {
    began: Instant,
    stop: AtomicBool,
    moved: AtomicU64,
    /// 0 where no amount ends the test.
    wanted: AtomicU64,
    /// Whether the system may cut datagrams late, out of pieces of many.
    segmentation: bool,
}

impl Run {
    /// A test that begins now; at a sender `wanted` bytes end it.
    pub(super) fn new(wanted: Option<u64>, segmentation: bool) -> Arc<Run> {
        Arc::new(Run {
            began: Instant::now(),
            stop: AtomicBool::new(false),
            moved: AtomicU64::new(0),
            wanted: AtomicU64::new(wanted.unwrap_or(0)),
            segmentation,
        })
    }

    pub(super) fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether the wanted amount was sent or received.
    pub(super) fn reached(&self) -> bool {
        self.left() == 0
    }

    /// Bytes until the wanted amount is reached.
    pub(super) fn left(&self) -> u64 {
        match self.wanted.load(Relaxed) {
            0 => u64::MAX,
            wanted => wanted.saturating_sub(self.moved.load(Relaxed)),
        }
    }

    pub(super) const fn segmentation(&self) -> bool {
        self.segmentation
    }

    /// Wait until then, exactly, or until the test is over. What is too short for a sleep is spun.
    pub(super) fn wait_until(&self, until_ns: u64) {
        loop {
            let left_ns = until_ns.saturating_sub(self.now_ns());
            if left_ns == 0 || self.stopped() {
                return;
            }
            if left_ns > SPIN_NS {
                thread::sleep(Duration::from_nanos(left_ns - SPIN_NS).min(SLICE));
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Bytes that all streams have moved.
    pub(super) fn moved(&self) -> u64 {
        self.moved.load(Relaxed)
    }

    /// Count anew from here, towards another amount: what was moved until now was omitted.
    pub(super) fn count_anew(&self, wanted: Option<u64>) {
        self.moved.store(0, Relaxed);
        self.wanted.store(wanted.unwrap_or(0), Relaxed);
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// The counts of one stream.
pub(super) struct Meter {
    bytes: AtomicU64,
    packets: AtomicU64,
    last_ns: AtomicU64,
    receiver: Option<Mutex<Receiver>>,
}

impl Meter {
    fn new(receiver: Option<Receiver>) -> Arc<Meter> {
        Arc::new(Meter {
            bytes: AtomicU64::new(0),
            packets: AtomicU64::new(0),
            last_ns: AtomicU64::new(0),
            receiver: receiver.map(Mutex::new),
        })
    }

    pub(super) fn counted(&self) -> Counted {
        let received = self.receiver.as_ref().map(|receiver| {
            let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
            receiver.received()
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
        run.moved.fetch_add(bytes, Relaxed);
    }

    /// Take datagrams that came together.
    pub(super) fn take<'a>(&self, run: &Run, now_ns: u64, came: impl Iterator<Item = &'a [u8]>) {
        let Some(receiver) = &self.receiver else {
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
            run.moved.fetch_add(bytes, Relaxed);
        }
    }
}

/// What a sender tells of itself at its end.
pub(super) struct Kept {
    gaps: Histogram,
    slips: u64,
    segmented: bool,
}

/// One stream that runs.
pub(super) struct Running {
    id: u32,
    sender: bool,
    local: SocketAddr,
    remote: SocketAddr,
    pub(super) meter: Arc<Meter>,
    thread: Option<JoinHandle<Option<Kept>>>,
}

impl Running {
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
        kept: Option<Kept>,
        began_ns: u64,
        stopped_ns: u64,
        omitted: Counted,
    ) -> StreamOutcome {
        let last_ns = match self.meter.last_ns.load(Relaxed) {
            0 => stopped_ns,
            last_ns => last_ns,
        };
        StreamOutcome {
            ends: self.ends(),
            counted: self.meter.counted().since(&omitted),
            omitted,
            end_ns: last_ns.saturating_sub(began_ns),
            slips: kept.as_ref().map_or(0, |kept| kept.slips),
            segmented: kept.as_ref().is_some_and(|kept| kept.segmented),
            gaps: kept.map(|kept| kept.gaps),
        }
    }
}

/// Wait for all threads, which end soon after [`Run::stop`], `shared` among them; what each stream counted since
/// `began_ns` without what was `omitted` before. Nothing is counted before all have ended.
pub(super) fn finish(
    mut streams: Vec<Running>,
    shared: Option<JoinHandle<Option<Kept>>>,
    (began_ns, stopped_ns): (u64, u64),
    omitted: Vec<Counted>,
) -> Vec<StreamOutcome> {
    let join = |thread: JoinHandle<Option<Kept>>| thread.join().ok().flatten();
    shared.and_then(join);
    let kept: Vec<Option<Kept>> = streams
        .iter_mut()
        .map(|stream| stream.thread.take().and_then(join))
        .collect();
    let streams = streams.into_iter().zip(kept).zip(omitted);
    streams
        .map(|((stream, kept), omitted)| stream.finish(kept, began_ns, stopped_ns, omitted))
        .collect()
}

/// The way of one stream through a socket.
pub(super) enum Way {
    Tcp(TcpStream),
    /// A socket, and whom to send to where it is shared.
    Udp(UdpSocket, SocketAddr),
}

impl Way {
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
    let meter = Meter::new(None);
    let (its, run, parameters) = (Arc::clone(&meter), Arc::clone(run), parameters.clone());
    let thread = thread::spawn(move || Some(send_loop(&run, &its, way, &parameters)));
    Ok(Running {
        id,
        sender: true,
        local,
        remote,
        meter,
        thread: Some(thread),
    })
}

fn send_loop(run: &Run, meter: &Meter, mut way: Way, parameters: &Parameters) -> Kept {
    let mut schedule = Schedule::new(run.now_ns(), parameters.interval_ps());
    let block: Vec<u8> = (0..parameters.length_bytes)
        .map(|i| b'0' + (i % 10) as u8)
        .collect();
    let segmented = match &mut way {
        Way::Tcp(stream) => {
            write(run, meter, stream, &block, &mut schedule);
            false
        }
        Way::Udp(socket, peer) => {
            let to = socket.peer_addr().is_err().then_some(*peer);
            let mut ends = udp::Sender::new(run, meter, socket, to, parameters);
            ends.send(block, &mut schedule)
        }
    };
    // A stream that is closed before the results would look like an error to the peer.
    while !run.stopped() {
        thread::sleep(Duration::from_millis(1));
    }
    drop(way);
    Kept {
        gaps: schedule.gaps(),
        slips: schedule.slips(),
        segmented,
    }
}

/// Write a block again and again, each when it is due.
fn write(run: &Run, meter: &Meter, stream: &mut TcpStream, block: &[u8], schedule: &mut Schedule) {
    while !run.stopped() && !run.reached() {
        run.wait_until(schedule.due_ns());
        match stream.write(block) {
            Ok(len) => {
                let now_ns = run.now_ns();
                schedule.leaves(now_ns);
                meter.add(run, len as u64, 0, now_ns);
            }
            Err(error) if is_wait(&error) => {}
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
    let meter = Meter::new(
        parameters
            .udp
            .then(|| Receiver::new(parameters.counters_64)),
    );
    let (its, run) = (Arc::clone(&meter), Arc::clone(run));
    let parameters = parameters.clone();
    let thread = thread::spawn(move || {
        match way {
            Way::Tcp(stream) => read(&run, &its, stream, parameters.length_bytes),
            Way::Udp(socket, _) => udp::receive(&run, &its, &socket, &parameters),
        }
        None
    });
    Ok(Running {
        id,
        sender: false,
        local,
        remote,
        meter,
        thread: Some(thread),
    })
}

/// Begin to receive from one shared socket the streams of `peers`, told apart by the sender's address. All `greeted`
/// get another answer to an opening of which the first was lost. The thread is for [`finish`].
pub(super) fn receive_shared(
    run: &Arc<Run>,
    socket: UdpSocket,
    peers: &[(u32, SocketAddr)],
    greeted: Vec<SocketAddr>,
    parameters: &Parameters,
) -> std::io::Result<(Vec<Running>, JoinHandle<Option<Kept>>)> {
    socket.set_read_timeout(Some(SLICE))?;
    let local = socket.local_addr()?;
    let streams: Vec<Running> = peers
        .iter()
        .map(|(id, remote)| {
            let meter = Meter::new(Some(Receiver::new(parameters.counters_64)));
            Running {
                id: *id,
                sender: false,
                local,
                remote: *remote,
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
    let thread = thread::spawn(move || {
        udp::receive_shared(&run, &socket, &meters, &greeted, &parameters);
        None
    });
    Ok((streams, thread))
}

/// Read until nothing more comes.
fn read(run: &Run, meter: &Meter, mut stream: TcpStream, length_bytes: u32) {
    let mut block = vec![0; length_bytes as usize];
    until_quiet(run, || match stream.read(&mut block)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        len => {
            meter.add(run, len as u64, 0, run.now_ns());
            Ok(())
        }
    });
}

/// Call `step` until the test was stopped and nothing more comes.
pub(super) fn until_quiet(run: &Run, mut step: impl FnMut() -> std::io::Result<()>) {
    let mut stopped: Option<Instant> = None;
    loop {
        if run.stopped() && stopped.get_or_insert_with(Instant::now).elapsed() > DRAIN {
            return;
        }
        match step() {
            Ok(()) => {}
            Err(error) if is_wait(&error) && stopped.is_some() => return,
            Err(error) if is_wait(&error) || error.kind() == ErrorKind::ConnectionRefused => {}
            Err(_) => return,
        }
    }
}
