//! The explanation of results without a model, part by part.

use wirelab_trial::explanation::{FastTrackGain, ReadingGroup, ResultsExplanation};
use wirelab_trial::{Field, Kind};

use super::blocks;
use crate::document::table::{Cell, Head};
use crate::document::{Block, EMULATED};
use crate::format;
use crate::row;

/// What stands behind the predicted column.
const PREDICTED: &str = "Medians from the driver to the application. Predicted is the stack's time less the stages that the \
     fast track skips; the hand-over past the stack is taken to cost nothing, so that the difference to what was \
     measured is its cost, and what the wait differs by.";

/// The parts: each group of readings, then what models say of their own results.
pub fn of(e: &ResultsExplanation) -> Vec<Block<'_>> {
    let mut out = Vec::new();
    let readings_of =
        |group: &ReadingGroup| group.readings.iter().any(|r| r.kind == Kind::Emulated);
    if e.groups.iter().any(readings_of) {
        out.push(Block::Words(EMULATED.to_owned()));
    }
    for group in &e.groups {
        out.push(Block::heading(group.title.clone()));
        if !group.findings.is_empty() {
            out.push(Block::Answer(group.findings.join(" ")));
        }
        out.push(readings(group));
        out.extend(blocks::roofline(&group.roofline, weakest(group)));
        if !group.open.is_empty() {
            out.push(Block::Words("What these results do not show:".to_owned()));
            out.push(Block::List(group.open.clone()));
        }
    }
    for gains in e
        .fast_track
        .chunk_by(|a, b| (&a.node, a.layer) == (&b.node, b.layer))
    {
        let (node, layer) = (&gains[0].node, row::layer(gains[0].layer));
        out.push(Block::heading(format!("The fast track of {node}: {layer}")));
        out.push(fast_track(gains));
        out.push(Block::Words(PREDICTED.to_owned()));
    }
    for model in &e.models {
        out.push(Block::heading(format!("The model {}", model.node)));
        out.extend(blocks::of(model));
    }
    if !e.left_out.is_empty() {
        out.push(Block::heading("Left out"));
        out.push(Block::List(e.left_out.clone()));
    }
    if out.is_empty() {
        out.push(Block::Words("The file has no trials.".to_owned()));
    }
    out
}

/// The explanation with the kind of the readings after every sentence that contains one of their figures.
pub fn marked(e: &ResultsExplanation) -> ResultsExplanation {
    let mut e = e.clone();
    for group in &mut e.groups {
        let all = weakest(group);
        for text in group.findings.iter_mut().chain(&mut group.open) {
            mark(text, all);
        }
        for reading in &mut group.readings {
            mark(&mut reading.words, Some(reading.kind));
        }
    }
    e
}

/// The weakest kind of a group's readings.
fn weakest(group: &ReadingGroup) -> Option<Kind> {
    Kind::weakest(group.readings.iter().map(|reading| reading.kind))
}

/// Put a kind behind a sentence with a figure, before its full stop.
fn mark(text: &mut String, kind: Option<Kind>) {
    let Some(kind) = kind.filter(|_| text.contains(|c: char| c.is_ascii_digit())) else {
        return;
    };
    let stop = text.ends_with('.');
    if stop {
        text.pop();
    }
    text.push_str(&format!(" ({kind}){}", if stop { "." } else { "" }));
}

fn fast_track(gains: &[FastTrackGain]) -> Block<'static> {
    let heads = vec![
        Head::text("wait"),
        Head::number("length", "B"),
        Head::number("stack measured", "µs"),
        Head::number("fast track predicted", "µs"),
        Head::number("measured", "µs"),
        Head::number("error", "%"),
        Head::number("gain predicted", "µs"),
        Head::number("measured", "µs"),
    ];
    let none = || "–".to_owned();
    let us = |ps: u64| format::micros(ps as f64);
    let gain = |ps: i64| format::micros(ps as f64);
    let rows = gains.iter().map(|g| {
        vec![
            g.wait.to_string(),
            format::integer(g.length_bytes.into()),
            us(g.stack_measured_ps),
            us(g.predicted_ps),
            g.measured_ps.map_or_else(none, us),
            g.error_percent.map_or_else(none, |e| format::decimal(e, 1)),
            us(g.predicted_gain_ps),
            g.measured_gain_ps.map_or_else(none, gain),
        ]
    });
    Block::sentences(heads, rows.collect())
}

fn readings(group: &ReadingGroup) -> Block<'static> {
    let heads = vec![
        Head::number("trial", ""),
        Head::number(group.roofline.unit.name(), "B"),
        Head::number("rate", "Mbit/s"),
        Head::number("rate", "frames/s"),
        Head::number("loss", "%"),
        Head::number("CPU load", "%"),
        Head::text("what limits"),
    ];
    let figure = |value: Option<f64>, kind: Kind, show: fn(f64) -> String| match value {
        Some(value) => Cell::of(Field::Observed { value, kind }, show),
        None => Cell::from("–"),
    };
    let rows = group.readings.iter().map(|r| {
        vec![
            r.trial.to_string().into(),
            format::integer(r.bytes.into()).into(),
            figure(Some(r.bits_per_s), r.kind, format::mbit),
            figure(Some(r.frames_per_s), r.kind, format::frame_rate),
            figure(r.loss_ratio, r.kind, format::percent),
            figure(r.cpu_ratio, r.kind, format::percent),
            r.words.clone().into(),
        ]
    });
    Block::sentences(heads, rows.collect())
}
