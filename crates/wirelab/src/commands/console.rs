//! `wirelab console`: tries a board's console and its profile, and shows what went over it in a run.

use std::fmt::Display;
use std::time::{Duration, Instant};

use wirelab_console::cpu::{CpuSample, busy_ratio};
use wirelab_console::profile::{NAMES, find, text_of};
use wirelab_console::template::Values;
use wirelab_console::{Board, ConsoleError, ConsoleName, Unread};
use wirelab_report::document::Block;
use wirelab_trial::Cancel;

use super::report;
use crate::args::{ConsoleArgs, ConsoleCheckArgs, ConsoleCommand};
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, complain, put, say, show, while_showing};

/// Lines of an answer that a message shows; all of them are in the transcript.
const SHOWN: usize = 3;
/// Time between two samples of a running CPU counter.
const BETWEEN: Duration = Duration::from_millis(500);

pub fn run(args: &ConsoleArgs) -> Result {
    match &args.command {
        ConsoleCommand::List => list(),
        ConsoleCommand::Show { profile } => show_profile(profile),
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
        steps(&mut board, begun, &cancel, &mut report)
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

/// What works and what does not.
#[derive(Default)]
struct CheckReport {
    facts: Vec<(String, String)>,
    failed: bool,
}

impl CheckReport {
    fn say(&mut self, name: &str, text: impl Into<String>) {
        self.facts.push((name.to_owned(), text.into()));
    }

    fn fail(&mut self, name: &str, error: &dyn Display) {
        self.failed = true;
        self.say(name, error.to_string());
    }
}

fn steps(
    board: &mut Board,
    begun: Instant,
    cancel: &Cancel,
    report: &mut CheckReport,
) -> std::result::Result<(), ConsoleError> {
    board.ready(cancel)?;
    let seconds = begun.elapsed().as_secs_f64();
    report.say(
        "prompt",
        match board.profile().prompt {
            Some(_) => format!("reached after {seconds:.2} s (measured)"),
            None => "none in this profile; it only listens".to_owned(),
        },
    );
    for name in board.profile().asks.keys() {
        match (board.facts().get(name), board.unread().get(name)) {
            (Some(value), _) => report.say(name, value),
            (None, unread) => {
                unanswered(board, name, &format!("ask.{name}.pattern"), unread, report)
            }
        }
    }
    const LOAD: &str = "CPU load";
    match load(board, cancel) {
        Ok(Some(Ok(Some(busy)))) => report.say(LOAD, format!("{:.1} % (measured)", busy * 100.0)),
        Ok(Some(Ok(None))) => {
            report.say(LOAD, "unknown, because the board's counters do not change");
        }
        Ok(Some(Err(unread))) => unanswered(board, LOAD, "cpu.lines", Some(&unread), report),
        Ok(None) => report.say(
            LOAD,
            "not measured, because the profile has no command for it",
        ),
        Err(ConsoleError::Cancelled) => return Err(ConsoleError::Cancelled),
        Err(error) => report.fail(LOAD, &error),
    }
    for (program, of) in board.profile().programs.clone() {
        for (role, run) in of.runs {
            let what = format!("{} {}", program.word(), role.word());
            if role.is_client() || run.start.is_none() {
                report.say(&what, "not tried (measure runs it)");
                continue;
            }
            match serve(board, program, role, cancel) {
                Ok(()) => report.say(&what, "started and stopped"),
                Err(ConsoleError::Cancelled) => return Err(ConsoleError::Cancelled),
                Err(error) => report.fail(&what, &error),
            }
        }
    }
    Ok(())
}

/// Says why there is no value of `name`, which the profile's `key` reads; it is not a failure if the board has none.
fn unanswered(
    board: &Board,
    name: &str,
    key: &str,
    unread: Option<&Unread>,
    report: &mut CheckReport,
) {
    let profile = &board.profile().name;
    match unread {
        Some(Unread::Unreadable { typed, lines }) => {
            let lines: Vec<&str> = lines.iter().take(SHOWN).map(String::as_str).collect();
            let place = match text_of(profile) {
                Some(_) => format!(
                    "a copy of the profile ('wirelab console show {profile} > mine.toml'), and give that with --profile mine.toml"
                ),
                None => "the profile".to_owned(),
            };
            let lines = lines.join("', '");
            report.fail(
                name,
                &format_args!(
                    "the profile {profile} does not read the answer to '{typed}': '{lines}'; fix: change {key} in {place}"
                ),
            );
        }
        Some(Unread::Absent(why)) => report.say(name, format!("this board has none ({why})")),
        Some(Unread::Silent { typed }) => {
            report.say(name, format!("the board printed nothing to '{typed}'"));
        }
        Some(Unread::NotTyped(why)) => report.say(name, format!("not requested: {why}")),
        None => report.say(name, "not requested"),
    }
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
