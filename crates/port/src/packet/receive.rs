//! The checker of the portable path: a receive ring, and a thread that judges every frame in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::capture::{Capture, FrameSink};
use super::error::PacketError;
use super::filter;
use super::judge::Judge;
use super::sys::rx::{BLOCK, HEADROOM, RingFrame, RxRing};
use super::sys::socket::PacketSocket;
use super::tally::{Tally, open_counter};
use super::thread;
use crate::clock::{WallOffset, now_ns};
use crate::drops::{self, Drops};
use crate::iface::{Interface, PortName};
use crate::job::{CheckJob, CheckReport};
use wirelab_trial::{HoldWatch, format};

/// Default bytes of a receive ring: 0.33 s of the smallest frames at 1 M frames/s, for which a checker may be paused.
pub const RING_BYTES: usize = 64 * 1024 * 1024;

/// A block that is not full is handed over after this many ms.
const BLOCK_PATIENCE_MS: u32 = 4;

/// Bytes that the MTU does not count: an Ethernet header and two tags.
const HEADERS: u32 = 14 + 2 * 4;

/// Interval between two checks whether to end.
const PATIENCE: Duration = Duration::from_millis(5);

/// A wait of `PATIENCE` that takes longer than this counts as a pause of the checker, in ns.
const MOST_WAIT_NS: u64 = PATIENCE.as_nanos() as u64 + 1_000_000;

/// A shorter pause of the checker changes no count and no time, because its ring holds 0.33 s and the kernel stamps
/// arrivals.
const LEAST_HOLD: Duration = Duration::from_millis(50);

/// The shortest time without a frame that shows the end: by then a partly filled block has been handed over.
const LEAST_DRAIN: Duration = Duration::from_millis(3 * BLOCK_PATIENCE_MS as u64);

/// How long after the drain time to follow a flow that does not end.
const LONGEST_TAIL: Duration = Duration::from_secs(10);

/// Options of a checker, besides the job.
#[derive(Default)]
pub struct CheckOptions {
    /// The CPU to run on; `None` leaves the choice to the kernel.
    pub cpu: Option<usize>,
    /// Bytes of the receive ring; `None` for [`RING_BYTES`]. It is smaller if memory is short.
    pub ring_bytes: Option<usize>,
    /// A sink that gets all frames of the port.
    pub sink: Option<Box<dyn FrameSink>>,
    /// Frames that the sender stamped before this time of its clock, in ns, belong to another run.
    pub sent_since_ns: Option<u64>,
    /// The flow's sender sends only this flow, so its test frames in other streams belong to another run.
    pub one_flow_at_a_time: bool,
}

/// A checker that runs on a port.
///
/// It sees every frame that the port receives, for any address, and none that it sends. Dropped without
/// [`Checker::finish`], it ends soon, and its results are lost.
#[derive(Debug)]
pub struct Checker {
    port: PortName,
    shared: Arc<CheckerProgress>,
    thread: Option<JoinHandle<CheckReport>>,
}

/// State that the checker's thread shares with its owner.
#[derive(Debug, Default)]
struct CheckerProgress {
    /// Frames of the flow so far.
    received: AtomicU64,
    /// Frames of other runs so far.
    other_run: AtomicU64,
    /// Arrival of the first timed frame in ns; 0 for none yet.
    first_ns: AtomicU64,
    /// When the checker was requested to end, in ns; 0 for not yet.
    stop_ns: AtomicU64,
    drain_ns: AtomicU64,
    /// How long after the drain time to follow a flow that does not end.
    tail_ns: AtomicU64,
}

