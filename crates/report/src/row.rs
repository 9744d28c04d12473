//! The content of a table's row: one flow, or all flows of a trial in one direction together.

use std::ops::Range;

use serde::Serialize;
use wirelab_trial::{
    Counts, Direction, Field, FlowObservation, Kind, Load, Observation, Part, ResultsFile, Stated,
    Status,
};
use wirelab_wire::{Layer, LineRate};

use crate::format;
use crate::loss::{self, Loss};

/// Flows of one trial in one direction; none if a node reports only series or counters.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Number of the trial in the results file, from 1.
    pub trial: usize,
    /// The result of the trial.
    pub observation: &'a Observation,
    /// As the node sees it.
    pub direction: Direction,
    /// The flows.
    pub flows: Vec<&'a FlowObservation>,
}

/// Rows of all observations: each flow by itself, or the flows of one direction together.
pub fn rows(observations: &[Observation], each_flow: bool) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (at, observation) in observations.iter().enumerate() {
        let first = rows.len();
        for flow in &observation.flows {
            // Only one row a direction needs to be searched; each flow alone needs no search.
            let begun = if each_flow { rows.len() } else { first };
            let row = rows[begun..]
                .iter_mut()
                .find(|r: &&mut Row<'_>| r.direction == flow.direction);
            match row {
                Some(row) => row.flows.push(flow),
                None => rows.push(Row {
                    trial: at + 1,
                    observation,
                    direction: flow.direction,
                    flows: vec![flow],
                }),
            }
        }
        if observation.flows.is_empty() {
            rows.push(Row {
                trial: at + 1,
                observation,
                direction: observation.trial.direction,
                flows: Vec::new(),
            });
        }
    }
    rows
}

/// Rows of the observations outside of searches: a search has its own table.
pub fn listed(file: &ResultsFile, each_flow: bool) -> Vec<Row<'_>> {
    let searched = searched(file);
    let mut rows = rows(&file.observations, each_flow);
    rows.retain(|row| !searched[row.trial - 1]);
    rows
}

/// The sentence in place of the rows that [`listed`] leaves out; `None` where it leaves out none.
pub fn left_to_searches(file: &ResultsFile) -> Option<String> {
    let count = searched(file).iter().filter(|s| **s).count();
    (count > 0).then(|| {
        format!(
            "Searches ran {}; their results are below, and CSV and the results file have each trial.",
            format::count(count as u64, "trial")
        )
    })
}

/// The link rate a trial ran at: what the user gave, else the carrier's.
pub fn link(observation: &Observation) -> Option<LineRate> {
    observation.trial.link().or_else(|| {
        let carrier = observation.node.capabilities.link_bits_per_s;
        carrier.and_then(LineRate::new)
    })
}

/// Frames that arrived damaged, in whatever way.
pub fn bad(counts: &Counts) -> u64 {
    [
        counts.header_corrupt_frames,
        counts.truncated_frames,
        counts.stale_frames,
        counts.corrupted_frames,
    ]
    .iter()
    .fold(0, |sum, n| sum.saturating_add(*n))
}

impl<'a> Row<'a> {
    /// One figure of each flow folded into one. Kinds never mix: if one flow has none, or they are of different
    /// kinds, there is no common figure, and the reason says why.
    pub fn fold<T: Clone>(
        &self,
        get: impl Fn(&FlowObservation) -> Field<T>,
        join: impl Fn(T, T) -> T,
    ) -> Field<T> {
        let mut sum: Option<(T, Kind)> = None;
        for flow in &self.flows {
            let (value, kind) = match get(flow) {
                Field::Observed { value, kind } => (value, kind),
                Field::Absent { absent } => return Field::Absent { absent },
            };
            sum = match sum {
                None => Some((value, kind)),
                Some((so_far, its)) => match its.joined(kind) {
                    Some(kind) => Some((join(so_far, value), kind)),
                    None => return Field::absent("figures of different kinds are not summed"),
                },
            };
        }
        match sum {
            Some((value, kind)) => Field::Observed { value, kind },
            None => Field::absent(no_flow(self.observation)),
        }
    }

    /// Sum of a rate over the flows.
    pub fn sum(&self, get: impl Fn(&FlowObservation) -> &Field<f64>) -> Field<f64> {
        self.fold(|flow| get(flow).clone(), |a, b| a + b)
    }

    /// Smallest and largest of a figure over the flows.
    pub fn range(&self, get: impl Fn(&FlowObservation) -> Field<f64>) -> Field<(f64, f64)> {
        self.fold(
            |flow| get(flow).map(|v| (v, v)),
            |a, b| (a.0.min(b.0), a.1.max(b.1)),
        )
    }

    /// The interval of a sum of rates over the flows; none where a flow has none.
    pub fn interval(&self, get: impl Fn(&FlowObservation) -> Option<Stated>) -> Option<Stated> {
        let mut flows = self.flows.iter();
        let first = get(flows.next()?)?;
        flows.try_fold(first, |sum, flow| sum.plus(get(flow)?))
    }

    /// The interval of the loss of all flows together, each weighted by its sent frames.
    pub fn loss_interval(&self) -> Option<Stated> {
        if let [one] = self.flows[..] {
            return one
                .intervals
                .loss_ratio
                .filter(|_| one.loss_ratio.value().is_some());
        }
        let all = *self.sent().value()? as f64;
        self.interval(|flow| {
            let weight = *flow.sent_frames.value()? as f64 / all.max(1.0);
            Some(flow.intervals.loss_ratio?.times(weight))
        })
    }

