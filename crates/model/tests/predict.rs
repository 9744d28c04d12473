//! What models answer: figures marked as what they are, loads that they cannot take, what they decline.

use crate::predict_support::{node, run, trial};
use wirelab_model::file::NodeFile;
use wirelab_model::node::ModelNode;
use wirelab_trial::{
    Cancel, Direction, Extent, Kind, Layer, Load, Node, NodeError, Size, SizeUnit, Spans, Trial,
    TrialField, TrialOption,
};

#[test]
fn the_delay_of_a_phy_is_published_and_not_predicted() {
    let of = |set: &[&str]| {
        let mut file = node("am263x");
        for change in set {
            file.set(change).expect("it can be set");
        }
        let length = Size::new(SizeUnit::Length, 200);
        let seen = run(file, &trial(Layer::Ethernet, Direction::Receive, length));
        let mut series = seen.flows[0].series.iter();
        let point = series.find(|s| s.name == "PHY receive");
        point.expect("the model has this point").kind
    };
    assert_eq!(of(&[]), Kind::Published);
    // A delay that a user sets is not a document's.
    assert_eq!(of(&["phy-rx=200"]), Kind::Predicted);
}

/// 50 frames of 1514 bytes on the LPC1768.
fn nxp(buffers: &str, frames: u64) -> Trial {
    Trial {
        buffers: Some(buffers.parse().expect("a kind of buffers")),
        extent: Extent::Frames { frames },
        ..trial(
            Layer::Ethernet,
            Direction::Transmit,
            Size::new(SizeUnit::Length, 1514),
        )
    }
}

#[test]
fn fifty_frames_of_the_lpc1768_by_scenario() {
    let elapsed_us = |buffers| {
        let seen = run(node("lpc1768"), &nxp(buffers, 50));
        let elapsed = *seen.flows[0].elapsed.value().expect("a time");
        assert_eq!(elapsed.spans, Spans::Pin);
        elapsed.ps as f64 / 1e6
    };
    assert!((elapsed_us("prefilled") - 6_250.0).abs() < 0.1);
    assert!((elapsed_us("copied") - 10_440.0).abs() < 0.1);
    assert!((elapsed_us("dma-copied") - 7_102.75).abs() < 0.1);
    // The first copy cannot hide: 83.8 us and then a frame every 125 us.
    assert!((elapsed_us("copied-ahead") - (83.8 + 6_250.0)).abs() < 0.1);
}

#[test]
fn a_million_frames_take_what_fifty_promise() {
    let seen = run(node("lpc1768"), &nxp("copied", 1_000_000));
    let elapsed = seen.flows[0].elapsed.value().expect("a time").ps;
    assert!(
        (elapsed as f64 / 1e6 - 208.799_9 * 1e6).abs() < 1e3,
        "{elapsed}"
    );
    assert_eq!(seen.flows[0].sent_frames.value(), Some(&1_000_000));
}

#[test]
fn a_figure_of_calibration_is_never_predicted_and_a_changed_node_is_never_calibrated() {
    let kind = |file: NodeFile| {
        run(file, &nxp("prefilled", 50)).flows[0]
            .frames_per_s
            .kind()
    };
    assert_eq!(kind(node("lpc1768")), Some(Kind::Calibrated));
    let mut changed = node("lpc1768");
    changed.set("restart-gap=0.5 us").expect("it can be set");
    assert_eq!(kind(changed), Some(Kind::Predicted));
    let other = run(node("lpc1768"), &nxp("dma-copied", 50));
    assert_eq!(other.flows[0].frames_per_s.kind(), Some(Kind::Predicted));
}

#[test]
fn a_figure_of_calibration_is_known_by_the_way_and_the_link_not_by_what_was_typed() {
    let kind = |trial: &Trial| run(node("lpc1768"), trial).flows[0].frames_per_s.kind();
    let mut unsaid = nxp("copied", 50);
    unsaid.buffers = None;
    assert_eq!(kind(&unsaid), Some(Kind::Calibrated));
    let mut own_link = nxp("copied", 50);
    own_link.link_bits_per_s = Some(100_000_000);
    assert_eq!(kind(&own_link), Some(Kind::Calibrated));
    let mut slower = nxp("copied", 50);
    slower.link_bits_per_s = Some(10_000_000);
    assert_eq!(kind(&slower), Some(Kind::Predicted));
}

