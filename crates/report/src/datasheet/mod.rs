//! The page that vendors publish of a node's Ethernet: set-up, layer 2 latency and throughput, TCP, UDP by size and
//! rate with CPU load and loss, round trips; made from a results file alone.

mod commands;
mod compare;
mod detail;
mod figures;
mod gather;
mod grid;
mod latency;
mod page;
mod rate;
mod setup;
pub mod sheet;
pub(crate) mod show;
mod tables;

pub(crate) use commands::page as page_command;
pub use compare::{CompareError, compare};
pub(crate) use gather::round_trips;
pub use gather::{datasheet, is_datasheet};
pub(crate) use latency::echo;
pub(crate) use page::{Block, EMULATED, KINDS, below, blocks, verdict};
pub use sheet::Datasheet;

use wirelab_trial::ResultsFile;

use crate::html as pages;
use crate::options::Options;

/// The page for a terminal.
pub fn terminal(file: &ResultsFile, options: &Options) -> String {
    page::terminal(file, &datasheet(file), options)
}

/// The page as Markdown.
pub fn markdown(file: &ResultsFile, options: &Options) -> String {
    page::markdown(file, &datasheet(file), options)
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
    figures::csv(&datasheet(file))
}

/// The page as a document of its own.
pub fn html(file: &ResultsFile, options: &Options) -> String {
    pages::datasheet(file, &datasheet(file), options)
}
