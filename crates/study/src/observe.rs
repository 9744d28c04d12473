//! A published table as observations, so that a node can be fitted to it as to results; and which cells are held out.

use std::collections::BTreeMap;

use wirelab_trial::facts::Facts;
use wirelab_trial::nearest::{did_you_mean, head, unknown};
use wirelab_trial::{
    Capabilities, Clock, ClockKind, CpuLoad, Description, Direction, Extent, Field, FixedSeries,
    FlowIntervals, FlowObservation, Histogram, Kind, Load, Observation, Owner, PercentileIntervals,
    Rounding, Series, SeriesName, Status, TesterObservation,
};
use wirelab_wire::Layer;

use crate::metric::Metric;
use crate::run::StudyRun;
use crate::table::{Role, Row, Study};

/// Why a row of a table has no observation.
const NOT_PRINTED: &str = "the table does not print it";

/// Why a loss is a condition of its row.
const LOST_OUTSIDE: &str = "the node's CPU had time left, so the frames were lost elsewhere: a condition of the row's other figures";
/// Busy ratio from which a node loses frames because its CPU has no time for them.
const BUSY: f64 = 0.95;

/// What is held out of a fit.
#[derive(Clone, Debug, PartialEq)]
pub enum HoldOut {
    /// Cells that match all of some conditions.
    Where(Vec<(Key, String)>),
    /// Each cell with a probability, by a seed.
    Random {
        /// The probability that a cell is held out.
        share: f64,
        /// A different seed holds out different cells.
        seed: u64,
    },
    /// Each row in turn.
    LeaveOneOut,
}

/// What a condition compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The size of the trial in bytes.
    Size,
    /// The load, as trials have it.
    Load,
    /// The direction.
    Direction,
    /// The row's name, or the start of it.
    Row,
    /// The metric.
    Metric,
}

const KEYS: [(&str, Key); 5] = [
    ("size", Key::Size),
    ("load", Key::Load),
    ("direction", Key::Direction),
    ("row", Key::Row),
    ("metric", Key::Metric),
];

impl std::str::FromStr for HoldOut {
    type Err = String;

    fn from_str(text: &str) -> Result<HoldOut, String> {
        let fix = "write e.g. size=256, size=256,metric=cpu_load, random=25%, random=25%:SEED or leave-one-out; keys are size, load, direction, row and metric";
        let refuse = |what: &str| Err(format!("invalid hold-out '{text}': {what}; fix: {fix}"));
        if text == "leave-one-out" {
            return Ok(HoldOut::LeaveOneOut);
        }
        if let Some(random) = text.strip_prefix("random=") {
            let (share, seed) = random.split_once(':').unwrap_or((random, "1"));
            let percent = share.strip_suffix('%').and_then(|p| p.parse::<f64>().ok());
            return match (percent, seed.parse()) {
                (Some(percent), Ok(seed)) if percent > 0.0 && percent < 100.0 => {
                    Ok(HoldOut::Random {
                        share: percent / 100.0,
                        seed,
                    })
                }
                _ => refuse("its share is not a percentage above 0 and below 100"),
            };
        }
        let mut conditions = Vec::new();
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                let meant = did_you_mean(part, ["leave-one-out"].into_iter());
                let what = format!("'{part}' is not KEY=VALUE; {meant}");
                return refuse(what.trim_end_matches([' ', ';']));
            };
            let Some((_, key)) = KEYS.iter().find(|(name, _)| *name == key.trim()) else {
                let known = KEYS.iter().map(|(name, _)| *name);
                let known = known.chain(["random", "leave-one-out"]);
                return Err(format!(
                    "invalid hold-out '{}': {}",
                    head(text),
                    unknown("key", key, known)
                ));
            };
            match key {
                Key::Load => {
                    if let Err(why) = value.trim().parse::<Load>() {
                        return refuse(&why.to_string());
                    }
                }
                Key::Metric => {
                    value
                        .trim()
                        .parse::<Metric>()
                        .map_err(|why| format!("invalid hold-out '{text}': {why}"))?;
                }
                _ => {}
            }
            conditions.push((*key, value.trim().to_owned()));
        }
        Ok(HoldOut::Where(conditions))
    }
}

