//! The command line of `wirelab measure`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Arg, Args};
use wirelab_pulse::PulseFile;
use wirelab_trial::nearest::unknown;
use wirelab_trial::open::Path as HostPath;
use wirelab_trial::{Path as NodePath, Trial};

use super::{GateArgs, Headings, KeepArgs, MatrixArgs, OfferArgs, under_its_heading};
use crate::nodes::{self, NODE_TYPES};

/// Measure a node: single trials, a matrix of them, a search for a rate, or a whole datasheet
#[derive(Args, Debug)]
#[command(mut_args(in_its_group), after_help = EXAMPLES, after_long_help = long_examples())]
pub struct MeasureArgs {
    /// The node: TYPE:TARGET, e.g. lab:1, or the name or file of a node model (--help lists the types)
    #[arg(long_help = nodes::help(), value_parser = nodes::Names::All, hide_possible_values = true)]
    pub node: String,
    #[command(flatten)]
    pub matrix: MatrixArgs,
    /// Firmware to run on a board:NAME, in place of the firmware that comes with it
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// The console of an iperf: or iperf3: board, where wirelab starts and reads a server for each trial: serial:DEVICE,BAUD,
    /// tcp:HOST:PORT, unix:PATH, ssh:USER@HOST or exec:COMMAND
    #[arg(long, value_name = "CONSOLE")]
    pub console: Option<String>,
    /// Profile of that board: a name (wirelab console list) or a file, then its variables: PROFILE,NAME=VALUE,…
    #[arg(long, value_name = "PROFILE", requires = "console")]
    pub profile: Option<String>,
    #[command(flatten)]
    pub offer: OfferArgs,
    #[command(flatten)]
    pub paths: PathArgs,
    #[command(flatten)]
    pub search: SearchArgs,
    /// Measure the whole datasheet: latency, throughput, TCP, UDP by size and rate, echo
    #[arg(long, conflicts_with_all = ["loss_curve", "bursts", "search", "plan"])]
    #[arg(conflicts_with_all = OFFERS)]
    pub datasheet: bool,
    /// Measure the datasheet in less than a minute
    ///
    /// Trials are shorter and searches coarser than with --datasheet.
    #[arg(long, conflicts_with_all = ["loss_curve", "bursts", "search", "plan"])]
    #[arg(conflicts_with_all = OFFERS)]
    pub quick: bool,
    /// Runs of each --buffers trial between ports of this host; the report has their median and spread [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub buffer_runs: Option<u32>,
    /// Repeats of each trial [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Run an unrecorded trial of this length before each trial, e.g. 200ms
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<String>,
    /// Measure a peer behind a router, or with a public address; use it only if every network on the path is yours
    #[arg(long)]
    pub routed: bool,
    /// Do not measure the tester's own ceiling first
    #[arg(long)]
    pub no_ceiling: bool,
    /// Take the pulse of a pin in this recording as the time of each trial: FILE[,channel=D0][,active=low][,sampling=24MHz]…
    ///
    /// A logic analyser or oscilloscope records the pin, which is active while the node sends; save the recording when the
    /// trials are over. The pulses are those of the trials, in their order. See docs/real-lpc1768.md.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "loss_curve", "bursts", "search", "datasheet", "quick", "plan"])]
    pub pulse: Option<PulseFile>,
    /// Write every frame that arrives into a pcapng file
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// Run the trials of a plan file, in place of options
    #[arg(long, value_name = "FILE", conflicts_with_all = OFFERS)]
    #[arg(conflicts_with_all = ["loss_curve", "bursts", "search", "rate"])]
    pub plan: Option<PathBuf>,
    /// Continue an interrupted run from its results file (.json), of the same node and plan; finished trials are not repeated
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Write results to FILE: .json (results file), .html, .md, .csv or .xml (JUnit)
    ///
    /// May be given several times.
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Compare with an earlier run, after the table: its results file, or a selection of the store, as store:tag=main,last
    #[arg(long, value_name = "RUN")]
    pub against: Option<PathBuf>,
    #[command(flatten)]
    pub gate: GateArgs,
    /// Print a row for each flow
    #[arg(long)]
    pub each_flow: bool,
    /// Print the results file (JSON) on standard output
    #[arg(long)]
    pub json: bool,
}

