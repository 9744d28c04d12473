//! Finds the value of each metric in a node's observation, and computes those that follow from the trial or the link
//! alone.

use wirelab_trial::{
    Direction, Extent, Field, FixedSeries, FlowObservation, Kind, Layer, Observation, Series,
    Stated, Trial,
};
use wirelab_wire::{LineRate, Overhead, Sizes};

use crate::metric::Metric;
use crate::table::Row;

/// Default report interval of a server in seconds: iperf's `-i 1`, as in all of its output that is printed in tables.
const INTERVAL_S: f64 = 1.0;

/// How far a rate may be below the load and still equal it: the edges of a simulated trial.
const LOAD_TOLERANCE: f64 = 0.005;

/// The value of a metric of `row` in `observation`, in the base unit of the metric's dimension, with its kind; or why
/// it is absent.
pub fn value_of(row: &Row, observation: &Observation, metric: Metric) -> Field<f64> {
    if metric.is_of_the_trial() {
        return of_trial(&row.trial, metric);
    }
    match metric {
        Metric::CpuLoad => observation.cpu_load.clone().map(|load| load.busy_ratio),
        Metric::Latency
        | Metric::Latency3Sigma
        | Metric::LatencyMin
        | Metric::LatencyMedian
        | Metric::LatencyP90
        | Metric::LatencyP99
        | Metric::LatencyP999
        | Metric::LatencyMax
        | Metric::Spacing => of_series(row, observation, metric),
        Metric::IntervalThroughput | Metric::IntervalEfficiency => {
            of_interval_at_probe(row, observation, metric)
        }
        Metric::ThroughputSum => {
            let flows = observation.flows.iter();
            let rates = flows.map(|flow| throughput(observation, flow));
            let sum = rates.reduce(|a, b| both(a, b, |a, b| a + b));
            sum.unwrap_or_else(no_flow)
        }
        _ => match flow_of(row, observation, metric) {
            Some(flow) => of_flow(row, observation, flow, metric),
            None => no_flow(),
        },
    }
}

/// The flow of a metric of `row`.
fn flow_of<'o>(
    row: &Row,
    observation: &'o Observation,
    metric: Metric,
) -> Option<&'o FlowObservation> {
    let direction = match metric {
        Metric::ThroughputReceive => Direction::Receive,
        Metric::ThroughputTransmit => Direction::Transmit,
        _ => row.trial.direction,
    };
    let mut flows = observation.flows.iter();
    let either = matches!(direction, Direction::Both | Direction::Echo);
    flows.find(|flow| either || flow.direction == direction)
}

/// The value of a metric of `row` in `observation`, as in [`value_of`], and its largest possible value where the tester
/// cannot know: missing frames may have been lost, or dropped by its own queue.
pub(crate) fn ends_of(row: &Row, observation: &Observation, metric: Metric) -> ValueRange {
    let flow = flow_of(row, observation, metric).filter(|_| row.interval.is_none());
    let at_most = match metric {
        Metric::Loss => flow.and_then(|flow| flow.loss_ratio_at_most),
        Metric::Lost => flow.and_then(|flow| {
            let counts = flow.counts.value()?;
            (counts.lost_or_missed_frames > 0).then(|| counts.lost_frames_at_most() as f64)
        }),
        _ => None,
    };
    let low = value_of(row, observation, metric);
    let interval = low
        .value()
        .and_then(|value| interval_of(row, observation, (metric, *value), flow?));
    ValueRange {
        low,
        at_most,
        interval,
    }
}

