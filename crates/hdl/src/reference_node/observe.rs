//! From the reports of tester and node to an observation, every figure with its unit or its reason.

use wirelab_trial::job::{self, FlowRequest};
use wirelab_trial::stage::{self, CapturePoint, PointTimes};
use wirelab_trial::{
    ClockKind, Counter, Description, Direction, Field, Layer, Observation, Series, Status,
    TesterObservation, Warning, WarningCode,
};

use super::echo::STREAM;
use super::plan::ReferenceTrial;
use super::session::RunResult;
use crate::reference::registers as reg;

/// The program's counter with the sticky bits that the MAC set in the trial.
const STICKY: &str = "mac_sticky";
/// The bits of that word, by their names in the registers; both MACs have the same.
const STICKY_BITS: [(reg::Field, &str); 9] = [
    (reg::SLOT_MAC_COUNTS_STICKY_OVERFLOW, "overflow"),
    (reg::SLOT_MAC_COUNTS_STICKY_NO_SFD, "no_sfd"),
    (reg::SLOT_MAC_COUNTS_STICKY_TOO_SHORT, "too_short"),
    (reg::SLOT_MAC_COUNTS_STICKY_BAD_PREAMBLE, "bad_preamble"),
    (reg::SLOT_MAC_COUNTS_STICKY_UNDERRUN, "underrun"),
    (reg::SLOT_MAC_COUNTS_STICKY_NO_BUFFER, "no_buffer"),
    (reg::SLOT_MAC_COUNTS_STICKY_REFUSED, "refused"),
    (reg::SLOT_MAC_COUNTS_STICKY_FAULT, "fault"),
    (reg::SLOT_MAC_COUNTS_STICKY_OVERRUN, "overrun"),
];

/// The program's counter of good frames that the MAC dropped in the trial. It counts in each trial, while a bit is
/// only set in the first.
const DROPPED: &str = "mac_dropped_frames";
/// The bits of dropped frames, each with the resource that was full.
const DROPS: [(&str, &str); 2] = [
    ("overrun", "the slots of its store were full (overrun)"),
    ("no_buffer", "no descriptor was free (no_buffer)"),
];

/// Why a figure of one node is not that of both.
const SIDE_BY_SIDE: &str = "two simulated nodes sent a part of the frames each";

/// The observation of a trial, whose parts are merged.
pub fn observation(
    plan: &ReferenceTrial,
    node: &Description,
    runs: Vec<RunResult>,
    started_unix_ns: u64,
) -> Observation {
    let in_parts = runs.len() > 1;
    let parts: Vec<Observation> = runs
        .into_iter()
        .map(|result| part(plan, node, result, started_unix_ns))
        .collect();
    let whole = wirelab_trial::pooled(&parts).into_iter().next();
    let mut whole = whole.expect("a trial has a part, and the parts of one trial become one");
    whole.trial = plan.resolved.trial.clone();
    for flow in whole.flows.iter_mut().filter(|_| in_parts) {
        flow.without_rates(SIDE_BY_SIDE);
    }
    whole
}

