//! Output on a terminal beside the result: progress on stderr, width, colour, and Ctrl-C.

use std::fmt::Arguments;
use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wirelab_report::document::table::Table;
use wirelab_report::document::{Block, Document, terminal};
use wirelab_trial::{Cancel, CountedRows, Progress, Warning};

use crate::exit::{Failure, Fallible};

/// A flag that Ctrl-C and termination set; a second Ctrl-C ends the program immediately.
pub fn cancel_on_signal() -> Cancel {
    let cancel = Cancel::new();
    let on_signal = cancel.clone();
    let installed = ctrlc::set_handler(move || {
        if on_signal.is_cancelled() {
            std::process::exit(130);
        }
        on_signal.cancel();
    });
    if let Err(error) = installed {
        complain(format_args!(
            "wirelab: Ctrl-C will not keep results: {error}"
        ));
    }
    cancel
}

/// Prints the known limitations of the figures before anything is sent.
pub fn warn_of(warnings: &[Warning]) {
    for warning in warnings {
        complain(format_args!("wirelab: warning: {}", warning.in_words()));
    }
}

/// Progress in one line on stderr, only on a terminal and only for work longer than a second.
pub struct Bar {
    shown: Mutex<Option<Instant>>,
    begun: Instant,
    on: bool,
}

impl Bar {
    pub fn new() -> Bar {
        Bar {
            shown: Mutex::new(None),
            begun: Instant::now(),
            on: stderr().is_terminal(),
        }
    }

    /// A line that stays above the progress, on a terminal.
    pub fn line(&self, text: &str) {
        self.clear();
        if self.on {
            complain(format_args!("{text}"));
        }
    }

    /// Removes the line, so that the next output starts at the margin.
    pub fn clear(&self) {
        let mut shown = self.shown.lock().unwrap_or_else(|e| e.into_inner());
        if self.on && shown.take().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

/// Shows progress by the clock while `work` runs, for the `expected` time or, where that is unknown, until it ends.
pub fn while_showing<T>(what: &str, expected: Option<Duration>, work: impl FnOnce() -> T) -> T {
    let (bar, over) = (Bar::new(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let ticker = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let passed = bar.begun.elapsed();
                let total = expected.unwrap_or(Duration::MAX).as_millis().max(1) as u64;
                let seconds = format!("{what} for {} s", passed.as_secs());
                bar.report((passed.as_millis() as u64).min(total), total, &seconds);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        // If the ticker died, only the progress is missing.
        let _ = ticker.join();
        bar.clear();
        done
    })
}

impl Progress for Bar {
    fn report(&self, done: u64, total: u64, what: &str) {
        const EVERY: Duration = Duration::from_millis(100);
        let mut shown = self.shown.lock().unwrap_or_else(|e| e.into_inner());
        let due = shown.is_none_or(|at| at.elapsed() >= EVERY);
        if !self.on || !due || self.begun.elapsed() < Duration::from_secs(1) {
            return;
        }
        *shown = Some(Instant::now());
        let percent = (done.saturating_mul(100) / total.max(1)).min(100);
        let filled = (percent / 5) as usize;
        let bar = format!("{}{}", "#".repeat(filled), "-".repeat(20 - filled));
        let _ = write!(stderr(), "\r\x1b[K[{bar}] {percent:3} % {what}");
        let _ = stderr().flush();
    }
}

/// Writes to standard output; ends quietly where its reader has gone (`wirelab … | head`), and with an error where it
/// cannot be written. Every command has cleaned up and written its files by then.
pub fn write_out(text: Arguments<'_>) {
    let mut out = stdout();
    let Err(error) = out.write_fmt(text).and_then(|()| out.flush()) else {
        return;
    };
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    complain(format_args!(
        "wirelab: cannot write to standard output: {error}"
    ));
    std::process::exit(1);
}

/// Prints on standard error; errors are ignored, because there is no other place to report them.
pub fn complain(text: Arguments<'_>) {
    let _ = writeln!(stderr(), "{text}");
}

/// `print!` that does not panic, see [`write_out`].
macro_rules! put {
    ($($text:tt)*) => { $crate::terminal::write_out(format_args!($($text)*)) };
}

/// `println!` that does not panic, see [`write_out`].
macro_rules! say {
    () => { $crate::terminal::put!("\n") };
    ($($text:tt)*) => { $crate::terminal::put!("{}\n", format_args!($($text)*)) };
}

pub(crate) use {put, say};

/// Width of standard output in characters: that of `COLUMNS`, else of the terminal; `None` without a terminal.
fn width() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok();
    let said = columns.and_then(|text| text.parse().ok());
    let from_terminal =
        || terminal_size::terminal_size_of(stdout()).map(|(width, _)| width.0.into());
    said.or_else(from_terminal).filter(|width| *width > 0)
}

/// Prints something other than a report of results: a title and parts.
pub fn show(title: String, blocks: Vec<Block<'_>>) {
    show_document(&Document {
        title,
        blocks,
        ..Document::default()
    });
}

/// Prints counted frames, and remarks on them.
pub fn show_counted(title: String, rows: CountedRows, remarks: Vec<String>) {
    let counted = Table::counted("", rows);
    show(title, vec![Block::Table(counted), Block::List(remarks)]);
}

/// Print a document.
pub fn show_document(document: &Document<'_>) {
    let options = report_options(None, false);
    write_out(format_args!("{}", terminal::render(document, &options)));
}

/// Print what began, what is known of it, and how it ends.
pub fn show_started(title: String, facts: impl IntoIterator<Item = (&'static str, String)>) {
    let facts = facts
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text));
    let facts = Block::Facts(facts.collect());
    show(
        title,
        vec![facts, Block::Words("Ctrl-C ends it.".to_owned())],
    );
}

/// Print data for a script that reads a line at a time.
pub fn show_json_line(data: &impl serde::Serialize) -> Fallible<()> {
    let text = serde_json::to_string(data).map_err(Failure::failed)?;
    say!("{text}");
    Ok(())
}

/// Print data for a script.
pub fn show_json(data: &impl serde::Serialize) -> Fallible<()> {
    put!("{}", json_text(data)?);
    Ok(())
}

/// Data for a script, as a file has it.
pub fn json_text(data: &impl serde::Serialize) -> Fallible<String> {
    let mut text = serde_json::to_string_pretty(data).map_err(Failure::failed)?;
    text.push('\n');
    Ok(text)
}

/// Options of a report on standard output.
pub fn report_options(title: Option<String>, each_flow: bool) -> wirelab_report::Options {
    let terminal = stdout().is_terminal();
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    wirelab_report::Options {
        title,
        each_flow,
        colour: terminal && !no_colour,
        width: width(),
        trials: false,
    }
}
