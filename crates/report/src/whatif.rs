//! The gains of changes to a node, for a reader: changes that gain in a table, the others in a few lines.

use std::collections::BTreeMap;

use wirelab_trial::explanation::Basis;
use wirelab_trial::format::{decimal, frame_rate, micros, percent, si, signed, time_f};
use wirelab_trial::whatif::{Aim, Change, ChangeKind, Gain, Whatif, WhatifFigures};

use crate::chart::{Axis, Bar, Bars, Look, Part, Picture, Show};
use crate::datasheet::commands::quoted;
use crate::document::escape::{clip, line};
use crate::document::table::{Cell, Head};
use crate::document::{Block, Chart, Gallery, NoExplanation};
use crate::explain::{data, document, request};
use crate::options::{Format, Options};
use crate::row;

/// Most changes in the picture; the table has all.
const RANKED: usize = 20;

/// What each change would gain, in one of the formats; the text ends with a line end.
///
/// # Errors
/// [`NoExplanation`] for CSV and JUnit, which have no place for it.
pub fn render_whatif(
    whatif: &Whatif,
    format: Format,
    options: &Options,
) -> Result<String, NoExplanation> {
    let title = options
        .title
        .clone()
        .unwrap_or_else(|| format!("What changes of {} would gain", whatif.node));
    match format {
        Format::Json => Ok(whatif.to_json()),
        _ => document(title, blocks(whatif)).written(format, options),
    }
}

fn blocks(w: &Whatif) -> Vec<Block<'static>> {
    let mut out = vec![
        Block::Words(w.title.clone()),
        Block::Words(format!(
            "{}; {}.",
            request(&w.trial, &w.sizes),
            unchanged(w)
        )),
        Block::Answer(answer(w)),
        Block::heading("One change at a time"),
    ];
    let (gain, others): (Vec<&Change>, Vec<&Change>) = w.singles.iter().partition(|c| gains(c));
    if gain.is_empty() {
        out.push(Block::Words("No single change gains anything.".to_owned()));
    } else {
        out.push(Block::Chart(Chart::Gallery(ranked(&gain))));
        out.push(grid(w, &gain));
    }
    let (worse, none): (Vec<&Change>, Vec<&Change>) = others.into_iter().partition(|c| costs(c));
    if !none.is_empty() {
        let all = if gain.is_empty() { "" } else { " more" };
        out.push(Block::Words(match none.len() {
            1 => format!("1{all} change gains nothing:"),
            n => format!("{n}{all} changes gain nothing:"),
        }));
        out.push(Block::List(by_reason(&none)));
    }
    if !worse.is_empty() {
        out.push(Block::Words(match worse.len() {
            1 => "1 change costs:".to_owned(),
            n => format!("{n} changes cost:"),
        }));
        let line = |c: &&Change| format!("{} ({} %): {}", c.what, percent_of(c), why(c));
        out.push(Block::List(worse.iter().map(line).collect()));
    }
    pairs(w, &mut out);
    if !w.untried.is_empty() {
        out.push(Block::heading("Not for this trial"));
        let line = |u: &wirelab_trial::whatif::Untried| format!("{}: {}", u.what, u.why);
        out.push(Block::List(w.untried.iter().map(line).collect()));
    }
    if !w.notes.is_empty() {
        out.push(Block::heading("Notes"));
        out.push(Block::List(w.notes.clone()));
    }
    out
}

fn pairs(w: &Whatif, out: &mut Vec<Block<'static>>) {
    if w.pairs.is_empty() {
        return;
    }
    out.push(Block::heading("Two at a time, among the five best"));
    let (gain, none): (Vec<&Change>, Vec<&Change>) =
        w.pairs.iter().partition(|c| c.why_not.is_none());
    if !gain.is_empty() {
        out.push(grid(w, &gain));
    }
    if !none.is_empty() {
        let more = if gain.is_empty() { "" } else { " more" };
        let (pairs, gain) = if none.len() == 1 {
            ("pair", "gains")
        } else {
            ("pairs", "gain")
        };
        out.push(Block::Words(format!(
            "{}{more} {pairs} {gain} no more than the better of the two alone:",
            none.len(),
        )));
        out.push(Block::List(none.iter().map(|c| pasted(c)).collect()));
    }
}

fn gains(change: &Change) -> bool {
    change.why_not.is_none()
}

fn costs(change: &Change) -> bool {
    change.gain_percent < 0.0 && percent_of(change) != "+0.00"
}

fn why(change: &Change) -> &str {
    change.why_not.as_deref().unwrap_or_default()
}

/// Changes that gain nothing, those of one reason together.
fn by_reason(changes: &[&Change]) -> Vec<String> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for change in changes {
        reasons.entry(why(change)).or_default().push(&change.what);
    }
    let lines = reasons.into_iter();
    lines
        .map(|(why, whats)| format!("{}: {why}", whats.join("; ")))
        .collect()
}

/// The result of the unchanged node.
fn unchanged(w: &Whatif) -> String {
    let base = &w.baseline;
    let mut parts = vec![format!(
        "unchanged {} frames/s, {} ({}, {})",
        frame_rate(base.frames_per_s),
        si(base.bits_per_s, "bit/s"),
        row::kind(base.kind),
        match base.basis {
            Basis::ClosedForm => "in closed form",
            Basis::Simulation => "by simulation",
        }
    )];
    if base.loss_ratio > 0.0 {
        parts.push(format!("{} % lost", percent(base.loss_ratio)));
    }
    if let Some(load) = base.cpu_load_ratio {
        let kind = row::kind(base.cpu_load_kind);
        parts.push(format!("CPU load {} % ({kind})", percent(load)));
    }
    let points = base.latency.iter();
    let points: Vec<String> = points
        .map(|l| format!("{} {} ({})", l.point, time_f(l.mean_ps), row::kind(l.kind)))
        .collect();
    parts.extend(points);
    if w.aim != Aim::Latency {
        parts.push(format!("limited by {}", base.limited_by));
    }
    parts.join(", ")
}

