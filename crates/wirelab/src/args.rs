//! The command line: one definition for parsing, help, man page and completions.

use std::path::PathBuf;

use clap::{Arg, Args, Parser, Subcommand};
use wirelab_report::compare::FailIf;
use wirelab_trial::Dscp;
use wirelab_trial::open::Path;

mod board;
mod console;
mod hdl;
mod iperf;
mod iperf3;
mod measure;
mod model;
mod node;
mod results;
mod stages;

pub use board::{BoardArgs, BoardCommand, BoardConsoleArgs, BoardDisassembleArgs, BoardRunArgs};
pub use console::{ConsoleArgs, ConsoleCheckArgs, ConsoleCommand};
pub use hdl::HdlArgs;
pub use iperf::IperfArgs;
pub use iperf3::Iperf3Args;
pub use measure::{MeasureArgs, PathChoice, SearchArgs};
pub use model::{
    AuditArgs, ExplainArgs, FitArgs, ImportArgs, PredictArgs, StudyArgs, StudyCommand, WhatifArgs,
};
pub use node::{NodeArgs, NodeCommand, NodeServeArgs, ReceiveWork};
pub use results::{KeepArgs, ResultsArgs, ResultsCommand, ServeArgs, StoreArgs, joined};
pub use stages::{LENGTHS, StagesArgs};

/// Headings of the help, each with its options.
type Headings = &'static [(&'static str, &'static [&'static str])];

/// Gives an option its heading; options without one stay under "Options".
fn under_its_heading(arg: Arg, headings: Headings) -> Arg {
    let id = arg.get_id().as_str();
    match headings.iter().find(|(_, ids)| ids.contains(&id)) {
        Some((heading, _)) => arg.help_heading(*heading),
        None => arg,
    }
}

/// Options that several commands share, each with its help in the words of one of them.
type Words = &'static [(&'static str, &'static str)];

/// Gives a shared option the words of the command that has it.
fn in_words(arg: Arg, words: Words) -> Arg {
    let id = arg.get_id().as_str();
    match words.iter().find(|(shared, _)| *shared == id) {
        Some((_, help)) => arg.help(*help),
        None => arg,
    }
}

/// The size of a command that takes one alone.
fn one_size(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "frame" | "length" | "payload" | "datagram" => arg.value_name("BYTES"),
        _ => arg,
    }
}

/// Measure how fast an Ethernet node really is, where its time goes, and what a change would gain
#[derive(Debug, Parser)]
#[command(
    name = "wirelab",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(
    after_help = "Exit status: 0 done; 1 a trial failed or a limit was missed; 2 bad usage or missing privilege."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Limits(LimitsArgs),
    Lab(LabArgs),
    Send(SendArgs),
    Receive(ReceiveArgs),
    Measure(Box<MeasureArgs>),
    Iperf(Box<IperfArgs>),
    Stages(StagesArgs),
    Node(NodeArgs),
    Board(BoardArgs),
    Console(ConsoleArgs),
    Hdl(HdlArgs),
    Predict(PredictArgs),
    Explain(ExplainArgs),
    Whatif(WhatifArgs),
    Fit(FitArgs),
    Audit(AuditArgs),
    Study(StudyArgs),
    Verify(VerifyArgs),
    Pulse(PulseArgs),
    Report(ReportArgs),
    Compare(CompareArgs),
    Results(ResultsArgs),
    Serve(ServeArgs),
    Selftest(SelftestArgs),
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write one page for each command to a folder
    Man {
        /// The folder; it must exist
        folder: Option<PathBuf>,
    },
}

/// Sizes, in one of four units.
#[derive(Args, Clone, Debug)]
#[group(required = false, multiple = false)]
pub struct SizeArgs {
    /// Frame sizes in bytes, destination address through FCS (RFC 2544: 64 to 1518)
    #[arg(long, value_delimiter = ',', value_name = "BYTES,…")]
    pub frame: Vec<u32>,
    /// Lengths in bytes: the frame without FCS, as a capture shows it
    #[arg(long, value_delimiter = ',', value_name = "BYTES,…")]
    pub length: Vec<u32>,
    /// Payloads in bytes: what follows the Ethernet header, without FCS
    #[arg(long, value_delimiter = ',', value_name = "BYTES,…")]
    pub payload: Vec<u32>,
    /// Datagrams in bytes: UDP payload
    #[arg(long, value_delimiter = ',', value_name = "BYTES,…")]
    pub datagram: Vec<u32>,
}

