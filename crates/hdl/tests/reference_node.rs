//! The reference node as a node that runs trials: stages by its capture unit, echoes with every byte compared.

use crate::firmware::image;
use wirelab_hdl::reference::{Attachment, Straps};
use wirelab_hdl::reference_node::{ReferenceNode, StartError};
use wirelab_trial::{
    Cancel, ClockKind, Direction, Extent, FixedSeries, Framing, Layer, Load, Node, Observation,
    Path, Size, SizeUnit, Status, Trial,
};

const IMAGE: &str = "reference.elf";

fn trial(direction: Direction, length: u32, frames: u64) -> Trial {
    let framing = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    Trial::new(
        framing,
        direction,
        Size::new(SizeUnit::Length, length),
        Load::Max,
        Extent::Frames { frames },
    )
}

fn run(node: &mut ReferenceNode, trial: &Trial) -> Observation {
    let came = node.run(trial, &(), &Cancel::new()).unwrap();
    assert_eq!(came.status, Status::Complete, "{:?}", came.warnings);
    let flow = &came.flows[0];
    assert!(flow.counts.value().unwrap().is_clean(), "{flow:?}");
    came
}

fn start(attachment: Attachment, elf: &[u8]) -> ReferenceNode {
    ReferenceNode::start("hdl:reference", Straps::new(attachment), elf).unwrap()
}

/// Mean of a stage in clocks of 10 ns.
fn mean(came: &Observation, direction: Direction, stage: &str) -> f64 {
    let mut flows = came.flows.iter();
    let flow = flows.find(|flow| flow.direction == direction).unwrap();
    let series = flow.series.iter().find(|s| s.name == stage);
    let series = series.unwrap_or_else(|| panic!("there is {stage}: {:?}", flow.series));
    assert_eq!(series.clock.kind, ClockKind::Simulated);
    assert_eq!(series.clock.tick_ps, Some(10_000));
    let frames = flow.sent_frames.value().copied().unwrap();
    assert_eq!(series.histogram.count, frames, "{stage}");
    series.histogram.mean_ticks
}

#[test]
fn stages_are_what_the_document_found() {
    let Some(elf) = image::or_skip(IMAGE) else {
        return;
    };
    let mut node = start(Attachment::LiteDevice, &elf);
    let short = run(&mut node, &trial(Direction::Both, 64, 4));
    let long = run(&mut node, &trial(Direction::Both, 1024, 4));
    let of = |way, stage| (mean(&short, way, stage), mean(&long, way, stage));
    let received = |stage| of(Direction::Receive, stage);
    let interrupt = received("line to interrupt");
    assert!(
        (interrupt.0 - interrupt.1).abs() <= 2.0,
        "independent of the size: {interrupt:?}"
    );
    let copied = received("line to driver");
    assert!(
        copied.1 > 3.0 * copied.0,
        "a copy grows with the size: {copied:?}"
    );
    let called = received("line to application");
    assert!(called.0 > copied.0 && called.1 > copied.1, "{called:?}");
    let out = |stage| mean(&short, Direction::Transmit, stage);
    assert!(out("application to line") > out("driver to line"));
    assert!(out("driver to line") > out("mac to line"));
    // Stages and their sums cover the same frames.
    let stack = received("driver to application").0;
    assert!((copied.0 + stack - called.0).abs() < 1e-6);
}

#[test]
fn the_interrupt_of_dma_comes_two_clocks_a_word_later() {
    let Some(elf) = image::or_skip(IMAGE) else {
        return;
    };
    let mut node = start(Attachment::Dma, &elf);
    let lengths = [64, 256, 1024];
    let clocks = lengths.map(|length| {
        let came = run(&mut node, &trial(Direction::Receive, length, 4));
        mean(&came, Direction::Receive, "line to interrupt")
    });
    for at in 1..lengths.len() {
        let words = f64::from(lengths[at] - lengths[at - 1]) / 4.0;
        let a_word = (clocks[at] - clocks[at - 1]) / words;
        assert!((a_word - 2.0).abs() <= 0.2, "{clocks:?}");
    }
}

#[test]
fn frames_of_two_nodes_side_by_side_are_one_trial() {
    let Some(elf) = image::or_skip(IMAGE) else {
        return;
    };
    let trial = trial(Direction::Receive, 64, 32);
    let ran = || run(&mut start(Attachment::Dma, &elf), &trial);
    let (one, other) = (ran(), ran());
    assert_eq!(one.trial, trial);
    assert_eq!(one.flows.len(), 1);
    assert_eq!(one.flows[0].sent_frames.value(), Some(&32));
    assert!(mean(&one, Direction::Receive, "line to application") > 0.0);
    // Simulated time does not depend on the host.
    assert_eq!(one.flows[0].series, other.flows[0].series);
    // The second node adds to the first: its frames arrive at other phases of the byte clock and of the loop.
    let mut series = one.flows[0].series.iter();
    let called = series.find(|s| s.name == "line to application").unwrap();
    let (first, second) = called.raw_ticks.split_at(16);
    let alike = first.iter().zip(second).filter(|(one, other)| one == other);
    assert!(alike.count() < 8 && second.len() == 16, "{called:?}");
}

#[test]
fn an_echo_has_its_latency_and_what_cannot_be_asked_is_named() {
    let Some(elf) = image::or_skip(IMAGE) else {
        return;
    };
    let mut node = start(Attachment::LiteOrdered, &elf);
    let echo = run(&mut node, &trial(Direction::Echo, 256, 5));
    let latency = &echo.flows[0].series[0];
    assert_eq!(latency.name, FixedSeries::LATENCY);
    assert_eq!(latency.histogram.count, 5);
    assert!(
        latency.histogram.min_ticks > 1000,
        "no program answers within 10 us"
    );
    let asked = |change: fn(&mut Trial)| {
        let mut trial = trial(Direction::Echo, 64, 4);
        change(&mut trial);
        trial
    };
    for (field, trial) in [
        ("layer", asked(|t| t.framing.layer = Layer::Ethernet)),
        ("ports", asked(|t| t.ports = 2)),
        ("faults", asked(|t| t.faults.drop = 0.1)),
        ("extent", asked(|t| t.extent = Extent::Time { time_ps: 1 })),
        ("path", asked(|t| t.path = Some(Path::Driver))),
        ("link_bits_per_s", asked(|t| t.link_bits_per_s = Some(1))),
        ("rule", asked(|t| t.rule = Some("own".to_owned()))),
    ] {
        let error = node
            .run(&trial, &(), &Cancel::new())
            .unwrap_err()
            .to_string();
        assert!(error.contains(&format!("{field}: ")), "{error}");
    }
}

#[test]
fn what_is_no_program_is_refused() {
    let straps = Straps::new(Attachment::Dma);
    let error = ReferenceNode::start("hdl:reference", straps, b"text").unwrap_err();
    assert!(matches!(error, StartError::Image(_)), "{error}");
}
