//! Trials on the distribution's iperf 2 in a lab: every layer in every direction.

use crate::common;
use crate::common::{counter, flow, has, host_of, lab, on_tester, real_iperf, trial};
use wirelab_port::lab::EphemeralLab;
use wirelab_remote::IperfNode;
use wirelab_trial::{
    Cancel, Direction, Extent, Layer, Load, Node, Observation, Size, SizeUnit, Status, Trial,
};

const LAYERS: [Layer; 4] = [
    Layer::UdpIpv4,
    Layer::UdpIpv6,
    Layer::TcpIpv4,
    Layer::TcpIpv6,
];

fn is_udp(layer: Layer) -> bool {
    matches!(layer, Layer::UdpIpv4 | Layer::UdpIpv6)
}

/// All these trials on one node, so that it keeps its distance between them.
fn all(lab: &EphemeralLab, trials: &[Trial]) -> Vec<Observation> {
    let host = host_of(trials[0].framing.layer);
    on_tester(lab, || {
        let mut node = IperfNode::open(&format!("iperf:{host}"), &host).unwrap();
        let mut one = |t: &Trial| node.run(t, &(), &Cancel::new()).expect("an observation");
        trials.iter().map(&mut one).collect()
    })
}

fn asked(lab: &EphemeralLab, trial: &Trial) -> Observation {
    all(lab, std::slice::from_ref(trial)).remove(0)
}

/// A busy machine may hold the sender up, but not make it send more than is due after a pause.
fn possible(rate: f64, asked: f64) -> bool {
    rate > 0.0 && rate < 1.2 * asked
}

#[test]
fn every_layer_in_every_direction() {
    let Some(lab) = lab().filter(|_| has("iperf")) else {
        return;
    };
    for layer in LAYERS {
        let _server = real_iperf(&lab, layer);
        let directions = [Direction::Receive, Direction::Transmit, Direction::Both];
        let trials = directions.map(|direction| trial(layer, direction));
        for mut observation in all(&lab, &trials) {
            let direction = observation.trial.direction;
            let what = format!("{layer:?} {direction}");
            // On a busy machine the binary may come too late with its traffic back, or close a stream that it has just
            // taken; not three times.
            for _ in 0..2 {
                let late = ["nothing came back", "no byte was transferred"];
                let Status::Partial { why } = &observation.status else {
                    break;
                };
                if late.iter().any(|words| why.contains(words)) {
                    observation = asked(&lab, &observation.trial);
                }
            }
            assert_eq!(observation.status, Status::Complete, "{what}");
            let flows = if direction == Direction::Both { 2 } else { 1 };
            assert_eq!(observation.flows.len(), flows, "{what}");
            for flow in &observation.flows {
                assert!(flow.counts.value().is_none(), "iperf checks no content");
                let goodput = &flow.goodput_bits_per_s;
                let goodput = *goodput
                    .value()
                    .unwrap_or_else(|| panic!("{what}: {goodput:?}"));
                assert!(possible(goodput, 4e6), "{what}: {goodput} bit/s");
                if is_udp(layer) {
                    let loss = *flow.loss_ratio.value().expect(&what);
                    assert!((0.0..1.0).contains(&loss), "{what}: {loss}");
                    let sent = *flow.sent_frames.value().unwrap();
                    assert!((2..=152).contains(&sent), "{what}: {sent}");
                    assert!(flow.jitter_ps.value().is_some(), "{what}");
                } else {
                    assert!(flow.frames_per_s.value().is_none(), "{what}");
                    assert!(counter(flow, "stream_bytes") > 10_000, "{what}");
                }
            }
            assert!(observation.cpu_load.value().is_none());
        }
    }
}

