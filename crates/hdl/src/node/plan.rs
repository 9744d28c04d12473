//! From a trial to the register values of each port, checked before the run.

use wirelab_trial::{
    Accepts, Direction, Extent, Layer, Link, NodeError, Resolved, SizeLimits, Trial, TrialField,
    TrialOption,
};

use super::fault::{self, Fault, on_the_line, that_fit};
use super::options::{HdlOptions, MOST_PORTS};
use crate::{CLOCK_PS, LONGEST_TRIAL_PS};

/// The link in bit/s: a byte a clock of 125 MHz.
pub const LINK_BITS_PER_S: u64 = 1_000_000_000;
/// Clocks after a frame in which the MAC takes no byte of the next: FCS, gap and preamble (docs/blocks/mac_tx.md).
const MAC_PAUSE_CLOCKS: u64 = 24;
/// Clocks of the preamble, which an idle MAC sends before it takes the first byte from the generator.
const PREAMBLE_CLOCKS: u64 = 8;
/// The generator's longest pause: its register has 24 bits.
const LONGEST_PAUSE_CLOCKS: u64 = (1 << 24) - 1 + PREAMBLE_CLOCKS;

/// One sending and one receiving port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPlan {
    /// Transmit or receive, from the side of the trial's ports.
    pub direction: Direction,
    /// The sending port; its number is also the stream's.
    pub from: usize,
    /// The checking port.
    pub to: usize,
}

/// A trial that is ready to run.
#[derive(Clone, Debug)]
pub struct HdlTrial {
    /// The request.
    pub resolved: Resolved,
    /// Clocks from one frame to the next: a whole number, so a rate is rounded to the nearest possible one.
    pub period_clocks: u64,
    /// Idle clocks of the generator after each frame.
    pub gap_clocks: u32,
    /// Sequences of each flow.
    pub frames: u32,
    /// The injected fault.
    pub fault: Option<Fault>,
    /// The flows.
    pub flows: Vec<FlowPlan>,
}

impl HdlTrial {
    /// Most clocks of sending, with the frames that faults add.
    pub fn clocks(&self) -> u64 {
        let frames = on_the_line(u64::from(self.frames), self.fault, self.period_clocks);
        self.period_clocks * frames
    }
}

/// Check the trial and plan its flows.
pub fn plan(trial: &Trial, options: &HdlOptions) -> Result<HdlTrial, NodeError> {
    let resolved = resolve(trial, options)?;
    let (sizes, frames_per_s) = (resolved.sizes, resolved.frames_per_s);
    let shortest = u64::from(sizes.length) + MAC_PAUSE_CLOCKS;
    let clocks_per_s = 1e12 / CLOCK_PS as f64;
    let period_clocks = match frames_per_s {
        Some(rate) => ((clocks_per_s / rate).round() as u64).max(shortest),
        None => shortest,
    };
    let pause = period_clocks - u64::from(sizes.length);
    if pause > LONGEST_PAUSE_CLOCKS {
        let slowest = clocks_per_s / (LONGEST_PAUSE_CLOCKS + u64::from(sizes.length)) as f64;
        return Err(NodeError::unsupported(
            TrialField::Load,
            format!(
                "{} is too slow for the generator, which waits {LONGEST_PAUSE_CLOCKS} clocks at most; fix: request {} pps or more",
                trial.load,
                slowest.ceil()
            ),
        ));
    }
    let fault = fault::fault(trial, &sizes, period_clocks)?;
    Ok(HdlTrial {
        resolved,
        period_clocks,
        gap_clocks: if pause > MAC_PAUSE_CLOCKS {
            (pause - PREAMBLE_CLOCKS) as u32
        } else {
            0
        },
        frames: frames(trial, period_clocks, fault)?,
        fault,
        flows: flows(trial, options),
    })
}

