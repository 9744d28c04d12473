//! Explanations for a reader: what limits a node, as text, Markdown, JSON and one self-contained HTML page.

mod blocks;
mod picture;
mod results;
mod text;

use wirelab_trial::Kind;
use wirelab_trial::explanation::{Explanation, ResultsExplanation, Roofline, Timeline};

pub(crate) use blocks::{asked, ceiling_words, ceilings};

use crate::html;
use crate::options::{Format, Options};
use crate::stages::{Chapter, Groups};
use crate::table::Table;

/// A format that has no place for sentences and pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an explanation is no table, so it has no {0}: choose one of terminal, markdown, json, html"
)]
pub struct NoExplanation(pub Format);

/// A part of an explanation, whatever it is written as.
pub(crate) enum Block<'a> {
    /// Heading of a section.
    Heading(String),
    /// The answer, for a reader in a hurry.
    Answer(String),
    /// A paragraph.
    Words(String),
    /// Sentences that stand by themselves.
    List(Vec<String>),
    /// Rows under heads; `true` marks a column of numbers.
    Grid(Vec<(&'static str, bool)>, Vec<Vec<String>>),
    /// The same under heads that hang on what was measured.
    Columns(Vec<(String, bool)>, Vec<Vec<String>>),
    /// A table that knows what to leave out where room is short.
    Table(Table),
    /// Points in rows, ways in groups of columns.
    Groups(Groups),
    /// Histograms of delays, which stand in tables, too.
    Delays(Chapter),
    /// A picture of two periods.
    Timeline(&'a Timeline),
    /// A picture of bit/s under ceilings, beside a grid of the same figures, and the kind of readings that ceilings other
    /// than the wire were told from.
    Roofline(&'a Roofline, Option<Kind>),
}

/// Heads of [`Block::Columns`] as those of [`Block::Grid`].
pub(crate) fn heads(heads: &[(String, bool)]) -> Vec<(&str, bool)> {
    heads
        .iter()
        .map(|(name, number)| (&**name, *number))
        .collect()
}

/// Why a node does what it does, in one of the formats; the text ends with a line end.
///
/// # Errors
/// [`NoExplanation`] for CSV, JUnit and datasheets, which have no place for it.
pub fn render_explanation(
    explanation: &Explanation,
    format: Format,
    options: &Options,
) -> Result<String, NoExplanation> {
    let title = options
        .title
        .clone()
        .unwrap_or_else(|| format!("What limits {}", explanation.node));
    match format {
        Format::Json => Ok(explanation.to_json()),
        _ => written(&title, &blocks::of(explanation), format, options),
    }
}

/// What a results file says by itself, in one of the formats; the text ends with a line end.
///
/// # Errors
/// [`NoExplanation`] for CSV, JUnit and datasheets, which have no place for it.
pub fn render_results_explanation(
    explanation: &ResultsExplanation,
    format: Format,
    options: &Options,
) -> Result<String, NoExplanation> {
    let explanation = &results::marked(explanation);
    let title = options
        .title
        .clone()
        .unwrap_or_else(|| "What limits, as far as the results tell".to_owned());
    match format {
        Format::Json => Ok(explanation.to_json()),
        _ => written(&title, &results::of(explanation), format, options),
    }
}

/// Parts in one of the formats.
pub(crate) fn written(
    title: &str,
    blocks: &[Block<'_>],
    format: Format,
    options: &Options,
) -> Result<String, NoExplanation> {
    match format {
        Format::Terminal => Ok(text::on_terminal(title, blocks, options)),
        Format::Markdown => Ok(text::as_markdown(title, blocks)),
        Format::Html => Ok(html::explanation(title, blocks)),
        _ => Err(NoExplanation(format)),
    }
}