#[test]
fn the_report_is_the_servers_and_the_sender_is_ours() {
    let Some(lab) = lab().filter(|_| has("iperf")) else {
        return;
    };
    let _server = real_iperf(&lab, Layer::UdpIpv4);
    let mut trial = trial(Layer::UdpIpv4, Direction::Receive);
    trial.size = Size::new(SizeUnit::Datagram, 64);
    trial.load = Load::FrameRate {
        frames_per_s: 2000.0,
    };
    trial.extent = Extent::Frames { frames: 500 };
    let observation = asked(&lab, &trial);
    let flow = flow(&observation, Direction::Receive);
    assert_eq!(flow.sent_frames.value(), Some(&500));
    let lost = counter(flow, "reported_lost");
    assert_eq!(flow.loss_ratio.value(), Some(&(lost as f64 / 500.0)));
    assert_eq!(counter(flow, "reported_datagrams"), 501, "with the final");
    let sender = flow.sender.value().unwrap();
    assert_eq!(sender.asked_frames_per_s.value(), Some(&2000.0));
    assert!(sender.gap.value().is_some_and(|gap| gap.count == 499));
    let rate = *flow.frames_per_s.value().unwrap();
    assert!(possible(rate, 2000.0), "{rate}");
}

#[test]
fn a_number_of_frames_comes_back_too() {
    let Some(lab) = lab().filter(|_| has("iperf")) else {
        return;
    };
    let _server = real_iperf(&lab, Layer::UdpIpv4);
    let mut trial = trial(Layer::UdpIpv4, Direction::Transmit);
    trial.extent = Extent::Frames { frames: 200 };
    let observation = asked(&lab, &trial);
    let flow = flow(&observation, Direction::Transmit);
    assert_eq!(flow.sent_frames.value(), Some(&200));
    let lost = counter(flow, "lost_datagrams");
    assert_eq!(counter(flow, "distinct_datagrams") + lost, 200);
    assert!(
        observation.node.setup["iperf_generation"].contains("2.1 or later"),
        "{:?}",
        observation.node.setup
    );
}

#[test]
fn a_long_trial_has_intervals() {
    let Some(lab) = lab().filter(|_| has("iperf")) else {
        return;
    };
    let _server = real_iperf(&lab, Layer::UdpIpv4);
    let mut trial = trial(Layer::UdpIpv4, Direction::Transmit);
    trial.extent = Extent::Time {
        time_ps: 2_300 * common::MS,
    };
    let observation = asked(&lab, &trial);
    let flow = flow(&observation, Direction::Transmit);
    // 4 Mbit/s for 2.3 s: a busy host may spread them otherwise, but makes none.
    let all = counter(flow, "distinct_datagrams");
    assert!((2..=1160).contains(&all), "{all}");
    let mut in_two = 0;
    for n in [1, 2] {
        let datagrams = counter(flow, &format!("interval_{n:02}_datagrams"));
        let bytes = counter(flow, &format!("interval_{n:02}_bytes"));
        assert_eq!(bytes, datagrams * 1000, "interval {n}");
        assert!(datagrams > 0, "interval {n}");
        in_two += datagrams;
        assert_eq!(counter(flow, &format!("interval_{n:02}_lost")), 0);
        counter(flow, &format!("interval_{n:02}_jitter_ps"));
    }
    assert!(in_two <= all, "{in_two} of {all}");
}

#[test]
fn at_maximum_load_there_is_no_rate_to_keep() {
    let Some(lab) = lab().filter(|_| has("iperf")) else {
        return;
    };
    let _server = real_iperf(&lab, Layer::UdpIpv4);
    let trials = [Direction::Receive, Direction::Transmit].map(|direction| Trial {
        load: Load::Max,
        ..trial(Layer::UdpIpv4, direction)
    });
    for observation in all(&lab, &trials) {
        let direction = observation.trial.direction;
        let flow = flow(&observation, direction);
        let rate = *flow.frames_per_s.value().unwrap();
        assert!(rate > 0.0, "{direction}: {rate} datagrams/s");
        assert!(observation.tester.was_limit.value().is_none());
    }
}

