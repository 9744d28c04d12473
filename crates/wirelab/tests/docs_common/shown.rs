//! Holds what a page shows of a command's output to what the command prints: exactly where no host has a part in it, and
//! by its shape, all words and the places of all figures, where it is measured.

use super::Shown;

/// Commands whose output depends on the host or on the moment: their figures are those of one run.
const MEASURED: &[&str] = &[
    "wirelab measure lab",
    "wirelab measure node:",
    "wirelab measure iperf:",
    "wirelab stages lab:",
    "wirelab fit stages.json",
    "wirelab send",
    "wirelab receive",
    "wirelab verify",
    "wirelab selftest",
    "wirelab iperf",
    "wirelab hdl tap0",
    "wirelab node serve",
    "wirelab board run",
    "wirelab console check",
    "wirelab console log",
    // When a run began.
    "wirelab results list",
];

/// How wide the terminal was on which the pages' output was printed: tables follow it.
const WIDTHS: &[(&str, u32)] = &[
    ("wirelab study run lpc1768", 140),
    ("wirelab stages hdl:reference --wait-states", 106),
    ("wirelab stages hdl:reference", 100),
    ("wirelab measure hdl:", 140),
    ("wirelab measure node:", 200),
    ("wirelab measure iperf:", 200),
    ("wirelab measure lab:1", 100),
    ("wirelab measure lab: ", 220),
    ("wirelab fit stages.json", 220),
];
/// What is shown of these is not held to what a shorter run prints, and why.
const NOT_HELD: &[(&str, &str, &str)] = &[
    (
        "docs/any-firmware.md",
        "wirelab stages qemu:nuttx-rv-virt",
        "no test has the sources of NuttX; the same is done with an image of ours",
    ),
    (
        "docs/fast-track.md",
        "wirelab stages lab: --length 64 --count 8192",
        "its verdict takes thousands of frames",
    ),
    (
        "docs/stages.md",
        "wirelab stages lab: --length 64,256,1024",
        "the column of frames is there only where rows differ in them, which is chance",
    ),
    (
        "README.md",
        "wirelab measure node:198.18.0.1 --quick",
        "it is a part of what docs/datasheet.md shows, whose commands' test holds it",
    ),
];
/// Lines that a run has or lacks by how busy its host is.
const BY_HOW_BUSY: &[&str] = &[
    "the sender did not keep the rate:",
    "length 64 B, spin:",
    "tester-was-limit",
    "The tester was the limit",
];

/// The width of the terminal for a command.
pub fn width(command: &str) -> u32 {
    let known = WIDTHS.iter().find(|(begin, _)| command.starts_with(begin));
    known.map_or(118, |(_, width)| *width)
}

/// Whether what a command prints depends on the host or on the moment.
pub fn is_measured(command: &str) -> bool {
    MEASURED.iter().any(|begin| command.starts_with(begin))
}

/// Whether a run of this command on any host, shortened or not, prints the figures that a page shows.
fn is_exact(command: &str, as_written: bool) -> bool {
    // A generator of hardware keeps its rate to the clock from the first frame on.
    !is_measured(command) && (as_written || command.starts_with("wirelab measure hdl:"))
}

/// Commands whose tables have the columns that there is room for beside the figures of the moment, and cells that only
/// some runs fill: of them the sentences are held.
const SENTENCES: &[&str] = &["wirelab measure lab:1", "wirelab measure lab:4"];

/// Whether a line is of a table: its head, a row behind its number, or a line that is indented.
fn is_of_table(line: &str) -> bool {
    let row = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_row = ["transmit", "receive"]
        .iter()
        .any(|way| row.trim_start().starts_with(way));
    line.starts_with(['#', ' ']) || row.len() < line.len() && is_row
}

