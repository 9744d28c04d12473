//! Published tables: their format, comparison with a node, and their audit.
//!
//! `docs/studies.md` is the manual of the format. A study can be run on any node that implements
//! [`wirelab_trial::Node`]; the audit needs no node at all.
//!
//! `report` and the command line use it. It knows `config`, `trial` and `wire`; it gets nodes from a
//! [`run::NodeSource`]. Start reading at [`table::Study`], then [`audit::audit`], with one file for each rule, and
//! [`run::run`].
#![forbid(unsafe_code)]

pub mod audit;
pub mod figure;
pub mod fitted;
pub mod import;
pub mod library;
pub mod metric;
pub mod observe;
pub mod quantity;
pub mod reader;
pub mod run;
pub mod table;
pub mod value;
