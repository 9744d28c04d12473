//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod ceiling;
mod common;
mod costs;
mod datasheet;
mod matrix;
mod paths;
mod plan_errors;
mod plan_searches;
mod results_writer;
mod resume;
mod resume_anywhere;
mod run;
mod search_bursts;
mod search_common;
mod search_curve;
mod search_ends;
mod search_properties;
mod search_rates;
mod search_testers;
#[path = "../../trial/tests/common/table.rs"]
mod table;
