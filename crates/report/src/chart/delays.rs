//! Histograms of delays: linear bins, the series over each other, mean and 3σ of each above them, and what lies beyond
//! the picture counted beside it.

use super::bins::{Binned, Bins};
use super::svg::{Canvas, Mark, Scale, nice};
use super::unit::Unit;
use crate::document::escape::{clip, line, xml};
use crate::format;

const WIDTH: f64 = 480.0;
const PLOT: f64 = 160.0;
/// Height of the line with mean and 3σ of a series, with a short name at its left or a long one above it.
const STRIP: f64 = 15.0;
const TALL_STRIP: f64 = 28.0;
/// Room at the right for the count of what lies beyond.
const BEYOND: f64 = 84.0;
/// Longest name of a series, and width of a character.
const NAME: usize = 48;
const CHARACTER: f64 = 6.0;
/// Longest name that stands beside its strip and on its peak.
const SHORT: usize = 9;

/// Pictures under a heading.
pub struct Chapter {
    /// Its heading.
    pub title: String,
    /// What a reader sees in them.
    pub about: String,
    /// Whether they are side figures, which are shown when asked for.
    pub folded: bool,
    /// The pictures.
    pub panels: Vec<Panel>,
    /// Pictures that had no room.
    pub left_out: usize,
}

/// One histogram.
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// Where its figures come from and what they count.
    pub kind: String,
    /// The unit of its axis.
    pub unit: Unit,
    /// Its bins.
    pub bins: Bins,
    /// What is drawn into them.
    pub curves: Vec<Curve>,
}

