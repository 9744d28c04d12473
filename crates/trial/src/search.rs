//! Searches as plain data: their goals and their results. `wirelab_bench::search` runs them.
//!
//! The terms are those of RFC 9971 (MLRsearch) for rates, RFC 2544, 26.3 for the loss curve, RFC 9004 for bursts.

mod bursts;
mod curve;
mod goal;
mod rates;

pub use bursts::{
    Burst, BurstLengths, BurstResult, BurstSearch, MAX_REPEATS, MIN_REPEATS, Screened,
};
pub use curve::{CurveResult, LossCurve, LossPoint};
pub use goal::{FIRST_STEP, Goal, MIN_WIDTH_RATIO, Search};
pub use rates::{
    GoalResult, Limit, MaxLoad, MaxLoadSource, Outcome, SearchEnded, SearchResult, TrialRecord,
};
