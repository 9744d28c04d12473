//! From what a sender and a checker report to the observation of a flow, every figure with its unit or its reason.

use std::collections::BTreeMap;

use wirelab_wire::{Layer, LineRate, Sizes};

use super::{CheckReport, SendReport};
use crate::clock::ClockKind;
use crate::field::Field;
use crate::observation::{Elapsed, FlowObservation, Ledger, SenderObservation, Spans, Warning};
use crate::trial::Direction;

/// What is known of a flow before anything was sent.
#[derive(Clone, Debug)]
pub struct FlowAsked {
    /// The node's port, e.g. `lab-node/n0`.
    pub port: String,
    /// Transmit or receive, as the node sees it.
    pub direction: Direction,
    /// Stream number in the test header.
    pub stream: u8,
    /// The layer whose data are sent.
    pub layer: Layer,
    /// All four sizes of its frames.
    pub sizes: Sizes,
    /// The link, where its rate is known.
    pub link: Option<LineRate>,
    /// Frames/s asked of the sender; `None` at maximum load.
    pub frames_per_s: Option<f64>,
    /// Where frames leave, in words for warnings.
    pub from: String,
    /// Where they arrive, in words for warnings.
    pub to: String,
    /// The sender's path, as in [`SenderObservation::path`].
    pub sender_path: String,
    /// The receiver's path, as in [`FlowObservation::receiver_path`].
    pub receiver_path: String,
    /// What an injector did, where faults were asked for.
    pub ledger: Option<Ledger>,
}

/// The observation of a flow. Losses are taken from the sender's sequences.
pub fn flow_observation(
    asked: &FlowAsked,
    sent: &SendReport,
    seen: CheckReport,
) -> FlowObservation {
    let seen = seen.with_sent(sent.sequences);
    let rate = Field::measured_or(seen.frames_per_s(), "fewer than two timed frames arrived");
    let bits = |bytes: u64| rate.clone().map(|r| r * 8.0 * bytes as f64);
    let on_the_wire = |bytes: u64| match asked.layer {
        Layer::TcpIpv4 | Layer::TcpIpv6 => {
            Field::absent("TCP cuts its stream into segments of its own")
        }
        _ => bits(bytes),
    };
    let link_bytes = asked
        .link
        .map(|l| l.overhead)
        .unwrap_or_default()
        .link_bytes(&asked.sizes);
    let payload = on_the_wire(u64::from(asked.sizes.payload));
    let counts = seen.counts;
    let elapsed = rate.value().map(|r| Elapsed {
        ps: (counts.received_frames as f64 * 1e12 / r) as u64,
        spans: Spans::Wire,
        clock: ClockKind::Wall,
    });
    let mut counters = BTreeMap::new();
    if seen.missed_frames > 0 {
        counters.insert(
            "checker_missed_frames".to_owned(),
            Field::measured(seen.missed_frames),
        );
    }
    FlowObservation {
        port: asked.port.clone(),
        direction: asked.direction,
        stream: asked.stream,
        sent_frames: Field::measured(sent.sequences),
        counts: Field::measured(counts),
        elapsed: Field::measured_or(elapsed, "fewer than two timed frames arrived"),
        efficiency: match asked.link {
            Some(link) => payload.clone().map(|bits| bits / link.bits_per_s() as f64),
            None => Field::absent("the port has no link rate (give one with --rate)"),
        },
        payload_bits_per_s: payload,
        link_bits_per_s: on_the_wire(link_bytes),
        goodput_bits_per_s: match asked.sizes.datagram {
            Some(datagram) => bits(u64::from(datagram)),
            None => Field::absent("an Ethernet trial has no application data"),
        },
        frames_per_s: rate,
        loss_ratio: if sent.sequences > 0 {
            Field::measured(counts.lost_frames as f64 / sent.sequences as f64)
        } else {
            Field::absent("nothing was sent")
        },
        jitter_ps: Field::measured_or(
            seen.jitter_ns.map(|ns| ns * 1000),
            "needs every frame timed: not at maximum load",
        ),
        sender: Field::measured(sender_observation(asked, sent)),
        receiver_path: asked.receiver_path.clone(),
        series: seen.series,
        counters,
    }
}

