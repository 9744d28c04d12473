//! The pace of a sender, and the reports of every sender and checker of test frames, whatever carries the frames.
//!
//! Times are CLOCK_MONOTONIC of the host in ns; the test header carries the same, modulo 2⁴⁸.

mod judge;
mod observe;

pub use judge::{Judge, was_sent_before};
pub use observe::{FlowRequest, below_rate, flow_observation, flow_warnings, intervals};

use crate::counts::Counts;
use crate::hold_watch::Holds;
use crate::pace::Pacer;
use crate::series::{Histogram, Series};
use crate::slices::Slices;

/// The pace of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it can.
    Max,
    /// One frame every so many picoseconds; after a pause the sender catches up within the limit of [`Pacer`].
    Interval {
        /// Picoseconds from the start of one frame to the start of the next.
        ps: u64,
    },
    /// One frame every so many picoseconds, without catching up after a pause.
    Strict {
        /// Picoseconds from the start of one frame to the start of the next.
        ps: u64,
    },
}

impl Pace {
    /// The pace for a rate in frames/s; without a rate, as fast as the sender can.
    pub fn of(frames_per_s: Option<f64>) -> Pace {
        frames_per_s.map_or(Pace::Max, |rate| Pace::Interval {
            ps: ((1e12 / rate).round() as u64).max(1),
        })
    }

    /// The same pace, with strict gaps where requested ([`Trial::strict_gaps`](crate::Trial::strict_gaps)).
    #[must_use]
    pub const fn strict(self, strict: bool) -> Pace {
        match self {
            Pace::Interval { ps } if strict => Pace::Strict { ps },
            pace => pace,
        }
    }

    /// Picoseconds from the start of one frame to the start of the next; `None` at maximum load.
    pub const fn interval_ps(self) -> Option<u64> {
        match self {
            Pace::Max => None,
            Pace::Interval { ps } | Pace::Strict { ps } => Some(ps),
        }
    }

    /// The schedule of a sender that starts at `start_ns`; `None` at maximum load.
    pub fn schedule(self, start_ns: u64) -> Option<Pacer> {
        match self {
            Pace::Max => None,
            Pace::Interval { ps } => Some(Pacer::new(start_ns, ps)),
            Pace::Strict { ps } => Some(Pacer::strict(start_ns, ps)),
        }
    }
}

/// The report of a sender.
#[derive(Clone, Debug, Default)]
pub struct SendReport {
    /// Frames sent.
    pub emitted_frames: u64,
    /// Sequences used, 0 to this, whether or not they were sent.
    pub sequences: u64,
    /// Time of the first frame in ns.
    pub first_ns: u64,
    /// Time of the last frame in ns.
    pub last_ns: u64,
    /// Gaps between the starts of successive frames in ns.
    pub gap: Histogram,
    /// Number of pauses of the sender by its own host, at any load.
    pub slips: u64,
    /// Sum of those pauses in ns.
    pub slipped_ns: u64,
    /// Time in ns of back-pressure, where the sender can measure it.
    pub blocked_ns: Option<u64>,
    /// Most frames sent back to back, faster than the pace, to catch up after a pause, where the sender knows.
    pub longest_burst_frames: Option<u64>,
    /// Frames that the driver refused (its queue was full); they were not sent, and their sequence is used.
    pub refused_frames: u64,
    /// Whether the kernel copied frame data, where that is known.
    pub kernel_copied: Option<bool>,
    /// Time of the sending call or loop in ns.
    pub call_ns: u64,
}

/// A sender that achieves less than this share of the requested rate did not keep it.
const KEPT: f64 = 0.995;

impl SendReport {
    /// Frames/s by the sender's own frame times; `None` with fewer than two frames.
    pub fn frames_per_s(&self) -> Option<f64> {
        let span = self.last_ns.checked_sub(self.first_ns);
        let span = span.filter(|ns| *ns > 0)?;
        Some(self.emitted_frames.saturating_sub(1) as f64 * 1e9 / span as f64)
    }

