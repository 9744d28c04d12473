//! A figure of each flow against a size: efficiency against payload, or frames/s against frame size.

use std::collections::BTreeMap;

use wirelab_trial::{Direction, Kind};

use super::svg::{Canvas, Mark, Scale, nice};
use crate::format;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 380.0;
/// A letter of a legend is about this wide; no font is at hand to measure it.
const LETTER: f64 = 6.4;

/// One figure of one flow.
pub struct Point {
    /// Where it stands across, in bytes.
    pub bytes: u32,
    /// Where it stands up.
    pub value: f64,
    /// As the node sees it.
    pub direction: Direction,
    /// Where the figure comes from.
    pub kind: Kind,
    /// In words.
    pub title: String,
}

/// Figures of flows against their size.
pub struct Scatter {
    /// What the axis across counts, with its unit.
    pub x: &'static str,
    /// What the axis up counts, with its unit.
    pub y: &'static str,
    /// A tick of the axis up in words.
    pub show: fn(f64) -> String,
    /// A figure in words.
    pub words: fn(f64) -> String,
    /// Where the axes end.
    pub high: (f64, f64),
    /// The figures.
    pub points: Vec<Point>,
    /// Curves that no figure can lie above.
    pub limits: Vec<Vec<(f64, f64)>>,
    /// Limits at one size.
    pub ceilings: Vec<(u32, f64)>,
    /// What both kinds of limits are.
    pub limit: Option<&'static str>,
}

/// Sizes of which the figures stand beside the marks.
const VALUES: usize = 12;

/// Classes of a mark: its direction and where its figure comes from.
pub fn class(direction: Direction, kind: Kind) -> String {
    let way = match direction {
        Direction::Transmit => "tx",
        Direction::Receive => "rx",
        Direction::Both | Direction::Echo => "echo",
    };
    format!("{way} {}", kind)
}

/// The shape of a direction's marks.
pub const fn mark(direction: Direction) -> Mark {
    match direction {
        Direction::Transmit => Mark::Up,
        Direction::Receive => Mark::Down,
        Direction::Both | Direction::Echo => Mark::Diamond,
    }
}

/// Marks and what they stand for, for those that occur.
fn legend(picture: &mut Canvas, points: &[Point], curve: Option<&str>) {
    let (mut at, mut y) = (56.0, HEIGHT - 14.0);
    if let Some(name) = curve {
        picture.line("limit", (at, y), (at + 22.0, y));
        picture.text("tick", "start", (at + 28.0, y + 4.0), name);
        at += 44.0 + LETTER * name.chars().count() as f64;
    }
    let mut seen: Vec<(Direction, Kind)> = Vec::new();
    for p in points {
        if !seen.contains(&(p.direction, p.kind)) {
            seen.push((p.direction, p.kind));
        }
    }
    for (direction, kind) in seen {
        let name = format!("{direction}, {}", kind);
        let room = 34.0 + LETTER * name.chars().count() as f64;
        if at + room > WIDTH {
            (at, y) = (56.0, y + 20.0);
            picture.grow(20.0);
        }
        let style = class(direction, kind);
        picture.mark(mark(direction), &style, (at + 6.0, y), &name);
        picture.text("tick", "start", (at + 18.0, y + 4.0), &name);
        at += room;
    }
}

const fn plane(x_high: f64, y_high: f64) -> (Scale, Scale) {
    let x = Scale {
        low: 0.0,
        high: x_high,
        from: 56.0,
        to: WIDTH - 20.0,
        log: false,
    };
    let y = Scale {
        low: 0.0,
        high: y_high,
        from: HEIGHT - 74.0,
        to: 36.0,
        log: false,
    };
    (x, y)
}

/// Room for the largest size: a usual frame, or a jumbo frame.
pub fn size_limit(largest: u32) -> f64 {
    let largest = f64::from(largest);
    if largest <= 1600.0 {
        return 1600.0;
    }
    let step = nice(largest / 10.0);
    (largest / step).ceil() * step
}

/// The picture; `None` without a figure.
pub fn draw(of: &Scatter, id: &str, title: &str) -> Option<String> {
    if of.points.is_empty() {
        return None;
    }
    let (x, y) = plane(of.high.0, of.high.1);
    let mut picture = Canvas::new(id, WIDTH, HEIGHT);
    picture.axes(
        (&x, of.x, 8, &|v| format::decimal(v, 0)),
        (&y, of.y, 5, &of.show),
    );
    for limit in &of.limits {
        picture.curve("limit", limit.iter().map(|(s, v)| (x.at(*s), y.at(*v))));
    }
    for (bytes, value) in &of.ceilings {
        let (at, level) = (x.at(f64::from(*bytes)), y.at(*value));
        picture.line("limit", (at - 14.0, level), (at + 14.0, level));
    }
    for p in &of.points {
        let place = (x.at(f64::from(p.bytes)), y.at(p.value));
        let class = class(p.direction, p.kind);
        picture.mark(mark(p.direction), &class, place, &p.title);
    }
    let ranges: Vec<(u32, f64, String)> = ranges(of);
    if ranges.len() <= VALUES && !of.limits.is_empty() {
        for (bytes, low, words) in &ranges {
            let (at, level) = (x.at(f64::from(*bytes)), y.at(*low));
            // To the right where the curve is steep, so that it does not cross the words.
            let (anchor, place) = match level + 26.0 {
                _ if at < x.at(x.high / 6.0) => ("start", (at + 12.0, level + 10.0)),
                below if below < y.from - 4.0 => ("middle", (at, below)),
                _ => ("middle", (at, level - 14.0)),
            };
            picture.text("value", anchor, place, words);
        }
    }
    legend(&mut picture, &of.points, of.limit);
    let described = ranges.iter().take(50);
    let described = described.map(|(bytes, _, words)| format!("{bytes} B: {words}"));
    Some(picture.finish(title, &described.collect::<Vec<_>>().join("; ")))
}

/// Of each size its smallest figure, and both ends of its figures in words.
fn ranges(of: &Scatter) -> Vec<(u32, f64, String)> {
    let mut out: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for p in &of.points {
        let range = out.entry(p.bytes).or_insert((p.value, p.value));
        *range = (range.0.min(p.value), range.1.max(p.value));
    }
    let words = |(low, high): (f64, f64)| crate::loss::ends(&(of.words)(low), &(of.words)(high));
    let each = out.into_iter();
    each.map(|(bytes, range)| (bytes, range.0, words(range)))
        .collect()
}
