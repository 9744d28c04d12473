//! Searches for a reader: the rates of each goal, loss curves, and bursts, as tables for every format.

use wirelab_trial::search::{
    BurstResult, CurveResult, GoalResult, Limit, Outcome, Screened, SearchEnded, SearchResult,
};
use wirelab_trial::{Field, Part, ResultsFile, SearchOutcome, SizeUnit, Sizes, Trial};

use crate::document::escape::{clip, line};
use crate::document::table::{Cell, Head, Shown, Table};
use crate::format;
use crate::row;

/// Longest name of a part that a table cell shows, in characters.
const NAME: usize = 40;

/// Tables of all searches of a file: one of rates, one for each loss curve, one of bursts.
pub fn tables(file: &ResultsFile) -> Vec<Table> {
    let mut out = Vec::new();
    let mut rates = Vec::new();
    let mut curves = Vec::new();
    let mut bursts = Vec::new();
    for part in &file.parts {
        match &part.found {
            Some(SearchOutcome::Rates(r)) => {
                rates.extend(r.goals.iter().map(|goal| rate_row(part, r, goal)));
            }
            Some(SearchOutcome::LossCurve(c)) => curves.push(curve(part, c)),
            Some(SearchOutcome::Bursts(b)) => bursts.push(burst_row(part, b)),
            None => {}
        }
    }
    if !rates.is_empty() {
        out.push(Table::new(
            "Throughput that searches found",
            rate_heads(),
            rates,
        ));
    }
    out.extend(curves);
    if !bursts.is_empty() {
        out.push(Table::new(
            "Longest bursts without loss",
            burst_heads(),
            bursts,
        ));
    }
    out
}

/// Why searches did not end, a sentence each, with the name of the part.
pub fn troubles(file: &ResultsFile) -> Vec<String> {
    let each = file.parts.iter().filter_map(|part| {
        let why = match (&part.refused, &part.found) {
            (Some(why), _) => Some(format!("it could not begin: {why}")),
            (None, Some(found)) => ended_early(ended(found)),
            (None, None) => None,
        };
        Some(format!("{}: {}", part.name, why?))
    });
    each.collect()
}

/// Searches that began and did not end, each with the reason: those that left figures, and those that left none.
pub fn unfinished(file: &ResultsFile) -> (Vec<String>, Vec<String>) {
    let each = file.parts.iter().filter_map(|part| {
        let found = part.found.as_ref()?;
        let why = ended_early(ended(found))?;
        let left_figures = match found {
            SearchOutcome::Rates(result) => result.goals.iter().any(|goal| {
                let bound = &goal.relevant_lower_bound_frames_per_s;
                bound.value().is_some()
            }),
            SearchOutcome::LossCurve(_) | SearchOutcome::Bursts(_) => part.observations > 0,
        };
        Some((left_figures, format!("{}: {why}", part.name)))
    });
    let (shown, missing): (Vec<_>, Vec<_>) = each.partition(|(left_figures, _)| *left_figures);
    let texts = |list: Vec<(bool, String)>| list.into_iter().map(|(_, text)| text).collect();
    (texts(shown), texts(missing))
}

/// How a search ended.
pub const fn ended(found: &SearchOutcome) -> &SearchEnded {
    match found {
        SearchOutcome::Rates(r) => &r.ended,
        SearchOutcome::LossCurve(c) => &c.ended,
        SearchOutcome::Bursts(b) => &b.ended,
    }
}

/// Why a search ended before its last trial; `None` if it did not.
pub fn ended_early(ended: &SearchEnded) -> Option<String> {
    match ended {
        SearchEnded::Done => None,
        SearchEnded::Interrupted => Some("it was interrupted".to_owned()),
        SearchEnded::TrialLimit => Some("it reached its limit of trials".to_owned()),
        SearchEnded::TimeLimit => Some("it reached its limit of time".to_owned()),
        SearchEnded::Unsupported { why } => Some(format!("the node cannot do it: {why}")),
        SearchEnded::Failed { why } => Some(format!("it failed: {why}")),
    }
}

/// The limit of a rate, in a word or two.
pub const fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Node => "the node",
        Limit::Link => "the link",
        Limit::Asked => "the load requested",
        Limit::Tester => "the tester",
        Limit::Path => "the path (it holds the sender back)",
    }
}

/// Why a goal has no sound rate; `None` where it was found.
pub const fn not_found(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Found => None,
        Outcome::NoLowerBound => Some("even the smallest load loses more"),
        Outcome::TesterTooSlow => Some("the tester could not offer even the smallest load"),
        Outcome::Unfinished => Some("the search ended before it was found"),
    }
}