/// Layer and tags.
#[derive(Args, Clone, Debug)]
pub struct FramingArgs {
    /// Layer: ethernet, udp4, udp6, tcp4 or tcp6 [default: ethernet; of a model the first that it supports]
    #[arg(long)]
    pub layer: Option<String>,
    /// Number of VLAN tags, 0 to 2 [default: 0]
    #[arg(long, value_name = "TAGS", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub vlan: Option<u8>,
}

/// What the shared options mean for a link alone.
const OF_LIMITS: Words = &[
    (
        "frame",
        "Frame sizes in bytes, destination address through FCS, from 64 [default: those of RFC 2544, 64 to 1518]",
    ),
    (
        "datagram",
        "Datagrams in bytes: UDP or TCP payload, with --layer",
    ),
    (
        "layer",
        "Layer: ethernet, udp4, udp6, tcp4 or tcp6 [default: ethernet]",
    ),
];

/// Calculate the limits of a link: frames/s, payload rate, efficiency, time and cycles per frame
#[derive(Args, Debug)]
#[command(mut_args(|arg| in_words(arg, OF_LIMITS)))]
pub struct LimitsArgs {
    /// Link rate in bit/s, e.g. 100M or 1G
    #[arg(long, value_name = "RATE", default_value = "1G")]
    pub rate: String,
    #[command(flatten)]
    pub size: SizeArgs,
    #[command(flatten)]
    pub framing: FramingArgs,
    /// CPU clock in Hz, e.g. 100M; adds the cycles per frame
    #[arg(long, value_name = "HZ")]
    pub cpu: Option<String>,
    /// Preamble with SFD in bytes
    #[arg(long, default_value_t = 8, value_name = "BYTES")]
    pub preamble: u32,
    /// Inter-packet gap in bytes
    #[arg(long, default_value_t = 12, value_name = "BYTES")]
    pub gap: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Make and remove labs: private network namespaces with veth pairs between them
#[derive(Args, Debug)]
pub struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Make a lab that stays until `lab down`
    Up {
        /// Its name
        #[arg(default_value = "lab")]
        name: String,
        /// Number of veth pairs
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
        pairs: u8,
        /// MTU in bytes
        #[arg(long, default_value_t = 1500)]
        mtu: u32,
        /// Shape each interface to a link rate, e.g. 100M (frames of the fast path are not shaped)
        #[arg(long, value_name = "RATE")]
        rate: Option<String>,
    },
    /// Remove a lab
    Down {
        /// Its name
        #[arg(default_value = "lab")]
        name: String,
    },
    /// Show the labs of this host
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a command on one side of a lab, and end with its exit status
    Exec {
        /// The side: node or tester
        side: String,
        /// The lab
        #[arg(long, default_value = "lab")]
        name: String,
        /// The command
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
}

/// The link rate and the extent.
#[derive(Args, Clone, Debug)]
pub struct ExtentArgs {
    /// Link rate in bit/s, e.g. 100M [default: the port's own]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Duration of each trial, e.g. 3s or 200ms
    #[arg(long, value_name = "TIME", conflicts_with = "frames")]
    pub time: Option<String>,
    /// Number of frames on each flow
    #[arg(long)]
    pub frames: Option<u64>,
}

/// Extent, faults, gaps and code point of the offered frames.
#[derive(Args, Clone, Debug)]
pub struct OfferArgs {
    #[command(flatten)]
    pub extent: ExtentArgs,
    /// Inject faults, each with its probability, e.g. drop=1e-4,corrupt=1e-5,seed=7; hardware also takes a rate, e.g.
    /// corrupt=1/s, and bad-fcs
    #[arg(long, value_name = "FAULT=P,…")]
    pub inject: Option<String>,
    /// Keep the gap between frames after a pause of this host; do not catch up in a burst
    #[arg(long)]
    pub strict_gaps: bool,
    /// Code point of the IPv4 headers that are sent: a number from 0 to 63, or a name such as EF, AF41 or CS5
    #[arg(long, value_name = "DSCP")]
    pub dscp: Option<Dscp>,
}

/// The values of a matrix; every combination is one trial.
#[derive(Args, Clone, Debug)]
pub struct MatrixArgs {
    #[command(flatten)]
    pub size: SizeArgs,
    #[command(flatten)]
    pub framing: FramingArgs,
    /// Loads: max, 95%, 50kpps, 800M (bit/s), gap=96B [default: max]
    #[arg(long, value_delimiter = ',')]
    pub load: Vec<String>,
    /// Direction as the node sees it: tx, rx, both or echo [default: tx; for a search rx]
    #[arg(long, value_delimiter = ',')]
    pub direction: Vec<String>,
    /// Number of node ports to use at once [default: all]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub ports: Vec<u32>,
    /// How frame data reaches the MAC: prefilled, copied, dma-copied, copied-ahead, in-place
    #[arg(long, value_delimiter = ',')]
    pub buffers: Vec<String>,
}

/// What the shared options mean for one sender.
const OF_SEND: Words = &[
    (
        "frame",
        "Frame size in bytes, destination address through FCS [default: 64]",
    ),
    (
        "length",
        "Length in bytes: the frame without FCS, as a capture shows it",
    ),
    (
        "payload",
        "Payload in bytes: what follows the Ethernet header, without FCS",
    ),
    ("datagram", "Datagram in bytes: UDP payload, with --layer"),
    (
        "layer",
        "Layer: ethernet, udp4, udp6, tcp4 or tcp6 [default: ethernet]",
    ),
    (
        "time",
        "Send for this time, e.g. 3s or 200ms [default: 10s]",
    ),
    ("frames", "Number of frames to send, in place of --time"),
    (
        "inject",
        "Inject faults, each with its probability, e.g. drop=1e-4,corrupt=1e-5,seed=7",
    ),
];

/// Send test frames on one interface, also to another machine
#[derive(Args, Debug)]
#[command(mut_args(|arg| one_size(in_words(arg, OF_SEND))))]
pub struct SendArgs {
    /// The port, [NAMESPACE/]INTERFACE; with --to-file the interface name in the capture
    pub port: String,
    #[command(flatten)]
    pub size: SizeArgs,
    #[command(flatten)]
    pub framing: FramingArgs,
    /// Load: max, 95%, 50kpps, 800M (bit/s) or gap=96B
    #[arg(long, default_value = "max")]
    pub load: String,
    #[command(flatten)]
    pub offer: OfferArgs,
    /// Path through the kernel: auto, xdp or packet
    #[arg(long, default_value = "auto")]
    pub path: Path,
    /// Destination MAC address
    #[arg(long, value_name = "MAC", default_value = "ff:ff:ff:ff:ff:ff")]
    pub to: String,
    /// Stream number
    #[arg(long, default_value_t = 0)]
    pub stream: u8,
    /// Write the frames into a pcapng file instead of sending them
    #[arg(long, value_name = "FILE", requires = "frames", conflicts_with_all = ["path", "strict_gaps"])]
    pub to_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Check the test frames that arrive on one interface, also from another machine
#[derive(Args, Debug)]
pub struct ReceiveArgs {
    /// The port, [NAMESPACE/]INTERFACE
    pub port: String,
    /// Stop after this time
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Stop when no frame has arrived for this long, after the first one
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub idle: String,
    /// Source MAC address of the sender; counts its frames with a damaged header
    #[arg(long, value_name = "MAC")]
    pub from: Option<String>,
    /// The only stream to check
    #[arg(long, default_value_t = 0)]
    pub stream: u8,
    /// Number of frames sent, to count losses at the end too
    #[arg(long)]
    pub sent: Option<u64>,
    /// Write all frames of the port to a pcapng file
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Replace that file if it exists
    #[arg(long, requires = "write")]
    pub overwrite: bool,
    /// Path through the kernel: auto, xdp or packet
    #[arg(long, default_value = "auto")]
    pub path: Path,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Verify the test frames of a capture: every frame and every byte
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// The capture (pcapng or pcap); - for standard input
    pub file: PathBuf,
    /// Number of frames sent, to count losses at both ends too
    #[arg(long)]
    pub sent: Option<u64>,
    /// The only stream to verify
    #[arg(long)]
    pub stream: Option<u8>,
    /// Destination UDP port of test frames
    #[arg(long, default_value_t = wirelab_wire::header::UDP_PORT)]
    pub udp_port: u16,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Find the pulses of a pin in the recording of a logic analyser or oscilloscope
#[derive(Args, Debug)]
pub struct PulseArgs {
    /// The recording: VCD, a session of sigrok (.sr), or CSV of Saleae, Rigol, Siglent, Keysight or Tektronix
    pub file: PathBuf,
    /// The channel of the pin, as the file names it, e.g. D0 [default: the only one]
    #[arg(long)]
    pub channel: Option<String>,
    /// Level of a pulse: high or low
    #[arg(long, default_value = "high", value_name = "LEVEL")]
    pub active: String,
    /// Sampling rate, e.g. 24MHz, where the file does not state it
    #[arg(long, value_name = "RATE")]
    pub sampling: Option<String>,
    /// Voltage between low and high of an analogue channel [default: half-way between its two levels]
    #[arg(long, value_name = "VOLTS", allow_hyphen_values = true)]
    pub threshold: Option<String>,
    /// Ignore shorter pulses, e.g. 1us
    #[arg(long, value_name = "TIME")]
    pub shortest: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Convert results to a page, table or file
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Results files (JSON)
    #[arg(required = true)]
    pub results: Vec<PathBuf>,
    /// Write to FILE; the extension selects the format: .html, .md, .csv, .json, .xml (JUnit), .txt, .datasheet.json,
    /// .datasheet.csv, .prom (OpenMetrics), .jsonl (a figure a line)
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Format on standard output, without --output: terminal, markdown, csv, json, junit, html, datasheet, datasheet-md,
    /// datasheet-html, datasheet-json, datasheet-csv, openmetrics, json-lines
    #[arg(long)]
    pub format: Option<String>,
    /// Write a badge (SVG) with the figure of --figure to FILE
    #[arg(long, value_name = "FILE", requires = "figure")]
    pub badge: Option<PathBuf>,
    /// Words of the trial and the name of the figure that --badge shows, e.g. "receive forwarding rate"
    #[arg(long, value_name = "WORDS", requires = "badge")]
    pub figure: Option<String>,
    /// Title of the report
    #[arg(long)]
    pub title: Option<String>,
    /// Print a row for each flow
    #[arg(long)]
    pub each_flow: bool,
    /// Print each trial, also when the results fill a datasheet
    #[arg(long, conflicts_with = "side_by_side")]
    pub trials: bool,
    /// Print the datasheets of several results in columns, as --format datasheet does
    #[arg(long)]
    pub side_by_side: bool,
}

/// Compare two runs, figure by figure: better, worse, same, or cannot tell
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  wirelab compare main.json branch.json
  wirelab compare main.json branch.json --fail-if worse:5% -o comparison.md

For a reliable result, measure both with --repeat 10. See docs/compare.md.")]
pub struct CompareArgs {
    /// The first run: a results file (JSON), or a selection of the store, as store:12 or store:node=lab:1,tag=main,last
    pub before: PathBuf,
    /// The second run
    pub after: PathBuf,
    #[command(flatten)]
    pub at: StoreArgs,
    #[command(flatten)]
    pub gate: GateArgs,
    /// Rates and times that change by less are the same
    #[arg(long, value_name = "PERCENT", default_value = "2%")]
    pub margin: String,
    /// Write to FILE; the extension selects the format: .html, .md, .csv, .json, .xml (JUnit), .txt
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// When a comparison fails.
#[derive(Args, Clone, Debug)]
pub struct GateArgs {
    /// End with 1 if a figure is worse (worse), worse by more than a share (worse:5%), or cannot be judged (cannot-tell)
    #[arg(long, value_name = "RULE,…", value_delimiter = ',')]
    pub fail_if: Vec<FailIf>,
}

/// Measure the tester's own ceiling on this host, and list what this host lacks
#[derive(Args, Debug)]
pub struct SelftestArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
