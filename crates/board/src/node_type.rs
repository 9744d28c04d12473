//! Names of boards: `board:NAME`, with options for the one that this project emulates itself.

use wirelab_trial::node_type::{StageOption, StageProfile};
use wirelab_trial::{
    NameError, Node, NodeName, NodeType, OpenError, OpenOptions, Profile, Purpose,
};

use crate::count::CountNode;
use crate::facts::NODE_TYPE;
use crate::lpc1768::Lpc1768Node;
use crate::node::BoardNode;
use crate::{Emulator, Options, catalogue};

/// The node type of `board:`.
pub static BOARD: NodeType = NodeType {
    about: "firmware on an emulated board (wirelab board list)",
    target: "NAME",
    examples: &["board:zynq7000", "board:mps2-an385", "board:lpc1768"],
    with_stages: &["board:NAME"],
    profile: |name| {
        let emulator = catalogue::find(name.target()).ok().map(|b| b.emulator);
        Profile {
            datasheet: true,
            takes_image: true,
            takes_ports: emulator.is_some_and(|emulator| emulator != Emulator::Own),
            stages: StageProfile {
                options: &[StageOption::Length, StageOption::Count, StageOption::Load],
                // Times of this project's emulator are simulated, so there is no other clock to choose.
                more: match emulator {
                    Some(Emulator::Own) => {
                        &[StageOption::Image, StageOption::Against, StageOption::Gate]
                    }
                    _ => &[
                        StageOption::Wall,
                        StageOption::Image,
                        StageOption::Against,
                        StageOption::Gate,
                    ],
                },
                ..Profile::USUAL.stages
            },
            ..Profile::USUAL
        }
    },
    ..NodeType::new(NODE_TYPE, open)
};

fn open(name: &NodeName, options: &OpenOptions) -> Result<Box<dyn Node>, OpenError> {
    let board = catalogue::find(name.target())?;
    if board.emulator == Emulator::Own {
        return emulated(name, options);
    }
    name.only_options(&[], "leave it out, since the boards in QEMU have none")?;
    let of_board = Options {
        image: options.image.clone(),
        ..Options::default()
    };
    match options.purpose {
        Purpose::Stages {
            by_clock: false, ..
        } => {
            let node = CountNode::open(&name.to_string(), board.name, &of_board)?;
            Ok(Box::new(node))
        }
        _ => {
            let node = BoardNode::start(&name.to_string(), board.name, &of_board, options.ports)?;
            Ok(Box::new(node))
        }
    }
}

/// A board whose firmware is one of its options.
fn emulated(name: &NodeName, options: &OpenOptions) -> Result<Box<dyn Node>, OpenError> {
    let name = match &options.image {
        None => name.clone(),
        Some(image) => match options.purpose {
            Purpose::Stages { .. } => {
                let why = format!(
                    "--image is for boards in QEMU; fix: write {name},image={}",
                    image.display()
                );
                return Err(NameError::new(name, why).into());
            }
            _ => name.with("image", image.display())?,
        },
    };
    Ok(Box::new(Lpc1768Node::open(&name)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BOARDS;

    #[test]
    fn the_examples_are_the_boards() {
        let names = BOARDS.iter().map(|board| format!("board:{}", board.name));
        assert!(names.eq(BOARD.examples.iter().copied()));
    }

    #[test]
    fn a_board_that_is_none_or_has_no_such_option_is_refused() {
        let message = |text: &str| {
            let name = text.parse().unwrap();
            let opened = open(&name, &OpenOptions::default());
            opened.err().unwrap().to_string()
        };
        for (text, words) in [
            (
                "board:zynq",
                "there is no board 'zynq'; did you mean 'zynq7000'? fix: write one of zynq7000",
            ),
            ("board:zynq7000,image=x", "unknown option 'image'"),
            ("board:lpc1768,colour=red", "unknown option 'colour'"),
        ] {
            assert!(message(text).contains(words), "{}", message(text));
        }
    }
}
