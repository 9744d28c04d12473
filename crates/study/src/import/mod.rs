//! Reads a published page into a study: finds its tables, proposes what each cell is, and writes the short form.
//!
//! [`import`] is the whole of it. A format is one file: [`html`], [`text`] (Markdown, iperf, plain lines), and
//! [`delimited`]. The meaning of cells is proposed by [`propose`] from [`words`], or given by a [`mapping`].

mod delimited;
mod figure;
mod grid;
mod grouped;
mod html;
mod iperf;
mod mapping;
mod parts;
mod pattern;
mod plan;
mod propose;
mod text;
pub(crate) mod words;

use std::collections::BTreeSet;
use std::path::Path;

pub use wirelab_config::parse_rate;
use wirelab_config::{FileError, quoted};

use crate::quantity::{Dimension, Quantity};
use crate::table::Study;
use grid::Document;
use mapping::Mapped;
use plan::TableText;

/// Longest accepted page, in bytes.
pub const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A question about what the page does not say.
#[derive(Clone, Debug)]
pub struct Question {
    /// The question.
    pub about: String,
    /// The answers.
    pub choices: &'static [&'static str],
    /// The default answer.
    pub default: &'static str,
}

/// Who answers questions.
pub trait Asker {
    /// One of the choices.
    fn choose(&mut self, question: &Question) -> &'static str;
    /// A text such as `example`; `None` where it is not known.
    fn text(&mut self, about: &str, example: &str) -> Option<String>;
}

/// No user: the defaults are used and reported.
#[derive(Debug, Default)]
pub struct DefaultAnswers {
    /// What was assumed.
    pub assumed: Vec<String>,
}

impl Asker for DefaultAnswers {
    fn choose(&mut self, question: &Question) -> &'static str {
        let assumption = format!("{}: {} is assumed", question.about, question.default);
        if !self.assumed.contains(&assumption) {
            self.assumed.push(assumption);
        }
        question.default
    }

    fn text(&mut self, _: &str, _: &str) -> Option<String> {
        None
    }
}

/// What the user says about a page.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The link's rate in bit/s.
    pub link_bits_per_s: Option<u64>,
    /// The clock of the core, as `400 MHz`.
    pub core_clock: Option<String>,
    /// The mapping file: its text, and its name in errors.
    pub mapping: Option<(String, String)>,
}

/// A page as a study.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The study file.
    pub text: String,
    /// Its tables.
    pub tables: usize,
    /// Its figures.
    pub figures: usize,
    /// What is not read, and what is assumed.
    pub notes: Vec<String>,
}

/// Why a page cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is too long.
    #[error("{0}: too long for a page: at most 4 MiB are read; fix: save the part with the tables")]
    TooLong(String),
    /// Nothing was found.
    #[error(
        "{file}: it has no table with network figures ({tables} tables, {lines} lines of text); fix: say what its tables are in a \
         mapping file (--mapping FILE, see docs/studies.md), or save the page as HTML, Markdown or CSV"
    )]
    Nothing {
        /// The page.
        file: String,
        /// Its tables, whatever they contain.
        tables: usize,
        /// Its lines.
        lines: usize,
    },
    /// The mapping file is wrong.
    #[error(transparent)]
    Mapping(#[from] FileError),
}

/// What the text of a whole page says.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Sizes that lines give to packets, with their lines.
    sizes: Vec<(usize, u32, Option<&'static str>)>,
    /// Whether some table is about a network; then tables that are not may be ignored.
    of_networks: bool,
}

/// How far above a table its configuration may stand, in lines.
const NEAR: usize = 60;

impl Facts {
    fn of(document: &Document) -> Facts {
        let sizes = document.lines.iter().filter_map(|(line, text)| {
            let about = words::words(text);
            let wanted = about.iter().any(|w| w == "length" || w == "size");
            let (bytes, word) = words::said(text).size.filter(|_| wanted)?;
            word.map(|word| (*line, bytes, Some(word)))
        });
        let mut tables = document.grids.iter().filter_map(parts::parts);
        Facts {
            sizes: sizes.collect(),
            of_networks: tables.any(|parts| propose::of_network(&parts)),
        }
    }

