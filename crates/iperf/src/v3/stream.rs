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
use super::test::{Counted, Ends, StreamOutcome};
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
    /// 0 where no amount ends the test.
    wanted: AtomicU64,
}

impl Run {
    /// A test that begins now; at a sender `wanted` bytes end it.
    pub(super) fn new(wanted: Option<u64>) -> Arc<Run> {
        Arc::new(Run {
            began: Instant::now(),
            stop: AtomicBool::new(false),
            moved: AtomicU64::new(0),
            wanted: AtomicU64::new(wanted.unwrap_or(0)),
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
        let wanted = self.wanted.load(Relaxed);
        wanted > 0 && self.moved.load(Relaxed) >= wanted
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

pub(super) type Gaps = Option<(Histogram, u64)>;

/// One stream that runs.
pub(super) struct Running {
    id: u32,
    sender: bool,
    local: SocketAddr,
    remote: SocketAddr,
    pub(super) meter: Arc<Meter>,
    thread: Option<JoinHandle<Gaps>>,
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

    fn finish(self, gaps: Gaps, began_ns: u64, stopped_ns: u64, omitted: Counted) -> StreamOutcome {
        let last_ns = match self.meter.last_ns.load(Relaxed) {
            0 => stopped_ns,
            last_ns => last_ns,
        };
        let (gaps, slips) = gaps.map_or((None, 0), |(gaps, slips)| (Some(gaps), slips));
        StreamOutcome {
            ends: self.ends(),
            counted: self.meter.counted().since(&omitted),
            omitted,
            end_ns: last_ns.saturating_sub(began_ns),
            gaps,
            slips,
        }
    }
}

/// Wait for all threads, which end soon after [`Run::stop`], `shared` among them; what each stream counted since
/// `began_ns` without what was `omitted` before. Nothing is counted before all have ended.
pub(super) fn finish(
    mut streams: Vec<Running>,
    shared: Option<JoinHandle<Gaps>>,
    (began_ns, stopped_ns): (u64, u64),
    omitted: Vec<Counted>,
) -> Vec<StreamOutcome> {
    let join = |thread: JoinHandle<Gaps>| thread.join().ok().flatten();
    shared.and_then(join);
    let gaps: Vec<Gaps> = streams
        .iter_mut()
        .map(|stream| stream.thread.take().and_then(join))
        .collect();
    let streams = streams.into_iter().zip(gaps).zip(omitted);
    streams
        .map(|((stream, gaps), omitted)| stream.finish(gaps, began_ns, stopped_ns, omitted))
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
) -> std::io::Result<(Vec<Running>, JoinHandle<Gaps>)> {
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
    let run = Arc::clone(run);
    let thread = thread::spawn(move || {
        let mut block = vec![0; 65_536];
        until_quiet(&run, || {
            let (len, from) = socket.recv_from(&mut block)?;
            if let Some(reply) = reply_to(&block[..len]) {
                if greeted.contains(&from) {
                    socket.send_to(&reply, from)?;
                }
            } else if let Some((_, meter)) = meters.iter().find(|(remote, _)| *remote == from) {
                meter.take_datagram(&run, &block[..len]);
            }
            Ok(())
        });
        None
    });
    Ok((streams, thread))
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
