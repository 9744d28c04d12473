//! Latencies of a datasheet: the node's own stages between driver and application, and round trips.

use wirelab_trial::stage::{CapturePoint, StageName};
use wirelab_trial::{
    BackgroundResult, Direction, Field, FixedSeries, Kind, Layer, Observation, Pdv, Series, Status,
};

use super::rate::datagram;
use super::sheet::{Echo, Latency, SumParts, Total};
use crate::interval::{self, Intervals};
use crate::stats::percentile;

/// Points of a node on the application's side, and points outside of the node.
const INSIDE: [&str; 2] = [CapturePoint::APPLICATION.word(), "CPU"];
const OUTSIDE: &str = CapturePoint::WIRE.word();

/// Whether a series is the delay between driver and application (or, of a model, CPU and MAC) in a direction.
fn is_node_stage(series: &Series, direction: Direction) -> bool {
    let Some(StageName { from, to }) = series.points() else {
        return false;
    };
    match direction {
        Direction::Receive => from != OUTSIDE && INSIDE.contains(&to),
        Direction::Transmit => INSIDE.contains(&from) && to != OUTSIDE,
        Direction::Both | Direction::Echo => false,
    }
}

/// Whether a stage begins or ends where the driver hands a frame over: a node has shorter ones beside it.
fn is_of_driver(series: &Series) -> bool {
    let driver = CapturePoint::DRIVER.word();
    series
        .points()
        .is_some_and(|StageName { from, to }| from == driver || to == driver)
}

fn all(o: &Observation) -> impl Iterator<Item = &Series> {
    o.flows.iter().flat_map(|f| &f.series).chain(&o.series)
}

/// Whether an observation has the captures of a node's stages.
pub fn has_captures(o: &Observation) -> bool {
    all(o).any(|s| is_node_stage(s, o.trial.direction))
}

/// Layer 2 latency of a trial in one direction.
pub fn layer2(trial: usize, o: &Observation) -> Latency {
    let direction = o.trial.direction;
    let stages = || all(o).filter(|s| is_node_stage(s, direction));
    let stage = stages().find(|s| is_of_driver(s)).or(stages().next());
    let why = match &o.status {
        Status::Void { why } => why.as_str(),
        _ => "the node captured no frame between driver and application",
    };
    let share = |share: f64| match stage {
        Some(series) => ps(series, percentile(series, share)),
        None => Field::absent(why),
    };
    let node_ps = share(0.5);
    let phy_ps = phy(o, direction);
    Latency {
        trials: vec![trial],
        direction,
        length_bytes: o.sizes.length,
        samples: stage.map_or(0, |s| s.histogram.count),
        stage: stage.map(|series| series.name.clone()),
        total: total(
            &node_ps,
            &phy_ps,
            o.node.setup.get("phy").map(String::as_str),
        ),
        node_ps,
        node_min_ps: share(0.0),
        node_p99_ps: share(0.99),
        node_max_ps: share(1.0),
        intervals: times(stage, ["node_ps", "", "node_p99_ps", ""]),
        phy_ps,
    }
}

/// The PHY's term: a capture point of a model, or the datasheet's figure that the node's set-up names.
fn phy(o: &Observation, direction: Direction) -> Field<u64> {
    let (key, point) = match direction {
        Direction::Receive => ("phy_rx_ps", "PHY receive"),
        _ => ("phy_tx_ps", "PHY transmit"),
    };
    if let Some(series) = all(o).find(|s| s.name == point) {
        return ps(series, percentile(series, 0.5));
    }
    match o.node.setup.get(key).map(|text| text.parse()) {
        Some(Ok(value)) => Field::Observed {
            value,
            kind: Kind::Published,
        },
        Some(Err(_)) => Field::absent(format!(
            "the set-up key {key} is not a number of picoseconds"
        )),
        None => Field::absent(format!(
            "the node's set-up does not name the delay of its PHY: give the key {key}"
        )),
    }
}

/// The sum of the node's stages and the PHY's term; `phy_name` is the PHY as the node's set-up names it.
fn total(node: &Field<u64>, phy: &Field<u64>, phy_name: Option<&str>) -> Total {
    match (node, phy) {
        (
            Field::Observed { value: a, kind },
            Field::Observed {
                value: b,
                kind: other,
            },
        ) => {
            let mut kinds = vec![*kind];
            kinds.extend((other != kind).then_some(*other));
            let of_phy = match (phy_name, other) {
                (Some(name), Kind::Published) => format!("PHY {name} datasheet"),
                (Some(name), _) => format!("PHY {name}"),
                (None, _) => "PHY".to_owned(),
            };
            Total::Sum {
                value_ps: a.saturating_add(*b),
                kind: *kind.max(other),
                parts: (kind != other).then_some(SumParts {
                    kinds: [*kind, *other],
                    of_phy,
                }),
                kinds,
            }
        }
        (Field::Absent { absent }, _) | (_, Field::Absent { absent }) => Total::Absent {
            absent: absent.clone(),
        },
    }
}

