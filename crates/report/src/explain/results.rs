//! What results say by themselves, part by part.

use wirelab_trial::explanation::{ReadingGroup, ResultsExplanation};

use super::{Block, blocks};
use crate::format;
use crate::row;

/// The parts: each group of readings, then what models say of their own results.
pub fn of(e: &ResultsExplanation) -> Vec<Block<'_>> {
    let mut out = Vec::new();
    for group in &e.groups {
        out.push(Block::Heading(group.title.clone()));
        if !group.findings.is_empty() {
            out.push(Block::Answer(group.findings.join(" ")));
        }
        out.push(readings(group));
        out.extend(blocks::roofline(&group.roofline));
        if !group.open.is_empty() {
            out.push(Block::Words("What these results cannot tell:".to_owned()));
            out.push(Block::List(group.open.clone()));
        }
    }
    for model in &e.models {
        out.push(Block::Heading(format!("The model {}", model.node)));
        out.extend(blocks::of(model));
    }
    if !e.left_out.is_empty() {
        out.push(Block::Heading("Left out".to_owned()));
        out.push(Block::List(e.left_out.clone()));
    }
    if out.is_empty() {
        out.push(Block::Words("The file has no trials.".to_owned()));
    }
    out
}

fn readings(group: &ReadingGroup) -> Block<'static> {
    let heads = vec![
        ("trial", true),
        (group.roofline.unit.name(), true),
        ("Mbit/s", true),
        ("frames/s", true),
        ("loss %", true),
        ("CPU %", true),
        ("what limits", false),
    ];
    let share = |ratio: Option<f64>| ratio.map_or_else(|| "–".to_owned(), format::percent);
    let rows = group.readings.iter().map(|r| {
        vec![
            r.trial.to_string(),
            format::integer(r.bytes.into()),
            format!("{} {}", format::mbit(r.bits_per_s), row::kind(r.kind)),
            format::frame_rate(r.frames_per_s),
            share(r.loss_ratio),
            share(r.cpu_ratio),
            r.words.clone(),
        ]
    });
    Block::Grid(heads, rows.collect())
}