impl Checker {
    /// Opens the port and starts to check. Frames sent after this returns are seen.
    ///
    /// It can be called from any thread: the socket is opened in the port's namespace.
    ///
    /// # Errors
    /// [`PacketError::Iface`] for an interface that does not exist or is down, [`PacketError::Privilege`],
    /// [`PacketError::NoMemory`], [`PacketError::Setup`].
    pub fn start(
        port: &PortName,
        job: &CheckJob,
        options: CheckOptions,
    ) -> Result<Checker, PacketError> {
        let interface = Interface::query(port)?;
        interface.require_up()?;
        let filter = options.sink.is_none().then_some(job.flow.udp_port);
        let ring_bytes = options.ring_bytes.unwrap_or(RING_BYTES);
        let (socket, ring, note) = open(port, &interface, ring_bytes, filter)?;
        let all = filter.map(|_| open_counter(port, &interface)).transpose()?;
        let shared = Arc::new(CheckerProgress::default());
        let checking = Checking {
            socket,
            ring,
            judge: Judge::new(job, options.sent_since_ns)
                .with_one_flow_at_a_time(options.one_flow_at_a_time),
            capture: Capture::new(options.sink),
            tally: Tally::new(all),
            longest: interface.mtu + HEADERS,
            joined: 0,
            dropped_before: drops::of_interface(port, false),
            port: port.clone(),
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
                let prepared = thread::prepare(&own, cpu, None);
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

    /// Frames of other runs that were seen so far.
    pub fn other_run_frames(&self) -> u64 {
        self.shared.other_run.load(Ordering::Relaxed)
    }

    /// Arrival of the first timed frame in ns, if one has arrived.
    pub fn first_ns(&self) -> Option<u64> {
        let ns = self.shared.first_ns.load(Ordering::Relaxed);
        (ns > 0).then_some(ns)
    }

    /// Ends the check when no frame of the flow has arrived for `drain`. Call it after the sender has ended.
    ///
    /// A flow that does not end is left after ten seconds, with a note in the report.
    ///
    /// # Errors
    /// [`PacketError::Died`] if the checker died.
    pub fn finish(self, drain: Duration) -> Result<CheckReport, PacketError> {
        self.ask(drain, LONGEST_TAIL);
        self.join()
    }

    /// Ends the check with what has arrived until now.
    ///
    /// # Errors
    /// [`PacketError::Died`] if the checker died.
    pub fn stop(self) -> Result<CheckReport, PacketError> {
        self.ask(Duration::ZERO, Duration::ZERO);
        self.join()
    }

    fn join(mut self) -> Result<CheckReport, PacketError> {
        let thread = self.thread.take().ok_or_else(|| died(&self.port))?;
        thread.join().map_err(|_| died(&self.port))
    }

    fn ask(&self, drain: Duration, tail: Duration) {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let shared = &self.shared;
        shared
            .drain_ns
            .store(ns(drain.max(LEAST_DRAIN)), Ordering::Relaxed);
        shared.tail_ns.store(ns(tail), Ordering::Relaxed);
        self.shared
            .stop_ns
            .store(now_ns().max(1), Ordering::Release);
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        self.ask(Duration::ZERO, Duration::ZERO);
    }
}

fn died(port: &PortName) -> PacketError {
    PacketError::Died {
        port: port.clone(),
        what: "checker",
    }
}

/// A socket that receives all frames of the port, its ring, and a note if the ring is smaller than requested.
fn open(
    port: &PortName,
    interface: &Interface,
    requested_bytes: usize,
    filter: Option<u16>,
) -> Result<(PacketSocket, RxRing, Option<String>), PacketError> {
    let failed = |what| move |e| PacketError::setup(port, what, e);
    let (socket, ring) = open_ring(port, requested_bytes)?;
    let note = (ring.bytes() < requested_bytes.max(2 * BLOCK) / BLOCK * BLOCK).then(|| {
        format!(
            "no memory for a receive ring of {requested_bytes} bytes; {} were used, and bursts may be missed",
            ring.bytes()
        )
    });
    // An old kernel does not have this option, so outgoing frames are also ignored below.
    let _ = socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32);
    if let Some(udp_port) = filter {
        socket
            .hear(&mut filter::test_frames(udp_port))
            .map_err(failed("a filter"))?;
    }
    socket
        .promiscuous(interface.index)
        .map_err(failed("promiscuous mode"))?;
    socket
        .bind(interface.index, libc::ETH_P_ALL as u16)
        .map_err(failed("the interface"))?;
    Ok((socket, ring, note))
}

/// The largest ring that fits memory, up to `requested_bytes`. Each try needs a new socket.
fn open_ring(
    port: &PortName,
    requested_bytes: usize,
) -> Result<(PacketSocket, RxRing), PacketError> {
    let failed = |what| move |e| PacketError::setup(port, what, e);
    let mut bytes = requested_bytes;
    loop {
        let socket = super::socket_of(port)?;
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
    tally: Tally,
    /// Bytes of the longest frame of the interface.
    longest: u32,
    /// Longer frames: several that the host had joined.
    joined: u64,
    /// Frames that the host had dropped on the interface before.
    dropped_before: Option<u64>,
    port: PortName,
    /// Frames that the ring cut.
    cut: u64,
    /// Steps of the wall clock, in ns.
    steps: Vec<i64>,
    offset: WallOffset,
    notes: Vec<String>,
    shared: Arc<CheckerProgress>,
}

impl Checking {
    fn run(mut self) -> CheckReport {
        let (mut turn, mut last_ns) = (0, 0);
        let mut watch = HoldWatch::start(LEAST_HOLD);
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
                let mut report = self.finish(now);
                report.was_held(watch.finish());
                return report;
            }
            if self.tally.is_due(now) {
                self.tally.take(&self.socket, now);
            }
            watch.tick(now);
            let events = self.socket.wait(libc::POLLIN, PATIENCE);
            watch.waited(now, now_ns(), MOST_WAIT_NS);
            if events & libc::POLLERR != 0 {
                if let Some(error) = self.socket.take_error() {
                    self.notes.push(format!("while checking: {error}"));
                }
                let began = now_ns();
                std::thread::sleep(PATIENCE);
                watch.waited(began, now_ns(), MOST_WAIT_NS);
            }
        }
    }