/// The interval of a metric's value, where the observation has one.
fn interval_of(
    row: &Row,
    observation: &Observation,
    (metric, value): (Metric, f64),
    flow: &FlowObservation,
) -> Option<Stated> {
    // The interval of the rate, as shares of it.
    let of_rate = || {
        let rate = flow.frames_per_s.value().filter(|rate| **rate > 0.0)?;
        Some(flow.intervals.frames_per_s?.times(1.0 / rate))
    };
    match metric {
        Metric::CpuLoad => observation.cpu_load.value()?.interval,
        Metric::Loss => flow.intervals.loss_ratio,
        Metric::Throughput
        | Metric::ThroughputReceive
        | Metric::ThroughputTransmit
        | Metric::Bandwidth
        | Metric::ShareOfLimit
        | Metric::Efficiency
        | Metric::FramesPerS => Some(of_rate()?.times(value)),
        Metric::Time if matches!(row.trial.extent, Extent::Time { .. }) => None,
        Metric::Time | Metric::TimePerFrame => {
            let rate = of_rate().filter(|rate| rate.low > 0.0)?;
            Some(Stated {
                low: value / rate.high,
                high: value / rate.low,
                ..rate
            })
        }
        Metric::Latency
        | Metric::LatencyMedian
        | Metric::LatencyP90
        | Metric::LatencyP99
        | Metric::LatencyP999 => of_percentile(series_of(row, observation, false).ok()?, metric),
        _ => None,
    }
}

/// The interval of a percentile of a series in s; of its mean that of the median, around the mean.
fn of_percentile(series: &Series, metric: Metric) -> Option<Stated> {
    let tick_s = series.clock.tick_ps? as f64 * 1e-12;
    let intervals = &series.intervals;
    let found = match metric {
        Metric::LatencyP90 => intervals.p90_ticks,
        Metric::LatencyP99 => intervals.p99_ticks,
        Metric::LatencyP999 => intervals.p99_9_ticks,
        _ => intervals.p50_ticks,
    }?;
    let aside = match metric {
        Metric::Latency => series.histogram.mean_ticks - series.percentile(50.0)? as f64,
        _ => 0.0,
    };
    let moved = Stated {
        low: (found.low + aside).max(0.0),
        high: found.high + aside,
        ..found
    };
    Some(moved.times(tick_s))
}

/// A value in the base unit of its metric, or its range.
#[derive(Clone, Debug)]
pub(crate) struct ValueRange {
    /// The value, or its lower end.
    pub low: Field<f64>,
    /// Its upper end, where the value is unknown.
    pub at_most: Option<f64>,
    /// Its interval, where there is one.
    pub interval: Option<Stated>,
}

impl From<Field<f64>> for ValueRange {
    fn from(low: Field<f64>) -> ValueRange {
        ValueRange {
            low,
            at_most: None,
            interval: None,
        }
    }
}

impl ValueRange {
    /// The difference of two: smallest where the first is low and the second high.
    pub(crate) fn less(self, other: ValueRange) -> ValueRange {
        let high = self.at_most.or(self.low.value().copied());
        let (of_other, in_doubt) = (other.low.value().copied(), other.at_most);
        let known = self.at_most.is_none() && in_doubt.is_none();
        let least = other.low.map(|low| in_doubt.unwrap_or(low));
        ValueRange {
            low: both(self.low, least, |a, b| a - b),
            at_most: high.zip(of_other).filter(|_| !known).map(|(a, b)| a - b),
            interval: None,
        }
    }

    /// Combines two, end by end, by a function that grows with both.
    pub(crate) fn with(self, other: ValueRange, f: impl Fn(f64, f64) -> f64) -> ValueRange {
        let high = |of: &ValueRange| of.at_most.or(of.low.value().copied());
        let highs = high(&self).zip(high(&other));
        let known = self.at_most.is_none() && other.at_most.is_none();
        ValueRange {
            at_most: highs.filter(|_| !known).map(|(a, b)| f(a, b)),
            interval: None,
            low: both(self.low, other.low, f),
        }
    }
}

fn no_flow() -> Field<f64> {
    Field::absent("the node reported no flow in that direction")
}

