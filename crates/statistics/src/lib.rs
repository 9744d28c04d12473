//! Statistics over plain numbers, without knowledge of nodes: summaries with intervals, shifts between two samples, changes in
//! a series, the spread of dependent parts, and the random numbers behind them.
//!
//! `bench`, `iperf`, `model`, `port`, `report`, `serve`, `sim` and `trial` use it. It knows no other crate. It is a
//! separate crate because it draws thousands of samples for one interval: it is compiled with optimisation in tests, too. Start
//! reading at [`summary::Summary`], then [`shift::Shift`] and [`change::changes`].
#![forbid(unsafe_code)]

pub mod bootstrap;
pub mod change;
pub mod random;
pub mod shift;
pub mod summary;
