//! A picture of loss: one bar for each trial and direction, on a scale that shows one frame in a billion and all of them.

use super::{Axis, Bar, Bars, Look, Part, Show};
use crate::loss::Loss;

/// Most bars of the picture; the table has all.
const BARS: usize = 60;

/// The loss of a trial in one direction.
pub struct LossShare {
    /// Trial, size and direction.
    pub label: String,
    /// The trial, from 1.
    pub trial: usize,
    /// Share of its frames that were lost.
    pub loss: Loss<f64>,
    /// The loss in words, with its kind.
    pub words: String,
}

/// The bars of the rows that counted frames.
pub fn bars(counted: Vec<LossShare>) -> Bars {
    let bar = |of: LossShare| {
        let words = format!("{} lost", of.words);
        let part = |from, to, look, name: &str| Part {
            name: name.to_owned(),
            from,
            to,
            spread: None,
            look,
            words: words.clone(),
        };
        let (low, high) = (of.loss.low, of.loss.at_most());
        let certain = match low > 0.0 {
            true => part(0.0, low, Look::Bad, "lost"),
            false => part(0.0, 0.0, Look::Good, "none lost"),
        };
        let perhaps = high.map(|high| part(low, high, Look::Perhaps, "perhaps lost"));
        Bar {
            label: of.label,
            trial: Some(of.trial),
            words: of.words,
            parts: std::iter::once(certain).chain(perhaps).collect(),
        }
    };
    let bars = Bars {
        axis: Axis::log("share of frames lost", Show::Share).up_to(1.0),
        rows: counted.into_iter().take(BARS).map(bar).collect(),
    };
    bars.tidied()
}
