//! Distributions: the sender's gaps, latency and every other series, so that one late frame in a million is visible. The
//! program of the page shows them as percentiles, as shares and as bins, one series or several at a time.

use serde::Serialize;
use wirelab_trial::Kind;

use super::Show;
use crate::format;
use crate::stats;

/// Most bins of a histogram.
const BINS: usize = 56;
/// Percentiles in each decade of the share of longer samples.
pub const STEPS: u32 = 10;
/// Decades of that share: up to one sample in a billion.
const DECADES: f64 = 9.0;

/// Series that are compared.
#[derive(Serialize)]
pub struct Samples {
    /// What the values are.
    pub name: String,
    /// How values are written.
    pub show: Show,
    /// What the series differ in, in a word, for the control that chooses one.
    pub by: &'static str,
    /// Steps of percentiles in a decade.
    pub steps: u32,
    /// The series.
    pub series: Vec<Series>,
}

/// One series.
#[derive(Serialize)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its trial, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<usize>,
    /// Where its samples come from.
    pub kind: Kind,
    /// How many there are.
    pub count: u64,
    /// Smallest and largest.
    pub range: (f64, f64),
    /// Percentiles from the shortest sample to the longest, each as a step and a value. Steps are logarithmic in 1 / (1 −
    /// share), [`STEPS`] in a decade and at most to the count; that share of the samples is not above the value.
    pub percentiles: Vec<(u32, u64)>,
    /// Samples in logarithmic bins.
    pub bins: Bins,
    /// A value to compare with, and what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<(f64, &'static str)>,
    /// Its main figures in words.
    pub words: String,
}

/// Logarithmic bins.
#[derive(Serialize)]
pub struct Bins {
    /// Lower end of the first bin.
    pub low: f64,
    /// Factor from one bin to the next.
    pub factor: f64,
    /// Samples in each bin.
    pub counts: Vec<u64>,
}

impl Series {
    /// A series of its samples.
    pub fn of(name: String, trial: Option<usize>, kind: Kind, samples: &stats::Samples) -> Series {
        let sorted = samples.sorted();
        Series {
            name,
            trial,
            kind,
            count: samples.count(),
            range: samples.range(),
            percentiles: percentiles(&sorted),
            bins: bins(samples),
            mark: None,
            words: words(&sorted, kind),
        }
    }

    /// Its main figures, with its name.
    pub fn in_words(&self) -> String {
        match self.name.is_empty() {
            true => self.words.clone(),
            false => format!("{}: {}", self.name, self.words),
        }
    }
}

fn words(samples: &stats::Samples, kind: Kind) -> String {
    let value = |value: f64| match samples.instructions {
        true => format::decimal(value, 0),
        false => format::time_f(value),
    };
    let unit = if samples.instructions {
        " instructions"
    } else {
        ""
    };
    let [median, late] = [0.5, 0.999].map(|share| value(samples.of_sorted(share)));
    format!(
        "median {median}, p99.9 {late}, max {}{unit}; {} samples, {kind}",
        value(samples.range().1),
        format::integer(samples.count()),
    )
}

fn bins(samples: &stats::Samples) -> Bins {
    let (least, most) = samples.range();
    // A logarithmic scale has no 0, and needs some width.
    let low = least.max(most / 1e9).max(1.0) / 1.02;
    let high = (most.max(1.0) * 1.02).max(low * 1.2);
    Bins {
        low: short(low),
        factor: (high / low).powf(1.0 / BINS as f64),
        counts: samples.log_bins(low, high, BINS),
    }
}

/// The percentiles as steps and values, from the shortest sample to the longest.
fn percentiles(sorted: &stats::Samples) -> Vec<(u32, u64)> {
    let count = sorted.count().max(1) as f64;
    let steps = (count.log10().min(DECADES) * f64::from(STEPS)).ceil() as u32;
    let mut out = Vec::new();
    let (mut place, mut passed) = (0, 0u128);
    for step in 0..steps {
        let x = 10f64.powf(f64::from(step) / f64::from(STEPS)).min(count);
        let rank = ((1.0 - 1.0 / x) * count).ceil().max(1.0) as u128;
        while place < sorted.values.len() && passed < rank {
            passed += u128::from(sorted.values[place].1);
            place += 1;
        }
        let Some((value, _)) = sorted.values.get(place.saturating_sub(1)) else {
            break;
        };
        out.push((step, short(*value) as u64));
    }
    out.push((steps, short(sorted.range().1) as u64));
    corners(&out)
}

/// Without the points inside a run of equal values: a line through its ends shows the same.
fn corners(points: &[(u32, u64)]) -> Vec<(u32, u64)> {
    let same = |a: Option<&(u32, u64)>, b: &(u32, u64)| a.is_some_and(|a| a.1 == b.1);
    let all = points.iter().enumerate();
    let kept = all.filter(|(at, point)| {
        let before = at.checked_sub(1).and_then(|at| points.get(at));
        !(same(before, point) && same(points.get(at + 1), point))
    });
    kept.map(|(_, point)| *point).collect()
}

/// As many digits as a picture can show.
fn short(value: f64) -> f64 {
    if !value.is_normal() {
        return value;
    }
    let scale = 10f64.powf(4.0 - value.abs().log10().floor());
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() { rounded } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_late_one_is_there_and_nothing_is_lost() {
        let samples = stats::Samples {
            instructions: false,
            values: vec![(5e6, 1), (1e6, 999), (2e6, 9000)],
        };
        let series = Series::of("a".to_owned(), None, Kind::Measured, &samples);
        assert_eq!(series.bins.counts.iter().sum::<u64>(), 10_000);
        assert_eq!(series.percentiles.first(), Some(&(0, 1_000_000)));
        assert_eq!(series.percentiles.last(), Some(&(40, 5_000_000)));
        let rising = series.percentiles.windows(2).all(|w| w[0].1 <= w[1].1);
        assert!(rising, "{:?}", series.percentiles);
        assert_eq!(
            series.in_words(),
            "a: median 2 µs, p99.9 2 µs, max 5 µs; 10,000 samples, measured"
        );
    }

    #[test]
    fn five_digits_are_enough() {
        assert_eq!(short(1_234_567.8), 1_234_600.0);
        assert_eq!(short(0.0), 0.0);
        assert!(short(f64::NAN).is_nan());
    }
}
