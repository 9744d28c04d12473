//! A comparison as a document: the verdict, the figures in a table, what else differs; rows for scripts, cases for CI.

use wirelab_statistics::shift::Scale;
use wirelab_trial::Field;

use super::shown::{change, value};
use super::{Comparison, FailIf, Figure, Verdict};
use crate::chart::{Axis, Bar, Bars, Look, Part, Picture, Show};
use crate::document::csv::{self, Records, Value};
use crate::document::escape::{clip, line};
use crate::document::junit::{self, Case};
use crate::document::table::{Cell, Head, Shown, Table};
use crate::document::{Block, Chart, Document, Gallery};
use crate::judge::{End, Failed};
use crate::options::{Format, Options};
use crate::{format, interval};

/// Longest label of a bar, and most bars of the picture; the table has all.
const LABEL: usize = 56;
const BARS: usize = 60;

/// A comparison is not a figure that a collector could watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a comparison has no {0}; fix: choose one of terminal, markdown, csv, json, json-lines, junit, html"
)]
pub struct NoComparison(pub Format);

/// A comparison in one of the formats, as text that ends with a line end; `rules` say which figures fail a case of JUnit.
///
/// # Errors
/// [`NoComparison`] for metrics.
pub fn render(
    comparison: &Comparison,
    format: Format,
    options: &Options,
    rules: &[FailIf],
) -> Result<String, NoComparison> {
    match format {
        Format::Csv | Format::DatasheetCsv => {
            return Ok(csv::render(&Document::of_records(records(comparison))));
        }
        Format::Json | Format::DatasheetJson => {
            let mut text = serde_json::to_string_pretty(comparison).expect("plain data");
            text.push('\n');
            return Ok(text);
        }
        Format::JsonLines => {
            let lines = comparison.figures.iter().map(serde_json::to_string);
            return Ok(lines.map(|line| line.expect("plain data") + "\n").collect());
        }
        _ => {}
    }
    let title = options.title.clone().unwrap_or_else(|| {
        format!(
            "{} against {}",
            comparison.after.name, comparison.before.name
        )
    });
    if format == Format::Junit {
        return Ok(junit::render(&Document {
            title,
            cases: comparison.figures.iter().map(|f| case(f, rules)).collect(),
            ..Document::default()
        }));
    }
    let document = Document::new(title, blocks(comparison));
    let written = document.written(format.of_page(), options);
    written.map_err(|_| NoComparison(format))
}

fn blocks(comparison: &Comparison) -> Vec<Block<'static>> {
    let run = |run: &super::ComparedRun| {
        let trials = format::count(run.trials as u64, "trial");
        format!(
            "{}, {trials}, {}",
            run.name,
            format::utc(run.created_unix_ns)
        )
    };
    let mut blocks = vec![
        Block::Answer(answer(comparison)),
        Block::Facts(vec![
            ("before".to_owned(), run(&comparison.before)),
            ("after".to_owned(), run(&comparison.after)),
        ]),
    ];
    if !comparison.figures.is_empty() {
        blocks.push(Block::heading("Figures"));
        blocks.push(Block::Chart(Chart::Gallery(changes(comparison))));
        blocks.push(Block::Table(table(comparison)));
        blocks.extend(super::curves::blocks(comparison));
        let reasons = not_judged(comparison);
        if !reasons.is_empty() {
            blocks.push(Block::heading("What cannot be judged"));
            blocks.push(Block::List(reasons));
        }
    }
    if !comparison.set_up.is_empty() {
        blocks.push(Block::heading("What else differs"));
        let row = |d: &super::Difference| vec![d.in_words(), d.before.clone(), d.after.clone()];
        blocks.push(Block::sentences(
            vec![("what", false), ("before", false), ("after", false)],
            comparison.set_up.iter().map(row).collect(),
        ));
    }
    for (only, heading) in [
        (&comparison.only_before, "Only before"),
        (&comparison.only_after, "Only after"),
    ] {
        if !only.is_empty() {
            blocks.push(Block::heading(heading));
            blocks.push(Block::List(only.clone()));
        }
    }
    blocks
}

