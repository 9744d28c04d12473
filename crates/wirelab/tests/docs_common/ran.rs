//! What a page's commands give, and which of them this host was too busy for: never all of those that measure.

use std::process::Output;

use crate::common::{stderr, stdout};

use super::shown::is_measured;

/// How often a command is typed that this host was too busy for.
const TRIES: u32 = 3;
/// How often more, where it would be all that a page measures.
const MORE: u32 = 8;

/// What stands above a table with figures of a run.
const SOME: &str = "All figures measured.";

/// Of the commands of a page that measure: how many gave what they are to give, and which did not.
#[derive(Default)]
pub struct Tally {
    kept: usize,
    excused: Vec<String>,
}

impl Tally {
    /// Types a command that is to end with this status. The last that it gave, and whether the host let it.
    pub fn run(
        &mut self,
        command: &str,
        status: i32,
        run: impl Fn(&str) -> Output,
    ) -> (Output, bool) {
        let mut output = run(command);
        for _ in 1..TRIES {
            if status == 1 || !kept_from(&output) {
                break;
            }
            output = run(command);
        }
        let kept = status == 1 || !kept_from(&output);
        match (kept, is_measured(command)) {
            (true, true) => self.kept += 1,
            (false, _) => self.excused.push(command.to_owned()),
            (true, false) => {}
        }
        (output, kept)
    }

    /// A page without any measured result would agree with any program. Of a plan of many trials it is enough that the
    /// host let some of them be.
    pub fn check(&self, page: &str, run: impl Fn(&str) -> Output) {
        let Some(command) = self.excused.first().filter(|_| self.kept == 0) else {
            return;
        };
        let mut last = String::new();
        for _ in 0..MORE {
            let output = run(command);
            if !kept_from(&output) {
                return ended(&output, 0, command);
            }
            last = all_of(&output);
            if last.contains(SOME) {
                return;
            }
        }
        panic!("{page}: this host was too busy for all that it measures: {command}\n{last}")
    }
}

/// Whether this host was too busy for what a command measures: docs/exit-status.md has status 1 for that, and the page
/// cannot know of it.
fn kept_from(output: &Output) -> bool {
    let said = all_of(output);
    let words = [
        "held up by its own host",
        "the tester fell behind the requested rate",
        "the tester could not offer",
        "senders fell behind the requested rate",
        "the node's cores were busy before the trial",
    ];
    output.status.code() == Some(1) && words.iter().any(|words| said.contains(words))
}

pub fn ended(output: &Output, status: i32, place: &str) {
    assert_eq!(
        output.status.code(),
        Some(status),
        "{place}\n{}",
        all_of(output)
    );
}

/// Standard output and, behind it, standard error.
pub fn all_of(output: &Output) -> String {
    stdout(output) + &stderr(output)
}

#[test]
fn a_page_whose_measurements_are_all_excused_fails() {
    use std::os::unix::process::ExitStatusExt;
    let gives = |code: i32, said: &'static str| {
        move |_: &str| Output {
            status: std::process::ExitStatus::from_raw(code << 8),
            stdout: said.into(),
            stderr: Vec::new(),
        }
    };
    let busy = gives(1, "a trial was held up by its own host");
    let good = gives(0, "good");
    let fails = |tally: &Tally, run: &dyn Fn(&str) -> Output| {
        let check = std::panic::AssertUnwindSafe(|| tally.check("page", run));
        std::panic::catch_unwind(check).is_err()
    };
    let mut tally = Tally::default();
    let measure = "wirelab measure lab:1";
    assert!(
        tally.run("wirelab limits", 0, good).1,
        "it measures nothing"
    );
    assert!(!tally.run(measure, 0, busy).1);
    assert!(fails(&tally, &busy));
    assert!(!fails(&tally, &good), "it was measured in the end");
    assert!(fails(&tally, &gives(2, "an error")));
    let some = gives(
        1,
        "All figures measured.\na trial was held up by its own host",
    );
    assert!(!fails(&tally, &some), "some trials were measured");
    assert!(tally.run(measure, 0, good).1);
    assert!(!fails(&tally, &busy), "another one was measured");
}
