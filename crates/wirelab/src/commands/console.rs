//! `wirelab console`: tries a board's console and its profile, and shows what went over it in a run.

use std::time::{Duration, Instant};

use wirelab_console::cpu::{CpuSample, busy_ratio};
use wirelab_console::profile::{NAMES, find, text_of};
use wirelab_console::template::Values;
use wirelab_console::{Board, ConsoleError, ConsoleName, Unread};
use wirelab_trial::Cancel;

use super::report;
use crate::args::{ConsoleArgs, ConsoleCheckArgs, ConsoleCommand};
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, complain, put, say};

/// Lines of an answer that a message shows; all of them are in the transcript.
const SHOWN: usize = 3;
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
        match (board.facts().get(&name), board.unread().get(&name)) {
            (Some(value), _) => say!("{name}: {value}"),
            (None, unread) => passed &= told(board, &name, &format!("ask.{name}.pattern"), unread),
        }
    }
    match load(board, cancel) {
        Ok(Some(Ok(Some(busy)))) => say!("CPU load: {:.1} %", busy * 100.0),
        Ok(Some(Ok(None))) => say!("CPU load: unknown, because the board's counters do not change"),
        Ok(Some(Err(unread))) => passed &= told(board, "CPU load", "cpu.lines", Some(&unread)),
        Ok(None) => say!("CPU load: not measured, because the profile has no command for it"),
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

/// Says why there is no value of `name`, which the profile's `key` reads; whether that is the board's own.
fn told(board: &Board, name: &str, key: &str, unread: Option<&Unread>) -> bool {
    let profile = &board.profile().name;
    match unread {
        Some(Unread::Unreadable {
            typed: asked,
            lines: came,
        }) => {
            let came: Vec<&str> = came.iter().take(SHOWN).map(String::as_str).collect();
            let place = match text_of(profile) {
                Some(_) => format!(
                    "a copy of the profile ('wirelab console show {profile} > mine.toml'), and give that with --profile mine.toml"
                ),
                None => "the profile".to_owned(),
            };
            say!(
                "{name}: the profile {profile} does not read the answer to '{asked}': '{}'; fix: change {key} in {place}",
                came.join("', '")
            );
            return false;
        }
        Some(Unread::Absent(why)) => say!("{name}: this board has none ({why})"),
        Some(Unread::Silent { typed: asked }) => {
            say!("{name}: the board printed nothing to '{asked}'")
        }
        Some(Unread::NotTyped(why)) => say!("{name}: not asked: {why}"),
        None => say!("{name}: not asked"),
    }
    true
}

fn load(
    board: &mut Board,
    cancel: &Cancel,
) -> std::result::Result<Option<std::result::Result<Option<f64>, Unread>>, ConsoleError> {
    let first = board.cpu(cancel)?;
    if matches!(first, Some(CpuSample::Counters { .. })) {
        std::thread::sleep(BETWEEN);
    }
    let then = board.cpu_or_why(cancel)?;
    Ok(then.map(|then| then.map(|then| busy_ratio(first, then))))
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
