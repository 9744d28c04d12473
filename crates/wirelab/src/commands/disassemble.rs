//! `wirelab board disassemble`: a function of the emulated LPC1768's firmware with the cycles that it took.

use serde_json::json;
use wirelab_board::lpc1768::{Lpc1768Node, Lpc1768Options};
use wirelab_trial::{Direction, Extent, Framing, Load, Size, SizeUnit, Trial};

use crate::args::BoardDisassembleArgs;
use crate::boards::failure;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, say};

pub fn run(args: &BoardDisassembleArgs) -> Result {
    let board = args.board.strip_prefix("board:").unwrap_or(&args.board);
    let options = board
        .strip_prefix("lpc1768")
        .filter(|rest| rest.is_empty() || rest.starts_with(','));
    let Some(options) = options else {
        return Err(Failure::usage(format!(
            "{board}: cycles are known of board lpc1768 alone; the others run in QEMU, which counts none"
        )));
    };
    let options = Lpc1768Options::parse(options).map_err(failure)?;
    let buffers = args.buffers.parse().map_err(Failure::usage)?;
    let mut node = Lpc1768Node::start("board:lpc1768", &options).map_err(failure)?;
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
