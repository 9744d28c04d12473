//! The command line of `wirelab stages`.

use std::path::PathBuf;

use clap::Args;

/// Where the time goes inside a node: each stage of a frame's way, by the node's own capture points
#[derive(Args, Debug)]
#[command(after_help = "\
A board in QEMU counts instructions, frame by frame through the loopback inside its MAC: the same image gives the same \
figures on any host, busy or not, so that --against can tell a change of the firmware from noise. Instructions are \
no time; with --wall the board runs by the host's clock on a TAP, and the figures are times that mean little in \
emulation. docs/stages.md tells more.

Exit status: 0 done; 1 a trial failed, or a stage grew or is gone (--against); 2 bad usage or missing privilege.")]
pub struct StagesArgs {
    /// board:NAME, node:HOST[:PORT], or a results file (.json) to take the stages from
    pub node: String,
    /// Lengths of the frames in bytes, without FCS
    #[arg(long, value_delimiter = ',', value_name = "BYTES,…", default_values_t = [64, 256, 1024])]
    pub length: Vec<u32>,
    /// Frames of each trial [default: 512, or as many as board:lpc1768 keeps the times of]
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// Load of each trial where time is measured, e.g. 1kpps
    #[arg(long, default_value = "1kpps", value_name = "LOAD")]
    pub load: String,
    /// Times by a board's own clock, not instructions
    #[arg(long)]
    pub wall: bool,
    /// The firmware of a board in place of the one that was built
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Compare the instructions of each stage with those of a results file; a stage that grew fails
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Where to write: .json (results file with all samples), .html, .md, .csv; may be given several times
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// The table on standard output as JSON, for scripts
    #[arg(long)]
    pub json: bool,
}