/// What is wrong with what a page shows of a command, if anything is.
pub fn wrong(shown: &Shown, as_written: bool, printed: &str) -> Option<String> {
    let not_held = |(page, begin, _): &&(&str, &str, &str)| {
        shown.page == *page && shown.command.starts_with(begin)
    };
    if NOT_HELD.iter().any(|row| not_held(&row)) {
        return None;
    }
    let mut lines = shown.output.clone();
    if SENTENCES
        .iter()
        .any(|begin| shown.command.starts_with(begin))
    {
        lines.retain(|line| !is_of_table(line));
    }
    differs(&lines, printed, is_exact(&shown.command, as_written))
}

fn differs(shown: &[String], printed: &str, exact: bool) -> Option<String> {
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    if exact {
        exactly(shown, &printed)
    } else {
        in_shape(shown, &printed)
    }
}

/// Whether a line stands for lines that are left out, or for what is typed.
fn is_mark(line: &str) -> bool {
    line == "…" || line == "^C"
}

/// Line by line; `…` stands for lines that are left out, and what follows the last line may be missing.
fn exactly(shown: &[String], printed: &[&str]) -> Option<String> {
    let mut at = 0;
    let mut gap = false;
    for line in shown {
        if is_mark(line) {
            gap = true;
            continue;
        }
        let (cut, whole) = match line.strip_suffix('…') {
            Some(begin) => (begin, false),
            None => (line.as_str(), true),
        };
        let is = |there: &&str| {
            if whole {
                *there == cut
            } else {
                there.starts_with(cut)
            }
        };
        let reach = if gap { printed.len() } else { at + 1 };
        let within = printed
            .get(at..reach.min(printed.len()))
            .unwrap_or_default();
        match within.iter().position(is) {
            Some(found) => at += found + 1,
            None => {
                let instead = printed.get(at).copied().unwrap_or("the end");
                return Some(format!("{line:?} is shown, and printed is {instead:?}"));
            }
        }
        gap = false;
    }
    None
}

/// Each shown line in its order, by its words; where two terminals stand side by side, by what each has in a line.
fn in_shape(shown: &[String], printed: &[&str]) -> Option<String> {
    let there: Vec<String> = printed.iter().map(|line| shape(line)).collect();
    let mut at = 0;
    let needed = |line: &&String| {
        let busy = BY_HOW_BUSY.iter().any(|words| line.contains(words));
        !is_mark(line) && !line.trim().is_empty() && !busy
    };
    for line in shown.iter().filter(needed) {
        let (wanted, whole) = match line.trim_end().strip_suffix('…') {
            Some(begin) => (shape(begin), false),
            None => (shape(line), true),
        };
        // A busy host adds a sentence of its own.
        let begins = !whole || wanted.ends_with('.');
        let is = |line: &String| *line == wanted || begins && line.starts_with(&wanted);
        // What standard error has in it stands behind all of standard output.
        match there[at..].iter().position(is) {
            Some(found) => at += found + 1,
            None if there.iter().any(is) => {}
            None if columns(line, &there) => {}
            None => {
                return Some(format!(
                    "{line:?} is shown ({wanted:?}), and no line of:\n{}",
                    there.join("\n")
                ));
            }
        }
    }
    None
}

/// Whether each piece of a line with wide gaps in it is the beginning of a line that was printed.
fn columns(line: &str, there: &[String]) -> bool {
    let pieces: Vec<&str> = line
        .split("   ")
        .map(str::trim)
        .filter(|p| !p.is_empty())
        .collect();
    pieces.len() == 2
        && pieces.iter().all(|piece| {
            let wanted = shape(piece.trim_end_matches('…'));
            there.iter().any(|line| line.starts_with(&wanted))
        })
}

/// Counts that stay as they are, since no host has a part in them.
const COUNTS: [&str; 6] = [
    "good",
    "lost",
    "bad",
    "corrupted",
    "duplicated",
    "reordered",
];
/// Units that differ in their prefix alone.
const UNITS: [(&[&str], &str); 4] = [
    (&["ns", "µs", "us", "ms", "s", "sec"], "s"),
    (&["KBytes", "MBytes", "GBytes"], "Bytes"),
    (&["Kbits/sec", "Mbits/sec", "Gbits/sec"], "bits/sec"),
    (&["kB/s", "MB/s", "GB/s"], "B/s"),
];

