//! One way of the impairer: takes frames in, decides, and lets them go.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::dice::{Dice, Purpose};
use super::frame;
use super::ledger::{Action, DirectionReport};
use super::socket::{Received, Receiver, Sender};
use super::spec::{Common, DirectionSpec};

/// Longest wait for a frame, and so for the word to stop.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// How long what has arrived is forwarded after the word to stop; a flood would never end.
const DRAIN: Duration = Duration::from_secs(1);

/// What a waiting frame counts beside its bytes against the bound of the queue.
const OVERHEAD: usize = 64;

/// Where frames go: a port, or a list in tests.
pub(super) trait Sink {
    fn send(&mut self, frame: &[u8]) -> io::Result<()>;
}

impl Sink for Sender {
    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        Sender::send(self, frame)
    }
}

/// A frame that is held for a swap.
struct Held {
    number: u64,
    bytes: Vec<u8>,
    copies: u32,
    expires_ps: u64,
}

/// A frame in the delay line: the smallest due time goes first, and of equal ones the first that came.
type Waiting = Reverse<(u64, u64, Vec<u8>)>;

/// What decides on frames and lets them go. Its only time is the picoseconds that it is given.
pub(super) struct Line<S> {
    sink: S,
    dice: Dice,
    spec: DirectionSpec,
    common: Common,
    report: DirectionReport,
    held: Option<Held>,
    /// The next frame is the successor of one that was held, whether that one still is or not. Deciding by this
    /// and not by `held` keeps the time out of it.
    successor_is_next: bool,
    waiting: BinaryHeap<Waiting>,
    waiting_bytes: usize,
    arrivals: u64,
    last_due_ps: u64,
}

impl<S: Sink> Line<S> {
    pub(super) fn new(sink: S, dice: Dice, spec: DirectionSpec, common: &Common) -> Line<S> {
        Line {
            sink,
            dice,
            spec,
            common: common.clone(),
            report: DirectionReport::default(),
            held: None,
            successor_is_next: false,
            waiting: BinaryHeap::new(),
            waiting_bytes: 0,
            arrivals: 0,
            last_due_ps: 0,
        }
    }

    /// What takes the frames of a batch that is there, all at one time in ps. The clock is read at the first of them, not
    /// before: a thread may wait for its core between a reading and the batch, and would let go too early what came meanwhile.
    fn taker(&mut self, clock: impl Fn() -> u64) -> impl FnMut(&mut [u8]) {
        let mut now_ps = None;
        move |frame| self.take(frame, *now_ps.get_or_insert_with(&clock))
    }

    /// Takes one frame in.
    pub(super) fn take(&mut self, frame: &mut [u8], now_ps: u64) {
        if let Some(wanted) = self.common.only_ethertype {
            if frame::ethertype(frame) != Some(wanted) {
                self.report.untouched_frames += 1;
                self.put(frame);
                return;
            }
        }
        let number = self.report.received_frames;
        self.report.received_frames += 1;
        if self.dice.is_met(&self.spec.drop, number, Purpose::Drop) {
            self.note(number, Action::Dropped);
            return;
        }
        if self
            .dice
            .is_met(&self.spec.bit_errors.when, number, Purpose::BitErrors)
        {
            self.damage(frame, number);
        }
        let mut copies = 1;
        if self
            .dice
            .is_met(&self.spec.duplicate, number, Purpose::Duplicate)
        {
            self.note(number, Action::Duplicated);
            copies = 2;
        }
        if self.successor_is_next {
            self.successor_is_next = false;
            self.forward(frame, number, copies, now_ps);
            self.let_go(Action::Swapped, now_ps);
        } else if self.dice.is_met(&self.spec.swap, number, Purpose::Swap) {
            self.successor_is_next = true;
            self.held = Some(Held {
                number,
                bytes: frame.to_vec(),
                copies,
                expires_ps: now_ps.saturating_add(self.common.swap_timeout_ps),
            });
        } else {
            self.forward(frame, number, copies, now_ps);
        }
    }

    /// Lets everything go whose time has come.
    pub(super) fn release(&mut self, now_ps: u64) {
        if self
            .held
            .as_ref()
            .is_some_and(|held| held.expires_ps <= now_ps)
        {
            self.let_go(Action::SwapExpired, now_ps);
        }
        while self
            .waiting
            .peek()
            .is_some_and(|Reverse((due, _, _))| *due <= now_ps)
        {
            if let Some(Reverse((_, _, bytes))) = self.waiting.pop() {
                self.waiting_bytes -= bytes.len() + OVERHEAD;
                self.put(&bytes);
            }
        }
    }

    /// When [`Line::release`] has something to do next.
    pub(super) fn next_ps(&self) -> Option<u64> {
        let held = self.held.as_ref().map(|held| held.expires_ps);
        let waiting = self.waiting.peek().map(|Reverse((due, _, _))| *due);
        held.into_iter().chain(waiting).min()
    }

    /// Lets everything go at once and gives the report.
    pub(super) fn finish(mut self, now_ps: u64) -> DirectionReport {
        self.let_go(Action::SwapExpired, now_ps);
        self.release(u64::MAX);
        self.report.sort();
        self.report
    }