fn part(
    plan: &ReferenceTrial,
    node: &Description,
    result: RunResult,
    started_unix_ns: u64,
) -> Observation {
    let RunResult {
        echoes,
        mut report,
        cancelled,
    } = result;
    let (sent, checked) = echoes.finish();
    let lost = sent.sequences.saturating_sub(checked.counts.good_frames);
    let [received, sent_back] = stages(std::mem::take(&mut report.points), &mut report.notes);
    let mut warnings: Vec<Warning> = report.notes.into_iter().map(Warning::of_node).collect();
    let mut flows = Vec::new();
    for (direction, stages) in match plan.resolved.trial.direction {
        Direction::Both => vec![
            (Direction::Receive, received),
            (Direction::Transmit, sent_back),
        ],
        Direction::Receive => vec![(Direction::Receive, received)],
        Direction::Transmit => vec![(Direction::Transmit, sent_back)],
        Direction::Echo => vec![(Direction::Echo, Vec::new())],
    } {
        let request = request(plan, direction, &node.name);
        warnings.extend(job::flow_warnings(&request, &sent, &checked));
        let mut flow = job::flow_observation(&request, &sent, checked.clone());
        if let Field::Observed { value, .. } = &mut flow.elapsed {
            value.clock = ClockKind::Simulated;
        }
        flow.series.extend(stages);
        flows.push(flow);
    }
    warnings.dedup();
    let sticky = sticky_bits(report.counters.get(STICKY).copied().unwrap_or(0));
    let dropped = report.counters.get(DROPPED).copied().unwrap_or(0);
    warnings.extend(dropped_warning(&node.name, dropped, &sticky));
    warnings.extend(sticky_warning(&node.name, dropped, &sticky));
    let counters = report.counters.into_iter();
    let counters = counters.filter(|(name, _)| name == Counter::CAPTURE_POINT.word());
    // Words of bits cannot be added when parts are merged, but the trials with a set bit can.
    let set_bits = sticky.iter().map(|bit| (format!("{STICKY}_{bit}"), 1));
    let drops = (dropped > 0).then(|| (DROPPED.to_owned(), dropped));
    Observation {
        trial: plan.resolved.trial.clone(),
        sizes: plan.resolved.sizes,
        node: node.clone(),
        status: match (cancelled, lost) {
            (true, _) => Status::cancelled(),
            (false, 0) => Status::Complete,
            (false, lost) => Status::Void {
                why: format!(
                    "{lost} frames did not return unchanged: their times are not those of an echo"
                ),
            },
        },
        started_unix_ns: Field::measured(started_unix_ns),
        flows,
        cpu_load: report.load,
        busy_over_time: Vec::new(),
        series: Vec::new(),
        counters: counters
            .chain(set_bits)
            .chain(drops)
            .map(|(name, value)| (format!("node_{name}"), Field::measured(value)))
            .collect(),
        tester: TesterObservation::new(
            Field::absent("the tester takes no simulated time"),
            Field::measured(false),
        ),
        warnings,
    }
}

/// The names of the set bits in a sticky word. Unknown bits are ignored.
fn sticky_bits(word: u64) -> Vec<&'static str> {
    let low = word as u32;
    let names = STICKY_BITS.iter().filter(|(bit, _)| bit.from(low) != 0);
    let mut names: Vec<&str> = names.map(|(_, name)| *name).collect();
    if word >> STICKY_BITS.len() != 0 {
        names.push("unknown");
    }
    names
}

/// The warning about good frames that the MAC dropped. They are a finding about the node: the returned frames still
/// have their figures.
fn dropped_warning(node: &str, dropped: u64, bits: &[&str]) -> Option<Warning> {
    (dropped > 0).then(|| {
        let causes = DROPS.iter().filter(|(bit, _)| bits.contains(bit));
        let mut causes: Vec<&str> = causes.map(|(_, cause)| *cause).collect();
        if causes.is_empty() {
            causes.push("it had no space for them");
        }
        Warning::new(
            WarningCode::NODE_DROPPED,
            format!(
                "{node}: its MAC dropped {dropped} good frames: {}",
                causes.join(", ")
            ),
            "the node lost them, not the tester: its program did not take them in time; lower the load, or choose another \
             attachment of the MAC",
        )
    })
}

/// The warning about set bits, except those of dropped frames, which have their own warning.
fn sticky_warning(node: &str, dropped: u64, bits: &[&str]) -> Option<Warning> {
    let is_drop = |bit: &str| dropped > 0 && DROPS.iter().any(|(drop, _)| *drop == bit);
    let bits: Vec<&str> = bits.iter().copied().filter(|bit| !is_drop(bit)).collect();
    (!bits.is_empty()).then(|| {
        Warning::new(
            WarningCode::STICKY,
            format!(
                "{node}: sticky bits of its MAC are set: {}",
                bits.join(", ")
            ),
            "see their meanings in docs/blocks/slot_mac.md",
        )
    })
}

