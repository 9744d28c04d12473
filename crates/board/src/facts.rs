//! The node type of boards, and what holds for each of its nodes.

use wirelab_remote::HostedBoard;
use wirelab_trial::facts::{Facts, Unverified};

/// The node type of `board:`.
pub const NODE_TYPE: &str = "board";

/// A board counts what it receives, and does not say how many bytes it verified.
pub fn facts() -> Facts {
    Facts {
        unverified: Unverified::Received,
        ..Facts::default()
    }
}

/// A board that speaks the control protocol.
pub fn hosted() -> HostedBoard {
    HostedBoard {
        node_type: NODE_TYPE,
        facts: facts(),
    }
}
