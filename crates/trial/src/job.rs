//! How fast a sender goes, and what every sender and checker of test frames answers, whatever carries the frames.
//!
//! Times are CLOCK_MONOTONIC of the host in ns; that is also what the test header carries, modulo 2⁴⁸.

mod judge;
mod observe;

pub use judge::Judge;
pub use observe::{FlowAsked, below_rate, flow_observation, flow_warnings};

use crate::observation::Counts;
use crate::series::{Histogram, Series};

/// How fast a sender goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it can.
    Max,
    /// One frame every so many picoseconds, on time; never by catching up after a pause.
    Interval {
        /// Picoseconds from the start of one frame to the start of the next.
        ps: u64,
    },
}

impl Pace {
    /// The pace of a rate in frames/s; without one, as fast as the sender can.
    pub fn of(frames_per_s: Option<f64>) -> Pace {
        frames_per_s.map_or(Pace::Max, |rate| Pace::Interval {
            ps: ((1e12 / rate).round() as u64).max(1),
        })
    }
}

/// What a sender did.
#[derive(Clone, Debug, Default)]
pub struct SendReport {
    /// Frames that left.
    pub emitted_frames: u64,
    /// Sequences used, 0 to this, whether or not they left.
    pub sequences: u64,
    /// Time of the first frame in ns.
    pub first_ns: u64,
    /// Time of the last frame in ns.
    pub last_ns: u64,
    /// Gaps between the starts of successive frames in ns.
    pub gap: Histogram,
    /// How often the schedule was moved because the sender was held up.
    pub slips: u64,
    /// Sum of those holds in ns.
    pub slipped_ns: u64,
    /// Frames that the driver refused (its queue was full); they did not leave, and their sequence is used.
    pub refused_frames: u64,
    /// Whether the kernel copied frame data, where that is known.
    pub kernel_copied: Option<bool>,
    /// Time of the sending call or loop in ns.
    pub call_ns: u64,
}

/// A sender that achieves less than this share of the rate asked did not keep it.
const KEPT: f64 = 0.995;

impl SendReport {
    /// Frames/s by the sender's own frame times; `None` with fewer than two frames.
    pub fn frames_per_s(&self) -> Option<f64> {
        let span = self.last_ns.checked_sub(self.first_ns);
        let span = span.filter(|ns| *ns > 0)?;
        Some(self.emitted_frames.saturating_sub(1) as f64 * 1e9 / span as f64)
    }

    /// Whether the rate asked was kept within 0.5 %; `None` where none was asked, or fewer than two frames left.
    pub fn kept_rate(&self, asked_frames_per_s: Option<f64>) -> Option<bool> {
        Some(self.frames_per_s()? >= KEPT * asked_frames_per_s?)
    }
}

/// What a checker saw.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// Counts; `lost_frames` and `missed_frames` are 0 until the sender's number is known, see
    /// [`CheckReport::with_sent`].
    pub counts: Counts,
    /// Arrival of the first timed frame in ns, and how many frames of the flow came before it (before the last of
    /// those that share this time).
    pub first: Option<(u64, u64)>,
    /// Arrival of the last timed frame in ns, and how many frames of the flow came before it.
    pub last: Option<(u64, u64)>,
    /// RFC 3550 jitter in ns, where every frame was timed at both ends.
    pub jitter_ns: Option<u64>,
    /// Latency (arrival less transmit time on one clock) and what else was sampled.
    pub series: Vec<Series>,
    /// Frames that the checker's own queue lost before it saw them, as the system tells it: of the flow or not.
    pub missed_frames: u64,
    /// Things a reader should know, in words.
    pub notes: Vec<String>,
}

impl CheckReport {
    /// The same report with the losses against `sent` sequences. What the checker's own queue dropped is no loss of
    /// the path.
    #[must_use]
    pub fn with_sent(mut self, sent: u64) -> CheckReport {
        let unseen = sent.saturating_sub(self.counts.distinct_sequences);
        self.counts.missed_frames = self.missed_frames.min(unseen);
        self.counts.lost_frames = unseen - self.counts.missed_frames;
        self
    }

    /// Frames/s between the first and the last timed frame: frames that arrived over the time they took.
    pub fn frames_per_s(&self) -> Option<f64> {
        let ((t0, n0), (t1, n1)) = (self.first?, self.last?);
        (t1 > t0).then(|| (n1 - n0) as f64 * 1e9 / (t1 - t0) as f64)
    }
}
