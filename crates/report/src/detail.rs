//! Tables beside the main one: series of times, series of instruction counts, a node's own counters.

use std::collections::HashMap;

use wirelab_trial::{
    ClockKind, Field, Observation, Owner, PercentileIntervals, ResultsFile, Series, Stated,
};

use crate::document::escape::{clip, line};
use crate::document::table::{Cell, Head, Shown, Table};
use crate::document::trials_in_words;
use crate::finding;
use crate::format;
use crate::interval;
use crate::stats::percentile;

fn head(name: &'static str, unit: &'static str, number: bool, rank: u8) -> Head {
    Head {
        number,
        ..Head::figures(name, unit, Shown::Always, rank)
    }
}

/// A column of the intervals of a percentile; short series have none.
fn interval_head(name: &'static str) -> Head {
    Head {
        shown: Shown::IfObserved,
        ..head(name, "", true, 5)
    }
}

/// A series and where it was taken.
pub struct LocatedSeries<'a> {
    /// Number of the trial, from 1.
    pub trial: usize,
    /// The flow's name, or the trial as a whole.
    pub of: String,
    /// The series.
    pub series: &'a Series,
}

/// Every series of a file with samples in it, in order.
pub fn series(file: &ResultsFile) -> Vec<LocatedSeries<'_>> {
    let mut out = Vec::new();
    for (at, o) in file.observations.iter().enumerate() {
        let mut add = |of: &str, series| {
            let of = of.to_owned();
            out.push(LocatedSeries {
                trial: at + 1,
                of,
                series,
            });
        };
        for flow in &o.flows {
            let of = finding::name(flow);
            flow.series.iter().for_each(|s| add(&of, s));
        }
        o.series.iter().for_each(|s| add("whole trial", s));
    }
    out
}

/// The series of a trial with those of one name and direction put together, as its flows are. Only within one
/// trial: a search through all trials for each would take quadratic time.
pub fn merged(trial: usize, o: &Observation) -> Vec<(usize, String, Series)> {
    let mut out: Vec<(usize, String, Series)> = Vec::new();
    for flow in &o.flows {
        let of = flow.direction.to_string();
        for s in &flow.series {
            let alike = |(_, place, known): &&mut (usize, String, Series)| {
                let same = known.name == s.name && known.clock == s.clock && known.kind == s.kind;
                *place == of && same
            };
            match out.iter_mut().find(alike) {
                // Ticks of one clock always merge; a hostile file that says otherwise keeps the first.
                Some((_, _, known)) => {
                    known.sampled = true;
                    known.intervals = PercentileIntervals::default();
                    let _ = known.histogram.merge(&s.histogram);
                }
                None => out.push((trial, of.clone(), s.clone())),
            }
        }
    }
    let whole = o.series.iter();
    out.extend(whole.map(|s| (trial, "whole trial".to_owned(), s.clone())));
    out
}

/// One table for each kind of clock that occurs, since these never mix. A row for each flow, or one for each
/// direction.
pub fn series_tables(file: &ResultsFile, each_flow: bool) -> Vec<Table> {
    let observations = file.observations.iter().enumerate();
    let merged: Vec<_> = match each_flow {
        true => Vec::new(),
        false => observations.flat_map(|(at, o)| merged(at + 1, o)).collect(),
    };
    let all = if each_flow {
        series(file)
    } else {
        let located = |(trial, of, series)| LocatedSeries { trial, of, series };
        merged
            .iter()
            .map(|(trial, of, series)| located((*trial, of.clone(), series)))
            .collect()
    };
    [
        (ClockKind::Wall, "Times"),
        (ClockKind::Simulated, "Simulated times"),
        (
            ClockKind::Instructions,
            "Instruction counts (no times: an instruction has no fixed duration)",
        ),
    ]
    .into_iter()
    .filter_map(|(clock, caption)| {
        let of: Vec<&LocatedSeries<'_>> = all
            .iter()
            .filter(|p| p.series.clock.kind == clock)
            .collect();
        (!of.is_empty()).then(|| series_table(caption, &of))
    })
    .collect()
}

