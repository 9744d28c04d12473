//! A report before it has a format: one tree of sections, sentences, notices, tables and charts.
//!
//! What a report says is built once as a [`Document`]; [`terminal`], [`markdown`], [`html`], [`csv`] and [`junit`] each
//! render the whole of it, and each has one rule by which hostile text stays text (`escape.rs`).

pub mod csv;
pub mod escape;
pub mod html;
pub mod junit;
pub mod markdown;
pub mod table;
pub mod terminal;

use std::collections::BTreeMap;

use wirelab_trial::Kind;
use wirelab_trial::explanation::{Roofline, Timeline};

pub use crate::chart::Picture;
use crate::chart::delays::Chapter;
use crate::options::{Format, Options};
use table::Table;

/// The kinds of the figures in a sentence.
pub const KINDS: &str = "measured: seen in this run; emulated: timed on an emulated target, so it depends on the host and \
    is no figure of the hardware; predicted: computed by a model that was not fitted to it; calibrated: computed by a \
    model that was; published: printed by somebody else. Prefixes are powers of ten.";

/// What stands at the top of a page of an emulated node.
pub const EMULATED: &str = "Emulated: times, rates, losses and CPU loads are those of the emulation on this host. They are \
    no figures of the hardware, and are not to be compared with measured ones.";

/// A format that has no place for sentences and pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an explanation is no table, so it has no {0}: choose one of terminal, markdown, json, html"
)]
pub struct NoExplanation(pub Format);

/// A report.
#[derive(Default)]
pub struct Document<'a> {
    /// What it is of.
    pub title: String,
    /// When its results were made, in ns since 1970, and by which version; none for what is made of no results.
    pub stamp: Option<(u64, String)>,
    /// How the run was judged.
    pub verdict: Option<Verdict>,
    /// What limited the rates; pages alone have it, below the verdict.
    pub limits: Option<String>,
    /// The node's board or chip, where it told, and the tester's host; pages alone have it, beside the date.
    pub hosts: Vec<String>,
    /// The figures that a reader takes home; pages alone have them, since the tables of a text have them all.
    pub headlines: Vec<Headline>,
    /// Its parts, in the order of reading.
    pub blocks: Vec<Block<'a>>,
    /// What went wrong, and what a reader must know.
    pub notices: Vec<Notice>,
    /// What stands above the reasons for absent figures; empty for "Notes".
    pub notes: &'static str,
    /// What words and figures mean: a name and a sentence each.
    pub legend: Vec<(&'static str, String)>,
    /// The command that makes it again.
    pub command: Option<String>,
    /// The command that repeats each trial, by its number from 1, where there is one.
    pub commands: BTreeMap<usize, String>,
    /// Rows for scripts, for a format that has nothing else.
    pub records: csv::Records,
    /// Test cases, for a format that has nothing else.
    pub cases: Vec<junit::Case>,
}

/// The judgement of a run.
pub struct Verdict {
    /// In a word or two.
    pub head: Head,
    /// In sentences.
    pub text: String,
    /// Whether it stands first in a text, too; otherwise a terminal has it where a reader's eye is, at the end.
    pub first: bool,
}

/// The verdict in a word or two, as the head of a page has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Something failed.
    NotClean,
    /// Nothing failed, but the tester was the limit somewhere.
    TesterLimited,
    /// Nothing failed, and frames were counted.
    Clean,
    /// Nothing failed on a page of which loss is a figure.
    Passed,
    /// Nothing failed, and nobody counted frames.
    NotJudged,
}

impl Head {
    /// The words, with a mark that needs no colour.
    pub const fn words(self) -> &'static str {
        match self {
            Head::NotClean => "✗ Not clean.",
            Head::TesterLimited => "– Tester limited.",
            Head::Clean => "✓ Clean.",
            Head::Passed => "✓ Passed.",
            Head::NotJudged => "– Not judged.",
        }
    }
}

