//! What a reader takes home of a run: at most four figures, each with the trial that it is of and what limited it.

use wirelab_trial::search::{GoalResult, Limit as Limited};
use wirelab_trial::{
    CPU_IS_LIMIT, ClockKind, Direction, Field, FlowObservation, Found, Kind, Load, Observation,
    ResultsFile, Status,
};

use crate::datasheet::latency;
use crate::document::{Headline, Limiter};
use crate::format;
use crate::row::{self, Row};
use crate::search::allowed;
use crate::stats::percentile;

/// Figures at the head of a page.
const MOST: usize = 4;
/// A link that carries this share of its most is the limit: within 2 %.
const FULL_WIRE: f64 = 0.98;
/// A sender that achieves this share of the load that was asked was held by the load alone.
const AS_ASKED: f64 = 0.98;

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

/// The same without those of searches, which ask for more than the node can do.
fn listed(file: &ResultsFile) -> Vec<Row<'_>> {
    let searched = row::searched(file);
    let mut rows = usable(file);
    rows.retain(|row| !searched[row.trial - 1]);
    rows
}

/// What limited the rates that were asked, in a sentence; where searches alone asked, those of searches. `None` without a
/// rate.
pub fn limits(file: &ResultsFile) -> Option<String> {
    let mut counts: Vec<(Limiter, usize)> = Vec::new();
    let mut rows = listed(file);
    if rows.iter().all(|row| row.flows.is_empty()) {
        rows = usable(file);
    }
    for row in rows.iter().filter(|row| !row.flows.is_empty()) {
        let (limiter, _) = limit(row);
        match counts.iter_mut().find(|(known, _)| *known == limiter) {
            Some((_, count)) => *count += 1,
            None => counts.push((limiter, 1)),
        }
    }
    let all: usize = counts.iter().map(|(_, count)| count).sum();
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
    let of = asked(row);
    Some(
        Headline::new("Highest data rate", &format::si(value, "bit/s"), kind, of)
            .limited(limit(row), row.trial),
    )
}

