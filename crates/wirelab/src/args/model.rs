//! The commands about models and published tables: predict, explain, whatif, fit, audit, study.

use std::path::PathBuf;

use clap::{Arg, Args, Subcommand};

use super::{ExtentArgs, KeepArgs, MatrixArgs, Words, in_words};
use crate::nodes;

/// What the shared options mean for a model.
const OF_MODEL: Words = &[
    (
        "layer",
        "Layer: ethernet, udp4, udp6, tcp4 or tcp6 [default: the first that the model supports]",
    ),
    (
        "direction",
        "Direction as the node sees it: tx, rx, both or echo [default: tx]",
    ),
    (
        "rate",
        "Link rate in bit/s, e.g. 100M [default: the model's own]",
    ),
];

/// Every option of `predict` is of a model, beside those of the list.
fn of_predict(arg: Arg) -> Arg {
    let is_of_list = matches!(arg.get_id().as_str(), "list" | "json");
    let arg = in_words(arg, OF_MODEL);
    match is_of_list {
        true => arg,
        false => arg.conflicts_with("list"),
    }
}

/// Predict what a node does, by its model: the same trials and table as measure
#[derive(Args, Debug)]
#[command(mut_args(of_predict))]
pub struct PredictArgs {
    /// The model: its name (see --list), or a node file (.toml)
    #[arg(required_unless_present = "list", value_parser = nodes::Names::Models, hide_possible_values = true)]
    pub node: Option<String>,
    /// List the built-in models
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub matrix: MatrixArgs,
    #[command(flatten)]
    pub extent: ExtentArgs,
    /// Change a parameter or the structure first, e.g. gpdma-word=4, stage.copy=x0.5, alternative=dma-copy
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Calculate the minimum cycle time of a line of N such nodes, with their delays; --data gives the size
    #[arg(long, value_name = "N", conflicts_with_all = [
        "plan", "output", "frame", "length", "payload", "datagram", "load", "time", "frames", "direction", "ports",
        "store", "each_flow",
    ])]
    pub cycle: Option<u32>,
    /// Process data of each node in bytes, for --cycle
    #[arg(long, value_name = "BYTES", default_value_t = 16, requires = "cycle")]
    pub data: u32,
    /// Time that each node takes to forward a summation frame, for --cycle
    #[arg(long, value_name = "TIME", default_value = "1us", requires = "cycle")]
    pub forward: String,
    /// Run the trials of a plan file, in place of options for size, load and the like
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "frame", "length", "payload", "datagram", "layer", "vlan", "load", "rate", "time", "frames", "direction",
        "ports", "buffers",
    ])]
    pub plan: Option<PathBuf>,
    /// Write to FILE; the extension selects the format: .json (results file), .html, .md, .csv, .xml (JUnit); may be given
    /// several times
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Print a row for each flow
    #[arg(long)]
    pub each_flow: bool,
    /// Print the results file (JSON) on standard output; with --cycle the cycle times
    #[arg(long)]
    pub json: bool,
}

/// Explain what limits a node and where its time goes: critical circuit, shares, overlaps, roofline
#[derive(Args, Debug)]
#[command(mut_args(|arg| in_words(arg, OF_MODEL)))]
pub struct ExplainArgs {
    /// A node model, a node file (.toml), or a results file (.json)
    #[arg(value_parser = nodes::Names::Models, hide_possible_values = true)]
    pub node: String,
    #[command(flatten)]
    pub matrix: MatrixArgs,
    #[command(flatten)]
    pub extent: ExtentArgs,
    /// Change a parameter or the structure first, e.g. gpdma-word=4, stage.copy=x0.5, alternative=dma-copy
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Write the page of one trial with its charts (.html), or .md or .json
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON: an object for each trial, the same as -o FILE.json writes
    #[arg(long)]
    pub json: bool,
}