/// A figure at the head of a page.
pub struct Headline {
    /// What it is.
    pub name: String,
    /// The figure with its unit.
    pub value: String,
    /// Where it comes from.
    pub kind: Kind,
    /// What was asked.
    pub of: String,
    /// What limited it.
    pub limiter: Limiter,
    /// The same in words.
    pub limit: String,
    /// Its trial, from 1; none where it is of several.
    pub trial: Option<usize>,
}

impl Headline {
    /// A figure whose limit is not known.
    pub fn new(name: &str, value: &str, kind: Kind, of: String) -> Headline {
        Headline {
            name: name.to_owned(),
            value: value.to_owned(),
            kind,
            of,
            limiter: Limiter::Unknown,
            limit: String::new(),
            trial: None,
        }
    }

    /// The figure with what limited it.
    #[must_use]
    pub fn limited(self, (limiter, limit): (Limiter, String), trial: usize) -> Headline {
        Headline {
            limiter,
            limit,
            trial: Some(trial),
            ..self
        }
    }
}

/// What limited a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// The link.
    Wire,
    /// The node's CPU.
    Cpu,
    /// The tester: the figure is none of the node.
    Tester,
    /// The load that was asked.
    Load,
    /// The node itself.
    Node,
    /// It is unknown.
    Unknown,
}

impl Limiter {
    /// What it is in words.
    pub const fn name(self) -> &'static str {
        match self {
            Limiter::Wire => "the wire",
            Limiter::Cpu => "the CPU",
            Limiter::Tester => "the tester",
            Limiter::Load => "the load that was asked",
            Limiter::Node => "the node",
            Limiter::Unknown => "something unknown",
        }
    }

    /// Its name as the class of an element, and a mark that needs no colour.
    pub const fn mark(self) -> (&'static str, &'static str) {
        match self {
            Limiter::Wire => ("wire", "═"),
            Limiter::Cpu => ("cpu", "▣"),
            Limiter::Tester => ("tester", "◇"),
            Limiter::Load => ("load", "▷"),
            Limiter::Node => ("node", "●"),
            Limiter::Unknown => ("unknown", "?"),
        }
    }
}

