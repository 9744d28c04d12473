//! The transcript of a board's console: text in both directions, kept in the results file and bounded.
//!
//! The console writes into a [`Transcript`], and the run reads [`Transcript::log`] whenever it saves its results.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// Most bytes of a transcript: two parts of this size, its start and its end.
const HALF_BYTES: usize = 512 * 1024;

/// Everything that went over a console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConsoleLog {
    /// The console, e.g. `serial:/dev/ttyUSB0,115200`.
    pub console: String,
    /// The profile, e.g. `nuttx`.
    pub profile: String,
    /// The lines, each with the seconds since the console was opened: `>` was typed, `<` was printed, `#` is wirelab's
    /// own remark.
    pub lines: Vec<String>,
    /// Bytes that were left out in the middle, because a transcript is bounded; 0 where it is whole.
    pub cut_bytes: u64,
}

/// The source of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSource {
    /// Typed by wirelab.
    Typed,
    /// Printed by the board.
    Printed,
    /// A remark of wirelab, e.g. which trial begins.
    Remark,
}

/// A transcript that grows; its clones share it.
#[derive(Clone, Debug)]
pub struct Transcript(Arc<Mutex<TranscriptText>>);

#[derive(Debug)]
struct TranscriptText {
    console: String,
    profile: String,
    begun: Instant,
    head: Vec<String>,
    head_bytes: usize,
    tail: std::collections::VecDeque<String>,
    tail_bytes: usize,
    cut_bytes: u64,
}

impl Transcript {
    /// An empty transcript of a console and its profile.
    pub fn new(console: &str, profile: &str) -> Transcript {
        Transcript(Arc::new(Mutex::new(TranscriptText {
            console: console.to_owned(),
            profile: profile.to_owned(),
            begun: Instant::now(),
            head: Vec::new(),
            head_bytes: 0,
            tail: std::collections::VecDeque::new(),
            tail_bytes: 0,
            cut_bytes: 0,
        })))
    }

    /// Adds a line, without what would steer a terminal.
    pub fn add(&self, said: LineSource, text: &str) {
        let mark = match said {
            LineSource::Typed => '>',
            LineSource::Printed => '<',
            LineSource::Remark => '#',
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.begun.elapsed().as_secs_f64();
        let plain: String = text
            .chars()
            .map(|c| if c.is_control() && c != '\t' { '·' } else { c })
            .collect();
        kept.push(format!("{at:9.3} {mark} {plain}"));
    }

    /// What it has so far.
    pub fn log(&self) -> ConsoleLog {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = kept.head.clone();
        if kept.cut_bytes > 0 {
            lines.push(format!("# {} bytes were left out here", kept.cut_bytes));
        }
        lines.extend(kept.tail.iter().cloned());
        ConsoleLog {
            console: kept.console.clone(),
            profile: kept.profile.clone(),
            lines,
            cut_bytes: kept.cut_bytes,
        }
    }
}

impl TranscriptText {
    fn push(&mut self, line: String) {
        if self.head_bytes + line.len() <= HALF_BYTES && self.tail.is_empty() {
            self.head_bytes += line.len();
            self.head.push(line);
            return;
        }
        self.tail_bytes += line.len();
        self.tail.push_back(line);
        while self.tail_bytes > HALF_BYTES {
            let Some(first) = self.tail.pop_front() else {
                return;
            };
            self.tail_bytes -= first.len();
            self.cut_bytes += first.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_keeps_both_ends_and_says_what_it_left_out() {
        let transcript = Transcript::new("tcp:host:23", "nuttx");
        transcript.add(LineSource::Typed, "the first");
        let line = "x".repeat(1000);
        for _ in 0..3000 {
            transcript.add(LineSource::Printed, &line);
        }
        transcript.add(LineSource::Remark, "the last\u{1b}[2J");
        let log = transcript.log();
        assert!(log.lines[0].ends_with("> the first"), "{}", log.lines[0]);
        let last = log.lines.last().unwrap();
        assert!(last.ends_with("# the last·[2J"), "{last}");
        let bytes: usize = log.lines.iter().map(String::len).sum();
        assert!(bytes < 2 * HALF_BYTES + 100, "{bytes}");
        assert!(log.cut_bytes > 1_900_000, "{}", log.cut_bytes);
        let words = format!("# {} bytes were left out here", log.cut_bytes);
        assert!(log.lines.contains(&words));
    }
}
