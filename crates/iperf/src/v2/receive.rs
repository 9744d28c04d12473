//! The receiving end of a UDP flow, without I/O: what arrived, what is missing, and what to answer.
//!
//! Wirelab's own count follows RFC 5560, so a duplicate never hides a loss. The answer follows iperf's count, which its
//! client expects: a number below the expected one is out of order and is subtracted from the losses, and the final
//! datagram is counted.

use wirelab_trial::job::Missed;
use wirelab_trial::slices::{Marks, Slices, Totals};
use wirelab_trial::{Jitter, Tracker};

use super::bytes::be32;
use super::datagram::{DIGITS_AT_12, Generation, Head, WIDE_LEN};
use super::enhanced::Transit;
use super::peer_count::PeerCount;
use super::report::{ANSWER_LEN, ServerReport};

/// A change of the one-way time by this many ns is a step of the sender's clock, not jitter: no queue holds a second of
/// traffic and then passes the next datagram immediately.
const STEP_NS: i64 = 1_000_000_000;
/// One-way times beyond a day, in µs, mean that one of the clocks is not set.
const NOT_SET_US: i64 = 86_400_000_000;

/// The kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Data.
    Data,
    /// The final datagram, or a repetition of it: the peer waits for [`Receiver::answer`].
    Final,
    /// Too short for a number, or data after the end; it is not counted elsewhere.
    Ignored,
}

/// What has arrived so far, in wirelab's count, without final datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Application bytes, including duplicates.
    pub bytes: u64,
    /// Datagrams, including duplicates.
    pub datagrams: u64,
    /// Different numbers.
    pub distinct: u64,
    /// Numbers between the first and the highest that never arrived, and were not dropped by this host's own queues.
    pub lost: u64,
    /// Numbers lost or dropped by this host's own queues; which of the two is unknown.
    pub lost_or_missed: u64,
    /// Numbers that its queues certainly dropped.
    pub missed: u64,
    /// Duplicates.
    pub duplicated: u64,
    /// Numbers that arrived after a higher one.
    pub reordered: u64,
    /// Datagrams so far behind that a duplicate and a late one look the same.
    pub too_late: u64,
    /// Datagrams that were unreadable, or arrived after the end.
    pub ignored: u64,
}

impl Received {
    /// The difference to `before`. Losses that later arrivals filled become 0, not negative.
    #[must_use]
    pub fn since(&self, before: &Received) -> Received {
        let less = u64::saturating_sub;
        Received {
            bytes: less(self.bytes, before.bytes),
            datagrams: less(self.datagrams, before.datagrams),
            distinct: less(self.distinct, before.distinct),
            lost: less(self.lost, before.lost),
            lost_or_missed: less(self.lost_or_missed, before.lost_or_missed),
            missed: less(self.missed, before.missed),
            duplicated: less(self.duplicated, before.duplicated),
            reordered: less(self.reordered, before.reordered),
            too_late: less(self.too_late, before.too_late),
            ignored: less(self.ignored, before.ignored),
        }
    }

    /// Numbers that the sender used: those that arrived, and those that did not.
    pub const fn sent(&self) -> u64 {
        let unseen = self.lost.saturating_add(self.unseen_by_us());
        self.distinct.saturating_add(unseen)
    }

    /// Numbers that are certainly not losses of the path.
    pub const fn unseen_by_us(&self) -> u64 {
        self.lost_or_missed.saturating_add(self.missed)
    }

    /// Moves the numbers that this host's own queues dropped from `lost` to `missed`.
    #[must_use]
    pub fn with_missed(self, missed: Missed) -> Received {
        let (missed, lost_or_missed, lost) = missed.split(self.lost);
        Received {
            lost,
            lost_or_missed,
            missed,
            ..self
        }
    }
}

/// Whether the sender writes its time into the datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stamps {
    None,
    /// Constant so far: perhaps old buffer contents.
    Constant(u64),
    Written,
}

/// The receiving end of one flow. Nothing is allocated after [`Receiver::new`].
#[derive(Clone, Debug)]
pub struct Receiver {
    generation: Generation,
    start_ns: u64,
    last_ns: u64,
    tracker: Tracker,
    has_zero: bool,
    bytes: u64,
    ignored: u64,
    longest: u64,
    jitter: Jitter,
    stamps: Stamps,
    last_transit_ns: Option<i64>,
    steps: u64,
    /// The wall clock at the zero of the caller's clock, in µs.
    epoch_us: u64,
    transit: Option<Transit>,
    interval_transit: Option<Transit>,
    tells_transit: bool,
    peer: PeerCount,
    finished: Option<Finish>,
    /// Whether a datagram with only the header may come before the data, as in 2.0.10 to 2.0.12: both have the number
    /// 0.
    greets: bool,
    /// Progress of the flow over time.
    marks: Marks,
}

