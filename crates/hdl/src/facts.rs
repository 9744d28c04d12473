//! The node type of hardware in simulation, and what holds for each of its nodes.

use wirelab_trial::facts::{Facts, Unverified};

/// The node type of `hdl:`.
pub const NODE_TYPE: &str = "hdl";

/// The bench counts every frame, and says how many bytes were verified.
pub fn facts() -> Facts {
    Facts {
        unverified: Unverified::None,
        ..Facts::default()
    }
}