/// Why figures cannot be judged: each reason once, behind the figures that it is about.
fn not_judged(comparison: &Comparison) -> Vec<String> {
    let untold = |figure: &&Figure| figure.verdict == Verdict::CannotTell;
    let untold: Vec<&Figure> = comparison.figures.iter().filter(untold).collect();
    let mut reasons: Vec<&str> = Vec::new();
    for figure in &untold {
        if !reasons.contains(&&*figure.reason) {
            reasons.push(&figure.reason);
        }
    }
    let line = |why: &str| {
        let of: Vec<&Figure> = untold.iter().copied().filter(|f| f.reason == why).collect();
        let all = of.len() > 1 && of.len() == comparison.figures.len();
        let whats = match all {
            true => "all figures".to_owned(),
            false => names(&of),
        };
        format!("{whats}: {why}.")
    };
    reasons.into_iter().map(line).collect()
}

/// The names of figures behind those of their trials.
fn names(figures: &[&Figure]) -> String {
    let trials = figures.chunk_by(|a, b| a.trial == b.trial);
    let each = trials.map(|of| {
        let names: Vec<&str> = of.iter().map(|figure| &*figure.figure).collect();
        format!("{}: {}", of[0].trial, names.join(", "))
    });
    each.collect::<Vec<_>>().join("; ")
}

/// The interval of a change in words.
fn within(figure: &Figure) -> Option<String> {
    let interval = figure.tested()?;
    let show = |end| change(figure.scale, end);
    Some(format!("{} to {}", show(interval.low), show(interval.high)))
}

/// The verdict on all figures, in a sentence.
pub fn answer(comparison: &Comparison) -> String {
    let head = match comparison.verdict {
        Verdict::Worse => "Worse",
        Verdict::Better => "Better",
        Verdict::Same => "Same",
        Verdict::CannotTell => "Cannot tell",
    };
    if comparison.figures.is_empty() {
        return format!("{head}: the runs have no figure in common; fix: ask both the same trials");
    }
    let counts: Vec<String> = [
        (Verdict::Worse, "worse"),
        (Verdict::Better, "better"),
        (Verdict::Same, "same"),
        (Verdict::CannotTell, "cannot be judged"),
    ]
    .into_iter()
    .filter_map(|(verdict, word)| match comparison.count(verdict) {
        0 => None,
        n => Some(format!("{n} {word}")),
    })
    .collect();
    let all = format::count(comparison.figures.len() as u64, "figure");
    format!("{head}: of {all}, {}.", counts.join(", "))
}

/// The interval of each figure's change, as a share of its earlier value.
fn changes(comparison: &Comparison) -> Gallery {
    let figures = comparison.figures.iter();
    let shares = figures.filter(|figure| figure.scale == Scale::Ratio);
    let rows = shares.filter_map(|figure| {
        let middle = figure.change?;
        let (from, to) = match figure.tested() {
            Some(interval) => (interval.low, interval.high),
            None => (middle.min(0.0), middle.max(0.0)),
        };
        let words = format!(
            "{}, {}",
            change(figure.scale, middle),
            figure.verdict.words()
        );
        let part = Part {
            name: figure.verdict.words().to_owned(),
            from,
            to,
            spread: None,
            look: match figure.verdict {
                Verdict::Worse => Look::Bad,
                Verdict::Better => Look::Good,
                Verdict::Same => Look::Plain,
                Verdict::CannotTell => Look::Open,
            },
            words: format!(
                "{words}; {} and {} repeats",
                figure.before.len(),
                figure.after.len()
            ),
        };
        let label = format!("{} · {}", figure.figure, figure.trial);
        Some(Bar {
            label: clip(&line(&label), LABEL),
            trial: None,
            words,
            parts: vec![part],
        })
    });
    let bars = Bars {
        axis: Axis::linear("change", Show::Share),
        rows: rows.take(BARS).collect(),
    };
    let caption = "Where the change of each figure lies: its 95 % interval, as a share of the first run's figure.";
    Gallery {
        pictures: vec![(caption.to_owned(), Picture::Bars(bars.tidied()))],
        wide: true,
        ..Gallery::default()
    }
}

