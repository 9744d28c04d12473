//! The commands about nodes on paper and published tables: predict, explain, whatif, fit, audit, study.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ExtentArgs, MatrixArgs};

/// What a node model would do: the same trials and the same table as measure
#[derive(Args, Debug)]
pub struct PredictArgs {
    /// The model: its name (see --list), or a node file (.toml)
    #[arg(required_unless_present = "list")]
    pub node: Option<String>,
    /// Show the models that wirelab brings along
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub matrix: MatrixArgs,
    #[command(flatten)]
    pub extent: ExtentArgs,
    /// Change a parameter or the structure first, e.g. gpdma-word=4, stage.copy=x0.5, alternative=dma-copy
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Minimum cycle time of this many such nodes on one line, with the node's own delays in it; --data says the size
    #[arg(long, value_name = "N", conflicts_with_all = [
        "plan", "output", "frame", "length", "payload", "datagram", "load", "time", "frames", "direction", "ports",
    ])]
    pub cycle: Option<u32>,
    /// Process data of each node in bytes, for --cycle
    #[arg(long, value_name = "BYTES", default_value_t = 16, requires = "cycle")]
    pub data: u32,
    /// Time in which each node passes a summation frame on, for --cycle
    #[arg(long, value_name = "TIME", default_value = "1us", requires = "cycle")]
    pub forward: String,
    /// A plan file instead of options that say what to offer
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "frame", "length", "payload", "datagram", "layer", "vlan", "load", "rate", "time", "frames", "direction",
        "ports", "buffers",
    ])]
    pub plan: Option<PathBuf>,
    /// Where to write: .json (results file), .html, .md, .csv, .xml (JUnit); may be given several times
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// A row for each flow
    #[arg(long)]
    pub each_flow: bool,
    /// The results file on standard output, for scripts; with --cycle the cycle times
    #[arg(long)]
    pub json: bool,
}

/// What limits a node and where its time goes: critical circuit, shares, what hides behind what, roofline
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// A node model, a node file (.toml), or a results file (.json)
    pub node: String,
    #[command(flatten)]
    pub matrix: MatrixArgs,
    #[command(flatten)]
    pub extent: ExtentArgs,
    /// Change a parameter or the structure first
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Write the page with its pictures (.html)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// JSON for scripts
    #[arg(long)]
    pub json: bool,
}

/// What a change of a node would buy: every single change, and pairs of the best, ranked
#[derive(Args, Debug)]
pub struct WhatifArgs {
    /// A node model, or a node file (.toml)
    pub node: String,
    #[command(flatten)]
    pub matrix: MatrixArgs,
    #[command(flatten)]
    pub extent: ExtentArgs,
    /// A change of one's own to try beside the others
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Rank by throughput, load or latency; what fits the trial without it
    #[arg(long)]
    pub by: Option<String>,
    /// The capture point to rank by
    #[arg(long, value_name = "NAME")]
    pub point: Option<String>,
    /// Show this many changes; all of them with 0
    #[arg(long, default_value_t = 15, value_name = "N")]
    pub top: usize,
    /// JSON for scripts
    #[arg(long)]
    pub json: bool,
}

/// From a measured matrix to a node file that predict, explain and whatif take
#[derive(Args, Debug)]
pub struct FitArgs {
    /// Results files (.json) with sizes and loads, CPU load, stage captures
    #[arg(required = true)]
    pub results: Vec<PathBuf>,
    /// The node file to write (.toml)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Name of the node in the file; the output file's without it
    #[arg(long)]
    pub name: Option<String>,
    /// The node to fit, where the results are of several
    #[arg(long)]
    pub node: Option<String>,
    /// Confidence of the intervals, between 0 and 1
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    pub confidence: f64,
    /// Captured series are times of single stages, not from one start
    #[arg(long)]
    pub single_stages: bool,
    /// JSON for scripts
    #[arg(long)]
    pub json: bool,
}

/// Which figures of a published table cannot be true
#[derive(Args, Debug)]
pub struct AuditArgs {
    /// Studies: names (see `wirelab study list`) or files (.toml); all that wirelab brings along without any
    pub studies: Vec<String>,
    /// JSON for scripts
    #[arg(long)]
    pub json: bool,
}

/// Published tables beside what a node does
#[derive(Args, Debug)]
pub struct StudyArgs {
    #[command(subcommand)]
    pub command: StudyCommand,
}

#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// The studies that wirelab brings along
    List {
        /// JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// The rows of a study with their roles
    Show {
        /// A name or a file (.toml)
        study: String,
        /// JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Ask a node every row: published, predicted or measured, and the error side by side
    Run {
        /// Names or files (.toml)
        #[arg(required_unless_present = "all")]
        studies: Vec<String>,
        /// All studies that wirelab brings along
        #[arg(long, conflicts_with = "studies")]
        all: bool,
        /// Another node than the study's model, e.g. lab:4
        #[arg(long)]
        node: Option<String>,
        /// Write the tables (.md, .html)
        #[arg(short, long, value_name = "FILE")]
        output: Vec<PathBuf>,
        /// JSON for scripts
        #[arg(long)]
        json: bool,
    },
}
