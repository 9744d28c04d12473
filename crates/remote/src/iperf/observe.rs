//! From what iperf measured to an observation: our own counts, and what the peer reports, each as what it is.

use std::collections::BTreeMap;

use wirelab_iperf::v2::{Amount, Generation, Leg, Trouble};
use wirelab_trial::{
    Description, Field, FlowObservation, NodeError, Observation, Status, TesterObservation,
    Unsupported, Warning,
};

use super::flow::About;
use super::plan::Plan;
use super::run::Ran;
use crate::route::Route;

/// The observation of a test, or why there is none.
///
/// # Errors
/// [`NodeError`] where nothing was measured at all.
pub fn observation(
    plan: &Plan,
    ran: Ran,
    node: Description,
    route: &Route,
) -> Result<Observation, NodeError> {
    let layer = plan.trial.framing.layer;
    let fragmented = crate::path::fragmented(plan.datagram, layer, route.mtu());
    let mut about = About {
        plan,
        rows: &ran.outcome.rows,
        peer: node.name.clone(),
        fragmented: fragmented.is_some(),
        warnings: fragmented.into_iter().collect(),
    };
    let flows: Vec<FlowObservation> = ran
        .outcome
        .legs
        .iter()
        .filter_map(|(id, leg)| about.flow(*id, leg))
        .collect();
    let mut warnings = about.warnings;
    if let Some(trouble) = &ran.outcome.trouble {
        if flows.is_empty() || matches!(trouble, Trouble::Connect { .. }) {
            return Err(failure(trouble));
        }
    }
    if flows.is_empty() && !ran.cancelled {
        return Err(NodeError::Failed(format!(
            "{}: nothing was measured; is an iperf 2 server running there (iperf -s, with -u for UDP)?",
            node.name
        )));
    }
    if ran.on_our_connection {
        warnings.push(Warning::new(
            "own-connection",
            "the peer could not open a connection back, so its traffic came on the tester's own (-R)",
            "nothing is wrong; without a firewall or NAT between, -r works too",
        ));
    }
    let slow = flows.iter().any(FlowObservation::sender_was_slow);
    Ok(Observation {
        trial: plan.trial.clone(),
        sizes: plan.sizes,
        node,
        status: status(plan, &ran),
        started_unix_ns: Field::measured(ran.started_unix_ns),
        flows,
        cpu_load: Field::absent(
            "an iperf peer tells no CPU load: 'wirelab node serve' there does, asked as node:HOST",
        ),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation::of_trial(plan.frames_per_s.is_some(), slow),
        warnings,
    })
}

fn status(plan: &Plan, ran: &Ran) -> Status {
    match &ran.outcome.trouble {
        _ if ran.cancelled => Status::cancelled(),
        Some(trouble) => Status::Partial {
            why: trouble.to_string(),
        },
        None => match ran.outcome.legs.iter().find_map(|(_, leg)| cut(plan, leg)) {
            Some(why) => Status::Partial { why },
            None => Status::Complete,
        },
    }
}

/// Why the peer's traffic is not whole, as far as it can be told.
fn cut(plan: &Plan, leg: &Leg) -> Option<String> {
    match leg {
        Leg::UdpReceived(udp) if !udp.finished => Some(
            "the peer's traffic ended without its final datagram: it is gone, or what it sent last was lost"
                .to_owned(),
        ),
        Leg::TcpReceived { span, bytes, .. } => {
            let short = match plan.config.amount {
                Amount::Bytes(asked) => *bytes < asked,
                // The peer may begin late; half of the time is too late for that.
                Amount::Time { .. } => plan
                    .expected
                    .is_some_and(|time| span.seconds() < 0.5 * time.as_secs_f64()),
            };
            short.then(|| {
                format!(
                    "the peer's stream ended after {:.1} s and {bytes} bytes, before the trial did",
                    span.seconds()
                )
            })
        }
        _ => None,
    }
}

fn failure(trouble: &Trouble) -> NodeError {
    match trouble {
        Trouble::Unsupported(why) => Unsupported {
            field: "direction",
            why: (*why).to_owned(),
        }
        .into(),
        trouble => NodeError::Failed(trouble.to_string()),
    }
}

/// How a sender's generation is called in the set-up keys.
pub fn generation_name(generation: Generation) -> &'static str {
    match generation {
        Generation::Bare => "12-byte header (ESP-IDF, NuttX and like)",
        Generation::V205 => "iperf 2.0.5 to 2.0.12",
        Generation::Wide | Generation::WideBare => "iperf 2.0.13 or later",
        Generation::SmallTripTimes => "iperf 2.1 or later, with trip times",
    }
}
