//! Procedures made of trials, for any [`wirelab_trial::Node`].
//!
//! A [`Plan`] is read from a file or made from the command line; [`expand`] turns it into [`Step`]s in a fixed
//! order; [`run_plan`] asks them of a node one by one and hands each observation to a [`Sink`] at once, so that
//! a [`ResultsWriter`] keeps what was seen whatever happens; [`summaries`] says what repeated trials gave.
#![forbid(unsafe_code)]

pub mod ceiling;
pub mod matrix;
pub mod plan;
mod progress;
mod reader;
pub mod repeats;
pub mod results_writer;
pub mod run;
mod save;
pub mod search;

pub use ceiling::{CachedCeiling, Ceiling, NoCeiling};
pub use matrix::{ExpandError, MAX_TRIALS, Step, estimate_ps, expand, trial_estimate_ps};
pub use plan::{MAX_PLAN_BYTES, Matrix, Plan, fuzz_plan};
pub use repeats::{CONFIDENCE, DirectionSummary, TrialSummary, summaries};
pub use results_writer::{LoadResultsError, ResultsWriter, WriteError, load, save};
pub use run::{Ended, PlanOutcome, Sink, run_plan};
pub use wirelab_config::{FileError, UnitError, parse_duration_ps, parse_rate};
