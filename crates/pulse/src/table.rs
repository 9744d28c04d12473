//! Tables (CSV) as Saleae's programs (Logic 1 and 2) and oscilloscopes export them: Rigol, Siglent, Keysight, Tektronix.
//!
//! They differ in the lines above the rows, and in where a row has its time: in a column, or as its number times an
//! increment from above. Otherwise they are alike: rows of numbers, whose columns have names above.

use std::io::{BufRead, Read};

use crate::error::{PulseFault, choose};
use crate::levels::{self, Follower, push};
use crate::units::clock_ps;
use crate::{MOST_SAMPLES, PulseOptions, SECOND_PS, Samples, UncertaintySource};

/// Bytes of the longest line.
const LONGEST_LINE: u64 = 1 << 16;
/// Most lines above the rows, and most columns.
const MOST_ABOVE: usize = 200;
const MOST_COLUMNS: usize = 1024;
/// How unequal the steps of evenly sampled rows may be: their times are rounded.
const EVEN: f64 = 0.1;

/// The channel of a table.
///
/// # Errors
/// Why it cannot be read, with the line and the fix.
pub fn read(file: impl BufRead, wanted: &PulseOptions) -> Result<Samples, PulseFault> {
    let mut lines = Lines::new(file);
    let mut above: Vec<Vec<String>> = Vec::new();
    let first = loop {
        let Some(cells) = lines.next()? else {
            return Err(
                "it has no rows of numbers; fix: export the recording as CSV with times and levels"
                    .into(),
            );
        };
        let layout = Layout::of(&above, &cells);
        if let Some(layout) = layout {
            break layout;
        }
        above.push(cells);
        if above.len() > MOST_ABOVE {
            return Err("it has no rows of numbers in its first 200 lines; fix: export the recording as CSV".into());
        }
    };
    let layout = first;
    let at = choose(&layout.names, wanted.channel.as_deref())?;
    let column = layout.first_column + at;
    let mut rows = Rows::default();
    loop {
        rows.take(&layout, lines.cells(), column, wanted)
            .map_err(|why| lines.at(&why))?;
        if lines.next()?.is_none() {
            break;
        }
    }
    rows.finish(layout.names[at].clone(), &layout, wanted)
}

/// The lines of a table as cells.
struct Lines<R> {
    file: R,
    line: u64,
    cells: Vec<String>,
}

impl<R: BufRead> Lines<R> {
    fn new(file: R) -> Lines<R> {
        Lines {
            file,
            line: 0,
            cells: Vec::new(),
        }
    }

    fn at(&self, why: &str) -> PulseFault {
        format!("line {}: {why}; fix: export the recording again", self.line).into()
    }

    fn cells(&self) -> &[String] {
        &self.cells
    }

    /// The next line that is not empty.
    fn next(&mut self) -> Result<Option<Vec<String>>, PulseFault> {
        loop {
            let mut bytes = Vec::new();
            self.line += 1;
            let mut limited = (&mut self.file).take(LONGEST_LINE);
            let read = limited.read_until(b'\n', &mut bytes)?;
            if read == 0 {
                return Ok(None);
            }
            if bytes.len() as u64 == LONGEST_LINE {
                return Err(self.at("the line is too long"));
            }
            let text = String::from_utf8_lossy(&bytes);
            let text = text
                .trim_start_matches('\u{feff}')
                .trim_end_matches(['\r', '\n']);
            let cells = cells(text);
            if cells.len() > MOST_COLUMNS {
                return Err(self.at("it has more than 1024 columns"));
            }
            if cells.iter().any(|cell| !cell.is_empty()) {
                self.cells.clone_from(&cells);
                return Ok(Some(cells));
            }
        }
    }
}

/// The cells of a line. Where semicolons are between cells, a comma may be the decimal point.
fn cells(line: &str) -> Vec<String> {
    let separator = [';', '\t'].into_iter().find(|c| line.contains(*c));
    let parts = line.split(separator.unwrap_or(','));
    let clean = |cell: &str| {
        let cell = cell.trim().trim_matches('"').trim();
        match separator {
            Some(_) => cell.replace(',', "."),
            None => cell.to_owned(),
        }
    };
    let mut cells: Vec<String> = parts.map(clean).collect();
    // Some end each line with a separator.
    while cells.last().is_some_and(String::is_empty) {
        cells.pop();
    }
    cells
}

