//! From a trial to what the node is asked, checked before anything happens.

use wirelab_control::message::{Identity, Start};
use wirelab_control::value::{Extent as Until, Path as AskedPath, UnitPoint};
use wirelab_trial::{
    Accepts, Direction, Extent, Layer, Link, NodeError, Path, Resolved, SizeLimits, Trial,
    TrialOption,
};
use wirelab_wire::header;

use super::{REST_CLOCKS, TESTER_IP};
use crate::LONGEST_TRIAL_PS;
use crate::reference::REFERENCE_CLOCK_PS;

/// The link in bit/s: a byte of line 0 every eight clocks of 100 MHz.
pub const LINK_BITS_PER_S: u64 = 100_000_000;

/// A trial made ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What was asked; at maximum load the next frame goes as soon as the one before is back.
    pub resolved: Resolved,
    /// Clocks from one frame to the next, at least; no more than [`LONGEST_TRIAL_PS`] has.
    pub interval_clocks: u64,
    /// Frames.
    pub frames: u64,
    /// UDP port of the node that the frames go to.
    pub node_port: u16,
    /// Ways whose points the capture units take: none of an echo, whose latency is the tester's.
    pub ways: Vec<Direction>,
}

/// Frames from which on a trial with capture points is run in two parts, on two nodes side by side: a second node has to be
/// brought up first.
const FRAMES_FOR_TWO: u64 = 32;
/// Frames of a trial that a node keeps the records of: as many as a capture unit has places (`PLACES` of
/// rtl/src/capture_unit.vhd) and the program has for what it takes out of them (`WL_UNIT_RECORDS` of firmware/app/wl_app.h).
const RECORDS: u64 = 512;
/// Frames of a trial whose points can be taken, at most: the records of two nodes, less the frame that goes ahead on each.
pub const MOST_CAPTURED_FRAMES: u64 = 2 * (RECORDS - 1);

/// Frames of a trial that one node echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// How many.
    pub frames: u64,
    /// How many of the trial are in the parts before it.
    pub ahead: u64,
}

impl Plan {
    /// The trial as one part.
    pub fn whole(&self) -> Part {
        Part {
            frames: self.frames,
            ahead: 0,
        }
    }

    /// The parts of the trial. How it is divided hangs on nothing but the trial, so that two runs give the same on any host.
    pub fn parts(&self) -> Vec<Part> {
        if self.ways.is_empty() || self.frames < FRAMES_FOR_TWO {
            return vec![self.whole()];
        }
        let second = self.frames / 2;
        let first = self.frames - second;
        let part = |frames, ahead| Part { frames, ahead };
        vec![part(first, 0), part(second, first)]
    }

    /// Frames of the trial, at most, where one node can do so many.
    fn most(&self, of_a_node: u64) -> u64 {
        match self.ways.is_empty() || of_a_node < FRAMES_FOR_TWO {
            true => of_a_node,
            false => of_a_node.saturating_mul(2),
        }
    }

    /// Refuses more frames than there are records for.
    fn keeps_all(&self, node: &Identity) -> Result<(), NodeError> {
        let kept = RECORDS.min(node.max_captures.into()).saturating_sub(1);
        let most = self.most(kept);
        let why = match self.ways.is_empty() || self.frames <= most {
            true => return Ok(()),
            false if most == 0 => {
                "this program keeps no records of capture units: ask --direction echo".to_owned()
            }
            false => format!(
                "the capture units keep the records of 1 to {most} frames of a trial, and {} were asked: ask {most} frames \
                 or fewer, several times for more",
                self.frames
            ),
        };
        Err(NodeError::unsupported("extent", why))
    }

    /// Refuses what takes too long: each frame and the one that goes ahead have at least the time to the next one.
    fn ends_in_time(&self) -> Result<(), NodeError> {
        let period_clocks = self.interval_clocks.max(REST_CLOCKS);
        let longest_clocks = LONGEST_TRIAL_PS / REFERENCE_CLOCK_PS;
        let most = self.most((longest_clocks / period_clocks).saturating_sub(1));
        if self.frames <= most {
            return Ok(());
        }
        let way_out = match most {
            0 => "ask a higher load, 1pps or more".to_owned(),
            most => format!("ask {most} frames or fewer, or a higher load"),
        };
        let why = format!(
            "{} frames at the load {} are more than 10 s of simulated time, which take a host minutes: {way_out}",
            self.frames, self.resolved.trial.load
        );
        Err(NodeError::unsupported("extent", why))
    }

    /// What the node is asked for so many frames.
    pub fn start(&self, frames: u64) -> Start {
        let fast = self.resolved.trial.path == Some(Path::FastTrack);
        let takes_points = !self.ways.is_empty();
        Start {
            path: fast.then_some(AskedPath::FastTrack),
            captures: takes_points.then_some(frames as u32),
            capture_unit: takes_points.then_some(UnitPoint::All),
            node_port: (self.node_port != header::UDP_PORT).then_some(self.node_port),
            peer_ip: Some(TESTER_IP.into()),
            ..Start::new(Direction::Echo, Layer::UdpIpv4, Until::Frames(frames))
        }
    }
}

