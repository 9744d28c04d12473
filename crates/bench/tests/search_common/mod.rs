//! A simulated node whose loss is a function of the load, for the tests of the searches.

use wirelab_bench::NoCeiling;
use wirelab_bench::search::{
    Goal, GoalResult, Limit, Search, SearchContext, SearchResult, find_rates,
};
use wirelab_statistics::random::SplitMix64;
use wirelab_trial::*;

use crate::common::SimulatedNode;

pub const SECOND_PS: u64 = 1_000_000_000_000;
/// What a link of 1 Gbit/s carries of 64-byte frames.
pub const GIGABIT_FRAMES_PER_S: f64 = 1e9 / 672.0;

/// Share of frames lost at a load in frames/s, in a trial of so many frames.
pub type Loss = Box<dyn FnMut(f64, u64, &mut SplitMix64) -> f64>;

pub struct CurveNode {
    inner: SimulatedNode,
    loss: Loss,
    rng: SplitMix64,
    pub kind: Kind,
    /// Number of the run from which on its losses are predicted, whatever its kind.
    pub predicts_from: usize,
    /// Highest rate the sender keeps, in frames/s.
    pub sender_frames_per_s: f64,
    /// Share of the load asked that the sender offers.
    pub keeps_share: f64,
    /// Between these loads in frames/s it offers half of it.
    pub half_between: (f64, f64),
    /// Share of what the sender does not offer of its load for which its host holds it, and for which the path blocks it.
    pub hold_and_block: Option<(f64, f64)>,
    /// Frames/s beyond which the path holds the sender back instead of losing frames.
    pub path_frames_per_s: f64,
    /// The same, as a function of the requested load.
    pub path_of_load: Option<Box<dyn Fn(f64) -> f64>>,
    /// Frames that a queue in the path takes in before it does so.
    pub path_queue_frames: f64,
    /// Above this load in frames/s two frames were lost by the path or dropped by the tester; 0 for never.
    pub in_doubt: f64,
    /// From this load in frames/s on the tester's host holds the sender up for half of the time.
    pub stops_from_frames_per_s: f64,
    /// Numbers of the runs (counted from 1) in which it offers half of it.
    pub held_up_at: Vec<usize>,
    /// Whether the sender's own figures are in the observation.
    pub sender_is_seen: bool,
    /// Numbers of the runs (counted from 1) that end early.
    pub ends_early: Vec<usize>,
    /// Whether they do so because the run was cancelled.
    pub cancels: bool,
    /// Whether all ports but the first are without loss.
    pub one_port_loses: bool,
    /// Frames/s beyond which the path of the first port alone holds the sender back, in place of the others'.
    pub first_path_frames_per_s: Option<f64>,
    pub fails_from: usize,
}

impl CurveNode {
    pub fn new(loss: impl FnMut(f64, u64, &mut SplitMix64) -> f64 + 'static) -> CurveNode {
        let mut inner = SimulatedNode::new(f64::MAX);
        inner.link_bits_per_s = Some(1_000_000_000);
        CurveNode {
            inner,
            loss: Box::new(loss),
            rng: SplitMix64::new(9971),
            kind: Kind::Measured,
            predicts_from: usize::MAX,
            sender_frames_per_s: f64::MAX,
            keeps_share: 1.0,
            half_between: (0.0, 0.0),
            hold_and_block: None,
            path_frames_per_s: f64::MAX,
            path_of_load: None,
            path_queue_frames: 0.0,
            in_doubt: 0.0,
            stops_from_frames_per_s: f64::MAX,
            held_up_at: Vec::new(),
            sender_is_seen: true,
            ends_early: Vec::new(),
            cancels: false,
            one_port_loses: false,
            first_path_frames_per_s: None,
            fails_from: usize::MAX,
        }
    }

    /// A node that carries so many frames/s and loses the rest.
    pub fn of_capacity(capacity: f64) -> CurveNode {
        CurveNode::new(move |load, _, _| (1.0 - capacity / load).max(0.0))
    }