    fn note(&mut self, number: u64, action: Action) {
        self.report.note(self.common.record, number, action);
    }

    fn damage(&mut self, frame: &mut [u8], number: u64) {
        let first = u64::from(self.spec.bit_errors.first_byte) * 8;
        let room = (frame.len() as u64 * 8).saturating_sub(first);
        let wanted = u64::from(self.spec.bit_errors.bits).min(room) as usize;
        if wanted == 0 {
            return;
        }
        let mut hit: Vec<u64> = Vec::with_capacity(wanted);
        for nth in 0.. {
            let bit = first + self.dice.below(room, number, Purpose::Position, nth);
            if !hit.contains(&bit) {
                hit.push(bit);
                frame::invert(frame, bit as u32);
                self.note(number, Action::BitError { bit: bit as u32 });
            }
            if hit.len() == wanted {
                break;
            }
        }
        self.report.damaged_frames += 1;
    }

    fn let_go(&mut self, action: Action, now_ps: u64) {
        if let Some(held) = self.held.take() {
            self.note(held.number, action);
            self.forward(&held.bytes, held.number, held.copies, now_ps);
        }
    }

    fn forward(&mut self, frame: &[u8], number: u64, copies: u32, now_ps: u64) {
        let Some(delay) = self.spec.delay else {
            for _ in 0..copies {
                self.put(frame);
            }
            return;
        };
        let end = delay.jitter_ps.saturating_add(1);
        let ps = delay.fixed_ps + self.dice.below(end, number, Purpose::Jitter, 0);
        self.note(number, Action::Delayed { ps });
        let mut due = now_ps.saturating_add(ps);
        if delay.keep_order {
            due = due.max(self.last_due_ps);
            self.last_due_ps = due;
        }
        for _ in 0..copies {
            if self.waiting_bytes + frame.len() + OVERHEAD > self.common.queue_bytes {
                self.report.own_loss.queue_frames += 1;
                continue;
            }
            self.waiting_bytes += frame.len() + OVERHEAD;
            self.arrivals += 1;
            self.waiting
                .push(Reverse((due, self.arrivals, frame.to_vec())));
        }
    }

    fn put(&mut self, frame: &[u8]) {
        match self.sink.send(frame) {
            Ok(()) => self.report.sent_frames += 1,
            Err(error) => {
                self.report.own_loss.send_frames += 1;
                self.report.refusal = Some(error.to_string());
            }
        }
    }
}

/// A line between two ports, with the clock.
pub(super) struct Engine {
    receiver: Receiver,
    line: Line<Sender>,
    stop: Arc<AtomicBool>,
    taken: Arc<AtomicU64>,
}

impl Engine {
    pub(super) fn new(
        receiver: Receiver,
        line: Line<Sender>,
        stop: Arc<AtomicBool>,
        taken: Arc<AtomicU64>,
    ) -> Engine {
        Engine {
            receiver,
            line,
            stop,
            taken,
        }
    }

    /// Forwards until the word to stop.
    pub(super) fn run(mut self) -> DirectionReport {
        // Else frames overtake each other that nobody asked to swap. Where the kernel refuses, they rarely do.
        let _ = wirelab_cores::stay_on_this_core();
        let begin = Instant::now();
        let mut stopped = None;
        let mut failure = None;
        loop {
            let line = &mut self.line;
            let clock = || picoseconds(begin.elapsed());
            let received = match self.receiver.receive(line.taker(clock)) {
                Ok(received) => received,
                Err(e) => {
                    failure = Some(format!("receiving: {e}"));
                    if e.raw_os_error() != Some(libc::ENETDOWN) {
                        break;
                    }
                    // A port that went down may come up again.
                    std::thread::sleep(LONGEST_WAIT);
                    Received::default()
                }
            };
            line.report.own_loss.oversize_frames += received.oversize;
            line.release(picoseconds(begin.elapsed()));
            self.taken
                .store(line.report.received_frames, Ordering::Relaxed);
            if stopped.is_none() && self.stop.load(Ordering::Relaxed) {
                self.receiver.shut();
                stopped = Some(Instant::now());
                // What came before is forwarded, however late this thread runs.
                continue;
            }
            match (received.messages, stopped) {
                (0, Some(_)) => break,
                (0, None) => self.wait(begin),
                (_, Some(since)) if since.elapsed() > DRAIN => break,
                _ => {}
            }
        }
        let own = &mut self.line.report.own_loss;
        own.ring_frames += self.receiver.dropped() + self.receiver.discard();
        let mut report = self.line.finish(picoseconds(begin.elapsed()));
        report.failure = failure;
        report
    }

    fn wait(&self, begin: Instant) {
        let now = picoseconds(begin.elapsed());
        let wait = match self.line.next_ps() {
            Some(due) => Duration::from_nanos(due.saturating_sub(now).div_ceil(1000)),
            None => LONGEST_WAIT,
        };
        self.receiver.wait(wait.min(LONGEST_WAIT));
    }
}

fn picoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
