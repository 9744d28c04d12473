//! Whether two groups of repeated trials differ, and by how much: the rank-sum test with the shift that belongs to it.
//!
//! Figures of a trial are neither normal nor free of outliers, so nothing here assumes a distribution.

use serde::Serialize;

use crate::summary::{Interval, median, sorted};

/// How a figure changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// As a share of the first figure: rates and times.
    Ratio,
    /// As a difference: shares between 0 and 1, which may be 0.
    Difference,
}

/// The change from the first group of trials to the second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shift {
    /// Median of the first group.
    pub before: f64,
    /// Median of the second.
    pub after: f64,
    /// The shift by Hodges and Lehmann: the median of the changes over all pairs, as a share of the first figure or as a
    /// difference (J. L. Hodges, E. L. Lehmann: Estimates of Location Based on Rank Tests, 1963).
    pub change: f64,
    /// Its interval, from the order statistics of those changes; with few trials the whole range, with less confidence.
    pub interval: Interval,
    /// Two-sided probability of ranks as uneven as these if both groups are alike (H. B. Mann, D. R. Whitney, 1947):
    /// exact with ties up to [`EXACT`] trials together, beyond that by the normal distribution.
    pub p: f64,
    /// Probability that a trial of the second group has the higher figure, ties by half (A. Vargha, H. D. Delaney, 2000).
    pub above: f64,
}

/// Most trials of both groups together whose ranks are enumerated.
pub const EXACT: usize = 40;

impl Shift {
    /// The shift from `before` to `after` at a confidence of 0 to 1. `None` if a group is empty, a figure is not finite,
    /// or a ratio of figures that are not above 0 is requested.
    pub fn of(before: &[f64], after: &[f64], scale: Scale, confidence: f64) -> Option<Shift> {
        let (a, b) = (sorted(before)?, sorted(after)?);
        if scale == Scale::Ratio && (a[0] <= 0.0 || b[0] <= 0.0) {
            return None;
        }
        let change = |x: f64, y: f64| match scale {
            Scale::Ratio => y / x - 1.0,
            Scale::Difference => y - x,
        };
        let mut changes: Vec<f64> = Vec::with_capacity(a.len() * b.len());
        for x in &a {
            changes.extend(b.iter().map(|y| change(*x, *y)));
        }
        changes.sort_by(f64::total_cmp);
        let ranks = Ranks::of(&a, &b);
        Some(Shift {
            before: median(&a),
            after: median(&b),
            change: median(&changes),
            interval: shift_interval(&changes, a.len(), b.len(), confidence),
            p: ranks.p(),
            above: ranks.above(),
        })
    }
}

/// The probability of [`Shift::p`] alone; `None` if a group is empty or a figure is not finite.
pub fn rank_sum(before: &[f64], after: &[f64]) -> Option<f64> {
    Some(Ranks::of(&sorted(before)?, &sorted(after)?).p())
}

/// The order statistics of all changes that contain the shift with the requested confidence: the number cut at each end
/// is the one that the rank sum of equal groups excludes (E. L. Lehmann: Nonparametrics, 1975, 2.6).
fn shift_interval(changes: &[f64], n: usize, m: usize, confidence: f64) -> Interval {
    let outside = 1.0 - confidence.clamp(0.0, 1.0);
    let (mut cut, mut real) = (0, 1.0);
    if n + m <= EXACT {
        // For U, which is the rank sum minus its smallest value; ranks are doubled.
        let plain: Vec<u64> = (1..=(n + m) as u64).map(|rank| 2 * rank).collect();
        let counts = counts(&plain, n);
        let all: f64 = counts.iter().sum();
        let first = n * (n + 1);
        let mut tail = 0.0;
        for u in 0..changes.len().div_ceil(2) {
            tail += counts[first + 2 * u] / all;
            // The whole range leaves out what lies below the smallest change, or above the largest.
            if u == 0 || 2.0 * tail <= outside {
                (cut, real) = (u, 1.0 - 2.0 * tail);
            }
            if 2.0 * tail > outside {
                break;
            }
        }
    } else {
        let (n, m) = (n as f64, m as f64);
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        let below = n * m / 2.0 - 0.5 - normal_quantile(1.0 - outside / 2.0) * deviation;
        (cut, real) = (below.max(0.0) as usize, confidence);
    }
    Interval {
        low: changes[cut],
        high: changes[changes.len() - 1 - cut],
        confidence: real.clamp(0.0, 1.0),
    }
}

/// The joint ranks of two groups; equal figures share the mean of their ranks. All ranks are doubled, so that they are
/// integers.
struct Ranks {
    doubled: Vec<u64>,
    first: usize,
    second: usize,
    /// Doubled rank sum of the first group.
    sum: u64,
}

