//! The uncertainty of a ratio of sums within one run: a block bootstrap over the run's sub-intervals.
//!
//! Neighbouring sub-intervals of a run are correlated (a full queue stays full), so whole blocks of them are drawn, not
//! single ones: H. R. Künsch, The jackknife and the bootstrap for general stationary observations, Annals of Statistics
//! 17 (1989). The run is closed to a circle, so that each sub-interval is drawn equally often: D. N. Politis, J. P.
//! Romano, A circular block-resampling procedure for stationary data, 1992. The length of a block grows with the third
//! root of their number: P. Hall, J. L. Horowitz, B.-Y. Jing, On blocking rules for the bootstrap with dependent data,
//! Biometrika 82 (1995). With few blocks the spread is underestimated, so the interval is widened by the ratio of
//! Student's t to the normal distribution, with one degree of freedom less than there are blocks (B. Schmeiser, Batch
//! size effects in the analysis of simulation output, Operations Research 30, 1982).

use crate::random::SplitMix64;
use crate::summary::student_t;

/// Confidence of the intervals.
pub const CONFIDENCE: f64 = 0.95;
/// Fewest sub-intervals for a spread: they make four blocks.
pub const FEWEST_PARTS: usize = 8;
/// Number of resamples.
const RESAMPLES: usize = 2_000;
/// Length of a block as a multiple of the third root of the number of sub-intervals.
const BLOCK_FACTOR: f64 = 2.0;

/// Student's t at [`CONFIDENCE`] with infinite freedom: that of the normal distribution.
const NORMAL: f64 = 1.959_964;

/// The uncertainty of an estimate, in its own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The estimate.
    pub estimate: f64,
    /// How much smaller the figure may be, at least 0.
    pub below: f64,
    /// How much larger the figure may be, at least 0.
    pub above: f64,
    /// Number of sub-intervals.
    pub parts: u32,
}

/// Sub-intervals of a block, in a run of `parts` sub-intervals.
fn block_of(parts: usize) -> usize {
    let root = (parts as f64).cbrt();
    ((BLOCK_FACTOR * root).round() as usize).clamp(1, (parts / 4).max(1))
}

/// The spread of Σ a / Σ b over the sub-intervals (a, b) of a run, in their order, with [`CONFIDENCE`]; `None` for
/// fewer than [`FEWEST_PARTS`], and where the b sum to 0.
///
/// The figures themselves seed the generator: equal runs have equal spreads.
pub fn spread(parts: &[(f64, f64)]) -> Option<Spread> {
    let n = parts.len();
    let (a, b) = parts
        .iter()
        .fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let is_finite = a.is_finite() && b.is_finite();
    if n < FEWEST_PARTS || b <= 0.0 || !is_finite {
        return None;
    }
    let estimate = a / b;
    let length = block_of(n);
    let blocks: Vec<(f64, f64)> = (0..n)
        .map(|start| {
            (start..start + length).fold((0.0, 0.0), |sum, at| {
                let part = parts[at % n];
                (sum.0 + part.0, sum.1 + part.1)
            })
        })
        .collect();
    let drawn = n.div_ceil(length);
    let mut rng = SplitMix64::new(seed(parts));
    let mut ratios: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let (a, b) = (0..drawn).fold((0.0, 0.0), |sum, _| {
                let block = blocks[rng.below(n as u64) as usize];
                (sum.0 + block.0, sum.1 + block.1)
            });
            if b > 0.0 { a / b } else { estimate }
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let cut = ((1.0 - CONFIDENCE) / 2.0 * RESAMPLES as f64) as usize;
    let widened = widening(n, length, drawn);
    let apart = |ratio: f64| (ratio - estimate).abs() * widened;
    Some(Spread {
        estimate,
        below: apart(ratios[cut].min(estimate)),
        above: apart(ratios[RESAMPLES - 1 - cut].max(estimate)),
        parts: n as u32,
    })
}

/// The factor by which few blocks underestimate the spread: their own mean is subtracted (n/(n − l)), the drawn blocks may hold
/// more sub-intervals than the run, and Student's t replaces the normal distribution.
fn widening(parts: usize, length: usize, drawn: usize) -> f64 {
    let (n, l) = (parts as f64, length as f64);
    let freedom = (parts / length).saturating_sub(1).max(1);
    let t = student_t(CONFIDENCE, freedom) / NORMAL;
    t * (n / (n - l)).sqrt() * (drawn as f64 * l / n).sqrt()
}

fn seed(parts: &[(f64, f64)]) -> u64 {
    let words = parts.iter().flat_map(|part| [part.0, part.1]);
    words.fold(0, |seed, word| {
        SplitMix64::new(seed ^ word.to_bits()).next_u64()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 400 runs of 64 sub-intervals with a correlation of `phi` between neighbours, the share whose spread contains
    /// the true ratio of 1.
    fn coverage(phi: f64, seed: u64) -> f64 {
        let mut rng = SplitMix64::new(seed);
        let mut held = 0;
        for _ in 0..400 {
            let mut noise = || (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0;
            let mut state = noise() / (1.0 - phi * phi).sqrt();
            let parts: Vec<(f64, f64)> = (0..64)
                .map(|_| {
                    state = phi * state + noise();
                    (100.0 + 5.0 * state, 100.0)
                })
                .collect();
            let s = spread(&parts).unwrap();
            held += u32::from(s.estimate - s.below <= 1.0 && 1.0 <= s.estimate + s.above);
        }
        f64::from(held) / 400.0
    }

    #[test]
    fn spreads_hold_the_truth_about_as_often_as_they_say() {
        for (phi, least) in [(0.0, 0.92), (-0.3, 0.92), (0.3, 0.91), (0.6, 0.88)] {
            let share = coverage(phi, 7);
            assert!((least..=0.995).contains(&share), "{phi}: {share}");
        }
    }

    #[test]
    fn correlation_widens() {
        let of = |period: usize| {
            let parts: Vec<(f64, f64)> = (0..64)
                .map(|at| (if (at / period) % 2 == 0 { 90.0 } else { 110.0 }, 1.0))
                .collect();
            spread(&parts).unwrap().above
        };
        assert!(of(8) > 3.0 * of(1), "{} {}", of(8), of(1));
    }

    #[test]
    fn equal_runs_have_equal_spreads_and_a_steady_one_has_none() {
        let parts: Vec<(f64, f64)> = (0..64).map(|at| (f64::from(at * 37 % 11), 2.0)).collect();
        assert_eq!(spread(&parts), spread(&parts));
        let steady = spread(&[(3.0, 2.0); 64]).unwrap();
        assert_eq!(
            (steady.estimate, steady.below, steady.above, steady.parts),
            (1.5, 0.0, 0.0, 64)
        );
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[(1.0, 1.0); FEWEST_PARTS - 1]), None);
        assert_eq!(spread(&[(1.0, 0.0); 64]), None);
        assert_eq!(spread(&[(f64::NAN, 1.0); 64]), None);
        assert!(spread(&[(1.0, 1.0); FEWEST_PARTS]).is_some());
    }
}
