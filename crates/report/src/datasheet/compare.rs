//! Several results side by side: published, predicted and measured figures of the same page.

use wirelab_trial::ResultsFile;

use super::figures::{MOST, compared};
use super::page::section;
use crate::document::{Block, Document, NoExplanation};
use crate::mixed::{MixedError, refuse_mixed};
use crate::options::{Format, Options};

/// Why results cannot be shown side by side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// The format has no place for several results.
    #[error(
        "{0} shows one result at a time; fix: choose datasheet, datasheet-md and datasheet-html"
    )]
    Format(Format),
    /// Too many results.
    #[error("{0} results do not fit side by side; fix: give at most {MOST}")]
    TooMany(usize),
    /// Figures of an emulation beside measured ones.
    #[error(transparent)]
    Mixed(#[from] MixedError),
    /// None of them has a figure for a datasheet.
    #[error(
        "these results have no figure that a datasheet shows; fix: measure a node by the datasheet's plan"
    )]
    Nothing,
}

/// The figures of several results, each with its name, in columns side by side.
///
/// # Errors
/// [`CompareError`] names the formats there are, or the limit.
pub fn compare(
    files: &[(String, ResultsFile)],
    format: Format,
    options: &Options,
) -> Result<String, CompareError> {
    if files.len() > MOST {
        return Err(CompareError::TooMany(files.len()));
    }
    refuse_mixed(files)?;
    let title = options
        .title
        .clone()
        .unwrap_or_else(|| "Ethernet performance side by side".to_owned());
    let tables = compared(files);
    if tables.is_empty() {
        return Err(CompareError::Nothing);
    }
    let blocks = tables
        .into_iter()
        .flat_map(|(name, table)| [Block::heading(section(name)), Block::Table(table)]);
    let document = Document {
        ..Document::new(title, blocks.collect())
    };
    let written = document.written(format.of_page(), options);
    written.map_err(|NoExplanation(format)| CompareError::Format(format))
}
