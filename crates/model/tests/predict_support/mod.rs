//! Nodes of the library and what is predicted of them, for the tests of `predict`.

use wirelab_model::file::NodeFile;
use wirelab_model::library;
use wirelab_model::node::ModelNode;
use wirelab_trial::{
    Cancel, Direction, Extent, Framing, Layer, Load, Node, Observation, Size, Trial,
};

/// A node of the library.
pub fn node(name: &str) -> NodeFile {
    library::open(name).expect("it comes with the tool")
}

/// A trial of a second as fast as the node can.
pub fn trial(layer: Layer, direction: Direction, size: Size) -> Trial {
    Trial::new(
        Framing {
            layer,
            vlan_tags: 0,
        },
        direction,
        size,
        Load::Max,
        Extent::Time {
            time_ps: 1_000_000_000_000,
        },
    )
}

/// What its model predicts.
pub fn run(file: NodeFile, trial: &Trial) -> Observation {
    ModelNode::new(file)
        .run(trial, &(), &Cancel::new())
        .expect("the node can do it")
}
