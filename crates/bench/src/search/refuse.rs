//! Reasons to refuse a search before its first trial.

use wirelab_trial::search::{Goal, MIN_WIDTH_RATIO, Search};
use wirelab_trial::{LoadError, Trial};
use wirelab_wire::SizeError;

use super::asker::MAX_SEARCH_TRIALS;

/// Most goals of one search.
pub const MAX_GOALS: usize = 16;

/// Checks that a goal can be met or missed at all.
fn check_goal(goal: &Goal) -> Result<(), SearchError> {
    let bad = |field, why| Err(SearchError::Goal { field, why });
    if goal.final_trial_ps == 0 {
        return bad(
            "final_trial_ps",
            "a trial must take some time; fix: give e.g. 1s",
        );
    }
    if goal.duration_sum_ps < goal.final_trial_ps {
        return bad(
            "duration_sum_ps",
            "it does not hold a full trial; fix: give at least the time of one",
        );
    }
    if !(0.0..1.0).contains(&goal.loss_ratio) {
        return bad(
            "loss_ratio",
            "it is not a share of frames; fix: give 0 or more and less than 1 (2.5 % is 0.025)",
        );
    }
    if !(0.0..1.0).contains(&goal.exceed_ratio) {
        return bad(
            "exceed_ratio",
            "it is not a share of trials; fix: give 0 or more and less than 1",
        );
    }
    if !(MIN_WIDTH_RATIO..1.0).contains(&goal.width_ratio) {
        return bad(
            "width_ratio",
            "it is not a share of a load; fix: give 0.0001 or more and less than 1",
        );
    }
    Ok(())
}

/// Checks that the search can run at all.
pub(super) fn check_search(search: &Search) -> Result<(), SearchError> {
    let bad = |field, why| Err(SearchError::Goal { field, why });
    if search.goals.is_empty() || search.goals.len() > MAX_GOALS {
        return bad("goals", "it has none or too many; fix: give 1 to 16");
    }
    search.goals.iter().try_for_each(check_goal)?;
    if search.preliminary_trial_ps == Some(0) {
        return bad(
            "preliminary_trial_ps",
            "a trial must take some time; fix: leave it out for none",
        );
    }
    let min = search.min_load_frames_per_s.unwrap_or(1.0);
    if !(min.is_finite() && min > 0.0) {
        return bad(
            "min_load_frames_per_s",
            "no frames would be sent; fix: give more than 0",
        );
    }
    check_limits(search.max_trials, search.max_time_ps)
}

/// Checks that the limits of trials and time allow anything.
pub(super) fn check_limits(max_trials: u64, max_time_ps: u64) -> Result<(), SearchError> {
    let bad = |field, why| Err(SearchError::Goal { field, why });
    if max_trials == 0 || max_trials > MAX_SEARCH_TRIALS {
        return bad(
            "max_trials",
            "the search would not end, or not begin; fix: give 1 to 100,000",
        );
    }
    if max_time_ps == 0 {
        return bad("max_time_ps", "no trial fits; fix: give more than 0");
    }
    Ok(())
}

/// Checks that a trial has losses, as a search needs.
pub(super) fn check_trial(trial: &Trial) -> Result<(), SearchError> {
    if trial.framing.layer.is_tcp() {
        return Err(SearchError::Tcp);
    }
    Ok(())
}

/// Why a search is refused before its first trial.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SearchError {
    /// An invalid parameter.
    #[error("{field}: {why}")]
    Goal {
        /// The parameter.
        field: &'static str,
        /// What is wrong with it, and the fix.
        why: &'static str,
    },
    /// TCP retransmits lost data.
    #[error(
        "TCP retransmits lost data, so a loss ratio does not show its rate; fix: use a TCP trial at load max"
    )]
    Tcp,
    /// A size that a test frame cannot have.
    #[error("{0}")]
    Size(#[from] SizeError),
    /// A highest load that the link cannot carry.
    #[error("{0}")]
    Load(#[from] LoadError),
    /// No loads between the smallest and the highest.
    #[error(
        "the smallest load is {min:.3} frames/s and the highest {max:.3}; fix: lower the first, or make trials longer so that a low load has a frame"
    )]
    NoRange {
        /// Smallest load in frames/s.
        min: f64,
        /// Highest load in frames/s.
        max: f64,
    },
    /// This search needs the line rate, and the link rate is unknown.
    #[error(
        "the link's rate is unknown, so there is no line rate; fix: give it with --rate, e.g. --rate 1G, or with the key rate in a plan"
    )]
    NoLinkRate,
}
