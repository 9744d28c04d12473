//! A figure over runs: its levels, and where they changed.

use wirelab_report::compare::figures::scale;
use wirelab_statistics::change::{Change, changes};
use wirelab_statistics::shift::Scale;
use wirelab_store::TrendPoint;

/// The share of unchanged figures that are reported as changed.
const WRONG: f64 = 0.05;

/// A figure over runs.
pub struct Trend {
    /// Its runs, the earliest first; at least one.
    pub points: Vec<TrendPoint>,
    /// Where its level changed.
    pub changes: Vec<Change>,
    /// How it changes.
    pub scale: Scale,
}

/// A change, from the reader's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// Better.
    Better,
    /// Worse.
    Worse,
}

impl Trend {
    /// The trend of a figure's runs; `None` if there are none.
    pub fn of(points: Vec<TrendPoint>) -> Option<Trend> {
        let first = &points.first()?.figure;
        let scale = scale(&first.unit);
        let medians: Vec<f64> = points.iter().map(|point| point.figure.median).collect();
        Some(Trend {
            changes: changes(&medians, scale, WRONG),
            points,
            scale,
        })
    }

    /// The runs between two changes, as ranges of [`Trend::points`].
    pub fn levels(&self) -> Vec<std::ops::Range<usize>> {
        let begins = std::iter::once(0).chain(self.changes.iter().map(|change| change.at));
        let ends = self.changes.iter().map(|change| change.at);
        let ends = ends.chain(std::iter::once(self.points.len()));
        begins.zip(ends).map(|(begin, end)| begin..end).collect()
    }

    /// Whether a change is for the better.
    pub fn sense(&self, change: &Change) -> Sense {
        let higher = change.shift.change > 0.0;
        match higher == self.points[0].figure.higher_is_better {
            true => Sense::Better,
            false => Sense::Worse,
        }
    }
}