/// Rank what changes of a node would gain: each single change, and pairs of the best ones
#[derive(Args, Debug)]
#[command(mut_args(|arg| in_words(arg, OF_MODEL)))]
pub struct WhatifArgs {
    /// A node model, or a node file (.toml)
    #[arg(value_parser = nodes::Names::Models, hide_possible_values = true)]
    pub node: String,
    #[command(flatten)]
    pub matrix: MatrixArgs,
    #[command(flatten)]
    pub extent: ExtentArgs,
    /// Try this change too, e.g. gpdma-word=4, stage.copy=x0.5, alternative=dma-copy
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Rank by throughput, load or latency [default: what fits the trial]
    #[arg(long)]
    pub by: Option<String>,
    /// The capture point to rank by, of a ranking by latency
    #[arg(long, value_name = "NAME")]
    pub point: Option<String>,
    /// Show this many changes; 0 shows all [default: 15; with --json all]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Write the page of one trial with its chart (.html), or .md or .json
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON: an object for each trial, the same as -o FILE.json writes
    #[arg(long)]
    pub json: bool,
}

/// Fit a model to measured results: writes a node file for predict, explain and whatif
#[derive(Args, Debug)]
pub struct FitArgs {
    /// Results files (.json) with sizes and loads, CPU load, stage captures; or one published table: its name (see
    /// `wirelab study list`) or file (.toml)
    #[arg(required = true)]
    pub results: Vec<PathBuf>,
    /// Cells of a table to leave out and to predict: size=256, load=5M, direction=rx, row=NAME, metric=cpu_load (several
    /// joined by commas), random=25%, or leave-one-out
    #[arg(long, value_name = "WHICH")]
    pub hold_out: Option<String>,
    /// The node file to write (.toml)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Name of the node in the file [default: the name of the output file]
    #[arg(long)]
    pub name: Option<String>,
    /// The node to fit, if the results have several
    #[arg(long)]
    pub node: Option<String>,
    /// Confidence level of the intervals, between 0 and 1
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    pub confidence: f64,
    /// Captured series are times of single stages, not times since one start
    #[arg(long)]
    pub single_stages: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Find figures of a published table that cannot be true
#[derive(Args, Debug)]
pub struct AuditArgs {
    /// Studies: names (see `wirelab study list`) or files (.toml) [default: all built-in studies]
    pub studies: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Compare published tables with a node
#[derive(Args, Debug)]
pub struct StudyArgs {
    #[command(subcommand)]
    pub command: StudyCommand,
}

#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// List the built-in studies
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the rows of a study with their roles
    Show {
        /// A name or a file (.toml)
        study: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Read a published page into a study file: Markdown, HTML, CSV, TSV, an iperf log, text of a PDF
    Import(ImportArgs),
    /// Run each row on a node: published figure, predicted or measured figure, and error side by side
    Run {
        /// Studies: names (see `wirelab study list`) or files (.toml)
        #[arg(required_unless_present = "all")]
        studies: Vec<String>,
        /// Run all built-in studies
        #[arg(long, conflicts_with = "studies")]
        all: bool,
        /// The node, in place of the study's model, e.g. lab:4
        #[arg(long, value_parser = nodes::Names::All, hide_possible_values = true)]
        node: Option<String>,
        /// Write the tables (.md, .html)
        #[arg(short, long, value_name = "FILE")]
        output: Vec<PathBuf>,
        #[command(flatten)]
        keep: KeepArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The page
    #[arg(value_name = "FILE")]
    pub page: PathBuf,
    /// The study file to write (.toml) [default: the name of the page]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The link's rate, e.g. 100M, in place of what the page says
    #[arg(long, value_name = "RATE")]
    pub link_rate: Option<String>,
    /// The clock of the core, e.g. "400 MHz"
    #[arg(long, value_name = "CLOCK")]
    pub core_clock: Option<String>,
    /// Mapping file: what each table and row of the page means (.toml)
    #[arg(long, value_name = "FILE")]
    pub mapping: Option<PathBuf>,
}
