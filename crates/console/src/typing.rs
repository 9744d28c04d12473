//! Typing at a board: its first prompt, its login, and lines whose echo shows that no character was lost.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use wirelab_trial::{Cancel, LineSource};

use crate::board::{Board, ConsoleError, Done, QUIET};
use crate::console::{Output, Waited};
use crate::profile::Prompt;
use crate::template::Values;

/// How often input is repeated if its echo lacks characters, each time more slowly.
const TYPED: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(2),
    Duration::from_millis(10),
    Duration::from_millis(30),
];
/// Longest time until the echo of a line is complete.
const ECHO: Duration = Duration::from_millis(1500);
/// Time between two tries to get a prompt.
const AGAIN: Duration = Duration::from_millis(1000);
/// How often a question of the login is answered.
const ANSWERS: u32 = 3;

impl Board {
    /// Gets the first prompt: of a waiting shell, of a booting board, or after a login.
    pub(crate) fn first_prompt(&mut self, cancel: &Cancel) -> Done<()> {
        let prompt = self.prompt()?.clone();
        let patience = self.profile.boot.patience.max(prompt.patience);
        let end = Instant::now() + patience;
        let mut answered = BTreeMap::new();
        let mut is_first = true;
        let mut interrupted = false;
        let mut answered_now = false;
        loop {
            let mark = self.console.mark();
            let is_signal = prompt
                .interrupt
                .bytes()
                .any(|key| self.console.is_signal(key));
            // The prompt after an answer needs no input.
            let keys = if std::mem::take(&mut answered_now) {
                String::new()
            } else if is_first || interrupted || is_signal {
                prompt.newline.clone()
            } else {
                // A program may be in the foreground of the board.
                interrupted = true;
                format!("{}{}", prompt.interrupt, prompt.newline)
            };
            self.console
                .send(keys.as_bytes(), Duration::ZERO)
                .map_err(ConsoleError::Failed)?;
            is_first = false;
            let mut question = None;
            let profile = &self.profile;
            let looked = self.console.wait(mark, AGAIN, cancel, |output| {
                let login = profile
                    .login
                    .iter()
                    .position(|login| login.expect.is_match(&output.open));
                if login.is_some() && output.quiet >= QUIET {
                    question = login;
                    return Some(false);
                }
                let first = prompt.first.as_ref().unwrap_or(&prompt.pattern);
                let here = prompt.pattern.is_match(&output.open) || first.is_match(&output.open);
                (login.is_none() && here && output.quiet >= QUIET).then_some(true)
            });
            match looked {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    self.answer_login(question.unwrap_or(0), &mut answered, cancel)?;
                    answered_now = true;
                }
                Err(Waited::TimedOut) if Instant::now() < end => {}
                Err(waited) => {
                    let what = format!("no prompt within {} s", patience.as_secs_f64());
                    return Err(self.failed(waited, what));
                }
            }
        }
    }

    fn answer_login(
        &mut self,
        which: usize,
        answered: &mut BTreeMap<usize, u32>,
        cancel: &Cancel,
    ) -> Done<()> {
        let login = self.profile.login[which].clone();
        let times = answered.entry(which).or_insert(0);
        *times += 1;
        if *times > ANSWERS {
            return Err(ConsoleError::Failed(format!(
                "the board repeats its question '{}'; fix: give other values with --profile {},user=NAME,password_file=FILE",
                login.expect, self.profile.name
            )));
        }
        let text = self.fill(&login.answer, &Values::new())?;
        let shown = if login.secret { "(secret)" } else { &*text };
        self.console.transcript().add(LineSource::Typed, shown);
        let newline = self.prompt()?.newline.clone();
        let mark = self.console.mark();
        self.console
            .send(format!("{text}{newline}").as_bytes(), Duration::ZERO)
            .map_err(ConsoleError::Failed)?;
        // The answer ends the line of the question.
        let _ = self.console.wait(mark, AGAIN, cancel, |output| {
            (!output.lines.is_empty()).then_some(())
        });
        Ok(())
    }

    /// Types a line, and makes sure by its echo that no character was lost. Returns the mark before its answer.
    pub(crate) fn type_line(&mut self, text: &str, cancel: &Cancel) -> Done<u64> {
        let prompt = self.prompt()?.clone();
        self.console.transcript().add(LineSource::Typed, text);
        let wanted: Vec<u8> = text
            .bytes()
            .filter(|byte| !matches!(byte, b' ' | b'\t'))
            .collect();
        for pause in TYPED {
            self.console.clear_echo();
            let mark = self.console.mark();
            self.console
                .send(text.as_bytes(), pause)
                .map_err(ConsoleError::Failed)?;
            let echoed = !prompt.echo
                || self
                    .console
                    .wait(mark, ECHO, cancel, |output| {
                        has_in_order(&output.echo, &wanted).then_some(())
                    })
                    .is_ok();
            if cancel.is_cancelled() {
                return Err(ConsoleError::Cancelled);
            }
            if echoed {
                let mark = self.console.mark();
                self.console
                    .send(prompt.newline.as_bytes(), Duration::ZERO)
                    .map_err(ConsoleError::Failed)?;
                return Ok(mark);
            }
            self.remark("the echo lacks characters; typed again");
            let undo = match prompt.clear.is_empty() {
                false => prompt.clear.clone(),
                true => prompt.newline.clone(),
            };
            let mark = self.console.mark();
            self.console
                .send(undo.as_bytes(), Duration::ZERO)
                .map_err(ConsoleError::Failed)?;
            if prompt.clear.is_empty() {
                let _ = self.prompt_after(mark, &prompt, cancel);
            }
        }
        let echo = self.console.since(self.console.mark()).echo;
        let echo = String::from_utf8_lossy(&echo).into_owned();
        Err(ConsoleError::Failed(format!(
            "console {}: '{text}' came back as '{echo}': characters are lost; fix: lower the baud rate, use flow control, or set echo = false in the profile where nothing is echoed",
            self.console.name()
        )))
    }

    /// Waits for the prompt after a command, even if lines of other tasks follow it.
    pub(crate) fn prompt_after(
        &self,
        mark: u64,
        prompt: &Prompt,
        cancel: &Cancel,
    ) -> Result<(), Waited> {
        let is_ready = self.is_ready;
        self.console
            .wait(mark, prompt.patience, cancel, |output: &Output| {
                let first = prompt.first.as_ref().filter(|_| !is_ready);
                let here = prompt.pattern.is_match(&output.open)
                    || first.is_some_and(|first| first.is_match(&output.open));
                let echoed = match prompt.echo {
                    true => !output.lines.is_empty(),
                    false => output.quiet >= QUIET,
                };
                let passed = output
                    .lines
                    .iter()
                    .skip(1)
                    .any(|line| prompt.at_start.is_match(line));
                ((here && echoed) || passed).then_some(())
            })
    }
}

