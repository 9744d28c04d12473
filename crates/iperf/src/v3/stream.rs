//! The streams of a running test: a thread each, and counts that can be looked at while it runs.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wirelab_trial::Histogram;

use super::datagram::{Head, OPENING_LEN, reply_to};
use super::link::is_wait;
use super::parameters::Parameters;
use super::receive::Receiver;
use super::test::{Counted, StreamOutcome};
use crate::v2::schedule::Schedule;

/// How long a socket may block before its thread looks whether the test is over.
const SLICE: Duration = Duration::from_millis(20);
/// How long a receiver goes on after the end at most, for what is still on its way.
const DRAIN: Duration = Duration::from_millis(500);

/// What the threads of a test share.
pub(super) struct Run {
    began: Instant,
    stop: AtomicBool,
    moved: AtomicU64,
    wanted: Option<u64>,
}

impl Run {
    /// A test that begins now; at a sender `wanted` bytes end it.
    pub(super) fn new(wanted: Option<u64>) -> Arc<Run> {
        Arc::new(Run {
            began: Instant::now(),
            stop: AtomicBool::new(false),
            moved: AtomicU64::new(0),
            wanted,
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
        self.wanted
            .is_some_and(|wanted| self.moved.load(Relaxed) >= wanted)
    }

    fn stopped(&self) -> bool {
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

    fn add(&self, run: &Run, bytes: usize, packets: u64) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        self.packets.fetch_add(packets, Relaxed);
        self.last_ns.store(run.now_ns(), Relaxed);
        run.moved.fetch_add(bytes as u64, Relaxed);
    }

    fn take_datagram(&self, run: &Run, datagram: &[u8]) {
        let Some(receiver) = &self.receiver else {
            return;
        };
        let mut receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ns = run.now_ns();
        if receiver.take(datagram, now_ns) {
            self.last_ns.store(now_ns, Relaxed);
            run.moved.fetch_add(datagram.len() as u64, Relaxed);
        }
    }
}

type Gaps = Option<(Histogram, u64)>;

/// One stream that runs.
pub(super) struct Running {
    id: u32,
    local: SocketAddr,
    remote: SocketAddr,
    pub(super) meter: Arc<Meter>,
    thread: Option<JoinHandle<Gaps>>,
}

impl Running {
    /// Wait for its thread, which ends soon after [`Run::stop`].
    pub(super) fn finish(self, stopped_ns: u64) -> StreamOutcome {
        let gaps = self.thread.and_then(|thread| thread.join().ok()).flatten();
        let last_ns = self.meter.last_ns.load(Relaxed);
        let (gaps, slips) = gaps.map_or((None, 0), |(gaps, slips)| (Some(gaps), slips));
        StreamOutcome {
            id: self.id,
            local: self.local,
            remote: self.remote,
            counted: self.meter.counted(),
            end_ns: if last_ns == 0 { stopped_ns } else { last_ns },
            gaps,
            slips,
        }
    }
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
        local,
        remote,
        meter,
        thread: Some(thread),
    })
}

fn send_loop(run: &Run, meter: &Meter, mut way: Way, parameters: &Parameters) -> (Histogram, u64) {
    let mut schedule = Schedule::new(run.now_ns(), parameters.interval_ps());
    let mut block: Vec<u8> = (0..parameters.length_bytes)
        .map(|i| b'0' + (i % 10) as u8)
        .collect();
    let connected = matches!(&way, Way::Udp(socket, _) if socket.peer_addr().is_ok());
    let mut number = 1;
    while !run.stopped() && !run.reached() {
        let wait_ns = schedule.due_ns().saturating_sub(run.now_ns());
        if wait_ns > 0 {
            thread::sleep(Duration::from_nanos(wait_ns).min(SLICE));
            continue;
        }
        let written = match &mut way {
            Way::Tcp(stream) => stream.write(&block),
            Way::Udp(socket, peer) => {
                Head::new(number, run.now_ns()).emit(&mut block, parameters.counters_64);
                if connected {
                    socket.send(&block)
                } else {
                    socket.send_to(&block, *peer)
                }
            }
        };
        match written {
            Ok(len) => {
                schedule.leaves(run.now_ns());
                meter.add(run, len, u64::from(parameters.udp));
                number += 1;
            }
            Err(error) if is_wait(&error) => {}
            // An unreachable peer shows on the control connection, where it can be told apart from a lost datagram.
            Err(error) if parameters.udp && error.kind() == ErrorKind::ConnectionRefused => {}
            Err(_) => break,
        }
    }
    // A stream that is closed before the results would look like an error to the peer.
    while !run.stopped() {
        thread::sleep(Duration::from_millis(1));
    }
    drop(way);
    (schedule.gaps(), schedule.slips())
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
    let room = if parameters.udp {
        65_536
    } else {
        parameters.length_bytes as usize
    };
    let thread = thread::spawn(move || {
        let mut way = way;
        let mut block = vec![0; room];
        until_quiet(&run, || {
            let len = match &mut way {
                Way::Tcp(stream) => stream.read(&mut block)?,
                Way::Udp(socket, _) => socket.recv(&mut block)?,
            };
            match &way {
                Way::Tcp(_) if len == 0 => return Err(ErrorKind::UnexpectedEof.into()),
                Way::Tcp(_) => its.add(&run, len, 0),
                // A repeated answer to the opening is no data.
                Way::Udp(..) if len == OPENING_LEN => {}
                Way::Udp(..) => its.take_datagram(&run, &block[..len]),
            }
            Ok(())
        });
        None
    });
    Ok(Running {
        id,
        local,
        remote,
        meter,
        thread: Some(thread),
    })
}

/// Begin to receive all streams of a test from one shared socket, told apart by the sender's address.
pub(super) fn receive_shared(
    run: &Arc<Run>,
    socket: UdpSocket,
    peers: &[(u32, SocketAddr)],
    parameters: &Parameters,
) -> std::io::Result<Vec<Running>> {
    socket.set_read_timeout(Some(SLICE))?;
    let local = socket.local_addr()?;
    let mut streams: Vec<Running> = peers
        .iter()
        .map(|(id, remote)| {
            let meter = Meter::new(Some(Receiver::new(parameters.counters_64)));
            Running {
                id: *id,
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
    let run = Arc::clone(run);
    let thread = thread::spawn(move || {
        let mut block = vec![0; 65_536];
        until_quiet(&run, || {
            let (len, from) = socket.recv_from(&mut block)?;
            let Some((_, meter)) = meters.iter().find(|(remote, _)| *remote == from) else {
                return Ok(());
            };
            match reply_to(&block[..len]) {
                Some(reply) => drop(socket.send_to(&reply, from)?),
                None => meter.take_datagram(&run, &block[..len]),
            }
            Ok(())
        });
        None
    });
    if let Some(last) = streams.last_mut() {
        last.thread = Some(thread);
    }
    // Whoever finishes the streams in order must have waited for the thread before the first is counted.
    streams.reverse();
    Ok(streams)
}

/// Call `step` until the test was stopped and nothing more comes.
fn until_quiet(run: &Run, mut step: impl FnMut() -> std::io::Result<()>) {
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