    /// Sequences sent: those used, minus those that the driver refused. Which ones it refused is unknown. A refused
    /// copy of a sent frame does not reduce the number, so at least the arrived ones were sent.
    pub fn sequences_left(&self, arrived: u64) -> u64 {
        let left = self.sequences.saturating_sub(self.refused_frames);
        left.max(arrived.min(self.sequences))
    }

    /// Emitted frames that the checker neither saw nor may have dropped.
    pub fn unseen(&self, received: &CheckReport) -> u64 {
        let uncounted = self
            .emitted_frames
            .saturating_sub(received.counts.distinct_sequences);
        uncounted.saturating_sub(received.missed.at_most)
    }

    /// Corrects for frames that were emitted but not sent: the system dropped them after the sender.
    pub fn never_left(&mut self, frames: u64) {
        self.emitted_frames = self.emitted_frames.saturating_sub(frames);
        self.refused_frames = self.refused_frames.saturating_add(frames);
    }

    /// Whether the requested rate was kept within 0.5 %; `None` where none was requested, or fewer than two frames were
    /// sent.
    pub fn kept_rate(&self, requested_frames_per_s: Option<f64>) -> Option<bool> {
        Some(self.frames_per_s()? >= KEPT * requested_frames_per_s?)
    }
}

/// Most datagrams that Linux accepts or keeps in one buffer (since 6.9; 64 before): one dropped buffer may be that
/// many.
pub const UDP_MAX_SEGMENTS: u64 = 128;

/// Bounds for the frames of a flow that a checker's own queue dropped: the system counts buffers, each of which may
/// hold many joined datagrams, and some may be foreign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// Certainly dropped.
    pub at_least: u64,
    /// Possibly dropped, at most.
    pub at_most: u64,
}

impl Missed {
    /// Splits `unseen` frames of a flow into those that the checker's queue certainly dropped, those that are
    /// uncertain, and those that certainly were lost.
    pub fn split(self, unseen: u64) -> (u64, u64, u64) {
        let missed = self.at_least.min(unseen);
        let either = self.at_most.min(unseen).saturating_sub(missed);
        (missed, either, unseen - missed - either)
    }

    /// The most that was possibly dropped; `None` where the host joined frames, so that there is no bound.
    pub fn bound(self) -> Option<u64> {
        (self.at_most < u64::MAX).then_some(self.at_most)
    }

    /// An exact number.
    pub const fn exactly(frames: u64) -> Missed {
        Missed {
            at_least: frames,
            at_most: frames,
        }
    }
}

/// The report of a checker.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// Counts; `lost_frames` and `missed_frames` are 0 until the sender's number is known, see
    /// [`CheckReport::with_sent`].
    pub counts: Counts,
    /// Arrival of the first timed frame in ns, and how many frames of the flow came before it (before the last one with
    /// that time).
    pub first: Option<(u64, u64)>,
    /// Arrival of the last timed frame in ns, and how many frames of the flow came before it.
    pub last: Option<(u64, u64)>,
    /// Distribution of its arrivals over time.
    pub slices: Slices,
    /// RFC 3550 jitter in ns, where every frame was timed at both ends.
    pub jitter_ns: Option<u64>,
    /// Latency (arrival minus transmit time on one clock) and other samples.
    pub series: Vec<Series>,
    /// How long the checker watched its port in ns, where known.
    pub watched_ns: Option<u64>,
    /// Frames of the flow that the checker's own queue lost before it saw them.
    pub missed: Missed,
    /// Time in ns in which its own host paused the checker, where known.
    pub held_up_ns: Option<u64>,
    /// The part of it in ns of pauses that were each too long for interrupt work of the kernel.
    pub held_long_ns: u64,
    /// Notes for the reader, in words.
    pub notes: Vec<String>,
}

/// A rate of foreign frames/s that is normal between hosts.
const QUIET_FOREIGN_PER_S: u64 = 100;

impl CheckReport {
    /// Sets the pauses of the checker.
    pub fn was_held(&mut self, holds: Holds) {
        self.held_up_ns = Some(holds.held_ns);
        self.held_long_ns = holds.long_ns;
    }

