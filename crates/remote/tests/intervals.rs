//! Single runs have intervals, no matter which side received the frames.

use crate::common::agent::{all, serve};
use crate::common::{NODE_IPV4, flow, has, lab, on_tester, real_iperf, trial};
use wirelab_remote::IperfNode;
use wirelab_trial::{Cancel, Direction, Extent, Layer, Load, Node, Trial};

#[test]
fn single_runs_have_intervals_whichever_end_received() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    let trials: Vec<Trial> = [Layer::UdpIpv4, Layer::TcpIpv4]
        .iter()
        .map(|layer| Trial {
            extent: Extent::Frames { frames: 500 },
            load: Load::FrameRate {
                frames_per_s: 2000.0,
            },
            ..trial(*layer, Direction::Both)
        })
        .collect();
    for observation in all(&lab, &trials) {
        let layer = observation.trial.framing.layer;
        assert_eq!(observation.flows.len(), 2);
        for flow in &observation.flows {
            let what = format!("{layer:?} {}", flow.direction);
            let goodput = *flow.goodput_bits_per_s.value().expect(&what);
            let interval = flow.intervals.goodput_bits_per_s.expect(&what);
            assert!(
                interval.low <= goodput && goodput <= interval.high,
                "{what}: {goodput}, {interval:?}"
            );
            let loss = flow.intervals.loss_ratio;
            match layer {
                Layer::UdpIpv4 => assert!(loss.expect(&what).high >= 3.0 / 500.0, "{what}"),
                _ => assert_eq!(loss, None, "{what}: TCP sends again"),
            }
        }
        assert_eq!(wirelab_trial::check::observation(&observation), []);
    }
}

#[test]
fn what_an_iperf_peer_sends_has_intervals_and_what_it_tells_has_none() {
    let Some(lab) = lab().filter(|_| has("iperf")) else {
        return;
    };
    for layer in [Layer::UdpIpv4, Layer::TcpIpv4] {
        let _server = real_iperf(&lab, layer);
        let asked = Trial {
            extent: Extent::Time {
                time_ps: 1_000_000_000_000,
            },
            ..trial(layer, Direction::Both)
        };
        let observation = on_tester(&lab, || {
            let mut node = IperfNode::open("iperf:node", NODE_IPV4).unwrap();
            node.run(&asked, &(), &Cancel::new())
                .expect("an observation")
        });
        let back = flow(&observation, Direction::Transmit);
        let what = format!("{layer:?}: {:?}", observation.status);
        let goodput = *back.goodput_bits_per_s.value().expect(&what);
        let interval = back.intervals.goodput_bits_per_s.expect(&what);
        assert!(
            interval.low <= goodput && goodput <= interval.high,
            "{what}: {goodput}, {interval:?}"
        );
        let loss = back.intervals.loss_ratio;
        match layer {
            Layer::UdpIpv4 => assert!(loss.expect(&what).high > 0.0, "{what}"),
            _ => assert_eq!(loss, None, "{what}"),
        }
        let there = flow(&observation, Direction::Receive);
        assert!(there.intervals.is_empty(), "{what}: {:?}", there.intervals);
        assert_eq!(wirelab_trial::check::observation(&observation), []);
    }
}

#[test]
fn round_trips_of_a_single_run_have_intervals_of_their_percentiles() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    let asked = Trial {
        extent: Extent::Frames { frames: 800 },
        load: Load::FrameRate {
            frames_per_s: 2000.0,
        },
        ..trial(Layer::UdpIpv4, Direction::Echo)
    };
    let observation = all(&lab, &[asked]).remove(0);
    let flow = flow(&observation, Direction::Echo);
    let round_trip = flow.series.iter().find(|s| s.name == "round trip");
    let round_trip = round_trip.expect("round trips");
    assert!(
        round_trip.histogram.count >= 500,
        "{:?}",
        observation.status
    );
    for (percent, interval) in round_trip.intervals.each() {
        let value = round_trip.percentile(percent).unwrap() as f64;
        match interval {
            Some(of) => assert!(of.low <= value && value <= of.high, "{percent}: {of:?}"),
            // Where a busy host makes the run vary much, its upper end may be beyond the longest sample.
            None => assert!(percent >= 90.0, "{percent} % of 800 is reported"),
        }
    }
}