/// The best change in a sentence.
fn answer(w: &Whatif) -> String {
    let Some(best) = w.singles.iter().find(|c| gains(c)) else {
        return "Nothing that was tried gains anything.".to_owned();
    };
    let (before, after) = figures(w, best);
    format!(
        "Most is gained by {}: {after} in place of {before} ({} %).",
        best.what,
        percent_of(best)
    )
}

/// The changes that gain, the best one first.
fn ranked(changes: &[&Change]) -> Gallery {
    let rows = changes.iter().map(|change| {
        let gain = change.gain_percent / 100.0;
        let words = format!("{} %", percent_of(change));
        let part = Part {
            name: "gain".to_owned(),
            from: 0.0,
            to: gain,
            spread: None,
            look: Look::Plain,
            words: format!("{}: {words} {}", line(&change.what), of(change.gain)),
        };
        Bar {
            label: clip(&line(&pasted(change)), 48),
            trial: None,
            words,
            parts: vec![part],
        }
    });
    let bars = Bars {
        axis: Axis::linear("gain", Show::Share),
        rows: rows.take(RANKED).collect(),
    };
    let picture = Picture::Bars(bars.tidied());
    Gallery {
        pictures: vec![("Single changes by what they gain.".to_owned(), picture)],
        wide: true,
        ..Gallery::default()
    }
}

/// The figure that a gain is counted in, before and after.
fn figures(w: &Whatif, change: &Change) -> (String, String) {
    let show = |f: &WhatifFigures| match change.gain {
        Gain::FramesPerS => format!("{} frames/s", frame_rate(f.frames_per_s)),
        Gain::Loss => format!("{} % lost", percent(f.loss_ratio)),
        Gain::CpuLoad => format!("{} % CPU load", percent(f.cpu_load_ratio.unwrap_or(0.0))),
        Gain::Latency => time_f(mean_ps(w, f)),
    };
    (show(&w.baseline), show(&change.after))
}

fn mean_ps(w: &Whatif, figures: &WhatifFigures) -> f64 {
    let found = figures
        .latency
        .iter()
        .find(|l| Some(&l.point) == w.point.as_ref());
    found.map_or(0.0, |latency| latency.mean_ps)
}

fn grid(w: &Whatif, changes: &[&Change]) -> Block<'static> {
    let last = if w.aim == Aim::Latency {
        "change"
    } else {
        "change, and what limits then"
    };
    let rate = || Head::number("rate", "frames/s");
    let cpu = || Head::number("CPU load", "%");
    // The head names the figure that is gained, unless the rows differ in it.
    let differ = changes.iter().any(|c| c.gain != changes[0].gain);
    let mut heads = vec![match w.aim {
        Aim::Load if !differ => Head::number(format!("gain, {}", of(changes[0].gain)), "%"),
        _ => Head::number("gain", "%"),
    }];
    if differ {
        heads.push(Head::text("of"));
    }
    heads.extend(match w.aim {
        Aim::Throughput => [
            rate(),
            Head::number(data(w.trial.framing.layer), "Mbit/s"),
            cpu(),
        ],
        Aim::Load => [Head::number("loss", "%"), cpu(), rate()],
        Aim::Latency => [
            Head::number("latency", "µs"),
            Head::number("saved", "µs"),
            cpu(),
        ],
    });
    heads.extend([Head::text("to repeat it"), Head::text(last)]);
    let rows = changes.iter().map(|change| {
        let after = &change.after;
        let rate = frame_rate(after.frames_per_s);
        let cpu = after.cpu_load_ratio.map_or_else(|| "–".to_owned(), percent);
        let mut cells = vec![percent_of(change)];
        if differ {
            cells.push(of(change.gain).to_owned());
        }
        cells.extend(match w.aim {
            Aim::Throughput => [rate, decimal(after.bits_per_s / 1e6, 2), cpu],
            Aim::Load => [percent(after.loss_ratio), cpu, rate],
            Aim::Latency => {
                let (before, after) = (mean_ps(w, &w.baseline), mean_ps(w, after));
                [micros(after), micros(before - after), cpu]
            }
        });
        let mut cells: Vec<Cell> = cells.into_iter().map(Cell::from).collect();
        cells.extend([Cell::Command(pasted(change)), words(w, change).into()]);
        cells
    });
    Block::sentences(heads, rows.collect())
}

/// The options that make a change, as a command line takes them.
fn pasted(change: &Change) -> String {
    let options = change
        .set
        .iter()
        .map(|one| format!("--set {}", quoted(one)));
    options.collect::<Vec<_>>().join(" ")
}

/// The figure of a gain at a load.
fn of(gain: Gain) -> &'static str {
    match gain {
        Gain::FramesPerS => "frames/s",
        Gain::Loss => "loss",
        Gain::CpuLoad => "CPU load",
        Gain::Latency => "latency",
    }
}

/// A change in words; of a pair the assignments say it all.
fn words(w: &Whatif, change: &Change) -> String {
    let limit = format!("limited by {}", change.after.limited_by);
    match (change.kind, w.aim) {
        (ChangeKind::Pair, Aim::Latency) => "both".to_owned(),
        (ChangeKind::Pair, _) => limit,
        (_, Aim::Latency) => change.what.clone(),
        _ => format!("{}; {limit}", change.what),
    }
}

/// The gain in percent, with its sign.
fn percent_of(change: &Change) -> String {
    signed(change.gain_percent, 2)
}
