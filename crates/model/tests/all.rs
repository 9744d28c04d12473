//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod cycle_times;
mod explain_nodes;
mod explain_results;
mod file_errors;
mod file_hostile;
mod file_instance;
mod file_library;
mod fit_am263x;
mod fit_coverage;
mod fit_forms;
mod fit_linux;
mod fit_recovery;
mod fit_refusals;
mod fit_runs;
mod fit_saturated;
mod fit_support;
mod overload;
mod predict;
mod predict_library;
mod predict_support;
mod remote_results;
mod uncertain;
mod whatif_lists;
mod whatif_nodes;
