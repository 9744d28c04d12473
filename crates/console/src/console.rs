//! An open console: a thread always reads it, so that nothing is lost while a trial runs; callers wait for lines, and
//! everything goes into the transcript.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wirelab_trial::{Cancel, LineSource, Transcript};

use crate::line::{self, OpenLine, Process};
use crate::name::ConsoleName;
use crate::screen::Screen;

/// Most lines that are kept for a trial; older ones are only in the transcript.
const MOST_LINES: usize = 20_000;
/// Most characters that are kept to compare an echo with what was typed.
const MOST_ECHO: usize = 8192;
/// Longest time between two checks while waiting.
const LOOK: Duration = Duration::from_millis(50);

/// A console that is open.
pub struct Console {
    name: ConsoleName,
    shared: Arc<SharedScreen>,
    writer: Box<dyn Write + Send>,
    transcript: Transcript,
    thread: Option<JoinHandle<()>>,
    process: Option<Process>,
}

struct SharedScreen {
    state: Mutex<State>,
    changed: Condvar,
    stop: AtomicBool,
}

#[derive(Default)]
struct State {
    screen: Screen,
    lines: VecDeque<String>,
    /// Number of the first kept line.
    first: u64,
    echo: VecDeque<u8>,
    /// Why the console is closed.
    closed: Option<String>,
    last_byte: Option<Instant>,
    /// The time until which all output was read: the reading thread may wait for a core, like the waiting one.
    read_until: Option<Instant>,
}

/// What the console printed since a mark, as a wait sees it.
pub struct Output {
    /// The number of the first of its lines.
    pub from: u64,
    /// The complete lines since the mark.
    pub lines: Vec<String>,
    /// The line under the cursor.
    pub open: String,
    /// The printable characters since the echo was cleared, without spaces.
    pub echo: Vec<u8>,
    /// How long the console was silent, as far as it was read.
    pub quiet: Duration,
}

/// Why a wait ended without its result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Waited {
    /// The time was over.
    #[error("nothing came in time")]
    TimedOut,
    /// The user ended the run.
    #[error("the run was ended")]
    Cancelled,
    /// The console is closed.
    #[error("{0}")]
    Closed(String),
}

impl Console {
    /// Opens a console.
    ///
    /// # Errors
    /// A text that names the thing and the fix.
    pub fn open(name: &ConsoleName, transcript: Transcript) -> Result<Console, String> {
        Console::on(line::open(name)?, name, transcript)
    }

