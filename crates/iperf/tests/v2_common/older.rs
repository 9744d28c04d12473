//! Servers of iperf 2.0.5, 2.0.9, 2.0.12, 2.0.13 and 2.2.1 as a client sees them: they read and answer as the published sources
//! do, and their answers were compared with captured ones byte by byte (`v2_older.rs`).

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    V205,
    V209,
    /// A build of the sources between 2.0.12 and 2.0.13.
    V2012,
    V2013,
    /// The newest, for what did not change.
    V221,
}

/// How long a flow that is over still gives its start to one that begins.
const LINGERS: Duration = Duration::from_secs(1);
/// Datagrams of traffic back.
const BACK: u32 = 50;
const TOP_BIT: u32 = 1 << 31;
/// The jitter in µs that each of them reports.
pub const JITTER_US: u32 = 0x19;

impl Build {
    /// Whether it takes the first datagram of a flow for itself, and times a flow from the one before.
    pub fn is_old(self) -> bool {
        self != Build::V221
    }

    /// Bytes before a client header, or before a report.
    const fn head(self) -> usize {
        match self {
            Build::V205 | Build::V209 => 12,
            Build::V2012 | Build::V2013 | Build::V221 => 16,
        }
    }

    /// The number of the first datagram, which of the old ones the listener takes.
    fn first(self) -> u32 {
        !self.is_old() as u32
    }

    /// The number of a final datagram.
    const fn last(self, low: u32) -> u32 {
        match self {
            Build::V2012 => low & !TOP_BIT,
            _ => low.wrapping_neg(),
        }
    }

    const fn mark_last(self, id: u32) -> u32 {
        match self {
            Build::V2012 => id | TOP_BIT,
            _ => id.wrapping_neg(),
        }
    }

    /// The last word of the version in its answer to a header with an extension, where it gives one.
    const fn acknowledges(self) -> Option<u32> {
        match self {
            Build::V2012 => Some(0x000d_0000),
            Build::V2013 => Some(0x000d_0003),
            _ => None,
        }
    }

    /// What it answers to a final datagram.
    pub fn answer(self, last: &[u8], count: &Count, lasted: Duration) -> Vec<u8> {
        let (flags, words, bytes) = match self {
            Build::V205 | Build::V209 => (TOP_BIT, &[0, JITTER_US][..], 1470),
            Build::V2012 => (TOP_BIT, &[0, 0, JITTER_US][..], 1470),
            Build::V2013 => (0x8800_0000, &[0, JITTER_US][..], 1470),
            Build::V221 => (0x8800_0000, &[0, JITTER_US][..], 128),
        };
        let mut out = vec![0; bytes];
        let at = self.head();
        if self.is_old() {
            let head = if self == Build::V2013 { 16 } else { 12 };
            out[..head].copy_from_slice(&last[..head]);
        }
        let counts = [
            flags,
            0,
            count.bytes as u32,
            lasted.as_secs() as u32,
            lasted.subsec_micros(),
            count.lost,
            count.out_of_order,
            count.highest,
        ];
        for (n, word) in counts.iter().chain(words).enumerate() {
            out[at + 4 * n..][..4].copy_from_slice(&word.to_be_bytes());
        }
        out
    }
}

/// What it counted of a flow: all that it did not take for itself, and the final one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub highest: u32,
    pub lost: u32,
    pub out_of_order: u32,
    pub bytes: usize,
}

impl Count {
    pub fn take(&mut self, id: u32, bytes: usize) {
        self.bytes += bytes;
        if id <= self.highest {
            self.out_of_order += 1;
        } else {
            self.lost += id - self.highest - 1;
            self.highest = id;
        }
    }
}

/// The traffic that a client requested in the other direction.
#[derive(Clone, Copy, Debug)]
struct ReturnRequest {
    port: u16,
    at_once: bool,
    bytes: usize,
    /// An amount of bytes, which these take for hundredths of a second.
    endless: bool,
}

struct Flow {
    peer: SocketAddr,
    started: Instant,
    ended: Option<Instant>,
    count: Count,
    request: Option<ReturnRequest>,
    answer: Vec<u8>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .map_or(0, |four| u32::from_be_bytes(four.try_into().unwrap()))
}