impl HoldOut {
    /// Whether a cell is held out.
    pub fn holds_out(&self, row: &Row, metric: Metric) -> bool {
        match self {
            HoldOut::Where(conditions) => conditions.iter().all(|(key, value)| match key {
                Key::Size => row.trial.size.bytes.to_string() == *value,
                Key::Load => value.parse() == Ok(row.trial.load),
                Key::Direction => value.parse() == Ok(row.trial.direction),
                Key::Row => row.name.starts_with(value.as_str()),
                Key::Metric => metric.name() == value,
            }),
            HoldOut::Random { share, seed } => chance_of(&row.name, metric, *seed) < *share,
            HoldOut::LeaveOneOut => false,
        }
    }
}

/// A number from 0 to 1 that belongs to a cell (FNV-1a, then a finish that mixes all bits).
fn chance_of(row: &str, metric: Metric, seed: u64) -> f64 {
    let bytes = row.bytes().chain(*b"/").chain(metric.name().bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    (hash >> 11) as f64 / (1u64 << 53) as f64
}

impl Study {
    /// The nodes of the rows, in the order of the rows.
    pub fn nodes(&self) -> Vec<&str> {
        let mut nodes: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| !row.limit) {
            let node = row.node.as_deref().unwrap_or(&self.node);
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        nodes
    }

    /// The node to fit: the requested one, or the only one.
    ///
    /// # Errors
    /// The nodes that there are.
    pub fn node_to_fit<'a>(&'a self, wantedd: Option<&'a str>) -> Result<&'a str, String> {
        match (wantedd, self.nodes().as_slice()) {
            (Some(node), nodes) if nodes.contains(&node) => Ok(node),
            (None, [node]) => Ok(node),
            (_, nodes) => Err(format!(
                "the table has rows of the nodes {}; fix: choose one of them with --node",
                nodes.join(", ")
            )),
        }
    }

    /// The rows of the node `of`, for another node that is fitted to them. Training cells get the role `calibration`, and all
    /// others except disputed and unpredictable ones the role `held-out`. Conditions of rows are left out, because they belong
    /// to the study's own model; only the share of frames lost before the node is kept, as the parameter `lost_before`.
    #[must_use]
    pub fn fitted_by(
        &self,
        of: &str,
        (node, lost_before): (&str, &str),
        trains: impl Fn(&Row, Metric) -> bool,
    ) -> Study {
        let mut study = self.clone();
        node.clone_into(&mut study.node);
        study
            .rows
            .retain(|row| !row.limit && row.node.as_deref().unwrap_or(&self.node) == of);
        for row in &mut study.rows {
            row.node = None;
            row.set = BTreeMap::new();
            // The link of the page is that of the trials.
            row.trial.link_bits_per_s = row.trial.link_bits_per_s.or(self.link_bits_per_s);
            let whole = row.clone();
            let lost = lost_outside(row);
            if let Some(lost) = lost {
                let set = format!("{} %", 100.0 * lost);
                row.set.insert(lost_before.to_owned(), set);
            }
            for cell in &mut row.cells {
                if lost.is_some() && cell.metric == Metric::Loss {
                    cell.role = Role::Unpredictable;
                    cell.reason = Some(LOST_OUTSIDE.to_owned());
                }
                cell.role = match cell.role {
                    role @ (Role::Disputed | Role::Unpredictable) => role,
                    _ if trains(&whole, cell.metric) => Role::Calibration,
                    _ => Role::HeldOut,
                };
            }
        }
        study.claims.clear();
        study.sums.clear();
        study
    }

    /// Marks training cells that the fitted node predicts as held out: the fit was given them but did not use them.
    pub fn hold_out_predicted(&mut self, run: &StudyRun) {
        for row in &mut self.rows {
            let cells = row.cells.iter_mut();
            for cell in cells.filter(|cell| cell.role == Role::Calibration) {
                let mut figures = run.rows.iter();
                let figure = figures.find(|f| f.row == row.name && f.metric == cell.metric);
                if figure.is_some_and(|f| f.kind == Some(Kind::Predicted)) {
                    cell.role = Role::HeldOut;
                }
            }
        }
    }

    /// Each row's figures of `of`, as predicted by `without`: a run of a node that is fitted to all other rows. If these
    /// are too few for a fit, there is no prediction.
    pub fn leave_one_out(
        &self,
        of: StudyRun,
        without: impl Fn(&Row) -> Option<StudyRun>,
    ) -> StudyRun {
        let mut kept = Vec::new();
        for row in &self.rows {
            if !of.rows.iter().any(|figure| figure.row == row.name) {
                continue;
            }
            let figures = without(row).into_iter().flat_map(|run| run.rows);
            kept.extend(figures.filter(|figure| figure.row == row.name));
        }
        StudyRun { rows: kept, ..of }
    }

    /// The training cells of each row as an observation, with the rounding of its figures.
    pub fn observations(&self) -> Vec<(Observation, Rounding)> {
        self.rows
            .iter()
            .filter_map(|row| Some((observation(self, row)?, rounding(row))))
            .collect()
    }
}

/// How far the printed figures of a row may be off.
fn rounding(row: &Row) -> Rounding {
    let half = |metric: Metric| {
        let printed = &row.cell(metric)?.published;
        Some((printed.half_step() * printed.unit.scale, printed.base()))
    };
    let of_rate = RATES.iter().find_map(|metric| half(*metric));
    Rounding {
        frames_per_s: of_rate.map_or(0.0, |(half, value)| half / value.max(f64::MIN_POSITIVE)),
        cpu_load: half(Metric::CpuLoad).map_or(0.0, |(half, _)| half),
        series_ns: half(Metric::Latency).map_or(0.0, |(half, _)| 1e9 * half),
    }
}

/// The metrics that give a rate, the first ones first.
const RATES: [Metric; 4] = [
    Metric::FramesPerS,
    Metric::Throughput,
    Metric::TimePerFrame,
    Metric::Time,
];

/// The printed loss of a received row whose CPU had time left.
fn lost_outside(row: &Row) -> Option<f64> {
    let base = |metric| Some(row.cell(metric)?.published.base());
    let (lost, busy) = (base(Metric::Loss)?, base(Metric::CpuLoad)?);
    let received = row.trial.direction == Direction::Receive;
    (received && busy < BUSY && lost > 0.0 && lost < 1.0).then_some(lost)
}

fn of<T>(value: Option<T>) -> Field<T> {
    match value {
        Some(value) => Field::Observed {
            value,
            kind: Kind::Published,
        },
        None => Field::absent(NOT_PRINTED),
    }
}

/// A row with its training figures; none if a fit cannot use it.
fn observation(study: &Study, row: &Row) -> Option<Observation> {
    let trial = &row.trial;
    let one_way = matches!(trial.direction, Direction::Transmit | Direction::Receive);
    let frames = matches!(trial.framing.layer, Layer::TcpIpv4 | Layer::TcpIpv6);
    if row.limit || row.interval.is_some() || !one_way || frames {
        return None;
    }
    let sizes = trial.sizes().ok()?;
    let trained = |metric: Metric| {
        let cell = row
            .cell(metric)
            .filter(|cell| cell.role == Role::Calibration);
        cell.map(|cell| cell.published.base())
    };
    let load = trained(Metric::CpuLoad);
    let loss = row
        .cell(Metric::Loss)
        .map(|cell| cell.published.base())
        .filter(|l| (0.0..=1.0).contains(l));
    let per_s = frames_per_s(study, row, &trained, load.is_some(), loss);
    let latency = trained(Metric::Latency);
    if (load.is_none() || per_s.is_none()) && latency.is_none() && rate(row, &trained).is_none() {
        return None;
    }
    let flow = FlowObservation {
        port: "table/0".to_owned(),
        direction: trial.direction,
        stream: 0,
        sent_frames: Field::absent(NOT_PRINTED),
        counts: Field::absent(NOT_PRINTED),
        elapsed: Field::absent(NOT_PRINTED),
        frames_per_s: of(per_s),
        payload_bits_per_s: Field::absent(NOT_PRINTED),
        link_bits_per_s: Field::absent(NOT_PRINTED),
        efficiency: Field::absent(NOT_PRINTED),
        goodput_bits_per_s: Field::absent(NOT_PRINTED),
        loss_ratio: of(loss),
        loss_ratio_at_most: None,
        intervals: FlowIntervals::default(),
        over_time: wirelab_trial::OverTime::default(),
        checker_held_up_ps: Field::absent(NOT_PRINTED),
        jitter_ps: Field::absent(NOT_PRINTED),
        sender: Field::absent(NOT_PRINTED),
        receiver_path: "published".to_owned(),
        series: latency
            .map(|seconds| series(row, seconds))
            .into_iter()
            .collect(),
        counters: BTreeMap::new(),
    };
    let of_the_node = CpuLoad {
        busy_ratio: load.unwrap_or(0.0),
        idle_baseline_ratio: None,
        shared: false,
        interval: None,
    };
    Some(Observation {
        trial: trial.clone(),
        sizes,
        node: Description {
            name: study.node.clone(),
            node_type: "published".to_owned(),
            capabilities: Capabilities {
                link_bits_per_s: trial.link_bits_per_s.or(study.link_bits_per_s),
                ..Capabilities::default()
            },
            facts: Some(Facts::default()),
            ..Description::default()
        },
        status: Status::Complete,
        started_unix_ns: Field::absent(NOT_PRINTED),
        flows: vec![flow],
        cpu_load: of(load.map(|_| of_the_node)),
        busy_over_time: Vec::new(),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation::new(Field::absent(NOT_PRINTED), Field::absent(NOT_PRINTED)),
        warnings: Vec::new(),
    })
}

/// Frames per second from a training figure of the row.
fn rate(row: &Row, trained: &dyn Fn(Metric) -> Option<f64>) -> Option<f64> {
    let sizes = row.trial.sizes().ok()?;
    let bits = 8.0 * f64::from(sizes.datagram.unwrap_or(sizes.payload));
    let of_time = || match row.trial.extent {
        Extent::Frames { frames } => Some(frames as f64 / trained(Metric::Time)?),
        Extent::Time { .. } => None,
    };
    let rate = trained(Metric::FramesPerS)
        .or_else(|| Some(trained(Metric::Throughput)? / bits))
        .or_else(|| Some(1.0 / trained(Metric::TimePerFrame)?))
        .or_else(of_time);
    rate.filter(|rate| rate.is_finite() && *rate > 0.0)
}

/// Frames per second that the node handled: the offered less the lost ones, else a training rate.
fn frames_per_s(
    study: &Study,
    row: &Row,
    trained: &dyn Fn(Metric) -> Option<f64>,
    for_load: bool,
    loss: Option<f64>,
) -> Option<f64> {
    let trial = &row.trial;
    let sizes = trial.sizes().ok()?;
    let link = trial
        .link_bits_per_s
        .or(study.link_bits_per_s)
        .and_then(wirelab_wire::LineRate::new);
    let offered = trial
        .load
        .frames_per_s(&sizes, trial.framing.layer, link)
        .ok()
        .flatten();
    let delivered = offered.map(|per_s| per_s * (1.0 - loss.unwrap_or(0.0)));
    rate(row, trained).or_else(|| delivered.filter(|per_s| for_load && *per_s > 0.0))
}

/// The name of a capture point of a page.
fn named(point: &str) -> SeriesName {
    SeriesName::parse(point).unwrap_or_else(|| SeriesName::Other(point.to_owned()))
}

/// A mean as a series: its scatter is unknown.
fn series(row: &Row, seconds: f64) -> Series {
    let ticks = [(seconds * 1e12).round() as u64; 2];
    Series {
        name: row
            .point
            .as_deref()
            .map_or(FixedSeries::LATENCY.into(), named),
        kind: Kind::Published,
        clock: Clock {
            kind: ClockKind::Simulated,
            tick_ps: Some(1),
            resolution_ticks: 1,
            owner: Owner::Node,
        },
        raw_ticks: ticks.to_vec().into(),
        sampled: false,
        histogram: Histogram::of(Some(1), ticks),
        percentiles: Default::default(),
        intervals: PercentileIntervals::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hold_outs_are_read() {
        let read = |text: &str| text.parse::<HoldOut>();
        assert_eq!(read("leave-one-out").unwrap(), HoldOut::LeaveOneOut);
        assert_eq!(
            read("random=25%:7").unwrap(),
            HoldOut::Random {
                share: 0.25,
                seed: 7
            }
        );
        let both = HoldOut::Where(vec![
            (Key::Size, "256".into()),
            (Key::Metric, "cpu_load".into()),
        ]);
        assert_eq!(read("size=256, metric=cpu_load").unwrap(), both);
        for (text, what) in [
            ("length", "not KEY=VALUE"),
            ("colour=red", "unknown key"),
            ("random=0%", "percentage"),
            ("load=fast", "invalid load"),
            ("metric=spin", "unknown metric"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(what) && error.contains(text), "{error}");
        }
    }

    #[test]
    fn a_share_of_the_cells_is_held_out_at_random_and_the_same_again() {
        let hits = |seed: u64| -> Vec<bool> {
            (0..400)
                .map(|i| chance_of(&format!("row {i}"), Metric::CpuLoad, seed) < 0.25)
                .collect()
        };
        let count = hits(1).iter().filter(|h| **h).count();
        assert!((70..130).contains(&count), "{count}");
        assert_eq!(hits(1), hits(1));
        assert_ne!(hits(1), hits(2));
    }
}