fn resolve(trial: &Trial, options: &HdlOptions) -> Result<Resolved, NodeError> {
    let ports = format!(
        "{} requested, and the bench has {}; fix: choose 1 to {} ports, or a node of more, hdl:N with N up to {MOST_PORTS}",
        trial.ports, options.ports, options.ports
    );
    let accepts = Accepts {
        layers: &[Layer::Ethernet, Layer::UdpIpv4],
        directions: &[Direction::Transmit, Direction::Receive, Direction::Both],
        vlan_tags: 1,
        ports: options.ports as u32,
        buffers: &[],
        paths: &[],
        // Strict gaps have no effect: in simulated time no frame is late.
        options: &[
            TrialOption::Link,
            TrialOption::StrictGaps,
            TrialOption::Faults,
        ],
        sizes: SizeLimits::TestFrame,
        reasons: &[
            (
                TrialField::Layer,
                "the generator makes Ethernet and UDP over IPv4 frames; fix: request ethernet or udp4",
            ),
            (
                TrialField::VlanTags,
                "the generator makes one tag at most; fix: give --vlan 1",
            ),
            (
                TrialField::Direction,
                "a checker sends nothing back; fix: request transmit, receive or both",
            ),
            (TrialField::Ports, &ports),
            (
                TrialField::Option(TrialOption::Buffers),
                "the generator builds each frame when it sends it; fix: leave the buffers out",
            ),
            (
                TrialField::Option(TrialOption::Link),
                "its lines carry 1 Gbit/s; fix: leave --rate out, and lower the rate with --load",
            ),
        ],
        otherwise: "a port of hardware has no such option; fix: leave it out",
    };
    Resolved::new(trial, &accepts, Link::Fixed(LINK_BITS_PER_S))
}

/// Sequences of each flow.
fn frames(trial: &Trial, period_clocks: u64, fault: Option<Fault>) -> Result<u32, NodeError> {
    let period_ps = period_clocks * CLOCK_PS;
    let frames = match trial.extent {
        Extent::Frames { frames } => frames,
        Extent::Time { time_ps } => that_fit(time_ps / period_ps, fault, period_clocks).max(1),
    };
    let most = that_fit(LONGEST_TRIAL_PS / period_ps, fault, period_clocks);
    match u32::try_from(frames).ok().filter(|_| frames <= most) {
        Some(frames) => Ok(frames),
        None => Err(NodeError::unsupported(
            TrialField::Extent,
            format!(
                "{frames} frames at this load are more than 10 s of simulated time, for which a host needs most of an hour; fix: \
                 request {most} frames or fewer"
            ),
        )),
    }
}

