//! The background beside two ways: what the stack takes without loss, as far as a search could tell, and what really ran.

use serde::Serialize;
use wirelab_trial::Observation;
use wirelab_trial::search::{Limit, Outcome, SearchResult};

/// A background that reaches less than this share of the rate asked missed it.
const KEPT_SHARE: f64 = 0.95;
/// Nanoseconds of a second.
const SECOND_NS: f64 = 1e9;

/// What really ran beside the blocks of one way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BackgroundRan {
    /// Frames/s that were asked.
    pub asked_frames_per_s: f64,
    /// Frames/s that were sent, over all blocks.
    pub frames_per_s: f64,
    /// Frames sent.
    pub sent_frames: u64,
    /// Frames that the node received, where it tells.
    pub received_frames: Option<u64>,
    /// Frames that did not arrive, where the node tells.
    pub lost_frames: Option<u64>,
}

impl BackgroundRan {
    /// What ran beside these blocks; `None` where nothing was asked to, or its rate is not known of every block.
    pub fn of(blocks: &[Observation]) -> Option<BackgroundRan> {
        blocks.first()?.trial.background?;
        let sum = |name: &str| -> Option<u64> {
            let name = format!("background_{name}");
            let counter = |o: &Observation| o.counters.get(&name)?.value().copied();
            blocks.iter().map(counter).sum()
        };
        let lasted_s = sum("lasted_ns").filter(|ns| *ns > 0)? as f64 / SECOND_NS;
        let sent_frames = sum("sent_frames")?;
        Some(BackgroundRan {
            asked_frames_per_s: sum("due_frames")? as f64 / lasted_s,
            frames_per_s: sent_frames as f64 / lasted_s,
            sent_frames,
            received_frames: sum("received_frames"),
            lost_frames: sum("lost_frames"),
        })
    }

    /// Whether the tester sent less than was asked, by more than a twentieth.
    pub fn missed_its_rate(&self) -> bool {
        self.frames_per_s < KEPT_SHARE * self.asked_frames_per_s
    }

    /// Whether two backgrounds were so much alike, within a twentieth, that what ran beside them can be compared.
    pub fn is_like(&self, other: &BackgroundRan) -> bool {
        let (a, b) = (self.frames_per_s, other.frames_per_s);
        a.min(b) >= KEPT_SHARE * a.max(b)
    }
}

/// The rate that a node takes without loss, as far as a search came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LossFree {
    /// Frames/s that were really sent and all arrived.
    pub frames_per_s: f64,
    /// Whether the node may well take more: nothing above was lost, it was not sent.
    pub is_lower_bound: bool,
    /// What held it there; `None` where the search ended early.
    pub limited_by: Option<Limit>,
    /// The smallest rate of which too much was lost, where one is known.
    pub lost_at_frames_per_s: Option<f64>,
}

/// What a search for one goal found. Its lower bound is a rate that was really sent, also where the tester did not send
/// what it was asked; only where frames were lost above it is it the node's own rate.
///
/// # Errors
/// Why nothing can be said, in words.
pub fn loss_free(found: &SearchResult) -> Result<LossFree, String> {
    let goal = found.goals.first().ok_or("nothing was searched")?;
    let rate = goal.relevant_lower_bound_frames_per_s.value().copied();
    let Some(frames_per_s) = rate.filter(|rate| *rate > 0.0) else {
        return Err(match (goal.outcome, &found.ended) {
            (_, wirelab_trial::search::SearchEnded::Failed { why }) => why.clone(),
            (Outcome::NoLowerBound, _) => {
                let least = found.min_load_frames_per_s.unwrap_or(0.0);
                format!("even at {least:.0} frames/s frames were lost")
            }
            (Outcome::TesterTooSlow, _) => {
                "the tester was held up in every trial, and frames were lost meanwhile".to_owned()
            }
            (_, ended) => format!("the search ended before it knew a rate ({ended:?})"),
        });
    };
    let limited_by = goal.limited_by.value().copied();
    // A load above the bound at which the tester was the limit says nothing of the node.
    let is_lower_bound = limited_by != Some(Limit::Node);
    Ok(LossFree {
        frames_per_s,
        is_lower_bound,
        limited_by,
        lost_at_frames_per_s: goal
            .relevant_upper_bound_frames_per_s
            .value()
            .copied()
            .filter(|_| !is_lower_bound),
    })
}
