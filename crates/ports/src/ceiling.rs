//! The tester's own ceiling on this host: a trial at maximum load on a private veth pair.

use wirelab_port::lab::LabSpec;
use wirelab_trial::{Cancel, Field, Node, NodeError, Observation, Trial};

use crate::{PortsNode, PortsOptions};

/// Time of a trial in ps: long enough for a steady rate, short enough to run before each new kind of trial.
const TIME_PS: u64 = 100_000_000_000;

/// A private lab in which the tester measures itself: made at the first trial, and again for a trial that needs
/// more pairs or a larger MTU. To make a lab takes longer than a run in it.
pub struct CeilingLab {
    options: PortsOptions,
    lab: Option<BuiltLab>,
}

struct BuiltLab {
    pairs: u8,
    mtu: u32,
    node: PortsNode,
}

impl CeilingLab {
    /// No lab exists before the first trial.
    pub fn new(options: PortsOptions) -> CeilingLab {
        CeilingLab { options, lab: None }
    }

    /// Frames/s of one flow that the tester reaches against itself, with as many flows as the trial.
    pub fn frames_per_s(&mut self, trial: &Trial) -> Field<f64> {
        match self.at_max_load(trial) {
            Err(error) => Field::absent(format!("could not be measured: {error}")),
            Ok(observation) => {
                let rates = observation
                    .flows
                    .iter()
                    .filter_map(|f| f.frames_per_s.value().copied());
                Field::measured_or(rates.reduce(f64::min), "no frame arrived")
            }
        }
    }

    /// Run the same trial at maximum load in the lab.
    ///
    /// # Errors
    /// [`NodeError`] if the lab cannot be made or the trial cannot run there.
    pub fn at_max_load(&mut self, trial: &Trial) -> Result<Observation, NodeError> {
        self.run(&trial.unbounded(TIME_PS))
    }

    /// Run a trial between the ports of the lab.
    pub(crate) fn run(&mut self, trial: &Trial) -> Result<Observation, NodeError> {
        let sizes = trial
            .sizes()
            .map_err(|e| NodeError::BadTrial(e.to_string()))?;
        let mut spec = LabSpec::unique("ceiling", u8::try_from(trial.ports).unwrap_or(u8::MAX));
        spec.mtu = spec.mtu.max(sizes.payload);
        let fits = |made: &&mut BuiltLab| made.pairs == spec.pairs && made.mtu == spec.mtu;
        if let Some(made) = self.lab.as_mut().filter(fits) {
            return made.node.run(trial, &(), &Cancel::new());
        }
        // The old lab goes before the new one comes.
        self.lab = None;
        let node =
            PortsNode::in_lab(&spec, self.options).map_err(|e| NodeError::Failed(e.to_string()))?;
        let made = self.lab.insert(BuiltLab {
            pairs: spec.pairs,
            mtu: spec.mtu,
            node,
        });
        made.node.run(trial, &(), &Cancel::new())
    }
}
