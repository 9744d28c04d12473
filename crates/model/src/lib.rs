//! Models: what a node would do, what limits it, and what a change would gain.
//!
//! A node file (`nodes/*.toml`, see `docs/nodes/README.md`) describes stages over exclusive resources. For one trial it
//! becomes a [`wirelab_sim::net::Net`], whose period [`wirelab_sim::steady`] finds in closed form and whose every frame
//! [`wirelab_sim::sim`] simulates.
//!
//! The command line uses it. It knows `config`, `sim`, `statistics`, `trial` and `wire`. Start reading at
//! [`file::NodeFile`], then [`build`] (a trial becomes a net), [`predict::predict`] and [`explain::explain`].
#![forbid(unsafe_code)]

pub mod build;
pub mod cycle;
pub mod explain;
pub mod file;
pub mod fit;
mod intake;
pub mod library;
pub mod node;
pub mod node_type;
pub mod predict;
pub mod reference;
pub mod whatif;

pub use node_type::MODEL;
