//! The formats of reports, and their options.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use wirelab_trial::ResultsFile;
use wirelab_trial::nearest::{did_you_mean, unknown};

/// A format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Plain text for a person at a terminal.
    Terminal,
    /// GitHub Flavored Markdown.
    Markdown,
    /// RFC 4180 with a header, one row a flow.
    Csv,
    /// The results file itself.
    Json,
    /// JUnit XML, one test case a trial.
    Junit,
    /// One page that needs nothing else.
    Html,
    /// The datasheet of a node for a person at a terminal, whatever the results are of.
    Datasheet,
    /// The datasheet as Markdown.
    DatasheetMarkdown,
    /// The datasheet as one page that needs nothing else.
    DatasheetHtml,
    /// The data of the datasheet, with stable names.
    DatasheetJson,
    /// The figures of the datasheet, one a row.
    DatasheetCsv,
    /// The figures of the run as OpenMetrics text, for a collector of metrics.
    OpenMetrics,
    /// The figures of the run, each as JSON in a line.
    JsonLines,
}

/// Names by which a format can be requested, the first being its own, and extensions of files.
const FORMATS: [(Format, &str, &[&str]); 13] = [
    (Format::DatasheetJson, "datasheet-json", &["datasheet.json"]),
    (Format::DatasheetCsv, "datasheet-csv", &["datasheet.csv"]),
    (Format::Terminal, "terminal", &["txt"]),
    (Format::Markdown, "markdown", &["md", "markdown"]),
    (Format::Csv, "csv", &["csv"]),
    (Format::Json, "json", &["json"]),
    (Format::Junit, "junit", &["xml"]),
    (Format::Html, "html", &["html", "htm", "xhtml"]),
    (Format::Datasheet, "datasheet", &[]),
    (Format::DatasheetMarkdown, "datasheet-md", &[]),
    (Format::DatasheetHtml, "datasheet-html", &[]),
    (Format::OpenMetrics, "openmetrics", &["prom"]),
    (Format::JsonLines, "json-lines", &["jsonl"]),
];

/// Why a format cannot be determined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// No format has this name.
    #[error("{}", unknown("format", .0, Format::ALL.map(Format::name)))]
    Name(String),
    /// No format has this extension.
    #[error(
        "the name '{0}' does not say which format to write; {meant}fix: let it end in .html, .md, .csv, .json, .xml (JUnit), .txt, .datasheet.json, .datasheet.csv, .prom (OpenMetrics) or .jsonl",
        meant = meant(.0)
    )]
    Extension(String),
}

/// The extension that a name's own is nearest to, as a question; empty if none is near.
fn meant(name: &str) -> String {
    let extensions = FORMATS.iter().flat_map(|(_, _, extensions)| *extensions);
    let own = Path::new(name).extension().and_then(OsStr::to_str);
    own.map_or_else(String::new, |own| did_you_mean(own, extensions.copied()))
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 13] = [
        Format::Terminal,
        Format::Markdown,
        Format::Csv,
        Format::Json,
        Format::Junit,
        Format::Html,
        Format::Datasheet,
        Format::DatasheetMarkdown,
        Format::DatasheetHtml,
        Format::DatasheetJson,
        Format::DatasheetCsv,
        Format::OpenMetrics,
        Format::JsonLines,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let known = FORMATS.iter().find(|(format, _, _)| *format == self);
        known.map_or("", |(_, name, _)| name)
    }

    /// Whether it shows a datasheet to a person, so that several results can stand side by side.
    pub const fn is_datasheet_page(self) -> bool {
        matches!(
            self,
            Format::Datasheet | Format::DatasheetMarkdown | Format::DatasheetHtml
        )
    }

    /// The format in which a page of a datasheet is written.
    pub(crate) const fn of_page(self) -> Format {
        match self {
            Format::Datasheet => Format::Terminal,
            Format::DatasheetMarkdown => Format::Markdown,
            Format::DatasheetHtml => Format::Html,
            other => other,
        }
    }

    /// The format that a file's extension stands for, whatever its case.
    ///
    /// # Errors
    /// [`FormatError::Extension`] names the extensions there are.
    pub fn of_path(path: &Path) -> Result<Format, FormatError> {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        let ends_in = |end: &str| {
            let name = name.to_ascii_lowercase();
            name.strip_suffix(end)
                .is_some_and(|stem| stem.ends_with('.'))
        };
        FORMATS
            .iter()
            .find(|(_, _, known)| known.iter().any(|end| ends_in(end)))
            .map(|(format, _, _)| *format)
            .ok_or_else(|| FormatError::Extension(path.display().to_string()))
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Format, FormatError> {
        FORMATS
            .iter()
            .find(|(_, name, short)| *name == text || (short.contains(&text) && text != "xml"))
            .map(|(format, _, _)| *format)
            .ok_or_else(|| FormatError::Name(text.to_owned()))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The options of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Title; without one, the nodes' names make it.
    pub title: Option<String>,
    /// A row for each flow instead of one for each trial and direction. CSV always has each flow.
    pub each_flow: bool,
    /// Colour on the terminal, beside what words say; see [`use_colour`].
    pub colour: bool,
    /// Width of the terminal in characters; `None` for no limit. Columns that do not fit are named below.
    pub width: Option<usize>,
    /// The trials one by one, also where the results fill a datasheet.
    pub trials: bool,
}

impl Options {
    pub(crate) fn title_of(&self, file: &ResultsFile) -> String {
        if let Some(title) = &self.title {
            return title.clone();
        }
        let nodes: BTreeSet<&str> = file.observations.iter().map(|o| &*o.node.name).collect();
        match nodes.len() {
            0 => "Ethernet performance".to_owned(),
            1..=3 => {
                let nodes: Vec<&str> = nodes.into_iter().collect();
                format!("Ethernet performance of {}", nodes.join(", "))
            }
            n => format!("Ethernet performance of {n} nodes"),
        }
    }
}

/// Whether to colour: only when it is wanted and the value of `NO_COLOR` is unset or empty (no-color.org).
pub fn use_colour(wanted: bool, no_color: Option<&std::ffi::OsStr>) -> bool {
    wanted && no_color.is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_name_and_by_extension() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        assert_eq!("md".parse::<Format>().unwrap(), Format::Markdown);
        for (path, format) in [
            ("a/page.html", Format::Html),
            ("T.MD", Format::Markdown),
            ("junit.xml", Format::Junit),
            ("r.json", Format::Json),
            ("r.csv", Format::Csv),
            ("r.txt", Format::Terminal),
            ("board.datasheet.JSON", Format::DatasheetJson),
            ("a.b/board.datasheet.csv", Format::DatasheetCsv),
            ("a.datasheet.html", Format::Html),
            ("figures.prom", Format::OpenMetrics),
            ("figures.jsonl", Format::JsonLines),
        ] {
            assert_eq!(Format::of_path(Path::new(path)).unwrap(), format);
        }
        let error = Format::of_path(Path::new("page.pdf")).unwrap_err();
        assert!(error.to_string().contains(".html"), "{error}");
        let error = "xml".parse::<Format>().unwrap_err();
        assert!(error.to_string().contains("junit"), "{error}");
    }

    #[test]
    fn no_color_wins() {
        use std::ffi::OsStr;
        assert!(use_colour(true, None));
        assert!(use_colour(true, Some(OsStr::new(""))));
        assert!(!use_colour(true, Some(OsStr::new("1"))));
        assert!(!use_colour(false, None));
    }
}
