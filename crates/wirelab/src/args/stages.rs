//! The command line of `wirelab stages`.

use std::path::PathBuf;

use clap::Args;

/// Where the time goes inside a node: each stage of a frame's way, by the node's own capture points
#[derive(Args, Debug)]
#[command(after_help = "\
lab: makes a lab of two namespaces and a veth pair, starts this program in it as 'wirelab node serve', and asks it from \
the other side. here:IFACE watches the test frames that somebody else sends ('wirelab send' on another machine) on their \
way through this host. A Linux node tells what it could not trace, and why.

A board in QEMU counts instructions, frame by frame through the loopback inside its MAC: the same image gives the same \
figures on any host, busy or not, so that --against can tell a change of the firmware from noise. Instructions are \
no time; with --wall the board runs by the host's clock on a TAP, and the figures are times that mean little in \
emulation. docs/stages.md tells more.

Exit status: 0 done; 1 a trial failed, or a stage grew or is gone (--against); 2 bad usage or missing privilege.")]
pub struct StagesArgs {
    /// lab: (a lab made for it), lab:NAME, node:HOST[:PORT], here:IFACE, board:NAME, hdl:reference, or a results file (.json)
    pub node: String,
    /// hdl:reference: how the MAC is attached: lite-device (slots, posted writes), lite-ordered (slots, every access
    /// answered) or dma
    #[arg(long, value_name = "MAC")]
    pub mac: Option<String>,
    /// hdl:reference with slots: clocks from one read of the MAC's bus to the next, and from one write to the next [default:
    /// 5,3 for lite-device and 17,18 for lite-ordered, as the Zynq document measured them]. Given several times it measures
    /// slots with each, and DMA, and says where the two are level
    #[arg(long, value_delimiter = ',', value_name = "READ,WRITE")]
    pub wait_states: Vec<u8>,
    /// hdl:reference: put beside each delay what the node's model predicts
    #[arg(long)]
    pub predicted: bool,
    /// Lengths of the frames in bytes, without FCS
    #[arg(long, value_delimiter = ',', value_name = "BYTES,…", default_values_t = [64, 256, 1024])]
    pub length: Vec<u32>,
    /// Frames of each trial [default: 512, or as many as board:lpc1768 keeps the times of; 2048 where the fast track is
    /// judged by its 99 %, beside a background]. The capture units of hdl:reference keep the records of 1 to 1022 frames of a
    /// trial
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// Load of each trial where time is measured, e.g. 1kpps
    #[arg(long, default_value = "1kpps", value_name = "LOAD")]
    pub load: String,
    /// Show the fast track beside the stack: frames that match RULE go past it, e.g. port=1026:1027 or own,port=1026; with
    /// ethertype=0x88b5 or priority=6 the flow is Ethernet; several rules are alternatives
    #[arg(long, value_name = "RULE")]
    pub fast_track: Vec<String>,
    /// How the application waits: sleep, spin or both; both with --fast-track, sleep without
    #[arg(long, value_name = "HOW")]
    pub wait: Option<String>,
    /// What else arrives meanwhile: half (of the highest rate that was really sent without loss, which is searched first),
    /// or a rate such as 50kpps or 50kpps,length=1024
    #[arg(long, value_name = "LOAD")]
    pub background: Option<String>,
    /// What takes the times inside the kernel: auto, fentry, raw or off
    #[arg(long, default_value = "auto", value_name = "SET")]
    pub probes: String,
    /// How the driver's point and the fast track are had: auto, native, generic or off (lab: and here:; elsewhere 'wirelab
    /// node serve' is told)
    #[arg(long, default_value = "auto", value_name = "MODE")]
    pub xdp: String,
    /// here:IFACE: the UDP port of the test frames
    #[arg(long, default_value_t = wirelab_wire::header::UDP_PORT)]
    pub port: u16,
    /// here:IFACE: the stream of the test frames
    #[arg(long, default_value_t = 0)]
    pub stream: u8,
    /// here:IFACE: another program receives or sends the test frames; without it wirelab receives them itself
    #[arg(long)]
    pub watch: bool,
    /// here:IFACE: end after this time, e.g. 30s
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
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
