//! Statistics of repeated trials: mean and median with their intervals, and the ratio of two figures measured in turn.

use serde::Serialize;

use crate::random::SplitMix64;

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence, 0 to 1. For a median it may be higher, or with few samples lower, than requested.
    pub confidence: f64,
}

/// The summary of repeated trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of trials.
    pub count: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample (with n − 1); 0 for a single trial.
    pub stddev: f64,
    /// Interval of the mean by Student's t; `None` for a single trial.
    pub mean_interval: Option<Interval>,
    /// Median.
    pub median: f64,
    /// Interval of the median from order statistics, independent of any distribution (H. A. David, H. N. Nagaraja:
    /// Order Statistics, 7.1); `None` for a single trial.
    pub median_interval: Option<Interval>,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Summary {
    /// Summary of `figures` at a confidence of 0 to 1, e.g. 0.95; `None` where there are none or one is not finite.
    pub fn of(figures: &[f64], confidence: f64) -> Option<Summary> {
        let sorted = sorted(figures)?;
        let n = sorted.len();
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|x| (x - mean).powi(2)).sum();
        let stddev = if n < 2 {
            0.0
        } else {
            (squares / (n - 1) as f64).sqrt()
        };
        let mean_interval = (n > 1).then(|| {
            let half = student_t(confidence, n - 1) * stddev / (n as f64).sqrt();
            Interval {
                low: mean - half,
                high: mean + half,
                confidence,
            }
        });
        Some(Summary {
            count: n,
            mean,
            stddev,
            mean_interval,
            median: median(&sorted),
            median_interval: (n > 1).then(|| median_interval(&sorted, confidence)),
            min: sorted[0],
            max: sorted[n - 1],
        })
    }
}

/// The ratio of two medians, and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Median of the first over median of the second.
    pub ratio: f64,
    /// From a bootstrap over the pairs.
    pub interval: Interval,
}

/// Resamples of a [`Ratio`].
pub const RESAMPLES: usize = 10_000;

impl Ratio {
    /// The ratio of the medians of two figures measured in turn, so that both figures of a pair had the same conditions.
    ///
    /// The interval is that of the percentile bootstrap over whole pairs, with a seed. `None` where there are no pairs,
    /// or a figure is not finite and above 0.
    pub fn of_medians(pairs: &[(f64, f64)], confidence: f64, seed: u64) -> Option<Ratio> {
        let usable = |x: f64| x.is_finite() && x > 0.0;
        if pairs.is_empty() || !pairs.iter().all(|p| usable(p.0) && usable(p.1)) {
            return None;
        }
        let ratio_of = |chosen: &mut dyn Iterator<Item = (f64, f64)>| {
            let (mut a, mut b): (Vec<f64>, Vec<f64>) = chosen.unzip();
            a.sort_by(f64::total_cmp);
            b.sort_by(f64::total_cmp);
            median(&a) / median(&b)
        };
        Some(Ratio {
            ratio: ratio_of(&mut pairs.iter().copied()),
            interval: bootstrap(pairs.len(), confidence, seed, |chosen| {
                ratio_of(&mut chosen.iter().map(|at| pairs[*at]))
            }),
        })
    }

    /// The ratio of a percentile (nearest rank) of two figures measured in turn in blocks, each over the samples of all
    /// its blocks: the first over the second.
    ///
    /// The interval is that of the percentile bootstrap over whole pairs of blocks, as in [`Ratio::of_medians`], so it
    /// includes effects of the host on whole blocks. `None` where there are no samples on a side, or a percentile is 0.
    pub fn of_percentiles(
        blocks: &[(Vec<u64>, Vec<u64>)],
        percent: f64,
        confidence: f64,
        seed: u64,
    ) -> Option<Ratio> {
        let first = Blocks::new(blocks.iter().map(|pair| &pair.0[..]));
        let second = Blocks::new(blocks.iter().map(|pair| &pair.1[..]));
        let ratio_of = |chosen: &[usize]| {
            let ticks = first.percentile(chosen, percent)? as f64;
            let of = second.percentile(chosen, percent)? as f64;
            (ticks > 0.0 && of > 0.0).then(|| ticks / of)
        };
        let all: Vec<usize> = (0..blocks.len()).collect();
        let ratio = ratio_of(&all)?;
        Some(Ratio {
            ratio,
            // A resample whose blocks have no samples counts as all blocks.
            interval: bootstrap(blocks.len(), confidence, seed, |chosen| {
                ratio_of(chosen).unwrap_or(ratio)
            }),
        })
    }
}