fn series_table(caption: &str, all: &[&LocatedSeries<'_>]) -> Table {
    let heads = vec![
        head("#", "", true, 0),
        head("of", "", false, 0),
        head("series", "", false, 0),
        head("clock", "", false, 2),
        head("samples", "", true, 4),
        head("unit", "", false, 0),
        head("min", "", true, 3),
        head("median", "", true, 0),
        interval_head("median, 95 % interval"),
        head("mean", "", true, 0),
        head("p99", "", true, 0),
        interval_head("p99, 95 % interval"),
        head("max", "", true, 0),
        head("std. dev.", "", true, 1),
        head("3 σ", "", true, 2),
    ];
    Table::new(
        caption,
        heads,
        all.iter().map(|one| series_row(one)).collect(),
    )
}

fn series_row(located: &LocatedSeries<'_>) -> Vec<Cell> {
    let series = located.series;
    let h = &series.histogram;
    let median = percentile(series, 0.5);
    // A unit for the whole row, chosen by what is typical; a clock without a tick has no time.
    let (unit, scale) = match series.clock.kind {
        ClockKind::Instructions => ("instructions", 1.0),
        ClockKind::Wall | ClockKind::Simulated => match series.clock.tick_ps {
            Some(tick) => {
                let tick = tick as f64;
                let (unit, ps) = format::time_unit(median.unwrap_or(h.max_ticks) as f64 * tick);
                (unit, tick / ps)
            }
            None => ("ticks", 1.0),
        },
    };
    let places = if scale == 1.0 { 0 } else { 3 };
    let empty = || Field::absent("the series has no samples");
    let ticks = |ticks: Option<f64>, places| {
        let field = match ticks {
            Some(value) => Field::Observed {
                value: value * scale,
                kind: series.kind,
            },
            None => empty(),
        };
        Cell::of(field, |v| format::decimal(v, places))
    };
    let between = |ticks: Option<Stated>| {
        let scaled = ticks.map(|of| of.times(scale));
        interval::cell(scaled, Some(series.kind), |v| format::decimal(v, places))
    };
    let some = |v: u64| (h.count > 0).then_some(v as f64);
    let name = |text: &str| Cell::Text(clip(&line(text), 40));
    let owner = match series.clock.owner {
        Owner::Tester => "tester",
        Owner::Node => "node",
    };
    vec![
        Cell::Trials(vec![located.trial]),
        name(&located.of),
        name(&series.name.to_string()),
        Cell::Text(format!("{owner}'s")),
        Cell::Text(format::integer(h.count)),
        Cell::Text(unit.to_owned()),
        ticks(some(h.min_ticks), places),
        ticks(median.map(|v| v as f64), places),
        between(series.intervals.p50_ticks),
        ticks((h.count > 0).then_some(h.mean_ticks), places.max(1)),
        ticks(percentile(series, 0.99).map(|v| v as f64), places),
        between(series.intervals.p99_ticks),
        ticks(some(h.max_ticks), places),
        ticks((h.count > 0).then_some(h.stddev_ticks), places.max(1)),
        ticks((h.count > 0).then_some(3.0 * h.stddev_ticks), places.max(1)),
    ]
}

/// The nodes' own counters; `None` where there are none.
pub fn counters(file: &ResultsFile) -> Option<Table> {
    let mut found: Vec<(Vec<usize>, String, &str, &Field<u64>)> = Vec::new();
    let mut places: HashMap<(String, &str, &Field<u64>), usize> = HashMap::new();
    for (at, o) in file.observations.iter().enumerate() {
        let flows = o
            .flows
            .iter()
            .map(|f| (f.direction.to_string(), &f.counters));
        let whole = ("whole trial".to_owned(), &o.counters);
        for (of, counters) in flows.chain(std::iter::once(whole)) {
            for (name, value) in counters {
                // The same figure of many flows or trials is one row.
                let place = places.entry((of.clone(), name, value)).or_insert_with(|| {
                    found.push((Vec::new(), of.clone(), name, value));
                    found.len() - 1
                });
                let trials = &mut found[*place].0;
                if trials.last() != Some(&(at + 1)) {
                    trials.push(at + 1);
                }
            }
        }
    }
    let rows: Vec<Vec<Cell>> = found
        .into_iter()
        .map(|(trials, of, name, value)| {
            vec![
                Cell::Text(trials_in_words(&trials, file.observations.len())),
                Cell::Text(clip(&line(&of), 40)),
                Cell::Text(clip(&line(name), 60)),
                Cell::of(value.clone(), format::integer),
            ]
        })
        .collect();
    let heads = vec![
        head("trials", "", false, 0),
        head("of", "", false, 1),
        head("counter", "", false, 0),
        head("value", "", true, 0),
    ];
    (!rows.is_empty()).then(|| Table::new("Counters of nodes and flows", heads, rows))
}
