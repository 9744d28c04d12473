//! All figures of all stages for programs: one line for each stage, size and path, in ticks and, if ticks are time,
//! in ns.

use std::fmt::Display;

use wirelab_trial::ClockKind;
use wirelab_trial::stage::{Delay, StageFigures};

use crate::document::csv::{Records, Value};

type Column = (&'static str, fn(&StageFigures) -> Value);

/// The columns.
const COLUMNS: [Column; 33] = [
    ("node", |r| Value::Text(r.node.clone())),
    ("layer", |r| number(Some(r.layer.word()))),
    ("direction", |r| number(Some(r.direction))),
    ("length_bytes", |r| number(Some(r.length_bytes))),
    ("from", |r| Value::Text(r.from.clone())),
    ("to", |r| Value::Text(r.to.clone())),
    ("cumulated", |r| number(Some(r.cumulated))),
    ("kind", |r| number(Some(r.kind.name()))),
    ("clock", |r| {
        number(Some(match r.clock {
            ClockKind::Wall => "wall",
            ClockKind::Simulated => "simulated",
            ClockKind::Instructions => "instructions",
        }))
    }),
    ("tick_ps", |r| number(r.tick_ps)),
    ("count", |r| number(Some(r.count))),
    ("mean_ticks", |r| number(Some(r.mean_ticks))),
    ("stddev_ticks", |r| number(Some(r.stddev_ticks))),
    ("min_ticks", |r| number(Some(r.min_ticks))),
    ("median_ticks", |r| number(Some(r.median_ticks))),
    ("p99_ticks", |r| number(Some(r.p99_ticks))),
    ("p999_ticks", |r| number(Some(r.p999_ticks))),
    ("max_ticks", |r| number(Some(r.max_ticks))),
    ("mode_ticks", |r| number(r.mode_ticks)),
    ("outliers", |r| number(r.outliers)),
    ("cpu_time", |r| number(Some(r.cpu_time))),
    ("path", |r| number(r.path)),
    ("wait", |r| number(r.wait)),
    ("rule", |r| Value::Text(r.rule.clone().unwrap_or_default())),
    ("background", |r| number(r.background)),
    ("mean_ns", |r| ns(r, r.mean_ticks)),
    ("stddev_ns", |r| ns(r, r.stddev_ticks)),
    ("three_sigma_ns", |r| ns(r, 3.0 * r.stddev_ticks)),
    ("min_ns", |r| ns(r, r.min_ticks as f64)),
    ("median_ns", |r| ns(r, r.median_ticks as f64)),
    ("p99_ns", |r| ns(r, r.p99_ticks as f64)),
    ("p999_ns", |r| ns(r, r.p999_ticks as f64)),
    ("max_ns", |r| ns(r, r.max_ticks as f64)),
];

/// One line for each stage, size and path.
pub fn records(delays: &[Delay]) -> Records {
    let row = |delay: &Delay| COLUMNS.iter().map(|(_, get)| get(&delay.figures)).collect();
    Records {
        heads: COLUMNS.map(|(name, _)| (name, false)).into(),
        rows: delays.iter().map(row).collect(),
    }
}

fn number(value: Option<impl Display>) -> Value {
    Value::Number(value.map_or_else(String::new, |v| v.to_string()))
}

fn ns(r: &StageFigures, ticks: f64) -> Value {
    number(r.tick_ps.map(|ps| ticks * (ps as f64 / 1e3)))
}