fn number(cell: &str) -> Option<f64> {
    let starts = cell.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
    let value = starts.then(|| cell.parse::<f64>().ok()).flatten()?;
    value.is_finite().then_some(value)
}

/// The first number in a cell, e.g. of `tInc = 2.0e-07`.
fn number_within(cell: &str) -> Option<f64> {
    let start = cell.find(|c: char| c.is_ascii_digit() || c == '-' || c == '+')?;
    let rest = &cell[start..];
    let end =
        rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '-' | '+')));
    // A unit may follow, as in `-4.998000e-04s`.
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// Where a row has its time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Time {
    /// In this column, in units of this many ps.
    Column(usize, f64),
    /// The row's number in this column (without one, its position), with the start and the increment in ps.
    Count(Option<usize>, f64, f64),
    /// The row's sample number in this column.
    Sample(usize),
}

/// What is above the rows.
#[derive(Clone, Debug, PartialEq)]
struct Layout {
    time: Time,
    /// The names of the channels' columns, of which `first_column` is the first.
    names: Vec<String>,
    first_column: usize,
}

impl Layout {
    /// The layout, if `row` is the first row of numbers.
    fn of(above: &[Vec<String>], row: &[String]) -> Option<Layout> {
        Layout::beside(row)
            .or_else(|| Layout::increments_at_the_end(above, row))
            .or_else(|| Layout::increments_below(above, row))
            .or_else(|| Layout::columns(above, row))
    }

    /// Tektronix TDS: the settings are beside the rows, which are columns 4 and 5 from the first line on.
    fn beside(row: &[String]) -> Option<Layout> {
        let is_first = row
            .first()
            .is_some_and(|cell| cell.eq_ignore_ascii_case("Record Length"));
        let is_row = row.len() >= 5 && number(&row[3]).is_some() && number(&row[4]).is_some();
        (is_first && is_row).then(|| Layout {
            time: Time::Column(3, SECOND_PS),
            names: vec!["CH1".to_owned()],
            first_column: 4,
        })
    }

    /// Rigol DS4000 to MSO8000: `CH1V,CH2V,t0 = -5.0e-04, tInc = 1.0e-07`, and rows of voltages alone.
    fn increments_at_the_end(above: &[Vec<String>], row: &[String]) -> Option<Layout> {
        let named =
            |cell: &String, word: &str| cell.trim_start().to_ascii_lowercase().starts_with(word);
        let header = above.last()?;
        let start = header.iter().position(|cell| named(cell, "t0"))?;
        let step = header.iter().find(|cell| named(cell, "tinc"))?;
        let value = |cell: &str| number_within(cell.split_once('=')?.1);
        let (start_s, step_s) = (value(&header[start])?, value(step)?);
        let numbers = row.iter().take(start).all(|cell| number(cell).is_some());
        (numbers && !row.is_empty() && start > 0 && step_s > 0.0).then(|| Layout {
            time: Time::Count(None, start_s * SECOND_PS, step_s * SECOND_PS),
            names: header[..start].to_vec(),
            first_column: 0,
        })
    }

    /// Rigol DS1000: `X,CH1,Start,Increment`, `Sequence,Volt,-6.0e-03,1.0e-06`, and rows of a number and voltages.
    fn increments_below(above: &[Vec<String>], row: &[String]) -> Option<Layout> {
        let [.., names, values] = above else {
            return None;
        };
        let at = |word: &str| {
            names
                .iter()
                .position(|cell| cell.eq_ignore_ascii_case(word))
        };
        let (start, step) = (at("Start")?, at("Increment")?);
        let start_s = number(values.get(start)?)?;
        let step_s = number(values.get(step)?).filter(|step| *step > 0.0)?;
        let numbers = row.len() > 1 && row.iter().all(|cell| number(cell).is_some());
        (numbers && start > 1).then(|| Layout {
            time: Time::Count(Some(0), start_s * SECOND_PS, step_s * SECOND_PS),
            names: names[1..start].to_vec(),
            first_column: 1,
        })
    }

