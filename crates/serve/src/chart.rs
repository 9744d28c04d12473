//! A figure over runs as a picture: medians, their spread, levels and changes.

use wirelab_report::chart::plane::{LineLook, Pane, Plane, PlaneLine, Point, Series};
use wirelab_report::chart::{Axis, Picture, Show};
use wirelab_report::compare::{change, value};
use wirelab_report::document::Gallery;
use wirelab_report::format::{count, utc};

use crate::trend::Trend;

/// The picture; a point says in words which run it is.
pub fn gallery(trend: &Trend) -> Gallery {
    let figure = &trend.points[0].figure;
    let points = trend.points.iter().enumerate();
    let points = points.map(|(at, run)| point(at, run)).collect();
    let level = |runs: std::ops::Range<usize>| {
        let medians = trend.points[runs.clone()]
            .iter()
            .map(|run| run.figure.median);
        let mut medians: Vec<f64> = medians.collect();
        medians.sort_by(f64::total_cmp);
        let level = medians[medians.len() / 2];
        let ends = [runs.start as f64 + 0.6, runs.end as f64 + 0.4];
        PlaneLine {
            name: "level".to_owned(),
            look: LineLook::Limit,
            points: ends.map(|x| (x, level)).into(),
        }
    };
    let plane = Plane {
        x: Axis::linear("runs, the earliest on the left", Show::Integer),
        panes: vec![Pane {
            y: Axis {
                close: true,
                ..Axis::of_unit(&figure.unit)
            },
            series: vec![Series {
                kind: Some(figure.kind),
                ..Series::plain(String::new(), false, points)
            }],
            lines: trend.levels().into_iter().map(level).collect(),
        }],
        marked: trend
            .changes
            .iter()
            .map(|of| (of.at as f64 + 0.5, change(trend.scale, of.shift.change)))
            .collect(),
    };
    Gallery {
        pictures: vec![(words(trend), Picture::Plane(plane.tidied()))],
        wide: true,
        ..Gallery::default()
    }
}

fn point(at: usize, run: &wirelab_store::TrendPoint) -> Point {
    let figure = &run.figure;
    let tester = figure.tester_limited > 0;
    let note = match tester {
        true => ", the tester was the limit",
        false => "",
    };
    let [median, low, high] =
        [figure.median, figure.low, figure.high].map(|of| value(&figure.unit, of));
    let words = format!(
        "run {}, {}: {median}, {low} to {high} of {}{note}",
        run.run,
        utc(run.created_unix_ns),
        count(figure.repeats, "repeat"),
    );
    Point {
        spread: Some((figure.low, figure.high)),
        tester,
        ..Point::new((at + 1) as f64, figure.median, words, None)
    }
}

/// The picture in a sentence.
fn words(trend: &Trend) -> String {
    let figure = &trend.points[0].figure;
    let found = match trend.changes.len() {
        0 => "its level did not change".to_owned(),
        1 => "its level changed once".to_owned(),
        n => format!("its level changed {n} times"),
    };
    format!(
        "{} of {} over {} runs: {found}. A stroke goes from the lowest to the highest repeat of a run.",
        figure.figure,
        figure.trial,
        trend.points.len()
    )
}