/// The intervals of a series' 50th, 90th, 99th and 99.9th percentile in ps, each by its name; none for one without.
fn times(series: Option<&Series>, names: [&'static str; 4]) -> Intervals {
    let mut all = Intervals::new();
    let tick_ps = series.and_then(|s| s.clock.tick_ps);
    if let (Some(series), Some(tick)) = (series, tick_ps) {
        for ((_, interval), name) in series.intervals.each().into_iter().zip(names) {
            let interval = interval.filter(|_| !name.is_empty());
            interval::put(&mut all, name, interval.map(|i| i.times(tick as f64)));
        }
    }
    all
}

/// Ticks of a series as picoseconds.
fn ps(series: &Series, ticks: Option<u64>) -> Field<u64> {
    match (ticks, series.clock.tick_ps) {
        (Some(ticks), Some(tick)) => Field::Observed {
            value: ticks.saturating_mul(tick),
            kind: series.kind,
        },
        (None, _) => Field::absent("the series has no samples"),
        (_, None) => Field::absent("the clock counts instructions, which are not time"),
    }
}

/// Whether a series is that of the round trips of an echo trial.
pub fn is_round_trip(series: &Series) -> bool {
    series.name == FixedSeries::ROUND_TRIP
}

/// Whether a series is the tester's round trip against itself.
fn is_floor(series: &Series) -> bool {
    series.name == FixedSeries::FLOOR
}

/// Round trips of an echo trial.
pub fn echo(trial: usize, o: &Observation) -> Echo {
    let series = all(o).find(|s| is_round_trip(s));
    let why = match &o.status {
        Status::Void { why } => why.as_str(),
        _ => "the trial has no round trips",
    };
    let share = |share: f64| match series {
        Some(series) => ps(series, percentile(series, share)),
        None => Field::absent(why),
    };
    let pdv = series.map(|s| ps(s, Pdv::of(s).map(|p| p.p99_9_ticks)));
    let flow = o.flows.first();
    let mut intervals = times(series, ["p50_ps", "p90_ps", "p99_ps", "p99_9_ps"]);
    let of_loss = flow.filter(|f| f.loss_ratio.value().is_some());
    let its_interval = of_loss.and_then(|f| f.intervals.loss_ratio);
    interval::put(&mut intervals, "loss_ratio", its_interval);
    Echo {
        trials: vec![trial],
        layer: o.trial.framing.layer,
        frame_bytes: o.sizes.frame,
        size_bytes: o.trial.size.bytes,
        size_unit: o.trial.size.unit.name(),
        datagram_bytes: match o.trial.framing.layer {
            Layer::Ethernet => None,
            _ => datagram(o),
        },
        load: o.trial.load.key(),
        background: o.trial.background.map(|b| b.to_string()),
        background_asked_frames_per_s: beside(o, |background| Some(background.asked_frames_per_s)),
        background_frames_per_s: beside(o, |background| Some(background.frames_per_s)),
        background_loss_ratio: beside(o, BackgroundResult::loss_ratio),
        samples: series.map_or(0, |s| s.histogram.count),
        clock: series.map(|s| s.clock.kind),
        min_ps: share(0.0),
        p50_ps: share(0.5),
        p90_ps: share(0.9),
        p99_ps: share(0.99),
        p99_9_ps: share(0.999),
        p99_99_ps: share(0.9999),
        max_ps: share(1.0),
        intervals,
        mean_ps: match series {
            Some(s) => mean(s),
            None => Field::absent(why),
        },
        jitter_ps: flow.map_or_else(|| Field::absent(why), |f| f.jitter_ps.clone()),
        pdv_p99_9_ps: pdv.unwrap_or_else(|| Field::absent(why)),
        loss_ratio: flow.map_or_else(|| Field::absent(why), |f| f.loss_ratio.clone()),
        loss_ratio_at_most: of_loss.and_then(|f| f.loss_ratio_at_most),
        floor_p50_ps: floor(o, 0.5),
        floor_p99_ps: floor(o, 0.99),
        cpu_busy_ratio: o.cpu_load.clone().map(|c| c.busy_ratio),
    }
}

/// A share of the tester's own round trips.
fn floor(o: &Observation, share: f64) -> Field<u64> {
    match all(o).find(|s| is_floor(s)) {
        Some(s) => ps(s, percentile(s, share)),
        None => Field::absent("the tester's own round trip was not measured"),
    }
}

/// A figure of the background that was sent.
fn beside(o: &Observation, get: impl Fn(&BackgroundResult) -> Option<f64>) -> Field<f64> {
    if o.trial.background.is_none() {
        return Field::absent("no background was requested");
    }
    match BackgroundResult::of(std::slice::from_ref(o)) {
        Some(background) => Field::measured_or(
            get(&background),
            "the node does not report what it received of it",
        ),
        None => {
            Field::absent("the background ended early, or fewer than two frames of it were sent")
        }
    }
}

fn mean(series: &Series) -> Field<f64> {
    match series.clock.tick_ps {
        Some(tick) if series.histogram.count > 0 => Field::Observed {
            value: series.histogram.mean_ticks * tick as f64,
            kind: series.kind,
        },
        Some(_) => Field::absent("the series has no samples"),
        None => Field::absent("the clock counts instructions, which are not time"),
    }
}
