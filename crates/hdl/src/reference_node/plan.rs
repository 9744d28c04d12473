//! From a trial to the node's request, checked before the run.

use wirelab_control::message::{Identity, Start};
use wirelab_control::value::{Extent as Until, Path as WirePath, UnitPoint};
use wirelab_trial::{
    Accepts, Direction, Extent, Layer, Link, NodeError, Path, Resolved, SizeLimits, Trial,
    TrialField, TrialOption,
};
use wirelab_wire::header;

use super::{REST_CLOCKS, TESTER_IP};
use crate::LONGEST_TRIAL_PS;
use crate::reference::REFERENCE_CLOCK_PS;

/// The link in bit/s: a byte of line 0 every eight clocks of 100 MHz.
pub const LINK_BITS_PER_S: u64 = 100_000_000;

/// A trial that is ready to run.
#[derive(Clone, Debug)]
pub struct ReferenceTrial {
    /// The request; at maximum load the next frame is sent as soon as the previous one has returned.
    pub resolved: Resolved,
    /// Least clocks from one frame to the next; at most those of [`LONGEST_TRIAL_PS`].
    pub interval_clocks: u64,
    /// Number of frames.
    pub frames: u64,
    /// Destination UDP port of the frames on the node.
    pub node_port: u16,
    /// Directions whose points the capture units record: none in an echo trial, whose latency the tester measures.
    pub directions: Vec<Direction>,
}

/// From this many frames on, a trial with capture points runs in two parts, on two nodes in parallel, because the
/// second node must be started first.
const FRAMES_FOR_TWO: u64 = 32;
/// Frames of a trial whose records a node keeps: the capacity of a capture unit (`PLACES` of
/// rtl/src/capture_unit.vhd) and of the program's copy (`WL_UNIT_RECORDS` of firmware/app/wl_app.h).
const RECORDS: u64 = 512;
/// Most frames of a trial with capture points: the records of two nodes, less the warm-up frame of each.
pub const MOST_CAPTURED_FRAMES: u64 = 2 * (RECORDS - 1);

/// Frames of a trial that one node echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Their number.
    pub frames: u64,
    /// Number of frames of the trial in earlier parts.
    pub ahead: u64,
}

impl ReferenceTrial {
    /// The trial as one part.
    pub fn whole(&self) -> Part {
        Part {
            frames: self.frames,
            ahead: 0,
        }
    }

    /// The parts of the trial. The division depends only on the trial, so that two runs give the same on any host.
    pub fn parts(&self) -> Vec<Part> {
        if self.directions.is_empty() || self.frames < FRAMES_FOR_TWO {
            return vec![self.whole()];
        }
        let second = self.frames / 2;
        let first = self.frames - second;
        let part = |frames, ahead| Part { frames, ahead };
        vec![part(first, 0), part(second, first)]
    }

    /// Most frames of the trial if one node can do this many.
    fn most(&self, of_a_node: u64) -> u64 {
        match self.directions.is_empty() || of_a_node < FRAMES_FOR_TWO {
            true => of_a_node,
            false => of_a_node.saturating_mul(2),
        }
    }

    /// Refuses more frames than there are records.
    fn keeps_all(&self, node: &Identity) -> Result<(), NodeError> {
        let kept = RECORDS.min(node.max_captures.into()).saturating_sub(1);
        let most = self.most(kept);
        let why = match self.directions.is_empty() || self.frames <= most {
            true => return Ok(()),
            false if most == 0 => {
                "this program keeps no records of capture units; fix: --direction echo".to_owned()
            }
            false => format!(
                "the capture units keep the records of 1 to {most} frames of a trial, and {} were requested; fix: request {most} frames \
                 or fewer, several times for more",
                self.frames
            ),
        };
        Err(NodeError::unsupported(TrialField::Extent, why))
    }

    /// Refuses what takes too long: each frame and the warm-up frame take at least the interval.
    fn ends_in_time(&self) -> Result<(), NodeError> {
        let period_clocks = self.interval_clocks.max(REST_CLOCKS);
        let longest_clocks = LONGEST_TRIAL_PS / REFERENCE_CLOCK_PS;
        let most = self.most((longest_clocks / period_clocks).saturating_sub(1));
        if self.frames <= most {
            return Ok(());
        }
        let fix = match most {
            0 => "fix: raise the load to 1pps or more".to_owned(),
            most => format!("fix: request {most} frames or fewer, or a higher load"),
        };
        let why = format!(
            "{} frames at the load {} are more than 10 s of simulated time, for which a host needs minutes; {fix}",
            self.frames, self.resolved.trial.load
        );
        Err(NodeError::unsupported(TrialField::Extent, why))
    }