/// The receive stages, and the transmit stages: both belong to one stream, and the first end at the application.
fn stages(mut points: Vec<PointTimes>, notes: &mut Vec<String>) -> [Vec<Series>; 2] {
    let inner = points
        .iter()
        .position(|point| point.name == CapturePoint::APPLICATION.word());
    let sent = points.split_off(inner.map_or(points.len(), |at| at + 1));
    [points, sent].map(|points| {
        let stages = stage::between(&points, notes).into_iter();
        let simulated = |(_, mut series): (u8, Series)| {
            series.clock.kind = ClockKind::Simulated;
            series
        };
        stages.map(simulated).collect()
    })
}

fn request(plan: &ReferenceTrial, direction: Direction, node: &str) -> FlowRequest {
    let (from, to) = match direction {
        Direction::Transmit => (node, "tester"),
        Direction::Receive => ("tester", node),
        _ => ("tester", "tester"),
    };
    FlowRequest {
        port: node.to_owned(),
        direction,
        stream: STREAM,
        layer: Layer::UdpIpv4,
        sizes: plan.resolved.sizes,
        link: plan.resolved.link,
        frames_per_s: plan.resolved.frames_per_s,
        from: from.to_owned(),
        to: to.to_owned(),
        sender_path: "simulated line".to_owned(),
        receiver_path: "simulated line, by the echoes".to_owned(),
        ledger: None,
    }
}

#[cfg(test)]
#[path = "../../tests/firmware/image.rs"]
mod image;

#[cfg(test)]
mod tests {
    use wirelab_trial::{Cancel, Extent, Framing, Load, Node, Size, SizeUnit, Trial};
    use wirelab_wire::fcs;

    use super::*;
    use crate::port::GmiiSignals;
    use crate::reference::{Attachment, Straps};
    use crate::reference_node::ReferenceNode;

    /// Byte times after which a trial has certainly begun: 4 ms.
    const BEGUN_BYTES: usize = 50_000;

    /// Byte times after which the program has handled all earlier frames: 0.8 ms.
    const DONE_BYTES: usize = 10_000;