fn of_flow(
    row: &Row,
    observation: &Observation,
    flow: &FlowObservation,
    metric: Metric,
) -> Field<f64> {
    if let (Some(interval), true) = (row.interval, metric.is_of_an_interval()) {
        return of_interval(flow, interval, metric);
    }
    let elapsed_s = || flow.elapsed.clone().map(|e| e.ps as f64 * 1e-12);
    match metric {
        Metric::Time => elapsed_s(),
        Metric::Throughput | Metric::ThroughputReceive | Metric::ThroughputTransmit => {
            throughput(observation, flow)
        }
        Metric::ShareOfLimit => given(observation, flow, share_of_limit(observation, flow)),
        Metric::Efficiency => given(observation, flow, flow.efficiency.clone()),
        Metric::FramesPerS => given(observation, flow, flow.frames_per_s.clone()),
        Metric::TimePerFrame => match flow.frames_per_s.clone() {
            Field::Observed { value, .. } if value <= 0.0 => Field::absent("no frame arrived"),
            rate => given(observation, flow, rate.map(|rate| 1.0 / rate)),
        },
        Metric::Loss => flow.loss_ratio.clone(),
        Metric::Jitter => flow.jitter_ps.clone().map(|ps| ps as f64 * 1e-12),
        Metric::Bandwidth => given(observation, flow, flow.goodput_bits_per_s.clone()),
        Metric::Transfer => both(flow.goodput_bits_per_s.clone(), elapsed_s(), |a, b| a * b),
        Metric::Lost => flow.counts.clone().map(|c| c.lost_frames as f64),
        Metric::Datagrams => flow.sent_frames.clone().map(|n| n as f64),
        _ => Field::absent(format!("a flow has no {metric}")),
    }
}

/// Payload on Ethernet, application data on UDP and TCP, in bit/s.
fn throughput(observation: &Observation, flow: &FlowObservation) -> Field<f64> {
    let rate = match observation.trial.framing.layer {
        Layer::Ethernet => flow.payload_bits_per_s.clone(),
        _ => flow.goodput_bits_per_s.clone(),
    };
    given(observation, flow, rate)
}

/// A rate, or its inverse. If the trial states the load and the model carries everything that reaches the node, the
/// rate is an input of the model and not a prediction.
fn given(observation: &Observation, flow: &FlowObservation, field: Field<f64>) -> Field<f64> {
    match field {
        Field::Observed {
            value,
            kind: Kind::Predicted,
        } if carries_the_load(observation, flow) => Field::Observed {
            value,
            kind: Kind::Calibrated,
        },
        field => field,
    }
}

fn carries_the_load(observation: &Observation, flow: &FlowObservation) -> bool {
    let trial = &observation.trial;
    let requested = trial
        .load
        .frames_per_s(&observation.sizes, trial.framing.layer, trial.link());
    let (Ok(Some(requested)), Some(carried)) = (requested, flow.frames_per_s.value()) else {
        return false;
    };
    // A loss that is an input of the model is not the node's loss.
    let lost_before = match &flow.loss_ratio {
        Field::Observed {
            value,
            kind: Kind::Calibrated,
        } => *value,
        _ => 0.0,
    };
    *carried >= (1.0 - LOAD_TOLERANCE) * requested * (1.0 - lost_before)
}

/// Why a figure that needs a link rate is absent; `study run` has no option for it.
const NO_LINK_RATE: &str =
    "the port has no link rate: give it in the row's trial, e.g. rate = \"1G\"";

fn share_of_limit(observation: &Observation, flow: &FlowObservation) -> Field<f64> {
    let carrier = observation.node.capabilities.link_bits_per_s;
    let link = observation.trial.link();
    let link = link.or_else(|| carrier.and_then(LineRate::new));
    let Some(link) = link else {
        return Field::absent(NO_LINK_RATE);
    };
    match link.payload_bytes_per_s(&observation.sizes) {
        0 => Field::absent("the link carries no whole frame in a second"),
        limit => flow
            .payload_bits_per_s
            .clone()
            .map(|rate| rate / (8 * limit) as f64),
    }
}

/// A server's report interval: counters `interval_NN_bytes`, `…_datagrams`, `…_lost` and `…_jitter_ps`, with NN from
/// 01, and `interval_ps` where intervals are not one second.
fn of_interval(flow: &FlowObservation, interval: u32, metric: Metric) -> Field<f64> {
    let counter = |name: &str| {
        let found = flow.counters.get(&format!("interval_{interval:02}_{name}"));
        let why = || Field::absent(format!("the node has no report of interval {interval}"));
        found.map_or_else(why, |n| n.clone().map(|n| n as f64))
    };
    let seconds = || match flow.counter("interval_ps") {
        Some(ps) if ps > 0 => ps as f64 * 1e-12,
        _ => INTERVAL_S,
    };
    let bits = || counter("bytes").map(|bytes| 8.0 * bytes);
    match metric {
        Metric::Transfer => bits(),
        Metric::Bandwidth => bits().map(|bits| bits / seconds()),
        Metric::Datagrams => counter("datagrams"),
        Metric::Lost => counter("lost"),
        Metric::Jitter => counter("jitter_ps").map(|ps| ps * 1e-12),
        Metric::Loss => both(counter("lost"), counter("datagrams"), |lost, all| {
            if all > 0.0 { lost / all } else { 0.0 }
        }),
        _ => Field::absent(format!("a report interval has no {metric}")),
    }
}

