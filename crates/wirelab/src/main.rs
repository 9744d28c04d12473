//! The command line of wirelab. It connects the crates and holds no logic of its own.
//!
//! `args` defines all commands; `commands` has one file for each; `ask` turns words into trials and nodes.
//!
//! Only this crate may use all others. Start reading at `nodes.rs`, then `commands/measure.rs` and
//! `commands/trials.rs`.
#![forbid(unsafe_code)]

mod args;
mod ask;
mod commands;
mod exit;
mod nodes;
mod plans;
mod refusals;
mod refused_line;
mod terminal;
#[cfg(test)]
mod words;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Cli, Command};
use exit::Outcome;

fn main() -> std::process::ExitCode {
    let ended = match Cli::try_parse_from(args::joined(std::env::args_os())) {
        Ok(cli) => run(cli.command),
        Err(error) if is_help(&error) => error.exit(),
        Err(error) => Err(refused_line::failure(&error)),
    };
    match ended {
        Ok(Outcome::Done) => 0.into(),
        Ok(Outcome::Missed) => 1.into(),
        Ok(Outcome::Code(code)) => code.into(),
        Err(failure) => {
            terminal::complain(format_args!("wirelab: {failure}"));
            failure.code().into()
        }
    }
}

/// Whether a page was asked for, or is the answer to a command without its words.
fn is_help(error: &clap::Error) -> bool {
    !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

fn run(command: Command) -> exit::Result {
    match command {
        Command::Limits(args) => commands::limits::run(&args),
        Command::Lab(args) => commands::lab::run(&args),
        Command::Send(args) => commands::send::run(&args),
        Command::Receive(args) => commands::receive::run(&args),
        Command::Measure(args) => commands::measure::run(&args),
        Command::Iperf(args) => commands::iperf::run(&args),
        Command::Stages(args) => commands::stages::run(&args),
        Command::Node(args) => commands::node::run(&args),
        Command::Board(args) => commands::board::run(&args),
        Command::Console(args) => commands::console::run(&args),
        Command::Hdl(args) => commands::hdl::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Whatif(args) => commands::whatif::run(&args),
        Command::Fit(args) => commands::fit_table::run(&args),
        Command::Audit(args) => commands::audit::run(&args),
        Command::Study(args) => commands::study::run(&args),
        Command::Verify(args) => commands::verify::run(&args),
        Command::Pulse(args) => commands::pulse::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Results(args) => commands::results::run(&args),
        Command::Serve(args) => commands::serve::run(&args),
        Command::Selftest(args) => commands::selftest::run(&args),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man { folder } => commands::manual::man(folder.as_deref()),
    }
}
