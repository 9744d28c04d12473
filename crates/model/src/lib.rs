//! Models: what a node would do, what limits it, and what a change would gain.
//!
//! A node file (`nodes/*.toml`, see `docs/nodes/README.md`) describes stages over exclusive resources. For one trial it
//! becomes a [`net::Net`], a marked graph with costs in picoseconds. [`steady`] finds its period and critical circuit
//! in closed form, and [`sim`] simulates every frame.
//!
//! The command line uses it. It knows `config`, `trial` and `wire`, and no real node. Start reading at
//! [`file::NodeFile`], then [`build`] (a trial becomes a net), [`predict::predict`] and [`explain::explain`].
#![forbid(unsafe_code)]

pub mod build;
pub mod cycle;
pub mod explain;
pub mod file;
pub mod fit;
mod intake;
pub mod kind;
pub mod library;
pub mod net;
pub mod node;
pub mod predict;
pub mod reference;
pub mod sim;
pub mod steady;
pub mod whatif;

pub use kind::MODEL;