/// The series of a row's probe, or of its capture point.
fn series_of<'a>(
    row: &Row,
    observation: &'a Observation,
    spacing: bool,
) -> Result<&'a Series, String> {
    let point = row.point.as_deref();
    let wanted = |series: &&Series| match (spacing, point) {
        (true, None) => series.probe().is_some(),
        (true, Some(probe)) => series.probe() == Some(probe),
        (false, None) => series.name == FixedSeries::LATENCY,
        (false, Some(point)) => series.name == point,
    };
    let of_flows = observation.flows.iter().flat_map(|flow| &flow.series);
    of_flows
        .chain(&observation.series)
        .find(wanted)
        .ok_or_else(|| {
            let usual = if spacing { "spacing" } else { "latency" };
            format!("the node has no series of {}", point.unwrap_or(usual))
        })
}

/// The rate implied by the shortest interval at a row's probe: payload bits over that interval, in bit/s or as a share of the
/// link.
fn of_interval_at_probe(row: &Row, observation: &Observation, metric: Metric) -> Field<f64> {
    let series = match series_of(row, observation, true) {
        Ok(series) => series,
        Err(why) => return Field::absent(why),
    };
    let ticks = series.histogram.min_ticks;
    let Some(tick_ps) = series.clock.tick_ps.filter(|ps| ticks > 0 && *ps > 0) else {
        return Field::absent("the series has no interval in time");
    };
    let payload_bits = 8.0 * f64::from(observation.sizes.payload);
    let rate = payload_bits * 1e12 / (ticks as f64 * tick_ps as f64);
    let carrier = observation.node.capabilities.link_bits_per_s;
    let link = observation.trial.link_bits_per_s.or(carrier);
    match (metric, link) {
        (Metric::IntervalThroughput, _) => Field::Observed {
            value: rate,
            kind: series.kind,
        },
        (_, Some(link)) => Field::Observed {
            value: rate / link as f64,
            kind: series.kind,
        },
        (_, None) => Field::absent(NO_LINK_RATE),
    }
}

/// Latency at the row's capture point, its spread, or the spacing at its probe, in s.
fn of_series(row: &Row, observation: &Observation, metric: Metric) -> Field<f64> {
    let series = match series_of(row, observation, metric == Metric::Spacing) {
        Ok(series) => series,
        Err(why) => return Field::absent(why),
    };
    let Some(tick_ps) = series.clock.tick_ps else {
        return Field::absent("the series counts instructions, not time");
    };
    let histogram = &series.histogram;
    let at = |percent| match series.percentile(percent) {
        Some(ticks) => Field::Observed {
            value: ticks as f64 * tick_ps as f64 * 1e-12,
            kind: series.kind,
        },
        None => Field::absent("too few samples for this percentile"),
    };
    let ticks = match (metric, histogram.count) {
        (_, 0) => return Field::absent("the series has no sample"),
        (Metric::Latency3Sigma, 1) => return Field::absent("one sample has no spread"),
        (Metric::Latency3Sigma, _) => 3.0 * histogram.stddev_ticks,
        (Metric::LatencyMin, _) => histogram.min_ticks as f64,
        (Metric::LatencyMax, _) => histogram.max_ticks as f64,
        (Metric::LatencyMedian, _) => return at(50.0),
        (Metric::LatencyP90, _) => return at(90.0),
        (Metric::LatencyP99, _) => return at(99.0),
        (Metric::LatencyP999, _) => return at(99.9),
        _ => histogram.mean_ticks,
    };
    let kind = match (metric, series.kind) {
        // A series is calibrated if its mean is; for its spread, the figure's role decides.
        (Metric::Latency3Sigma, Kind::Calibrated) => Kind::Predicted,
        (_, kind) => kind,
    };
    Field::Observed {
        value: ticks * tick_ps as f64 * 1e-12,
        kind,
    }
}

