//! Histograms of delays as data: linear bins, overlaid series, mean and 3σ of each, and a count of the samples beyond
//! the bins.

use serde::Serialize;

use super::bins::{Binned, Bins};
use super::unit::Unit;
use crate::format;

/// Pictures under a heading.
pub struct Chapter {
    /// Its heading.
    pub title: String,
    /// What the pictures show.
    pub about: String,
    /// Whether they are side figures, which are shown on request.
    pub folded: bool,
    /// The pictures.
    pub panels: Vec<Panel>,
    /// Number of pictures left out.
    pub left_out: usize,
}

/// One histogram.
#[derive(Clone, Serialize)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// Where its figures come from and what they count.
    pub kind: String,
    /// The unit of its axis.
    pub unit: Unit,
    /// Its bins.
    pub bins: Bins,
    /// The curves in its bins.
    pub curves: Vec<Curve>,
}

/// One series of a histogram.
#[derive(Clone, Serialize)]
pub struct Curve {
    /// Its name.
    pub label: String,
    /// Frames in each bin, and above the last.
    pub binned: Binned,
    /// Mean, in picoseconds or instructions.
    pub mean: f64,
    /// 3σ, in picoseconds or instructions.
    pub three_sigma: f64,
    /// Median, in picoseconds or instructions.
    pub median: f64,
    /// Largest, in picoseconds or instructions.
    pub largest: f64,
}

impl Panel {
    /// A value of its axis in words.
    pub fn show(&self, value: f64) -> String {
        match self.unit.name {
            "instructions" => format::integer(value.round().max(0.0) as u64),
            _ => format::time_f(value),
        }
    }

    /// Each series in words, for those who cannot see it.
    pub fn words(&self) -> Vec<String> {
        let unit = match self.unit.name {
            "instructions" => String::new(),
            name => format!(" {name}"),
        };
        let each = self.curves.iter().map(|c| {
            let beyond = match c.binned.beyond {
                0 => String::new(),
                n => format!(
                    "; {} beyond {}, the largest {}",
                    format::integer(n),
                    self.show(self.bins.high()),
                    self.show(c.largest)
                ),
            };
            let [mean, three_sigma, median] =
                [c.mean, c.three_sigma, c.median].map(|value| self.unit.number(value));
            format!(
                "{}: mean {mean}, 3σ {three_sigma}, median {median}{unit}{beyond}",
                c.label
            )
        });
        each.collect()
    }
}