fn flows(trial: &Trial, options: &HdlOptions) -> Vec<FlowPlan> {
    let of_the_trial = 0..trial.ports as usize;
    let mut flows: Vec<FlowPlan> = Vec::new();
    for port in of_the_trial {
        let peer = options.peer(port);
        let directions = match trial.direction {
            Direction::Transmit => vec![(Direction::Transmit, port, peer)],
            Direction::Receive => vec![(Direction::Receive, peer, port)],
            _ => vec![
                (Direction::Transmit, port, peer),
                (Direction::Receive, peer, port),
            ],
        };
        for (direction, from, to) in directions {
            // A flow between two ports of the trial counts once.
            if flows.iter().all(|flow| flow.from != from) {
                flows.push(FlowPlan {
                    direction,
                    from,
                    to,
                });
            }
        }
    }
    flows
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::{Framing, Load, Size, SizeUnit};

    fn trial(load: &str) -> Trial {
        let size = Size::new(SizeUnit::Payload, 66);
        Trial::new(
            Framing::default(),
            Direction::Both,
            size,
            load.parse::<Load>().unwrap(),
            Extent::Frames { frames: 10 },
        )
    }

    fn four() -> HdlOptions {
        HdlOptions::parse("4").unwrap()
    }

    #[test]
    fn a_load_becomes_whole_clocks() {
        for (load, period, gap) in [
            ("max", 104, 0),
            ("100%", 104, 0),
            // 208 clocks, of which 80 are the frame and 8 its preamble.
            ("50%", 208, 120),
            ("500M", 208, 120),
            ("1kpps", 125_000, 124_912),
            ("gap=96B", 188, 100),
        ] {
            let plan = plan(&trial(load), &four()).unwrap();
            assert_eq!(
                (plan.period_clocks, plan.gap_clocks),
                (period, gap),
                "{load}"
            );
        }
        let error = plan(&trial("1pps"), &four()).unwrap_err().to_string();
        assert!(error.contains("request 8 pps or more"), "{error}");
        assert!(plan(&trial("1.1G"), &four()).is_err());
    }

    #[test]
    fn a_flow_between_two_ports_of_the_trial_is_one_flow() {
        let ends = |direction, ports| {
            let trial = Trial {
                direction,
                ports,
                ..trial("max")
            };
            let flows = plan(&trial, &four()).unwrap().flows;
            flows.iter().map(|f| (f.from, f.to)).collect::<Vec<_>>()
        };
        assert_eq!(ends(Direction::Both, 4), [(0, 2), (2, 0), (1, 3), (3, 1)]);
        assert_eq!(ends(Direction::Both, 1), [(0, 2), (2, 0)]);
        assert_eq!(ends(Direction::Transmit, 2), [(0, 2), (1, 3)]);
        assert_eq!(ends(Direction::Receive, 2), [(2, 0), (3, 1)]);
        let alone = HdlOptions::parse("1").unwrap();
        assert_eq!(plan(&trial("max"), &alone).unwrap().flows.len(), 1);
    }

    #[test]
    fn what_the_bench_cannot_do_is_named() {
        let refusal = |change: fn(&mut Trial)| {
            let mut trial = trial("max");
            change(&mut trial);
            plan(&trial, &four()).unwrap_err().to_string()
        };
        for (error, words) in [
            (refusal(|t| t.framing.layer = Layer::UdpIpv6), "layer: "),
            (refusal(|t| t.framing.vlan_tags = 2), "vlan_tags: "),
            (refusal(|t| t.direction = Direction::Echo), "direction: "),
            (
                refusal(|t| t.ports = 5),
                "ports: 5 requested, and the bench has 4",
            ),
            (refusal(|t| t.ports = 0), "ports: "),
            (
                refusal(|t| t.buffers = Some(wirelab_trial::Buffers::InPlace)),
                "buffers: ",
            ),
            (
                refusal(|t| t.link_bits_per_s = Some(100_000_000)),
                "link_bits_per_s: ",
            ),
            (
                refusal(|t| t.extent = Extent::Frames { frames: 1 << 40 }),
                "frames or fewer",
            ),
            (
                refusal(|t| t.faults.drop = 0.3),
                "request drop=0.3333333333333333",
            ),
            (
                refusal(|t| t.faults.set("drop", "1e6/s").unwrap()),
                "or in every n-th frame (drop=0.1)",
            ),
            (
                refusal(|t| (t.faults.drop, t.faults.swap) = (0.1, 0.1)),
                "one at a time",
            ),
            (
                refusal(|t| {
                    t.faults.truncate = 0.5;
                    t.size = Size::new(SizeUnit::Payload, 46);
                }),
                "add 1 to the size",
            ),
        ] {
            assert!(error.contains(words), "{error}");
        }
        let taken = [
            TrialOption::Link,
            TrialOption::StrictGaps,
            TrialOption::Faults,
        ];
        for (field, trial) in trial("max").with_each_but(&taken) {
            let error = plan(&trial, &four()).unwrap_err().to_string();
            assert!(error.contains(&format!("{field}: ")), "{error}");
        }
    }

    #[test]
    fn a_time_is_as_many_frames_as_it_holds() {
        let mut trial = Trial {
            extent: Extent::Time {
                time_ps: 1_000_000_000,
            },
            ..trial("max")
        };
        let frames = |trial: &Trial| plan(trial, &four()).unwrap().frames;
        assert_eq!(frames(&trial), 1201);
        // 1,201 frames on the line, of which each eleventh is a duplicate: 109 groups, and two more.
        trial.faults.duplicate = 0.1;
        assert_eq!(frames(&trial), 1092);
    }

    #[test]
    fn a_run_is_given_the_time_that_its_duplicates_take() {
        let mut trial = trial("max");
        trial.extent = Extent::Frames { frames: 2000 };
        let clocks = |trial: &Trial| plan(trial, &four()).unwrap().clocks();
        assert_eq!(clocks(&trial), 2000 * 104);
        for name in ["drop", "swap", "truncate"] {
            let mut faulty = trial.clone();
            *faulty.faults.rate_mut(name).unwrap() = 0.5;
            assert_eq!(clocks(&faulty), 2000 * 104, "{name}");
        }
        for (rate, frames) in [(0.5, 3000), (1.0, 4000), (0.1, 2200), (1.0 / 3.0, 2666)] {
            trial.faults.duplicate = rate;
            assert_eq!(clocks(&trial), frames * 104, "{rate}");
        }
    }
}
