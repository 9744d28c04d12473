//! Marks the figures of an observation that depend on the speed of the host that emulates a node.

use crate::clock::ClockKind;
use crate::field::{Field, Kind};
use crate::observation::{FlowObservation, Observation, SenderObservation, Warning};
use crate::series::Series;
use crate::series_name::FixedSeries;
use crate::trial::Direction;
use crate::warning_code::WarningCode;

impl Observation {
    /// Marks figures that a host influences if it emulates the node in real time: rates, times, losses and counts of
    /// arrived frames, the node's CPU load and its counters. Unchanged are simulated times, counts of instructions, and
    /// figures of the tester itself (its ceiling, its floor, what it sent).
    pub fn mark_emulated(&mut self) {
        emulate(&mut self.cpu_load);
        self.counters.values_mut().for_each(emulate);
        self.series.iter_mut().for_each(series);
        let echo = self.trial.direction == Direction::Echo;
        for flow in &mut self.flows {
            of_flow(flow, !echo && flow.direction == Direction::Transmit);
        }
    }

    /// As [`Observation::mark_emulated`], with a warning that says why and what to use instead.
    pub fn tell_emulated(&mut self, why: impl Into<String>, fix: impl Into<String>) {
        self.mark_emulated();
        self.warnings
            .push(Warning::new(WarningCode::EMULATED, why, fix));
    }

    /// Whether any of its rates or times is emulated.
    pub fn is_emulated(&self) -> bool {
        let timed = |f: &FlowObservation| {
            let kinds = [f.frames_per_s.kind(), f.counts.kind(), f.loss_ratio.kind()];
            kinds.contains(&Some(Kind::Emulated))
                || f.series.iter().any(|s| s.kind == Kind::Emulated)
        };
        self.flows.iter().any(timed) || self.series.iter().any(|s| s.kind == Kind::Emulated)
    }
}

fn emulate<T>(field: &mut Field<T>) {
    if let Field::Observed { kind, .. } = field {
        if *kind == Kind::Measured {
            *kind = Kind::Emulated;
        }
    }
}

fn series(series: &mut Series) {
    let of_the_node = series.name != FixedSeries::FLOOR;
    if of_the_node && series.clock.kind == ClockKind::Wall && series.kind == Kind::Measured {
        series.kind = Kind::Emulated;
    }
}

fn of_flow(flow: &mut FlowObservation, node_sends: bool) {
    let simulated = |elapsed: &crate::observation::Elapsed| elapsed.clock == ClockKind::Simulated;
    if !flow.elapsed.value().is_some_and(simulated) {
        emulate(&mut flow.elapsed);
        for rate in [
            &mut flow.frames_per_s,
            &mut flow.payload_bits_per_s,
            &mut flow.link_bits_per_s,
            &mut flow.efficiency,
            &mut flow.goodput_bits_per_s,
            &mut flow.loss_ratio,
        ] {
            emulate(rate);
        }
        emulate(&mut flow.counts);
        emulate(&mut flow.jitter_ps);
    }
    flow.counters.values_mut().for_each(emulate);
    flow.series.iter_mut().for_each(series);
    if node_sends {
        emulate(&mut flow.sent_frames);
        emulate(&mut flow.sender);
        if let Field::Observed { value, .. } = &mut flow.sender {
            sender(value);
        }
    }
}

/// The node's own sender.
fn sender(sender: &mut SenderObservation) {
    emulate(&mut sender.achieved_frames_per_s);
    emulate(&mut sender.kept_rate);
    emulate(&mut sender.gap);
    for count in [
        &mut sender.slips,
        &mut sender.slipped_ps,
        &mut sender.blocked_ps,
        &mut sender.longest_burst_frames,
    ] {
        emulate(count);
    }
}
