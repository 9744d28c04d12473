//! From what the tester and the node saw to an observation, every figure with its unit or its reason.

use std::collections::BTreeMap;

use wirelab_trial::job::{self, CheckReport, FlowAsked, SendReport};
use wirelab_trial::stage;
use wirelab_trial::{
    ClockKind, Description, Direction, Field, Layer, Observation, Series, Status,
    TesterObservation, Warning,
};

use super::Ran;
use super::echo::STREAM;
use super::plan::Plan;

/// The counter of the protocol that says what a point costs, in clocks.
const POINT_COST: &str = "capture_point_ticks";

/// The observation of a trial: the runs of its points are one flow, whose frames were each sent so often.
pub fn observation(
    plan: &Plan,
    node: Description,
    runs: Vec<Ran>,
    started_unix_ns: u64,
) -> Observation {
    let cancelled = runs.iter().any(|ran| ran.cancelled);
    let mut warnings = Vec::new();
    let mut counters = BTreeMap::new();
    let mut cpu_load = Field::absent("nothing was run");
    let mut stages = Vec::new();
    let mut lost = 0;
    let mut seen: Option<(SendReport, CheckReport)> = None;
    for mut ran in runs {
        let points = std::mem::take(&mut ran.told.points);
        stages.extend(series(&points, &mut ran.told.notes));
        cpu_load = ran.told.load;
        for (name, value) in ran.told.counters {
            if name == POINT_COST || name.ends_with("_ticks") {
                counters.insert(format!("node_{name}"), Field::measured(value));
            }
        }
        warnings.extend(ran.told.notes.into_iter().map(Warning::of_node));
        let (sent, came) = ran.echoes.finish();
        let unanswered = sent.sequences.saturating_sub(came.counts.good_frames);
        lost += unanswered;
        // The worst run stands for all: each sends the same frames.
        let worse = seen.as_ref().is_none_or(|(sent, came)| {
            sent.sequences.saturating_sub(came.counts.good_frames) < unanswered
        });
        if worse {
            seen = Some((sent, came));
        }
    }
    let (sent, came) = seen.unwrap_or_default();
    let asked = asked(plan, &node.name);
    warnings.extend(job::flow_warnings(&asked, &sent, &came));
    let mut flow = job::flow_observation(&asked, &sent, came);
    if let Field::Observed { value, .. } = &mut flow.elapsed {
        value.clock = ClockKind::Simulated;
    }
    flow.series.extend(stages);
    Observation {
        trial: plan.trial.clone(),
        sizes: plan.sizes,
        node,
        status: match (cancelled, lost) {
            (true, _) => Status::cancelled(),
            (false, 0) => Status::Complete,
            (false, lost) => Status::Void {
                why: format!(
                    "{lost} frames did not come back as they were sent: their times are no echo's"
                ),
            },
        },
        started_unix_ns: Field::measured(started_unix_ns),
        flows: vec![flow],
        cpu_load,
        series: Vec::new(),
        counters,
        tester: TesterObservation {
            ceiling_frames_per_s: Field::absent("the tester takes no simulated time"),
            was_limit: Field::measured(false),
        },
        warnings,
    }
}

/// The times between the points of a run, which are of the node's simulated clock.
fn series(points: &[stage::PointTimes], notes: &mut Vec<String>) -> Vec<Series> {
    let between = stage::between(points, notes).into_iter();
    let simulated = |(_, mut series): (u8, Series)| {
        series.clock.kind = ClockKind::Simulated;
        series
    };
    between.map(simulated).collect()
}

fn asked(plan: &Plan, node: &str) -> FlowAsked {
    let direction = plan.trial.direction;
    let (from, to) = match direction {
        Direction::Transmit => (node, "tester"),
        Direction::Receive => ("tester", node),
        _ => ("tester", "tester"),
    };
    FlowAsked {
        port: node.to_owned(),
        direction,
        stream: STREAM,
        layer: Layer::UdpIpv4,
        sizes: plan.sizes,
        link: Some(plan.link),
        frames_per_s: plan.frames_per_s,
        from: from.to_owned(),
        to: to.to_owned(),
        sender_path: "simulated line".to_owned(),
        receiver_path: "simulated line, by what came back".to_owned(),
        ledger: None,
    }
}
