//! Explains the measured nodes of a results file: which ceiling each figure lies on, where loss begins, and what
//! remains unknown. Observations of models are explained by the model.

use std::collections::BTreeMap;

use wirelab_trial::explanation::{
    Explanation, Reading, ReadingGroup, ReadingLimit, ResultsExplanation, Roofline, RooflinePoint,
};
use wirelab_trial::{
    CPU_IS_LIMIT, Field, FlowObservation, Layer, Load, NodeName, Observation, OpenError, Probes,
    ResultsFile, Status, Trial, WIRE_IS_LIMIT, format,
};
use wirelab_wire::LineRate;

use super::laws;
use super::{lone, roofline};
use crate::fit;
use crate::intake::{tester_was_limit, unusable, useless_load};
use crate::node_type::open_file;

/// Models of one file that are explained; further ones are only named.
const MODELS: usize = 16;
/// Groups of one file that are explained; further ones are only named.
const GROUPS: usize = 64;
/// A rate this near to the offered rate equals it.
const OFFERED: f64 = 0.005;

/// Adds the rate of the link to trials that were measured without it.
///
/// # Errors
/// The first trial that was measured with another rate, and the fix; earlier ones are changed.
pub fn on_link(file: &mut ResultsFile, bits_per_s: u64) -> Result<(), String> {
    for (at, observation) in file.observations.iter_mut().enumerate() {
        let link = observation.trial.link_bits_per_s.replace(bits_per_s);
        if let Some(measured) = link.filter(|measured| *measured != bits_per_s) {
            return Err(format!(
                "trial {} was measured with a link of {}; fix: leave --rate out",
                at + 1,
                format::si(measured as f64, "bit/s")
            ));
        }
    }
    Ok(())
}

/// Explains the observations of a results file.
pub fn explain_results(observations: &[Observation]) -> ResultsExplanation {
    explained(observations, &[])
}

/// As [`explain_results`], without the observations that `skip` marks.
pub(super) fn explained(observations: &[Observation], skip: &[bool]) -> ResultsExplanation {
    let mut models = Vec::new();
    let mut left_out = Vec::new();
    let staged = observations.iter().any(|o| of_stages(&o.trial));
    let mut groups: BTreeMap<String, Vec<(usize, &Observation, &FlowObservation)>> =
        BTreeMap::new();
    for (at, observation) in observations.iter().enumerate() {
        let trial = at + 1;
        if skip.get(at) == Some(&true) {
            continue;
        }
        if staged && is_compared(&observation.trial) {
            continue;
        }
        if let Status::Void { why } = &observation.status {
            left_out.push(format!("trial {trial} is void: {why}"));
        } else if observation.node.is_computed() {
            match model(observation) {
                Ok(e) if models.len() < MODELS => {
                    if !models.contains(&e) {
                        models.push(e);
                    }
                }
                Ok(_) => left_out.push(format!(
                    "trial {trial}: more models than {MODELS}, explain it alone"
                )),
                Err(why) => left_out.push(format!("trial {trial}: {why}")),
            }
        } else if let Some(why) = unusable(observation) {
            left_out.push(format!("trial {trial}: {why}"));
        } else if observation.flows.is_empty() {
            left_out.push(format!("trial {trial}: the node reported no flow"));
        } else {
            for flow in &observation.flows {
                let key = title(observation, flow);
                if groups.len() < GROUPS || groups.contains_key(&key) {
                    groups
                        .entry(key)
                        .or_default()
                        .push((trial, observation, flow));
                } else {
                    left_out.push(format!(
                        "trial {trial}: more than {GROUPS} kinds of trials in one file"
                    ));
                }
            }
        }
    }
    let groups = groups
        .into_iter()
        .map(|(title, flows)| group(title, &flows, &mut left_out))
        .collect();
    ResultsExplanation {
        groups,
        models,
        left_out,
        fast_track: fit::fast_track(observations),
    }
}

/// Whether a trial took the times of stages. Its load was chosen low, so it shows no limit.
fn of_stages(trial: &Trial) -> bool {
    trial.load != Load::Max && trial.probes.is_some_and(|probes| probes != Probes::Off)
}

/// Whether it is the same trial without probes, which only shows their cost.
fn is_compared(trial: &Trial) -> bool {
    trial.load != Load::Max && trial.probes == Some(Probes::Off)
}

