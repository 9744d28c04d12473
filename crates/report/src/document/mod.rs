//! A report before it has a format: one tree of sections, sentences, notices, tables and charts.
//!
//! The content of a report is built once as a [`Document`]; [`terminal`], [`markdown`], [`html`], [`csv`] and [`junit`] each
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
use crate::chart::spans::Spans;
use crate::format::{count, integer};
use crate::limited::{Limited, Limiter};
use crate::options::{Format, Options};
use table::{Cell, Head, Table, trial_numbers};

/// The kinds of the figures in a sentence.
pub const KINDS: &str = "measured: seen in this run; emulated: timed on an emulated board, so it depends on the host and \
    is not a figure of the hardware; predicted: computed by a model that was not fitted to it; calibrated: computed by a \
    model that was; published: printed by another party. Prefixes are powers of ten.";

/// What stands at the top of a page of an emulated node.
pub const EMULATED: &str = "Emulated: times, rates, losses and CPU loads are those of the emulation on this host. They are \
    not figures of the hardware, and cannot be compared with measured ones.";

/// A format that has no place for sentences and pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an explanation is not a table, so it has no {0}; fix: choose one of terminal, markdown, json, html"
)]
pub struct NoExplanation(pub Format);

/// A report.
#[derive(Default)]
pub struct Document<'a> {
    /// Its title.
    pub title: String,
    /// When its results were made, in ns since 1970, and by which version; none for what is made of no results.
    pub stamp: Option<(u64, String)>,
    /// How the run was judged.
    pub verdict: Option<Verdict>,
    /// What limited the rates, in a sentence behind the verdict.
    pub limits: Option<String>,
    /// The node's board or chip, if it reported one, and the tester's host; only pages have it, beside the date.
    pub hosts: Vec<String>,
    /// The headline figures. A text has them where its verdict stands first.
    pub headlines: Vec<Headline>,
    /// Its parts, in the order of reading.
    pub blocks: Vec<Block<'a>>,
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
    pub head: PageHead,
    /// In sentences.
    pub text: String,
    /// Whether it stands first in a text, too; otherwise a terminal has it at the end, where the reader looks.
    pub first: bool,
}

/// The verdict in a word or two, as the head of a page has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageHead {
    /// Something failed.
    NotClean,
    /// Nothing failed, but the tester was the limit somewhere.
    TesterLimited,
    /// Nothing failed, and frames were counted.
    Clean,
    /// Nothing failed on a page of which loss is a figure.
    Passed,
    /// Nothing failed, and frames were not counted.
    NotJudged,
}

impl PageHead {
    /// The words, with a mark that needs no colour.
    pub const fn words(self) -> &'static str {
        match self {
            PageHead::NotClean => "✗ Not clean.",
            PageHead::TesterLimited => "– Tester limited.",
            PageHead::Clean => "✓ Clean.",
            PageHead::Passed => "✓ Passed.",
            PageHead::NotJudged => "– Not judged.",
        }
    }
}

/// A figure at the head of a page.
pub struct Headline {
    /// Its name.
    pub name: String,
    /// The figure with its unit.
    pub value: String,
    /// Where it comes from.
    pub kind: Kind,
    /// The request.
    pub of: String,
    /// What limited it.
    pub limited: Limited,
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
            limited: Limited::new(Limiter::Unknown, String::new()),
            trial: None,
        }
    }

    /// The figure with what limited it.
    #[must_use]
    pub fn limited(self, limited: Limited, trial: usize) -> Headline {
        Headline {
            limited,
            trial: Some(trial),
            ..self
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
    /// Problems of what stands above, and what a reader must know about it. Pages fold them there; a text has them at its end,
    /// which a reader of a terminal sees.
    Notices(Vec<Notice>),
    /// A picture.
    Chart(Chart<'a>),
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
    /// The first and the last event of each latency of the table above.
    Spans(Spans),
    /// Pictures of one sort.
    Gallery(Gallery),
}

/// Pictures of one sort under a heading.
#[derive(Default)]
pub struct Gallery {
    /// The heading; empty for none.
    pub title: &'static str,
    /// What the pictures show.
    pub about: &'static str,
    /// Whether `about` stands below them.
    pub about_below: bool,
    /// The pictures, each with its caption.
    pub pictures: Vec<(String, Picture)>,
    /// Number of pictures left out.
    pub left_out: usize,
    /// Whether each has the width of the page; otherwise they stand in a grid.
    pub wide: bool,
}

/// What kind of notice it is, in the order of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

    /// A number of notices of this sort, in words.
    pub fn counted(self, n: u64) -> String {
        match (self, n) {
            (Sort::Search, 1) => "1 search that did not end".to_owned(),
            (Sort::Search, n) => format!("{} searches that did not end", integer(n)),
            (Sort::Finding, n) => count(n, "finding"),
            (Sort::Warning, n) => count(n, "warning"),
        }
    }

    /// The heading above them.
    pub const fn heading(self) -> &'static str {
        match self {
            Sort::Search => "Searches that did not end",
            Sort::Finding => "Findings",
            Sort::Warning => "Warnings",
        }
    }
}

