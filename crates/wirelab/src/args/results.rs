//! The command line of `wirelab results` and `wirelab serve`, and where the store is.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use wirelab_store::Location;

/// Whether a command that measures puts its results into the store.
#[derive(Args, Clone, Debug, Default)]
pub struct KeepArgs {
    /// Keep the results in the store as well: --store for the user's own, --store=FILE or --store=postgres://USER@HOST/DATABASE
    /// for another
    #[arg(long, value_name = "STORE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub store: Option<String>,
    /// Give the run a tag in the store
    #[arg(long, value_name = "TAG", requires = "store")]
    pub tag: Vec<String>,
}

/// Where the store is.
#[derive(Args, Clone, Debug, Default)]
pub struct StoreArgs {
    /// The store: FILE or postgres://USER@HOST/DATABASE [default: that of WIRELAB_STORE, else the user's own]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
}

/// Joins `--store ADDRESS` to `--store=ADDRESS`, so that a node's name may follow a `--store` alone.
pub fn joined(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    for arg in args {
        match joined.last_mut() {
            Some(before) if before == "--store" && Location::is_address(&arg.to_string_lossy()) => {
                before.push("=");
                before.push(arg);
            }
            _ => joined.push(arg),
        }
    }
    joined
}

/// List, show, tag, delete, export and import the results in the store
#[derive(Args, Debug)]
#[command(after_help = "\
A SELECTION is the number of a run, or several, or what they have in common, with commas: 12 or 12,14 or \
node=lab:1,tag=main,since=2026-11-01,last=5. 'wirelab compare' and 'measure --against' take it as store:SELECTION.

Examples:
  wirelab measure lab:1 --frame 64 --time 1s --store --tag main
  wirelab results list --tag main
  wirelab results show last
  wirelab compare store:node=lab:1,tag=main,last store:last

See docs/store.md.")]
pub struct ResultsArgs {
    #[command(subcommand)]
    pub command: ResultsCommand,
}

#[derive(Debug, Subcommand)]
pub enum ResultsCommand {
    /// List runs, the latest first
    List {
        #[command(flatten)]
        at: StoreArgs,
        /// Only of this node
        #[arg(long)]
        node: Option<String>,
        /// Only with this tag
        #[arg(long)]
        tag: Option<String>,
        /// Only runs that began then or later: 2026-11-26, 2026-11-26T14:30 (UTC), or how long ago, as 7d or 12h
        #[arg(long, value_name = "DATE")]
        since: Option<String>,
        /// Only runs that began then or earlier
        #[arg(long, value_name = "DATE")]
        until: Option<String>,
        /// List at most N runs
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a run, or several joined, as 'wirelab report' shows a results file
    Show {
        /// The runs, e.g. 12, last or tag=main,last=5 (wirelab results --help)
        selection: String,
        #[command(flatten)]
        at: StoreArgs,
        /// Write to FILE; the extension selects the format: .html, .md, .csv, .json, .xml (JUnit), .txt
        #[arg(short, long, value_name = "FILE")]
        output: Vec<PathBuf>,
        /// Print a row for each flow
        #[arg(long)]
        each_flow: bool,
        /// Print the results file (JSON)
        #[arg(long)]
        json: bool,
    },
    /// Give runs a tag, or take it from them
    Tag {
        /// The runs, e.g. 12, last or tag=main,last=5 (wirelab results --help)
        selection: String,
        /// The tags
        #[arg(required = true)]
        tags: Vec<String>,
        /// Take the tags away
        #[arg(long)]
        remove: bool,
        #[command(flatten)]
        at: StoreArgs,
    },
    /// End running measurements after the trial that is running; they keep what they have
    Stop {
        /// The runs, e.g. 12, last or tag=main,last=5 (wirelab results --help)
        selection: String,
        #[command(flatten)]
        at: StoreArgs,
    },
    /// Delete runs
    Delete {
        /// The runs, e.g. 12, last or tag=main,last=5 (wirelab results --help)
        selection: String,
        #[command(flatten)]
        at: StoreArgs,
    },
    /// Write runs to a file: .json is the results file of one run, .parquet the figures of all
    Export {
        /// The runs, e.g. 12, last or tag=main,last=5 (wirelab results --help)
        selection: String,
        #[command(flatten)]
        at: StoreArgs,
        /// The file
        #[arg(short, long, value_name = "FILE", required = true)]
        output: Vec<PathBuf>,
    },
    /// Put results files into the store; a damaged file is refused with the place of the damage
    Import {
        /// Results files (JSON)
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Give them a tag
        #[arg(long, value_name = "TAG")]
        tag: Vec<String>,
        #[command(flatten)]
        at: StoreArgs,
    },
}

/// Show the store as pages in a browser: runs, figures over time with their changes, two runs compared
#[derive(Args, Debug)]
#[command(after_help = "\
Only this host reaches a loopback address. Any other address needs a token in the variable WIRELAB_TOKEN, which readers \
give once as ?token=TOKEN; the connection is not encrypted. See docs/serve.md.")]
pub struct ServeArgs {
    /// The address to listen at
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7070")]
    pub listen: std::net::SocketAddr,
    #[command(flatten)]
    pub at: StoreArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_joined_to_its_option_and_a_node_is_not() {
        let joined_of = |args: &[&str]| {
            let all = joined(args.iter().map(OsString::from));
            all.iter()
                .map(|arg| arg.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        let node = ["wirelab", "measure", "--store", "lab:1"];
        assert_eq!(joined_of(&node), node);
        assert_eq!(
            joined_of(&["wirelab", "measure", "--store", "postgres://db/x", "lab:1"]),
            ["wirelab", "measure", "--store=postgres://db/x", "lab:1"]
        );
    }
}