    pub(crate) fn on(
        line: OpenLine,
        name: &ConsoleName,
        transcript: Transcript,
    ) -> Result<Console, String> {
        let shared = Arc::new(SharedScreen {
            state: Mutex::default(),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
        });
        let (for_thread, kept) = (Arc::clone(&shared), transcript.clone());
        let mut reader = line.reader;
        let shown = name.to_string();
        let thread = std::thread::Builder::new()
            .name("console".to_owned())
            .spawn(move || {
                let mut buffer = [0; 4096];
                while !for_thread.stop.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    match reader(&mut buffer) {
                        Ok(0) => {
                            return for_thread
                                .close(format!("the console {shown} was closed by its other end"));
                        }
                        Ok(n) => for_thread.take(&buffer[..n], &kept),
                        Err(error)
                            if matches!(
                                error.kind(),
                                ErrorKind::WouldBlock | ErrorKind::Interrupted
                            ) =>
                        {
                            for_thread.lock().read_until = Some(begun);
                        }
                        Err(error) => {
                            return for_thread
                                .close(format!("the console {shown} failed: {error}"));
                        }
                    }
                }
            })
            .map_err(|error| {
                format!("cannot start a thread for the console: {error}; fix: end other programs")
            })?;
        Ok(Console {
            name: name.clone(),
            shared,
            writer: line.writer,
            transcript,
            thread: Some(thread),
            process: line.process,
        })
    }

    /// Ends it and opens it again, which starts the command of an `exec:` again. Earlier marks are void.
    ///
    /// # Errors
    /// As [`Console::open`].
    pub fn reopen(&mut self) -> Result<(), String> {
        self.end();
        *self = Console::open(&self.name.clone(), self.transcript.clone())?;
        Ok(())
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // The command and its children end when it is dropped.
        self.process = None;
    }

    /// Its name.
    pub fn name(&self) -> &ConsoleName {
        &self.name
    }

    /// The transcript of its input and output.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The number of lines so far.
    pub fn mark(&self) -> u64 {
        let state = self.shared.lock();
        state.first + state.lines.len() as u64
    }

    /// The output since a mark.
    pub fn since(&self, mark: u64) -> Output {
        self.shared.lock().since(mark)
    }

    /// Sends bytes. With a pause they are sent one by one, because a board without flow control would lose some.
    ///
    /// # Errors
    /// A text that names the console.
    pub fn send(&mut self, bytes: &[u8], pause: Duration) -> Result<(), String> {
        let name = &self.name;
        let failed = |error: std::io::Error| {
            format!(
                "cannot write to the console {name}: {error}; fix: check that it is still connected"
            )
        };
        if pause.is_zero() {
            self.writer.write_all(bytes).map_err(failed)?;
        } else {
            for byte in bytes {
                self.writer.write_all(&[*byte]).map_err(failed)?;
                self.writer.flush().map_err(failed)?;
                std::thread::sleep(pause);
            }
        }
        self.writer.flush().map_err(failed)
    }

    /// Whether a key that is sent now would be a signal for the command behind this console, and not reach a board.
    pub fn is_signal(&self, key: u8) -> bool {
        self.process
            .as_ref()
            .is_some_and(|process| process.is_signalled_by(key))
    }

    /// Drops what was echoed so far.
    pub fn clear_echo(&self) {
        self.shared.lock().echo.clear();
    }

    /// Waits until `look` finds its text in the output since a mark.
    ///
    /// # Errors
    /// [`Waited`]
    pub fn wait<T>(
        &self,
        mark: u64,
        longest: Duration,
        cancel: &Cancel,
        mut look: impl FnMut(&Output) -> Option<T>,
    ) -> Result<T, Waited> {
        let end = Instant::now() + longest;
        let mut state = self.shared.lock();
        loop {
            if let Some(found) = look(&state.since(mark)) {
                return Ok(found);
            }
            if let Some(why) = &state.closed {
                return Err(Waited::Closed(why.clone()));
            }
            if cancel.is_cancelled() {
                return Err(Waited::Cancelled);
            }
            let left = end.saturating_duration_since(Instant::now());
            let was_read = state.read_until.max(state.last_byte) >= Some(end);
            if left.is_zero() && was_read {
                return Err(Waited::TimedOut);
            }
            let look = if left.is_zero() { LOOK } else { left.min(LOOK) };
            let waited = self.shared.changed.wait_timeout(state, look);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl SharedScreen {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, why: String) {
        self.lock().closed = Some(why);
        self.changed.notify_all();
    }

    fn take(&self, bytes: &[u8], transcript: &Transcript) {
        let mut state = self.lock();
        let State {
            screen,
            lines,
            first,
            echo,
            ..
        } = &mut *state;
        let ended = |line: String| {
            transcript.add(LineSource::Printed, &line);
            lines.push_back(line);
            if lines.len() > MOST_LINES {
                lines.pop_front();
                *first += 1;
            }
        };
        let echoed = |byte: u8| {
            if byte != b' ' {
                echo.push_back(byte);
            }
            if echo.len() > MOST_ECHO {
                echo.pop_front();
            }
        };
        screen.take(bytes, ended, echoed);
        state.last_byte = Some(Instant::now());
        self.changed.notify_all();
    }
}

impl State {
    fn since(&self, mark: u64) -> Output {
        let skip = usize::try_from(mark.saturating_sub(self.first)).unwrap_or(usize::MAX);
        Output {
            from: self.first + skip.min(self.lines.len()) as u64,
            lines: self.lines.iter().skip(skip).cloned().collect(),
            open: self.screen.text(),
            echo: self.echo.iter().copied().collect(),
            quiet: self.last_byte.map_or(Duration::MAX, |last| {
                let until = self.read_until.unwrap_or(last);
                until.saturating_duration_since(last)
            }),
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.end();
        let open = self.shared.lock().screen.text();
        if !open.is_empty() {
            self.transcript.add(LineSource::Printed, &open);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A console whose thread reads for the first time after so long.
    fn read_late(late: Duration, mut text: &'static [u8]) -> Console {
        let line = OpenLine {
            reader: Box::new(move |buffer| {
                std::thread::sleep(late);
                let count = text.len();
                buffer[..count].copy_from_slice(std::mem::take(&mut text));
                match count {
                    0 => Err(ErrorKind::WouldBlock.into()),
                    _ => Ok(count),
                }
            }),
            writer: Box::new(std::io::sink()),
            process: None,
        };
        let name = "exec:true".parse().unwrap();
        Console::on(line, &name, Transcript::new("late", "none")).unwrap()
    }

    #[test]
    fn a_time_is_over_when_all_that_came_until_then_was_read() {
        let wait = |console: &Console| {
            let look = |output: &Output| output.lines.first().cloned();
            console.wait(0, Duration::from_millis(10), &Cancel::new(), look)
        };
        let late = Duration::from_millis(200);
        assert_eq!(wait(&read_late(late, b"in time\n")), Ok("in time".into()));
        assert_eq!(wait(&read_late(late, b"")), Err(Waited::TimedOut));
    }
}
