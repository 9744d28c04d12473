//! `wirelab stages hdl:reference --predicted`: the same delays by the node's model, asked of each length and put beside what was
//! measured.

use wirelab_model::node::ModelNode;
use wirelab_trial::crossover::ATTACHMENT;
use wirelab_trial::{
    Cancel, Description, Direction, Extent, Framing, Layer, Load, Node, Observation, Size,
    SizeUnit, Trial,
};

use super::Asked;
use crate::args::StagesArgs;
use crate::exit::Failure;
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

/// Refuse to predict what no model is of.
pub fn refuse(args: &StagesArgs) -> Asked<()> {
    let why = if !args.wait_states.is_empty() {
        "the models are of the document's wait states: leave --wait-states out"
    } else if !args.fast_track.is_empty() {
        "the models are of the stack: leave --fast-track out"
    } else {
        return Ok(());
    };
    match args.predicted {
        true => Err(Failure::usage(format!("--predicted: {why}"))),
        false => Ok(()),
    }
}

/// What the model of a node predicts of each length, both ways.
pub fn of(
    args: &StagesArgs,
    node: &Description,
    frames: u64,
    cancel: &Cancel,
) -> Asked<Vec<Observation>> {
    let attachment = node.setup.get(ATTACHMENT).map_or("", String::as_str);
    let file = nodes::model(&format!("reference-{attachment}"), &[])?;
    let mut model = ModelNode::new(file);
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