/// Something that went wrong, or that a reader must know.
#[derive(Clone, Debug)]
pub struct Notice {
    /// What kind of notice.
    pub sort: Sort,
    /// Code of a warning.
    pub code: String,
    /// What it is about, in words, such as its trials; empty where the sentence says it.
    pub about: String,
    /// Numbers of its trials, from 1.
    pub trials: Vec<usize>,
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
            about: String::new(),
            trials: Vec::new(),
            text,
            fix: None,
        }
    }

    /// Something wrong with a trial, by its number from 1.
    pub fn finding(trial: usize, text: String) -> Notice {
        Notice {
            sort: Sort::Finding,
            about: format!("trial {trial}"),
            trials: vec![trial],
            ..Notice::search(text)
        }
    }

    /// A warning with its code, what it is about and what to do.
    pub fn warning(code: &str, about: String, text: &str, fix: &str) -> Notice {
        Notice {
            sort: Sort::Warning,
            code: code.to_owned(),
            about,
            fix: Some(fix.to_owned()),
            ..Notice::search(text.to_owned())
        }
    }

    /// A mark that needs no colour.
    pub const fn mark(&self) -> &'static str {
        match self.sort {
            Sort::Search | Sort::Finding => "▲",
            Sort::Warning => "△",
        }
    }

    /// Whether it concerns all of several trials.
    pub fn is_of_the_run(&self) -> bool {
        self.trials.len() > 1 && self.about == ALL
    }

    fn is_same_fault(&self, other: &Notice) -> bool {
        self.sort == Sort::Finding && other.sort == Sort::Finding && self.text == other.text
    }

    /// The same notice for some trials of `total`.
    #[must_use]
    pub fn of_trials(self, trials: Vec<usize>, total: usize) -> Notice {
        Notice {
            about: trials_in_words(&trials, total),
            trials,
            ..self
        }
    }
}

/// All of several trials.
const ALL: &str = "all trials";

/// `trial 2`, `trials 1, 3 to 7` or `all trials`.
pub fn trials_in_words(trials: &[usize], total: usize) -> String {
    let is_next = |before: &usize, after: &usize| before + 1 == *after;
    let runs: Vec<&[usize]> = trials.chunk_by(is_next).collect();
    match trials {
        [one] => format!("trial {one}"),
        all if all.len() == total => ALL.to_owned(),
        _ if runs.len() <= 12 => {
            let runs = runs.iter().map(|run| match run {
                [first, _, .., last] => format!("{first} to {last}"),
                few => trial_numbers(few),
            });
            format!("trials {}", runs.collect::<Vec<_>>().join(", "))
        }
        some => format!("{} trials", some.len()),
    }
}

/// The notices of a report that do not stand beside what they concern yet.
pub struct Notices(Vec<Notice>);

impl Notices {
    /// All of them, of a file with `total` trials; trials in a row with the same fault share one notice.
    pub fn new(all: Vec<Notice>, total: usize) -> Notices {
        let mut out: Vec<Notice> = Vec::new();
        for notice in all {
            match out.last_mut() {
                Some(last) if last.is_same_fault(&notice) => {
                    last.trials.extend(notice.trials);
                    last.about = trials_in_words(&last.trials, total);
                }
                _ => out.push(notice),
            }
        }
        Notices(out)
    }

    /// Takes the notices that stand beside what was just shown.
    pub fn beside<'a>(&mut self, is_here: impl Fn(&Notice) -> bool) -> Option<Block<'a>> {
        let all = std::mem::take(&mut self.0);
        let (here, rest) = all.into_iter().partition(is_here);
        self.0 = rest;
        Notices::block(here)
    }

    /// Takes the notices of some trials.
    pub fn of_trials<'a>(&mut self, is_one: impl Fn(usize) -> bool) -> Option<Block<'a>> {
        self.beside(|notice| notice.trials.iter().any(|trial| is_one(*trial)))
    }

    /// Takes the notices of all trials.
    pub fn of_the_run<'a>(&mut self) -> Option<Block<'a>> {
        self.beside(Notice::is_of_the_run)
    }

    /// Takes the notices that are left.
    pub fn rest<'a>(self) -> Option<Block<'a>> {
        Notices::block(self.0)
    }

    fn block<'a>(all: Vec<Notice>) -> Option<Block<'a>> {
        (!all.is_empty()).then_some(Block::Notices(all))
    }
}

impl Block<'_> {
    /// Heading of a section.
    pub fn heading(text: impl Into<String>) -> Self {
        Block::Heading(2, text.into())
    }

    /// Sentences under heads; `true` marks a column of numbers.
    pub fn sentences<H: Into<Head>, C: Into<Cell>>(heads: Vec<H>, rows: Vec<Vec<C>>) -> Self {
        Block::Table(Table::sentences(heads, rows))
    }
}

impl<'a> Document<'a> {
    /// The headlines as facts of a text; none where there are none.
    pub fn heads(&self) -> Vec<Block<'static>> {
        let fact = |of: &Headline| {
            let trial = of
                .trial
                .map_or_else(String::new, |n| format!("; trial {n}"));
            let Headline {
                value,
                kind,
                of: request,
                ..
            } = of;
            let text = format!("{value} ({kind}; {request}{trial}): {}", of.limited.why);
            (of.name.clone(), text)
        };
        let facts: Vec<_> = self.headlines.iter().map(fact).collect();
        match facts.is_empty() {
            true => Vec::new(),
            false => vec![Block::Facts(facts)],
        }
    }

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

    /// The notices that a medium shows, from the top to the end.
    pub fn notices(&self, medium: Medium) -> Vec<&Notice> {
        let mut all = Vec::new();
        gather(&self.blocks, medium, &mut all);
        all
    }
}

fn gather<'b>(blocks: &'b [Block<'_>], medium: Medium, all: &mut Vec<&'b Notice>) {
    for block in blocks {
        match block {
            Block::Notices(some) => all.extend(some),
            Block::Appendix(_, _, of) => gather(of, medium, all),
            Block::Only(only, of) if *only == medium => gather(of, medium, all),
            Block::Beside(columns) => columns.iter().for_each(|of| gather(of, medium, all)),
            _ => {}
        }
    }
}