fn sender_observation(asked: &FlowAsked, sent: &SendReport) -> SenderObservation {
    SenderObservation {
        path: asked.sender_path.clone(),
        asked_frames_per_s: Field::measured_or(asked.frames_per_s, "as fast as the sender can"),
        achieved_frames_per_s: Field::measured_or(sent.frames_per_s(), "fewer than two frames"),
        kept_rate: Field::measured_or(sent.kept_rate(asked.frames_per_s), "no rate was asked"),
        gap: if sent.gap.count > 0 {
            Field::measured(sent.gap.clone())
        } else {
            Field::absent("fewer than two frames")
        },
        slips: Field::measured(sent.slips),
        slipped_ps: Field::measured(sent.slipped_ns.saturating_mul(1000)),
        kernel_copied: Field::measured_or(sent.kernel_copied, "the driver does not say"),
        ledger: asked.ledger,
    }
}

/// One warning for all senders of a trial that fell behind the rate asked; each flow has its own figures.
pub fn below_rate(asked_frames_per_s: Option<f64>, sent: &[SendReport]) -> Option<Warning> {
    let slow = sent
        .iter()
        .filter(|s| s.kept_rate(asked_frames_per_s) == Some(false))
        .count();
    (slow > 0).then(|| {
        Warning::new(
            "sender-below-rate",
            format!(
                "{slow} of {} senders did not keep the rate asked",
                sent.len()
            ),
            "free the host's processors of other work, offer less, or use fewer ports",
        )
    })
}

