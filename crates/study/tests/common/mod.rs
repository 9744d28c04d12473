//! Nodes that answer from a list, so that every figure of a test can be worked out by hand.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use wirelab_study::run::NodeSource;
use wirelab_study::table::Study;
use wirelab_trial::*;

pub fn small() -> Study {
    Study::parse(include_str!("../data/small.toml"), "studies/small.toml").unwrap()
}

/// What a node does with a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Answer {
    #[default]
    Complete,
    Partial,
    Void,
    Unsupported,
    Failed,
    Privilege,
}

/// A node on a link of 100 Mbit/s: a copy costs `copy_ps` for each frame with `dma-copied` buffers, everything else
/// 2 µs beyond the wire.
#[derive(Clone, Debug)]
pub struct Paper {
    pub kind: Kind,
    pub answer: Answer,
    pub copy_ps: u64,
    pub asked: Rc<RefCell<Vec<Trial>>>,
}

/// Hands out nodes, and records which were requested.
pub struct Shelf {
    pub node: Paper,
    pub opened: Vec<(String, BTreeMap<String, String>)>,
}

impl Shelf {
    pub fn new(kind: Kind, answer: Answer) -> Shelf {
        let node = Paper {
            kind,
            answer,
            copy_ps: 17_000_000,
            asked: Rc::default(),
        };
        Shelf {
            node,
            opened: Vec::new(),
        }
    }

    pub fn asked(&self) -> usize {
        self.node.asked.borrow().len()
    }
}

impl NodeSource for Shelf {
    fn node(
        &mut self,
        name: &str,
        set: &BTreeMap<String, String>,
    ) -> Result<Box<dyn Node>, String> {
        if name == "nobody" {
            return Err("no such model: write one of board, other-board".to_owned());
        }
        self.opened.push((name.to_owned(), set.clone()));
        Ok(Box::new(self.node.clone()))
    }
}

impl Paper {
    fn field<T>(&self, value: T) -> Field<T> {
        Field::Observed {
            value,
            kind: self.kind,
        }
    }

    fn series(&self, name: &str, ticks: &[u64]) -> Series {
        Series {
            name: SeriesName::parse(name).unwrap_or_else(|| SeriesName::Other(name.to_owned())),
            kind: self.kind,
            clock: Clock {
                kind: ClockKind::Simulated,
                tick_ps: Some(1_000),
                resolution_ticks: 1,
                owner: Owner::Node,
            },
            raw_ticks: ticks.to_vec().into(),
            sampled: false,
            histogram: Histogram::of(Some(1_000), ticks.iter().copied()),
            percentiles: Default::default(),
            intervals: wirelab_trial::PercentileIntervals::default(),
        }
    }

    fn flow(&self, trial: &Trial, sizes: &Sizes) -> FlowObservation {
        let copy = match trial.buffers {
            Some(Buffers::DmaCopied) => self.copy_ps,
            _ => 0,
        };
        let frame_ps = u64::from(sizes.frame + 20) * 80_000 + 2_000_000 + copy;
        let frames = match trial.extent {
            Extent::Frames { frames } => frames,
            Extent::Time { time_ps } => time_ps / frame_ps,
        };
        let rate = 1e12 / frame_ps as f64;
        let elapsed = Elapsed {
            ps: frames * frame_ps,
            spans: Spans::Wire,
            clock: ClockKind::Simulated,
        };
        let counters = [
            ("interval_03_bytes", 4_023_000),
            ("interval_03_datagrams", 4_023),
            ("interval_03_lost", 0),
            ("interval_03_jitter_ps", 248_000_000),
        ];
        let latency_ns = 1_000 + 12 * u64::from(sizes.length);
        FlowObservation {
            port: "paper/0".to_owned(),
            direction: trial.direction,
            stream: 0,
            sent_frames: self.field(frames),
            counts: Field::absent("nothing is counted on paper"),
            elapsed: self.field(elapsed),
            frames_per_s: self.field(rate),
            payload_bits_per_s: self.field(rate * 8.0 * f64::from(sizes.payload)),
            link_bits_per_s: self.field(rate * 8.0 * f64::from(sizes.frame + 20)),
            efficiency: self.field(rate * 8.0 * f64::from(sizes.payload) / 1e8),
            goodput_bits_per_s: match sizes.datagram {
                Some(bytes) => self.field(rate * 8.0 * f64::from(bytes)),
                None => Field::absent("an Ethernet trial"),
            },
            loss_ratio: self.field(0.0),
            loss_ratio_at_most: None,
            intervals: wirelab_trial::FlowIntervals::default(),
            over_time: wirelab_trial::OverTime::default(),
            checker_held_up_ps: Field::absent("no checker on paper"),
            jitter_ps: Field::absent("no jitter on paper"),
            sender: Field::absent("no sender on paper"),
            receiver_path: "paper".to_owned(),
            series: vec![self.series("Rx PBUF", &[latency_ns - 10, latency_ns, latency_ns + 10])],
            counters: counters
                .map(|(name, n)| (name.to_owned(), self.field(n)))
                .into(),
        }
    }
}

impl Node for Paper {
    fn describe(&self) -> Description {
        Description {
            name: "paper".to_owned(),
            node_type: "model".to_owned(),
            capabilities: Capabilities {
                link_bits_per_s: Some(100_000_000),
                ..Capabilities::default()
            },
            setup: BTreeMap::new(),
            facts: None,
        }
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        _: &Cancel,
    ) -> Result<Observation, NodeError> {
        self.asked.borrow_mut().push(trial.clone());
        progress.report(1, 2, "half of it");
        let why = || "it is only paper".to_owned();
        let status = match self.answer {
            Answer::Complete => Status::Complete,
            Answer::Partial => Status::Partial { why: why() },
            Answer::Void => Status::Void { why: why() },
            Answer::Unsupported => {
                return Err(NodeError::unsupported(TrialOption::Buffers, why()));
            }
            Answer::Failed => return Err(NodeError::Failed(why())),
            Answer::Privilege => return Err(NodeError::Privilege("CAP_NET_RAW is missing".into())),
        };
        let sizes = trial.sizes().unwrap();
        let ways = match trial.direction {
            Direction::Both => vec![Direction::Transmit, Direction::Receive],
            way => vec![way],
        };
        let flows = ways.into_iter().map(|direction| {
            let one_way = Trial {
                direction,
                ..trial.clone()
            };
            self.flow(&one_way, &sizes)
        });
        Ok(Observation {
            trial: trial.clone(),
            sizes,
            node: self.describe(),
            status,
            started_unix_ns: Field::absent("paper has no date"),
            flows: flows.collect(),
            cpu_load: self.field(CpuLoad {
                busy_ratio: 0.5,
                idle_baseline_ratio: Some(0.0),
                shared: false,
                interval: None,
            }),
            busy_over_time: Vec::new(),
            series: vec![self.series("spacing: probe", &[810, 830])],
            counters: BTreeMap::new(),
            tester: TesterObservation::new(Field::absent("no tester"), Field::absent("no tester")),
            warnings: Vec::new(),
        })
    }
}