    /// Sum of one of the receiver's counters over the flows.
    pub fn count(&self, get: impl Fn(&Counts) -> u64) -> Field<u64> {
        self.fold(
            |flow| flow.counts.clone().map(|c| get(&c)),
            u64::saturating_add,
        )
    }

    /// Frames sent, summed over the flows.
    pub fn sent(&self) -> Field<u64> {
        self.fold(|flow| flow.sent_frames.clone(), u64::saturating_add)
    }

    /// Forwarding rate over the highest frame rate of the link, 0 to 1, smallest and largest of the flows.
    pub fn of_line_rate(&self) -> Field<(f64, f64)> {
        let Some(link) = link(self.observation) else {
            return Field::absent(NO_LINK_RATE);
        };
        let limit = link.frames_per_s(&self.observation.sizes);
        self.range(|flow| flow.frames_per_s.clone().map(|f| f / limit))
    }

    /// Frames that were lost, summed over the flows.
    pub fn lost(&self) -> Field<Loss<u64>> {
        self.fold(
            |flow| flow.counts.clone().map(|c| loss::frames(&c)),
            Loss::plus,
        )
    }

    /// Share of frames that were lost, over all flows together; where frames were not counted here, the worst
    /// share that a flow reports itself.
    pub fn loss(&self) -> Field<Loss<f64>> {
        match (self.lost(), self.sent()) {
            (Field::Observed { value: lost, kind }, Field::Observed { value: sent, .. })
                if sent > 0 =>
            {
                let share = |frames: u64| frames as f64 / sent as f64;
                Field::Observed {
                    value: Loss {
                        low: share(lost.low),
                        high: share(lost.high),
                    },
                    kind,
                }
            }
            _ => self.fold(loss::share, |a, b| Loss {
                low: a.low.max(b.low),
                high: a.high.max(b.high),
            }),
        }
    }

    /// Whether only a share of loss is known, and no count.
    pub fn only_share_of_loss(&self) -> bool {
        self.lost().value().is_none() && self.loss().value().is_some()
    }

    /// The direction and the number of ports, e.g. `transmit ×4`.
    pub fn direction_in_words(&self) -> String {
        match self.flows.len() {
            0 | 1 => self.direction.to_string(),
            n => format!("{} ×{n}", self.direction),
        }
    }

    /// The row in a few words, for labels: trial, size and direction.
    pub fn label(&self) -> String {
        let o = self.observation;
        let mut text = format!("{} · {} B", self.trial, o.sizes.payload);
        if let Some(buffers) = o.trial.buffers {
            text.push_str(&format!(" · {buffers}"));
        }
        format!("{text} · {}", self.direction_in_words())
    }
}

/// Why a figure that needs a link rate is absent.
pub const NO_LINK_RATE: &str = "the port has no link rate";

/// A layer in words.
pub const fn layer(layer: Layer) -> &'static str {
    match layer {
        Layer::Ethernet => "Ethernet",
        Layer::UdpIpv4 => "UDP over IPv4",
        Layer::UdpIpv6 => "UDP over IPv6",
        Layer::TcpIpv4 => "TCP over IPv4",
        Layer::TcpIpv6 => "TCP over IPv6",
    }
}

/// A load in words.
pub fn load(load: &Load) -> String {
    match load {
        Load::Max => "max".to_owned(),
        Load::LinkShare { percent } => format!("{percent} %"),
        Load::FrameRate { frames_per_s } => {
            format!("{} frames/s", format::frame_rate(*frames_per_s))
        }
        Load::BitRate { bits_per_s } => format::si(*bits_per_s, "bit/s"),
        Load::Gap { gap_bytes } => format!("gap {gap_bytes} B"),
    }
}

/// Why a trial without flows has no figure.
pub fn no_flow(o: &Observation) -> String {
    match (&o.status, &o.started_unix_ns) {
        (Status::Void { .. }, Field::Absent { absent }) => absent.clone(),
        _ => "this node reported no flow".to_owned(),
    }
}

/// A status without its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StatusWord {
    /// The trial ran as requested.
    Complete,
    /// It ended early.
    Partial,
    /// It has no usable figures.
    Void,
}

impl StatusWord {
    /// As reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            StatusWord::Complete => "complete",
            StatusWord::Partial => "partial",
            StatusWord::Void => "void",
        }
    }
}

/// A status in one word.
pub const fn status(status: &Status) -> StatusWord {
    match status {
        Status::Complete => StatusWord::Complete,
        Status::Partial { .. } => StatusWord::Partial,
        Status::Void { .. } => StatusWord::Void,
    }
}

/// The word for where a figure comes from.
pub const fn kind(kind: Kind) -> &'static str {
    kind.name()
}

/// Where the observations of a part stand in its file, within what the file has.
pub fn range_of(part: &Part, observations: usize) -> Range<usize> {
    let place = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(observations);
    place(part.first)..place(part.first.saturating_add(part.observations))
}

/// For each observation, whether a search ran it: such a trial loses frames because the search tries loads at
/// which the node loses.
pub fn searched(file: &ResultsFile) -> Vec<bool> {
    let mut out = vec![false; file.observations.len()];
    for part in file.parts.iter().filter(|p| p.found.is_some()) {
        let range = range_of(part, out.len());
        out[range].fill(true);
    }
    out
}
