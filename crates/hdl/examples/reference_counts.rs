//! Counts the CPU's work in each stage of a frame's path through the reference node, for the node models
//! `nodes/reference-*.toml`. `cargo run --release -p wirelab-hdl --example reference_counts [--write]`
//!
//! `--write` updates the counts in the models: the `cost` of each counted stage.

#[path = "../tests/firmware/image.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod image;

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use wirelab_hdl::reference::{Attachment, Event, Straps};
use wirelab_hdl::reference_node::{COUNTED_LENGTHS, StageCounts, stage_counts};

/// The attachments, as in the names of the node files.
const NAMES: [&str; 3] = ["lite-device", "lite-ordered", "dma"];
/// Bytes of a word.
const WORD: f64 = 4.0;

/// A number without unnecessary digits.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A count as a size of the node models: the line through both lengths.
fn size(counts: [f64; COUNTED_LENGTHS.len()]) -> String {
    let words = COUNTED_LENGTHS.map(|length| f64::from(length) / WORD);
    let slope = ((counts[1] - counts[0]) / (words[1] - words[0])).max(0.0);
    let constant = counts[0] - slope * words[0];
    // An event cannot occur a negative number of times, nor less often in longer frames.
    if constant < 0.0 {
        return format!("{} * length/4", number(counts[1] / words[1]));
    }
    match (number(constant).as_str(), number(slope).as_str()) {
        (constant, "0") => constant.to_owned(),
        ("0", slope) => format!("{slope} * length/4"),
        (constant, slope) => format!("{constant} + {slope} * length/4"),
    }
}

/// The cost of a stage in a node file. A posted write costs nothing; accesses that wait for it do.
fn cost(stage: &StageCounts, attachment: Attachment) -> String {
    let mut text = "cost = [\n".to_owned();
    let posted = attachment != Attachment::LiteOrdered;
    for (event, counts) in &stage.events {
        if *event != Event::SlotWrite || !posted {
            let _ = writeln!(
                text,
                "  {{ accesses = \"{}\", of = \"{}\" }},",
                size(*counts),
                event.name()
            );
        }
    }
    text + "]\n"
}

/// A node file with a new cost of a stage.
fn with_cost(file: &str, stage: &str, cost: &str) -> Result<String, String> {
    let missing = || format!("it has no [stage.{stage}] with a cost of several lines");
    let (before, rest) = file
        .split_once(&format!("[stage.{stage}]\n"))
        .ok_or_else(missing)?;
    let (head, rest) = rest.split_once("cost = [\n").ok_or_else(missing)?;
    let (_, behind) = rest.split_once("]\n").ok_or_else(missing)?;
    Ok(format!("{before}[stage.{stage}]\n{head}{cost}{behind}"))
}

fn show(name: &str, stages: &[StageCounts]) {
    for stage in stages {
        println!("{name}, {}", stage.name);
        for (event, counts) in &stage.events {
            println!(
                "  {:18} {:>9.2} {:>9.2}   {}",
                event.name(),
                counts[0],
                counts[1],
                size(*counts)
            );
        }
    }
}

/// Updates the counts of a node file.
fn write(name: &str, stages: &[StageCounts]) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../nodes");
    let path = folder.join(format!("reference-{name}.toml"));
    let mut file = std::fs::read_to_string(&path)?;
    for stage in stages {
        file = with_cost(&file, stage.name, &cost(stage, name.parse()?))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(std::fs::write(&path, file)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let writes = std::env::args().any(|argument| argument == "--write");
    let image = image::find("reference.elf")?;
    println!("means of 8 frames at lengths of {COUNTED_LENGTHS:?}, and the line through them");
    let count = |name: &str| -> Result<Vec<StageCounts>, String> {
        let attachment = name.parse().map_err(|error| format!("{error}"))?;
        stage_counts(Straps::new(attachment), &image).map_err(|error| error.to_string())
    };
    let counted = std::thread::scope(|scope| {
        let count = &count;
        let running = NAMES.map(|name| (name, scope.spawn(move || count(name))));
        running.map(|(name, thread)| (name, thread.join().expect("no count panics")))
    });
    for (name, stages) in counted {
        let stages = stages?;
        show(name, &stages);
        if writes {
            write(name, &stages)?;
        }
    }
    Ok(())
}