fn frame_rate(rows: &[&Row<'_>]) -> Option<Headline> {
    let (row, value, kind) = largest(rows, |row| row.sum(|f| &f.frames_per_s))?;
    let value = format!("{} frames/s", format::frame_rate(value));
    Some(
        Headline::new("Highest frame rate", &value, kind, asked(row))
            .limited(limit(row), row.trial),
    )
}

/// The highest rate that a search found, of the goal that allows the least loss.
fn without_loss(file: &ResultsFile) -> Option<Headline> {
    let found = file.parts.iter().filter_map(|part| match &part.found {
        Some(Found::Rates(of)) => Some(of),
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
    let limit = match goal.limited_by.value() {
        Some(Limited::Tester) => (Limiter::Tester, TESTER.to_owned()),
        Some(Limited::Node) => (
            Limiter::Node,
            "limited by the node: it lost frames above this rate".to_owned(),
        ),
        Some(_) => (
            Limiter::Wire,
            "limited by the link or the load: nothing higher was offered".to_owned(),
        ),
        None => {
            let why = goal
                .limited_by
                .absence()
                .unwrap_or("the search does not say");
            not_known(&[why.to_owned()])
        }
    };
    let mut headline = Headline::new(&name, &value, kind, about);
    (headline.limiter, headline.limit) = limit;
    Some(headline)
}

/// The median of round trips, or of the times on one way.
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
        of = format!("99 % within {}; {of}", format::time(*late));
    }
    of.push_str(&format!("; {} probes", format::integer(echo.samples)));
    let (limiter, limit) = match echo.floor_p50_ps.value() {
        Some(floor) if *floor * 2 > median => (
            Limiter::Tester,
            format!(
                "mostly the tester's own: without the node {}",
                format::time(*floor)
            ),
        ),
        Some(floor) => (
            Limiter::Node,
            format!("of which the tester's own {}", format::time(*floor)),
        ),
        None => {
            let why = echo.floor_p50_ps.absence();
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            not_known(&[format!("the tester's own share was not measured{why}")])
        }
    };
    let headline = Headline::new("Median round trip", &format::time(median), kind, of);
    Some(Headline {
        limiter,
        limit,
        trial: Some(trial),
        ..headline
    })
}

/// The shortest median of the times from sender to receiver.
fn one_way(rows: &[&Row<'_>]) -> Option<Headline> {
    let times = rows.iter().flat_map(|row| {
        let series = row.flows.iter().flat_map(|flow| &flow.series);
        let of_tester = series.filter(|s| {
            s.name == "latency" && s.clock.kind == ClockKind::Wall && s.histogram.count > 0
        });
        of_tester.filter_map(|s| {
            let ticks = |share| Some(percentile(s, share)?.saturating_mul(s.clock.tick_ps?));
            Some((*row, s.kind, s.histogram.count, ticks(0.5)?, ticks(0.99)?))
        })
    });
    let (row, kind, count, median, late) = times.min_by_key(|(.., median, _)| *median)?;
    let (late, count) = (format::time(late), format::integer(count));
    let of = format!("99 % within {late}; {}; {count} frames", asked(row));
    let headline = Headline::new("Median time on the way", &format::time(median), kind, of);
    Some(Headline {
        limit: "the tester's own share is in it".to_owned(),
        trial: Some(row.trial),
        ..headline
    })
}

fn cpu(rows: &[&Row<'_>]) -> Option<Headline> {
    let (row, value, kind) = largest(rows, |row| {
        row.observation.cpu_load.clone().map(|l| l.busy_ratio)
    })?;
    let value = format!("{} %", format::percent(value));
    Some(Headline::new("Highest CPU load", &value, kind, asked(row)).limited(limit(row), row.trial))
}

fn loss(rows: &[&Row<'_>]) -> Option<Headline> {
    let (row, value, kind) = largest(rows, |row| row.loss().map(|loss| loss.low))?;
    if value <= 0.0 {
        let headline = Headline::new("Highest loss", "0 %", kind, asked(row));
        let (limiter, _) = limit(row);
        return Some(headline.limited((limiter, "no trial lost a frame".to_owned()), row.trial));
    }
    let value = format!("{} %", format::percent(value));
    Some(Headline::new("Highest loss", &value, kind, asked(row)).limited(limit(row), row.trial))
}

/// What was asked, in a few words.
fn asked(row: &Row<'_>) -> String {
    let o = row.observation;
    let load = row::load(&o.trial.load);
    format!("payload {} B, {}, load {load}", o.sizes.payload, row.way())
}

const TESTER: &str = "limited by the tester: the node may be faster";

/// What limited a row, in words that follow the figure: the tester, the wire, the CPU, the load, or none of these.
fn limit(row: &Row<'_>) -> (Limiter, String) {
    let o = row.observation;
    if o.tester.was_limit.value() == Some(&true) {
        return (Limiter::Tester, TESTER.to_owned());
    }
    let wire = row.of_line_rate().value().map(|(_, most)| *most);
    if let Some(share) = wire.filter(|share| *share >= FULL_WIRE) {
        let percent = format::percent(share.min(1.0));
        return (
            Limiter::Wire,
            format!("limited by the wire: {percent} % of what the link carries"),
        );
    }
    // A node that waits by spinning works all the time, whatever is asked of it.
    let all_came = row
        .loss()
        .value()
        .is_some_and(|loss| loss.low <= 0.0 && loss.at_most().is_none());
    let as_asked = o.trial.load != Load::Max && kept(o);
    let by_load = (
        Limiter::Load,
        "limited by the load: no more was requested".to_owned(),
    );
    if as_asked && all_came {
        return by_load;
    }
    let load = o.cpu_load.value();
    let busy = load.map(|load| load.busy_ratio);
    if let Some(load) = load.filter(|load| load.busy_ratio >= CPU_IS_LIMIT) {
        let percent = format::percent(load.busy_ratio);
        let whose = match load.shared {
            true => ", which node and tester share",
            false => "",
        };
        return (
            Limiter::Cpu,
            format!("limited by the CPU{whose}: it works {percent} % of the time"),
        );
    }
    if as_asked {
        return by_load;
    }
    let paper = |flow: &&FlowObservation| {
        let kind = flow.frames_per_s.kind();
        matches!(kind, Some(Kind::Predicted | Kind::Calibrated))
    };
    let mut reasons = Vec::new();
    reasons.push(match wire {
        Some(share) => format!("the link carries {} % of its most", format::percent(share)),
        None => "the link's rate is unknown (fix: give --rate)".to_owned(),
    });
    reasons.push(match busy {
        Some(busy) => format!("the CPU works {} % of the time", format::percent(busy)),
        None => "the node tells no CPU load".to_owned(),
    });
    let is_paper = row.flows.iter().all(paper);
    if !is_paper {
        reasons.push(match o.tester.was_limit.value() {
            Some(_) => "the tester can do more".to_owned(),
            None => {
                let why = o.tester.was_limit.absence();
                let why = why.map_or(String::new(), |why| format!(" ({why})"));
                format!("the tester's ceiling was not measured{why}")
            }
        });
    }
    match (is_paper, wire, busy) {
        // A model has no other limits than those of its own parts.
        (true, Some(_), _) => (
            Limiter::Node,
            "limited by the node: the wire had reserves".to_owned(),
        ),
        _ => not_known(&reasons),
    }
}

/// Nothing that is known was at its end.
fn not_known(reasons: &[String]) -> (Limiter, String) {
    let because = format!("not known, because {}", reasons.join("; "));
    (Limiter::Unknown, because)
}

/// Whether each sender achieved the load that was asked of it.
fn kept(o: &Observation) -> bool {
    let senders = o.flows.iter().filter_map(|flow| flow.sender.value());
    let mut told = false;
    for sender in senders {
        let (Some(asked), Some(achieved)) = (
            sender.asked_frames_per_s.value(),
            sender.achieved_frames_per_s.value(),
        ) else {
            return false;
        };
        told = true;
        if *achieved < *asked * AS_ASKED {
            return false;
        }
    }
    told
}
