//! The checker of the portable path: a receive ring, and a thread that judges every frame in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::capture::{Capture, FrameSink};
use super::error::PacketError;
use super::judge::Judge;
use super::sys::rx::{BLOCK, HEADROOM, RingFrame, RxRing};
use super::sys::socket::PacketSocket;
use super::thread;
use crate::clock::{WallOffset, now_ns};
use crate::iface::{Interface, PortName};
use crate::job::{CheckJob, CheckReport};

/// Bytes of a receive ring unless another size is asked for: a third of a second of the smallest frames at a
/// million a second, which a checker may be held up.
pub const RING_BYTES: usize = 64 * 1024 * 1024;

/// After so many ms a block is handed over that is not full.
const BLOCK_PATIENCE_MS: u32 = 4;

/// How often to look whether the checker should end.
const PATIENCE: Duration = Duration::from_millis(5);

/// The shortest time without a frame that tells that nothing is to come: what lies in a block has been seen.
const LEAST_DRAIN: Duration = Duration::from_millis(3 * BLOCK_PATIENCE_MS as u64);

/// How much longer than the drain time to follow a flow that does not end.
const LONGEST_TAIL: Duration = Duration::from_secs(10);

/// How to run a checker, beside what the job says.
#[derive(Default)]
pub struct CheckOptions {
    /// The CPU to run on; `None` leaves it to the kernel.
    pub cpu: Option<usize>,
    /// Bytes of the receive ring; `None` for [`RING_BYTES`]. It is made smaller where there is no memory.
    pub ring_bytes: Option<usize>,
    /// Where all frames of the port go as well.
    pub sink: Option<Box<dyn FrameSink>>,
}

/// A checker at work on a port.
///
/// It sees every frame that comes in on the port, whatever its address, and none that goes out. Dropped without
/// [`Checker::finish`] it ends soon, and what it saw is lost.
#[derive(Debug)]
pub struct Checker {
    port: PortName,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<CheckReport>>,
}

/// What the checker's thread and its owner tell each other.
#[derive(Debug, Default)]
struct Shared {
    /// Frames of the flow so far.
    received: AtomicU64,
    /// When the checker was asked to end, in ns; 0 for not yet.
    asked_ns: AtomicU64,
    drain_ns: AtomicU64,
}

impl Checker {
    /// Opens the port and starts to check; frames sent after this returns are seen.
    ///
    /// Works from any thread: the socket is opened in the port's namespace.
    ///
    /// # Errors
    /// [`PacketError::Iface`] for an interface that is unknown or down, [`PacketError::Privilege`],
    /// [`PacketError::NoMemory`], [`PacketError::Setup`].
    pub fn start(
        port: &PortName,
        job: &CheckJob,
        options: CheckOptions,
    ) -> Result<Checker, PacketError> {
        let interface = Interface::query(port)?;
        interface.require_up()?;
        let (socket, ring, note) =
            open(port, &interface, options.ring_bytes.unwrap_or(RING_BYTES))?;
        let shared = Arc::new(Shared::default());
        let checking = Checking {
            socket,
            ring,
            judge: Judge::new(job),
            capture: Capture::new(options.sink),
            cut: 0,
            steps: Vec::new(),
            offset: WallOffset::read(),
            notes: note.into_iter().collect(),
            shared: Arc::clone(&shared),
        };
        let cpu = options.cpu;
        let (ready, started) = std::sync::mpsc::sync_channel(1);
        let own = port.clone();
        let thread = std::thread::Builder::new()
            .name("wirelab-checker".to_owned())
            .spawn(move || {
                let prepared = thread::prepare(&own, cpu);
                let go = prepared.is_ok();
                let _ = ready.send(prepared);
                if go {
                    checking.run()
                } else {
                    CheckReport::default()
                }
            })
            .map_err(|e| PacketError::setup(port, "a thread", e))?;
        started.recv().unwrap_or_else(|_| Err(died(port)))?;
        Ok(Checker {
            port: port.clone(),
            shared,
            thread: Some(thread),
        })
    }

