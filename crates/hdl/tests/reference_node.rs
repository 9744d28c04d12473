//! The reference node as a node that is asked trials: stages by its capture unit, echoes of which every byte is compared.

use std::io::Write;

use wirelab_hdl::reference::Attachment;
use wirelab_hdl::reference_node::{ReferenceNode, StartError};
use wirelab_trial::{
    Cancel, ClockKind, Direction, Extent, Framing, Layer, Load, Node, Observation, Path, Size,
    SizeUnit, Status, Trial,
};

/// The image, or nothing and a word for the test runner: `scripts/firmware.sh` makes it.
fn image() -> Option<Vec<u8>> {
    let program = std::env::current_exe().unwrap();
    let mut folders = program.ancestors().map(|folder| folder.join("firmware"));
    let found = folders.find_map(|folder| std::fs::read(folder.join("reference.elf")).ok());
    if found.is_none() {
        // Directly, because the test harness swallows what is printed otherwise.
        let text = "WIRELAB-SKIP firmware: there is no reference.elf: run scripts/firmware.sh";
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    found
}

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

/// Mean of a stage in clocks of 10 ns.
fn mean(came: &Observation, stage: &str) -> f64 {
    let series = came.flows[0].series.iter().find(|s| s.name == stage);
    let series = series.unwrap_or_else(|| panic!("there is {stage}: {:?}", came.flows[0].series));
    assert_eq!(series.clock.kind, ClockKind::Simulated);
    assert_eq!(series.clock.tick_ps, Some(10_000));
    let frames = came.flows[0].sent_frames.value().copied().unwrap();
    assert_eq!(series.histogram.count, frames, "{stage}");
    series.histogram.mean_ticks
}

#[test]
fn stages_are_what_the_document_found() {
    let Some(elf) = image() else { return };
    let mut node = ReferenceNode::start("hdl:reference", Attachment::LiteDevice, &elf).unwrap();
    let short = run(&mut node, &trial(Direction::Receive, 64, 4));
    let long = run(&mut node, &trial(Direction::Receive, 1024, 4));
    let of = |stage| (mean(&short, stage), mean(&long, stage));
    let interrupt = of("line to interrupt");
    assert!(
        (interrupt.0 - interrupt.1).abs() < 50.0,
        "independent of the size: {interrupt:?}"
    );
    let copied = of("line to driver");
    assert!(
        copied.1 > 3.0 * copied.0,
        "a copy grows with the size: {copied:?}"
    );
    let called = of("line to application");
    assert!(called.0 > copied.0 && called.1 > copied.1, "{called:?}");
    let out = run(&mut node, &trial(Direction::Transmit, 64, 4));
    assert!(mean(&out, "application to line") > mean(&out, "driver to line"));
    assert!(mean(&out, "driver to line") > mean(&out, "mac to line"));
}

#[test]
fn an_echo_has_its_latency_and_what_cannot_be_asked_is_named() {
    let Some(elf) = image() else { return };
    let mut node = ReferenceNode::start("hdl:reference", Attachment::LiteOrdered, &elf).unwrap();
    let echo = run(&mut node, &trial(Direction::Echo, 256, 5));
    let latency = &echo.flows[0].series[0];
    assert_eq!(
        (latency.name.as_str(), latency.histogram.count),
        ("latency", 5)
    );
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
        ("direction", asked(|t| t.direction = Direction::Both)),
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
    let error = ReferenceNode::start("hdl:reference", Attachment::Dma, b"text").unwrap_err();
    assert!(matches!(error, StartError::Image(_)), "{error}");
}
