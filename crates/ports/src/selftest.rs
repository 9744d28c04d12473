//! The tester's abilities on this host, measured against itself, and what the host lacks.

use std::fmt;

use serde::Serialize;
use wirelab_port::host::environment;
use wirelab_port::{netns, xdp};
use wirelab_trial::format::integer;
use wirelab_trial::{
    Cancel, Direction, Environment, Extent, Field, Framing, Histogram, Load, NodeError, Size,
    SizeUnit, Trial,
};

use crate::{CeilingLab, FramePath, Path, PortsOptions};

/// A feature that a host may have.
#[derive(Clone, Debug, Serialize)]
pub struct Feature {
    /// Its name.
    pub name: &'static str,
    /// What it is needed for.
    pub needed_for: &'static str,
    /// Why it is missing, and the fix; `None` if it is there.
    pub missing: Option<String>,
    /// Whether only a privilege is missing.
    pub privilege: bool,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Feature {
            name, needed_for, ..
        } = self;
        match &self.missing {
            None => write!(f, "has {name} ({needed_for})"),
            Some(why) => write!(f, "LACKS {name} ({needed_for}): {why}"),
        }
    }
}

/// The ceiling of one path at one size, on a veth pair.
#[derive(Clone, Debug, Serialize)]
pub struct Ceiling {
    /// The path of its frames.
    pub path: FramePath,
    /// Frame size in bytes.
    pub frame_bytes: u32,
    /// Frames/s, every byte verified.
    pub frames_per_s: Field<f64>,
    /// Payload bit/s.
    pub payload_bits_per_s: Field<f64>,
    /// Frames that were certainly lost between the tester's ports.
    pub lost_frames: Field<u64>,
    /// Frames that were lost there, or that the receiver's queue dropped.
    pub lost_or_missed_frames: Field<u64>,
}

impl Ceiling {
    /// Lost frames in words, from the certain to the possible number.
    pub fn lost(&self) -> Field<String> {
        self.lost_frames.clone().map(|lost| {
            let lost_or_missed = self.lost_or_missed_frames.value().copied();
            match lost_or_missed.unwrap_or(0) {
                0 => integer(lost),
                either => {
                    let most = lost.saturating_add(either);
                    format!("{}–{}", integer(lost), integer(most))
                }
            }
        })
    }
}

/// How steadily a sender keeps a rate here.
#[derive(Clone, Debug, Serialize)]
pub struct Steadiness {
    /// The path of its frames.
    pub path: FramePath,
    /// The requested rate in frames/s.
    pub asked_frames_per_s: f64,
    /// Gaps between the starts of its frames.
    pub gap: Field<Histogram>,
}

/// The rate at which gaps are measured: high enough to be useful, low enough for every path.
const STEADY_FRAMES_PER_S: f64 = 20_000.0;

/// A host's features, and the tester's abilities on it.
#[derive(Debug, Serialize)]
pub struct Selftest {
    /// The host.
    pub environment: Environment,
    /// What it has and lacks.
    pub features: Vec<Feature>,
    /// Empty where a privilege is missing.
    pub ceilings: Vec<Ceiling>,
    /// Empty where a privilege is missing.
    pub steadiness: Vec<Steadiness>,
}

impl Selftest {
    /// Looks at this host, and measures what its privileges allow. Each part removes its labs; `cancel` ends it between two.
    pub fn run(cancel: &Cancel) -> Selftest {
        let mut all = Selftest {
            environment: environment(),
            features: features(),
            ceilings: Vec::new(),
            steadiness: Vec::new(),
        };
        // Otherwise each part would only repeat what is missing.
        if all.is_allowed() {
            all.ceilings = ceilings();
            if !cancel.is_cancelled() {
                all.steadiness = steadiness();
            }
        }
        all
    }

    /// Whether no privilege is missing.
    pub fn is_allowed(&self) -> bool {
        !self.features.iter().any(|feature| feature.privilege)
    }

    /// Whether the host has every feature.
    pub fn has_all(&self) -> bool {
        let mut features = self.features.iter();
        features.all(|feature| feature.missing.is_none())
    }
}

