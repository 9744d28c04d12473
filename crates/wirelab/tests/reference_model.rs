//! The node models of the reference node against the node itself: each point of the document's Table I, and the counts that
//! the models are made of.

mod reference_common;

use reference_common::{DOCUMENT_FRAMES, compare, image, is_near, trial};
use wirelab_hdl::reference::{Attachment, Event, Straps};
use wirelab_hdl::reference_node::{COUNTED_LENGTHS, stage_counts};
use wirelab_model::file::{Cost, NodeFile};
use wirelab_model::library;
use wirelab_trial::Direction;

/// Frames of each measured delay: what a test can afford. `reference_table` has all.
const FRAMES: u64 = 8;

#[test]
fn a_prediction_that_is_off_is_found() {
    let near = |length, predicted| is_near(FRAMES, length, 10.0, predicted);
    assert!(near(64, 10.9) && !near(64, 11.1) && !near(64, 8.9));
    assert!(near(256, 10.4) && !near(1024, 10.6));
    let short = |frames, predicted| is_near(frames, 256, 0.1, predicted);
    assert!(short(FRAMES, 0.12) && !short(FRAMES, 0.13));
    assert!(short(DOCUMENT_FRAMES, 0.104) && !short(DOCUMENT_FRAMES, 0.106));
}

#[test]
fn the_slot_mac_over_a_posted_bus_takes_what_its_model_predicts() {
    compare("lite-device", FRAMES);
}

#[test]
fn the_slot_mac_over_an_ordered_bus_takes_what_its_model_predicts() {
    compare("lite-ordered", FRAMES);
}

#[test]
fn the_ring_mac_takes_what_its_model_predicts() {
    compare("dma", FRAMES);
}

/// How often a stage of a file has an event at a length.
fn in_file(file: &NodeFile, stage: &str, event: Event, length: u32) -> f64 {
    let sizes = trial(Direction::Receive, length, FRAMES)
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