/// One series of a histogram.
pub struct Curve {
    /// Its name.
    pub label: String,
    /// Frames of each bin, and beyond.
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

/// Pictures under their heading; `id` makes their ids unique.
pub fn chapter(chapter: &Chapter, id: &str) -> String {
    let title = xml(&line(&chapter.title));
    let mut panels = String::new();
    for (n, panel) in chapter.panels.iter().enumerate() {
        panels.push_str(&figure(panel, &format!("{id}-{n}")));
    }
    let more = match chapter.left_out {
        0 => String::new(),
        n => format!("<p class=\"quiet\">{n} more are in the tables.</p>\n"),
    };
    let about = xml(&line(&chapter.about));
    let body =
        format!("<p class=\"quiet\">{about}</p>\n<div class=\"delays\">\n{panels}</div>\n{more}");
    match chapter.folded {
        true => format!("<details>\n<summary>{title}</summary>\n{body}</details>\n"),
        false => format!("<h2>{title}</h2>\n{body}"),
    }
}

fn figure(panel: &Panel, id: &str) -> String {
    let words = panel.words();
    let items: String = words
        .iter()
        .map(|w| format!("<li>{}</li>\n", xml(&line(w))))
        .collect();
    let title = line(&panel.title);
    format!(
        "<figure>\n<figcaption>{} <small>{}</small></figcaption>\n{}<ul>\n{items}</ul>\n</figure>\n",
        xml(&title),
        xml(&panel.kind),
        draw(panel, id, &title, &words.join(". "))
    )
}

fn draw(panel: &Panel, id: &str, title: &str, words: &str) -> String {
    let names: Vec<String> = panel
        .curves
        .iter()
        .map(|c| clip(&line(&c.label), NAME))
        .collect();
    let short = names.iter().all(|n| n.chars().count() <= SHORT);
    let strip_height = if short { STRIP } else { TALL_STRIP };
    let left = SHORT as f64 * CHARACTER + 10.0;
    let top = strip_height * panel.curves.len() as f64 + 24.0;
    let height = top + PLOT + 42.0;
    let scale = panel.unit.scale();
    let x = Scale {
        low: panel.bins.low / scale,
        high: panel.bins.high() / scale,
        from: left,
        to: WIDTH - BEYOND,
        log: false,
    };
    let counts = panel.curves.iter().flat_map(|c| &c.binned.counts);
    let tallest = counts.copied().max().unwrap_or(1).max(1) as f64;
    let step = nice(tallest / 4.0).max(1.0);
    let y = Scale {
        low: 0.0,
        high: (tallest * 1.08 / step).ceil() * step,
        from: top + PLOT,
        to: top,
        log: false,
    };
    let mut picture = Canvas::new(id, WIDTH, height);
    let name = format!("delay in {}", panel.unit.name);
    let number = |v: f64| {
        let text = format::decimal(v, 6);
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    };
    picture.axes((&x, &name, 6, &number), (&y, "", 4, &number));
    let width = panel.show(panel.bins.width);
    picture.text(
        "name",
        "start",
        (x.from, y.to - 6.0),
        &format!("frames in each {width}"),
    );
    for (n, (curve, name)) in panel.curves.iter().zip(&names).enumerate() {
        let class = format!("h{n}");
        picture.curve(
            &format!("hist {class}"),
            outline(curve, panel, &x, &y).into_iter(),
        );
        let below = strip_height * (n + 1) as f64;
        match short {
            true => picture.text("value", "end", (x.from - 8.0, below - 1.0), name),
            false => picture.text("value", "start", (x.from, below - 14.0), name),
        }
        strip(
            &mut picture,
            panel,
            curve,
            (&x, scale),
            (n, name, below - 5.0),
        );
    }
    // Above all series, since the one in front would cover them.
    let mut taken = Vec::new();
    for (curve, name) in panel.curves.iter().zip(&names).filter(|_| short) {
        peak(&mut picture, panel, curve, name, (&x, &y), &mut taken);
    }
    picture.finish(title, words)
}

/// The upper edge of a histogram, from the floor to the floor; bins without a frame that follow each other are one.
fn outline(curve: &Curve, panel: &Panel, x: &Scale, y: &Scale) -> Vec<(f64, f64)> {
    let edge = |at: usize| {
        let value = panel.bins.low + panel.bins.width * at as f64;
        x.at(value / panel.unit.scale())
    };
    let counts = &curve.binned.counts;
    let mut points = vec![(x.from, y.from)];
    let mut level = 0;
    for (at, count) in counts.iter().enumerate().filter(|(at, n)| {
        let before = at.checked_sub(1).map_or(0, |before| counts[before]);
        **n != before
    }) {
        points.push((edge(at), y.at(level as f64)));
        points.push((edge(at), y.at(*count as f64)));
        level = *count;
    }
    points.push((x.to, y.at(level as f64)));
    points.push((x.to, y.from));
    points
}

/// Mean and 3σ of a series above the plot, its name at the left and what lies beyond at the right.
fn strip(
    picture: &mut Canvas,
    panel: &Panel,
    curve: &Curve,
    (x, scale): (&Scale, f64),
    (n, name, level): (usize, &str, f64),
) {
    let class = format!("h{n}");
    let values = [-1.0, 0.0, 1.0].map(|sign| (curve.mean + sign * curve.three_sigma) / scale);
    let [low, mean, high] = values.map(|value| x.at(value));
    picture.line(&format!("whisker {class}"), (low, level), (high, level));
    // A whisker that leaves the picture has no end in it.
    for value in [values[0], values[2]] {
        if (x.low..=x.high).contains(&value) {
            let end = x.at(value);
            let ends = [level - 3.5, level + 3.5].map(|y| (end, y));
            picture.line(&format!("whisker {class}"), ends[0], ends[1]);
        }
    }
    let title = format!(
        "{name}: mean {}, 3σ {}",
        panel.show(curve.mean),
        panel.show(curve.three_sigma)
    );
    // A mean beyond the picture stands in the words below it alone.
    if (x.low..=x.high).contains(&values[1]) {
        let class = format!("center {class}");
        picture.mark(Mark::Diamond, &class, (mean, level), &title);
    }
    if curve.binned.beyond > 0 {
        let text = format!("{} beyond →", format::integer(curve.binned.beyond));
        picture.text("value", "start", (x.to + 6.0, level + 4.0), &text);
    }
}

/// The name of a series on its highest bin.
fn peak(
    picture: &mut Canvas,
    panel: &Panel,
    curve: &Curve,
    name: &str,
    (x, y): (&Scale, &Scale),
    taken: &mut Vec<(f64, f64)>,
) {
    let counts = curve.binned.counts.iter().enumerate();
    let Some((at, count)) = counts.max_by_key(|(at, n)| (**n, std::cmp::Reverse(*at))) else {
        return;
    };
    if *count == 0 {
        return;
    }
    let middle = panel.bins.low + panel.bins.width * (at as f64 + 0.5);
    let half = name.chars().count() as f64 * CHARACTER / 2.0;
    let across = x
        .at(middle / panel.unit.scale())
        .clamp(x.from + half, x.to - half);
    let mut level = (y.at(*count as f64) - 4.0).max(y.to + 9.0);
    let hidden = |level: f64, taken: &[(f64, f64)]| {
        let near =
            |(a, l): &(f64, f64)| (a - across).abs() < 2.5 * half && (l - level).abs() < 11.0;
        taken.iter().any(near)
    };
    while hidden(level, taken) && level < y.from {
        level += 12.0;
    }
    taken.push((across, level));
    picture.text("value", "middle", (across, level), name);
}
