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
use crate::reference::registers as reg;

/// The counter of the protocol that says what a point costs, in clocks.
const POINT_COST: &str = "capture_point_ticks";

/// The counter of the program that has the sticky bits of the MAC which came up in the trial.
const STICKY: &str = "mac_sticky";
/// The bits of that word, by their names in the registers; they are the same in either MAC.
const STICKY_BITS: [(reg::Field, &str); 8] = [
    (reg::SLOT_MAC_COUNTS_STICKY_OVERFLOW, "overflow"),
    (reg::SLOT_MAC_COUNTS_STICKY_NO_SFD, "no_sfd"),
    (reg::SLOT_MAC_COUNTS_STICKY_TOO_SHORT, "too_short"),
    (reg::SLOT_MAC_COUNTS_STICKY_BAD_PREAMBLE, "bad_preamble"),
    (reg::SLOT_MAC_COUNTS_STICKY_UNDERRUN, "underrun"),
    (reg::SLOT_MAC_COUNTS_STICKY_NO_BUFFER, "no_buffer"),
    (reg::SLOT_MAC_COUNTS_STICKY_REFUSED, "refused"),
    (reg::SLOT_MAC_COUNTS_STICKY_FAULT, "fault"),
];

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
    let sticky = sticky_bits(told.counters.get(STICKY).copied().unwrap_or(0));
    warnings.extend(sticky_warning(&node.name, &sticky));
    let points = |name: &String| name == POINT_COST || name.ends_with("_ticks");
    let counters = told.counters.into_iter().filter(|(name, _)| points(name));
    // Words of bits cannot be added where parts are taken together, trials in which a bit came up can.
    let came_up = sticky.iter().map(|bit| (format!("{STICKY}_{bit}"), 1));
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
            .chain(came_up)
            .map(|(name, value)| (format!("node_{name}"), Field::measured(value)))
            .collect(),
        tester: TesterObservation {
            ceiling_frames_per_s: Field::absent("the tester takes no simulated time"),
            was_limit: Field::measured(false),
        },
        warnings,
    }
}

/// The names of the bits that are set in a sticky word. What a bit without a name would mean, this program does not know.
fn sticky_bits(word: u64) -> Vec<&'static str> {
    let low = word as u32;
    let names = STICKY_BITS.iter().filter(|(bit, _)| bit.from(low) != 0);
    let mut names: Vec<&str> = names.map(|(_, name)| *name).collect();
    if word >> STICKY_BITS.len() != 0 {
        names.push("unknown");
    }
    names
}

/// What to say of bits that came up.
fn sticky_warning(node: &str, bits: &[&str]) -> Option<Warning> {
    (!bits.is_empty()).then(|| {
        Warning::new(
            "sticky",
            format!(
                "{node}: sticky bits of its MAC came up: {}",
                bits.join(", ")
            ),
            "docs/blocks/slot_mac.md says what each of them means",
        )
    })
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

#[cfg(test)]
#[path = "../../tests/firmware/image.rs"]
mod image;

#[cfg(test)]
mod tests {
    use wirelab_trial::{Cancel, Extent, Framing, Load, Node, Size, SizeUnit, Trial};

    use super::*;
    use crate::port::Line;
    use crate::reference::{Attachment, Straps};
    use crate::reference_node::ReferenceNode;

    /// Byte times of line 0 in which a trial has long begun: 4 ms.
    const BEGUN_BYTES: usize = 50_000;

    fn sticky_of(came: &Observation) -> Vec<&str> {
        let warnings = came.warnings.iter().filter(|one| one.code == "sticky");
        warnings.map(|one| one.text.as_str()).collect()
    }

    /// Echoes, behind these bytes of a carrier.
    fn run(node: &mut ReferenceNode, carrier: &[u8]) -> Observation {
        if !carrier.is_empty() {
            let mut line = vec![Line::default(); BEGUN_BYTES];
            line.extend(carrier.iter().map(|&data| Line {
                data,
                enable: true,
                error: false,
            }));
            line.extend([Line::default(); 12]);
            node.first.node().send_raw(line);
        }
        let framing = Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        };
        let size = Size::new(SizeUnit::Length, 64);
        let extent = Extent::Frames { frames: 2 };
        let trial = Trial::new(framing, Direction::Echo, size, Load::Max, extent);
        let came = node.run(&trial, &(), &Cancel::new()).unwrap();
        assert_eq!(came.status, Status::Complete, "{:?}", came.warnings);
        came
    }

    #[test]
    fn what_the_mac_keeps_of_a_damaged_line_is_warned_of_in_its_trial_and_in_no_other() {
        let Some(elf) = image::or_skip("reference.elf") else {
            return;
        };
        for attachment in [Attachment::LiteDevice, Attachment::Dma] {
            let straps = Straps::new(attachment);
            let mut node = ReferenceNode::start("hdl:reference", straps, &elf).unwrap();
            assert!(sticky_of(&run(&mut node, &[])).is_empty());
            let came = run(&mut node, &[0x55; 8]);
            assert_eq!(
                sticky_of(&came),
                ["hdl:reference: sticky bits of its MAC came up: no_sfd"]
            );
            let told = &came.counters["node_mac_sticky_no_sfd"];
            assert_eq!(told.value(), Some(&1));
            // Behind a preamble with a wrong bit, two bytes.
            let came = run(
                &mut node,
                &[0x55, 0x54, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5, 1, 2],
            );
            assert_eq!(
                sticky_of(&came),
                ["hdl:reference: sticky bits of its MAC came up: too_short, bad_preamble"]
            );
            let came = run(&mut node, &[]);
            assert!(sticky_of(&came).is_empty());
            let mut names = came.counters.keys();
            assert!(!names.any(|name| name.contains("sticky")));
        }
    }

    #[test]
    fn each_bit_has_its_name_and_a_strange_one_is_told() {
        assert!(sticky_bits(0).is_empty());
        assert_eq!(sticky_warning("node", &[]), None);
        for (at, (_, name)) in STICKY_BITS.iter().enumerate() {
            assert_eq!(sticky_bits(1 << at), [*name]);
        }
        for strange in [1 << 8, 1 << 32, 1 << 63] {
            assert_eq!(sticky_bits(strange), ["unknown"]);
        }
    }
}
