//! Names of hardware in simulation: `hdl:N` for ports, `hdl:reference` for the node of `rtl/reference`.

use std::path::PathBuf;

use wirelab_trial::crossover;
use wirelab_trial::node_type::{Setup, StageProfile};
use wirelab_trial::{
    Direction, Extent, Layer, NameError, Node, NodeName, NodeType, OpenError, OpenOptions, Profile,
    images,
};

use crate::facts::NODE_TYPE;
use crate::reference_node::{self, MOST_CAPTURED_FRAMES, ReferenceNode, StartError};
use crate::{HdlNode, HdlOptions};

/// The target that names the reference node.
const REFERENCE: &str = "reference";
/// The image of the reference node, made by `scripts/firmware.sh`.
const IMAGE: &str = "reference.elf";

/// The node type `hdl:`.
pub static HDL: NodeType = NodeType {
    about: "ports of hardware in simulation, or the reference node",
    target: "N|reference",
    examples: &["hdl:4", "hdl:reference"],
    with_stages: &["hdl:reference"],
    names: || {
        vec![
            "hdl:1",
            "hdl:2",
            "hdl:reference,mac=dma",
            "hdl:reference,mac=lite-ordered",
        ]
    },
    profile,
    setup,
    ..NodeType::new(NODE_TYPE, open)
};

/// Trials of simulated time. A second takes minutes, and few frames already give exact figures.
const PORTS: Profile = Profile {
    takes_ports: false,
    direction: Some(Direction::Both),
    extent: Extent::Frames { frames: 2000 },
    search_extent: Extent::Time {
        time_ps: 10_000_000_000,
    },
    stages: StageProfile {
        why_none: Some(
            "ports of hardware have no capture points; fix: use hdl:reference, whose capture units record the times, or 'wirelab \
             measure' for rates and counts",
        ),
        ..Profile::USUAL.stages
    },
    ..Profile::USUAL
};

fn profile(name: &NodeName) -> Profile {
    match name.target() {
        REFERENCE => Profile {
            layer: Layer::UdpIpv4,
            direction: Some(Direction::Echo),
            extent: Extent::Frames { frames: 512 },
            takes_image: true,
            stages: StageProfile {
                max_frames: Some(MOST_CAPTURED_FRAMES),
                lengths_limited_by: Some("hdl:reference takes"),
                ..crossover::STAGES
            },
            ..PORTS
        },
        _ => PORTS,
    }
}

fn setup(name: &NodeName) -> Result<Setup, OpenError> {
    match name.target() {
        REFERENCE => Ok(reference_node::setup(reference_node::straps(name)?)
            .into_iter()
            .collect()),
        _ => Ok(Setup::new()),
    }
}

fn open(name: &NodeName, options: &OpenOptions) -> Result<Box<dyn Node>, OpenError> {
    if name.target() == REFERENCE {
        return Ok(Box::new(reference(name, options.image.clone())?));
    }
    let node = HdlNode::start(&name.to_string(), HdlOptions::of(name)?);
    Ok(Box::new(node.map_err(OpenError::failed)?))
}

/// The reference node with the built program or that of a file.
fn reference(name: &NodeName, image: Option<PathBuf>) -> Result<ReferenceNode, OpenError> {
    let straps = reference_node::straps(name)?;
    let path = match image {
        Some(path) => path,
        None => images::installed(IMAGE).map_err(|searched| missing(name, &searched))?,
    };
    let bad = |why: String| NameError::new(name, format!("{}: {why}", path.display()));
    let elf = std::fs::read(&path).map_err(|error| bad(error.to_string()))?;
    ReferenceNode::start(&name.to_string(), straps, &elf).map_err(|error| match error {
        StartError::Image(why) => bad(format!(
            "{why}; fix: `make firmware` builds {IMAGE}, which is one"
        ))
        .into(),
        other => OpenError::failed(other),
    })
}

fn missing(name: &NodeName, searched: &[PathBuf]) -> NameError {
    let searched: Vec<String> = searched.iter().map(|f| f.display().to_string()).collect();
    let why = format!(
        "its program {IMAGE} is not in {}; fix: run `make firmware`, or name a file with --image",
        searched.join(", ")
    );
    NameError::new(name, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_hdl_is_said_where_it_is_wrong() {
        let name = "hdl:5".parse().unwrap();
        let error = open(&name, &OpenOptions::default()).err().unwrap();
        assert!(matches!(&error, OpenError::Usage(why) if why.contains("hdl:5,loopback")));
    }

    #[test]
    fn a_file_that_is_no_program_is_bad_usage_and_named() {
        let path = std::env::temp_dir().join(format!("wirelab-no-program-{}", std::process::id()));
        let name: NodeName = "hdl:reference".parse().unwrap();
        for (content, words) in [
            (&b"no firmware"[..], "not an ELF file"),
            (b"\x7fELF\x02\x01", "not a program for the reference node"),
        ] {
            std::fs::write(&path, content).unwrap();
            let error = reference(&name, Some(path.clone())).unwrap_err();
            let OpenError::Usage(text) = &error else {
                panic!("{error:?}");
            };
            for words in [words, &path.display().to_string(), "make firmware"] {
                assert!(text.contains(words), "{words}: {text}");
            }
        }
        std::fs::remove_file(&path).unwrap();
    }
}