/// One that runs until it is dropped.
pub struct Played {
    pub address: SocketAddr,
    /// Losses that the client reported for each flow back.
    pub told: Arc<Mutex<Vec<u32>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Played {
    /// Serves on a free port of `ip`; each datagram of data whose number `drops` is lost on its way.
    pub fn start(kind: Build, ip: &str, drops: fn(u32) -> bool) -> Played {
        let socket = UdpSocket::bind((ip, 0)).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let address = socket.local_addr().unwrap();
        let (stop, told) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (stopped, tell) = (Arc::clone(&stop), Arc::clone(&told));
        let thread = std::thread::spawn(move || serve(kind, &socket, drops, &stopped, &tell));
        Played {
            address,
            told,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

fn serve(
    kind: Build,
    socket: &UdpSocket,
    drops: fn(u32) -> bool,
    stop: &AtomicBool,
    told: &Arc<Mutex<Vec<u32>>>,
) {
    let mut flow: Option<Flow> = None;
    let mut buf = [0; 65_536];
    let mut backs = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let Ok((len, peer)) = socket.recv_from(&mut buf) else {
            continue;
        };
        let (datagram, low) = (&buf[..len], word(&buf[..len], 0));
        let is_last = low & TOP_BIT != 0;
        let known = flow.as_mut().filter(|flow| flow.peer == peer);
        let Some(flow) = known else {
            if !is_last {
                let begun = begin(kind, socket, datagram, peer, flow.as_ref());
                if let Some(request) = begun.request.filter(|request| request.at_once) {
                    backs.push(back(kind, peer, request, told));
                }
                flow = Some(begun);
            }
            continue;
        };
        if flow.ended.is_some() {
            let _ = socket.send_to(&flow.answer, peer);
        } else if is_last {
            flow.count.take(kind.last(low), len);
            flow.ended = Some(Instant::now());
            flow.answer = kind.answer(datagram, &flow.count, flow.started.elapsed());
            let _ = socket.send_to(&flow.answer, peer);
            if let Some(request) = flow.request.filter(|request| !request.at_once) {
                backs.push(back(kind, peer, request, told));
            }
        } else if !drops(low) {
            flow.count.take(low, len);
        }
    }
    backs.into_iter().for_each(|back| back.join().unwrap());
}

/// The listener of an old one takes the first datagram for itself.
fn begin(
    kind: Build,
    socket: &UdpSocket,
    first: &[u8],
    peer: SocketAddr,
    before: Option<&Flow>,
) -> Flow {
    let at = kind.head();
    let flags = word(first, at);
    if let (Some(minor), true) = (kind.acknowledges(), flags & 0x4000_0000 != 0) {
        let mut ack = [0; 28];
        for (n, word) in [2, 0x1c, 0, 0x0002_0000, minor].into_iter().enumerate() {
            ack[4 * n..][..4].copy_from_slice(&word.to_be_bytes());
        }
        socket.send_to(&ack, peer).unwrap();
    }
    let lingers =
        before.filter(|flow| kind.is_old() && flow.ended.is_none_or(|at| at.elapsed() < LINGERS));
    let mut count = Count::default();
    if !kind.is_old() {
        count.take(word(first, 0), first.len());
    }
    let request = (flags & TOP_BIT != 0).then(|| ReturnRequest {
        port: word(first, at + 8) as u16,
        at_once: flags & 1 != 0,
        bytes: word(first, at + 12).max(64) as usize,
        endless: at == 12 && word(first, at + 20) & TOP_BIT == 0,
    });
    Flow {
        peer,
        started: lingers.map_or_else(Instant::now, |flow| flow.started),
        ended: None,
        count,
        request,
        answer: Vec::new(),
    }
}

/// Traffic back as it sends it: the caller starts it unconditionally.
fn back(
    kind: Build,
    peer: SocketAddr,
    request: ReturnRequest,
    told: &Arc<Mutex<Vec<u32>>>,
) -> JoinHandle<()> {
    let told = Arc::clone(told);
    std::thread::spawn(move || {
        let socket = UdpSocket::bind((peer.ip(), 0)).unwrap();
        socket.connect((peer.ip(), request.port)).unwrap();
        let wait = Some(Duration::from_millis(250));
        socket.set_read_timeout(wait).unwrap();
        let mut datagram: Vec<u8> = (0..request.bytes).map(|n| b'0' + (n % 10) as u8).collect();
        if kind == Build::V2012 {
            datagram[16..20].fill(0);
        }
        if kind == Build::V2013 {
            // Its own header goes with the data, though it asks nothing of its client.
            datagram[16..20].copy_from_slice(&0x8800_0000_u32.to_be_bytes());
        }
        let wide = matches!(kind, Build::V2013 | Build::V221);
        if wide {
            datagram[12..16].fill(0);
        }
        let count = if request.endless { u32::MAX / 2 } else { BACK };
        let ids = kind.first()..kind.first() + count;
        for id in ids.clone() {
            datagram[..4].copy_from_slice(&id.to_be_bytes());
            datagram[8..12].copy_from_slice(&(id * 1000).to_be_bytes());
            // It goes on until nobody is there any more.
            if socket.send(&datagram).is_err() && request.endless {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        datagram[..4].copy_from_slice(&kind.mark_last(ids.end).to_be_bytes());
        if wide {
            datagram[12..16].fill(0xFF);
        }
        let mut answer = [0; 2000];
        for _ in 0..10 {
            let _ = socket.send(&datagram);
            if let Ok(len) = socket.recv(&mut answer) {
                // It wants all of its own report, or says that there is none.
                assert!(
                    len >= kind.head() + 100,
                    "{kind:?}: an answer of {len} bytes"
                );
                told.lock().unwrap().push(word(&answer, kind.head() + 20));
                return;
            }
        }
    })
}
