//! Where a figure changed its level over many runs: binary segmentation (A. J. Scott, M. Knott: A Cluster Analysis Method
//! for Grouping Means in the Analysis of Variance, 1974) with the rank-sum test, which assumes no distribution.

use crate::shift::{Scale, Shift, rank_sum};

/// A place where the level changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The first value after it, from 0.
    pub at: usize,
    /// The change from the values before it (since the previous change) to those after it (up to the next).
    pub shift: Shift,
}

/// The positions at which the level of a series changed, in order. At most the share `wrong` of constant series get a change: a
/// segment is split where its halves differ most, if the probability of that difference is at most `wrong` over the number of
/// positions tried (C. E. Bonferroni, 1936).
///
/// Empty where a value is not finite, or a ratio of values that are not above 0 is requested.
pub fn changes(values: &[f64], scale: Scale, wrong: f64) -> Vec<Change> {
    let mut splits = Vec::new();
    split(values, 0, wrong, &mut splits);
    let ends = |at: usize| (splits[..at].last().copied(), splits.get(at + 1).copied());
    let change = |at: usize| {
        let (from, to) = ends(at);
        let (before, after) = values[..to.unwrap_or(values.len())].split_at(splits[at]);
        let shift = Shift::of(&before[from.unwrap_or(0)..], after, scale, 0.95)?;
        Some(Change {
            at: splits[at],
            shift,
        })
    };
    (0..splits.len()).filter_map(change).collect()
}

fn split(values: &[f64], offset: usize, wrong: f64, splits: &mut Vec<usize>) {
    let tried = values.len().saturating_sub(1);
    let candidate = |at: usize| Some((at, rank_sum(&values[..at], &values[at..])?));
    let least = (1..values.len()).filter_map(candidate);
    let Some((at, p)) = least.min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return;
    };
    if p * tried as f64 > wrong {
        return;
    }
    split(&values[..at], offset, wrong, splits);
    splits.push(offset + at);
    split(&values[at..], offset + at, wrong, splits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// Runs around 1000 with a noise of 1 %, of which those from `at` on are `factor` times as fast.
    fn runs(seed: u64, count: usize, at: usize, factor: f64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        // The sum of twelve has the deviation 1.
        let mut noise = || (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
        let level = |run| if run < at { 1000.0 } else { 1000.0 * factor };
        (0..count)
            .map(|run| level(run) * (1.0 + 0.01 * noise()))
            .collect()
    }

    #[test]
    fn a_planted_regression_is_found_at_its_run() {
        let (mut found, mut quiet) = (0, 0);
        for seed in 0..100 {
            let at = 8 + seed as usize % 15;
            let changes_of = changes(&runs(seed, 30, at, 0.95), Scale::Ratio, 0.05);
            let hit = matches!(changes_of[..], [one] if one.at == at && (-0.07..-0.03).contains(&one.shift.change));
            found += usize::from(hit);
            quiet += usize::from(changes(&runs(seed, 30, 30, 1.0), Scale::Ratio, 0.05).is_empty());
        }
        assert!(found >= 90 && quiet >= 95, "{found} found, {quiet} quiet");
    }

    #[test]
    fn each_of_several_changes_is_found_with_its_own_sides() {
        let mut series = runs(1, 20, 20, 1.0);
        series.extend(runs(2, 20, 0, 0.8));
        series.extend(runs(3, 20, 0, 1.1));
        let found = changes(&series, Scale::Ratio, 0.05);
        assert_eq!(found.iter().map(|c| c.at).collect::<Vec<_>>(), [20, 40]);
        assert!((found[0].shift.change + 0.2).abs() < 0.02);
        assert!((found[1].shift.change - 0.375).abs() < 0.04);
    }

    #[test]
    fn what_cannot_be_told_is_no_change() {
        for series in [
            &[][..],
            &[1.0],
            &[1.0, 2.0],
            &[1.0; 30],
            &[1.0, f64::NAN, 2.0, 2.0],
        ] {
            assert!(changes(series, Scale::Ratio, 0.05).is_empty(), "{series:?}");
        }
    }
}