#[derive(Clone, Copy, Debug)]
struct Finish {
    report: ServerReport,
    next: u64,
}

impl Receiver {
    /// A flow whose first datagram is `first`, at `now_ns` of any steady clock; the datagram must still be passed to
    /// [`Receiver::take`]. `None` where it cannot start a flow: too short, or a late final one.
    pub fn new(first: &[u8], now_ns: u64) -> Option<Receiver> {
        let generation = Generation::detect(first)?;
        if Head::parse(first, generation.ids())?.id < 0 {
            return None;
        }
        Some(Receiver {
            greets: generation == Generation::V2010 && be32(first, WIDE_LEN) != Some(0),
            ..Receiver::of(generation, now_ns)
        })
    }

    /// A flow of a known generation.
    pub fn of(generation: Generation, now_ns: u64) -> Receiver {
        Receiver {
            generation,
            start_ns: now_ns,
            last_ns: now_ns,
            tracker: Tracker::new(),
            has_zero: false,
            bytes: 0,
            ignored: 0,
            longest: 0,
            jitter: Jitter::new(),
            stamps: Stamps::None,
            last_transit_ns: None,
            steps: 0,
            epoch_us: 0,
            transit: None,
            interval_transit: None,
            tells_transit: false,
            peer: PeerCount::default(),
            finished: None,
            greets: false,
            marks: Marks::new(),
        }
    }

    /// The same flow with one-way times: `epoch_us` is the wall clock at the zero of the caller's clock. With `tells`,
    /// the peer requests them in its report (`--trip-times`).
    #[must_use]
    pub const fn with_wall(mut self, epoch_us: u64, tells: bool) -> Receiver {
        self.epoch_us = epoch_us;
        self.tells_transit = tells;
        self
    }

    /// Takes a datagram that arrived at `now_ns`.
    pub fn take(&mut self, datagram: &[u8], now_ns: u64) -> Arrival {
        let Some(head) = Head::parse(datagram, self.generation.ids()) else {
            self.ignored += 1;
            return Arrival::Ignored;
        };
        let len = datagram.len() as u64;
        if head.id < 0 {
            self.finish(head.id, len, now_ns);
            return Arrival::Final;
        }
        if self.finished.is_some() {
            self.ignored += 1;
            return Arrival::Ignored;
        }
        // 2.0.13 leaves digits in the high word of a datagram with only the header, and so in each copy of it.
        if head.id >> 32 == i64::from(DIGITS_AT_12)
            || std::mem::take(&mut self.greets) && head.id as u32 == 0
        {
            return Arrival::Data;
        }
        if self.marks.is_due(now_ns) {
            self.marks.come_to(now_ns, self.totals());
        }
        self.last_ns = self.last_ns.max(now_ns);
        self.bytes += len;
        self.longest = self.longest.max(len);
        self.peer.take(head.id, len);
        // The tracker extends 32 bits to the nearest number.
        self.tracker.observe(head.id as u32);
        self.has_zero |= head.id == 0;
        self.observe_stamp(&head, now_ns);
        Arrival::Data
    }

    fn totals(&self) -> Totals {
        Totals {
            amount: self.tracker.received(),
            distinct: self.tracker.distinct(),
            passed: self.highest(),
        }
    }

    /// Numbers up to the highest that arrived. Most senders start at 1; only one that starts at 0 can lose it.
    const fn highest(&self) -> u64 {
        self.tracker.next().saturating_sub(!self.has_zero as u64)
    }

    /// Distribution of the arrivals over time.
    pub fn slices(&self) -> Slices {
        self.marks.clone().finish(self.last_ns, self.totals())
    }

    fn observe_stamp(&mut self, head: &Head, now_ns: u64) {
        let stamp_ns = head.stamp_ns();
        self.stamps = match self.stamps {
            Stamps::None => Stamps::Constant(stamp_ns),
            Stamps::Constant(before) if before == stamp_ns => Stamps::Constant(stamp_ns),
            _ => Stamps::Written,
        };
        if self.stamps == Stamps::Written {
            self.observe_transit(stamp_ns, now_ns);
        }
        self.jitter.observe(stamp_ns, now_ns);
    }

