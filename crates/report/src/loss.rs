//! Losses that the tester cannot know to the last frame: from what was lost for certain to what may have been.

use wirelab_trial::{Counts, Field, FlowObservation};

use crate::document::table::Cell;
use crate::format::integer;

/// The note on a loss of which only a range is known.
pub const NOTE: &str = "the tester's own queue dropped an unknown number of frames: at least the first figure was lost, and at most the \
    second";

/// The certain and the possible loss; equal if all is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss<T> {
    /// Lost for certain.
    pub low: T,
    /// Lost at most.
    pub high: T,
}

impl<T: Copy + PartialOrd> Loss<T> {
    /// From the certain loss to `at_most`, if that is known and larger.
    pub fn new(low: T, at_most: Option<T>) -> Loss<T> {
        let high = at_most.filter(|high| *high > low).unwrap_or(low);
        Loss { low, high }
    }

    /// The possible loss, if that is more than the certain one.
    pub fn at_most(self) -> Option<T> {
        (self.high > self.low).then_some(self.high)
    }

    /// Both ends as the figure is shown, where they differ.
    pub fn show(self, show: impl Fn(T) -> String) -> String {
        match self.at_most() {
            Some(high) => ends(&show(self.low), &show(high)),
            None => show(self.low),
        }
    }

    /// A cell of both ends, with a note where they differ.
    pub fn cell(field: Field<Loss<T>>, show: impl Fn(T) -> String) -> Cell {
        let known = field.value().is_none_or(|of| of.at_most().is_none());
        let cell = Cell::of(field, |of| of.show(&show));
        match known {
            true => cell,
            false => cell.with_note(NOTE),
        }
    }
}

impl Loss<u64> {
    /// The sum of both.
    pub fn plus(self, other: Loss<u64>) -> Loss<u64> {
        Loss {
            low: self.low.saturating_add(other.low),
            high: self.high.saturating_add(other.high),
        }
    }
}

/// Both ends, or one of them if they look alike.
pub fn ends(low: &str, high: &str) -> String {
    match low == high {
        true => low.to_owned(),
        false => format!("{low}–{high}"),
    }
}

/// Frames lost, of what a receiver counted.
pub fn frames(counts: &Counts) -> Loss<u64> {
    Loss {
        low: counts.lost_frames,
        high: counts.lost_frames_at_most(),
    }
}

/// The share of frames that a flow lost.
pub fn share(flow: &FlowObservation) -> Field<Loss<f64>> {
    let of = flow.loss_ratio.clone();
    of.map(|low| Loss::new(low, flow.loss_ratio_at_most))
}

/// Frames lost in a sentence, e.g. `3 lost` or `3 lost, 900 lost or missed by the tester`.
pub fn in_words(of: Loss<u64>) -> String {
    let lost = format!("{} lost", integer(of.low));
    match of.at_most() {
        Some(high) => format!(
            "{lost}, {} lost or missed by the tester",
            integer(high - of.low)
        ),
        None => lost,
    }
}