    fn is_over(&mut self, now: u64, last_ns: u64) -> bool {
        let stop_ns = self.shared.stop_ns.load(Ordering::Acquire);
        if stop_ns == 0 {
            return false;
        }
        let drain = self.shared.drain_ns.load(Ordering::Relaxed);
        let tail = self.shared.tail_ns.load(Ordering::Relaxed);
        if now.saturating_sub(stop_ns) > drain.saturating_add(tail) {
            if tail == 0 {
                return true;
            }
            self.notes.push(format!(
                "frames of the flow still arrived {LONGEST_TAIL:?} after the sender had ended; fix: stop other senders of this flow"
            ));
            return true;
        }
        now.saturating_sub(stop_ns.max(last_ns)) >= drain
    }

    /// Judges the frames of a block that was handed over; returns whether one belonged to the flow.
    fn block(&mut self, turn: usize) -> Option<bool> {
        let mut block = self.ring.block(turn)?;
        let offset = WallOffset::read();
        // It is unknown whether times of this block lie before or after the step.
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
            self.joined += u64::from(frame.length > self.longest);
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
        let shared = &self.shared;
        shared.received.store(received, Ordering::Relaxed);
        let (other_run, first_ns) = (self.judge.other_run(), self.judge.first_ns());
        shared.other_run.store(other_run, Ordering::Relaxed);
        shared
            .first_ns
            .store(first_ns.unwrap_or(0), Ordering::Relaxed);
        Some(received > before)
    }

    fn finish(mut self, now: u64) -> CheckReport {
        self.tally.take(&self.socket, now);
        self.joined = self.joined.max(self.judge.joined());
        let (drops, strangers) = (self.drops(), self.judge.strangers());
        let mut report = self.judge.finish();
        report.missed = drops.missed(&report.counts, strangers);
        report.counts.foreign_frames += self.tally.kept_out();
        report.watched_ns = Some(now.saturating_sub(self.tally.began_ns()));
        let dropped = drops.own + drops.shared;
        if let Some(error) = &self.tally.error {
            report.notes.push(format!(
                "it is unknown whether the receive ring missed frames: {error}"
            ));
        }
        if dropped > 0 {
            report.notes.push(format!(
                "the checker was too slow for {} of the port; fix: give it its own CPU, or lower the load",
                format::count(dropped, "frame")
            ));
        }
        if self.joined > 0 {
            report.notes.push(format!(
                "the host joined frames before the checker saw them ({} buffers), so lost frames may have arrived; fix: ethtool -K {} gro off",
                self.joined, self.port.interface
            ));
        }
        for step in self.steps {
            report.notes.push(format!(
                "the wall clock, which the kernel stamps arrivals with, was stepped by {step} ns; frames around it have no arrival time"
            ));
        }
        report.notes.extend(self.notes);
        let ended = self.capture.finish(dropped);
        report.notes.extend(ended);
        report
    }
}

impl Checking {
    /// Frames that were dropped between the port and the judge.
    fn drops(&self) -> Drops {
        let ring = self.tally.dropped + self.cut;
        let interface = drops::of_interface(&self.port, false)
            .zip(self.dropped_before)
            .map_or(0, |(now, before)| now.saturating_sub(before));
        let (own, ring_of_all) = match self.tally.is_filtered() {
            true => (ring, 0),
            false => (0, ring),
        };
        Drops {
            own,
            shared: ring_of_all + interface,
            joined: self.joined > 0,
        }
    }
}

/// The frame as it was on the link: with the tag that the kernel removed, unless the ring cut it.
#[inline]
fn whole<'a>(frame: &'a mut RingFrame<'_>) -> Option<&'a [u8]> {
    if frame.bytes.len() < HEADROOM + frame.length as usize {
        return None;
    }
    let Some((tpid, tci)) = frame.tag else {
        return Some(&frame.bytes[HEADROOM..]);
    };
    // Both addresses move into the headroom, and the tag is put after them.
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
