//! The command line of `wirelab measure`.

use std::path::PathBuf;

use clap::Args;
use wirelab_trial::Trial;

use super::{MatrixArgs, OfferArgs};

/// Measure a node: a matrix of sizes, loads, directions and buffers, a search for a rate, or a whole datasheet
#[derive(Args, Debug)]
#[command(
    after_help = "An iperf:, iperf3:, node: or board: without options that say what to offer is asked the whole datasheet. \
                  docs/datasheet.md, docs/plans.md and docs/search.md tell more."
)]
pub struct MeasureArgs {
    /// lab:N (N veth pairs of its own), ports:[NS/]A:[NS/]B,… (the first of a pair is the node's side),
    /// iperf:HOST[:PORT], iperf3:HOST[:PORT], node:HOST[:PORT], board:NAME (wirelab board list), hdl:N (N ports of hardware in simulation),
    /// hdl:reference[,mac=…] (a SoC in simulation), or the name or file of a node model
    pub node: String,
    /// Firmware of a board:NAME in place of its own
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    #[command(flatten)]
    pub matrix: MatrixArgs,
    #[command(flatten)]
    pub offer: OfferArgs,
    #[command(flatten)]
    pub ways: WayArgs,
    #[command(flatten)]
    pub search: SearchArgs,
    /// The built-in datasheet plan: latency, throughput, TCP, UDP by size and rate, echo
    #[arg(long, conflicts_with_all = ["loss_curve", "bursts", "search", "plan"])]
    #[arg(conflicts_with_all = OFFERS)]
    pub datasheet: bool,
    /// The same datasheet in under a minute, with shorter trials and coarser searches
    #[arg(long, conflicts_with_all = ["loss_curve", "bursts", "search", "plan"])]
    #[arg(conflicts_with_all = OFFERS)]
    pub quick: bool,
    /// Runs of each trial of buffers, of which median and spread are taken
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub buffer_runs: u32,
    /// Repeats of each trial
    #[arg(long, default_value_t = 1)]
    pub repeat: u32,
    /// Unrecorded trial before each, e.g. 200ms
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<String>,
    /// Do not measure the tester's own ceiling first
    #[arg(long)]
    pub no_ceiling: bool,
    /// Write every frame that arrives into a pcapng file
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// A plan file instead of options that say what to offer
    #[arg(long, value_name = "FILE", conflicts_with_all = OFFERS)]
    #[arg(conflicts_with_all = ["loss_curve", "bursts", "search"])]
    pub plan: Option<PathBuf>,
    /// Go on with a results file (.json) of the same node and plan that was ended early: what it holds is not asked again
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Where to write: .json (results file), .html, .md, .csv, .xml (JUnit); may be given several times
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// A row for each flow
    #[arg(long)]
    pub each_flow: bool,
    /// The results file on standard output, for scripts
    #[arg(long)]
    pub json: bool,
}

impl MeasureArgs {
    /// Put into `trial` what all trials of the options have alike, and no list has.
    pub fn share(&self, trial: &mut Trial) {
        trial.strict_gaps = self.offer.strict_gaps;
        trial.rule.clone_from(&self.ways.rule);
    }
}

/// The options that say what to offer.
const OFFERS: [&str; 21] = [
    "frame",
    "length",
    "payload",
    "datagram",
    "layer",
    "vlan",
    "load",
    "rate",
    "time",
    "frames",
    "inject",
    "strict_gaps",
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

/// The way through a node, with --path, and what else it has to do.
#[derive(Args, Clone, Debug)]
pub struct WayArgs {
    /// How the node's application waits for frames: sleep or spin
    #[arg(long, value_delimiter = ',', value_name = "WAIT,…")]
    pub wait: Vec<String>,
    /// The frames that take the fast track, e.g. port=1026 or ethertype=0x88b5,priority=6; those of the trial without it
    #[arg(long, value_name = "RULE")]
    pub rule: Option<String>,
    /// A second flow to the node meanwhile: LOAD or LOAD,UNIT=BYTES, e.g. 50kpps,length=64; an echo is asked without it too
    #[arg(long, value_name = "LOAD")]
    pub background: Option<String>,
    /// What takes the times at a Linux node's capture points: auto, fentry, raw or off
    #[arg(long, value_delimiter = ',', value_name = "PROBES,…")]
    pub probes: Vec<String>,
}

impl WayArgs {
    /// Whether any of them is given.
    pub fn is_asked(&self) -> bool {
        !self.wait.is_empty()
            || self.rule.is_some()
            || self.background.is_some()
            || !self.probes.is_empty()
    }
}

/// Trials chosen by what the ones before gave.
#[derive(Args, Clone, Debug)]
pub struct SearchArgs {
    /// Search the rates of these goals: no-loss, or the loss that is allowed, e.g. loss=2.5%
    #[arg(long, value_delimiter = ',', value_name = "GOAL,…")]
    pub search: Vec<String>,
    /// Take the loss against the load, from the highest load down (RFC 2544, 26.3)
    #[arg(long, conflicts_with_all = ["search", "bursts"])]
    pub loss_curve: bool,
    /// Search the longest burst at line rate without loss (RFC 9004)
    #[arg(long, conflicts_with_all = ["search", "loss_curve"])]
    pub bursts: bool,
    /// Full trials after which a load is decided
    #[arg(long, value_name = "N", requires = "search", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub trials: Option<u64>,
    /// Share of those trials that may lose more than the goal allows, e.g. 50%
    #[arg(long, value_name = "SHARE", requires = "search")]
    pub exceed: Option<String>,
    /// How close a rate is found, e.g. 1%
    #[arg(long, value_name = "SHARE", requires = "search")]
    pub width: Option<String>,
    /// Trials at these shares of the rate that was found, e.g. 50%,90%,110%
    #[arg(
        long,
        value_name = "SHARE,…",
        requires = "search",
        value_delimiter = ','
    )]
    pub around: Vec<String>,
}

impl SearchArgs {
    /// Whether a search is asked for.
    pub fn is_asked(&self) -> bool {
        self.loss_curve || self.bursts || !self.search.is_empty()
    }
}