/// The interval of a figure by the percentile bootstrap (B. Efron, R. Tibshirani: An Introduction to the Bootstrap,
/// 1993, 13.3): the figure of `count` items drawn with replacement, [`RESAMPLES`] times, with a seed.
fn bootstrap(
    count: usize,
    confidence: f64,
    seed: u64,
    figure: impl Fn(&[usize]) -> f64,
) -> Interval {
    let mut rng = SplitMix64::new(seed);
    let mut chosen = vec![0; count];
    let mut figures: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            chosen.fill_with(|| rng.below(count as u64) as usize);
            figure(&chosen)
        })
        .collect();
    figures.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    let cut = ((tail * RESAMPLES as f64) as usize).min(RESAMPLES - 1);
    Interval {
        low: figures[cut],
        high: figures[RESAMPLES - 1 - cut],
        confidence,
    }
}

/// Samples in blocks, arranged so that a percentile of any choice of blocks needs a search and not a sort.
struct Blocks {
    /// Every distinct value, the smallest first.
    values: Vec<u64>,
    /// For each block, how many of its samples are at most each value.
    up_to: Vec<Vec<u32>>,
}

impl Blocks {
    fn new<'a>(blocks: impl Iterator<Item = &'a [u64]>) -> Blocks {
        let sorted: Vec<Vec<u64>> = blocks
            .map(|block| {
                let mut block = block.to_vec();
                block.sort_unstable();
                block
            })
            .collect();
        let mut values: Vec<u64> = sorted.iter().flatten().copied().collect();
        values.sort_unstable();
        values.dedup();
        let up_to = |block: &Vec<u64>| {
            let below = |value: &u64| block.partition_point(|sample| sample <= value) as u32;
            values.iter().map(below).collect()
        };
        Blocks {
            up_to: sorted.iter().map(up_to).collect(),
            values,
        }
    }

    /// The percentile over all samples of these blocks; a block that is named twice counts twice.
    fn percentile(&self, chosen: &[usize], percent: f64) -> Option<u64> {
        let up_to = |at: usize| {
            chosen
                .iter()
                .map(|b| u64::from(self.up_to[*b][at]))
                .sum::<u64>()
        };
        let last = self.values.len().checked_sub(1)?;
        let rank = nearest_rank(percent, up_to(last))?;
        let (mut low, mut high) = (0, last);
        while low < high {
            let middle = usize::midpoint(low, high);
            match up_to(middle) < rank {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Some(self.values[low])
    }
}

pub(crate) fn sorted(figures: &[f64]) -> Option<Vec<f64>> {
    if figures.is_empty() || !figures.iter().all(|x| x.is_finite()) {
        return None;
    }
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

pub(crate) fn median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2])
}

/// The narrowest pair of order statistics that contains the median with the requested confidence, or the whole range.
fn median_interval(sorted: &[f64], confidence: f64) -> Interval {
    let n = sorted.len();
    // P(Bin(n, 1/2) < k) is outside on each side; computed by logarithms, because 2^-n exceeds the range of f64.
    let mut ln_term = -(n as f64) * std::f64::consts::LN_2;
    let mut outside = ln_term.exp();
    let mut best = (0, 1.0 - 2.0 * outside);
    for k in 1..n / 2 {
        ln_term += ((n - k + 1) as f64 / k as f64).ln();
        outside += ln_term.exp();
        if 1.0 - 2.0 * outside < confidence {
            break;
        }
        best = (k, 1.0 - 2.0 * outside);
    }
    Interval {
        low: sorted[best.0],
        high: sorted[n - 1 - best.0],
        confidence: best.1,
    }
}