    /// Frames of the flow that were judged so far.
    pub fn received_frames(&self) -> u64 {
        self.shared.received.load(Ordering::Relaxed)
    }

    /// Ends the check when no frame of the flow has come for `drain`; call it when the sender has ended.
    ///
    /// A flow that never ends is left after ten seconds, and the report says so.
    ///
    /// # Errors
    /// [`PacketError::Died`] if the checker died.
    pub fn finish(mut self, drain: Duration) -> Result<CheckReport, PacketError> {
        self.ask(drain);
        let thread = self.thread.take().ok_or_else(|| died(&self.port))?;
        thread.join().map_err(|_| died(&self.port))
    }

    fn ask(&self, drain: Duration) {
        let drain = drain.max(LEAST_DRAIN).as_nanos();
        self.shared
            .drain_ns
            .store(drain.try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
        self.shared
            .asked_ns
            .store(now_ns().max(1), Ordering::Release);
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        self.ask(Duration::ZERO);
    }
}

fn died(port: &PortName) -> PacketError {
    PacketError::Died {
        port: port.clone(),
        what: "checker",
    }
}

/// A socket that hears the whole port, its ring, and a note if that is smaller than asked.
fn open(
    port: &PortName,
    interface: &Interface,
    asked: usize,
) -> Result<(PacketSocket, RxRing, Option<String>), PacketError> {
    let failed = |what| move |e| PacketError::setup(port, what, e);
    let (socket, ring) = open_ring(port, asked)?;
    let note = (ring.bytes() < asked.max(2 * BLOCK) / BLOCK * BLOCK).then(|| {
        format!(
            "no memory for a receive ring of {asked} bytes; {} were used, and bursts may be missed",
            ring.bytes()
        )
    });
    // An old kernel does not know it; frames that go out are left aside below too.
    let _ = socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32);
    socket
        .promiscuous(interface.index)
        .map_err(failed("promiscuous mode"))?;
    socket
        .bind(interface.index, libc::ETH_P_ALL as u16)
        .map_err(failed("the interface"))?;
    Ok((socket, ring, note))
}

/// The largest ring that there is memory for, up to `asked` bytes. Each try needs a fresh socket.
fn open_ring(port: &PortName, asked: usize) -> Result<(PacketSocket, RxRing), PacketError> {
    let failed = |what| move |e| PacketError::setup(port, what, e);
    let mut bytes = asked;
    loop {
        let socket = port
            .netns()?
            .run_in(PacketSocket::open)?
            .map_err(failed("a socket"))?;
        match RxRing::new(&socket, bytes, BLOCK_PATIENCE_MS) {
            Ok(ring) => return Ok((socket, ring)),
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOMEM | libc::EAGAIN)) => {
                if bytes <= 2 * BLOCK {
                    return Err(PacketError::NoMemory {
                        port: port.clone(),
                        bytes,
                        source: e,
                    });
                }
                bytes /= 2;
            }
            Err(e) => return Err(failed("a receive ring")(e)),
        }
    }
}

/// The checker's thread.
struct Checking {
    socket: PacketSocket,
    ring: RxRing,
    judge: Judge,
    capture: Capture,
    /// Frames that the ring did not keep whole.
    cut: u64,
    /// Steps of the wall clock that were seen, in ns.
    steps: Vec<i64>,
    offset: WallOffset,
    notes: Vec<String>,
    shared: Arc<Shared>,
}

impl Checking {
    fn run(mut self) -> CheckReport {
        let (mut turn, mut last_ns) = (0, 0);
        loop {
            let mut ours = false;
            while let Some(of_flow) = self.block(turn) {
                ours |= of_flow;
                turn += 1;
            }
            let now = now_ns();
            if ours {
                last_ns = now;
            }
            if self.is_over(now, last_ns) {
                return self.finish();
            }
            let events = self.socket.wait(libc::POLLIN, PATIENCE);
            if events & libc::POLLERR != 0 {
                if let Some(error) = self.socket.take_error() {
                    self.notes.push(format!("while checking: {error}"));
                }
                std::thread::sleep(PATIENCE);
            }
        }
    }

