//! The headline of a run: at most four figures, each with its trial and what limited it.

use wirelab_trial::search::GoalResult;
use wirelab_trial::{
    ClockKind, Direction, Field, FixedSeries, Kind, ResultsFile, SearchOutcome, Status,
};

use crate::datasheet::latency;
use crate::document::Headline;
use crate::format;
use crate::limited::{self, Limited, Limiter};
use crate::row::{self, Row};
use crate::search::allowed;
use crate::stats::percentile;

/// Figures at the head of a page.
const MOST: usize = 4;

/// The figures at the head of a file's page.
pub fn of(file: &ResultsFile) -> Vec<Headline> {
    let rows = usable(file);
    let rows: Vec<&Row<'_>> = rows.iter().collect();
    let listed = listed(file);
    let listed: Vec<&Row<'_>> = listed.iter().collect();
    let all = [
        data_rate(&rows),
        without_loss(file).or_else(|| frame_rate(&rows)),
        latency(file).or_else(|| one_way(&rows)),
        cpu(&rows),
        loss(&listed),
    ];
    all.into_iter().flatten().take(MOST).collect()
}

/// The rows of trials that are not void.
fn usable(file: &ResultsFile) -> Vec<Row<'_>> {
    let mut rows = row::rows(&file.observations, false);
    rows.retain(|row| !matches!(row.observation.status, Status::Void { .. }));
    rows
}

/// The same rows without the trials of searches, which request more than the node can do.
fn listed(file: &ResultsFile) -> Vec<Row<'_>> {
    let searched = row::searched(file);
    let mut rows = usable(file);
    rows.retain(|row| !searched[row.trial - 1]);
    rows
}

/// What limited the requested rates, in a sentence; if only searches requested rates, what limited theirs. `None` without a
/// rate.
pub fn limits(file: &ResultsFile) -> Option<String> {
    let mut counts: Vec<(Limiter, usize)> = Vec::new();
    let mut rows = listed(file);
    if rows.iter().all(|row| row.flows.is_empty()) {
        rows = usable(file);
    }
    for row in rows.iter().filter(|row| !row.flows.is_empty()) {
        let limiter = limited::row(row).limiter;
        match counts.iter_mut().find(|(known, _)| *known == limiter) {
            Some((_, count)) => *count += 1,
            None => counts.push((limiter, 1)),
        }
    }
    let all: usize = counts.iter().map(|(_, count)| count).sum();
    if let [(limiter, _)] = counts[..] {
        let rates = match all {
            1 => "the rate".to_owned(),
            _ => format!("all {all} rates"),
        };
        return Some(match limiter {
            Limiter::Unknown => format!("What limited {rates} is not known."),
            known => format!("{} limited {rates}.", known.name().replacen('t', "T", 1)),
        });
    }
    let each = counts.iter().map(|(limiter, count)| match limiter {
        Limiter::Unknown => format!("what limited {count} is not known"),
        known => format!("{} limited {count}", known.name()),
    });
    let each: Vec<String> = each.collect();
    (all > 0).then(|| {
        format!(
            "Of {}, {}.",
            format::count(all as u64, "rate"),
            each.join(", ")
        )
    })
}