/// A metric that follows from the trial alone, in its base unit.
pub(crate) fn of_trial(trial: &Trial, metric: Metric) -> Field<f64> {
    if metric.is_stated() {
        return Field::absent("a condition in the document, not the result of a trial");
    }
    let sizes = match trial.sizes() {
        Ok(sizes) => sizes,
        Err(error) => return Field::absent(error.to_string()),
    };
    let frames = match trial.extent {
        Extent::Frames { frames } => Some(frames as f64),
        Extent::Time { .. } => None,
    };
    let payload_bits = 8.0 * f64::from(sizes.payload);
    let value = match metric {
        Metric::Frames => frames,
        Metric::Payload => Some(payload_bits),
        Metric::Data => frames.map(|n| n * payload_bits),
        Metric::FrameBits => Some(8.0 * Overhead::default().link_bytes(&sizes) as f64),
        _ => None,
    };
    computed(value, "it does not follow from the trial")
}

/// A metric of the link alone with frames of the trial's size, in its base unit. Rates are whole frames per second, as
/// in published tables.
pub(crate) fn of_link(trial: &Trial, link: LineRate, metric: Metric) -> Field<f64> {
    if metric.is_of_the_trial() {
        return of_trial(trial, metric);
    }
    let sizes = match trial.sizes() {
        Ok(sizes) => sizes,
        Err(error) => return Field::absent(error.to_string()),
    };
    let value = match metric {
        Metric::FramesPerS => Some(link.whole_frames_per_s(&sizes) as f64),
        Metric::Throughput => {
            Some(8.0 * link.whole_frames_per_s(&sizes) as f64 * f64::from(data_bytes(&sizes)))
        }
        Metric::ShareOfLimit => Some(1.0),
        Metric::Efficiency => Some(link.overhead.efficiency(&sizes)),
        Metric::TimePerFrame => Some(link.frame_time_ps(&sizes) as f64 * 1e-12),
        _ => None,
    };
    computed(value, "a link alone has none")
}

/// Bytes of a frame that throughput counts: the datagram where there is one, else the payload.
fn data_bytes(sizes: &Sizes) -> u32 {
    sizes.datagram.unwrap_or(sizes.payload)
}

fn computed(value: Option<f64>, why_not: &str) -> Field<f64> {
    let kind = Kind::Predicted;
    value.map_or_else(
        || Field::absent(why_not),
        |value| Field::Observed { value, kind },
    )
}

/// A figure computed from two others. It has the weaker kind of the two: a model's result from a figure that it was
/// fitted to is calibrated. Kinds do not mix if one of them is not a model's.
pub(crate) fn both(a: Field<f64>, b: Field<f64>, f: impl Fn(f64, f64) -> f64) -> Field<f64> {
    let (a, b, kind) = match (a, b) {
        (
            Field::Observed { value: a, kind },
            Field::Observed {
                value: b,
                kind: other,
            },
        ) => (a, b, kind.joined(other)),
        (Field::Absent { absent }, _) | (_, Field::Absent { absent }) => {
            return Field::Absent { absent };
        }
    };
    let Some(kind) = kind else {
        return Field::absent("figures of different kinds cannot be combined");
    };
    let value = f(a, b);
    Field::Observed { value, kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_do_not_mix_but_a_models_do() {
        let of = |kind| Field::Observed { value: 2.0, kind };
        let sum = |a, b| both(of(a), of(b), |a, b| a + b).kind();
        let (fitted, free) = (Kind::Calibrated, Kind::Predicted);
        assert_eq!(sum(fitted, fitted), Some(fitted));
        assert_eq!(sum(fitted, free), Some(fitted));
        assert_eq!(sum(free, fitted), Some(fitted));
        assert_eq!(sum(Kind::Measured, free), None);
        let absent = both(of(free), Field::absent("no"), |a, b| a + b);
        assert_eq!(absent, Field::absent("no"));
    }
}
