//! Plans a trial: the request to the board and the frames on its wire, checked before anything happens.

use wirelab_control::message::{Identity, Start};
use wirelab_control::value::{Extent as Until, Load as ControlLoad, Mac};
use wirelab_port::inject::Schedule;
use wirelab_trial::{
    Accepts, Direction, Extent, Layer, Link, Load, NodeError, Resolved, SizeLimits, Trial,
    TrialField, TrialOption,
};

/// The tester's stream.
pub const TO_NODE: u8 = 0;
/// The board's stream.
pub const FROM_NODE: u8 = 1;
/// The tester's address, which is used only on this wire.
pub const TESTER: [u8; 6] = [0x02, 0x57, 0x4C, 0, 0, 1];
/// The link in bit/s.
pub const LINK_BITS_PER_S: u64 = 100_000_000;
/// Most frames that the tester offers: their faults and times are planned in advance.
const MOST_OFFERED: u64 = 4_000_000;
/// Added to the time limit of a trial, in ps of simulated time: 1 s.
const MARGIN_PS: u64 = 1_000_000_000_000;

/// A trial, ready to run.
#[derive(Clone, Debug)]
pub struct BoardTrial {
    /// The requested trial.
    pub resolved: Resolved,
    /// Sequences that the tester uses; 0 where it does not send.
    pub sequences: u64,
    /// The tester's faults.
    pub faults: Schedule,
    /// The request to the board.
    pub start: Start,
}

impl BoardTrial {
    /// ps from the start of one offered frame to the start of the next.
    pub fn interval_ps(&self) -> u64 {
        let Resolved { sizes, link, .. } = &self.resolved;
        let of_link = || link.map(|link| link.frames_per_s(sizes));
        let rate = self.resolved.frames_per_s.or_else(of_link);
        rate.map_or(1, |rate| ((1e12 / rate).round() as u64).max(1))
    }

    /// Frames of a flow, where known in advance.
    pub fn frames(&self) -> u64 {
        match self.resolved.trial.extent {
            Extent::Frames { frames } => frames,
            Extent::Time { time_ps } => time_ps / self.interval_ps(),
        }
    }
}

const REASONS: [(TrialField, &str); 4] = [
    (
        TrialField::Layer,
        "this board has no stack; fix: use --layer ethernet, or board:zynq7000 for UDP and TCP",
    ),
    (
        TrialField::VlanTags,
        "the firmware makes no tagged frames; fix: leave the tags out",
    ),
    (TrialField::Ports, "the board has one; fix: use --ports 1"),
    (
        TrialField::Option(TrialOption::Link),
        "its link runs at 100 Mbit/s; fix: leave --rate out",
    ),
];

fn resolve(trial: &Trial, node: &Identity) -> Result<Resolved, NodeError> {
    let accepts = Accepts {
        layers: &[Layer::Ethernet],
        directions: &[
            Direction::Transmit,
            Direction::Receive,
            Direction::Both,
            Direction::Echo,
        ],
        vlan_tags: 0,
        ports: 1,
        buffers: &node.buffers,
        paths: &[],
        // Strict gaps have no effect: in simulated time no frame is late.
        options: &[
            TrialOption::Link,
            TrialOption::Buffers,
            TrialOption::StrictGaps,
            TrialOption::Faults,
        ],
        sizes: SizeLimits::TestFrame,
        reasons: &REASONS,
        otherwise: "the board has one path, on which it polls; fix: leave it out",
    };
    accepts.check(trial)?;
    if trial.direction == Direction::Transmit && !trial.faults.is_clean() {
        let why =
            "the tester makes faults, and it sends nothing here; fix: use receive, echo or both";
        return Err(NodeError::unsupported(TrialOption::Faults, why));
    }
    Resolved::new(trial, &accepts, Link::Fixed(LINK_BITS_PER_S))?.with_echo_rate()
}

/// Checks the trial against the board's report, and plans it.
pub fn plan(
    trial: &Trial,
    node: &Identity,
    descriptors: Option<u16>,
) -> Result<BoardTrial, NodeError> {
    let resolved = resolve(trial, node)?;
    let mut plan = BoardTrial {
        sequences: 0,
        faults: Schedule::default(),
        start: start(trial, node, resolved.frames_per_s, descriptors),
        resolved,
    };
    if plan.resolved.tester_sends() {
        plan.sequences = plan.frames();
        if !(1..=MOST_OFFERED).contains(&plan.sequences) {
            return Err(NodeError::bad(format!(
                "{} frames cannot be offered to the emulated board; fix: offer 1 to {MOST_OFFERED}",
                plan.sequences
            )));
        }
        plan.faults = Schedule::plan(
            &trial.faults,
            plan.sequences,
            plan.resolved.sizes.lfsr_len(),
        )
        .map_err(NodeError::bad)?;
        if trial.direction != Direction::Both {
            // The board is done after this many arrivals, copies included.
            plan.start.extent = Until::Frames(plan.faults.emissions(plan.sequences));
        }
    }
    let expected = u128::from(plan.frames()) * u128::from(plan.interval_ps());
    // The firmware's copy loop may be slower than the wire, so the limit is eight times the time on the wire.
    let limit = u64::try_from(8 * expected).unwrap_or(u64::MAX);
    plan.start.limit_ps = Some(limit.saturating_add(MARGIN_PS).min(node.max_time_ps));
    Ok(plan)
}

fn start(
    trial: &Trial,
    node: &Identity,
    frames_per_s: Option<f64>,
    descriptors: Option<u16>,
) -> Start {
    let sends = matches!(trial.direction, Direction::Transmit | Direction::Both);
    let load = match frames_per_s {
        Some(rate) => ControlLoad::MilliframesPerS((rate * 1000.0).round().max(1.0) as u64),
        None => ControlLoad::Max,
    };
    let extent = match trial.extent {
        Extent::Frames { frames } => Until::Frames(frames),
        Extent::Time { time_ps } => Until::TimePs(time_ps),
    };
    // Capturing costs time at each point: only a trial with a rate leaves time for it.
    let captures = match trial.load {
        Load::Max => 0,
        _ => node.max_captures,
    };
    Start {
        size: Some(trial.size),
        load: sends.then_some(load),
        tx_stream: Some(FROM_NODE),
        rx_stream: Some(TO_NODE),
        buffers: trial.buffers.filter(|_| sends),
        descriptors: descriptors.filter(|_| sends),
        captures: (captures > 0).then_some(captures),
        peer_mac: Some(Mac(TESTER)),
        ..Start::new(trial.direction, trial.framing.layer, extent)
    }
}
