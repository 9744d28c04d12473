//! Procedures made of trials, for any [`wirelab_trial::Node`].
//!
//! A [`Plan`] is read from a file or made from the command line. [`parts`] turns it into listed trials and searches in
//! a fixed order. [`run_plan`] runs them on a node one by one and passes each observation to a [`Sink`] immediately, so
//! that a [`ResultsWriter`] never loses one; [`resume_plan`] continues such a file.
//!
//! The command line uses it. It knows `config`, `cores`, `statistics`, `trial` and `wire`. Start reading at
//! [`resume_plan`], then `listed.rs` (listed trials), `searched.rs` (searches) and [`plan::Plan`].
#![forbid(unsafe_code)]

mod busy;
pub mod ceiling;
pub mod costs;
pub mod datasheet;
pub mod estimate;
mod listed;
pub mod matrix;
pub mod part;
pub mod paths;
pub mod plan;
mod progress;
mod reader;
pub mod results_writer;
pub mod resume;
pub mod run;
mod save;
pub mod search;
mod searched;
pub mod stages;

pub use ceiling::{CachedCeiling, Ceiling, NoCeiling};
pub use estimate::plan_estimate_ps;
pub use matrix::{ExpandError, MAX_SEARCHES, MAX_TRIALS, PlannedTrial, expand, trial_estimate_ps};
pub use part::parts;
pub use plan::{Matrix, Plan, SearchKind, SearchSection, Section};
pub use reader::{MAX_PLAN_BYTES, fuzz_plan};
pub use results_writer::{LoadResultsError, ResultsWriter, load, save};
pub use resume::{ResumeError, Stored};
pub use run::{Ended, PlanOutcome, PlanResult, Sink, resume_plan, run_plan};
pub use save::{WriteError, write_fix};
pub use wirelab_config::{FileError, UnitError, parse_duration_ps, parse_percent, parse_rate};
