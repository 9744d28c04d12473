//! The pictures of a comparison: the curves of both runs over the payload, and the change with its interval below them.

use std::collections::{BTreeSet, HashMap};

use wirelab_statistics::shift::Scale;
use wirelab_trial::Interval;

use super::shown::{change, value};
use super::{Comparison, Figure};
use crate::chart::plane::{LineLook, Pane, Plane, PlaneLine, Point, Series};
use crate::chart::{Axis, Picture, Show};
use crate::document::escape::{clip, line};
use crate::document::{Block, Chart, Gallery, Medium};

/// Most pictures; the table has all figures.
const PICTURES: usize = 24;

/// A picture of each figure that both runs have at several payloads, for a page.
pub fn blocks(comparison: &Comparison) -> Option<Block<'static>> {
    let mut places: HashMap<(&str, &str), usize> = HashMap::new();
    let mut curves: Vec<(&str, &str, Vec<&Figure>)> = Vec::new();
    for figure in &comparison.figures {
        let Some(on) = &figure.on else { continue };
        let place = *places.entry((&on.of, &figure.figure)).or_insert_with(|| {
            curves.push((&on.of, &figure.figure, Vec::new()));
            curves.len() - 1
        });
        curves[place].2.push(figure);
    }
    curves.retain(|(_, _, figures)| {
        // The table shows everything that does not vary.
        let changed = figures.iter().any(|figure| figure.change != Some(0.0));
        let payloads = figures.iter().map(|figure| payload(figure).to_bits());
        changed && payloads.collect::<BTreeSet<u64>>().len() > 1
    });
    let left_out = curves.len().saturating_sub(PICTURES);
    let drawn = curves.into_iter().take(PICTURES);
    let pictures: Vec<(String, Picture)> = drawn
        .map(|(of, name, figures)| {
            let caption = clip(&line(&format!("{of}: {name}")), 100);
            (caption, Picture::Plane(plane(comparison, figures)))
        })
        .collect();
    (!pictures.is_empty()).then(|| {
        let gallery = Gallery {
            title: "Both runs",
            about: "Above the medians of both runs, below the change from the first run to the second with its 95 % \
                    interval.",
            pictures,
            left_out,
            wide: true,
            ..Gallery::default()
        };
        Block::Only(Medium::Page, vec![Block::Chart(Chart::Gallery(gallery))])
    })
}

fn payload(figure: &Figure) -> f64 {
    figure
        .on
        .as_ref()
        .map_or(f64::NAN, |on| f64::from(on.payload_bytes))
}

fn plane(comparison: &Comparison, mut figures: Vec<&Figure>) -> Plane {
    figures.sort_by(|a, b| payload(a).total_cmp(&payload(b)));
    let first = figures[0];
    let of_run = |name: &str, get: fn(&Figure) -> f64| {
        let point = |figure: &&Figure| {
            let bytes = payload(figure);
            let words = format!("{name}, {bytes} bytes: {}", value(figure.unit, get(figure)));
            Point::new(bytes, get(figure), words, None)
        };
        let points = figures.iter().map(point).collect();
        let kind = Some(first.kind);
        Series {
            kind,
            ..Series::plain(name.to_owned(), true, points)
        }
    };
    let (before, after) = (line(&comparison.before.name), line(&comparison.after.name));
    let changed = |figure: &&Figure| {
        let (bytes, by) = (payload(figure), figure.change?);
        let words = format!("{bytes} bytes: {}", change(figure.scale, by));
        Some(Point::new(bytes, by, words, None))
    };
    let changes = figures.iter().filter_map(changed).collect();
    let changes = Series::plain("change".to_owned(), true, changes);
    let interval = |end: fn(Interval) -> f64| PlaneLine {
        name: "its interval".to_owned(),
        look: LineLook::Limit,
        points: figures
            .iter()
            .filter_map(|figure| Some((payload(figure), end(figure.tested()?))))
            .collect(),
    };
    let below = match first.scale {
        Scale::Ratio => "change",
        Scale::Difference => "change in percentage points",
    };
    let plane = Plane {
        x: Axis::linear("payload in bytes", Show::Integer),
        panes: vec![
            Pane {
                y: Axis::of_unit(first.unit),
                series: vec![
                    of_run(&before, |figure| figure.before_median),
                    of_run(&after, |figure| figure.after_median),
                ],
                lines: Vec::new(),
            },
            Pane {
                y: Axis::linear(below, Show::Share),
                series: vec![changes],
                lines: vec![interval(|i| i.low), interval(|i| i.high)],
            },
        ],
        marked: Vec::new(),
    };
    plane.tidied()
}
