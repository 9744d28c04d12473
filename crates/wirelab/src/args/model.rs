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
    /// The results file on standard output, for scripts
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