#[test]
fn a_stream_is_no_faster_than_its_path() {
    let Some(lab) = lab().filter(|_| has("iperf")) else {
        return;
    };
    lab.set_link_rates(Some(20_000_000)).unwrap();
    // iperf 2.1.8's own server breaks now and then where both directions of a stream end at once; a new one is requested then.
    let ask = |trial: &Trial| {
        let _server = real_iperf(&lab, Layer::TcpIpv4);
        asked(&lab, trial)
    };
    let directions = [Direction::Receive, Direction::Transmit, Direction::Both];
    for trial in directions.map(|direction| Trial {
        load: Load::Max,
        extent: Extent::Time {
            time_ps: 1_000 * common::MS,
        },
        ..trial(Layer::TcpIpv4, direction)
    }) {
        let mut asked = (0..3).map(|_| ask(&trial));
        let observation = asked
            .find(|seen| !matches!(&seen.status, Status::Void { why } if why.contains("went away")))
            .expect("a server that lives");
        let direction = observation.trial.direction;
        for flow in &observation.flows {
            // What fills the sender's own buffers at the end is on no link yet. Headers take 5 % of full segments.
            let goodput = flow.goodput_bits_per_s.value();
            let goodput = *goodput.unwrap_or_else(|| panic!("{direction}: {observation:#?}"));
            let said = common::has_warning(&observation, "buffered");
            assert!(
                said || goodput < 20e6,
                "{direction}: {goodput} bit/s: {flow:?} {:?}",
                observation.warnings
            );
            assert!(goodput > 0.0, "{direction}: {goodput} bit/s");
            assert!(counter(flow, "stream_bytes") > 0, "{direction}");
        }
    }
}

#[test]
fn an_echo_is_of_blocks_that_the_server_returns_and_its_background_is_a_second_stream() {
    let Some(lab) = lab().filter(|_| has("iperf")) else {
        return;
    };
    let _streams = real_iperf(&lab, Layer::TcpIpv4);
    let mut datagrams = real_iperf(&lab, Layer::UdpIpv4);
    let alone = Trial {
        size: Size::new(SizeUnit::Datagram, 128),
        load: Load::FrameRate {
            frames_per_s: 200.0,
        },
        extent: Extent::Frames { frames: 100 },
        ..trial(Layer::TcpIpv4, Direction::Echo)
    };
    let beside = Trial {
        background: Some("1M,datagram=500".parse().unwrap()),
        ..alone.clone()
    };
    let observations = on_tester(&lab, || {
        let mut node = IperfNode::open("iperf:node", common::NODE_IPV4).unwrap();
        let mut one = |t: &Trial| node.run(t, &(), &Cancel::new()).expect("an observation");
        let mut all = vec![one(&alone), one(&beside)];
        datagrams.kill();
        all.push(one(&beside));
        all
    });
    for observation in &observations[..2] {
        assert_eq!(observation.status, Status::Complete, "{observation:#?}");
        let flow = flow(observation, Direction::Echo);
        let counts = common::assert_clean(flow, "blocks");
        assert_eq!(flow.sent_frames.value(), Some(&100));
        assert_eq!(counts.verified_payload_bytes, counts.good_frames * 128);
        let (rate, of) = (flow.frames_per_s.value(), flow.intervals.frames_per_s);
        let (rate, of) = (*rate.expect("a rate"), of.expect("its interval"));
        assert!(of.low <= rate && rate <= of.high, "{rate}: {of:?}");
        let series = |name: &str| flow.series.iter().find(|s| s.name == name);
        let trips = series("round trip").expect("round trips");
        assert_eq!(trips.histogram.count, counts.good_frames);
        assert!(series("tester's floor").is_some_and(|s| s.histogram.count > 0));
    }
    let ran = |o: &Observation| wirelab_trial::BackgroundResult::of(std::slice::from_ref(o));
    assert_eq!(ran(&observations[0]), None);
    let told = ran(&observations[1]).unwrap_or_else(|| panic!("{:#?}", observations[1].counters));
    assert!((told.asked_frames_per_s - 250.0).abs() < 5.0, "{told:?}");
    let received = told.received_frames.expect("the server's report");
    assert!(received > 0 && received + told.lost_frames.unwrap() == told.sent_frames);
    // Without a server for it there was no load, and what was measured is not under load.
    let Status::Partial { why } = &observations[2].status else {
        panic!("{:#?}", observations[2]);
    };
    assert!(why.contains("the background ended early"), "{why}");
    assert!(common::has_warning(&observations[2], "background-ended"));
    assert_eq!(ran(&observations[2]), None, "two datagrams have no rate");
}