/// Check the trial against what the node is, and lay it out.
pub fn plan(trial: &Trial, node: &Identity) -> Result<Plan, NodeError> {
    let resolved = Resolved::new(trial, &ACCEPTS, Link::Fixed(LINK_BITS_PER_S))?;
    takes(resolved.sizes.length, node)?;
    let frames = match trial.extent {
        Extent::Frames { frames } => frames,
        Extent::Time { .. } => {
            let why = "each frame waits for the one before, so how many a time holds is not known: ask --frames";
            return Err(NodeError::unsupported("extent", why));
        }
    };
    let ways = match trial.direction {
        Direction::Both => vec![Direction::Receive, Direction::Transmit],
        Direction::Echo => Vec::new(),
        way => vec![way],
    };
    let clocks_per_s = 1e12 / REFERENCE_CLOCK_PS as f64;
    let plan = Plan {
        // A rate near 0 gives the most that there is, which is refused below.
        interval_clocks: resolved
            .frames_per_s
            .map_or(0, |rate| (clocks_per_s / rate).round() as u64),
        resolved,
        frames,
        node_port: port(trial)?,
        ways,
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
            "layer",
            "what is asked of the reference node is its UDP echo: ask --layer udp4",
        ),
        ("vlan_tags", "its stack takes no tags: leave them out"),
        ("ports", "it has one line for this: ask --ports 1"),
        (
            "buffers",
            "its program has one kind: leave them out, and choose the attachment of the MAC instead",
        ),
        (
            "faults",
            "a frame that is not sent back ends what is measured: leave faults out",
        ),
        (
            "link_bits_per_s",
            "its line carries 100 Mbit/s: leave --rate out",
        ),
        (
            "path",
            "it has its stack and the fast track: ask stack or fast-track",
        ),
    ],
    otherwise: "the reference node has no such choice: leave it out",
};

/// Refuses lengths that the node does not take, in bytes without FCS.
fn takes(length: u32, node: &Identity) -> Result<(), NodeError> {
    let [least, most] = [node.min_frame_bytes, node.max_frame_bytes]
        .map(|frame| frame.saturating_sub(wirelab_wire::size::FCS));
    if (least..=most).contains(&length) {
        return Ok(());
    }
    let why = format!(
        "the node takes lengths from {least} to {most}, and {length} was asked: ask one of these"
    );
    Err(NodeError::unsupported("size", why))
}

/// The UDP port of the node: that of the rule, where there is one, on both ways, so that they differ in nothing else.
fn port(trial: &Trial) -> Result<u16, NodeError> {
    let Some(rule) = &trial.rule else {
        return Ok(header::UDP_PORT);
    };
    let port = rule
        .strip_prefix("port=")
        .and_then(|port| port.parse().ok());
    port.filter(|port| *port > 0).ok_or_else(|| {
        let why = format!(
            "'{rule}' is not what its identifier is set to here: write port=N, e.g. port=1026"
        );
        NodeError::unsupported("rule", why)
    })
}

#[cfg(test)]
pub mod tests {
    use wirelab_trial::{Framing, Load, Size, SizeUnit};

    use super::*;

    /// What the program of `firmware/boards/reference` says of itself.
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
            other => panic!("{other} is no bad usage"),
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
            let told = refused(&trial(Direction::Echo, length, "max", 4), &identity());
            let words = format!("size: the node takes lengths from 60 to 1514, and {length} was");
            assert!(told.contains(&words), "{told}");
        }
        let told = refused(&trial(Direction::Both, 20, "max", 4), &identity());
        assert!(told.contains("at least 60"), "{told}");
    }

    #[test]
    fn points_of_as_many_frames_as_the_capture_units_have_records_for_are_taken() {
        assert_eq!(MOST_CAPTURED_FRAMES, 1022);
        let of = |frames| trial(Direction::Both, 64, "max", frames);
        let most = plan(&of(MOST_CAPTURED_FRAMES), &identity()).unwrap();
        for part in most.parts() {
            // With the one ahead each part is what a node keeps.
            assert_eq!(
                u64::from(most.start(part.frames + 1).captures.unwrap()),
                512
            );
        }
        let told = refused(&of(MOST_CAPTURED_FRAMES + 1), &identity());
        assert!(
            told.contains("records of 1 to 1022 frames of a trial"),
            "{told}"
        );
        assert!(told.contains("ask 1022 frames or fewer"), "{told}");
        // A program that keeps fewer says so, and all that it keeps is asked of one node where two are not worth it.
        for (max_captures, most) in [(257, 512), (33, 64), (32, 31), (11, 10)] {
            let node = Identity {
                max_captures,
                ..identity()
            };
            assert!(plan(&of(most), &node).is_ok(), "{max_captures}");
            let told = refused(&of(most + 1), &node);
            assert!(told.contains(&format!("ask {most} frames")), "{told}");
        }
        let told = refused(
            &of(1),
            &Identity {
                max_captures: 0,
                ..identity()
            },
        );
        assert!(told.contains("ask --direction echo"), "{told}");
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
            let told = refused(&of(most + 1), &identity());
            assert!(told.contains("10 s of simulated time"), "{told}");
            assert!(told.contains(&format!("ask {most} frames")), "{told}");
        }
        // Two nodes side by side have twice as many in the same time.
        let of = |frames| trial(Direction::Both, 64, "10pps", frames);
        assert!(plan(&of(198), &identity()).is_ok());
        assert!(refused(&of(199), &identity()).contains("ask 198 frames"));
        for load in ["0.01pps", "1e-15pps", "1e-300pps"] {
            let told = refused(&trial(Direction::Echo, 64, load, 1), &identity());
            assert!(told.contains("ask a higher load, 1pps"), "{load}: {told}");
        }
    }
}