/// For blocks that took the times of stages: one reading for each size, the one with the median rate.
fn middles(readings: Vec<(Reading, Load)>) -> Vec<(Reading, Load)> {
    let of_size = readings.chunk_by(|(a, _), (b, _)| a.bytes == b.bytes);
    let middle = |blocks: &[(Reading, Load)]| {
        let (mut reading, load) = blocks[blocks.len() / 2].clone();
        reading.limit = Some(ReadingLimit::Load);
        reading.words = format!(
            "the load, chosen low for the times of stages ({})",
            format::count(blocks.len() as u64, "trial")
        );
        (reading, load)
    };
    of_size.map(middle).collect()
}

fn model(observation: &Observation) -> Result<Explanation, String> {
    let name = observation.node.name.parse::<NodeName>();
    let changes = observation.node.setup.get("set").map_or("", String::as_str);
    let changes = changes.split(", ").filter(|change| !change.is_empty());
    let changes: Vec<String> = changes.map(str::to_owned).collect();
    let file = name.map_err(OpenError::from);
    let file = file.and_then(|name| open_file(&name, &changes));
    let file = file.map_err(|e| e.to_string())?;
    super::explain(&file, &observation.trial).map_err(|e| e.to_string())
}

/// What readings must share to be compared.
pub(super) fn title(observation: &Observation, flow: &FlowObservation) -> String {
    let trial = &observation.trial;
    let layer = match trial.framing.layer {
        Layer::Ethernet => "Ethernet",
        Layer::UdpIpv4 => "UDP over IPv4",
        Layer::UdpIpv6 => "UDP over IPv6",
        Layer::TcpIpv4 => "TCP over IPv4",
        Layer::TcpIpv6 => "TCP over IPv6",
    };
    let node = observation.node.name.trim_end_matches(':');
    let mut text = format!("{node}: {layer}, {}", flow.direction);
    if trial.direction != flow.direction {
        text.push_str(&format!(" (of {})", trial.direction));
    }
    if trial.framing.vlan_tags > 0 {
        text.push_str(&format!(", {} VLAN tags", trial.framing.vlan_tags));
    }
    if let Some(buffers) = trial.buffers {
        text.push_str(&format!(", {buffers}"));
    }
    if let Some(path) = trial.path {
        text.push_str(&format!(", path {path}"));
    }
    if let Some(wait) = trial.wait {
        text.push_str(&format!(", wait {wait}"));
    }
    if let Some(background) = &trial.background {
        text.push_str(&format!(", background {background}"));
    }
    if let Some(probes) = trial.probes {
        text.push_str(&format!(", probes {probes}"));
    }
    if trial.ports > 1 {
        text.push_str(&format!(", {} ports at once", trial.ports));
    }
    match link(observation) {
        Some(link) => text.push_str(&format!(
            ", link {}",
            format::si(link.bits_per_s() as f64, "bit/s")
        )),
        None => text.push_str(", no link rate"),
    }
    text
}

/// The link rate of a trial: the user's, else the carrier's.
fn link(observation: &Observation) -> Option<LineRate> {
    let carrier = || {
        observation
            .node
            .capabilities
            .link_bits_per_s
            .and_then(LineRate::new)
    };
    observation.trial.link().or_else(carrier)
}

fn group(
    title: String,
    flows: &[(usize, &Observation, &FlowObservation)],
    left_out: &mut Vec<String>,
) -> ReadingGroup {
    let framing = flows[0].1.trial.framing;
    let unit = roofline::unit(framing);
    let mut readings = Vec::new();
    for (trial, observation, flow) in flows {
        match reading(*trial, observation, flow) {
            Ok(reading) => readings.push((reading, observation.trial.load)),
            Err(why) => left_out.push(format!("trial {trial}, {}: {why}", flow.port)),
        }
    }
    readings.sort_by(|(a, _), (b, _)| {
        a.bytes
            .cmp(&b.bytes)
            .then(a.frames_per_s.total_cmp(&b.frames_per_s))
    });
    if flows.iter().all(|(_, o, _)| of_stages(&o.trial)) {
        readings = middles(readings);
    }
    let grid = roofline::grid(readings.iter().map(|(r, _)| r.bytes));
    let mut ceilings: Vec<_> = link(flows[0].1)
        .map(|link| roofline::wire(framing, unit, link, &grid))
        .into_iter()
        .collect();
    let found = laws::of(&mut readings, link(flows[0].1).is_some());
    ceilings.extend(
        found
            .per_packet_ps
            .map(|ps| roofline::per_packet("node", ps, &grid)),
    );
    ceilings.extend(
        found
            .per_byte_ps
            .map(|ps| roofline::per_byte("node", ps, &grid)),
    );
    let points = readings.iter().map(|(r, _)| RooflinePoint {
        bytes: r.bytes,
        bits_per_s: r.bits_per_s,
        kind: r.kind,
        direction: flows[0].2.direction,
        limited_by: r.limit.map_or("unknown", laws::word).to_owned(),
    });
    let roofline = Roofline {
        unit,
        ceilings,
        points: points.collect(),
    };
    let useless = flows
        .iter()
        .filter_map(|(_, o, _)| useless_load(o.cpu_load.value()?));
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    useless.for_each(|why| *reasons.entry(why).or_default() += 1);
    let mut open = found.open;
    open.extend(reasons.iter().map(|(why, n)| {
        format!(
            "Not used of {}: {why}.",
            format::count(*n as u64, "reading")
        )
    }));
    let readings = readings.into_iter().map(|(r, _)| r).collect();
    let mut findings = found.findings;
    findings.extend(lone::of_results(flows));
    ReadingGroup {
        title,
        readings,
        findings,
        open,
        roofline,
    }
}