/// The row with the largest figure, the figure and its kind.
fn largest<'a>(
    rows: &[&'a Row<'a>],
    get: impl Fn(&Row<'_>) -> Field<f64>,
) -> Option<(&'a Row<'a>, f64, Kind)> {
    let figures = rows.iter().filter_map(|row| match get(row) {
        Field::Observed { value, kind } if value.is_finite() => Some((*row, value, kind)),
        _ => None,
    });
    figures.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

fn data_rate(rows: &[&Row<'_>]) -> Option<Headline> {
    let rate = |row: &Row<'_>| match row.sum(|f| &f.goodput_bits_per_s) {
        Field::Absent { .. } => row.sum(|f| &f.payload_bits_per_s),
        goodput => goodput,
    };
    let (row, value, kind) = largest(rows, rate)?;
    let of = request(row);
    Some(
        Headline::new("Highest data rate", &format::si(value, "bit/s"), kind, of)
            .limited(limited::row(row), row.trial),
    )
}

fn frame_rate(rows: &[&Row<'_>]) -> Option<Headline> {
    let (row, value, kind) = largest(rows, |row| row.sum(|f| &f.frames_per_s))?;
    let value = format!("{} frames/s", format::frame_rate(value));
    Some(
        Headline::new("Highest frame rate", &value, kind, request(row))
            .limited(limited::row(row), row.trial),
    )
}

/// The highest rate that a search found, of the goal that allows the least loss.
fn without_loss(file: &ResultsFile) -> Option<Headline> {
    let found = file.parts.iter().filter_map(|part| match &part.found {
        Some(SearchOutcome::Rates(of)) => Some(of),
        _ => None,
    });
    let goals = found.flat_map(|of| of.goals.iter().map(move |goal| (of, goal)));
    let rates = goals.filter_map(
        |(of, goal)| match &goal.conditional_throughput_frames_per_s {
            Field::Observed { value, kind } if value.is_finite() => Some((of, goal, *value, *kind)),
            _ => None,
        },
    );
    let order = |a: &GoalResult, b: &GoalResult| a.goal.loss_ratio.total_cmp(&b.goal.loss_ratio);
    let best = rates.min_by(|a, b| order(a.1, b.1).then(b.2.total_cmp(&a.2)))?;
    let (of, goal, value, kind) = best;
    let name = match goal.goal.loss_ratio > 0.0 {
        true => format!(
            "Highest rate at a loss of {}",
            allowed(goal.goal.loss_ratio)
        ),
        false => "Highest rate without loss".to_owned(),
    };
    let about = format!(
        "payload {} B, {}, by search",
        of.sizes.payload, of.trial.direction
    );
    let value = format!("{} frames/s", format::frame_rate(value));
    Some(Headline {
        limited: limited::goal(goal),
        ..Headline::new(&name, &value, kind, about)
    })
}

/// The median of round trips, or of one-way times.
fn latency(file: &ResultsFile) -> Option<Headline> {
    let each = file.observations.iter().enumerate();
    let echoes = each.filter(|(_, o)| o.trial.direction == Direction::Echo);
    let echoes = echoes.filter_map(|(at, o)| {
        let echo = latency::echo(at + 1, o);
        let median = *echo.p50_ps.value()?;
        Some((at + 1, o, echo, median))
    });
    let (trial, o, echo, median) = echoes.min_by_key(|(.., median)| *median)?;
    let kind = echo.p50_ps.kind()?;
    let mut of = format!(
        "payload {} B, load {}",
        o.sizes.payload,
        row::load(&o.trial.load)
    );
    if let Some(late) = echo.p99_ps.value() {
        of = format!("p99 {}; {of}", format::time(*late));
    }
    of.push_str(&format!("; {} probes", format::integer(echo.samples)));
    let limited = match echo.floor_p50_ps.value() {
        Some(floor) if *floor * 2 > median => {
            let floor = format::time(*floor);
            Limited::new(
                Limiter::Tester,
                format!("mostly the tester's own: without the node {floor}"),
            )
        }
        Some(floor) => {
            let floor = format::time(*floor);
            Limited::new(Limiter::Node, format!("of which the tester's own {floor}"))
        }
        None => {
            let why = echo.floor_p50_ps.absence();
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            Limited::not_known(&[format!("the tester's own share was not measured{why}")])
        }
    };
    let headline = Headline::new("Median round trip", &format::time(median), kind, of);
    Some(headline.limited(limited, trial))
}

/// The shortest median of the times from sender to receiver.
fn one_way(rows: &[&Row<'_>]) -> Option<Headline> {
    let times = rows.iter().flat_map(|row| {
        let series = row.flows.iter().flat_map(|flow| &flow.series);
        let of_tester = series.filter(|s| {
            s.name == FixedSeries::LATENCY
                && s.clock.kind == ClockKind::Wall
                && s.histogram.count > 0
        });
        of_tester.filter_map(|s| {
            let ticks = |share| Some(percentile(s, share)?.saturating_mul(s.clock.tick_ps?));
            Some((*row, s.kind, s.histogram.count, ticks(0.5)?, ticks(0.99)?))
        })
    });
    let (row, kind, count, median, late) = times.min_by_key(|(.., median, _)| *median)?;
    let (late, count) = (format::time(late), format::integer(count));
    let of = format!("p99 {late}; {}; {count} frames", request(row));
    let headline = Headline::new("Median time on the way", &format::time(median), kind, of);
    let limited = Limited::new(
        Limiter::Unknown,
        "the tester's own share is in it".to_owned(),
    );
    Some(headline.limited(limited, row.trial))
}

fn cpu(rows: &[&Row<'_>]) -> Option<Headline> {
    let (row, value, kind) = largest(rows, |row| {
        row.observation.cpu_load.clone().map(|l| l.busy_ratio)
    })?;
    let value = format!("{} %", format::percent(value));
    Some(
        Headline::new("Highest CPU load", &value, kind, request(row))
            .limited(limited::row(row), row.trial),
    )
}

fn loss(rows: &[&Row<'_>]) -> Option<Headline> {
    let (row, value, kind) = largest(rows, |row| row.loss().map(|loss| loss.low))?;
    if value <= 0.0 {
        let headline = Headline::new("Highest loss", "0 %", kind, request(row));
        let limited = Limited {
            why: "no trial lost a frame".to_owned(),
            ..limited::row(row)
        };
        return Some(headline.limited(limited, row.trial));
    }
    let value = format!("{} %", format::percent(value));
    Some(
        Headline::new("Highest loss", &value, kind, request(row))
            .limited(limited::row(row), row.trial),
    )
}

/// The request, in a few words.
fn request(row: &Row<'_>) -> String {
    let o = row.observation;
    let load = row::load(&o.trial.load);
    format!(
        "payload {} B, {}, load {load}",
        o.sizes.payload,
        row.direction_in_words()
    )
}
