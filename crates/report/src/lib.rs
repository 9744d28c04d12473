//! Results for a reader: terminal, Markdown, CSV, JSON, JUnit XML and one self-contained HTML page, whose program is in `web/`.
//!
//! [`render`] turns a results file into text in one of the [`Format`]s; [`summary_line`] is the result of a trial in
//! one line while a run goes on; [`render_explanation`] says why a figure is what it is. Every figure names its unit and
//! whether it was measured, emulated, predicted, calibrated or published; a figure that is absent says why. A results file
//! is hostile input: nothing in it can steer a terminal, a browser, a spreadsheet or an XML reader, and nothing in it makes
//! these functions panic.
//!
//! Each report is built once as a tree (`document/mod.rs`), and each format is one renderer of that tree (`document/`).
//!
//! `serve`, `store` and the command line use it. It knows `config`, `pulse`, `statistics`, `study`, `trial` and `wire`. Start
//! reading at [`render`], then `columns.rs`, the one list of columns, and `row.rs`, what a row stands for.
#![forbid(unsafe_code)]

mod about;
pub mod audit;
pub mod badge;
mod cases;
pub mod chart;
mod charts;
mod columns;
pub mod compare;
mod cycle;
pub mod datasheet;
mod detail;
mod distributions;
pub mod document;
mod explain;
mod finding;
mod headline;
pub mod interval;
pub mod judge;
mod limited;
pub mod limits;
mod loaded;
mod loss;
mod metrics;
mod mixed;
mod options;
mod over_time;
mod pulses;
mod repeat;
mod repeated;
mod results;
mod row;
mod search;
mod spans;
pub mod stages;
mod stats;
pub mod study;
mod summary;
mod whatif;

pub use cycle::render_cycle;
pub use document::NoExplanation;
pub use explain::{render_explanation, render_results_explanation};
pub use mixed::{MixedError, refuse_mislabelled, refuse_mixed};
pub use options::{Format, FormatError, Options, use_colour};
pub use pulses::pulses;
pub use stages::{Against, paths_of, render_stages};
pub use summary::{summary_line, verdict};
pub use whatif::render_whatif;

use wirelab_trial::ResultsFile;
pub use wirelab_trial::format;

/// A results file in one of the formats, as text that ends with a line end. Results that fill a datasheet are shown as
/// one to a person, unless the trials themselves are wanted.
pub fn render(file: &ResultsFile, format: Format, options: &Options) -> String {
    match format {
        Format::DatasheetJson => return datasheet::json(file),
        Format::DatasheetCsv => return datasheet::csv(file),
        Format::OpenMetrics => return metrics::openmetrics(file),
        Format::JsonLines => return metrics::json_lines(file),
        Format::Csv => return document::csv::render(&columns::document(file)),
        Format::Json => return file.to_json(),
        Format::Junit => return document::junit::render(&cases::document(file, options)),
        _ => {}
    }
    let sheet = format.is_datasheet_page() || !options.trials && datasheet::is_datasheet(file);
    let document = match sheet {
        true => datasheet::document(file, options),
        false => results::document(file, options),
    };
    let written = document.written(format.of_page(), options);
    written.expect("all others are data")
}

/// Entry for fuzzing: any bytes that are a results file, in every format.
///
/// # Panics
/// If a text for a terminal holds what steers it, or a page holds a script.
pub fn fuzz_report(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes);
    let Some(file) = text
        .ok()
        .and_then(|text| ResultsFile::parse_unchecked(text).ok())
    else {
        return;
    };
    for trials in [false, true] {
        let options = Options {
            width: Some(80),
            trials,
            ..Options::default()
        };
        for format in Format::ALL {
            let shown = render(&file, format, &options);
            let steers = |c: char| c.is_control() && c != '\n';
            match format {
                Format::Terminal | Format::Datasheet => assert!(!shown.contains(steers)),
                Format::Html | Format::DatasheetHtml => {
                    assert_eq!(shown.matches("<script").count(), document::html::SCRIPTS);
                }
                _ => {}
            }
        }
    }
    let twice = [("a".to_owned(), file.clone()), ("b".to_owned(), file)];
    let _ = datasheet::compare(&twice, Format::DatasheetHtml, &Options::default());
}