    fn is_over(&mut self, now: u64, last_ns: u64) -> bool {
        let asked = self.shared.asked_ns.load(Ordering::Acquire);
        if asked == 0 {
            return false;
        }
        let drain = self.shared.drain_ns.load(Ordering::Relaxed);
        if now.saturating_sub(asked) > drain.saturating_add(LONGEST_TAIL.as_nanos() as u64) {
            self.notes.push(format!(
                "frames of the flow still came {LONGEST_TAIL:?} after the sender had ended; is there another sender?"
            ));
            return true;
        }
        now.saturating_sub(asked.max(last_ns)) >= drain
    }

    /// Judges the frames of a block that was handed over; whether one was of the flow.
    fn block(&mut self, turn: usize) -> Option<bool> {
        let mut block = self.ring.block(turn)?;
        let offset = WallOffset::read();
        // Times of this block lie before or after the step, nobody knows which.
        let known = match self.offset.step_to(offset) {
            None => true,
            Some(step) => {
                if self.steps.len() < 16 {
                    self.steps.push(step);
                }
                false
            }
        };
        self.offset = offset;
        let before = self.judge.received();
        while let Some(mut frame) = block.next() {
            if frame.kind == libc::PACKET_OUTGOING {
                continue;
            }
            let arrival = known.then(|| offset.to_monotonic(frame.unix_ns));
            let unix_ns = frame.unix_ns;
            let Some(bytes) = whole(&mut frame) else {
                self.cut += 1;
                continue;
            };
            self.judge.frame(bytes, arrival);
            self.capture.take(unix_ns, bytes);
        }
        self.ring.give_back(turn);
        let received = self.judge.received();
        self.shared.received.store(received, Ordering::Relaxed);
        Some(received > before)
    }

    fn finish(self) -> CheckReport {
        let mut report = self.judge.finish();
        report.missed_frames = self.cut;
        match self.socket.take_statistics() {
            Ok((_, drops)) => report.missed_frames += u64::from(drops),
            Err(error) => report.notes.push(format!(
                "whether the receive ring missed frames is not known: {error}"
            )),
        }
        if report.missed_frames > 0 {
            report.notes.push(format!(
                "the checker was too slow for {} frames; give it a CPU of its own, or a lower load",
                report.missed_frames
            ));
        }
        for step in self.steps {
            report.notes.push(format!(
                "the wall clock, which the kernel stamps arrivals with, was stepped by {step} ns; frames around it have no arrival time"
            ));
        }
        report.notes.extend(self.notes);
        let ended = self.capture.finish(report.missed_frames);
        report.notes.extend(ended);
        report
    }
}

/// The frame as it was on the link: with the tag that the kernel took out, unless the ring cut it.
#[inline]
fn whole<'a>(frame: &'a mut RingFrame<'_>) -> Option<&'a [u8]> {
    if frame.bytes.len() < HEADROOM + frame.length as usize {
        return None;
    }
    let Some((tpid, tci)) = frame.tag else {
        return Some(&frame.bytes[HEADROOM..]);
    };
    // Both addresses move into the headroom, and the tag takes their place.
    if frame.bytes.len() >= HEADROOM + 12 {
        frame.bytes.copy_within(HEADROOM..HEADROOM + 12, 0);
        frame.bytes[12..14].copy_from_slice(&tpid.to_be_bytes());
        frame.bytes[14..16].copy_from_slice(&tci.to_be_bytes());
    }
    Some(frame.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_put_back_and_a_cut_frame_is_none() {
        let mut bytes: Vec<u8> = (0..30).collect();
        let mut frame = RingFrame {
            bytes: &mut bytes,
            length: 26,
            unix_ns: 0,
            kind: 0,
            tag: Some((0x88A8, 0x2064)),
        };
        let mut expected: Vec<u8> = (4..16).collect();
        expected.extend([0x88, 0xA8, 0x20, 0x64]);
        expected.extend(16..30);
        assert_eq!(whole(&mut frame), Some(&expected[..]));
        frame.tag = None;
        frame.length = 27;
        assert_eq!(whole(&mut frame), None);
    }
}