    fn observe_transit(&mut self, stamp_ns: u64, now_ns: u64) {
        // Seconds have 32 bits, so both sums fit 63 bits.
        let transit_ns = now_ns as i64 - stamp_ns as i64;
        let last = self.last_transit_ns.replace(transit_ns);
        if last.is_some_and(|last| (transit_ns - last).abs() >= STEP_NS) {
            self.steps += 1;
            self.jitter.restart();
        }
        let us = self.epoch_us as i64 + transit_ns / 1000;
        if self.epoch_us > 0 && us.abs() < NOT_SET_US {
            for transit in [&mut self.transit, &mut self.interval_transit] {
                match transit {
                    Some(transit) => transit.add(us),
                    None => *transit = Some(Transit::of(us)),
                }
            }
        }
    }

    fn finish(&mut self, id: i64, len: u64, now_ns: u64) {
        if self.finished.is_some() {
            return;
        }
        // A single datagram has no rate: the arrival of the final one shows only how busy the host was.
        if self.tracker.received() > 1 {
            self.last_ns = self.last_ns.max(now_ns);
        }
        let next = id.unsigned_abs();
        let mut peer = self.peer;
        peer.take(i64::try_from(next).unwrap_or(i64::MAX), len);
        self.finished = Some(Finish {
            report: ServerReport {
                bytes: peer.bytes,
                duration_us: (self.last_ns - self.start_ns) / 1000,
                lost: peer.lost.saturating_sub(peer.out_of_order),
                out_of_order: peer.out_of_order,
                datagrams: peer.highest.unsigned_abs(),
                jitter_us: self.jitter.ns().unwrap_or(0) / 1000,
                transit: self.transit.filter(|_| self.tells_transit),
            },
            next,
        });
    }

    /// The answer to the final datagram, in the peer's layout; `None` before a final datagram.
    pub fn answer(&self, final_datagram: &[u8]) -> Option<[u8; ANSWER_LEN]> {
        let finish = self.finished?;
        Some(finish.report.emit(self.generation, final_datagram))
    }

    /// What has arrived so far.
    pub fn received(&self) -> Received {
        let highest = self.highest();
        Received {
            bytes: self.bytes,
            datagrams: self.tracker.received(),
            distinct: self.tracker.distinct(),
            lost: self.tracker.lost(highest),
            lost_or_missed: 0,
            missed: 0,
            duplicated: self.tracker.duplicated(),
            reordered: self.tracker.reordered(),
            too_late: self.tracker.too_late(),
            ignored: self.ignored,
        }
    }

    /// Numbers between the highest that arrived and the final one: data lost at the end, or lost final datagrams, since
    /// iperf increments the number with each of them. Which of the two is unknown.
    pub fn unattributed(&self) -> u64 {
        self.finished.map_or(0, |finish| {
            finish.next.saturating_sub(self.tracker.next().max(1))
        })
    }

    /// Jitter in ps; `None` where the sender writes no times, so the value would be meaningless.
    pub fn jitter_ps(&self) -> Option<u64> {
        match self.stamps {
            Stamps::Written => self.jitter.ps(),
            Stamps::None | Stamps::Constant(_) => None,
        }
    }

    /// The jitter that iperf would show, in ms, meaningful or not.
    pub fn iperf_jitter_ms(&self) -> f64 {
        self.jitter.ps().unwrap_or(0) as f64 / 1e9
    }

    /// How often the sender's clock was stepped while it sent; the jitter excludes these steps.
    pub const fn clock_steps(&self) -> u64 {
        self.steps
    }
    /// Bytes that the sender must have sent so far, including lost ones and excluding duplicates.
    pub const fn all_bytes(&self) -> u64 {
        self.highest().saturating_mul(self.longest)
    }
    /// Bytes of the longest datagram.
    pub const fn longest_bytes(&self) -> u64 {
        self.longest
    }
    /// One-way times; `None` without stamps, or where a clock is not set.
    pub const fn transit(&self) -> Option<Transit> {
        self.transit
    }
    /// One-way times since the last call.
    pub const fn take_interval_transit(&mut self) -> Option<Transit> {
        self.interval_transit.take()
    }
    /// Whether the final datagram arrived.
    pub const fn is_finished(&self) -> bool {
        self.finished.is_some()
    }
    /// The peer's generation.
    pub const fn generation(&self) -> Generation {
        self.generation
    }
    /// When the flow started.
    pub const fn start_ns(&self) -> u64 {
        self.start_ns
    }
    /// When the last datagram arrived.
    pub const fn last_ns(&self) -> u64 {
        self.last_ns
    }
}

#[cfg(test)]
mod tests;