/// What a reader must know of one flow: counts that do not add up, frames that the tester itself refused or
/// missed, and where a receiver's counts differ from the injector's ledger.
pub fn flow_warnings(asked: &FlowAsked, sent: &SendReport, seen: &CheckReport) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut push = |code: &str, text: String, way_out: &str| {
        warnings.push(Warning::new(code, text, way_out));
    };
    let (from, to) = (&asked.from, &asked.to);
    let counts = seen.clone().with_sent(sent.sequences).counts;
    if let Err(why) = counts.check_identity(sent.sequences) {
        push(
            "identity",
            format!("{to}: the counts do not add up: {why}"),
            "do not use these figures; report it",
        );
    }
    if sent.refused_frames > 0 {
        let text = format!("{from}: the driver refused {} frames", sent.refused_frames);
        push(
            "driver-refused",
            text,
            "offer less, or a longer transmit queue",
        );
    }
    if seen.missed_frames > 0 {
        let text = format!(
            "{to}: the checker's own queue overflowed; {} frames went by unseen",
            seen.missed_frames
        );
        push(
            "checker-missed",
            text,
            "offer less: these frames are the tester's loss, not the node's",
        );
    }
    for note in &seen.notes {
        push(
            "checker",
            format!("{to}: {note}"),
            "read the counts and times that it names so; remove what it names and measure again",
        );
    }
    let differences = asked.ledger.map(|ledger| ledger.differences(&counts));
    for (what, injected, counted) in differences.into_iter().flatten() {
        let text = format!("{to}: {what}: injected {injected}, counted {counted}");
        push(
            "ledger",
            text,
            "the path under test added or hid faults of its own",
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Counts;
    use wirelab_wire::{Framing, Size, SizeUnit};

    fn asked(layer: Layer, frames_per_s: Option<f64>) -> FlowAsked {
        let framing = Framing {
            layer,
            vlan_tags: 0,
        };
        FlowAsked {
            port: "lab-node/n0".to_owned(),
            direction: Direction::Receive,
            stream: 3,
            layer,
            sizes: Size::new(SizeUnit::Datagram, 1000)
                .resolve(framing)
                .unwrap(),
            link: LineRate::new(1_000_000_000),
            frames_per_s,
            from: "tester".to_owned(),
            to: "node".to_owned(),
            sender_path: "socket".to_owned(),
            receiver_path: "socket".to_owned(),
            ledger: None,
        }
    }

    fn reports() -> (SendReport, CheckReport) {
        let sent = SendReport {
            emitted_frames: 101,
            sequences: 101,
            last_ns: 100_000_000,
            ..SendReport::default()
        };
        let seen = CheckReport {
            counts: Counts {
                received_frames: 100,
                good_frames: 100,
                distinct_sequences: 100,
                ..Counts::default()
            },
            first: Some((1_000_000_000, 0)),
            last: Some((1_099_000_000, 99)),
            ..CheckReport::default()
        };
        (sent, seen)
    }

    #[test]
    fn rates_and_losses_of_a_udp_flow() {
        let (sent, seen) = reports();
        let flow = flow_observation(&asked(Layer::UdpIpv4, Some(1000.0)), &sent, seen);
        assert_eq!(flow.counts.value().unwrap().lost_frames, 1);
        assert_eq!(flow.frames_per_s.value(), Some(&1000.0));
        assert_eq!(flow.goodput_bits_per_s.value(), Some(&8e6));
        assert_eq!(flow.payload_bits_per_s.value(), Some(&(1028.0 * 8e3)));
        assert_eq!(flow.link_bits_per_s.value(), Some(&(1066.0 * 8e3)));
        assert_eq!(flow.efficiency.value(), Some(&(1028.0 * 8e3 / 1e9)));
        assert_eq!(flow.loss_ratio.value(), Some(&(1.0 / 101.0)));
        let sender = flow.sender.value().unwrap();
        assert_eq!(sender.kept_rate.value(), Some(&true));
        assert_eq!(sender.achieved_frames_per_s.value(), Some(&1000.0));
    }

    #[test]
    fn a_stream_has_goodput_but_no_frames_of_its_own() {
        let (sent, seen) = reports();
        let flow = flow_observation(&asked(Layer::TcpIpv4, None), &sent, seen);
        assert_eq!(flow.goodput_bits_per_s.value(), Some(&8e6));
        assert_eq!(flow.link_bits_per_s.value(), None);
        assert_eq!(flow.efficiency.value(), None);
        assert_eq!(flow.sender.value().unwrap().kept_rate.value(), None);
    }

    #[test]
    fn a_sender_half_a_percent_slow_is_named() {
        let (sent, _) = reports();
        assert_eq!(below_rate(Some(1004.0), std::slice::from_ref(&sent)), None);
        assert_eq!(below_rate(None, std::slice::from_ref(&sent)), None);
        let warning = below_rate(Some(1006.0), &[sent.clone(), sent]).unwrap();
        assert_eq!(warning.code, "sender-below-rate");
        assert!(warning.text.starts_with("2 of 2"), "{}", warning.text);
    }

    #[test]
    fn what_the_tester_lost_itself_is_said() {
        let (sent, seen) = reports();
        let mut asked = asked(Layer::UdpIpv4, None);
        assert_eq!(flow_warnings(&asked, &sent, &seen), []);
        asked.ledger = Some(Ledger {
            lost_frames: 3,
            ..Ledger::default()
        });
        let sent = SendReport {
            refused_frames: 2,
            ..sent
        };
        let seen = CheckReport {
            missed_frames: 1,
            notes: vec!["a note".to_owned()],
            counts: Counts {
                good_frames: 99,
                ..seen.counts
            },
            ..seen
        };
        let codes: Vec<_> = flow_warnings(&asked, &sent, &seen)
            .into_iter()
            .map(|w| w.code)
            .collect();
        let flow = flow_observation(&asked, &sent, seen);
        let counts = flow.counts.value().unwrap();
        assert_eq!((counts.missed_frames, counts.lost_frames), (1, 0));
        assert_eq!(flow.loss_ratio.value(), Some(&0.0));
        assert!(!counts.is_clean());
        assert_eq!(
            codes,
            [
                "identity",
                "driver-refused",
                "checker-missed",
                "checker",
                "ledger"
            ]
        );
    }
}