impl MeasureArgs {
    /// Copies the options that are common to all trials into `trial`.
    pub fn share(&self, trial: &mut Trial) {
        trial.strict_gaps = self.offer.strict_gaps;
        trial.rule.clone_from(&self.paths.rule);
        trial.dscp = self.offer.dscp;
    }
}

/// What `-h` shows after its options.
const EXAMPLES: &str = "\
Examples:
  wirelab measure lab:1 --frame 64,1518 --time 1s              two frame sizes, on this machine
  wirelab measure ports:eth0:eth1 --frame 64 --search no-loss  highest rate without loss
  wirelab measure node:192.0.2.7 -o board.json -o board.html   datasheet of a board, and its page
  wirelab measure iperf:192.0.2.7 --layer tcp4 --direction rx  one iperf trial
  wirelab measure lpc1768 --length 1514 --buffers copied       a node model

--help shows all options.";

/// What `--help` shows after its options.
fn long_examples() -> String {
    let types = NODE_TYPES.with_datasheet().join(", ");
    format!(
        "For the node types {types}, wirelab measures the whole datasheet, unless an option under \"What to offer\" or \"Search\" or \
         a path through the node (--path stack, driver or fast-track) requests other trials.\n\n{LONG_EXAMPLES}"
    )
}

const LONG_EXAMPLES: &str = "\
Examples:
  wirelab measure lab:1 --frame 64,1518 --time 1s
  wirelab measure ports:eth0:eth1 --frame 64 --search no-loss
  wirelab measure node:192.0.2.7 -o board.json -o board.html
  wirelab measure iperf:192.0.2.7 --layer tcp4 --direction rx
  wirelab measure lpc1768 --length 1514 --buffers copied

See docs/datasheet.md, docs/plans.md and docs/search.md.";

/// The options that `-h` shows.
const SHORT_HELP: [&str; 10] = [
    "frame",
    "layer",
    "load",
    "direction",
    "rate",
    "time",
    "search",
    "quick",
    "plan",
    "output",
];

/// Every other option is under "What to offer".
const HEADINGS: Headings = &[
    (
        "How to measure",
        &[
            "path",
            "image",
            "console",
            "profile",
            "pulse",
            "buffer_runs",
            "routed",
            "no_ceiling",
            "resume",
        ],
    ),
    (
        "Search",
        &[
            "search",
            "loss_curve",
            "bursts",
            "trials",
            "exceed",
            "width",
            "around",
        ],
    ),
    (
        "Output",
        &[
            "output",
            "against",
            "fail_if",
            "each_flow",
            "json",
            "capture",
            "store",
            "tag",
        ],
    ),
];

/// Gives an option its heading in the help, and hides the rare ones from `-h`.
fn in_its_group(arg: Arg) -> Arg {
    if arg.is_positional() {
        return arg;
    }
    let id = arg.get_id().as_str();
    let is_rare = !SHORT_HELP.contains(&id);
    let arg = arg.help_heading("What to offer").hide_short_help(is_rare);
    under_its_heading(arg, HEADINGS)
}

/// The options about what to offer, beside the link's rate, which a datasheet takes.
const OFFERS: [&str; 21] = [
    "frame",
    "length",
    "payload",
    "datagram",
    "layer",
    "vlan",
    "load",
    "time",
    "frames",
    "inject",
    "strict_gaps",
    "dscp",
    "direction",
    "ports",
    "buffers",
    "repeat",
    "warmup",
    "wait",
    "rule",
    "background",
    "probes",
];

/// The path of a trial's frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathChoice {
    /// Through this host's kernel.
    Host(HostPath),
    /// Through the node: trials of each.
    Node(Vec<NodePath>),
}