#[test]
fn a_server_of_nuttx_misses_the_identifier_that_never_was() {
    let mut asked = trial(
        Layer::UdpIpv4,
        Direction::Transmit,
        Size::new(SizeUnit::Datagram, 1000),
    );
    asked.extent = Extent::Time {
        time_ps: 3_000_000_000_000,
    };
    let seen = run(node("esp32-nuttx"), &asked);
    let counters = &seen.flows[0].counters;
    let lost = |n: u32| {
        *counters[&format!("interval_{n:02}_lost")]
            .value()
            .expect("a count")
    };
    assert_eq!([lost(1), lost(2), lost(3)], [1, 0, 0]);
    let jitter = *counters["interval_02_jitter_ps"].value().expect("a jitter") as f64;
    let period = 1e12 / *seen.flows[0].frames_per_s.value().expect("a rate");
    assert!((jitter / period - 1.0).abs() < 0.01, "{jitter} {period}");
}

#[test]
fn a_load_above_the_cpu_is_lost_in_the_ring_and_a_load_below_is_not() {
    let ask = |load: &str| {
        let mut asked = trial(
            Layer::UdpIpv4,
            Direction::Receive,
            Size::new(SizeUnit::Datagram, 112),
        );
        asked.load = load.parse().expect("a load");
        let seen = run(node("am263x"), &asked);
        let loss = *seen.flows[0].loss_ratio.value().expect("a loss");
        (loss, seen.cpu_load.value().expect("a load").busy_ratio)
    };
    let (loss, load) = ask("10kpps");
    assert_eq!(loss, 0.0);
    assert!(load > 0.5 && load < 0.8, "{load}");
    let (loss, load) = ask("30kpps");
    assert!(loss > 0.3, "{loss}");
    assert!(load > 0.99, "{load}");
}

#[test]
fn frames_that_neither_leave_nor_are_lost_are_said() {
    let codes = |direction, rate| {
        let mut asked = trial(Layer::UdpIpv4, direction, Size::new(SizeUnit::Datagram, 22));
        if let Some(frames_per_s) = rate {
            asked.load = Load::FrameRate { frames_per_s };
        }
        let seen = run(node("zynq-emaclite-so"), &asked);
        let of = seen.warnings.iter().filter(|w| w.code == "piles-up");
        of.map(|w| w.fix.clone()).collect::<Vec<_>>()
    };
    // Receive goes first at the CPU and has the whole link; what is echoed waits, without a bound.
    let said = codes(Direction::Echo, None);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("at least 26.2"), "{said:?}");
    assert!(codes(Direction::Echo, Some(90_000.0)).is_empty());
    assert!(codes(Direction::Receive, None).is_empty());
}

#[test]
fn no_batch_sends_more_than_the_cpu_has_time_for() {
    // 14,563 clocks of 400 MHz a packet are 27,467 packets/s, however the buffers come back.
    let mut paced = node("am263x");
    paced.set("alternative=paced-reclaim").expect("it is there");
    let size = Size::new(SizeUnit::Datagram, 1470);
    let seen = run(paced, &trial(Layer::UdpIpv4, Direction::Transmit, size));
    let rate = *seen.flows[0].frames_per_s.value().expect("a rate");
    assert!(rate <= 400e6 / 14_563.0 && rate > 27_400.0, "{rate}");
}

#[test]
fn a_model_of_one_direction_declines_others_by_name() {
    let taken = [
        TrialOption::Link,
        TrialOption::Buffers,
        TrialOption::StrictGaps,
        TrialOption::Dscp,
        TrialOption::Faults,
    ];
    for (field, asked) in nxp("copied", 50).with_each_but(&taken) {
        let refused = ModelNode::new(node("lpc1768")).run(&asked, &(), &Cancel::new());
        let Err(NodeError::Unsupported(no)) = refused else {
            panic!("{field} was accepted");
        };
        assert_eq!(no.field.map(TrialField::name), Some(field));
        assert!(no.why.contains("leave it out"), "{no}");
    }
}

#[test]
fn faults_are_refused_by_name() {
    let mut asked = nxp("copied", 50);
    asked.faults.drop = 0.1;
    let error = ModelNode::new(node("lpc1768"))
        .run(&asked, &(), &Cancel::new())
        .expect_err("a model moves no frames");
    assert!(matches!(error, NodeError::Unsupported(_)));
    assert!(
        error
            .to_string()
            .contains("faults: a model moves no frames"),
        "{error}"
    );
}
