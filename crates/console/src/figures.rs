//! Reads what a test program counted from the lines that it printed: by their shape, wherever they stand.
//!
//! A printed figure is known to half of its last digit; [`Number`] keeps that, so that two counts of one thing differ
//! only if they really do.

use regex_lite::Captures;

use crate::profile::{LineOf, Profile, Program, Role, TestProgram};

/// Largest printed figure that is accepted.
const MOST: f64 = 1e18;
/// Most intervals of a test.
const MOST_ROWS: usize = 10_000;
/// Intervals that begin earlier than this, in s, begin with the test.
const START_S: f64 = 0.01;

/// A printed figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Its value.
    pub value: f64,
    /// It may differ from the true one by this much, because it was rounded or truncated.
    pub within: f64,
}

/// An interval of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalRow {
    /// Its start in s.
    pub from_s: f64,
    /// Its end in s.
    pub to_s: f64,
    /// Its bytes.
    pub bytes: Option<Number>,
}

/// What a test program printed of one test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestFigures {
    /// Application bytes.
    pub bytes: Option<Number>,
    /// Duration in s.
    pub duration_s: Option<f64>,
    /// bit/s.
    pub bits_per_s: Option<Number>,
    /// Datagrams that arrived.
    pub received: Option<u64>,
    /// Datagrams that were lost.
    pub lost: Option<u64>,
    /// Datagrams that it sent.
    pub sent: Option<u64>,
    /// Datagrams out of order.
    pub out_of_order: Option<u64>,
    /// Jitter in s.
    pub jitter_s: Option<f64>,
    /// The intervals.
    pub rows: Vec<IntervalRow>,
    /// The error that it printed.
    pub failure: Option<String>,
    /// Whether a line of the whole test was read; if not, the bytes are the sum of the intervals.
    pub is_whole: bool,
}

/// A row that may be the total.
#[derive(Default)]
struct FigureRow {
    counted: TestFigures,
    from_s: Option<f64>,
    to_s: Option<f64>,
    total: Option<u64>,
}

/// The figures that a program in a role printed in these lines.
pub fn counted(lines: &[String], profile: &Profile, program: Program, role: Role) -> TestFigures {
    let mut read = Reading {
        by_client: role.is_client(),
        ..Reading::default()
    };
    let Some(of) = profile.programs.get(&program) else {
        return TestFigures::default();
    };
    let columns = profile.prompt.as_ref().map_or(0, |prompt| prompt.columns);
    let mut at = 0;
    while at < lines.len() {
        let line = profile.plain(&lines[at]);
        if !read.take(line, of) && columns > 0 && line.chars().count() >= columns {
            // The console wrapped it.
            if let Some(next) = lines.get(at + 1) {
                let joined = format!("{line}{next}");
                if read.take(&joined, of) {
                    at += 1;
                }
            }
        }
        at += 1;
    }
    let mut plain = lines.iter().map(|line| profile.plain(line));
    let failed = |line: &&str| of.failures.iter().any(|failure| failure.is_match(line));
    let failure = plain
        .find(failed)
        .map(|line| line.trim().chars().take(200).collect());
    TestFigures {
        failure,
        ..read.end()
    }
}

#[derive(Default)]
struct Reading {
    by_client: bool,
    rows: Vec<IntervalRow>,
    whole: Option<TestFigures>,
    part: Option<FigureRow>,
}

impl Reading {
    /// Takes a line; returns whether it had figures.
    fn take(&mut self, line: &str, of: &TestProgram) -> bool {
        for shape in &of.lines {
            let other = shape.by_client.is_some_and(|own| own != self.by_client);
            let Some(groups) = shape.pattern.captures(line).filter(|_| !other) else {
                continue;
            };
            if shape.of == LineOf::Part {
                let part = self.part.get_or_insert_default();
                fill(part, &groups, of);
                return true;
            }
            let mut found = FigureRow::default();
            fill(&mut found, &groups, of);
            self.row(found, shape.of);
            return true;
        }
        false
    }

    fn row(&mut self, found: FigureRow, of: LineOf) {
        let (from_s, to_s) = (found.from_s.unwrap_or(0.0), found.to_s);
        let furthest = self.rows.iter().map(|row| row.to_s).fold(0.0, f64::max);
        let is_total = match of {
            LineOf::Total => true,
            LineOf::Interval | LineOf::Part => false,
            // A line that spans all others is the total of the test, unless it is the first interval.
            LineOf::Either => {
                from_s < START_S
                    && !self.rows.is_empty()
                    && to_s.is_none_or(|to| to >= furthest - START_S)
            }
        };
        if is_total {
            self.whole = Some(found.end());
            return;
        }
        if let Some(to_s) = to_s.filter(|_| self.rows.len() < MOST_ROWS) {
            if from_s < START_S {
                // Another test begins.
                self.rows.clear();
                self.whole = None;
            }
            let counted = found.end();
            self.rows.push(IntervalRow {
                from_s,
                to_s,
                bytes: counted.bytes,
            });
            // The only line of a short test is also its total.
            if of == LineOf::Either && from_s < START_S {
                self.whole = Some(counted);
            } else if self.whole.as_ref().is_some_and(|_| self.rows.len() == 2) {
                self.whole = None;
            }
        }
    }