    /// All others: a column of times, then one of each channel.
    fn columns(above: &[Vec<String>], row: &[String]) -> Option<Layout> {
        if row.len() < 2 || !row.iter().all(|cell| number(cell).is_some()) {
            return None;
        }
        let beside = |column: usize| above.iter().filter_map(move |cells| cells.get(column));
        let of_time: Vec<String> = beside(0).map(|cell| cell.to_ascii_lowercase()).collect();
        let is = |word: &str| of_time.iter().any(|cell| cell.contains(word));
        let units = [
            ("(ms)", 1e9),
            ("[ms]", 1e9),
            ("(us)", 1e6),
            ("(µs)", 1e6),
            ("[us]", 1e6),
            ("(ns)", 1e3),
            ("[ns]", 1e3),
        ];
        let unit = units.iter().find(|(word, _)| is(word));
        let counts = !is("time") && !is("second") && !is("x-axis");
        let time = match of_time.last() {
            Some(word) if counts && (word == "sample" || word == "index") => Time::Sample(0),
            _ => Time::Column(0, unit.map_or(SECOND_PS, |(_, ps)| *ps)),
        };
        // The names are in the last line above the rows that also names the time, or the source of the values.
        let heads = ["time", "x-axis", "source", "sample", "index"];
        let heads = |cells: &&Vec<String>| {
            let first = cells
                .first()
                .map(|cell| cell.to_ascii_lowercase())
                .unwrap_or_default();
            heads.iter().any(|word| first.starts_with(word))
                && !first.starts_with("sample interval")
        };
        let head = above.iter().rev().find(heads).or(above.last());
        let name = |column: usize| match head.and_then(|cells| cells.get(column)) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => format!("CH{column}"),
        };
        Some(Layout {
            time,
            names: (1..row.len()).map(name).collect(),
            first_column: 1,
        })
    }
}

/// The rows so far.
#[derive(Default)]
struct Rows {
    times: Vec<f64>,
    values: Vec<f32>,
    /// Whether all values are 0 or 1.
    has_volts: bool,
    /// Rows whose value is that of the row before.
    repeats: usize,
    /// The finest step that the text of a time has, in its unit.
    resolution: f64,
}

impl Rows {
    fn take(
        &mut self,
        layout: &Layout,
        cells: &[String],
        column: usize,
        wanted: &PulseOptions,
    ) -> Result<(), String> {
        let cell = |at: usize| {
            let cell = cells.get(at).map(String::as_str).unwrap_or_default();
            number(cell).ok_or_else(|| format!("'{cell}' in column {} is not a number", at + 1))
        };
        let ps = match layout.time {
            Time::Column(at, unit_ps) => {
                let step = cells.get(at).map_or(1.0, |text| resolution(text));
                self.resolution = match self.times.is_empty() {
                    true => step,
                    false => self.resolution.min(step),
                };
                cell(at)? * unit_ps
            }
            Time::Count(Some(at), start_ps, step_ps) => start_ps + cell(at)? * step_ps,
            Time::Count(None, start_ps, step_ps) => start_ps + self.times.len() as f64 * step_ps,
            Time::Sample(at) => {
                let period = wanted.sampling_ps;
                let period = period.ok_or("its rows have numbers of samples and no times; fix: give the rate with --sampling, e.g. --sampling 24MHz")?;
                cell(at)? * period
            }
        };
        let value = cell(column)?;
        if self.times.last().is_some_and(|before| ps < *before) {
            return Err("the time goes back".to_owned());
        }
        if self.times.len() >= MOST_SAMPLES {
            return Err(
                "it has more than 32 Mi rows; fix: export the part with the pulse alone".to_owned(),
            );
        }
        self.has_volts |= value != 0.0 && value != 1.0;
        self.repeats += usize::from(self.values.last() == Some(&(value as f32)));
        self.times.push(ps);
        self.values.push(value as f32);
        Ok(())
    }

    /// The time between two rows in ps, where they are samples and not changes.
    fn step_ps(&self) -> Option<f64> {
        let (first, last) = (*self.times.first()?, *self.times.last()?);
        let steps = self.times.len().checked_sub(1).filter(|steps| *steps > 0)?;
        let mean = (last - first) / steps as f64;
        let even = |pair: &[f64]| (pair[1] - pair[0] - mean).abs() <= EVEN * mean;
        // A table of changes has no two rows of one value.
        let is_sampled = self.has_volts || self.repeats > 0;
        (is_sampled && mean > 0.0 && self.times.windows(2).all(even)).then_some(mean)
    }