impl Ranks {
    fn of(a: &[f64], b: &[f64]) -> Ranks {
        let mut all: Vec<(f64, bool)> = a.iter().map(|x| (*x, true)).collect();
        all.extend(b.iter().map(|y| (*y, false)));
        all.sort_by(|x, y| x.0.total_cmp(&y.0));
        let (mut doubled, mut sum) = (Vec::with_capacity(all.len()), 0);
        for tied in all.chunk_by(|x, y| x.0 == y.0) {
            let begun = doubled.len() as u64;
            let rank = 2 * begun + tied.len() as u64 + 1;
            sum += rank * tied.iter().filter(|(_, first)| *first).count() as u64;
            doubled.extend(tied.iter().map(|_| rank));
        }
        Ranks {
            doubled,
            first: a.len(),
            second: b.len(),
            sum,
        }
    }

    fn above(&self) -> f64 {
        let (n, m) = (self.first as f64, self.second as f64);
        let u = self.sum as f64 / 2.0 - n * (n + 1.0) / 2.0;
        1.0 - u / (n * m)
    }

    fn p(&self) -> f64 {
        let count = self.doubled.len();
        let mean = (self.first * (count + 1)) as f64;
        let off = (self.sum as f64 - mean).abs();
        if count <= EXACT {
            // Both groups give the same result, and the smaller group has fewer combinations.
            let few = self.first.min(self.second);
            let mean = (few * (count + 1)) as f64;
            let counts = counts(&self.doubled, few);
            let all: f64 = counts.iter().sum();
            let uneven = counts.iter().enumerate();
            let uneven = uneven.filter(|(sum, _)| (*sum as f64 - mean).abs() >= off - 0.5);
            return (uneven.map(|(_, n)| n).sum::<f64>() / all).min(1.0);
        }
        // Ties reduce the deviation of the rank sum (Lehmann 1975, 1.4).
        let ties: f64 = self
            .doubled
            .chunk_by(|x, y| x == y)
            .map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64)
            .sum();
        let (n, m, all) = (self.first as f64, self.second as f64, count as f64);
        let deviation = (n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)))).sqrt();
        if deviation == 0.0 {
            return 1.0;
        }
        let z = (off / 2.0 - 0.5).max(0.0) / deviation;
        (2.0 * (1.0 - normal_below(z))).min(1.0)
    }
}

/// The number of ways in which `chosen` of the ascending ranks add up to each sum.
fn counts(ranks: &[u64], chosen: usize) -> Vec<f64> {
    let most = ranks.iter().rev().take(chosen).sum::<u64>() as usize;
    let mut counts = vec![vec![0.0; most + 1]; chosen + 1];
    counts[0][0] = 1.0;
    for (before, rank) in ranks.iter().enumerate() {
        let rank = *rank as usize;
        for taken in (1..=chosen.min(before + 1)).rev() {
            let (fewer, these) = counts.split_at_mut(taken);
            let fewer = &fewer[taken - 1];
            for (sum, count) in these[0].iter_mut().enumerate().skip(rank) {
                *count += fewer[sum - rank];
            }
        }
    }
    counts.swap_remove(chosen)
}

/// The probabilities of several tests, raised so that all together are wrong no more often than a single one (S.
/// Holm: A Simple Sequentially Rejective Multiple Test Procedure, 1979).
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut raised = vec![1.0; probabilities.len()];
    let mut least: f64 = 0.0;
    for (rank, at) in order.iter().enumerate() {
        least = least.max(probabilities[*at] * (probabilities.len() - rank) as f64);
        raised[*at] = least.min(1.0);
    }
    raised
}

/// The fewest repeats of each of two runs with which a rank-sum test can find a difference at all, if `tests` figures are
/// compared and at most the share `wrong` of such comparisons may be wrong: 2 / C(2n, n) must be small enough.
pub fn fewest_repeats(tests: usize, wrong: f64) -> usize {
    let allowed = wrong / tests.max(1) as f64;
    let (mut n, mut orders) = (1, 2.0);
    while 2.0 / orders > allowed && n < 100 {
        n += 1;
        orders *= (2 * n * (2 * n - 1)) as f64 / (n * n) as f64;
    }
    n
}

/// The share of a standard normal distribution below `z` (M. Abramowitz, I. Stegun, 26.2.17; error below 7.5e-8).
fn normal_below(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let factors = [
        1.330_274_429,
        -1.821_255_978,
        1.781_477_937,
        -0.356_563_782,
        0.319_381_530,
    ];
    let above = density * factors.iter().fold(0.0, |sum, factor| (sum + factor) * t);
    if z < 0.0 { above } else { 1.0 - above }
}

