//! The background beside two paths: the rate that the stack takes without loss, as far as a search found it.

use serde::Serialize;
use wirelab_trial::search::{Limit, Outcome, SearchResult};

/// The rate that a node takes without loss, as far as a search got.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LossFree {
    /// Frames/s that were sent and all arrived.
    pub frames_per_s: f64,
    /// Whether the node may take more: nothing was lost above, because nothing was sent.
    pub is_lower_bound: bool,
    /// What limited it; `None` where the search ended early.
    pub limited_by: Option<Limit>,
    /// The smallest rate with too much loss, where known.
    pub lost_at_frames_per_s: Option<f64>,
}

/// The result of a search for one goal. Its lower bound is a rate that was really sent, even if the tester did not send
/// the requested one; it is the node's own rate only if frames were lost above it.
///
/// # Errors
/// Why there is no result, in words.
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
                "the host paused the tester in every trial, and frames were lost then".to_owned()
            }
            (_, ended) => format!("the search ended before it knew a rate ({ended:?})"),
        });
    };
    let limited_by = goal.limited_by.value().copied();
    // A load above the bound at which the tester was the limit shows nothing about the node.
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
