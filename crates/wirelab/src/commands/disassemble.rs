//! `wirelab board disassemble`: a function of the emulated LPC1768's firmware with its cycles.

use wirelab_board::lpc1768::{ListedInstruction, Lpc1768Node};
use wirelab_board::{BOARD, Emulator, catalogue};
use wirelab_report::document::Block;
use wirelab_report::document::table::{Cell, Head, Shown, Table};
use wirelab_report::format;
use wirelab_trial::{
    Direction, Extent, Field, Framing, Load, NodeName, OpenError, Size, SizeUnit, Trial,
};

use crate::args::BoardDisassembleArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, say, show, show_json_line};

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
        show_json_line(&lines)?;
    } else if lines.is_empty() {
        say!("{} was not executed with buffers {buffers}", args.function);
    } else {
        show(String::new(), vec![Block::Table(table(lines))]);
    }
    Ok(Outcome::Done)
}

/// Cycles are counted, the same on every host.
fn table(lines: Vec<ListedInstruction>) -> Table {
    let figures = |name| Head::figures(name, "", Shown::Always, 0);
    let heads = vec![
        Head::words("address", Shown::Always, 0),
        Head::words("instruction", Shown::Always, 0),
        figures("times"),
        figures("cycles a time"),
    ];
    let row = |line: ListedInstruction| {
        let each = line.cycles_each();
        vec![
            format!("{:08x}", line.address).into(),
            line.instruction.into(),
            Cell::of(Field::measured(line.count), format::integer),
            Cell::of(Field::measured(each), |each| format::decimal(each, 2)),
        ]
    };
    Table::new("", heads, lines.into_iter().map(row).collect())
}