/// The factor t for a two-sided interval of `confidence` (0 to below 1) with `freedom` degrees of freedom.
///
/// P(|T| > t) = I_x(ν/2, 1/2) with x = ν/(ν + t²) (M. Abramowitz, I. Stegun: Handbook of Mathematical
/// Functions, 26.7.1), inverted by bisection.
pub fn student_t(confidence: f64, freedom: usize) -> f64 {
    let outside = 1.0 - confidence.clamp(0.0, 1.0 - 1e-12);
    let freedom = freedom.max(1);
    let (mut low, mut high) = (0.0f64, 1.0f64);
    while two_sided_tail(high, freedom) > outside {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if two_sided_tail(middle, freedom) > outside {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

fn two_sided_tail(t: f64, freedom: usize) -> f64 {
    let nu = freedom as f64;
    let (a, b) = (nu / 2.0, 0.5);
    let x = nu / (nu + t * t);
    // ln B(ν/2, 1/2), by Γ(z + 1) = z Γ(z) down to Γ(1/2) = √π and Γ(1) = 1.
    let ln_beta = ln_gamma_half(freedom) + ln_gamma_half(1) - ln_gamma_half(freedom + 1);
    let front = a * x.ln() + b * (1.0 - x).ln() - ln_beta;
    // The continued fraction converges fast on its side of the mean (DLMF 8.17.22).
    if x < (a + 1.0) / (a + b + 2.0) {
        front.exp() * beta_fraction(a, b, x) / a
    } else {
        1.0 - front.exp() * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// ln Γ(n/2) for n of at least 1.
fn ln_gamma_half(n: usize) -> f64 {
    let base = if n % 2 == 0 {
        0.0
    } else {
        std::f64::consts::PI.ln() / 2.0
    };
    let mut z = if n % 2 == 0 { 1.0 } else { 0.5 };
    let mut sum = base;
    while z < n as f64 / 2.0 - 0.25 {
        sum += z.ln();
        z += 1.0;
    }
    sum
}

/// The continued fraction of the incomplete beta function, DLMF 8.17.22, by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let floor = |y: f64| if y.abs() < 1e-300 { 1e-300 } else { y };
    let mut d = 1.0 / floor(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut fraction) = (1.0, d);
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for step in [even, odd] {
            d = 1.0 / floor(1.0 + step * d);
            c = floor(1.0 + step / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() < 1e-15 * fraction.abs() {
            break;
        }
    }
    fraction
}

/// The index of the percentile among `count` ascending samples, counted from 1.
pub fn nearest_rank(percent: f64, count: u64) -> Option<u64> {
    if count == 0 || percent.is_nan() {
        return None;
    }
    let exact = percent / 100.0 * count as f64;
    // 99.9 % of 1000 is 999, even if the product is slightly above.
    let rank = if (exact - exact.round()).abs() < 1e-9 * count as f64 {
        exact.round()
    } else {
        exact.ceil()
    };
    Some((rank as u64).clamp(1, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_t_is_that_of_the_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
        let table = [
            (0.95, 1, 12.706),
            (0.95, 2, 4.303),
            (0.95, 4, 2.776),
            (0.95, 6, 2.447),
            (0.95, 10, 2.228),
            (0.95, 30, 2.042),
            (0.95, 100, 1.984),
            (0.99, 4, 4.604),
            (0.99, 10, 3.169),
            (0.90, 5, 2.015),
            (0.998, 3, 10.215),
        ];
        for (confidence, freedom, t) in table {
            let ours = student_t(confidence, freedom);
            assert!(
                (ours - t).abs() < 0.000_51,
                "{confidence} {freedom}: {ours}"
            );
        }
        // Large ν: the normal distribution.
        assert!((student_t(0.95, 100_000) - 1.959_99).abs() < 1e-4);
    }

    #[test]
    fn mean_and_its_interval_by_hand() {
        let s = Summary::of(&[4.0, 1.0, 3.0, 5.0, 2.0], 0.95).unwrap();
        assert_eq!(
            (s.count, s.mean, s.median, s.min, s.max),
            (5, 3.0, 3.0, 1.0, 5.0)
        );
        assert!((s.stddev - 2.5f64.sqrt()).abs() < 1e-12);
        let interval = s.mean_interval.unwrap();
        // 2.776445 · √2.5 / √5
        assert!((interval.high - 3.0 - 1.963_243).abs() < 1e-5);
        assert!((interval.high + interval.low - 6.0).abs() < 1e-12);
    }

    #[test]
    fn median_intervals_are_those_of_the_binomial() {
        let figures: Vec<f64> = (1..=20).map(f64::from).collect();
        let interval = Summary::of(&figures, 0.95)
            .unwrap()
            .median_interval
            .unwrap();
        // n = 20: the 6th and 15th, with 95.86 %.
        assert_eq!((interval.low, interval.high), (6.0, 15.0));
        assert!((interval.confidence - 0.958_61).abs() < 1e-5);
        let seven = Summary::of(&figures[..7], 0.95)
            .unwrap()
            .median_interval
            .unwrap();
        assert_eq!((seven.low, seven.high), (1.0, 7.0));
        assert!((seven.confidence - (1.0 - 2.0 / 128.0)).abs() < 1e-12);
        let three = Summary::of(&figures[..3], 0.95)
            .unwrap()
            .median_interval
            .unwrap();
        assert!(
            (three.confidence - 0.75).abs() < 1e-12,
            "too few, and it says so"
        );
        let many: Vec<f64> = (0..5_000).map(f64::from).collect();
        let wide = Summary::of(&many, 0.95).unwrap().median_interval.unwrap();
        assert!(wide.confidence >= 0.95 && wide.confidence < 0.953);
    }

    #[test]
    fn nothing_and_nonsense_have_no_summary() {
        assert_eq!(Summary::of(&[], 0.95), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN], 0.95), None);
        let one = Summary::of(&[7.0], 0.95).unwrap();
        assert_eq!(
            (one.median, one.stddev, one.mean_interval),
            (7.0, 0.0, None)
        );
        assert_eq!(Ratio::of_medians(&[], 0.95, 0), None);
        assert_eq!(Ratio::of_medians(&[(1.0, 0.0)], 0.95, 0), None);
    }

    #[test]
    fn a_ratio_with_its_interval() {
        let pairs: Vec<(f64, f64)> = (0..9)
            .map(|i| (400.0 + f64::from(i), 100.0 + f64::from(8 - i) / 4.0))
            .collect();
        let r = Ratio::of_medians(&pairs, 0.95, 1).unwrap();
        assert!((r.ratio - 404.0 / 101.0).abs() < 1e-12);
        assert!(r.interval.low < r.ratio && r.ratio < r.interval.high);
        assert!(r.interval.low > 400.0 / 102.0 && r.interval.high < 408.0 / 100.0);
        assert_eq!(Ratio::of_medians(&pairs, 0.95, 1), Some(r));
        let same = Ratio::of_medians(&[(3.0, 2.0); 7], 0.95, 1).unwrap();
        assert_eq!(
            (same.interval.low, same.ratio, same.interval.high),
            (1.5, 1.5, 1.5)
        );
    }

    #[test]
    fn a_ratio_of_percentiles_is_that_of_all_samples_with_an_interval_over_blocks() {
        // Blocks with a single value each: the 99th percentile of a choice is its largest, the median its middle one.
        let pairs: Vec<(Vec<u64>, Vec<u64>)> = (0..8u64)
            .map(|at| (vec![100 + at; 50], vec![400 + 4 * at; 50]))
            .collect();
        let of = |percent| Ratio::of_percentiles(&pairs, percent, 0.95, 1).unwrap();
        let (median, tail) = (of(50.0), of(99.0));
        assert_eq!(median.ratio, 103.0 / 412.0);
        assert_eq!(tail.ratio, 107.0 / 428.0);
        for (ratio, interval) in [median, tail].map(|r| (r.ratio, r.interval)) {
            assert!(interval.low <= ratio && ratio <= interval.high);
            // The same blocks are drawn on both sides, and within each the ratio is a quarter.
            assert!((interval.low - 0.25).abs() < 1e-9 && (interval.high - 0.25).abs() < 1e-9);
        }
        assert_eq!(Ratio::of_percentiles(&pairs, 99.0, 0.95, 1), Some(tail));
        // One block in eight has a tail of its own: with or without it, the interval shows that.
        let mut wild = pairs;
        wild[3].0[..10].fill(9_000);
        let wild = Ratio::of_percentiles(&wild, 99.0, 0.95, 1).unwrap();
        assert!(
            wild.interval.low < 0.3 && wild.interval.high > 20.0,
            "{wild:?}"
        );
        for none in [&[][..], &[(vec![], vec![1])], &[(vec![1], vec![0])]] {
            assert_eq!(Ratio::of_percentiles(none, 50.0, 0.95, 1), None);
        }
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let mut rng = SplitMix64::new(5);
        let (mut mean, mut middle) = (0, 0);
        for _ in 0..2_000 {
            let figures: Vec<f64> = (0..11).map(|_| rng.uniform()).collect();
            let s = Summary::of(&figures, 0.95).unwrap();
            let holds = |i: Option<Interval>| i.is_some_and(|i| i.low < 0.5 && 0.5 < i.high);
            mean += u32::from(holds(s.mean_interval));
            middle += u32::from(holds(s.median_interval));
        }
        assert!((1_860..1_940).contains(&mean), "{mean}");
        // n = 11: the 2nd and 10th, with 98.8 %.
        assert!((1_955..2_000).contains(&middle), "{middle}");
    }
}