/// The bracket of a goal whose search ended before its rate was found: the figure is not a rate. `None` for other goals.
pub fn bracket(goal: &GoalResult) -> Option<String> {
    if goal.outcome != Outcome::Unfinished {
        return None;
    }
    let lower = goal.relevant_lower_bound_frames_per_s.value();
    let upper = goal.relevant_upper_bound_frames_per_s.value();
    let known = lower
        .map(|rate| format!("≥ {}", format::frame_rate(*rate)))
        .into_iter()
        .chain(upper.map(|rate| format!("< {}", format::frame_rate(*rate))));
    let known: Vec<String> = known.collect();
    Some(match known.is_empty() {
        true => "the search ended before it was found".to_owned(),
        false => format!(
            "the search ended before it was found: {} frames/s",
            known.join(", ")
        ),
    })
}

/// A figure of a goal that is a rate only where the search was not cut short.
pub fn rate_of(goal: &GoalResult, figure: &Field<f64>) -> Field<f64> {
    bracket(goal).map_or_else(|| figure.clone(), Field::absent)
}

/// A goal in words, e.g. `at most 2.5 %` or `none`.
pub fn allowed(loss_ratio: f64) -> String {
    if loss_ratio > 0.0 {
        let percent = format::decimal(loss_ratio * 100.0, 4);
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        format!("at most {percent} %")
    } else {
        "none".to_owned()
    }
}

fn name(part: &Part) -> Cell {
    Cell::Text(clip(&line(&part.name), NAME))
}

/// What was requested from the node: layer, direction and size.
fn request(trial: &Trial, sizes: &Sizes) -> String {
    let unit = trial.size.unit;
    let more = match sizes.datagram {
        Some(bytes) if unit == SizeUnit::Datagram && bytes != trial.size.bytes => {
            format!(" (sent as {bytes} B)")
        }
        _ => String::new(),
    };
    format!(
        "{} {}, {} {} B{more}",
        row::layer(trial.framing.layer),
        trial.direction,
        unit.name(),
        trial.size.bytes
    )
}

fn rate_heads() -> Vec<Head> {
    use Shown::{Always, IfObserved};
    vec![
        Head::words("part", Shown::Always, 1),
        Head::words("requested", Shown::Always, 0),
        Head::words("loss allowed", Shown::Always, 0),
        Head::figures("throughput", "frames/s", Always, 0),
        Head::figures("payload", "Mbit/s", Always, 9),
        Head::figures("goodput", "Mbit/s", IfObserved, 0),
        Head::figures("lower bound", "offered frames/s", Always, 3),
        Head::figures("upper bound", "offered frames/s", IfObserved, 3),
        Head::figures("width", "%", IfObserved, 4),
        Head::words("limited by", Shown::Always, 0),
        Head::figures("trial time", "", Always, 6),
        Head::figures("trials", "", Always, 5),
        Head::words("outcome", Shown::Always, 0),
    ]
}

fn rate_row(part: &Part, r: &SearchResult, goal: &GoalResult) -> Vec<Cell> {
    let rate = |field: &Field<f64>| Cell::of(field.clone(), format::frame_rate);
    let mbit = |field: &Field<f64>| Cell::of(rate_of(goal, field), format::mbit);
    let outcome = match (not_found(goal.outcome), goal.not_monotone) {
        (Some(why), _) => bracket(goal).unwrap_or_else(|| why.to_owned()),
        (None, true) => "found, loss does not grow with the load".to_owned(),
        (None, false) => "found".to_owned(),
    };
    vec![
        name(part),
        Cell::Text(request(&r.trial, &r.sizes)),
        Cell::Text(allowed(goal.goal.loss_ratio)),
        rate(&rate_of(goal, &goal.conditional_throughput_frames_per_s)),
        mbit(&goal.conditional_throughput_payload_bits_per_s),
        mbit(&goal.conditional_throughput_goodput_bits_per_s),
        rate(&goal.relevant_lower_bound_frames_per_s),
        rate(&goal.relevant_upper_bound_frames_per_s),
        Cell::of(goal.width_ratio.clone(), format::percent),
        match &goal.limited_by {
            Field::Observed { value, .. } => Cell::Text(limit(*value).to_owned()),
            Field::Absent { absent } => Cell::Absent(absent.clone()),
        },
        Cell::Text(format::time(goal.goal.final_trial_ps)),
        Cell::Text(format::integer(goal.trials)),
        Cell::Text(outcome),
    ]
}

