//! Searches: trials chosen by what the ones before gave, for any [`wirelab_trial::Node`].
//!
//! [`find_rates`] finds the rate of several [`Goal`]s in one search, in the terms of RFC 9971 (MLRsearch);
//! [`loss_curve`] is RFC 2544, 26.3; [`back_to_back`] is RFC 9004. All of them give plain data, and hand each
//! observation to a [`Sink`](crate::Sink) at once.

mod asker;
mod bursts;
mod classify;
mod curve;
mod rates;
mod reading;
mod refuse;

pub use asker::{Asking, MAX_SEARCH_TRIALS};
pub use bursts::back_to_back;
pub use curve::loss_curve;
pub use rates::find_rates;
pub use refuse::{MAX_GOALS, SearchError};
pub use wirelab_trial::search::*;
