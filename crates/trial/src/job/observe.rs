//! Turns the reports of a sender and a checker into the observation of a flow, every figure with its unit or its
//! reason.

use std::collections::BTreeMap;

use wirelab_wire::{Layer, LineRate, Sizes};

use super::{CheckReport, SendReport};
use crate::clock::ClockKind;
use crate::counter::Counter;
use crate::counts::{Counts, Ledger};
use crate::field::Field;
use crate::format;
use crate::interval::FlowIntervals;
use crate::observation::{Elapsed, FlowObservation, SenderObservation, Spans, Warning};
use crate::over_time::OverTime;
use crate::slices::Slices;
use crate::trial::Direction;
use crate::warning_code::WarningCode;

/// The facts known of a flow before it is sent.
#[derive(Clone, Debug)]
pub struct FlowRequest {
    /// The node's port, e.g. `lab-node/n0`.
    pub port: String,
    /// Transmit or receive, as the node sees it.
    pub direction: Direction,
    /// Stream number in the test header.
    pub stream: u8,
    /// The layer whose data it carries.
    pub layer: Layer,
    /// All four sizes of its frames.
    pub sizes: Sizes,
    /// The link, where its rate is known.
    pub link: Option<LineRate>,
    /// Requested frames/s of the sender; `None` at maximum load.
    pub frames_per_s: Option<f64>,
    /// The sending port, in words for warnings.
    pub from: String,
    /// The receiving port, in words for warnings.
    pub to: String,
    /// The sender's path, as in [`SenderObservation::path`].
    pub sender_path: String,
    /// The receiver's path, as in [`FlowObservation::receiver_path`].
    pub receiver_path: String,
    /// The faults of an injector, where requested.
    pub ledger: Option<Ledger>,
}

/// The observation of a flow. Losses are relative to the sequences that the sender sent.
pub fn flow_observation(
    request: &FlowRequest,
    sent: &SendReport,
    received: CheckReport,
) -> FlowObservation {
    let left = sent.sequences_left(received.counts.distinct_sequences);
    let received = received.with_sent(left);
    let rate = Field::measured_or(
        received.arrived_frames_per_s(sent, request.layer.is_tcp()),
        "fewer than two timed frames arrived",
    );
    let bits = |bytes: u64| rate.clone().map(|r| r * 8.0 * bytes as f64);
    let on_the_wire = |bytes: u64| match request.layer {
        Layer::TcpIpv4 | Layer::TcpIpv6 => {
            Field::absent("TCP cuts its stream into segments of its own")
        }
        _ => bits(bytes),
    };
    let link_bytes = request
        .link
        .map(|l| l.overhead)
        .unwrap_or_default()
        .link_bytes(&request.sizes);
    let payload = on_the_wire(u64::from(request.sizes.payload));
    let counts = received.counts;
    let elapsed = rate.value().map(|r| Elapsed {
        ps: (counts.received_frames as f64 * 1e12 / r) as u64,
        spans: Spans::Wire,
        clock: ClockKind::Wall,
    });
    let counters = of_the_checker(&received);
    let at_most = counts.lost_frames_at_most();
    let mut flow = FlowObservation {
        port: request.port.clone(),
        direction: request.direction,
        stream: request.stream,
        sent_frames: Field::measured(left),
        counts: Field::measured(counts),
        elapsed: Field::measured_or(elapsed, "fewer than two timed frames arrived"),
        efficiency: match request.link {
            Some(link) => payload.clone().map(|bits| bits / link.bits_per_s() as f64),
            None => Field::absent(
                "the port has no link rate (give one with --rate, or with the key rate in a plan or study)",
            ),
        },
        payload_bits_per_s: payload,
        link_bits_per_s: on_the_wire(link_bytes),
        goodput_bits_per_s: match request.sizes.datagram {
            Some(datagram) => bits(u64::from(datagram)),
            None => Field::absent("an Ethernet trial has no application data"),
        },
        frames_per_s: rate,
        loss_ratio: if left > 0 {
            Field::measured(counts.lost_frames as f64 / left as f64)
        } else {
            Field::absent("nothing was sent")
        },
        loss_ratio_at_most: (at_most > counts.lost_frames).then(|| at_most as f64 / left as f64),
        intervals: FlowIntervals::default(),
        over_time: begun(over_time(&received.slices, request.layer), request, sent),
        jitter_ps: Field::measured_or(
            received.jitter_ns.map(|ns| ns * 1000),
            "needs every frame timed: not at maximum load",
        ),
        sender: Field::measured(sender_observation(request, sent)),
        receiver_path: request.receiver_path.clone(),
        checker_held_up_ps: Field::measured_or(
            received.held_up_ns.map(|ns| ns.saturating_mul(1000)),
            "the checker does not watch its clock",
        ),
        series: received.series,
        counters,
    };
    flow.intervals = intervals(&flow, &received.slices, request.layer);
    flow
}