/// A part of a report.
pub enum Block<'a> {
    /// Heading of a section, of depth 2 or more.
    Heading(u8, String),
    /// The answer, for a reader in a hurry.
    Answer(String),
    /// A paragraph.
    Words(String),
    /// A paragraph about what stands beside it.
    Remark(String),
    /// Sentences that stand alone.
    List(Vec<String>),
    /// A word of judgement, and what it is about.
    Mark {
        /// Whether it fails a run.
        alarm: bool,
        /// The word.
        word: &'static str,
        /// What it is about.
        about: String,
    },
    /// Names and what belongs to each.
    Facts(Vec<(String, String)>),
    /// Commands, each with what it tests.
    Commands(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// A picture.
    Chart(Chart<'a>),
    /// A picture that is drawn already, as SVG without scripts; only pages have it.
    Picture(String),
    /// Parts side by side where there is room.
    Beside(Vec<Vec<Block<'a>>>),
    /// Parts for a reader who asks further: a heading of its depth and what stands below it. A page folds them at its end.
    Appendix(u8, String, Vec<Block<'a>>),
    /// Parts that only some formats have room for.
    Only(Medium, Vec<Block<'a>>),
}

/// Where a part is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// On pages, which have pictures and room.
    Page,
    /// In text, which has neither.
    Text,
}

/// A chart as data: what it shows, its series and their units. A page draws it; text shows what it can, and the tables
/// beside it have the figures.
pub enum Chart<'a> {
    /// Two periods of a node.
    Timeline(&'a Timeline),
    /// Bit/s under ceilings, and the kind of readings that ceilings other than the wire come from.
    Roofline(&'a Roofline, Option<Kind>),
    /// Histograms of delays.
    Delays(Chapter),
    /// Pictures of one sort.
    Gallery(Gallery),
}

/// Pictures of one sort under a heading.
#[derive(Default)]
pub struct Gallery {
    /// The heading; empty for none.
    pub title: &'static str,
    /// What a reader sees in them.
    pub about: &'static str,
    /// Whether `about` stands below them.
    pub about_below: bool,
    /// The pictures, each with its caption.
    pub pictures: Vec<(String, Picture)>,
    /// Pictures that do not fit.
    pub left_out: usize,
    /// Whether each has the width of the page; otherwise they stand in a grid.
    pub wide: bool,
}

/// What kind of notice it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A search that did not end.
    Search,
    /// Something wrong with a trial.
    Finding,
    /// Something that a reader must know.
    Warning,
}

impl Sort {
    /// All, in the order of reading.
    pub const ALL: [Sort; 3] = [Sort::Search, Sort::Finding, Sort::Warning];

    /// What stands above them.
    pub const fn heading(self) -> &'static str {
        match self {
            Sort::Search => "Searches that did not end",
            Sort::Finding => "Findings",
            Sort::Warning => "Warnings",
        }
    }
}

/// Something that went wrong, or that a reader must know.
pub struct Notice {
    /// What kind of notice.
    pub sort: Sort,
    /// Code of a warning.
    pub code: String,
    /// The trials it belongs to, in words; empty where it belongs to none.
    pub trials: String,
    /// The sentence.
    pub text: String,
    /// What to do about it.
    pub fix: Option<String>,
}

impl Notice {
    /// A search that did not end.
    pub const fn search(text: String) -> Notice {
        Notice {
            sort: Sort::Search,
            code: String::new(),
            trials: String::new(),
            text,
            fix: None,
        }
    }

    /// Something wrong with a trial, by its number from 1.
    pub fn finding(trial: usize, text: String) -> Notice {
        Notice {
            sort: Sort::Finding,
            trials: format!("trial {trial}"),
            ..Notice::search(text)
        }
    }

    /// A warning with its code, its trials and what to do.
    pub fn warning(code: &str, trials: String, text: &str, fix: &str) -> Notice {
        Notice {
            sort: Sort::Warning,
            code: code.to_owned(),
            trials,
            text: text.to_owned(),
            fix: Some(fix.to_owned()),
        }
    }
}

impl Block<'_> {
    /// Heading of a section.
    pub fn heading(text: impl Into<String>) -> Self {
        Block::Heading(2, text.into())
    }

    /// Sentences under heads; `true` marks a column of numbers.
    pub fn sentences(heads: Vec<(&'static str, bool)>, rows: Vec<Vec<String>>) -> Self {
        Block::Table(Table::sentences(heads, rows))
    }
}

impl<'a> Document<'a> {
    /// A report without results: a title and parts, and what the kinds of figures mean.
    pub fn new(title: String, blocks: Vec<Block<'a>>) -> Document<'a> {
        Document {
            title,
            blocks,
            legend: vec![("Figures", KINDS.to_owned())],
            ..Document::default()
        }
    }

    /// A report of rows for scripts.
    pub fn of_records(records: csv::Records) -> Document<'a> {
        Document {
            records,
            ..Document::default()
        }
    }

    /// The report in a format that has a place for sentences; the text ends with a line end.
    ///
    /// # Errors
    /// [`NoExplanation`] for CSV, JUnit and data.
    pub fn written(&self, format: Format, options: &Options) -> Result<String, NoExplanation> {
        match format {
            Format::Terminal => Ok(terminal::render(self, options)),
            Format::Markdown => Ok(markdown::render(self)),
            Format::Html => Ok(html::render(self)),
            _ => Err(NoExplanation(format)),
        }
    }

    /// Notices of a sort.
    pub fn notices_of(&self, sort: Sort) -> Vec<&Notice> {
        let of = |notice: &&Notice| notice.sort == sort;
        self.notices.iter().filter(of).collect()
    }

    /// What stands above the reasons.
    pub const fn notes_heading(&self) -> &'static str {
        match self.notes.is_empty() {
            true => "Notes",
            false => self.notes,
        }
    }
}
