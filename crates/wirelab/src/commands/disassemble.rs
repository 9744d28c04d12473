//! `wirelab board disassemble`: a function of the emulated LPC1768's firmware with its cycles.

use serde_json::json;
use wirelab_board::lpc1768::Lpc1768Node;
use wirelab_board::{BOARD, Emulator, catalogue};
use wirelab_trial::{Direction, Extent, Framing, Load, NodeName, OpenError, Size, SizeUnit, Trial};

use crate::args::BoardDisassembleArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, say};

pub fn run(args: &BoardDisassembleArgs) -> Result {
    let name: NodeName = match args.board.parse::<NodeName>()? {
        bare if bare.is_bare() => format!("{}:{bare}", BOARD.name).parse()?,
        name => name,
    };
    let board = catalogue::find(name.target()).map_err(OpenError::from)?;
    if board.emulator != Emulator::Own {
        return Err(Failure::usage(format!(
            "{}: QEMU counts no cycles; fix: name board:lpc1768",
            board.name
        )));
    }
    let buffers = args.buffers.parse().map_err(Failure::usage)?;
    let mut node = Lpc1768Node::open(&name)?;
    let trial = Trial {
        buffers: Some(buffers),
        ..Trial::new(
            Framing::default(),
            Direction::Transmit,
            Size::new(SizeUnit::Length, 1514),
            Load::Max,
            Extent::Frames { frames: 50 },
        )
    };
    let lines = node.listing(&args.function, &trial, &cancel_on_signal())?;
    if args.json {
        let spent = node.board().machine().spent();
        let rows = lines.into_iter().zip(spent).map(|(line, spent)| {
            let instruction = line.split("  ").nth(1).unwrap_or_default();
            json!({
                "address": spent.address, "instruction": instruction,
                "count": spent.count, "cycles": spent.cycles,
            })
        });
        let rows: Vec<serde_json::Value> = rows.collect();
        say!("{}", serde_json::Value::from(rows));
        return Ok(Outcome::Done);
    }
    if lines.is_empty() {
        say!("{} was not executed with buffers {buffers}", args.function);
    }
    for line in lines {
        say!("{line}");
    }
    Ok(Outcome::Done)
}