    fn texts_of<'a>(observation: &'a Observation, code: &str) -> Vec<&'a str> {
        let warnings = observation.warnings.iter().filter(|one| one.code == code);
        warnings.map(|one| one.text.as_str()).collect()
    }

    fn sticky_of(observation: &Observation) -> Vec<&str> {
        texts_of(observation, "sticky")
    }

    /// Echoes after these bytes of a carrier.
    fn run(node: &mut ReferenceNode, carrier: &[u8]) -> Observation {
        run_behind(node, &[carrier])
    }

    /// Echoes after carriers as close as frames may be.
    fn run_behind(node: &mut ReferenceNode, carriers: &[&[u8]]) -> Observation {
        let mut line = vec![GmiiSignals::default(); BEGUN_BYTES];
        for carrier in carriers {
            line.extend(carrier.iter().map(|&data| GmiiSignals {
                data,
                enable: true,
                error: false,
            }));
            line.extend([GmiiSignals::default(); 12]);
        }
        if carriers.iter().any(|carrier| !carrier.is_empty()) {
            line.extend([GmiiSignals::default(); DONE_BYTES]);
            node.first.node().send_raw(line);
        }
        let framing = Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        };
        let size = Size::new(SizeUnit::Length, 64);
        let extent = Extent::Frames { frames: 2 };
        let trial = Trial::new(framing, Direction::Echo, size, Load::Max, extent);
        let observation = node.run(&trial, &(), &Cancel::new()).unwrap();
        assert_eq!(
            observation.status,
            Status::Complete,
            "{:?}",
            observation.warnings
        );
        observation
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
            let observation = run(&mut node, &[0x55; 8]);
            assert_eq!(
                sticky_of(&observation),
                ["hdl:reference: sticky bits of its MAC are set: no_sfd"]
            );
            let counter = &observation.counters["node_mac_sticky_no_sfd"];
            assert_eq!(counter.value(), Some(&1));
            // After a preamble with a wrong bit, two bytes.
            let observation = run(
                &mut node,
                &[0x55, 0x54, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5, 1, 2],
            );
            assert_eq!(
                sticky_of(&observation),
                ["hdl:reference: sticky bits of its MAC are set: too_short, bad_preamble"]
            );
            let observation = run(&mut node, &[]);
            assert!(sticky_of(&observation).is_empty());
            let mut names = observation.counters.keys();
            assert!(!names.any(|name| name.contains("sticky")));
        }
    }

    /// A good broadcast frame of a type that no program handles, with preamble and gap.
    fn frame_to_all() -> Vec<u8> {
        let mut frame = vec![0xFF; 6];
        frame.extend([0x02, 0x57, 0x4C, 55, 0, 9, 0x88, 0xB5]);
        frame.resize(60, 0);
        frame.extend(fcs::fcs(&frame));
        [&[0x55; 7][..], &[0xD5], &frame].concat()
    }

    #[test]
    fn frames_that_the_mac_drops_are_reported_in_their_trial_and_void_none() {
        let Some(elf) = image::or_skip("reference.elf") else {
            return;
        };
        let straps = Straps::new(Attachment::LiteOrdered);
        let mut node = ReferenceNode::start("hdl:reference", straps, &elf).unwrap();
        let frame = frame_to_all();
        // The bit is set in the first trial only, but counts in the others too; the last one has no drops.
        for (close, cause) in [
            (8, "the slots of its store were full (overrun)"),
            (8, "it had no space for them"),
            (1, ""),
            (8, "it had no space for them"),
            (0, ""),
        ] {
            let observation = run_behind(&mut node, &vec![frame.as_slice(); close]);
            let counter = observation.counters.get("node_mac_dropped_frames");
            let dropped = counter.and_then(Field::value);
            let text = dropped.map(|count| {
                assert!((1..8).contains(count), "{count}");
                format!("hdl:reference: its MAC dropped {count} good frames: {cause}")
            });
            assert_eq!(text.is_some(), !cause.is_empty(), "{close} frames");
            assert_eq!(
                texts_of(&observation, "node-dropped"),
                Vec::from_iter(text.as_deref())
            );
            assert!(sticky_of(&observation).is_empty());
        }
    }

    #[test]
    fn what_did_not_fit_is_reported_once_and_beside_other_warnings() {
        let said = |dropped, bits: &[&str]| {
            let warnings = [
                dropped_warning("node", dropped, bits),
                sticky_warning("node", dropped, bits),
            ];
            warnings.map(|warning| warning.map(|warning| warning.text))
        };
        let [drops, others] = said(3, &["no_sfd", "no_buffer", "overrun"]);
        assert_eq!(
            drops.unwrap(),
            "node: its MAC dropped 3 good frames: the slots of its store were full (overrun), no descriptor was free \
             (no_buffer)"
        );
        assert_eq!(
            others.unwrap(),
            "node: sticky bits of its MAC are set: no_sfd"
        );
        let [drops, others] = said(1, &["no_buffer"]);
        assert!(
            drops
                .unwrap()
                .ends_with("no descriptor was free (no_buffer)")
        );
        assert_eq!(others, None);
        // The program reads the count first, so a frame that is dropped between the two reads is only in the bit.
        let [drops, others] = said(0, &["overrun"]);
        assert_eq!(drops, None);
        assert!(others.unwrap().ends_with("are set: overrun"));
        for (bit, _) in DROPS {
            assert!(STICKY_BITS.iter().any(|(_, name)| *name == bit), "{bit}");
        }
    }

    #[test]
    fn each_bit_has_its_name_and_a_strange_one_is_reported() {
        assert!(sticky_bits(0).is_empty());
        assert_eq!(sticky_warning("node", 0, &[]), None);
        for (at, (_, name)) in STICKY_BITS.iter().enumerate() {
            assert_eq!(sticky_bits(1 << at), [*name]);
        }
        for strange in [1 << 9, 1 << 32, 1 << 63] {
            assert_eq!(sticky_bits(strange), ["unknown"]);
        }
    }
}
