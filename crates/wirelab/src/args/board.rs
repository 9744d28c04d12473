//! The options of `wirelab board`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Emulated boards that run real firmware
#[derive(Args, Debug)]
pub struct BoardArgs {
    #[command(subcommand)]
    pub command: BoardCommand,
}

#[derive(Debug, Subcommand)]
pub enum BoardCommand {
    /// Show the boards, whether each can run here, and those that do
    List {
        /// JSON for scripts
        #[arg(long)]
        json: bool,
    },
    Run(BoardRunArgs),
    Console(BoardConsoleArgs),
    Disassemble(BoardDisassembleArgs),
}

/// Run a board until Ctrl-C, and say how to reach it
#[derive(Args, Debug)]
#[command(after_help = "\
With root the board gets an interface of this host (TAP) in a network namespace of its own: ping, iperf and wirelab reach \
it from there. Without, wirelab measure board:NAME starts one of its own. docs/board.md tells more.

Exit status: 0 ended by Ctrl-C or termination; 1 the board ended or never came up; 2 bad usage, no image, no QEMU.")]
pub struct BoardRunArgs {
    /// The board (wirelab board list)
    pub board: String,
    /// Firmware in place of the board's own
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// How long the board may take until it is up
    #[arg(long, value_name = "TIME", default_value = "20s")]
    pub patience: String,
    /// One line of JSON when it is up
    #[arg(long)]
    pub json: bool,
}

/// Show what a running board prints, and send it what is typed, until Ctrl-C or the end of input
#[derive(Args, Debug)]
pub struct BoardConsoleArgs {
    /// The board: its name, or the whole of what 'wirelab board list' shows where several run
    pub board: Option<String>,
}

/// List a function of the emulated LPC1768's firmware with the cycles that it took in a scenario
#[derive(Args, Debug)]
#[command(after_help = "\
Runs 50 frames of 1,514 bytes and lists each instruction of FUNCTION that was executed: address, instruction, how often, \
cycles in the mean. So the time of AN11053's scenario 2 is explained by the compiled copy loop:
  wirelab board disassemble lpc1768 board_copy_halfwords
  wirelab board disassemble lpc1768,image=ram-pointer board_copy_halfwords")]
pub struct BoardDisassembleArgs {
    /// lpc1768, with its options behind commas (docs/board-lpc1768.md)
    pub board: String,
    /// The function, e.g. board_copy_halfwords
    pub function: String,
    /// The scenario: prefilled, copied, dma-copied, copied-ahead or in-place
    #[arg(long, default_value = "copied")]
    pub buffers: String,
    /// JSON for scripts
    #[arg(long)]
    pub json: bool,
}