    fn finish(
        self,
        channel: String,
        layout: &Layout,
        wanted: &PulseOptions,
    ) -> Result<Samples, PulseFault> {
        let text_ps = match layout.time {
            Time::Column(_, unit_ps) => self.resolution * unit_ps,
            _ => 0.0,
        };
        let stated = match layout.time {
            Time::Count(_, _, step_ps) => Some(step_ps),
            _ => self.step_ps(),
        };
        let (period, source) = match (wanted.sampling_ps, stated) {
            (Some(given), _) => (given + text_ps, UncertaintySource::Given),
            // The times of rows may be rounded more than they are apart.
            (None, Some(period)) => (period + text_ps, UncertaintySource::Sampling),
            (None, None) if self.has_volts => {
                return Err("its rows are not evenly sampled; fix: give the sampling rate with --sampling, e.g. --sampling 100MHz".into());
            }
            (None, None) => (text_ps, UncertaintySource::Resolution),
        };
        let mut samples = Samples {
            format: "csv",
            channel,
            begins_high: None,
            edges: Vec::new(),
            span_ps: (0, 0),
            step_ps: period.ceil().max(1.0) as u64,
            source,
            threshold: None,
        };
        let ends = self.times.first().zip(self.times.last());
        let ends = ends.and_then(|(first, last)| clock_ps(*first).zip(clock_ps(*last)));
        samples.span_ps =
            ends.ok_or("its times are out of range; fix: export the part with the pulse alone")?;
        let rows = self.times.iter().zip(&self.values);
        if self.has_volts || wanted.threshold.is_some() {
            let levels = match wanted.threshold {
                Some(_) => None,
                None => Some(levels::of(&self.values)?),
            };
            let mut follower = Follower::new(levels, wanted.threshold);
            rows.into_iter()
                .try_for_each(|(ps, value)| follower.take(*ps, f64::from(*value)))?;
            samples.threshold = Some(follower.threshold());
            (samples.begins_high, samples.edges) = follower.finish();
            return Ok(samples);
        }
        let mut before = None;
        for (ps, value) in rows {
            let high = *value > 0.5;
            match before.replace(high) {
                None => samples.begins_high = Some(high),
                Some(was) if was != high => push(&mut samples.edges, clock_ps(*ps), high)?,
                Some(_) => {}
            }
        }
        Ok(samples)
    }
}

/// The step of the last digit of a number, e.g. 1e-9 of `0.000000001` and 1e-9 of `-6.000000e-03`.
fn resolution(text: &str) -> f64 {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let digits = mantissa
        .split_once('.')
        .map_or(0, |(_, digits)| digits.len());
    let exponent = exponent.parse::<i32>().unwrap_or(0).clamp(-30, 30);
    10f64.powi(exponent - digits.min(30) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_show_the_resolution() {
        for (text, step) in [
            ("0.000000001", 1e-9),
            ("-6.000000e-03", 1e-9),
            ("5", 1.0),
            ("1e-3", 1e-3),
        ] {
            assert!((resolution(text) / step - 1.0).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn cells_of_other_countries() {
        assert_eq!(cells("0,5;1"), ["0.5", "1"]);
        assert_eq!(
            cells("\"Time [s]\", Channel 0 ,,"),
            ["Time [s]", "Channel 0"]
        );
        assert_eq!(number_within(" -4.998000e-04s"), Some(-4.998e-4));
        for bad in ["nan", "inf", "", "Volt", "1.2.3"] {
            assert_eq!(number(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let of = |text: &str, wanted: &PulseOptions| {
            read(text.as_bytes(), wanted).map_err(|why| why.to_string())
        };
        for (text, words) in [
            ("a,b\nc,d\n", "no rows of numbers"),
            (
                "Time [s],D0\n0,0\n1,x\n",
                "line 3: 'x' in column 2 is not a number",
            ),
            ("Time [s],D0\n0,0\n1\n", "line 3: '' in column 2"),
            ("Time [s],D0\n1,0\n0,1\n", "line 3: the time goes back"),
            ("Time [s],D0\n0,0\n1e300,1\n", "out of range"),
            ("Sample,D0\n0,0\n5,1\n", "--sampling"),
            ("Time [s],D0\n0,0\n1,3.3\n5,0\n", "not evenly sampled"),
        ] {
            let why = of(text, &PulseOptions::default()).unwrap_err();
            assert!(
                why.contains(words) && why.contains("fix: "),
                "{text:?}: {why}"
            );
        }
        let long = format!("Time [s],D0\n0,{}\n", "1".repeat(1 << 17));
        assert!(
            of(&long, &PulseOptions::default())
                .unwrap_err()
                .contains("too long")
        );
    }
}