/// Check each feature.
fn features() -> Vec<Feature> {
    let feature = |name, needed_for, missing, privilege| Feature {
        name,
        needed_for,
        missing,
        privilege,
    };
    let namespaces = netns::probe().err();
    let live_frames = xdp::probe().err();
    let no_jit = xdp::jit_enabled() == Some(false);
    let jit =
        no_jit.then(|| "the eBPF JIT is off; fix: sysctl -w net.core.bpf_jit_enable=1".to_owned());
    let one = crate::run::processors().len() < 2;
    vec![
        feature(
            "network namespaces",
            "the lab",
            namespaces.as_ref().map(ToString::to_string),
            namespaces.is_some_and(|e| e.is_privilege()),
        ),
        feature(
            "XDP live frames",
            "the fast path",
            live_frames.as_ref().map(ToString::to_string),
            live_frames.is_some_and(|e| matches!(e, xdp::XdpError::Privilege { .. })),
        ),
        feature("eBPF JIT", "speed of the fast path", jit, false),
        feature(
            "two processors",
            "sending and checking at once",
            one.then(|| "only one processor: ceilings are lower".to_owned()),
            false,
        ),
    ]
}

fn trial(frame: u32, load: Load, time_ps: u64) -> Trial {
    Trial::new(
        Framing::default(),
        Direction::Transmit,
        Size::new(SizeUnit::Frame, frame),
        load,
        Extent::Time { time_ps },
    )
}

fn options(path: Path) -> PortsOptions {
    PortsOptions {
        path,
        ..PortsOptions::default()
    }
}

const PATHS: [(FramePath, Path); 2] = [
    (FramePath::Xdp, Path::Xdp),
    (FramePath::Packet, Path::Packet),
];

/// Measure the ceilings.
fn ceilings() -> Vec<Ceiling> {
    let mut all = Vec::new();
    for (taken, path) in PATHS {
        let mut lab = CeilingLab::new(options(path));
        for frame in [64, 512, 1518] {
            all.push(ceiling(taken, &mut lab, frame));
        }
    }
    all
}

fn ceiling(taken: FramePath, lab: &mut CeilingLab, frame_bytes: u32) -> Ceiling {
    let observed = lab.at_max_load(&trial(frame_bytes, Load::Max, 1));
    let flow = observed.map(|o| o.flows.into_iter().next());
    let flow = match flow {
        Ok(Some(flow)) => flow,
        Ok(None) | Err(_) => {
            let why = flow
                .err()
                .map_or("no flow".to_owned(), |e: NodeError| e.to_string());
            return Ceiling {
                path: taken,
                frame_bytes,
                frames_per_s: Field::absent(why.clone()),
                payload_bits_per_s: Field::absent(why.clone()),
                lost_frames: Field::absent(why.clone()),
                lost_or_missed_frames: Field::absent(why),
            };
        }
    };
    Ceiling {
        path: taken,
        frame_bytes,
        frames_per_s: flow.frames_per_s,
        payload_bits_per_s: flow.payload_bits_per_s,
        lost_frames: flow.counts.clone().map(|c| c.lost_frames),
        lost_or_missed_frames: flow.counts.map(|c| c.lost_or_missed_frames),
    }
}

/// Measure how steadily each path keeps a rate.
fn steadiness() -> Vec<Steadiness> {
    let load = Load::FrameRate {
        frames_per_s: STEADY_FRAMES_PER_S,
    };
    let steady = |(taken, path): (FramePath, Path)| {
        let observed = CeilingLab::new(options(path)).run(&trial(64, load, 300_000_000_000));
        let gap = match observed.map(|o| o.flows.into_iter().next().map(|f| f.sender)) {
            Ok(Some(Field::Observed { value, .. })) => value.gap,
            Ok(Some(Field::Absent { absent })) => Field::absent(absent),
            Ok(None) => Field::absent("no flow"),
            Err(error) => Field::absent(error.to_string()),
        };
        Steadiness {
            path: taken,
            asked_frames_per_s: STEADY_FRAMES_PER_S,
            gap,
        }
    };
    PATHS.map(steady).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_that_is_a_range_shows_both_ends() {
        let lost = |either| {
            let ceiling = Ceiling {
                path: FramePath::Packet,
                frame_bytes: 64,
                frames_per_s: Field::measured(1e6),
                payload_bits_per_s: Field::measured(1e9),
                lost_frames: Field::measured(3),
                lost_or_missed_frames: Field::measured(either),
            };
            ceiling.lost().value().cloned().unwrap()
        };
        assert_eq!([0, 900].map(lost), ["3", "3–903"]);
    }
}