    /// The size in the configuration above a line, if there is only one.
    pub fn size_at(&self, line: usize) -> Option<(u32, Option<&'static str>)> {
        let near = self
            .sizes
            .iter()
            .filter(|(at, _, _)| *at < line && line - at <= NEAR);
        let mut sizes: Vec<(u32, Option<&'static str>)> =
            near.map(|(_, bytes, word)| (*bytes, *word)).collect();
        sizes.dedup();
        match sizes.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }
}

/// Reads the tables of a page. The name decides the format if the text does not.
fn document(text: &str, file: &str) -> Document {
    let end = Path::new(file).extension().and_then(|end| end.to_str());
    let end = end.unwrap_or_default().to_lowercase();
    let start: String = text
        .trim_start()
        .chars()
        .take(200)
        .collect::<String>()
        .to_lowercase();
    let is_html = matches!(end.as_str(), "html" | "htm" | "xhtml")
        || start.starts_with("<!doctype")
        || start.starts_with("<html");
    if is_html {
        let mut document = Document::default();
        html::read(text, 1, &[], &mut document);
        return document;
    }
    let by_name = match end.as_str() {
        "csv" => delimited::delimiter(text).or(Some(b',')),
        "tsv" => Some(b'\t'),
        _ => None,
    };
    match by_name {
        Some(delimiter) => delimited::read(text, delimiter),
        None => text::read(text),
    }
}

/// Reads a page into a study. `file` is its name in the study.
///
/// # Errors
/// [`ImportError`]: the page has no table that is known, or the mapping file is wrong.
pub fn import(
    bytes: &[u8],
    file: &str,
    options: &ImportOptions,
    asker: &mut dyn Asker,
) -> Result<Imported, ImportError> {
    if bytes.len() > MAX_PAGE_BYTES {
        return Err(ImportError::TooLong(file.to_owned()));
    }
    let page = String::from_utf8_lossy(bytes);
    let page = page.strip_prefix('\u{feff}').unwrap_or(&page);
    let document = document(page, file);
    let mapped = match &options.mapping {
        Some((text, name)) => mapping::read(text, name, page, &document)?,
        None => Mapped::default(),
    };
    let mut notes = Vec::new();
    let plans = match mapped.plans {
        Some(ref plans) => plans.clone(),
        None => proposed(&document, asker, &mut notes),
    };
    if plans.iter().all(|plan| plan.figures() == 0) {
        return Err(ImportError::Nothing {
            file: file.to_owned(),
            tables: document.grids.len(),
            lines: document.lines.len(),
        });
    }
    let has = |metric: &str| {
        plans
            .iter()
            .any(|plan| plan.columns.iter().any(|c| c.contains(metric)))
    };
    let top = top(
        &mapped,
        &document,
        file,
        options,
        asker,
        has("cpu_load"),
        &mut notes,
    );
    let written = Written {
        file,
        top: &top,
        mapped: &mapped,
        plans: &plans,
    };
    let text = written.text();
    // The study can be read, whatever the page says.
    match Study::parse_whole(&text, "study") {
        Ok((_, wrong)) => notes.extend(wrong.iter().map(|error| format!("the study: {error}"))),
        Err(error) => notes.push(format!("the study: {error}")),
    }
    Ok(Imported {
        text,
        tables: plans.len(),
        figures: plans.iter().map(TableText::figures).sum(),
        notes,
    })
}

fn proposed(document: &Document, asker: &mut dyn Asker, notes: &mut Vec<String>) -> Vec<TableText> {
    let facts = Facts::of(document);
    let mut taken = BTreeSet::new();
    let mut plans = Vec::new();
    for grid in &document.grids {
        plans.extend(propose::plans(grid, &facts, asker, &mut taken, notes));
    }
    plans
}

/// The keys at the top of the study, each with its comment.
fn top(
    mapped: &Mapped,
    document: &Document,
    file: &str,
    options: &ImportOptions,
    asker: &mut dyn Asker,
    loads: bool,
    notes: &mut Vec<String>,
) -> Vec<(String, String, String)> {
    let said = |key: &str| {
        mapped
            .top
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value.clone())
    };
    let mut top: Vec<(String, String, String)> = Vec::new();
    let mut put = |key: &str, value: Option<String>, about: String| {
        if let Some(value) = value {
            top.push((key.to_owned(), value, about));
        }
    };
    let title = document.title.as_deref().filter(|text| !text.is_empty());
    let title: String = title.unwrap_or(file).chars().take(120).collect();
    put(
        "title",
        said("title").or_else(|| Some(quoted(&title))),
        String::new(),
    );
    put(
        "source",
        said("source").or_else(|| Some(quoted(file))),
        String::new(),
    );
    for key in ["about", "node"] {
        put(key, said(key), String::new());
    }
    let (link, why) = match (options.link_bits_per_s, said("link")) {
        (Some(rate), _) => (
            Some(quoted(&words::short_rate(rate))),
            "as given".to_owned(),
        ),
        (None, Some(link)) => (Some(link), String::new()),
        (None, None) => link(document, asker, notes),
    };
    put("link", link, why);
    let clocks = words::clocks(&document.lines);
    let (clock, why) = match (&options.core_clock, said("clocks")) {
        (Some(clock), _) => (Some(format!("[{}]", quoted(clock))), "as given".to_owned()),
        (None, Some(clocks)) => (Some(clocks), String::new()),
        // A mapping needs no questions.
        (None, None) if mapped.plans.is_some() => (None, String::new()),
        (None, None) if clocks.is_empty() && loads => {
            let clock = asker.text("the page names no clock: what is the core's", "400 MHz");
            let clock = clock.filter(|text| is_clock(text));
            (
                clock.map(|clock| format!("[{}]", quoted(&clock))),
                "as answered".to_owned(),
            )
        }
        (None, None) => {
            let all: Vec<String> = clocks
                .iter()
                .take(8)
                .map(|(clock, _)| quoted(clock))
                .collect();
            let line = clocks.first().map_or(0, |(_, line)| *line);
            (
                (!all.is_empty()).then(|| format!("[{}]", all.join(", "))),
                format!("line {line}"),
            )
        }
    };
    put("clocks", clock, why);
    top
}

