//! The store of all results: runs, their trials and their figures in SQLite or PostgreSQL, with one schema for both.
//!
//! A run is written as it happens ([`Store::begin`], [`Store::keep`] for each trial, [`Store::finish`]), so that a process
//! that is killed loses at most its running trial. A [`Selection`] names runs in the words that a user types, and
//! [`Store::load`] returns a run as its results file.
//!
//! `serve` and the command line use it. It knows `report` and `trial`. Start reading at `store.rs`.
#![forbid(unsafe_code)]

mod connection;
mod date;
mod error;
mod figures;
mod list;
mod location;
mod pack;
mod schema;
mod selection;
mod store;
mod table;
mod tls;
mod trend;

pub use error::StoreError;
pub use figures::StoredFigure;
pub use list::{Run, page};
pub use location::{Location, without_password};
pub use selection::{PREFIX, Selection};
pub use store::Store;
pub use trend::Point;