    /// A node that takes bursts at line rate up to a length.
    pub fn of_buffer(mut frames: impl FnMut(&mut SplitMix64) -> u64 + 'static) -> CurveNode {
        CurveNode::new(move |_, sent, rng| f64::from(u8::from(sent > frames(rng))) * 0.5)
    }

    pub fn without_link(mut self) -> CurveNode {
        self.inner.link_bits_per_s = None;
        self
    }

    pub fn asked(&self) -> &[Trial] {
        &self.inner.asked
    }

    /// Loads asked in frames/s; NaN for `max`.
    pub fn loads(&self) -> Vec<f64> {
        let rate = |trial: &Trial| match trial.load {
            Load::FrameRate { frames_per_s } => frames_per_s,
            _ => f64::NAN,
        };
        self.asked().iter().map(rate).collect()
    }

    fn bend(&mut self, flow: &mut FlowObservation, trial: &Trial) {
        let sizes = trial.sizes().unwrap();
        let link = trial.link().or(wirelab_wire::LineRate::new(1_000_000_000));
        let asked = trial.load.frames_per_s(&sizes, trial.framing.layer, link);
        let asked = asked.unwrap().unwrap_or(self.sender_frames_per_s);
        let (from, to) = self.half_between;
        let half = self.held_up_at.contains(&self.asked().len()) || (from < asked && asked < to);
        let share = if half { 0.5 } else { self.keeps_share };
        let offered = (asked * share).min(self.sender_frames_per_s);
        let time_s = match trial.extent {
            Extent::Time { time_ps } => time_ps as f64 / 1e12,
            Extent::Frames { .. } => 1.0,
        };
        let unblocked = offered;
        let path = match self.first_path_frames_per_s {
            Some(first) if flow.stream == 0 => first,
            _ => match &self.path_of_load {
                Some(of) => of(asked),
                None => self.path_frames_per_s,
            },
        };
        let taken = path + self.path_queue_frames / time_s;
        let offered = offered.min(taken);
        let sent = match trial.extent {
            Extent::Frames { frames } => frames,
            Extent::Time { time_ps } => (offered * time_ps as f64 / 1e12) as u64,
        };
        // Any loss loses at least one frame, so that a trial's resolution does not hide it.
        let ratio = match self.one_port_loses && flow.stream > 0 {
            true => 0.0,
            false => (self.loss)(offered, sent, &mut self.rng),
        };
        let lost = (sent as f64 * ratio).ceil().min(sent as f64) as u64;
        let kind = match self.asked().len() >= self.predicts_from {
            true => Kind::Predicted,
            false => self.kind,
        };
        let seen = |value| Field::Observed { value, kind };
        let loss_ratio = lost as f64 / sent.max(1) as f64;
        flow.sent_frames = Field::Observed { value: sent, kind };
        flow.loss_ratio = seen(loss_ratio);
        let doubtful = match self.in_doubt > 0.0 && offered > self.in_doubt {
            true => 2.min(sent - lost),
            false => 0,
        };
        flow.counts = Field::Observed {
            value: Counts {
                received_frames: sent - lost - doubtful,
                good_frames: sent - lost - doubtful,
                distinct_sequences: sent - lost - doubtful,
                lost_frames: lost,
                lost_or_missed_frames: doubtful,
                ..Counts::default()
            },
            kind,
        };
        let at_most = (lost + doubtful) as f64 / sent.max(1) as f64;
        flow.loss_ratio_at_most = (doubtful > 0).then_some(at_most);
        let arrived = (offered * (1.0 - loss_ratio)).min(path);
        flow.frames_per_s = seen(arrived);
        flow.payload_bits_per_s = seen(arrived * 8.0 * f64::from(sizes.payload));
        flow.link_bits_per_s = seen(arrived * 8.0 * f64::from(sizes.frame + 20));
        if let Field::Observed { value: sender, .. } = &mut flow.sender {
            sender.asked_frames_per_s = seen(asked);
            let ps = |share: f64| (share * time_s * 1e12) as u64;
            sender.blocked_ps = Field::measured(ps(1.0 - offered / unblocked));
            let stopped = asked >= self.stops_from_frames_per_s;
            sender.slipped_ps = Field::measured(ps(f64::from(u8::from(stopped)) * 0.5));
            if let Some((hold, block)) = self.hold_and_block {
                let short = 1.0 - offered / asked;
                sender.slipped_ps = Field::measured(ps(short * hold));
                sender.blocked_ps = Field::measured(ps(short * block));
            }
            sender.achieved_frames_per_s = seen(offered);
            sender.kept_rate = Field::measured(trial.load == Load::Max || offered >= 0.995 * asked);
            if sent < 2 {
                sender.achieved_frames_per_s = Field::absent("fewer than two frames");
                sender.kept_rate = Field::absent("fewer than two frames");
            }
        }
        if !self.sender_is_seen {
            flow.sender = Field::absent("nobody looked");
        }
    }
}

