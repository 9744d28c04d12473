//! The page that vendors publish of a node's Ethernet: set-up, layer 2 latency and throughput, TCP, UDP by size and
//! rate with CPU load and loss, round trips; made from a results file alone.

pub(crate) mod commands;
mod compare;
mod curves;
mod detail;
mod figures;
mod gather;
pub(crate) mod latency;
mod page;
mod rate;
mod setup;
pub mod sheet;
pub(crate) mod show;
mod tables;

pub use compare::{CompareError, compare};
pub use gather::is_datasheet;
pub(crate) use latency::echo;
pub use sheet::Datasheet;

use wirelab_trial::ResultsFile;

use crate::document::{Document, csv};
use crate::judge::judge;
use crate::options::Options;

/// The datasheets of a results file.
pub fn datasheet(file: &ResultsFile) -> Datasheet {
    gather::datasheet(file, judge(file).passed())
}

/// The page.
pub fn document<'a>(file: &'a ResultsFile, options: &Options) -> Document<'a> {
    page::document(file, &datasheet(file), options)
}

/// The data of the page as JSON; see [`sheet::Datasheet`].
pub fn json(file: &ResultsFile) -> String {
    let mut text =
        serde_json::to_string_pretty(&datasheet(file)).expect("plain data always serialise");
    text.push('\n');
    text
}

/// The figures of the page as CSV: a row for each, with its kind.
pub fn csv(file: &ResultsFile) -> String {
    csv::render(&Document::of_records(figures::records(&datasheet(file))))
}