/// The z below which a share of a standard normal distribution lies, by bisection.
fn normal_quantile(share: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match normal_below(middle) < share {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn ranks_give_the_probabilities_of_published_tables() {
        // Groups that do not overlap: 2 / C(n + m, n).
        let apart = |n: usize, m: usize| {
            let a: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
            let b: Vec<f64> = (0..m).map(|i| 100.0 + i as f64).collect();
            Shift::of(&a, &b, Scale::Ratio, 0.95).unwrap()
        };
        assert!((apart(4, 4).p - 2.0 / 70.0).abs() < 1e-12);
        assert!((apart(5, 5).p - 2.0 / 252.0).abs() < 1e-12);
        assert_eq!(apart(1, 1).p, 1.0);
        assert_eq!(apart(4, 4).above, 1.0);
        // U is 3: of the 126 orders 7 have at most that, and as many at least 17.
        let shift = Shift::of(
            &[1.1, 2.2, 3.3, 4.4],
            &[2.5, 3.5, 4.5, 5.5, 6.5],
            Scale::Difference,
            0.95,
        )
        .unwrap();
        assert!((shift.p - 14.0 / 126.0).abs() < 1e-12, "{shift:?}");
        assert!((shift.above - 17.0 / 20.0).abs() < 1e-12, "{shift:?}");
        // Two constant columns show nothing.
        let alike = Shift::of(&[5.0; 6], &[5.0; 6], Scale::Ratio, 0.95).unwrap();
        assert_eq!((alike.p, alike.change, alike.above), (1.0, 0.0, 0.5));
    }

    #[test]
    fn the_normal_distribution_takes_over_without_a_step() {
        let mut random = SplitMix64::new(7);
        let mut draw = |n: usize| -> Vec<f64> {
            (0..n)
                .map(|_| (random.below(1000) as f64).round() + 1.0)
                .collect()
        };
        let (a, b) = (draw(20), draw(20));
        let exact = Shift::of(&a, &b, Scale::Difference, 0.95).unwrap();
        let ranks = Ranks::of(&sorted(&a).unwrap(), &sorted(&b).unwrap());
        let off = (ranks.sum as f64 - (20 * 41) as f64).abs() / 2.0 - 0.5;
        let z = off / (20.0f64 * 20.0 * 41.0 / 12.0).sqrt();
        let normal = 2.0 * (1.0 - normal_below(z));
        assert!((exact.p - normal).abs() < 0.01, "{} {normal}", exact.p);
        assert!((normal_quantile(0.975) - 1.959_964).abs() < 1e-5);
        let more = Shift::of(&draw(40), &draw(40), Scale::Difference, 0.95).unwrap();
        assert!(more.interval.low < more.change && more.change < more.interval.high);
    }

    /// The share of tries in which the interval contains the true shift, and in which equal groups differ.
    #[test]
    fn intervals_hold_the_shift_as_often_as_they_say() {
        let mut random = SplitMix64::new(1);
        let mut noise = || (0..12).map(|_| random.below(1 << 20) as f64).sum::<f64>() / 1e6;
        for n in [5, 10, 35] {
            let (mut held, mut differ) = (0, 0);
            const TRIES: usize = 400;
            for _ in 0..TRIES {
                let a: Vec<f64> = (0..n).map(|_| noise()).collect();
                let b: Vec<f64> = (0..n).map(|_| noise() + 1.5).collect();
                let shift = Shift::of(&a, &b, Scale::Difference, 0.95).unwrap();
                held += usize::from(shift.interval.low <= 1.5 && 1.5 <= shift.interval.high);
                let back: Vec<f64> = b.iter().map(|x| x - 1.5).collect();
                let alike = Shift::of(&a, &back, Scale::Difference, 0.95).unwrap();
                differ += usize::from(alike.p <= 0.05);
            }
            assert!(held as f64 >= 0.93 * TRIES as f64, "{n} trials: {held}");
            assert!(differ as f64 <= 0.07 * TRIES as f64, "{n} trials: {differ}");
        }
    }

    #[test]
    fn several_tests_are_held_together_and_few_repeats_are_named() {
        let raised = holm(&[0.01, 0.04, 0.03, 0.5]);
        let expected = [0.04, 0.09, 0.09, 0.5];
        for (got, want) in raised.iter().zip(expected) {
            assert!((got - want).abs() < 1e-12, "{raised:?}");
        }
        assert_eq!(fewest_repeats(1, 0.05), 4);
        assert_eq!(fewest_repeats(10, 0.05), 6);
    }

    #[test]
    fn what_cannot_be_compared_gives_nothing() {
        assert_eq!(Shift::of(&[], &[1.0], Scale::Ratio, 0.95), None);
        assert_eq!(Shift::of(&[0.0], &[1.0], Scale::Ratio, 0.95), None);
        assert_eq!(
            Shift::of(&[f64::NAN], &[1.0], Scale::Difference, 0.95),
            None
        );
        let one = Shift::of(&[2.0], &[1.0], Scale::Ratio, 0.95).unwrap();
        assert_eq!(
            (one.change, one.interval.low, one.interval.high),
            (-0.5, -0.5, -0.5)
        );
        assert_eq!((one.p, one.interval.confidence), (1.0, 0.0));
    }
}