fn table(comparison: &Comparison) -> Table {
    let heads = vec![
        Head::words("requested", Shown::IfVaries, 6),
        Head::words("figure", Shown::Always, 0),
        Head::words("verdict", Shown::Always, 0),
        Head::figures("before", "", Shown::Always, 7),
        Head::figures("after", "", Shown::Always, 7),
        Head::figures("change", "after − before", Shown::Always, 0),
        Head::figures(interval::HEAD, "", Shown::Always, 4),
        Head::figures("repeats", "", Shown::IfVaries, 2),
        Head::figures("p", "", Shown::Always, 1),
    ];
    let row = |figure: &Figure| {
        let kind = figure.kind;
        let shown = |text: String| Cell::Figure {
            text,
            kind,
            alarm: false,
        };
        let none = || Cell::Text("–".to_owned());
        let share = |value: Option<f64>| {
            value.map_or_else(none, |value| Cell::Text(change(figure.scale, value)))
        };
        let verdict = figure.verdict.words().to_owned();
        vec![
            Cell::Text(figure.trial.clone()),
            Cell::Text(figure.figure.clone()),
            Cell::Text(verdict).alarmed(figure.verdict == Verdict::Worse),
            shown(value(figure.unit, figure.before_median)),
            shown(value(figure.unit, figure.after_median)),
            share(figure.change),
            within(figure).map_or_else(none, Cell::Text),
            Cell::Text(format!("{}, {}", figure.before.len(), figure.after.len())),
            figure
                .p_of_all
                .map_or_else(none, |p| Cell::Text(probability(p))),
        ]
    };
    let mut rows: Vec<&Figure> = comparison.figures.iter().collect();
    let order = |figure: &&Figure| match figure.verdict {
        Verdict::Worse => 0,
        Verdict::Better => 1,
        Verdict::Same => 2,
        Verdict::CannotTell => 3,
    };
    rows.sort_by_key(order);
    let caption = "Medians of repeats, the change between them and its 95 % interval";
    Table::new(caption, heads, rows.into_iter().map(row).collect())
}

fn probability(p: f64) -> String {
    match p {
        p if p < 0.001 => "<0.001".to_owned(),
        p => format::decimal(p, 3),
    }
}

fn case(figure: &Figure, rules: &[FailIf]) -> Case {
    let changed = match (figure.change, within(figure)) {
        (Some(by), Some(interval)) => {
            format!(", change {} ({interval})", change(figure.scale, by))
        }
        (Some(by), None) => format!(", change {}", change(figure.scale, by)),
        (None, _) => String::new(),
    };
    let said = format!(
        "{} before, {} after{changed} ({}): {}; {}",
        value(figure.unit, figure.before_median),
        value(figure.unit, figure.after_median),
        figure.kind,
        figure.verdict.words(),
        figure.reason
    );
    let fails = rules.iter().any(|rule| rule.fails(figure));
    Case {
        class: "compare".to_owned(),
        name: format!("{}: {}", figure.trial, figure.figure),
        seconds: 0.0,
        end: match figure.verdict {
            _ if fails => End::Failed(Failed::Worse, vec![said.clone()]),
            Verdict::CannotTell => End::Skipped(figure.reason.clone()),
            _ => End::Passed,
        },
        said: Some(said),
    }
}

fn records(comparison: &Comparison) -> Records {
    let number = |value: Option<f64>| Value::Number(value.map_or(String::new(), |v| v.to_string()));
    let row = |figure: &Figure| {
        let field = |value: f64| {
            Value::Figure(Field::Observed {
                value: value.to_string(),
                kind: figure.kind,
            })
        };
        vec![
            Value::Text(figure.trial.clone()),
            Value::Text(figure.figure.clone()),
            Value::Number(figure.unit.to_owned()),
            field(figure.before_median),
            field(figure.after_median),
            Value::Number(match figure.scale {
                Scale::Ratio => "ratio".to_owned(),
                Scale::Difference => "difference".to_owned(),
            }),
            number(figure.change),
            number(figure.change_interval.map(|i| i.low)),
            number(figure.change_interval.map(|i| i.high)),
            number(figure.p),
            number(figure.p_of_all),
            Value::Number(figure.before.len().to_string()),
            Value::Number(figure.after.len().to_string()),
            Value::Number(verdict_word(figure.verdict).to_owned()),
            Value::Text(figure.reason.clone()),
        ]
    };
    Records {
        heads: vec![
            ("trial", false),
            ("figure", false),
            ("unit", false),
            ("before_median", true),
            ("after_median", true),
            ("scale", false),
            ("change", false),
            ("change_low", false),
            ("change_high", false),
            ("p", false),
            ("p_of_all", false),
            ("before_repeats", false),
            ("after_repeats", false),
            ("verdict", false),
            ("reason", false),
        ],
        rows: comparison.figures.iter().map(row).collect(),
    }
}

const fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "same",
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::CannotTell => "cannot_tell",
    }
}