impl FromStr for PathChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<PathChoice, String> {
        let of_node: Option<Vec<NodePath>> =
            text.split(',').map(|word| word.parse().ok()).collect();
        let known = || HostPath::WORDS.iter().chain(NodePath::WORDS).copied();
        match of_node {
            Some(paths) => Ok(PathChoice::Node(paths)),
            None => text
                .parse()
                .map(PathChoice::Host)
                .map_err(|_| unknown("path", text, known())),
        }
    }
}

impl fmt::Display for PathChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathChoice::Host(path) => path.fmt(f),
            PathChoice::Node(paths) => {
                let paths: Vec<String> = paths.iter().map(NodePath::to_string).collect();
                f.write_str(&paths.join(","))
            }
        }
    }
}

/// The path of frames, and background traffic.
#[derive(Args, Clone, Debug)]
pub struct PathArgs {
    /// Path of frames: through this host's kernel auto, xdp or packet; through a node stack, driver or fast-track
    #[arg(long, default_value = "auto")]
    pub path: PathChoice,
    /// How the node's application waits for frames: sleep (blocks) or spin (polls)
    #[arg(long, value_delimiter = ',', value_name = "WAIT,…")]
    pub wait: Vec<String>,
    /// Frames that take the fast track, e.g. port=1026 or ethertype=0x88b5,priority=6 [default: those of the trial]
    #[arg(long, value_name = "RULE")]
    pub rule: Option<String>,
    /// Send a second flow to the node during each trial: LOAD or LOAD,UNIT=BYTES, e.g. 50kpps,length=64; an echo is also measured
    /// without it
    #[arg(long, value_name = "LOAD")]
    pub background: Option<String>,
    /// Probes at the capture points of a Linux node: auto, fentry, raw or off
    #[arg(long, value_delimiter = ',', value_name = "PROBES,…")]
    pub probes: Vec<String>,
}

impl PathArgs {
    /// Whether any of them requests another trial.
    pub fn is_given(&self) -> bool {
        self.is_of_node()
            || !self.wait.is_empty()
            || self.rule.is_some()
            || self.background.is_some()
            || !self.probes.is_empty()
    }

    /// The path through this host's kernel.
    pub const fn host_path(&self) -> HostPath {
        match self.path {
            PathChoice::Host(path) => path,
            PathChoice::Node(_) => HostPath::Auto,
        }
    }

    /// Whether the path is one through the node.
    pub const fn is_of_node(&self) -> bool {
        matches!(self.path, PathChoice::Node(_))
    }
}

/// Searches, whose next trial depends on the results so far.
#[derive(Args, Clone, Debug)]
pub struct SearchArgs {
    /// Search the highest rate for each goal: no-loss, or a tolerated loss, e.g. loss=2.5%
    #[arg(long, value_delimiter = ',', value_name = "GOAL,…")]
    pub search: Vec<String>,
    /// Measure loss against load, from the highest load down (RFC 2544, 26.3)
    #[arg(long, conflicts_with_all = ["search", "bursts"])]
    pub loss_curve: bool,
    /// Search the longest burst at line rate without loss (RFC 9004)
    #[arg(long, conflicts_with_all = ["search", "loss_curve"])]
    pub bursts: bool,
    /// Full-length trials at each load before the search decides
    #[arg(long, value_name = "N", requires = "search", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub trials: Option<u64>,
    /// Share of those trials that may exceed the goal's loss, e.g. 50%
    #[arg(long, value_name = "SHARE", requires = "search")]
    pub exceed: Option<String>,
    /// Relative width of the interval at which the search stops, e.g. 1%
    #[arg(long, value_name = "SHARE", requires = "search")]
    pub width: Option<String>,
    /// Then measure at these shares of the rate found, e.g. 50%,90%,110%
    #[arg(
        long,
        value_name = "SHARE,…",
        requires = "search",
        value_delimiter = ','
    )]
    pub around: Vec<String>,
}

impl SearchArgs {
    /// Whether a search is requested.
    pub fn is_given(&self) -> bool {
        self.loss_curve || self.bursts || !self.search.is_empty()
    }
}
