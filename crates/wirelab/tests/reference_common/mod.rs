//! The delays of the document's Table I, asked of the reference node and of its model.

use std::io::Write as _;
use std::process::Command;

use wirelab_hdl::reference::{Attachment, Straps};
use wirelab_hdl::reference_node::ReferenceNode;
use wirelab_model::file::NodeFile;
use wirelab_model::library;
use wirelab_model::node::ModelNode;
use wirelab_trial::{
    Cancel, Direction, Extent, Framing, Kind, Layer, Load, Node, Observation, Size, SizeUnit,
    Status, Trial,
};

/// Frames of each delay that the document took.
pub const DOCUMENT_FRAMES: u64 = 512;
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
pub fn image(file: &NodeFile) -> Option<Vec<u8>> {
    let folders = wirelab_board::image::folders();
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

pub fn trial(direction: Direction, length: u32, frames: u64) -> Trial {
    let framing = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    let size = Size::new(SizeUnit::Length, length);
    let extent = Extent::Frames { frames };
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

/// Three deviations of the mean of so many starts of the line, in µs: each begins with the next of eight clocks of 10 ns, and one
/// has a deviation of √((8² − 1)/12) clocks.
fn start_us(frames: u64) -> f64 {
    3.0 * 0.01 * (63.0_f64 / 12.0 / frames as f64).sqrt()
}

/// Whether a prediction is as near as was asked: 10 % at 64 bytes, 5 % at 256 and 1024. Under a microsecond fewer than all the
/// frames of the document do not tell as much, and it is what their mean can miss.
pub fn is_near(frames: u64, length: u32, measured_us: f64, predicted_us: f64) -> bool {
    let apart_us = (predicted_us - measured_us).abs();
    let most = if length == 64 { 0.1 } else { 0.05 };
    let is_few = frames < DOCUMENT_FRAMES && measured_us < 1.0;
    apart_us < most * measured_us || is_few && apart_us < start_us(frames)
}

/// Asks model and node for the same delays, every one of the table, the node with so many frames.
pub fn compare(name: &str, frames: u64) {
    let file = library::open(&format!("reference-{name}")).expect("it comes with the tool");
    let Some(elf) = image(&file) else { return };
    let attachment: Attachment = name.parse().expect("an attachment");
    let straps = Straps::new(attachment);
    let mut node = ReferenceNode::start("hdl:reference", straps, &elf).expect("it comes up");
    let mut model = ModelNode::new(file);
    let mut apart = Vec::new();
    for length in LENGTHS {
        let seen = node.run(&trial(Direction::Both, length, frames), &(), &Cancel::new());
        let seen = seen.expect("it answers");
        assert_eq!(seen.status, Status::Complete);
        for (direction, points) in POINTS {
            let told = model.run(&trial(direction, length, frames), &(), &Cancel::new());
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
                if !is_near(frames, length, measured, predicted) {
                    apart.push(row);
                }
            }
        }
    }
    assert!(apart.is_empty(), "{name}: {apart:#?}");
}