    fn end(mut self) -> TestFigures {
        if let Some(part) = self.part.take() {
            self.whole = Some(part.end());
        }
        if let Some(whole) = self.whole {
            return TestFigures {
                rows: self.rows,
                is_whole: true,
                ..whole
            };
        }
        let mut sum = TestFigures::default();
        for row in &self.rows {
            let Some(bytes) = row.bytes else { continue };
            let all = sum.bytes.get_or_insert(Number {
                value: 0.0,
                within: 0.0,
            });
            all.value += bytes.value;
            all.within += bytes.within;
        }
        let ends = self.rows.iter().map(|row| row.to_s);
        sum.duration_s = ends.reduce(f64::max);
        TestFigures {
            rows: self.rows,
            ..sum
        }
    }
}

impl FigureRow {
    fn end(self) -> TestFigures {
        let mut counted = self.counted;
        if let (None, Some(from), Some(to)) = (counted.duration_s, self.from_s, self.to_s) {
            counted.duration_s = Some(to - from).filter(|s| *s > 0.0);
        }
        if let (None, Some(lost), Some(total)) = (counted.received, counted.lost, self.total) {
            counted.received = Some(total.saturating_sub(lost));
        }
        if let (None, None, Some(total)) = (counted.received, counted.lost, self.total) {
            counted.received = Some(total);
        }
        // Some print only a rate.
        if let (None, Some(rate), Some(s)) = (counted.bytes, counted.bits_per_s, counted.duration_s)
        {
            counted.bytes = Some(Number {
                value: rate.value * s / 8.0,
                within: rate.within * s / 8.0,
            });
        }
        counted
    }
}

/// Fills a row from the groups of a line.
fn fill(found: &mut FigureRow, groups: &Captures<'_>, of: &TestProgram) {
    let number = |name: &str| groups.name(name).and_then(|m| number(m.as_str()));
    let unit = |name: &str| groups.name(name).map_or("", |m| m.as_str());
    let count = |name: &str| number(name).map(|n| n.value as u64);
    let counted = &mut found.counted;
    if let Some(n) = number("bytes") {
        counted.bytes = Some(n.times(prefix(unit("bytes_unit"), of.bytes_kilo)));
    }
    if let Some(n) = number("rate") {
        counted.bits_per_s = Some(n.times(prefix(unit("rate_unit"), of.bits_kilo)));
    }
    if let Some(n) = number("rate_kbit") {
        counted.bits_per_s = Some(n.times(1000.0));
    }
    if let Some(n) = number("duration") {
        counted.duration_s = Some(n.value * seconds(unit("duration_unit"), 1.0));
    }
    if let Some(n) = number("duration_ms") {
        counted.duration_s = Some(n.value / 1000.0);
    }
    if let Some(n) = number("client_duration") {
        counted.duration_s = Some(n.value * seconds(unit("client_duration_unit"), 1.0));
    }
    if let Some(n) = number("jitter") {
        counted.jitter_s = Some(n.value * seconds(unit("jitter_unit"), 1e-3));
    }
    counted.received = count("received").or(counted.received);
    counted.lost = count("lost").or(counted.lost);
    counted.sent = count("sent").or(counted.sent);
    counted.out_of_order = count("out_of_order").or(counted.out_of_order);
    found.total = count("total").or(found.total);
    found.from_s = number("from").map(|n| n.value).or(found.from_s);
    found.to_s = number("to").map(|n| n.value).or(found.to_s);
}

/// A number as it was printed.
fn number(text: &str) -> Option<Number> {
    let text = text.trim();
    let plain = |c: char| c.is_ascii_digit() || c == '.';
    let value: f64 = text.parse().ok().filter(|_| text.chars().all(plain))?;
    let decimals = text.split_once('.').map_or(0, |(_, part)| part.len());
    let decimals = i32::try_from(decimals).ok().filter(|n| *n < 20)?;
    // A program may round or truncate.
    let within = match decimals {
        0 => 0.0,
        n => 10f64.powi(-n),
    };
    (value <= MOST).then_some(Number { value, within })
}

impl Number {
    fn times(self, factor: f64) -> Number {
        // A whole number with a prefix is rounded too.
        let within = match factor > 1.0 && self.within == 0.0 {
            true => 1.0,
            false => self.within,
        };
        Number {
            value: self.value * factor,
            within: within * factor,
        }
    }

    /// Whether another count of the same thing differs by more than the rounding.
    pub fn differs_from(self, other: f64) -> bool {
        (self.value - other).abs() > self.within * 1.000_001
    }
}

/// The factor of a unit such as `MBytes`, `Kbits/sec` or `Mbps`.
fn prefix(unit: &str, kilo: u32) -> f64 {
    let power = match unit.trim_start().chars().next() {
        Some('k' | 'K') => 1,
        Some('m' | 'M') => 2,
        Some('g' | 'G') => 3,
        Some('t' | 'T') => 4,
        _ => 0,
    };
    f64::from(kilo).powi(power)
}

/// The seconds of a unit of time.
fn seconds(unit: &str, otherwise: f64) -> f64 {
    match unit.trim() {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        _ => otherwise,
    }
}
