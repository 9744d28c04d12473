//! Draws the cost of one firing: its mean with its spread, in integers, the same on every machine.

use wirelab_statistics::random::SplitMix64;

use crate::net::Spread;

/// A cost in ps, truncated at 0.
///
/// A normal value is the sum of twelve uniform ones of 32 bits minus its mean (Irwin–Hall): standard deviation 1, never
/// beyond 6σ, and no logarithm whose last bit would depend on the machine.
#[inline]
pub fn sample_ps(mean_ps: u64, spread: Spread, rng: &mut SplitMix64) -> u64 {
    match spread {
        Spread::None => mean_ps,
        Spread::Uniform { width_ps } => {
            (mean_ps + rng.below(width_ps + 1)).saturating_sub(width_ps / 2)
        }
        Spread::Normal { sigma_ps } => {
            let sum: i64 = (0..6)
                .map(|_| rng.next_u64())
                .map(|bits| ((bits >> 32) + (bits & 0xFFFF_FFFF)) as i64)
                .sum();
            // Twelve values of mean 2³¹ - ½.
            let off = sum - 12 * (1 << 31) + 6;
            let shift = (i128::from(off) * i128::from(sigma_ps)) >> 32;
            u64::try_from(i128::from(mean_ps) + shift).unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_deviation(mean_ps: u64, spread: Spread) -> (f64, f64) {
        let mut rng = SplitMix64::new(7);
        let all: Vec<f64> = (0..100_000)
            .map(|_| sample_ps(mean_ps, spread, &mut rng) as f64)
            .collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let squares: f64 = all.iter().map(|one| (one - mean).powi(2)).sum();
        (mean, (squares / all.len() as f64).sqrt())
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_spread() {
        assert_eq!(mean_and_deviation(500, Spread::None), (500.0, 0.0));
        let (mean, deviation) = mean_and_deviation(100_000, Spread::Uniform { width_ps: 12_000 });
        assert!((mean - 100_000.0).abs() < 40.0, "{mean}");
        assert!(
            (deviation - 12_000.0 / 12f64.sqrt()).abs() < 40.0,
            "{deviation}"
        );
        let (mean, deviation) = mean_and_deviation(100_000, Spread::Normal { sigma_ps: 3_000 });
        assert!((mean - 100_000.0).abs() < 40.0, "{mean}");
        assert!((deviation - 3_000.0).abs() < 40.0, "{deviation}");
    }

    #[test]
    fn no_cost_is_below_zero() {
        let mut rng = SplitMix64::new(7);
        let costs: Vec<u64> = (0..1000)
            .map(|_| sample_ps(10, Spread::Normal { sigma_ps: 1_000 }, &mut rng))
            .collect();
        assert!(costs.contains(&0) && costs.iter().all(|&cost| cost < 7_000));
    }
}
