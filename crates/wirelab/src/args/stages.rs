//! The command line of `wirelab stages`.

use std::path::PathBuf;

use clap::{Arg, Args};
use wirelab_trial::Profile;
use wirelab_trial::node_type::StageOption;

use super::KeepArgs;
use crate::nodes::{self, NODE_TYPES};

/// Gives an option its heading: the nodes that take it, unless most do.
fn under_its_nodes(arg: Arg) -> Arg {
    let Some(option) = arg.get_long() else {
        return arg;
    };
    let heading = match StageOption::named(option) {
        None => "Output".to_owned(),
        Some(usual) if Profile::USUAL.stages.takes(usual) => "Trials".to_owned(),
        Some(option) => format!("Only for {}", NODE_TYPES.stages_taking(option).join(", ")),
    };
    arg.help_heading(heading)
}

/// The usual lengths.
pub const LENGTHS: [u32; 3] = [64, 256, 1024];

/// Measure where the time goes inside a node: each stage of a frame's path, by the node's capture points
#[derive(Args, Debug)]
#[command(mut_args(under_its_nodes))]
#[command(after_help = "\
lab: makes two namespaces with a veth pair, runs 'wirelab node serve' on one side, and measures it from the other. \
here:IFACE traces test frames that another machine sends through this host ('wirelab send'). A Linux node reports what \
it could not trace, and why.

A board in QEMU counts instructions, frame by frame, through the loopback of its MAC. The same image gives the same \
counts on any host, so --against distinguishes a change of the firmware from noise. Instructions are not time. With --wall the \
board runs by the host's clock on a TAP interface; its figures are times, which mean little in emulation. See docs/stages.md.

Exit status: 0 done; 1 a trial failed, or a stage grew or is missing (--against); 2 bad usage or missing privilege.")]
pub struct StagesArgs {
    /// The node, e.g. lab: or node:HOST (--help lists the types), or a results file (.json)
    #[arg(long_help = nodes::help_of_stages(), value_parser = nodes::Names::WithStages, hide_possible_values = true)]
    pub node: String,
    /// Lengths of the frames in bytes, without FCS
    #[arg(long, value_delimiter = ',', value_name = "BYTES,…", default_values_t = LENGTHS)]
    pub length: Vec<u32>,
    /// Frames of each trial [default: 512, or as many as the node can record]
    ///
    /// With --fast-track and --background, trials with the background have 2048 frames by default. So many are needed to judge
    /// the 99th percentile. hdl:reference keeps the records of 1 to 1022 frames of a trial.
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// Load of each trial that measures time, e.g. 1kpps
    #[arg(long, default_value = "1kpps", value_name = "LOAD")]
    pub load: String,
    /// Compare the fast track with the stack: frames that match RULE bypass the stack, e.g. port=1026:1027 or own,port=1026;
    /// with ethertype=0x88b5 or priority=6 the flow is Ethernet; several rules are alternatives
    #[arg(long, value_name = "RULE")]
    pub fast_track: Vec<String>,
    /// How the application waits for frames: sleep, spin or both [default: sleep; with --fast-track both]
    #[arg(long, value_name = "HOW")]
    pub wait: Option<String>,
    /// Background load: half (of the highest rate sent without loss, which is searched first), or a rate such as 50kpps or
    /// 50kpps,length=1024
    #[arg(long, value_name = "LOAD")]
    pub background: Option<String>,
    /// Probes inside the kernel: auto, fentry, raw or off
    #[arg(long, default_value = "auto", value_name = "SET")]
    pub probes: String,
    /// XDP mode of the driver's capture point and the fast track: auto, native, generic or off; of a node on another host it is
    /// an option of 'wirelab node serve'
    #[arg(long, default_value = "auto", value_name = "MODE")]
    pub xdp: String,
    /// How the MAC is attached: lite-device (slots, posted writes), lite-ordered (slots, each access acknowledged) or dma
    #[arg(long, value_name = "MAC")]
    pub mac: Option<String>,
    /// Clocks between two reads of the slots' bus, and between two writes [default: 5,3 for lite-device; 17,18 for
    /// lite-ordered]
    ///
    /// The defaults are those that the Zynq document measured. Several pairs are measured one after the other, then DMA. The
    /// report says at which wait states slots and DMA are equal.
    #[arg(long, value_delimiter = ',', value_name = "READ,WRITE")]
    pub wait_states: Vec<u8>,
    /// Add the prediction of the node's model to each delay
    #[arg(long)]
    pub predicted: bool,
    /// The UDP port of the test frames
    #[arg(long, default_value_t = wirelab_wire::header::UDP_PORT)]
    pub port: u16,
    /// The stream of the test frames
    #[arg(long, default_value_t = 0)]
    pub stream: u8,
    /// Another program receives or sends the test frames [default: wirelab receives them]
    #[arg(long, conflicts_with = "wait")]
    pub watch: bool,
    /// End after this time, e.g. 30s
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Measure a peer behind a router, or with a public address; use it only if every network on the path is yours
    #[arg(long)]
    pub routed: bool,
    /// Measure times by the board's clock, not instructions
    #[arg(long)]
    pub wall: bool,
    /// Firmware to run on a board, in place of the firmware that comes with it
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Compare the instructions of each stage with a results file; a stage that grew is a failure
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// With --against: fail only where the median of a stage grew by more than this, e.g. +2%
    #[arg(long, value_name = "SHARE")]
    pub gate: Option<String>,
    /// Write to FILE; the extension selects the format: .json (results file with all samples), .html, .md, .csv; with
    /// --against .xml (JUnit); of qemu: also .svg (flame graph) and .folded (paths of calls as text); may be given several
    /// times
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Print the table as JSON
    #[arg(long)]
    pub json: bool,
}
