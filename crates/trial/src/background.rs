//! The background traffic that was really sent beside a trial's own frames.

use serde::Serialize;

use crate::observation::Observation;

/// A background that reaches less than this share of the requested rate missed it.
const KEPT_SHARE: f64 = 0.95;
/// Nanoseconds in a second.
const SECOND_NS: f64 = 1e9;

/// The background that was really sent beside the blocks of one path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BackgroundResult {
    /// Requested frames/s.
    pub asked_frames_per_s: f64,
    /// Frames/s that were sent, over all blocks.
    pub frames_per_s: f64,
    /// Frames sent.
    pub sent_frames: u64,
    /// Frames that the node received, where it reports them.
    pub received_frames: Option<u64>,
    /// Frames that did not arrive, where the node reports them.
    pub lost_frames: Option<u64>,
}

impl BackgroundResult {
    /// The background beside these blocks; `None` where none was requested, or the rate of some block is unknown.
    pub fn of(blocks: &[Observation]) -> Option<BackgroundResult> {
        blocks.first()?.trial.background?;
        let sum = |name: &str| -> Option<u64> {
            let name = format!("background_{name}");
            let counter = |o: &Observation| o.counters.get(&name)?.value().copied();
            blocks.iter().map(counter).sum()
        };
        let lasted_s = sum("lasted_ns").filter(|ns| *ns > 0)? as f64 / SECOND_NS;
        let sent_frames = sum("sent_frames")?;
        Some(BackgroundResult {
            asked_frames_per_s: sum("due_frames")? as f64 / lasted_s,
            frames_per_s: sent_frames as f64 / lasted_s,
            sent_frames,
            received_frames: sum("received_frames"),
            lost_frames: sum("lost_frames"),
        })
    }

    /// Share of the sent frames that did not arrive, where the node reports it.
    pub fn loss_ratio(&self) -> Option<f64> {
        let sent = (self.sent_frames > 0).then_some(self.sent_frames as f64)?;
        Some(self.lost_frames? as f64 / sent)
    }

    /// Whether the tester sent less than requested, by more than a twentieth.
    pub fn missed_its_rate(&self) -> bool {
        self.frames_per_s < KEPT_SHARE * self.asked_frames_per_s
    }

    /// Whether two backgrounds are equal within a twentieth, so that the trials beside them are comparable.
    pub fn is_like(&self, other: &BackgroundResult) -> bool {
        let (a, b) = (self.frames_per_s, other.frames_per_s);
        a.min(b) >= KEPT_SHARE * a.max(b)
    }
}
