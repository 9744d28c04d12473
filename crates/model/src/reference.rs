//! The delays of the reference node from its models, with the node's own names of the points.

use wirelab_trial::crossover::{ATTACHMENT, READ_CLOCKS, WRITE_CLOCKS};
use wirelab_trial::node_type::Setup;
use wirelab_trial::stage::{CapturePoint as Point, StageName};
use wirelab_trial::{
    Cancel, Description, Direction, Extent, Framing, Layer, Load, Node, NodeError, Observation,
    Size, SizeUnit, Trial,
};

use crate::file::NodeFile;
use crate::library;
use crate::node::ModelNode;

/// Capture points of the models, and the node's stage to or from each, in the order of the path.
const POINTS: [(Direction, [(&str, StageName<'static>); 3]); 2] = [
    (
        Direction::Receive,
        [
            ("Interrupt entered", stage(Point::LINE, Point::INTERRUPT)),
            ("Rx PBUF", stage(Point::LINE, Point::DRIVER)),
            ("Rx UDP", stage(Point::LINE, Point::APPLICATION)),
        ],
    ),
    (
        Direction::Transmit,
        [
            ("Tx UDP", stage(Point::APPLICATION, Point::LINE)),
            ("Tx PBUF", stage(Point::DRIVER, Point::LINE)),
            ("MAC triggered", stage(Point::MAC, Point::LINE)),
        ],
    ),
];

const fn stage(from: Point, to: Point) -> StageName<'static> {
    StageName::new(from.word(), to.word())
}

/// Refuses a node if its set-up keys give a bus clock other than its model's.
///
/// # Errors
/// [`NodeError::BadTrial`] with both clocks, or without a model of the node.
pub fn same_bus(setup: &Setup) -> Result<(), NodeError> {
    let file = model(setup)?;
    for key in [READ_CLOCKS, WRITE_CLOCKS] {
        let [node, model] =
            [setup, &file.setup].map(|keys| keys.get(key).map_or("none", String::as_str));
        if node != model {
            return Err(NodeError::BadTrial(format!(
                "--predicted: {key} of the node is {node}, and the model {} is of {model}, as the document has it; fix: leave \
                 read-clocks and write-clocks out",
                file.name
            )));
        }
    }
    Ok(())
}

/// The model of a node by its set-up keys.
fn model(setup: &Setup) -> Result<NodeFile, NodeError> {
    let attachment = setup.get(ATTACHMENT).map_or("", String::as_str);
    library::open(&format!("reference-{attachment}")).map_err(NodeError::bad)
}

/// The delays that the model of a node predicts for each length, in both directions.
///
/// # Errors
/// [`NodeError`] without a model of the node, or if the model cannot do the trial.
pub fn delays(
    node: &Description,
    lengths: &[u32],
    frames: u64,
    cancel: &Cancel,
) -> Result<Vec<Observation>, NodeError> {
    let mut model = ModelNode::new(model(&node.setup)?);
    let mut all = Vec::new();
    for (direction, points) in POINTS {
        for length in lengths {
            let framing = Framing {
                layer: Layer::UdpIpv4,
                vlan_tags: 0,
            };
            let size = Size::new(SizeUnit::Length, *length);
            let extent = Extent::Frames { frames };
            let trial = Trial::new(framing, direction, size, Load::Max, extent);
            let mut observation = model.run(&trial, &(), cancel)?;
            for flow in &mut observation.flows {
                let mut series = std::mem::take(&mut flow.series);
                for (point, stage) in points {
                    let found = series.iter().position(|series| series.name == point);
                    let Some(at) = found else { continue };
                    let mut delay = series.swap_remove(at);
                    delay.name = stage.into();
                    flow.series.push(delay);
                }
            }
            all.push(observation);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_say_the_clocks_that_they_are_of() {
        for (mac, parameter, key) in [
            ("lite-device", "slot-read", READ_CLOCKS),
            ("lite-ordered", "slot-read", READ_CLOCKS),
            ("lite-ordered", "slot-write", WRITE_CLOCKS),
        ] {
            let file = library::open(&format!("reference-{mac}")).unwrap();
            let clocks: f64 = file.setup[key].parse().unwrap();
            assert_eq!(file.parameters[parameter].value, clocks, "{mac}");
        }
    }
}
