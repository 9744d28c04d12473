//! Nets: stages over exclusive resources, their period in closed form, and the simulation of every frame.
//!
//! A [`net::Net`] is a marked graph with costs in picoseconds. [`steady`] finds its period and critical circuit, and
//! [`sim`] plays every frame.
//!
//! `model` uses it. It knows `statistics` and `trial`. It is a separate crate because it plays millions of events, so tests
//! compile it with optimisation, too. Start reading at [`net::Net`], then [`sim::simulate`] and [`steady::steady_state`].
#![forbid(unsafe_code)]

pub mod net;
pub mod sim;
pub mod steady;
