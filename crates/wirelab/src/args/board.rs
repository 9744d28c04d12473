//! The options of `wirelab board`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// List, run and inspect emulated boards, which run real firmware
#[derive(Args, Debug)]
pub struct BoardArgs {
    #[command(subcommand)]
    pub command: BoardCommand,
}

#[derive(Debug, Subcommand)]
pub enum BoardCommand {
    /// List the boards, whether each can run here, and which ones run
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    Run(BoardRunArgs),
    Console(BoardConsoleArgs),
    Disassemble(BoardDisassembleArgs),
}

/// Run a board until Ctrl-C, and print how to reach it
#[derive(Args, Debug)]
#[command(after_help = "\
As root, the board gets a TAP interface of this host in a private network namespace. ping, iperf and wirelab reach it \
there. Without root, use wirelab measure board:NAME, which starts its own board. See docs/board.md.

Exit status: 0 ended by Ctrl-C or termination; 1 the board ended or never came up; 2 bad usage, no image, no QEMU.")]
pub struct BoardRunArgs {
    /// The board (wirelab board list)
    pub board: String,
    /// Firmware to run, in place of the firmware that comes with the board
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Wait this long for the board to start
    #[arg(long, value_name = "TIME", default_value = "20s")]
    pub patience: String,
    /// Print one line of JSON when the board is up
    #[arg(long)]
    pub json: bool,
}

/// Connect the terminal to the console of a running board, until Ctrl-C or end of input
#[derive(Args, Debug)]
pub struct BoardConsoleArgs {
    /// The board by name; if several run, the full name that 'wirelab board list' shows
    pub board: Option<String>,
}

/// Disassemble a firmware function of the emulated LPC1768, with the cycles it took in a scenario
#[derive(Args, Debug)]
#[command(after_help = "\
Runs 50 frames of 1,514 bytes and lists each executed instruction of FUNCTION: address, instruction, count, average \
cycles. For example, the compiled copy loop explains the time of AN11053's scenario 2:
  wirelab board disassemble lpc1768 board_copy_halfwords
  wirelab board disassemble lpc1768,image=ram-pointer board_copy_halfwords")]
pub struct BoardDisassembleArgs {
    /// lpc1768, with options separated by commas (docs/board-lpc1768.md)
    pub board: String,
    /// The function, e.g. board_copy_halfwords
    pub function: String,
    /// The scenario: prefilled, copied, dma-copied, copied-ahead or in-place
    #[arg(long, default_value = "copied")]
    pub buffers: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
