//! A flame graph as data: functions as bars, those that a function calls above it.

use serde::Serialize;
use wirelab_trial::format::{decimal, integer};

use super::list;
use crate::document::escape::{clip, line};

/// Longest name of a bar.
const NAME: usize = 120;

/// A flame graph.
#[derive(Serialize)]
pub struct Flame {
    /// What the width of a bar counts.
    pub name: String,
    /// The width of the whole graph.
    pub whole: f64,
    /// Whether each bar has its earlier value.
    pub is_difference: bool,
    /// The bars, each after the one below it and those to its left.
    pub bars: Vec<Bar>,
}

/// A function on a path of calls.
#[derive(Serialize)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// Bars below it.
    pub depth: usize,
    /// Its left end.
    pub from: f64,
    /// Its width.
    pub now: f64,
    /// Its width in the earlier run.
    pub before: f64,
}

impl Bar {
    /// The text of its tooltip.
    pub fn words(&self, is_difference: bool) -> String {
        let name = clip(&line(&self.name), NAME);
        let now = format!("{name}: {} instructions of a frame", figure(self.now));
        match is_difference {
            true => format!("{now}, before {}", figure(self.before)),
            false => now,
        }
    }
}

impl Flame {
    /// Most bars on top of one another.
    pub fn rows(&self) -> usize {
        self.bars.iter().map(|bar| bar.depth + 1).max().unwrap_or(0)
    }

    /// Its bars in words, the lowest first.
    pub fn words(&self) -> String {
        let mut bars: Vec<&Bar> = self.bars.iter().collect();
        bars.sort_by_key(|bar| bar.depth);
        list(bars.into_iter().map(|bar| bar.words(self.is_difference)))
    }
}

/// A number of instructions of a frame.
pub fn figure(per_frame: f64) -> String {
    match per_frame.fract() == 0.0 {
        true => integer(per_frame as u64),
        false => decimal(per_frame, 1),
    }
}