/// What the checker counted beside the flow's own frames.
fn of_the_checker(received: &CheckReport) -> BTreeMap<String, Field<u64>> {
    let missed = went_by(received).then_some(received.missed.at_least);
    let all = [
        (Counter::CHECKER_MISSED, missed),
        (Counter::FOREIGN_RATE, received.foreign_frames_per_s()),
    ];
    let known = all.into_iter().filter_map(|(counter, value)| {
        let field = Field::measured(value?);
        Some((counter.word().to_owned(), field))
    });
    known.collect()
}

/// The slices with their start: a receiving node has its own clock, but the tester's clock has the time of its first frame.
fn begun(of: OverTime, request: &FlowRequest, sent: &SendReport) -> OverTime {
    let by_sender = request.direction == Direction::Receive && !of.is_empty();
    OverTime {
        first_ns: of.first_ns.or(by_sender.then_some(sent.first_ns)),
        ..of
    }
}

/// The course of a flow of this layer over its run.
pub fn over_time(slices: &Slices, layer: Layer) -> OverTime {
    match layer {
        Layer::TcpIpv4 | Layer::TcpIpv6 => OverTime::of_stream(slices),
        _ => OverTime::of_frames(slices),
    }
}

/// The intervals of a flow, from the distribution of its arrivals over the run.
pub fn intervals(flow: &FlowObservation, slices: &Slices, layer: Layer) -> FlowIntervals {
    let one = slices.of_rate(1.0);
    let of = |rate: &Field<f64>| Some(one?.times(*rate.value()?));
    let is_stream = matches!(layer, Layer::TcpIpv4 | Layer::TcpIpv6);
    FlowIntervals {
        frames_per_s: of(&flow.frames_per_s),
        payload_bits_per_s: of(&flow.payload_bits_per_s),
        link_bits_per_s: of(&flow.link_bits_per_s),
        goodput_bits_per_s: of(&flow.goodput_bits_per_s),
        // TCP retransmits lost data.
        loss_ratio: match (flow.counts.value(), flow.sent_frames.value()) {
            (Some(counts), Some(sent)) if !is_stream => slices.of_loss(counts, *sent),
            _ => None,
        },
    }
}

/// Whether the checker's queue may have dropped a frame of the flow, once the losses are known. If every frame arrived,
/// the dropped ones were foreign: a clean trial stays clean beside the normal traffic of hosts.
fn went_by(received: &CheckReport) -> bool {
    let counts = &received.counts;
    received.missed.at_least > 0 || counts.missed_frames + counts.lost_or_missed_frames > 0
}

fn sender_observation(request: &FlowRequest, sent: &SendReport) -> SenderObservation {
    SenderObservation {
        path: request.sender_path.clone(),
        asked_frames_per_s: Field::measured_or(request.frames_per_s, "as fast as the sender can"),
        achieved_frames_per_s: Field::measured_or(sent.frames_per_s(), "fewer than two frames"),
        kept_rate: Field::measured_or(
            sent.kept_rate(request.frames_per_s),
            "no rate was requested",
        ),
        gap: if sent.gap.count > 0 {
            Field::measured(sent.gap.clone())
        } else {
            Field::absent("fewer than two frames")
        },
        slips: Field::measured(sent.slips),
        slipped_ps: Field::measured(sent.slipped_ns.saturating_mul(1000)),
        blocked_ps: Field::measured_or(
            sent.blocked_ns.map(|ns| ns.saturating_mul(1000)),
            "the sender cannot report it",
        ),
        longest_burst_frames: Field::measured_or(
            sent.longest_burst_frames,
            "the sender cannot report it",
        ),
        kernel_copied: Field::measured_or(sent.kernel_copied, "the driver does not report it"),
        ledger: request.ledger,
    }
}

