//! A simulated node of known capacity, with noise, and trials that it fails or declines.

use std::collections::BTreeMap;

use wirelab_statistics::random::SplitMix64;
use wirelab_trial::*;

/// What the node does at its nth run (counted from 1), instead of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    Fail,
    Privilege,
    /// Ctrl-C is pressed during the run.
    CancelDuring,
}

pub struct SimulatedNode {
    pub capacity_frames_per_s: f64,
    /// Relative noise of a rate, e.g. 0.01.
    pub noise: f64,
    pub rng: SplitMix64,
    pub ports: u32,
    pub link_bits_per_s: Option<u64>,
    pub unsupported: Option<Buffers>,
    pub troubles: BTreeMap<u64, Trouble>,
    /// Whether its sender can keep a requested rate.
    pub keeps_rate: bool,
    /// How often it says that it asked by itself, where it does.
    pub attempts: Option<u64>,
    /// Trials that were requested from it, warm-ups included.
    pub asked: Vec<Trial>,
}

impl SimulatedNode {
    pub fn new(capacity_frames_per_s: f64) -> SimulatedNode {
        SimulatedNode {
            capacity_frames_per_s,
            noise: 0.0,
            rng: SplitMix64::new(1),
            ports: 1,
            link_bits_per_s: None,
            unsupported: None,
            troubles: BTreeMap::new(),
            keeps_rate: true,
            attempts: None,
            asked: Vec::new(),
        }
    }

    fn flow(&mut self, trial: &Trial, sizes: &Sizes, port: u32, way: Direction) -> FlowObservation {
        let link = trial.link();
        let asked = trial
            .load
            .frames_per_s(sizes, trial.framing.layer, link)
            .unwrap();
        let noisy = 1.0 + self.noise * (2.0 * self.rng.uniform() - 1.0);
        let capacity = self.capacity_frames_per_s * noisy;
        let offered = asked.unwrap_or(capacity);
        let rate = offered.min(capacity);
        let sent = match trial.extent {
            Extent::Frames { frames } => frames,
            Extent::Time { time_ps } => (offered * time_ps as f64 / 1e12) as u64,
        };
        let lost = (sent as f64 * (1.0 - rate / offered)).round() as u64;
        let counts = Counts {
            received_frames: sent - lost,
            good_frames: sent - lost,
            distinct_sequences: sent - lost,
            lost_frames: lost,
            ..Counts::default()
        };
        FlowObservation {
            port: format!("simulated/{port}"),
            direction: way,
            stream: port as u8,
            sent_frames: Field::measured(sent),
            counts: Field::measured(counts),
            elapsed: Field::absent("a simulated node has no wire"),
            frames_per_s: Field::measured(rate),
            payload_bits_per_s: Field::measured(rate * 8.0 * f64::from(sizes.payload)),
            link_bits_per_s: Field::measured(rate * 8.0 * f64::from(sizes.frame + 20)),
            efficiency: Field::absent("no link rate"),
            goodput_bits_per_s: Field::absent("an Ethernet trial"),
            loss_ratio: Field::measured(lost as f64 / sent.max(1) as f64),
            loss_ratio_at_most: None,
            intervals: wirelab_trial::FlowIntervals::default(),
            over_time: wirelab_trial::OverTime::default(),
            checker_held_up_ps: Field::absent("not simulated"),
            jitter_ps: Field::measured(1_000 * u64::from(port + 1)),
            sender: Field::measured(SenderObservation {
                path: "simulated".to_owned(),
                asked_frames_per_s: Field::measured_or(asked, "maximum load"),
                achieved_frames_per_s: Field::measured(offered),
                kept_rate: Field::measured(self.keeps_rate),
                gap: Field::absent("not simulated"),
                slips: Field::absent("not simulated"),
                blocked_ps: Field::absent("not simulated"),
                longest_burst_frames: Field::absent("not simulated"),
                slipped_ps: Field::absent("not simulated"),
                kernel_copied: Field::absent("not simulated"),
                ledger: None,
            }),
            receiver_path: "simulated".to_owned(),
            series: Vec::new(),
            counters: BTreeMap::new(),
        }
    }
}

impl Node for SimulatedNode {
    fn describe(&self) -> Description {
        Description {
            name: "simulated".to_owned(),
            node_type: "model".to_owned(),
            capabilities: Capabilities {
                ports: self.ports,
                link_bits_per_s: self.link_bits_per_s,
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
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        self.asked.push(trial.clone());
        progress.report(1, 2, "half of it");
        let mut status = Status::Complete;
        match self.troubles.get(&(self.asked.len() as u64)) {
            Some(Trouble::Fail) => return Err(NodeError::Failed("the board is silent".to_owned())),
            Some(Trouble::Privilege) => {
                return Err(NodeError::Privilege("CAP_NET_RAW is missing".to_owned()));
            }
            Some(Trouble::CancelDuring) => {
                cancel.cancel();
                status = Status::Partial {
                    why: "cancelled".to_owned(),
                };
            }
            None => {}
        }
        if self.unsupported.is_some() && trial.buffers == self.unsupported {
            return Err(NodeError::Unsupported(Unsupported {
                field: Some(TrialOption::Buffers.into()),
                why: "it has no DMA engine of its own: ask prefilled or copied".to_owned(),
            }));
        }
        let sizes = trial.sizes().unwrap();
        let ways = match trial.direction {
            Direction::Both => vec![Direction::Transmit, Direction::Receive],
            one => vec![one],
        };
        let mut flows = Vec::new();
        for port in 0..trial.ports {
            for way in &ways {
                flows.push(self.flow(trial, &sizes, port, *way));
            }
        }
        let attempts = self.attempts.map(Field::measured);
        let counters = attempts.map(|n| (Counter::ATTEMPTS.word().to_owned(), n));
        Ok(Observation {
            trial: trial.clone(),
            sizes,
            node: self.describe(),
            status,
            started_unix_ns: Field::measured(1),
            flows,
            cpu_load: Field::absent("not simulated"),
            busy_over_time: Vec::new(),
            series: Vec::new(),
            counters: counters.into_iter().collect(),
            tester: TesterObservation::new(
                Field::absent("not measured in this run"),
                Field::absent("needs the tester's ceiling"),
            ),
            warnings: Vec::new(),
        })
    }
}

pub fn environment() -> Environment {
    Environment {
        kernel: Field::absent("simulated"),
        cpu: Field::absent("simulated"),
        cpus: Field::absent("simulated"),
        memory_bytes: Field::absent("simulated"),
        virtual_machine: Field::absent("simulated"),
    }
}
