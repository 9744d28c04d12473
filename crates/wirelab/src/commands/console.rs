//! `wirelab console`: tries a board's console and its profile, and shows what went over it in a run.

use std::time::Instant;

use wirelab_console::check::{self, CheckReport};
use wirelab_console::profile::{NAMES, find, text_of};
use wirelab_console::{Board, ConsoleName};
use wirelab_report::document::Block;

use super::report;
use crate::args::{ConsoleArgs, ConsoleCheckArgs, ConsoleCommand};
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::terminal::{cancel_on_signal, complain, put, say, show, while_showing};

pub fn run(args: &ConsoleArgs) -> Result {
    match &args.command {
        ConsoleCommand::List => list(),
        ConsoleCommand::Show { profile } => show_profile(profile),
        ConsoleCommand::Check(args) => check(args),
        ConsoleCommand::Log { results } => log(results),
    }
}

fn list() -> Result {
    let row = |name: &&str| {
        let profile = find(name).map_err(Failure::failed)?;
        Ok(vec![profile.name, profile.about])
    };
    let rows = NAMES.iter().map(row).collect::<Fallible<_>>()?;
    let heads = vec![("profile", false), ("about", false)];
    show(String::new(), vec![Block::sentences(heads, rows)]);
    Ok(Outcome::Done)
}

fn show_profile(name: &str) -> Result {
    match text_of(name) {
        Some(text) => put!("{text}"),
        // Any other name gives the error that lists the known ones.
        None => drop(find(name).map_err(Failure::usage)?),
    }
    Ok(Outcome::Done)
}

fn log(path: &std::path::Path) -> Result {
    let file = report::read(path)?;
    if file.consoles.is_empty() {
        return Err(Failure::usage(format!(
            "{} has no console output; fix: measure with --console and --profile",
            path.display()
        )));
    }
    for console in &file.consoles {
        say!("# {} with the profile {}", console.console, console.profile);
        for line in &console.lines {
            say!("{line}");
        }
    }
    Ok(Outcome::Done)
}

fn check(args: &ConsoleCheckArgs) -> Result {
    let name: ConsoleName = args.console.parse().map_err(Failure::usage)?;
    let profile = find(&args.profile).map_err(Failure::usage)?;
    let cancel = cancel_on_signal();
    let begun = Instant::now();
    let mut board = Board::open(&name, profile, args.address).map_err(Failure::failed)?;
    let mut report = CheckReport::default();
    let ended = while_showing("checking", None, || {
        check::check(&mut board, begun, &cancel, &mut report)
    });
    show(String::new(), vec![Block::Facts(report.facts)]);
    if ended.is_err() || report.failed {
        complain(format_args!("what went over the console:"));
        for line in board.transcript().log().lines {
            complain(format_args!("{line}"));
        }
    }
    ended.map_err(Failure::failed)?;
    Ok(Outcome::of(!report.failed))
}
