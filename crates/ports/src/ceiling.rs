//! The tester's own ceiling on this host: a trial at maximum load on a private veth pair.

use wirelab_port::lab::LabSpec;
use wirelab_trial::{Cancel, Extent, FaultRates, Field, Load, Node, NodeError, Observation, Trial};

use crate::{PortsNode, PortsOptions};

/// Long enough for a steady rate, short enough to run before each new kind of trial.
const TIME_PS: u64 = 100_000_000_000;

/// Run the same trial at maximum load in a private lab.
///
/// # Errors
/// [`NodeError`] if the lab cannot be made or the trial cannot run there.
pub fn ceiling_observation(trial: &Trial, options: PortsOptions) -> Result<Observation, NodeError> {
    let asked = Trial {
        load: Load::Max,
        extent: Extent::Time { time_ps: TIME_PS },
        // With a link rate the sender would limit itself to it.
        link_bits_per_s: None,
        buffers: None,
        faults: FaultRates::default(),
        path: None,
        wait: None,
        rule: None,
        background: None,
        probes: None,
        ..trial.clone()
    };
    in_private_lab(&asked, options)
}

/// Run a trial between ports of a lab that is made for it.
pub fn in_private_lab(trial: &Trial, options: PortsOptions) -> Result<Observation, NodeError> {
    let sizes = trial
        .sizes()
        .map_err(|e| NodeError::BadTrial(e.to_string()))?;
    let mut spec = LabSpec::unique("ceiling", u8::try_from(trial.ports).unwrap_or(u8::MAX));
    spec.mtu = spec.mtu.max(sizes.payload);
    let mut node =
        PortsNode::in_lab(&spec, options).map_err(|e| NodeError::Failed(e.to_string()))?;
    node.run(trial, &(), &Cancel::new())
}

/// Frames/s of one flow that the tester reaches against itself, with as many flows as the trial.
pub fn ceiling_frames_per_s(trial: &Trial, options: PortsOptions) -> Field<f64> {
    match ceiling_observation(trial, options) {
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