/// Whether a text is a clock.
pub fn is_clock(text: &str) -> bool {
    let clock = text.parse::<Quantity>();
    clock.is_ok_and(|clock| clock.unit.dimension == Dimension::Frequency && clock.number > 0.0)
}

/// The link's rate, from the page's text or from an answer, and its source.
fn link(
    document: &Document,
    asker: &mut dyn Asker,
    notes: &mut Vec<String>,
) -> (Option<String>, String) {
    let found = words::links(&document.lines);
    if let [(rate, line, text)] = found.as_slice() {
        return (
            Some(quoted(&words::short_rate(*rate))),
            format!("line {line}: {text}"),
        );
    }
    let about = match found.as_slice() {
        [] => "the page does not say how fast the link is".to_owned(),
        several => {
            let all: Vec<String> = several
                .iter()
                .map(|(rate, line, _)| format!("{} in line {line}", words::short_rate(*rate)))
                .collect();
            format!(
                "the page names several rates ({}): which is the link's",
                all.join(", ")
            )
        }
    };
    let answer = asker.text(&about, "100M");
    let rate = answer.and_then(|text| parse_rate(text.trim()).ok());
    match rate {
        Some(rate) => (
            Some(quoted(&words::short_rate(rate))),
            "as answered".to_owned(),
        ),
        None => {
            notes.push(format!(
                "{about}: no figure can be compared with the link's rate; fix: --link-rate, e.g. --link-rate 100M"
            ));
            (None, String::new())
        }
    }
}

/// The parts of a study file.
struct Written<'a> {
    file: &'a str,
    top: &'a [(String, String, String)],
    mapped: &'a Mapped,
    plans: &'a [TableText],
}

impl Written<'_> {
    fn text(&self) -> String {
        let plain: String = self.file.chars().filter(|c| !c.is_control()).collect();
        let mut text = format!(
            "# Imported from {plain}; @N is the line of the page with the figures before it.\n"
        );
        for (key, value, about) in self.top {
            let about: String = about.chars().filter(|c| !c.is_control()).collect();
            let about = if about.is_empty() {
                String::new()
            } else {
                format!(" # {about}")
            };
            text.push_str(&format!("{key:<6} = {value}{about}\n"));
        }
        let section = |text: &mut String, header: &str, pairs: &[(String, String)]| {
            text.push_str(&format!("\n{header}\n"));
            for (key, value) in pairs {
                text.push_str(&format!("{key} = {value}\n"));
            }
        };
        if !self.mapped.defaults.is_empty() {
            section(&mut text, "[defaults]", &self.mapped.defaults);
        }
        for plan in self.plans {
            text.push('\n');
            text.push_str(&plan.text());
        }
        for (name, pairs) in &self.mapped.sections {
            section(&mut text, &format!("[[{name}]]"), pairs);
        }
        text
    }
}

/// Entry for fuzzing: any bytes as a page; what is written must be a study that can be read and audited.
///
/// # Panics
/// If a study is written that cannot be read.
pub fn fuzz_import(bytes: &[u8]) {
    let (kind, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let file = ["page.txt", "page.html", "page.csv", "page.tsv"][usize::from(kind % 4)];
    let options = ImportOptions::default();
    if let Ok(imported) = import(bytes, file, &options, &mut DefaultAnswers::default()) {
        let study = Study::parse_whole(&imported.text, "fuzz.toml");
        match study {
            Ok((study, _)) => {
                crate::audit::audit(&study);
            }
            Err(error) => {
                let tolerable = imported.text.len() as u64 > crate::reader::MAX_STUDY_BYTES
                    || error.to_string().contains("split the study");
                assert!(tolerable, "{error}\n{}", imported.text);
            }
        }
    }
}
