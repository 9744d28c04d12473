//! From what the tester and the node saw to an observation, every figure with its unit or its reason.

use wirelab_trial::job::{self, FlowAsked};
use wirelab_trial::stage::{self, PointTimes};
use wirelab_trial::{
    ClockKind, Description, Direction, Field, Layer, Observation, Series, Status,
    TesterObservation, Warning,
};

use super::echo::STREAM;
use super::plan::Plan;
use super::session::Ran;

/// The counter of the protocol that says what a point costs, in clocks.
const POINT_COST: &str = "capture_point_ticks";

/// Why a figure of one node is not that of both.
const SIDE_BY_SIDE: &str = "two simulated nodes sent a part of the frames each";

/// The observation of a trial, whose parts are taken together.
pub fn observation(
    plan: &Plan,
    node: &Description,
    runs: Vec<Ran>,
    started_unix_ns: u64,
) -> Observation {
    let in_parts = runs.len() > 1;
    let parts: Vec<Observation> = runs
        .into_iter()
        .map(|ran| part(plan, node, ran, started_unix_ns))
        .collect();
    let whole = wirelab_trial::pooled(&parts).into_iter().next();
    let mut whole = whole.expect("a trial has a part, and the parts of one trial become one");
    whole.trial = plan.trial.clone();
    for flow in whole.flows.iter_mut().filter(|_| in_parts) {
        flow.without_rates(SIDE_BY_SIDE);
    }
    whole
}

fn part(plan: &Plan, node: &Description, ran: Ran, started_unix_ns: u64) -> Observation {
    let Ran {
        echoes,
        mut told,
        cancelled,
    } = ran;
    let (sent, came) = echoes.finish();
    let lost = sent.sequences.saturating_sub(came.counts.good_frames);
    let [received, sent_back] = stages(std::mem::take(&mut told.points), &mut told.notes);
    let mut warnings: Vec<Warning> = told.notes.into_iter().map(Warning::of_node).collect();
    let mut flows = Vec::new();
    for (direction, stages) in match plan.trial.direction {
        Direction::Both => vec![
            (Direction::Receive, received),
            (Direction::Transmit, sent_back),
        ],
        Direction::Receive => vec![(Direction::Receive, received)],
        Direction::Transmit => vec![(Direction::Transmit, sent_back)],
        Direction::Echo => vec![(Direction::Echo, Vec::new())],
    } {
        let asked = asked(plan, direction, &node.name);
        warnings.extend(job::flow_warnings(&asked, &sent, &came));
        let mut flow = job::flow_observation(&asked, &sent, came.clone());
        if let Field::Observed { value, .. } = &mut flow.elapsed {
            value.clock = ClockKind::Simulated;
        }
        flow.series.extend(stages);
        flows.push(flow);
    }
    warnings.dedup();
    let points = |name: &String| name == POINT_COST || name.ends_with("_ticks");
    let counters = told.counters.into_iter().filter(|(name, _)| points(name));
    Observation {
        trial: plan.trial.clone(),
        sizes: plan.sizes,
        node: node.clone(),
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
        flows,
        cpu_load: told.load,
        series: Vec::new(),
        counters: counters
            .map(|(name, value)| (format!("node_{name}"), Field::measured(value)))
            .collect(),
        tester: TesterObservation {
            ceiling_frames_per_s: Field::absent("the tester takes no simulated time"),
            was_limit: Field::measured(false),
        },
        warnings,
    }
}

/// The stages of the way in, and those of the way out: both are of one stream, and the first ends at the application.
fn stages(mut points: Vec<PointTimes>, notes: &mut Vec<String>) -> [Vec<Series>; 2] {
    let inner = points.iter().position(|point| point.name == "application");
    let sent = points.split_off(inner.map_or(points.len(), |at| at + 1));
    [points, sent].map(|way| {
        let stages = stage::between(&way, notes).into_iter();
        let simulated = |(_, mut series): (u8, Series)| {
            series.clock.kind = ClockKind::Simulated;
            series
        };
        stages.map(simulated).collect()
    })
}

fn asked(plan: &Plan, direction: Direction, node: &str) -> FlowAsked {
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
