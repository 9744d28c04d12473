//! Searches: trials whose loads depend on earlier results, for any [`wirelab_trial::Node`].
//!
//! [`find_rates`] finds the rate of several [`Goal`]s in one search, in the terms of RFC 9971 (MLRsearch);
//! [`loss_curve`] is RFC 2544, 26.3; [`back_to_back`] is RFC 9004. Each returns plain data, and passes every
//! observation to a [`Sink`](crate::Sink) immediately.

mod asker;
mod bursts;
mod classify;
mod curve;
mod rates;
mod reading;
mod refuse;
pub(crate) mod words;

pub use asker::{MAX_SEARCH_TRIALS, SearchContext};
pub use bursts::back_to_back;
pub use curve::loss_curve;
pub use rates::find_rates;
pub use refuse::{MAX_GOALS, SearchError};
pub use wirelab_trial::search::*;
pub use words::SearchWords;
