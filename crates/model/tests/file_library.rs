//! The node files that come with the tool: all of them are there, and in order.

use std::path::Path;

use wirelab_model::file::NodeFile;
use wirelab_model::library;
use wirelab_sim::steady::steady_state;
use wirelab_trial::{Extent, Framing, Load, Size, SizeUnit, Trial};

#[test]
fn every_node_file_is_in_the_library_and_in_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../nodes");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    let names: Vec<&str> = library::names().collect();
    assert_eq!(
        files, names,
        "add it to NODES in crates/model/src/library.rs"
    );
    for name in names {
        let node = library::open(name).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(node.name, name);
    }
}

#[test]
fn a_file_is_opened_by_its_path() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let path = folder.join("board.toml");
    let node = library::open(path.to_str().unwrap()).unwrap();
    assert_eq!(node.name, "board");
    let error = library::open("no/such.toml").unwrap_err().to_string();
    assert!(error.starts_with("cannot read no/such.toml: "), "{error}");
    let error = library::open("boar").unwrap_err().to_string();
    assert!(error.starts_with("there is no node 'boar'; "), "{error}");
}

#[test]
fn the_example_of_the_manual_is_in_order() {
    let manual = include_str!("../../../docs/nodes/README.md");
    let example = manual.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let node = NodeFile::parse(example, "README.md").unwrap();
    let trial = wirelab_config::read("length = 1514\nbuffers = \"dma-copied\"", "trial", |top| {
        wirelab_config::trial::trial(top, None)
    });
    let instance = node.instance(&trial.unwrap()).unwrap();
    // 379 words at 4.5 clocks of 10 ns.
    assert_eq!(instance.net.stages[0].cost_ps, 17_055_000);
    let mut node = node;
    node.set("alternative=two-in-flight").unwrap();
}

/// Every path of every node moves: at a small and a large frame the closed form finds what limits it.
#[test]
fn every_path_of_every_node_has_a_period() {
    for name in library::names() {
        let node = library::open(name).unwrap();
        for path in &node.paths {
            for (layer, length) in path.layers.iter().flat_map(|l| [(l, 100), (l, 1514)]) {
                let trial = Trial {
                    buffers: path.buffers.first().copied(),
                    ..Trial::new(
                        Framing {
                            layer: *layer,
                            vlan_tags: 0,
                        },
                        path.direction,
                        Size::new(SizeUnit::Length, length),
                        Load::Max,
                        Extent::Frames { frames: 50 },
                    )
                };
                let instance = node.instance(&trial).unwrap();
                let steady = steady_state(&instance.net).unwrap_or_else(|e| {
                    panic!("{name}, path '{}', {length} bytes: {e}", path.name);
                });
                assert!(steady.period.ps() > 0.0, "{name}, {}", path.name);
            }
        }
    }
}
