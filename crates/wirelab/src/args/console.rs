//! The options of `wirelab console`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Try the console of a board with the profile that measure uses
#[derive(Args, Debug)]
pub struct ConsoleArgs {
    #[command(subcommand)]
    pub command: ConsoleCommand,
}

#[derive(Debug, Subcommand)]
pub enum ConsoleCommand {
    /// List the built-in profiles
    List,
    /// Print the file of a profile, to copy and change it
    Show {
        /// The profile
        profile: String,
    },
    Check(ConsoleCheckArgs),
    /// Print what went over the console in a run
    Log {
        /// A results file (JSON)
        results: PathBuf,
    },
}

/// Bring a board to its prompt, run its profile's queries, start and stop its servers
#[derive(Args, Debug)]
pub struct ConsoleCheckArgs {
    /// The board's IP address, which the profile looks for and sets [default: leave it alone]
    pub address: Option<IpAddr>,
    /// The console: serial:DEVICE,BAUD, tcp:HOST:PORT, unix:PATH, ssh:USER@HOST or exec:COMMAND
    #[arg(long, value_name = "CONSOLE")]
    pub console: String,
    /// A profile or its file, then its variables: PROFILE[,NAME=VALUE]…
    #[arg(long, value_name = "PROFILE")]
    pub profile: String,
}
