//! Servers of iperf 2.0.9 and 2.0.13 as a client sees them: they read and answer as the published sources do, and their
//! answers were compared with captured ones byte by byte (`v2_older.rs`).

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Older {
    V2009,
    V2013,
}

/// How long a flow that is over still gives its start to one that begins.
const LINGERS: Duration = Duration::from_secs(1);
/// Datagrams of traffic back.
const BACK: u32 = 50;
const TOP_BIT: u32 = 1 << 31;

impl Older {
    /// Bytes before a client header, or before a report.
    const fn head(self) -> usize {
        match self {
            Older::V2009 => 12,
            Older::V2013 => 16,
        }
    }

    /// The number of a final datagram.
    const fn last(self, low: u32) -> u32 {
        match self {
            Older::V2009 => low.wrapping_neg(),
            Older::V2013 => low & !TOP_BIT,
        }
    }

    const fn mark_last(self, id: u32) -> u32 {
        match self {
            Older::V2009 => id.wrapping_neg(),
            Older::V2013 => id | TOP_BIT,
        }
    }

    /// What it answers to a final datagram.
    pub fn answer(self, last: &[u8], count: &Count, lasted: Duration) -> Vec<u8> {
        let mut out = vec![0; 1470];
        let at = self.head();
        out[..12].copy_from_slice(&last[..12]);
        let jitter_us = 0x19;
        let mut words = vec![
            TOP_BIT,
            0,
            count.bytes as u32,
            lasted.as_secs() as u32,
            lasted.subsec_micros(),
            count.lost,
            count.out_of_order,
            count.highest,
        ];
        words.extend(match self {
            Older::V2009 => vec![0, jitter_us],
            Older::V2013 => vec![0, 0, jitter_us],
        });
        for (n, word) in words.into_iter().enumerate() {
            out[at + 4 * n..][..4].copy_from_slice(&word.to_be_bytes());
        }
        out
    }
}

/// What it counted of a flow: all but its first datagram, and the final one.
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

/// What a client asked for the way back.
#[derive(Clone, Copy, Debug)]
struct Asked {
    port: u16,
    at_once: bool,
    bytes: usize,
}

struct Flow {
    peer: SocketAddr,
    started: Instant,
    ended: Option<Instant>,
    count: Count,
    asked: Option<Asked>,
    answer: Vec<u8>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .map_or(0, |four| u32::from_be_bytes(four.try_into().unwrap()))
}

/// One that runs until it is dropped.
pub struct OlderServer {
    pub address: SocketAddr,
    /// Losses that the client told of each flow back.
    pub told: Arc<Mutex<Vec<u32>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl OlderServer {
    /// Serves on a free port of `ip`; each datagram of data whose number `drops` is lost on its way.
    pub fn start(kind: Older, ip: &str, drops: fn(u32) -> bool) -> OlderServer {
        let socket = UdpSocket::bind((ip, 0)).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let address = socket.local_addr().unwrap();
        let (stop, told) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (stopped, tell) = (Arc::clone(&stop), Arc::clone(&told));
        let thread = std::thread::spawn(move || serve(kind, &socket, drops, &stopped, &tell));
        OlderServer {
            address,
            told,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for OlderServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

fn serve(
    kind: Older,
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
                if let Some(asked) = begun.asked.filter(|asked| asked.at_once) {
                    backs.push(back(kind, peer, asked, told));
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
            if let Some(asked) = flow.asked.filter(|asked| !asked.at_once) {
                backs.push(back(kind, peer, asked, told));
            }
        } else if !drops(low) {
            flow.count.take(low, len);
        }
    }
    backs.into_iter().for_each(|back| back.join().unwrap());
}

/// The listener takes the first datagram for itself.
fn begin(
    kind: Older,
    socket: &UdpSocket,
    first: &[u8],
    peer: SocketAddr,
    before: Option<&Flow>,
) -> Flow {
    let at = kind.head();
    let flags = word(first, at);
    if kind == Older::V2013 && flags & 0x4000_0000 != 0 {
        let mut ack = [0; 28];
        for (n, word) in [2, 0x1c, 0, 0x0002_0000, 0x000d_0000_u32]
            .into_iter()
            .enumerate()
        {
            ack[4 * n..][..4].copy_from_slice(&word.to_be_bytes());
        }
        socket.send_to(&ack, peer).unwrap();
    }
    let lingers = before.filter(|flow| flow.ended.is_none_or(|at| at.elapsed() < LINGERS));
    let asked = (flags & TOP_BIT != 0).then(|| Asked {
        port: word(first, at + 8) as u16,
        at_once: flags & 1 != 0,
        bytes: word(first, at + 12).max(64) as usize,
    });
    Flow {
        peer,
        started: lingers.map_or_else(Instant::now, |flow| flow.started),
        ended: None,
        count: Count::default(),
        asked,
        answer: Vec::new(),
    }
}

/// Traffic back as it sends it: numbers from 0, and nothing asked.
fn back(
    kind: Older,
    peer: SocketAddr,
    asked: Asked,
    told: &Arc<Mutex<Vec<u32>>>,
) -> JoinHandle<()> {
    let told = Arc::clone(told);
    std::thread::spawn(move || {
        let socket = UdpSocket::bind((peer.ip(), 0)).unwrap();
        socket.connect((peer.ip(), asked.port)).unwrap();
        let wait = Some(Duration::from_millis(250));
        socket.set_read_timeout(wait).unwrap();
        let mut datagram: Vec<u8> = (0..asked.bytes).map(|n| b'0' + (n % 10) as u8).collect();
        if kind == Older::V2013 {
            datagram[16..20].fill(0);
        }
        for id in 0..BACK {
            datagram[..4].copy_from_slice(&id.to_be_bytes());
            datagram[8..12].copy_from_slice(&(id * 1000).to_be_bytes());
            let _ = socket.send(&datagram);
            std::thread::sleep(Duration::from_millis(2));
        }
        datagram[..4].copy_from_slice(&kind.mark_last(BACK).to_be_bytes());
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