/// A line with all figures, prefixes of units, verdicts on the tester and gaps alike.
fn shape(line: &str) -> String {
    // A sum that one run has and another lacks; what sums say is held by the tests of reports.
    let line = line.replace(" (measured + published)", "");
    let line = line.replace("the sender fell behind", "the rate was kept");
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut shaped: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map(|next| bare(next));
        // Images are where this program was built.
        let word = if word.ends_with(".elf") {
            word.rsplit('/').next().expect("a part")
        } else {
            word
        };
        let figure = if next.is_some_and(|next| COUNTS.contains(&next)) {
            word.to_owned()
        } else if word.matches(':').count() == 5 {
            "MAC".to_owned()
        } else if ["no", "yes", "–"].contains(&word) {
            "0".to_owned()
        } else {
            figures(word)
        };
        let after_figure = shaped.last().is_some_and(|last| last.ends_with('0'));
        let unit = UNITS
            .iter()
            .find(|(units, _)| after_figure && units.contains(&bare(word)));
        shaped.push(unit.map_or(figure, |(_, unit)| word.replacen(bare(word), unit, 1)));
    }
    shaped.join(" ")
}

/// A word without the marks at its end.
fn bare(word: &str) -> &str {
    word.trim_end_matches([',', ')', ';', '.'])
}

/// A word with `0` for each figure, range or absent figure in it, and without the number of a note.
fn figures(word: &str) -> String {
    let mut shaped = String::new();
    // An error is above or below from run to run.
    let unsigned = word.strip_prefix(['-', '−']);
    let mut rest = unsigned
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or(word);
    while let Some(c) = rest.chars().next() {
        if c == '[' && shaped.ends_with('0') && rest.contains(']') {
            rest = &rest[rest.find(']').expect("seen") + 1..];
        } else if c.is_ascii_digit() {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || ",.".contains(c));
            shaped.push('0');
        } else if c == '–' {
            rest = &rest[c.len_utf8()..];
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || ",.".contains(c));
            if !shaped.ends_with('0') {
                shaped.push('0');
            }
        } else {
            shaped.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    shaped
}

#[test]
fn a_shape_keeps_words_and_counts_and_no_other_figure() {
    for (one, other) in [
        (
            "TX  2,091   384  2,475 (measured + published)[1]",
            "TX 7 1.5 –[3]",
        ),
        (
            "1 transmit ×4 96.88–96.89 0.02 no",
            "12 transmit ×4 7 –[1] yes",
        ),
        ("RX=3,108 TX=3,159  90", "RX=1 TX=2 3"),
        ("measured (error -26.4 %)", "measured (error 3 %)"),
        (
            "median 98.3 µs, longest 6.465 ms; kept",
            "median 1 ns, longest 2 s; kept",
        ),
        (
            "7 frames sent, 0 lost, 0 bad",
            "1,234 frames sent, 0 lost, 0 bad",
        ),
        (
            "stream 0 from 02:57:4c:98:00:02",
            "stream 1 from 02:aa:bb:cc:dd:ee",
        ),
    ] {
        assert_eq!(shape(one), shape(other));
    }
    for (one, other) in [
        ("0 lost of 300", "3 lost of 300"),
        ("RX Latency 31,559", "TX Latency 31,559"),
        ("no loss: not measured", "no loss: measured"),
    ] {
        assert_ne!(shape(one), shape(other));
    }
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let exact = |shown: &str, printed: &str| differs(&lines(shown), printed, true);
    assert_eq!(exact("a 1\n…\nc 3", "a 1\nb 2\nc 3\nd 4"), None);
    for (shown, printed) in [
        ("a 1\nc 3", "a 1\nb 2\nc 3"),
        ("a 2", "a 1"),
        ("b 2", "a 1\nb 2"),
    ] {
        assert!(exact(shown, printed).is_some(), "{shown}");
    }
}
