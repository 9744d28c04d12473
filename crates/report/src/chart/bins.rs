//! Linear bins for histograms of delays: where they begin and end, and the number of samples beyond them.

use serde::Serialize;

use crate::stats::Samples;

/// Wanted number of bins in a picture.
const WANTED: f64 = 72.0;
/// A sample that is this many quartile ranges above the third quartile belongs to the tail.
const FENCE: f64 = 5.0;
/// At least this share of each series is shown.
const SHOWN: f64 = 0.9;
/// A range that grows by less than this factor is shown to its end.
const NEAR: f64 = 1.5;
/// Most bins of a picture.
const MOST: usize = 400;

/// Bins of equal width from `low`, the same for all series of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bins {
    /// Lower end of the first bin, in picoseconds or instructions.
    pub low: f64,
    /// Width of each bin, in the same unit.
    pub width: f64,
    /// Number of bins.
    pub count: usize,
}

/// The samples of one series in bins.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Binned {
    /// Samples of each bin.
    pub counts: Vec<u64>,
    /// Samples above the last bin.
    pub beyond: u64,
}

impl Bins {
    /// Bins that show the bulk of all series; `step` is the smallest step of their clock. `None` without samples.
    pub fn of<'a>(all: impl Iterator<Item = &'a Samples> + Clone, step: f64) -> Option<Bins> {
        let ranges = all.clone().map(Samples::range);
        let wide = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        let (low, most) = ranges.reduce(wide)?;
        let fence = all.map(fence).reduce(f64::max)?.min(most);
        let high = match most - low <= NEAR * (fence - low) {
            true => most,
            false => fence,
        };
        // Bins narrower than the clock's step would give a comb; a width that is not a whole number of steps would give uneven
        // bins.
        let step = step.max(1.0);
        let width = (nice((high - low) / WANTED) / step).ceil().max(1.0) * step;
        let low = (low / width).floor() * width;
        let count = ((high - low) / width).floor() + 1.0;
        let count = (count as usize).clamp(1, MOST);
        Some(Bins { low, width, count })
    }

    /// Upper end of the last bin.
    pub fn high(&self) -> f64 {
        self.low + self.width * self.count as f64
    }

    /// Puts samples into the bins; none is lost.
    pub fn fill(&self, samples: &Samples) -> Binned {
        let mut out = Binned {
            counts: vec![0; self.count],
            beyond: 0,
        };
        for (value, n) in &samples.values {
            let place = ((value - self.low) / self.width).floor().max(0.0);
            let bin = match place < self.count as f64 {
                true => &mut out.counts[place as usize],
                false => &mut out.beyond,
            };
            *bin = bin.saturating_add(*n);
        }
        out
    }
}

/// The next of 1, 2 and 5 times a power of ten that is not below `value`.
pub fn nice(value: f64) -> f64 {
    if value.is_nan() || value <= 0.0 || value.is_infinite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let fits = steps
        .iter()
        .map(|s| s * power)
        .find(|s| *s >= value * (1.0 - 1e-9));
    fits.unwrap_or(10.0 * power)
}

/// A sample above this belongs to the tail.
fn fence(samples: &Samples) -> f64 {
    let samples = samples.sorted();
    let [first, third, shown] = [0.25, 0.75, SHOWN].map(|share| samples.of_sorted(share));
    shown.max(third + FENCE * (third - first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn samples(values: &[f64]) -> Samples {
        Samples {
            instructions: false,
            values: values.iter().map(|v| (*v, 1)).collect(),
        }
    }

    #[test]
    fn widths_are_round() {
        assert_eq!(nice(f64::NAN), 1.0);
        assert_eq!([0.3, 20.0, 51.0].map(nice), [0.5, 20.0, 100.0]);
    }

    #[test]
    fn a_long_tail_is_clipped_and_counted() {
        let mut values: Vec<f64> = (0..500).map(|n| 3e6 + 1e3 * f64::from(n)).collect();
        values.extend([9e6, 40e6, 900e6]);
        let all = samples(&values);
        let bins = Bins::of(std::iter::once(&all), 1e3).unwrap();
        assert!((3e6..=3.0e6).contains(&bins.low), "{bins:?}");
        assert!((3.49e6..6e6).contains(&bins.high()), "{bins:?}");
        assert_eq!(bins.fill(&all).beyond, 3);
    }

    #[test]
    fn a_short_tail_is_shown() {
        let values: Vec<f64> = (0..100).map(|n| 1e6 + 1e4 * f64::from(n)).collect();
        let all = samples(&values);
        let bins = Bins::of(std::iter::once(&all), 1e3).unwrap();
        assert_eq!(bins.fill(&all).beyond, 0);
    }

    #[test]
    fn sizes_far_apart_and_values_all_alike() {
        let (small, large) = (samples(&[2717.0; 512]), samples(&[9031.0; 512]));
        let bins = Bins::of([&small, &large].into_iter(), 1.0).unwrap();
        for one in [&small, &large] {
            let binned = bins.fill(one);
            assert_eq!((binned.counts.iter().sum::<u64>(), binned.beyond), (512, 0));
        }
        let bins = Bins::of(std::iter::once(&small), 1.0).unwrap();
        assert_eq!((bins.count, bins.width), (1, 1.0));
        assert_eq!(Bins::of(std::iter::empty(), 1.0), None);
    }

    proptest! {
        #[test]
        fn every_sample_is_in_a_bin_or_counted_beyond(
            values in prop::collection::vec((any::<u64>(), 1u64..1000), 1..60),
            more in prop::collection::vec(0u64..100_000, 1..60),
            step in 1u64..100_000,
        ) {
            let of = |values: Vec<(f64, u64)>| Samples { instructions: true, values };
            let wild = of(values.iter().map(|(v, n)| (*v as f64, *n)).collect());
            let tame = of(more.iter().map(|v| (*v as f64, 1)).collect());
            let bins = Bins::of([&wild, &tame].into_iter(), step as f64).unwrap();
            prop_assert!(bins.count <= MOST && bins.width.is_finite() && bins.width > 0.0);
            for series in [&wild, &tame] {
                let binned = bins.fill(series);
                prop_assert_eq!(binned.counts.iter().sum::<u64>() + binned.beyond, series.count());
                let kept = series.values.iter().filter(|v| v.0 < bins.high());
                let kept: u64 = kept.map(|v| v.1).sum();
                // At the border, rounding may choose either side.
                prop_assert!(kept.abs_diff(series.count() - binned.beyond) <= 1000);
            }
        }
    }
}
