//! `wirelab console`: tries a board's console and its profile, and shows what went over it in a run.

use std::time::{Duration, Instant};

use wirelab_console::cpu::{CpuSample, busy_ratio};
use wirelab_console::profile::{NAMES, find, text_of};
use wirelab_console::template::Values;
use wirelab_console::{Board, ConsoleError, ConsoleName};
use wirelab_trial::Cancel;

use super::report;
use crate::args::{ConsoleArgs, ConsoleCheckArgs, ConsoleCommand};
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, complain, put, say};

/// Time between two samples of a CPU that counts on.
const BETWEEN: Duration = Duration::from_millis(500);

pub fn run(args: &ConsoleArgs) -> Result {
    match &args.command {
        ConsoleCommand::List => list(),
        ConsoleCommand::Show { profile } => show(profile),
        ConsoleCommand::Check(args) => check(args),
        ConsoleCommand::Log { results } => log(results),
    }
}

fn list() -> Result {
    let widest = NAMES.iter().map(|name| name.len()).max().unwrap_or(0);
    for name in NAMES {
        let profile = find(name).map_err(Failure::failed)?;
        say!("{name:widest$}  {}", profile.about);
    }
    Ok(Outcome::Done)
}

fn show(name: &str) -> Result {
    match text_of(name) {
        Some(text) => put!("{text}"),
        // Another has the error that names the known ones.
        None => drop(find(name).map_err(Failure::usage)?),
    }
    Ok(Outcome::Done)
}

fn log(path: &std::path::Path) -> Result {
    let (file, _) = (report::read(path)?, ());
    if file.consoles.is_empty() {
        return Err(Failure::usage(format!(
            "{} has nothing of a console; fix: measure with --console and --profile",
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
    let passed = steps(&mut board, begun, &cancel);
    if !matches!(passed, Ok(true)) {
        complain(format_args!("what went over the console:"));
        for line in board.transcript().log().lines {
            complain(format_args!("{line}"));
        }
    }
    passed.map(Outcome::of).map_err(Failure::failed)
}

/// Says what works; whether all of it does.
fn steps(
    board: &mut Board,
    begun: Instant,
    cancel: &Cancel,
) -> std::result::Result<bool, ConsoleError> {
    board.ready(cancel)?;
    match board.profile().prompt {
        Some(_) => say!(
            "prompt: reached after {:.2} s",
            begun.elapsed().as_secs_f64()
        ),
        None => say!("prompt: none in this profile; it only listens"),
    }
    let asked: Vec<String> = board.profile().asks.keys().cloned().collect();
    let mut passed = true;
    for name in asked {
        match board.facts().get(&name) {
            Some(value) => say!("{name}: {value}"),
            None => say!("{name}: no answer as the profile reads it"),
        }
    }
    match load(board, cancel) {
        Ok(Some(busy)) => say!("CPU load: {:.1} %", busy * 100.0),
        Ok(None) => say!("CPU load: the profile does not ask, or the answer has none"),
        Err(ConsoleError::Cancelled) => return Err(ConsoleError::Cancelled),
        Err(error) => {
            passed = false;
            say!("CPU load: {error}");
        }
    }
    for (program, of) in board.profile().programs.clone() {
        for (role, run) in of.runs {
            let what = format!("{} {}", program.word(), role.word());
            if role.is_client() || run.start.is_none() {
                say!("{what}: not tried (measure runs it)");
                continue;
            }
            match serve(board, program, role, cancel) {
                Ok(()) => say!("{what}: started and stopped"),
                Err(ConsoleError::Cancelled) => return Err(ConsoleError::Cancelled),
                Err(error) => {
                    passed = false;
                    say!("{what}: {error}");
                }
            }
        }
    }
    Ok(passed)
}

fn load(board: &mut Board, cancel: &Cancel) -> std::result::Result<Option<f64>, ConsoleError> {
    let first = board.cpu(cancel)?;
    if matches!(first, Some(CpuSample::Counters { .. })) {
        std::thread::sleep(BETWEEN);
    }
    let then = board.cpu(cancel)?;
    Ok(then.and_then(|then| busy_ratio(first, then)))
}

fn serve(
    board: &mut Board,
    program: wirelab_console::Program,
    role: wirelab_console::Role,
    cancel: &Cancel,
) -> std::result::Result<(), ConsoleError> {
    let values = [
        (
            "port",
            if program.word() == "iperf3" {
                "5201"
            } else {
                "5001"
            },
        ),
        ("bytes", "1470"),
        ("time", "1"),
        ("seconds", "1"),
        ("server_seconds", "2"),
        ("interval", "1"),
    ];
    let values: Values = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let started = board.start(program, role, &values, cancel)?;
    board.stop(&started, cancel)
}
