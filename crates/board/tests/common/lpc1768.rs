//! The emulated LPC1768 for the tests of its node.

use wirelab_board::lpc1768::{Lpc1768Node, Lpc1768Options};
use wirelab_trial::{
    Cancel, Direction, Extent, Framing, Load, Node, Observation, Size, SizeUnit, Trial,
};

use super::has_image;

/// The board with its image in RAM, or none after printing the reason.
pub fn board(options: &Lpc1768Options) -> Option<Lpc1768Node> {
    has_image("lpc1768")
        .then(|| Lpc1768Node::start("board:lpc1768", options).unwrap_or_else(|e| panic!("{e}")))
}

pub fn trial(direction: Direction, frames: u64, length: u32) -> Trial {
    Trial::new(
        Framing::default(),
        direction,
        Size::new(SizeUnit::Length, length),
        Load::Max,
        Extent::Frames { frames },
    )
}

pub fn run(node: &mut Lpc1768Node, trial: &Trial) -> Observation {
    let ran = node.run(trial, &(), &Cancel::new());
    ran.unwrap_or_else(|error| panic!("{error}"))
}
