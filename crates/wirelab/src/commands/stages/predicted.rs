//! `wirelab stages hdl:reference --predicted`: the same delays by the node's model, asked of each length and put beside what was
//! measured.

use std::collections::BTreeMap;

use wirelab_model::file::NodeFile;
use wirelab_model::node::ModelNode;
use wirelab_trial::crossover::{ATTACHMENT, READ_CLOCKS, WRITE_CLOCKS};
use wirelab_trial::{
    Cancel, Description, Direction, Extent, Framing, Layer, Load, Node, Observation, Size,
    SizeUnit, Trial,
};

use crate::args::StagesArgs;
use crate::exit::{Failure, Fallible};
use crate::nodes;

/// Capture points of the models, and what the node calls the way to them or from them, in the order of the way.
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
            ("Tx UDP", "application to line"),
            ("Tx PBUF", "driver to line"),
            ("MAC triggered", "mac to line"),
        ],
    ),
];

/// Refuse to predict what no model is of; `setups` are the set-up keys of the nodes.
pub fn refuse(args: &StagesArgs, setups: &[BTreeMap<String, String>]) -> Fallible<()> {
    if !args.predicted {
        return Ok(());
    }
    let why = if !args.wait_states.is_empty() {
        "the models are of the document's wait states: leave --wait-states out"
    } else if !args.fast_track.is_empty() {
        "the models are of the stack: leave --fast-track out"
    } else {
        return setups.iter().try_for_each(same_bus);
    };
    Err(Failure::usage(format!("--predicted: {why}")))
}

/// Refuse a bus that is slower or faster than the one that the model is of.
fn same_bus(setup: &BTreeMap<String, String>) -> Fallible<()> {
    let file = model(setup)?;
    for key in [READ_CLOCKS, WRITE_CLOCKS] {
        let [node, model] =
            [setup, &file.setup].map(|keys| keys.get(key).map_or("none", String::as_str));
        if node != model {
            return Err(Failure::usage(format!(
                "--predicted: {key} of the node is {node}, and the model {} is of {model}, as the document has it: leave \
                 read-clocks and write-clocks out",
                file.name
            )));
        }
    }
    Ok(())
}

/// The model of a node by its set-up keys.
fn model(setup: &BTreeMap<String, String>) -> Fallible<NodeFile> {
    let attachment = setup.get(ATTACHMENT).map_or("", String::as_str);
    nodes::model(&format!("reference-{attachment}"), &[])
}

/// What the model of a node predicts of each length, both ways.
pub fn of(
    args: &StagesArgs,
    node: &Description,
    frames: u64,
    cancel: &Cancel,
) -> Fallible<Vec<Observation>> {
    let mut model = ModelNode::new(model(&node.setup)?);
    let mut all = Vec::new();
    for (direction, points) in POINTS {
        for length in &args.length {
            let framing = Framing {
                layer: Layer::UdpIpv4,
                vlan_tags: 0,
            };
            let size = Size::new(SizeUnit::Length, *length);
            let extent = Extent::Frames { frames };
            let trial = Trial::new(framing, direction, size, Load::Max, extent);
            let mut told = model.run(&trial, &(), cancel)?;
            for flow in &mut told.flows {
                let mut series = std::mem::take(&mut flow.series);
                for (point, way) in points {
                    let found = series.iter().position(|series| series.name == point);
                    let Some(at) = found else { continue };
                    let mut delay = series.swap_remove(at);
                    way.clone_into(&mut delay.name);
                    flow.series.push(delay);
                }
            }
            all.push(told);
        }
    }
    Ok(all)
}

#[cfg(all(test, feature = "hdl"))]
mod tests {
    use clap::Parser;

    use super::super::sweep;
    use super::*;
    use crate::args::{Cli, Command};

    fn asked(node: &str, options: &[&str]) -> Fallible<()> {
        let line = ["wirelab", "stages", node, "--predicted"];
        let Command::Stages(args) = Cli::parse_from(line.iter().chain(options)).command else {
            panic!("it is stages");
        };
        let (name, kind) = nodes::KINDS.parse(node)?;
        refuse(&args, &sweep::setups(kind, &sweep::names(&args, &name)?)?)
    }

    #[test]
    fn a_bus_that_the_model_is_not_of_is_refused_wherever_it_was_asked() {
        for mac in ["lite-device", "lite-ordered", "dma"] {
            assert!(asked("hdl:reference", &["--mac", mac]).is_ok(), "{mac}");
            assert!(asked(&format!("hdl:reference,mac={mac}"), &[]).is_ok());
        }
        let as_it_is = "hdl:reference,mac=lite-ordered,write-clocks=18,read-clocks=17";
        assert!(asked(as_it_is, &[]).is_ok());
        for (node, words) in [
            (
                "hdl:reference,read-clocks=40,write-clocks=40",
                "read_clocks of the node is 40, and the model reference-lite-device is of 5",
            ),
            (
                "hdl:reference,write-clocks=4",
                "write_clocks of the node is 4",
            ),
            ("hdl:reference,mac=lite-ordered,read-clocks=5", "is of 17"),
            (
                "hdl:reference,read-clocks=5,read-clocks=5",
                "was given before",
            ),
        ] {
            let told = asked(node, &[]).unwrap_err();
            assert_eq!(told.code(), 2);
            assert!(told.to_string().contains(words), "{told}");
        }
        let told = asked("hdl:reference", &["--wait-states", "5,3"]).unwrap_err();
        assert!(
            told.to_string().contains("leave --wait-states out"),
            "{told}"
        );
    }

    #[test]
    fn the_models_say_the_clocks_that_they_are_of() {
        for (mac, parameter, key) in [
            ("lite-device", "slot-read", READ_CLOCKS),
            ("lite-ordered", "slot-read", READ_CLOCKS),
            ("lite-ordered", "slot-write", WRITE_CLOCKS),
        ] {
            let file = nodes::model(&format!("reference-{mac}"), &[]).unwrap();
            let clocks: f64 = file.setup[key].parse().unwrap();
            assert_eq!(file.parameters[parameter].value, clocks, "{mac}");
        }
    }
}