/// Whether the bytes occur in this order, with others between them: lines of other tasks may be mixed in.
fn has_in_order(all: &[u8], wanted: &[u8]) -> bool {
    let mut rest = all.iter();
    wanted.iter().all(|byte| rest.any(|other| other == byte))
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind, Write};
    use std::sync::mpsc::{Sender, channel};

    use wirelab_trial::Transcript;

    use super::*;
    use crate::console::Console;
    use crate::line::OpenLine;
    use crate::profile::find;

    /// The writing end of a line that echoes, and loses each sixth letter of those without a pause before them. It measures
    /// the pauses at the writer: a reader that waited for a core sees shorter ones.
    struct Lossy {
        echo: Sender<u8>,
        last: Instant,
        count: usize,
    }

    impl Write for Lossy {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.last.elapsed() >= Duration::from_millis(5) {
                self.count = 0;
            }
            for byte in bytes {
                self.count += 1;
                if self.count % 6 != 0 || byte.is_ascii_control() {
                    let _ = self.echo.send(*byte);
                }
            }
            self.last = Instant::now();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_line_loses_is_typed_again_with_longer_pauses() {
        let (echo, echoed) = channel();
        let line = OpenLine {
            reader: Box::new(move |buffer| {
                let byte = echoed.recv_timeout(Duration::from_millis(20));
                buffer[0] = byte.map_err(|_| io::Error::from(ErrorKind::WouldBlock))?;
                Ok(1)
            }),
            writer: Box::new(Lossy {
                echo,
                last: Instant::now(),
                count: 0,
            }),
            process: None,
        };
        // It deletes the input, so that the code does not wait for a prompt.
        let profile = find("linux").unwrap();
        let name = "exec:true".parse().unwrap();
        let console = Console::on(line, &name, Transcript::new("lossy", "linux")).unwrap();
        let mut board = Board::on(console, profile, None);
        let text = "echo-whole";
        let mark = board.type_line(text, &Cancel::new()).unwrap();
        let look = |output: &Output| output.lines.first().cloned();
        let typed = board
            .console
            .wait(mark, Duration::from_secs(20), &Cancel::new(), look)
            .unwrap();
        assert!(typed.ends_with(text), "{typed}");
        let log = board.transcript().log().lines.join("\n");
        assert!(
            log.contains("the echo lacks characters; typed again"),
            "{log}"
        );
    }

    #[test]
    fn an_echo_may_be_mixed_and_must_be_whole() {
        assert!(has_in_order(b"nsh>iperf[1.0]link-s", b"iperf-s"));
        assert!(!has_in_order(b"nsh>ipef-s", b"iperf-s"));
    }
}