/// One warning for all senders of a trial that fell behind the requested rate; each flow has its own figures.
pub fn below_rate(requested_frames_per_s: Option<f64>, sent: &[SendReport]) -> Option<Warning> {
    let slow = sent
        .iter()
        .filter(|s| s.kept_rate(requested_frames_per_s) == Some(false))
        .count();
    (slow > 0).then(|| {
        Warning::new(
            WarningCode::SENDER_BELOW_RATE,
            format!(
                "{slow} of {} senders fell behind the requested rate",
                sent.len()
            ),
            "free the host's processors of other work, offer less, or use fewer ports",
        )
    })
}

/// Warnings of one flow: counts that do not add up, frames that the tester itself refused or missed, and differences
/// between a receiver's counts and the injector's ledger.
pub fn flow_warnings(
    request: &FlowRequest,
    sent: &SendReport,
    received: &CheckReport,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut push = |code: WarningCode, text: String, fix: &str| {
        warnings.push(Warning::new(code, text, fix));
    };
    let (from, to) = (&request.from, &request.to);
    let left = sent.sequences_left(received.counts.distinct_sequences);
    let counts = received.clone().with_sent(left).counts;
    if let Err(why) = counts.check_identity(left) {
        push(
            WarningCode::IDENTITY,
            format!("{to}: the counts do not add up: {why}"),
            "do not use these figures; report it",
        );
    }
    if sent.refused_frames > 0 {
        let text = format!(
            "{from}: the queue or the driver of the interface refused {}",
            format::count(sent.refused_frames, "frame")
        );
        push(
            WarningCode::DRIVER_REFUSED,
            text,
            "they count neither as sent nor as lost; offer less, or give the port a longer transmit queue",
        );
    }
    if went_by(&received.clone().with_sent(left)) {
        push(
            WarningCode::CHECKER_MISSED,
            format!(
                "{to}: the checker's own queue overflowed and missed {}",
                missed(&counts)
            ),
            "offer less: these frames are the tester's loss, not the node's",
        );
    }
    if let Some(rate) = received
        .foreign_frames_per_s()
        .filter(|_| received.is_crowded())
    {
        push(
            WarningCode::FOREIGN_TRAFFIC,
            format!(
                "{to}: {rate} foreign frames/s arrived beside the flow; they share its link, its node and the tester's queues"
            ),
            "stop their sender, or measure on a separate link",
        );
    }
    if counts.other_run_frames > 0 {
        push(
            WarningCode::OTHER_RUN_FRAMES,
            format!(
                "{to}: {} of an earlier run arrived; no other count includes them",
                format::count(counts.other_run_frames, "late frame")
            ),
            "offer less, so that queues on the path do not fill, or wait longer between runs",
        );
    }
    for note in &received.notes {
        push(
            WarningCode::CHECKER,
            format!("{to}: {note}"),
            "interpret the counts and times accordingly; remove the cause and measure again",
        );
    }
    let differences = request.ledger.map(|ledger| ledger.differences(&counts));
    for (what, injected, counted) in differences.into_iter().flatten() {
        let text = format!("{to}: {what}: injected {injected}, counted {counted}");
        push(
            WarningCode::LEDGER,
            text,
            "the path under test added or hid faults of its own",
        );
    }
    warnings
}

