//! TOML files that users write: values with their positions, and errors that name file, line, column and field.
//!
//! Plans, node files and studies are read with it, so they have the same syntax and the same errors.
//!
//! `bench`, `board`, `console`, `model`, `pulse`, `report` and `study` use it. It knows `trial` and `wire`. Start
//! reading at [`table::read`]; [`trial`] reads the fields of a trial.
#![forbid(unsafe_code)]

pub mod error;
pub mod table;
pub mod trial;
pub mod units;

pub use error::{FileError, Read, read_text};
pub use table::{Entry, Table, quoted, read};
pub use units::{UnitError, parse_duration_ps, parse_percent, parse_rate};
