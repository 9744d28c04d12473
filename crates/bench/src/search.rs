//! Searches: trials chosen by what the ones before gave, for any [`wirelab_trial::Node`].
//!
//! [`find_rates`] finds the rate of several [`Goal`]s in one search, in the terms of RFC 9971 (MLRsearch);
//! [`loss_curve`] is RFC 2544, 26.3; [`back_to_back`] is RFC 9004. All of them give plain data, and hand each
//! observation to a [`Sink`](crate::Sink) at once.

mod asker;
pub mod bursts;
mod classify;
pub mod curve;
mod goal;
mod rates;
pub mod result;

pub use asker::{Asking, MAX_SEARCH_TRIALS};
pub use bursts::{Burst, BurstLengths, BurstResult, BurstSearch, Screened, back_to_back};
pub use curve::{CurveResult, LossCurve, LossPoint, loss_curve};
pub use goal::{Goal, MAX_GOALS, MIN_WIDTH_RATIO, Search, SearchError};
pub use rates::find_rates;
pub use result::{
    GoalResult, Limit, MaxLoad, MaxLoadSource, Outcome, SearchEnded, SearchResult, TrialRecord,
};
