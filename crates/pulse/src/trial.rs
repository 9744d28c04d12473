//! Makes the pulses of a recording the times of trials, as the first document (NXP AN11053) measured them.

use wirelab_trial::{
    ClockKind, Counter, Direction, Field, Observation, Status, Warning, WarningCode,
};
use wirelab_wire::LineRate;

use crate::Pulses;
use crate::error::PulseFault;

/// Whether a trial can have a pin: the node sends, over one port.
pub fn has_pin(observation: &Observation) -> bool {
    observation.trial.direction == Direction::Transmit && observation.flows.len() == 1
}

/// Refuses trials that no pin can span, before anything is measured.
///
/// # Errors
/// If a direction is not [`Direction::Transmit`].
pub fn check(directions: impl IntoIterator<Item = Direction>) -> Result<(), PulseFault> {
    let mut directions = directions.into_iter();
    match directions.all(|direction| direction == Direction::Transmit) {
        true => Ok(()),
        false => {
            Err("the pin spans the frames that the node sends; fix: give --direction tx".into())
        }
    }
}

/// Makes the pulses the times of these trials, in their order.
///
/// # Errors
/// If there are not as many pulses as trials, or a trial has no pin; nothing is changed then.
pub fn apply(
    found: &Pulses,
    file: &str,
    observations: &mut [Observation],
) -> Result<(), PulseFault> {
    let (pulses, trials) = (found.pulses.len(), observations.len());
    if pulses != trials {
        let (channel, cut) = (&found.channel, found.cut_at_start || found.cut_at_end);
        let cut = if cut { ", and one that is cut" } else { "" };
        return Err(format!(
            "{channel} has {pulses} pulses{cut}, and the run has {trials} trials; fix: let the pin be active once in each trial, record \
             all of them, and leave shorter ones out (shortest=TIME)"
        )
        .into());
    }
    if let Some(without) = observations.iter().position(|o| !has_pin(o)) {
        return Err(format!(
            "trial {} has no pulse that is its time; fix: measure what the node sends over one port (--direction tx)",
            without + 1
        )
        .into());
    }
    for (pulse, observation) in found.pulses.iter().zip(observations) {
        take(found, pulse.width_ps, file, observation);
    }
    Ok(())
}

fn take(found: &Pulses, ps: u64, file: &str, observation: &mut Observation) {
    let (sizes, trial) = (observation.sizes, &observation.trial);
    let link = trial
        .link_bits_per_s
        .or(observation.node.capabilities.link_bits_per_s);
    let link = link.and_then(LineRate::new);
    let setup = &mut observation.node.setup;
    setup.insert(
        "pulse".to_owned(),
        format!("{file}, channel {}", found.channel),
    );
    let void = matches!(observation.status, Status::Void { .. });
    let Some(flow) = observation.flows.first_mut() else {
        return;
    };
    for (name, ps) in [
        (Counter::PIN_ELAPSED, Some(ps)),
        (
            Counter::PIN_UNCERTAINTY,
            found.uncertainty.is_known().then_some(found.uncertainty.ps),
        ),
    ] {
        let why = "the recording does not state its sampling: name it with FILE,sampling=RATE";
        flow.counters
            .insert(name.word().to_owned(), Field::measured_or(ps, why));
    }
    let arrived = flow.counts.value().map(|counts| counts.received_frames);
    let Some(frames) = arrived.or(flow.sent_frames.value().copied()) else {
        return;
    };
    if void {
        return;
    }
    let clock = match flow.elapsed.value() {
        Some(elapsed) => elapsed.clock,
        None => ClockKind::Wall,
    };
    flow.take_pin(ps, clock, frames, &sizes, link);
    // The last frame's gap needs no pin.
    let least_ps =
        link.map(|link| frames.saturating_sub(1) as f64 * 1e12 / link.frames_per_s(&sizes));
    let most_ps = ps.saturating_add(found.uncertainty.ps) as f64;
    if least_ps.is_some_and(|least_ps| most_ps < least_ps) {
        observation.warnings.push(Warning::new(
            WarningCode::PULSE,
            format!(
                "the pin was active for {:.3} ms, less than {frames} frames take on the link: it does not span them",
                ps as f64 / 1e9
            ),
            "raise the pin before the first frame and lower it after the last has left, or give the link's rate with --rate",
        ));
    }
}