    /// The request to the node for this many frames.
    pub fn start(&self, frames: u64) -> Start {
        let fast = self.resolved.trial.path == Some(Path::FastTrack);
        let takes_points = !self.directions.is_empty();
        Start {
            path: fast.then_some(WirePath::FastTrack),
            captures: takes_points.then_some(frames as u32),
            capture_unit: takes_points.then_some(UnitPoint::All),
            node_port: (self.node_port != header::UDP_PORT).then_some(self.node_port),
            peer_ip: Some(TESTER_IP.into()),
            ..Start::new(Direction::Echo, Layer::UdpIpv4, Until::Frames(frames))
        }
    }
}

/// Check the trial against the node's identity, and plan it.
pub fn plan(trial: &Trial, node: &Identity) -> Result<ReferenceTrial, NodeError> {
    let resolved = Resolved::new(trial, &ACCEPTS, Link::Fixed(LINK_BITS_PER_S))?;
    takes(resolved.sizes.length, node)?;
    let frames = match trial.extent {
        Extent::Frames { frames } => frames,
        Extent::Time { .. } => {
            let why = "each frame waits for the one before, so the number of frames in a given time is unknown; fix: give --frames";
            return Err(NodeError::unsupported(TrialField::Extent, why));
        }
    };
    let directions = match trial.direction {
        Direction::Both => vec![Direction::Receive, Direction::Transmit],
        Direction::Echo => Vec::new(),
        direction => vec![direction],
    };
    let clocks_per_s = 1e12 / REFERENCE_CLOCK_PS as f64;
    let plan = ReferenceTrial {
        // A rate near 0 saturates, which is refused below.
        interval_clocks: resolved
            .frames_per_s
            .map_or(0, |rate| (clocks_per_s / rate).round() as u64),
        resolved,
        frames,
        node_port: port(trial)?,
        directions,
    };
    plan.keeps_all(node)?;
    plan.ends_in_time()?;
    Ok(plan)
}

const ACCEPTS: Accepts<'_> = Accepts {
    layers: &[Layer::UdpIpv4],
    directions: &[
        Direction::Transmit,
        Direction::Receive,
        Direction::Both,
        Direction::Echo,
    ],
    vlan_tags: 0,
    ports: 1,
    buffers: &[],
    paths: &[Path::Stack, Path::FastTrack],
    // Strict gaps have no effect: in simulated time no frame is late.
    options: &[
        TrialOption::Link,
        TrialOption::Path,
        TrialOption::Rule,
        TrialOption::StrictGaps,
    ],
    sizes: SizeLimits::TestFrame,
    reasons: &[
        (
            TrialField::Layer,
            "the reference node runs UDP echo trials; fix: --layer udp4",
        ),
        (
            TrialField::VlanTags,
            "its stack accepts no tags; fix: leave them out",
        ),
        (
            TrialField::Ports,
            "it has one line for trials; fix: --ports 1",
        ),
        (
            TrialField::Option(TrialOption::Buffers),
            "its program has one type; fix: leave them out, and choose the attachment of the MAC instead",
        ),
        (
            TrialField::Option(TrialOption::Faults),
            "a frame that is not sent back ends the measurement; fix: leave faults out",
        ),
        (
            TrialField::Option(TrialOption::Link),
            "its line carries 100 Mbit/s; fix: leave --rate out",
        ),
        (
            TrialField::Option(TrialOption::Path),
            "it has its stack and the fast track; fix: request stack or fast-track",
        ),
    ],
    otherwise: "the reference node has no such option; fix: leave it out",
};

/// Refuses lengths that the node does not accept, in bytes without FCS.
fn takes(length: u32, node: &Identity) -> Result<(), NodeError> {
    let [least, most] = [node.min_frame_bytes, node.max_frame_bytes]
        .map(|frame| frame.saturating_sub(wirelab_wire::size::FCS));
    if (least..=most).contains(&length) {
        return Ok(());
    }
    let why = format!(
        "the node accepts lengths from {least} to {most}, and {length} was requested; fix: request one in this range"
    );
    Err(NodeError::unsupported(TrialField::Size, why))
}

/// The UDP port of the node: the rule's if there is a rule, on both paths, so that they differ in nothing else.
fn port(trial: &Trial) -> Result<u16, NodeError> {
    let Some(rule) = &trial.rule else {
        return Ok(header::UDP_PORT);
    };
    let port = rule
        .strip_prefix("port=")
        .and_then(|port| port.parse().ok());
    port.filter(|port| *port > 0).ok_or_else(|| {
        let why = format!(
            "its identifier here does not support '{rule}'; fix: write port=N, e.g. port=1026"
        );
        NodeError::unsupported(TrialOption::Rule, why)
    })
}

