//! Charts as data. The program of a page draws them (`web/`); a page without it, or a reader who cannot see it, gets each
//! chart as a sentence; a terminal has sketches of characters.

pub mod bins;
pub mod delays;
pub mod flame;
pub mod lanes;
pub mod loss;
pub mod plane;
pub mod roofline;
pub mod samples;
pub mod spans;
pub mod timeline;
pub mod unit;

use serde::Serialize;

pub use bins::nice;

/// Most points, bars or series that a sentence names; the tables have all.
const NAMED: usize = 12;

/// What a picture shows, as data.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Picture {
    /// Points and curves over a common axis, in one pane or several.
    Plane(plane::Plane),
    /// How often each value occurred: percentiles, shares and bins of one series or several.
    Samples(samples::Samples),
    /// Lengths side by side, each of one part or several.
    Bars(Bars),
    /// Delays in bins of equal width, with mean and 3σ.
    Delays(delays::Panel),
    /// Two periods of a node.
    Timeline(timeline::Lanes),
    /// Paths of calls.
    Flame(flame::Flame),
    /// The first and the last event of each latency.
    Spans(spans::Spans),
}

impl Picture {
    /// Whether there is nothing to see.
    pub fn is_empty(&self) -> bool {
        match self {
            Picture::Plane(plane) => plane.is_empty(),
            Picture::Samples(of) => of.series.is_empty(),
            Picture::Bars(bars) => bars.rows.is_empty(),
            Picture::Delays(panel) => panel.curves.is_empty(),
            Picture::Timeline(of) => of.lanes.is_empty(),
            Picture::Flame(of) => of.bars.is_empty(),
            Picture::Spans(of) => of.rows.is_empty(),
        }
    }

    /// What it shows in words, for those who cannot see it; without capital letter and full stop.
    pub fn words(&self) -> String {
        match self {
            Picture::Plane(plane) => plane.words(),
            Picture::Samples(of) => list(of.series.iter().map(samples::Series::in_words)),
            Picture::Bars(bars) => list(bars.rows.iter().map(Bar::in_words)),
            Picture::Delays(panel) => list(panel.words().into_iter()),
            Picture::Timeline(of) => of.words(),
            Picture::Flame(of) => of.words(),
            Picture::Spans(of) => of.words(),
        }
    }
}

/// What an axis counts, which decides how the program of the page writes its ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Show {
    /// A number with a prefix.
    Si,
    /// Picoseconds.
    Time,
    /// A share, 0 to 1, as percent.
    Share,
    /// A whole number.
    Integer,
}

/// An axis.
#[derive(Clone, Debug, Serialize)]
pub struct Axis {
    /// What it counts, with its unit.
    pub name: String,
    /// How its values are written.
    pub show: Show,
    /// Whether it is logarithmic.
    pub log: bool,
    /// Its end, if not its largest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Whether it begins near its smallest value and not at 0, so that a change of some percent is visible.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub close: bool,
}

impl Axis {
    /// A linear axis from 0.
    pub fn linear(name: impl Into<String>, show: Show) -> Axis {
        Axis {
            name: name.into(),
            show,
            log: false,
            high: None,
            close: false,
        }
    }

    /// The axis of figures in a unit of the store.
    pub fn of_unit(unit: &str) -> Axis {
        match unit {
            "ps" => Axis::linear("time", Show::Time),
            "ratio" => Axis::linear("share", Show::Share),
            unit => Axis::linear(unit, Show::Si),
        }
    }

    /// A logarithmic axis.
    pub fn log(name: impl Into<String>, show: Show) -> Axis {
        Axis {
            log: true,
            ..Axis::linear(name, show)
        }
    }

    /// The same axis with an end.
    #[must_use]
    pub fn up_to(mut self, high: f64) -> Axis {
        self.high = Some(high).filter(|high| usable(*high));
        self
    }

    /// Whether a value lies on it.
    pub fn has(&self, value: f64) -> bool {
        usable(value) && (!self.log || value > 0.0)
    }
}

/// Figures outside of this range are not useful in a picture.
pub fn usable(value: f64) -> bool {
    value.is_finite() && value.abs() < 1e30
}

/// Bars from left to right.
#[derive(Serialize)]
pub struct Bars {
    /// The axis of their lengths. On a logarithmic axis a length of 0 is drawn left of its start.
    pub axis: Axis,
    /// The bars from top to bottom.
    pub rows: Vec<Bar>,
}

/// A bar.
#[derive(Serialize)]
pub struct Bar {
    /// What it belongs to.
    pub label: String,
    /// The trial, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<usize>,
    /// Its length in words.
    pub words: String,
    /// Its parts from left to right.
    pub parts: Vec<Part>,
}

/// A part of a bar.
#[derive(Serialize)]
pub struct Part {
    /// Parts of one name have one colour.
    pub name: String,
    /// Its start.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// The distance from its end within which most values lie.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// How it is drawn.
    pub look: Look,
    /// The text of its tooltip.
    pub words: String,
}

/// How a part of a bar is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    /// Filled, one colour for each name.
    Plain,
    /// A fault.
    Bad,
    /// A possible fault: an outline.
    Perhaps,
    /// No fault.
    Good,
    /// Undecided: an outline that is not an alarm.
    Open,
}

impl Bars {
    /// Without the parts and spreads that cannot be drawn, and without bars that have no other parts.
    #[must_use]
    pub fn tidied(mut self) -> Bars {
        for row in &mut self.rows {
            row.parts
                .retain(|part| usable(part.from) && usable(part.to));
            for part in &mut row.parts {
                part.spread = part.spread.filter(|spread| usable(*spread));
            }
        }
        self.rows.retain(|row| !row.parts.is_empty());
        self
    }
}

impl Bar {
    /// Whether none of its parts is a fault.
    pub fn is_good(&self) -> bool {
        self.parts.iter().all(|part| part.look == Look::Good)
    }

    fn in_words(&self) -> String {
        format!("{}: {}", self.label, self.words)
    }
}

/// The first of some items in a sentence, and how many more there are.
fn list(items: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = items.collect();
    let first: Vec<&str> = all.iter().take(NAMED).map(String::as_str).collect();
    match all.len() {
        n if n > NAMED => format!("{}; and {} more", first.join("; "), n - NAMED),
        _ => first.join("; "),
    }
}
