//! Seeded random numbers, so that random choices are repeatable.

/// SplitMix64 (G. Steele, D. Lea, C. Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator of a seed, as published.
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// Another generator of the same seed: each `stream` gives different numbers.
    pub fn stream(seed: u64, stream: u64) -> SplitMix64 {
        let start = SplitMix64(seed).next_u64();
        SplitMix64(start ^ stream.wrapping_mul(0xD134_2543_DE82_EF95))
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 up to, but not including, 1, with 53 bits.
    pub const fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `n`; 0 where `n` is 0.
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.next_u64() as u128 * n as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers() {
        // First outputs for seed 1234567, as Rosetta Code prints them for its task Splitmix64.
        let mut rng = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn figures_stay_in_their_range_and_reach_its_ends() {
        let mut rng = SplitMix64::stream(1, 2);
        let mut hit = [false; 7];
        for _ in 0..1000 {
            hit[rng.below(7) as usize] = true;
            assert!((0.0..1.0).contains(&rng.uniform()));
        }
        assert_eq!((hit, rng.below(0)), ([true; 7], 0));
    }
}