#[cfg(test)]
pub mod tests {
    use wirelab_trial::{Framing, Load, Size, SizeUnit};

    use super::*;

    /// The identity of the program in `firmware/boards/reference`.
    pub fn identity() -> Identity {
        Identity {
            name: "reference".to_owned(),
            setup: 0,
            directions: Vec::new(),
            layers: Vec::new(),
            buffers: Vec::new(),
            traffic: Vec::new(),
            paths: Vec::new(),
            ports: 1,
            min_frame_bytes: 64,
            max_frame_bytes: 1518,
            max_frames: 10_000_000_000,
            max_time_ps: 600_000_000_000_000,
            max_captures: 682,
            idle_ms: 10_000,
        }
    }

    fn trial(direction: Direction, length: u32, load: &str, frames: u64) -> Trial {
        let framing = Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        };
        let size = Size::new(SizeUnit::Length, length);
        let load: Load = load.parse().unwrap();
        Trial::new(framing, direction, size, load, Extent::Frames { frames })
    }

    fn refused(trial: &Trial, node: &Identity) -> String {
        match plan(trial, node).unwrap_err() {
            NodeError::Unsupported(why) => why.to_string(),
            NodeError::BadTrial(why) => why,
            other => panic!("{other} is not bad usage"),
        }
    }

    #[test]
    fn lengths_that_the_node_does_not_take_are_refused_with_those_that_it_takes() {
        for length in [60, 1514] {
            let trial = trial(Direction::Both, length, "max", 4);
            assert_eq!(
                plan(&trial, &identity()).unwrap().resolved.sizes.length,
                length
            );
        }
        for length in [1515, 1518, 2000] {
            let refusal = refused(&trial(Direction::Echo, length, "max", 4), &identity());
            let words = format!("size: the node accepts lengths from 60 to 1514, and {length} was");
            assert!(refusal.contains(&words), "{refusal}");
        }
        let refusal = refused(&trial(Direction::Both, 20, "max", 4), &identity());
        assert!(refusal.contains("give 60 or more"), "{refusal}");
    }

    #[test]
    fn points_of_as_many_frames_as_the_capture_units_have_records_for_are_taken() {
        assert_eq!(MOST_CAPTURED_FRAMES, 1022);
        let of = |frames| trial(Direction::Both, 64, "max", frames);
        let most = plan(&of(MOST_CAPTURED_FRAMES), &identity()).unwrap();
        for part in most.parts() {
            // With the warm-up frame each part is what a node keeps.
            assert_eq!(
                u64::from(most.start(part.frames + 1).captures.unwrap()),
                512
            );
        }
        let refusal = refused(&of(MOST_CAPTURED_FRAMES + 1), &identity());
        assert!(
            refusal.contains("records of 1 to 1022 frames of a trial"),
            "{refusal}"
        );
        assert!(
            refusal.contains("request 1022 frames or fewer"),
            "{refusal}"
        );
        // A program that keeps fewer says so. If two nodes are not worth it, one gets all that it keeps.
        for (max_captures, most) in [(257, 512), (33, 64), (32, 31), (11, 10)] {
            let node = Identity {
                max_captures,
                ..identity()
            };
            assert!(plan(&of(most), &node).is_ok(), "{max_captures}");
            let refusal = refused(&of(most + 1), &node);
            assert!(
                refusal.contains(&format!("request {most} frames")),
                "{refusal}"
            );
        }
        let refusal = refused(
            &of(1),
            &Identity {
                max_captures: 0,
                ..identity()
            },
        );
        assert!(refusal.contains("fix: --direction echo"), "{refusal}");
    }

    #[test]
    fn more_than_ten_seconds_of_simulated_time_are_refused() {
        for (load, most) in [
            ("1pps", 9),
            ("10pps", 99),
            ("max", 83_332),
            ("100kpps", 83_332),
        ] {
            let of = |frames| trial(Direction::Echo, 64, load, frames);
            assert!(plan(&of(most), &identity()).is_ok(), "{load}");
            let refusal = refused(&of(most + 1), &identity());
            assert!(refusal.contains("10 s of simulated time"), "{refusal}");
            assert!(
                refusal.contains(&format!("request {most} frames")),
                "{refusal}"
            );
        }
        // Two nodes in parallel have twice as many in the same time.
        let of = |frames| trial(Direction::Both, 64, "10pps", frames);
        assert!(plan(&of(198), &identity()).is_ok());
        assert!(refused(&of(199), &identity()).contains("request 198 frames"));
        for load in ["0.01pps", "1e-15pps", "1e-300pps"] {
            let refusal = refused(&trial(Direction::Echo, 64, load, 1), &identity());
            assert!(
                refusal.contains("raise the load to 1pps"),
                "{load}: {refusal}"
            );
        }
    }
}