fn curve(part: &Part, c: &CurveResult) -> Table {
    let held_back = c.points.iter().filter_map(|p| p.held_back_at_frames_per_s);
    let held_back = held_back.count();
    let mut heads = vec![
        Head::figures("load", "%", Shown::Always, 0),
        Head::figures("load", "frames/s", Shown::Always, 0),
        Head::figures("loss", "%", Shown::Always, 0),
    ];
    if held_back > 0 {
        heads.insert(
            2,
            Head::figures("held back at", "frames/s", Shown::Always, 0),
        );
    }
    let rows = c.points.iter().map(|p| {
        let mut row = vec![
            Cell::Text(format::decimal(p.load_percent, 1)),
            Cell::Text(format::frame_rate(p.load_frames_per_s)),
            Cell::of(p.loss_ratio.clone(), format::percent),
        ];
        if held_back > 0 {
            let cell = match p.held_back_at_frames_per_s {
                Some(rate) => Cell::Text(format::frame_rate(rate)),
                None => Cell::Absent("the path did not hold this load back".to_owned()),
            };
            row.insert(2, cell);
        }
        row
    });
    let request = request(&c.trial, &c.sizes);
    let end = if c.ends_without_loss {
        "two loads in a row lost nothing"
    } else {
        "no two loads in a row were offered and without loss"
    };
    let held_back = match held_back {
        0 => String::new(),
        n => format!(
            "; the path held the sender back at {n} of {} loads, and the loss there is of what was sent",
            c.points.len()
        ),
    };
    let caption = format!(
        "Loss against load: {}, {request}, trials of {}; {end}{held_back}",
        clip(&line(&part.name), NAME),
        format::time(c.curve.trial_ps)
    );
    Table::new(caption, heads, rows.collect())
}

fn burst_heads() -> Vec<Head> {
    use Shown::{Always, IfObserved};
    vec![
        Head::words("part", Shown::Always, 1),
        Head::words("requested", Shown::Always, 0),
        Head::figures("line rate", "frames/s", Always, 2),
        Head::figures("throughput", "frames/s", Always, 2),
        Head::figures("repeats", "", IfObserved, 4),
        Head::figures("mean burst", "frames", Always, 0),
        Head::figures("shortest", "frames", Always, 0),
        Head::figures("longest", "frames", Always, 0),
        Head::figures("std. dev.", "frames", Always, 3),
        Head::figures("implied buffer", "µs", Always, 5),
        Head::figures("corrected buffer", "µs", Always, 0),
        Head::words("bounded", Shown::Always, 6),
    ]
}

fn burst_row(part: &Part, b: &BurstResult) -> Vec<Cell> {
    let screened = b.screened.map(|s| match s {
        Screened::ThroughputIsLineRate => {
            "throughput is line rate: a burst of any length passes, and shows no buffer"
        }
    });
    let lengths = match screened {
        Some(why) => Field::absent(why),
        None => b.lengths.clone(),
    };
    let micro =
        |field: &Field<u64>| Cell::of(field.clone(), |ps| format::decimal(ps as f64 / 1e6, 3));
    let at_longest = b.bursts.iter().filter(|burst| burst.at_longest).count();
    let of = |get: &dyn Fn(&wirelab_trial::search::BurstLengths) -> String| {
        Cell::of(lengths.clone(), |l| get(&l))
    };
    vec![
        name(part),
        Cell::Text(request(&b.trial, &b.sizes)),
        Cell::Text(format::frame_rate(b.max_frames_per_s)),
        match b.lengths.kind().or(b.implied_buffer_time_ps.kind()) {
            Some(kind) => Cell::of(
                Field::Observed {
                    value: b.throughput_frames_per_s,
                    kind,
                },
                format::frame_rate,
            ),
            None => Cell::Text(format::frame_rate(b.throughput_frames_per_s)),
        },
        of(&|l| l.repeats.to_string()),
        of(&|l| format::decimal(l.mean_frames, 1)),
        of(&|l| format::integer(l.min_frames)),
        of(&|l| format::integer(l.max_frames)),
        of(&|l| format::decimal(l.stddev_frames, 1)),
        micro(&b.implied_buffer_time_ps),
        micro(&b.corrected_buffer_time_ps),
        of(&|_| match at_longest {
            0 => "by the node".to_owned(),
            n => format!("{n} at the longest that was allowed"),
        }),
    ]
}
