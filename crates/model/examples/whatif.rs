//! How long it takes to try every change, and pairs of the best, on each path of every node that comes with the tool:
//! a line of JSON with the slowest.

use std::time::Instant;

use wirelab_model::file::{NodeFile, PathDecl};
use wirelab_model::library;
use wirelab_model::whatif::{WhatifOptions, whatif};
use wirelab_trial::{Extent, Framing, Load, Size, SizeUnit, Trial};

/// The smallest frame and a large one.
const FRAMES: [u32; 2] = [64, 1514];

fn trials(path: &PathDecl) -> impl Iterator<Item = Trial> + '_ {
    path.layers.iter().flat_map(|layer| {
        FRAMES.map(|frame| Trial {
            buffers: path.buffers.first().copied(),
            ..Trial::new(
                Framing {
                    layer: *layer,
                    vlan_tags: 0,
                },
                path.direction,
                Size::new(SizeUnit::Frame, frame.max(minimum(*layer))),
                Load::Max,
                Extent::Frames { frames: 50 },
            )
        })
    })
}

fn minimum(layer: wirelab_trial::Layer) -> u32 {
    Framing {
        layer,
        vlan_tags: 0,
    }
    .min_test_frame()
}

/// Seconds of one list, and the changes and pairs in it.
fn timed(file: &NodeFile, trial: &Trial) -> Option<(f64, usize)> {
    let begun = Instant::now();
    let found = whatif(file, trial, &WhatifOptions::default()).ok()?;
    Some((
        begun.elapsed().as_secs_f64(),
        found.singles.len() + found.pairs.len(),
    ))
}

fn main() {
    let (mut slowest, mut lists, mut changes) = ((0.0, String::new()), 0, 0);
    for name in library::names() {
        let file = library::open(name).expect("the nodes that come with the tool are in order");
        let before = lists;
        for path in &file.paths {
            for (seconds, tried) in trials(path).filter_map(|trial| timed(&file, &trial)) {
                (lists, changes) = (lists + 1, changes + tried);
                if seconds > slowest.0 {
                    slowest = (seconds, format!("{name}, {}", path.name));
                }
            }
        }
        assert!(lists > before, "no list came of {name}");
    }
    let (seconds, what) = slowest;
    println!(
        "{{\"seconds\": {seconds:.6}, \"slowest\": \"{what}\", \"lists\": {lists}, \"changes\": {changes}}}"
    );
}