impl Node for CurveNode {
    fn describe(&self) -> Description {
        self.inner.describe()
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        // The inner node makes the form of an observation; a short trial is enough for that.
        let form = Trial {
            load: Load::Max,
            extent: Extent::Frames { frames: 1 },
            ..trial.clone()
        };
        let mut observation = self.inner.run(&form, progress, cancel)?;
        *self.inner.asked.last_mut().unwrap() = trial.clone();
        if self.asked().len() >= self.fails_from {
            return Err(NodeError::Failed("the board is silent".to_owned()));
        }
        observation.trial = trial.clone();
        for flow in &mut observation.flows {
            self.bend(flow, trial);
        }
        if self.ends_early.contains(&self.asked().len()) {
            if self.cancels {
                cancel.cancel();
            }
            observation.status = Status::Partial {
                why: "ended early".to_owned(),
            };
        }
        Ok(observation)
    }
}

/// 64-byte Ethernet frames to the node.
pub fn receive() -> Trial {
    Trial::new(
        Framing::default(),
        Direction::Receive,
        Size {
            unit: SizeUnit::Frame,
            bytes: 64,
        },
        Load::Max,
        Extent::Frames { frames: 1 },
    )
}

/// Run something that asks, with nobody watching.
pub fn ask<T>(
    node: &mut CurveNode,
    with: impl FnOnce(SearchContext<'_>) -> T,
) -> (T, Vec<Observation>) {
    let mut kept = Vec::new();
    let result = with(SearchContext {
        node,
        ceiling: &mut NoCeiling("not measured in this test".to_owned()),
        progress: &(),
        cancel: &Cancel::new(),
        sink: &mut kept,
    });
    (result, kept)
}

pub fn lower(goal: &GoalResult) -> f64 {
    *goal.relevant_lower_bound_frames_per_s.value().unwrap()
}

pub fn upper(goal: &GoalResult) -> f64 {
    *goal.relevant_upper_bound_frames_per_s.value().unwrap()
}

pub fn through(goal: &GoalResult) -> f64 {
    *goal.conditional_throughput_frames_per_s.value().unwrap()
}

/// No loss, and a loss of at most 2.5 %, in trials of one second.
pub fn both_goals() -> Search {
    Search::new(vec![
        Goal::no_loss(SECOND_PS),
        Goal::at_loss(0.025, SECOND_PS),
    ])
}

/// Search on a node with frames to it; every trial must be kept.
pub fn find(node: &mut CurveNode, search: &Search) -> SearchResult {
    let (result, kept) = ask(node, |context| find_rates(context, &receive(), search));
    let result = result.unwrap();
    assert_eq!(kept.len(), result.trials.len(), "each trial is kept");
    result
}

pub fn limit(goal: &GoalResult) -> Limit {
    *goal.limited_by.value().unwrap()
}
