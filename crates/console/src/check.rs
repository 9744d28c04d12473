//! Tries a board's console and each part of its profile, and says what works.

use std::fmt::Display;
use std::time::{Duration, Instant};

use wirelab_trial::Cancel;

use crate::board::{Board, ConsoleError, Unread};
use crate::cpu::{CpuSample, busy_ratio};
use crate::profile::{Program, Role, text_of};
use crate::template::Values;

/// Lines of an answer that a message shows; all of them are in the transcript.
const SHOWN: usize = 3;
/// Time between two samples of running CPU counters.
const BETWEEN: Duration = Duration::from_millis(500);

/// What works and what does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Each part by name, with its result.
    pub facts: Vec<(String, String)>,
    /// Whether a part failed.
    pub failed: bool,
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

/// Tries a board's console and every part of its profile. `begun` is when opening the console began. After an error,
/// `report` holds the parts that were tried.
///
/// # Errors
/// [`ConsoleError`] that ends the check.
pub fn check(
    board: &mut Board,
    begun: Instant,
    cancel: &Cancel,
    report: &mut CheckReport,
) -> Result<(), ConsoleError> {
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

/// Says why there is no value of `name`, which the profile's `key` reads. It is a failure only if the profile does not
/// read the answer.
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
        Some(Unread::NotTyped(why)) => report.say(name, format!("not asked: {why}")),
        None => report.say(name, "not asked"),
    }
}

fn load(
    board: &mut Board,
    cancel: &Cancel,
) -> Result<Option<Result<Option<f64>, Unread>>, ConsoleError> {
    let first = board.cpu(cancel)?;
    if matches!(first, Some(CpuSample::Counters { .. })) {
        std::thread::sleep(BETWEEN);
    }
    let then = board.cpu_or_why(cancel)?;
    Ok(then.map(|then| then.map(|then| busy_ratio(first, then))))
}

fn serve(
    board: &mut Board,
    program: Program,
    role: Role,
    cancel: &Cancel,
) -> Result<(), ConsoleError> {
    let port = program.default_port().to_string();
    let values = [
        ("port", &*port),
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