/// How many frames the checker missed.
fn missed(counts: &Counts) -> String {
    let (missed, either) = (counts.missed_frames, counts.lost_or_missed_frames);
    match either {
        0 => format::count(missed, "frame"),
        _ => format!(
            "{missed} to {} frames, so the loss is a range",
            missed + either
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Missed;
    use wirelab_wire::{Framing, Size, SizeUnit};

    fn request(layer: Layer, frames_per_s: Option<f64>) -> FlowRequest {
        let framing = Framing {
            layer,
            vlan_tags: 0,
        };
        FlowRequest {
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
        let received = CheckReport {
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
        (sent, received)
    }

    #[test]
    fn a_queue_that_was_soon_full_took_no_more_a_second_than_what_came() {
        // 100 frames that arrived within 9.9 of the 100 ms.
        let (mut sent, mut received) = reports();
        received.first = Some((1_089_100_000, 0));
        let rate = |sent: &SendReport| {
            let flow = flow_observation(&request(Layer::UdpIpv4, None), sent, received.clone());
            *flow.frames_per_s.value().unwrap()
        };
        assert_eq!(rate(&sent), 990.0, "one of 101 is missing");
        (sent.emitted_frames, sent.sequences) = (100, 100);
        assert_eq!(
            rate(&sent),
            1e4,
            "none is missing, so the path is that fast"
        );
    }

    #[test]
    fn rates_and_losses_of_a_udp_flow() {
        let (sent, received) = reports();
        let flow = flow_observation(&request(Layer::UdpIpv4, Some(1000.0)), &sent, received);
        assert_eq!(flow.counts.value().unwrap().lost_frames, 1);
        // The last of the 101 frames sent in 100 ms did not arrive.
        assert_eq!(flow.frames_per_s.value(), Some(&990.0));
        assert_eq!(flow.goodput_bits_per_s.value(), Some(&7.92e6));
        assert_eq!(flow.payload_bits_per_s.value(), Some(&(1028.0 * 7.92e3)));
        assert_eq!(flow.link_bits_per_s.value(), Some(&(1066.0 * 7.92e3)));
        assert_eq!(flow.efficiency.value(), Some(&(1028.0 * 7.92e3 / 1e9)));
        assert_eq!(flow.loss_ratio.value(), Some(&(1.0 / 101.0)));
        let sender = flow.sender.value().unwrap();
        assert_eq!(sender.kept_rate.value(), Some(&true));
        assert_eq!(sender.achieved_frames_per_s.value(), Some(&1000.0));
    }

    #[test]
    fn a_stream_has_goodput_but_no_frames_of_its_own() {
        let (sent, received) = reports();
        let flow = flow_observation(&request(Layer::TcpIpv4, None), &sent, received);
        assert_eq!(flow.goodput_bits_per_s.value(), Some(&7.92e6));
        assert_eq!(flow.link_bits_per_s.value(), None);
        assert_eq!(flow.efficiency.value(), None);
        assert_eq!(flow.sender.value().unwrap().kept_rate.value(), None);
        // All of it was read at the end, by a reader that was late.
        let (_, mut late) = reports();
        late.counts.distinct_sequences = 101;
        late.first = Some((1_098_000_000, 0));
        let flow = flow_observation(&request(Layer::TcpIpv4, None), &sent, late);
        assert_eq!(flow.goodput_bits_per_s.value(), Some(&7.92e6));
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
    fn foreign_traffic_is_reported_and_much_of_it_is_a_warning() {
        let (sent, received) = reports();
        let beside = |foreign_frames| CheckReport {
            counts: Counts {
                foreign_frames,
                ..received.counts
            },
            watched_ns: Some(500_000_000),
            ..received.clone()
        };
        let request = request(Layer::UdpIpv4, None);
        for (foreign, per_s, warned) in [(0, None, 0), (40, Some(80), 0), (60, Some(120), 1)] {
            let received = beside(foreign);
            assert_eq!(
                flow_warnings(&request, &sent, &received).len(),
                warned,
                "{foreign}"
            );
            let flow = flow_observation(&request, &sent, received);
            let rate = flow.counters.get("foreign_frames_per_s");
            assert_eq!(rate.and_then(|rate| rate.value().copied()), per_s);
        }
    }

    #[test]
    fn what_the_tester_lost_itself_is_said() {
        let (sent, received) = reports();
        let mut request = request(Layer::UdpIpv4, None);
        assert_eq!(flow_warnings(&request, &sent, &received), []);
        request.ledger = Some(Ledger {
            lost_frames: 3,
            ..Ledger::default()
        });
        let sent = SendReport {
            sequences: 103,
            refused_frames: 2,
            ..sent
        };
        let received = CheckReport {
            missed: Missed::exactly(1),
            notes: vec!["a note".to_owned()],
            counts: Counts {
                good_frames: 99,
                ..received.counts
            },
            ..received
        };
        let codes: Vec<_> = flow_warnings(&request, &sent, &received)
            .into_iter()
            .map(|w| w.code)
            .collect();
        let all_arrived = SendReport {
            sequences: 100,
            ..reports().0
        };
        let clean = CheckReport {
            missed: Missed {
                at_least: 0,
                at_most: 7,
            },
            ..reports().1
        };
        request.ledger = None;
        assert_eq!(
            flow_warnings(&request, &all_arrived, &clean),
            [],
            "none of what was dropped was of the flow"
        );
        let clean = flow_observation(&request, &all_arrived, clean);
        assert!(clean.counters.is_empty() && clean.loss_ratio_at_most.is_none());
        let flow = flow_observation(&request, &sent, received);
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
