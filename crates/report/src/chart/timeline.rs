//! A timeline of two periods as data: a row for each resource, a box for each frame in a stage.

use serde::Serialize;
use wirelab_trial::explanation::{StageBox, Timeline};

use super::{list, usable};
use crate::document::escape::{clip, line};
use crate::format;

/// Longest name of a row.
const NAME: usize = 24;
/// Most boxes; a node with more shows the first ones.
const BOXES: usize = 2000;

/// A timeline.
#[derive(Serialize)]
pub struct Lanes {
    /// Its length in picoseconds.
    pub span_ps: u64,
    /// Picoseconds until it repeats.
    pub period_ps: f64,
    /// What its axis counts.
    pub name: String,
    /// Its rows from top to bottom.
    pub lanes: Vec<Lane>,
}

/// The work of one resource.
#[derive(Serialize)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// Share of the time in which it works.
    pub busy_ratio: f64,
    /// Its work, from left to right.
    pub boxes: Vec<Work>,
}

/// Work on a frame.
#[derive(Serialize)]
pub struct Work {
    /// Its start after the left edge, in picoseconds.
    pub from_ps: u64,
    /// Its end after the left edge, in picoseconds.
    pub to_ps: u64,
    /// Whether it is on the critical circuit.
    pub critical: bool,
    /// Stage and frame.
    pub label: String,
    /// The frame alone, for a box too narrow for its label.
    pub frame: String,
    /// The text of its tooltip.
    pub words: String,
}

/// The data of a timeline.
pub fn lanes(timeline: &Timeline) -> Lanes {
    let span_ps = timeline.end_ps.saturating_sub(timeline.start_ps).max(1);
    let mut left = BOXES;
    let lanes = timeline.lanes.iter().map(|lane| {
        let boxes = lane.boxes.iter().take(left);
        let boxes: Vec<Work> = boxes.filter_map(|b| work(timeline, b)).collect();
        left = left.saturating_sub(lane.boxes.len());
        let inside = |b: &StageBox| {
            b.end_ps
                .min(timeline.end_ps)
                .saturating_sub(b.start_ps.max(timeline.start_ps)) as f64
        };
        Lane {
            name: clip(&line(&lane.name), NAME),
            busy_ratio: lane.boxes.iter().map(inside).sum::<f64>() / span_ps as f64,
            boxes,
        }
    });
    let lanes = lanes.collect();
    Lanes {
        span_ps,
        period_ps: Some(timeline.period_ps)
            .filter(|ps| usable(*ps))
            .unwrap_or(0.0),
        name: format!("time; the period is {}", format::time_f(timeline.period_ps)),
        lanes,
    }
}

fn work(timeline: &Timeline, b: &StageBox) -> Option<Work> {
    let place = |ps: u64| ps.clamp(timeline.start_ps, timeline.end_ps.max(timeline.start_ps));
    let (from, to) = (place(b.start_ps), place(b.end_ps));
    if to <= from && b.end_ps > b.start_ps {
        return None;
    }
    let took = format::time(b.end_ps.saturating_sub(b.start_ps));
    let (name, frame) = (line(&b.stage), b.frame_words());
    let critical = if b.critical {
        ", on the critical circuit"
    } else {
        ""
    };
    Some(Work {
        from_ps: from - timeline.start_ps,
        to_ps: to.max(from) - timeline.start_ps,
        critical: b.critical,
        label: format!("{name} {frame}"),
        words: format!("{name}, frame {frame}: {took}{critical}"),
        frame,
    })
}

impl Lanes {
    /// How busy each resource is.
    pub fn words(&self) -> String {
        list(self.lanes.iter().map(|lane| {
            let percent = format::percent(lane.busy_ratio);
            format!("{} works {percent} % of the time", lane.name)
        }))
    }
}