    /// Subtracts interrupt work from the pauses: what the kernel does for a flow is not a pause by its host. Long pauses
    /// remain, because no interrupt work takes as long.
    pub fn without_interrupts(&mut self, interrupts_ns: u64) {
        if let Some(held_ns) = &mut self.held_up_ns {
            *held_ns = held_ns.saturating_sub(interrupts_ns).max(self.held_long_ns);
        }
    }

    /// Foreign frames/s while the checker watched; `None` where there were none, or the time is unknown.
    pub fn foreign_frames_per_s(&self) -> Option<u64> {
        let ns = self.watched_ns.filter(|ns| *ns > 0)?;
        let frames = u128::from(self.counts.foreign_frames);
        let rate = u64::try_from(frames * 1_000_000_000 / u128::from(ns)).unwrap_or(u64::MAX);
        (frames > 0).then_some(rate)
    }

    /// Whether there is much foreign traffic: more than is normal between hosts, and more than a hundredth of the flow.
    pub fn is_crowded(&self) -> bool {
        let foreign = self.counts.foreign_frames;
        self.foreign_frames_per_s() > Some(QUIET_FOREIGN_PER_S)
            && foreign.saturating_mul(100) > self.counts.received_frames
    }

    /// The same report with the losses against `sent` sequences. Frames that the checker's own queue dropped are not
    /// losses of the path.
    #[must_use]
    pub fn with_sent(mut self, sent: u64) -> CheckReport {
        let unseen = sent.saturating_sub(self.counts.distinct_sequences);
        let counts = &mut self.counts;
        (
            counts.missed_frames,
            counts.lost_or_missed_frames,
            counts.lost_frames,
        ) = self.missed.split(unseen);
        self
    }

    /// Frames/s between the first and the last timed frame: arrived frames over their time.
    pub fn frames_per_s(&self) -> Option<f64> {
        self.frames_per_s_over(0)
    }

    /// As [`CheckReport::frames_per_s`] once the missing frames are known ([`CheckReport::with_sent`]), over the time of
    /// sending if that is longer and more significant. When missing frames would have arrived is unknown: a queue that is full
    /// after a third of the time took no more per second than what arrived in total. A stream is read at once if its reader was
    /// late.
    pub fn arrived_frames_per_s(&self, sent: &SendReport, is_stream: bool) -> Option<f64> {
        let sending_ns = sent.last_ns.saturating_sub(sent.first_ns);
        let is_timed = self.counts.unseen_frames() == 0 && !is_stream;
        self.frames_per_s_over(if is_timed { 0 } else { sending_ns })
    }

    fn frames_per_s_over(&self, least_ns: u64) -> Option<f64> {
        let ((t0, n0), (t1, n1)) = (self.first?, self.last?);
        let ns = t1.checked_sub(t0).filter(|ns| *ns > 0)?.max(least_ns);
        Some((n1 - n0) as f64 * 1e9 / ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_explain_short_pauses_alone() {
        let held = |long_ns: u64, interrupts_ns: u64| {
            let mut report = CheckReport::default();
            report.was_held(Holds {
                count: 9,
                held_ns: 1_000,
                long_ns,
                blocked_ns: 0,
            });
            report.without_interrupts(interrupts_ns);
            report.held_up_ns
        };
        assert_eq!(held(0, 400), Some(600));
        assert_eq!(held(0, 4_000), Some(0));
        assert_eq!(held(900, 400), Some(900));
        assert_eq!(held(500, 400), Some(600));
    }

    #[test]
    fn of_what_the_host_joined_nothing_is_in_question() {
        let sent = SendReport {
            emitted_frames: 100,
            ..SendReport::default()
        };
        let received = |at_most| CheckReport {
            counts: Counts {
                distinct_sequences: 90,
                ..Counts::default()
            },
            missed: Missed {
                at_least: 0,
                at_most,
            },
            ..CheckReport::default()
        };
        let unseen = [0, 3, 10, 11, u64::MAX].map(|most| sent.unseen(&received(most)));
        assert_eq!(unseen, [10, 7, 0, 0, 0]);
    }
}
