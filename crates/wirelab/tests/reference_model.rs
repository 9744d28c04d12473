//! The node models of the reference node against the node itself: each delay of the document's Table I, with all of its frames,
//! and the counts that the models are made of.

use std::io::Write as _;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use wirelab_hdl::reference::{Attachment, Event, Straps};
use wirelab_hdl::reference_node::{COUNTED_LENGTHS, ReferenceNode, stage_counts};
use wirelab_model::file::{Cost, NodeFile};
use wirelab_model::library;
use wirelab_model::node::ModelNode;
use wirelab_trial::{
    Cancel, Direction, Extent, Framing, Kind, Layer, Load, Node, Observation, Size, SizeUnit,
    Status, Trial,
};

/// Frames of each delay that the document took.
const FRAMES: u64 = 512;
/// The document's lengths, in bytes. The models are counted at others.
const LENGTHS: [u32; 3] = [64, 256, 1024];
/// Points of the models, and what the node calls the way to them or from them.
const POINTS: [(Direction, [(&str, &str); 3]); 2] = [
    (
        Direction::Receive,
        [
            ("Interrupt entered", "line to interrupt"),
            ("Rx PBUF", "line to driver"),
            ("Rx UDP", "line to application"),
        ],
    ),
    (
        Direction::Transmit,
        [
            ("MAC triggered", "mac to line"),
            ("Tx PBUF", "driver to line"),
            ("Tx UDP", "application to line"),
        ],
    ),
];

fn skip(feature: &str, why: &str) {
    // Directly, because the test harness swallows what is printed otherwise.
    let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP {feature}: {why}");
}

/// The image of the compiler that the counts are of; nothing, and a word for the test runner, where there is none.
fn image(file: &NodeFile) -> Option<Vec<u8>> {
    let folders = wirelab_trial::images::folders();
    let mut images = folders.iter().map(|folder| folder.join("reference.elf"));
    let found = images.find_map(|path| std::fs::read(path).ok());
    if found.is_none() {
        skip(
            "firmware",
            "there is no reference.elf: run scripts/firmware.sh",
        );
    }
    let (compiler, version) = file.setup["compiler"]
        .rsplit_once(' ')
        .expect("a name and a version");
    let told = Command::new(compiler).arg("-dumpfullversion").output();
    let told = told.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned());
    if told.as_deref().ok() != Some(version) {
        skip(
            "reference-compiler",
            "another compiler makes another program, of other counts",
        );
        return None;
    }
    found
}

fn trial(direction: Direction, length: u32) -> Trial {
    let framing = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    let size = Size::new(SizeUnit::Length, length);
    let extent = Extent::Frames { frames: FRAMES };
    Trial::new(framing, direction, size, Load::Max, extent)
}

/// Mean of a series, in µs, and what kind of figure it is.
fn mean_us(seen: &Observation, name: &str) -> (f64, Kind) {
    let mut all = seen.flows.iter().flat_map(|flow| &flow.series);
    let series = all.find(|series| series.name == name);
    let series = series.unwrap_or_else(|| panic!("there is no {name}"));
    let tick_ps = series.histogram.tick_ps.expect("simulated time has a tick");
    (
        series.histogram.mean_ticks * tick_ps as f64 / 1e6,
        series.kind,
    )
}

/// Whether a prediction is as near as required: 10 % at 64 bytes, 5 % at 256 and 1024.
fn is_near(length: u32, measured_us: f64, predicted_us: f64) -> bool {
    let most = if length == 64 { 0.1 } else { 0.05 };
    (predicted_us - measured_us).abs() < most * measured_us
}

/// Asks model and node for the same delays, every one of the table.
fn compare(name: &str) {
    // Minutes of work: beside each other they would keep two cores from the tests that run beside this one.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let file = library::open(&format!("reference-{name}")).expect("it comes with the tool");
    let Some(elf) = image(&file) else { return };
    let attachment: Attachment = name.parse().expect("an attachment");
    let straps = Straps::new(attachment);
    let mut node = ReferenceNode::start("hdl:reference", straps, &elf).expect("it comes up");
    let mut model = ModelNode::new(file);
    let mut apart = Vec::new();
    for length in LENGTHS {
        let seen = node.run(&trial(Direction::Both, length), &(), &Cancel::new());
        let seen = seen.expect("it answers");
        assert_eq!(seen.status, Status::Complete);
        for (direction, points) in POINTS {
            let told = model.run(&trial(direction, length), &(), &Cancel::new());
            let told = told.expect("it predicts");
            for (point, way) in points {
                let (measured, measured_kind) = mean_us(&seen, way);
                let (predicted, predicted_kind) = mean_us(&told, point);
                assert_eq!(
                    (measured_kind, predicted_kind),
                    (Kind::Measured, Kind::Predicted)
                );
                let percent = 100.0 * (predicted / measured - 1.0);
                let row = format!(
                    "{point} | {length} | {measured:.2} | {predicted:.2} | {percent:+.1} %"
                );
                println!("| {name} | {row} |");
                if !is_near(length, measured, predicted) {
                    apart.push(row);
                }
            }
        }
    }
    assert!(apart.is_empty(), "{name}: {apart:#?}");
}

#[test]
fn a_prediction_that_is_off_is_found() {
    let near = |length, predicted| is_near(length, 10.0, predicted);
    assert!(near(64, 10.9) && !near(64, 11.1) && !near(64, 8.9));
    assert!(near(256, 10.4) && !near(1024, 10.6));
}

#[test]
fn the_slot_mac_over_a_posted_bus_takes_what_its_model_predicts() {
    compare("lite-device");
}

#[test]
fn the_slot_mac_over_an_ordered_bus_takes_what_its_model_predicts() {
    compare("lite-ordered");
}

#[test]
fn the_ring_mac_takes_what_its_model_predicts() {
    compare("dma");
}

/// How often a stage of a file has an event at a length.
fn in_file(file: &NodeFile, stage: &str, event: Event, length: u32) -> f64 {
    let sizes = trial(Direction::Receive, length)
        .sizes()
        .expect("a length of UDP");
    let costs = &file.stages[stage].cost;
    let counts = costs.iter().map(|cost| match cost {
        Cost::Accesses { accesses, latency } if latency == event.name() => {
            accesses.value(&sizes).expect("a size of UDP")
        }
        _ => 0.0,
    });
    counts.sum()
}

#[test]
fn the_counts_of_the_models_are_those_of_the_image() {
    let file = library::open("reference-lite-ordered").expect("it comes with the tool");
    let Some(elf) = image(&file) else { return };
    let counted = stage_counts(Straps::new(Attachment::LiteOrdered), &elf).expect("it counts");
    let mut stale = Vec::new();
    for stage in &counted {
        for event in Event::ALL {
            let now = stage.events.iter().find(|(counted, _)| *counted == event);
            for (at, length) in COUNTED_LENGTHS.into_iter().enumerate() {
                let now = now.map_or(0.0, |(_, counts)| counts[at]);
                let file = in_file(&file, stage.name, event, length);
                // Lines of the data cache hang on where the frames before have left them.
                let is_chance = matches!(event, Event::DataFill | Event::QueuedFill);
                let room = if is_chance {
                    4.0 + 0.2 * now
                } else {
                    2.0 + 0.02 * now
                };
                if (now - file).abs() > room {
                    stale.push(format!(
                        "{}, {} at {length}: {file:.1} in the file, {now:.1} now",
                        stage.name,
                        event.name()
                    ));
                }
            }
        }
    }
    assert!(
        stale.is_empty(),
        "renew them by `cargo run --release -p wirelab-hdl --example reference_counts -- --write`: {stale:#?}"
    );
}
