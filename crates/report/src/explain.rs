//! Explanations for a reader: what limits a node, as text, Markdown, JSON and one self-contained HTML page.

mod blocks;
mod results;

use wirelab_trial::explanation::{Explanation, ResultsExplanation};

pub(crate) use blocks::{data, request};

use crate::document::{Block, Document, NoExplanation};
use crate::options::{Format, Options};

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
        _ => document(title, blocks::of(explanation)).written(format, options),
    }
}

/// The explanation of a results file without a model, in one of the formats; the text ends with a line end.
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
        .unwrap_or_else(|| "What limits, as far as the results show".to_owned());
    match format {
        Format::Json => Ok(explanation.to_json()),
        _ => document(title, results::of(explanation)).written(format, options),
    }
}

/// A report of parts, with what a critical circuit is.
pub(crate) fn document(title: String, blocks: Vec<Block<'_>>) -> Document<'_> {
    let mut document = Document::new(title, blocks);
    let circuit = "Stages of which each waits for the one before it, round to the first; their time over the frames in the \
                   circuit is the period of the node.";
    document
        .legend
        .push(("Critical circuit", circuit.to_owned()));
    document
}
