//! One way to show the interval of a figure, in every format.

use std::collections::BTreeMap;

use wirelab_trial::{IntervalBasis, Kind, Stated};

use crate::document::table::Cell;
use crate::loss;

/// Intervals by the name of their figure, as JSON has it.
pub type Intervals = BTreeMap<&'static str, Stated>;

/// The head of a column of intervals.
pub const HEAD: &str = "95 % interval";

/// From its lower to its upper end, each as its figure is shown; one of them if they look alike.
pub fn ends(interval: &Stated, show: impl Fn(f64) -> String) -> String {
    loss::ends(&show(interval.low), &show(interval.high))
}

/// The basis of an interval, in words.
pub fn over(interval: &Stated) -> String {
    let percent = crate::format::decimal(interval.confidence * 100.0, 0);
    match interval.over {
        IntervalBasis::Repeats => format!(
            "{percent} % interval {} ({})",
            interval.over.words(),
            interval.parts
        ),
        IntervalBasis::Parameters => format!(
            "{percent} % interval {}, without the effects that the model leaves out",
            interval.over.words()
        ),
        IntervalBasis::WithinRun => format!(
            "{percent} % interval {}, without the differences between runs",
            interval.over.words()
        ),
    }
}

/// A cell of a figure's interval: from end to end, and a note that says what it was taken over. Empty without one.
pub fn cell(interval: Option<Stated>, kind: Option<Kind>, show: impl Fn(f64) -> String) -> Cell {
    match (interval, kind) {
        (Some(interval), Some(_)) => Cell::Noted {
            text: ends(&interval, show),
            note: over(&interval),
            kind,
            alarm: false,
        },
        _ => Cell::Text(String::new()),
    }
}

/// Put an interval beside its figure, where there is one.
pub fn put(all: &mut Intervals, figure: &'static str, interval: Option<Stated>) {
    if let Some(interval) = interval {
        all.insert(figure, interval);
    }
}