/// One flow's figures, and what they show alone.
fn reading(
    trial: usize,
    observation: &Observation,
    flow: &FlowObservation,
) -> Result<Reading, String> {
    let bits = match observation.trial.framing.layer {
        Layer::Ethernet => &flow.payload_bits_per_s,
        _ => &flow.goodput_bits_per_s,
    };
    let (bits_per_s, kind) = match bits {
        Field::Observed { value, kind } if value.is_finite() && *value > 0.0 => (*value, *kind),
        Field::Observed { .. } => return Err("nothing arrived".to_owned()),
        Field::Absent { absent } => return Err(format!("no rate: {absent}")),
    };
    let bytes = roofline::bytes(
        &observation.sizes,
        roofline::unit(observation.trial.framing),
    );
    let frames_per_s = match flow.frames_per_s.value() {
        Some(rate) if rate.is_finite() && *rate > 0.0 => *rate,
        _ => bits_per_s / (8.0 * f64::from(bytes.max(1))),
    };
    let cpu = observation
        .cpu_load
        .value()
        .filter(|c| useless_load(c).is_none())
        .map(|c| c.busy_ratio);
    let mut reading = Reading {
        trial,
        port: flow.port.clone(),
        bytes,
        bits_per_s,
        frames_per_s,
        loss_ratio: flow.loss_ratio.value().copied(),
        cpu_ratio: cpu,
        kind,
        limit: None,
        words: String::new(),
    };
    alone(&mut reading, observation, flow);
    Ok(reading)
}

/// What one flow shows alone.
fn alone(reading: &mut Reading, observation: &Observation, flow: &FlowObservation) {
    let sent_short = flow
        .sender
        .value()
        .and_then(|s| s.kept_rate.value())
        .is_some_and(|kept| !kept);
    let of_link =
        link(observation).map(|l| reading.frames_per_s / l.frames_per_s(&observation.sizes));
    let offered = offered(observation, flow);
    let all_arrived = offered.is_some_and(|rate| reading.frames_per_s >= rate * (1.0 - OFFERED));
    let full = reading.cpu_ratio.filter(|cpu| *cpu >= CPU_IS_LIMIT);
    let (limit, words) = if tester_was_limit(observation) || sent_short {
        (
            ReadingLimit::Tester,
            "the tester was the limit: the node may do more".to_owned(),
        )
    } else if let Some(share) = of_link.filter(|share| *share >= WIRE_IS_LIMIT) {
        (
            ReadingLimit::Wire,
            format!("the wire: {} % of the link", format::percent(share)),
        )
    } else if all_arrived {
        let though = full.map_or(String::new(), |cpu| {
            format!(", though the CPU is {} % busy", format::percent(cpu))
        });
        (ReadingLimit::Load, format!("the offered load{though}"))
    } else if let Some(cpu) = full {
        (
            ReadingLimit::Cpu,
            format!("the CPU: {} % busy", format::percent(cpu)),
        )
    } else {
        return;
    };
    (reading.limit, reading.words) = (Some(limit), words);
}

/// Frames/s that were offered; `None` at maximum load.
fn offered(observation: &Observation, flow: &FlowObservation) -> Option<f64> {
    if observation.trial.load == Load::Max {
        return None;
    }
    let requested = flow
        .sender
        .value()
        .and_then(|s| s.asked_frames_per_s.value().copied());
    let layer = observation.trial.framing.layer;
    let load = || {
        observation
            .trial
            .load
            .frames_per_s(&observation.sizes, layer, link(observation))
            .ok()
            .flatten()
    };
    requested.or_else(load)
}
