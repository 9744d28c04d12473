//! Chance that can be repeated: a number for each direction, frame and purpose, from the seed alone.
//!
//! Not a stream but a function of the frame's number, so that one impairment being on or off, or frames
//! arriving in other batches, does not change what happens to any frame.

use super::FramesHit;

/// What a number is drawn for; each draws its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Drop = 1,
    Duplicate,
    Swap,
    BitErrors,
    Jitter,
    /// Where the bit errors are; the following numbers are for the second bit and so on.
    Position,
}

/// The dice of one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dice {
    key: u64,
}

impl Dice {
    pub(super) fn new(seed: u64, direction: u64) -> Dice {
        Dice {
            key: mix(mix(seed) ^ direction),
        }
    }

    /// 64 bits for one frame and purpose.
    pub(super) fn draw(self, frame: u64, purpose: Purpose, nth: u64) -> u64 {
        mix(mix(mix(self.key ^ frame) ^ purpose as u64) ^ nth)
    }

    /// Uniform from 0 to `end`, without it (0 for an `end` of 0), by multiplication: the bias is below 2⁻⁶⁴·`end`.
    pub(super) fn below(self, end: u64, frame: u64, purpose: Purpose, nth: u64) -> u64 {
        let product = u128::from(self.draw(frame, purpose, nth)) * u128::from(end);
        (product >> 64) as u64
    }

    pub(super) fn is_met(self, when: &FramesHit, frame: u64, purpose: Purpose) -> bool {
        match when {
            FramesHit::Never => false,
            FramesHit::Every(n) => (frame + 1).checked_rem(*n) == Some(0),
            FramesHit::Frames(list) => list.binary_search(&frame).is_ok(),
            FramesHit::Probability(p) => {
                // 53 bits are what a double holds: 0 ≤ x < 1, so that 0 never and 1 always is met.
                let x = (self.draw(frame, purpose, 0) >> 11) as f64 / (1u64 << 53) as f64;
                x < *p
            }
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014): one step of
/// the generator from the state `x`.
fn mix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mixer_gives_the_published_numbers() {
        // First outputs of SplitMix64 for the seed 1234567, as in the Rosetta Code task of that name.
        let golden = 0x9e37_79b9_7f4a_7c15_u64;
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
        assert_eq!(
            mix(1_234_567_u64.wrapping_add(golden)),
            3_203_168_211_198_807_973
        );
    }

    #[test]
    fn a_probability_is_met_as_often_as_it_says() {
        let dice = Dice::new(7, 0);
        for (p, least, most) in [
            (0.0, 0, 0),
            (0.01, 900, 1100),
            (0.5, 49_000, 51_000),
            (1.0, 100_000, 100_000),
        ] {
            let when = FramesHit::Probability(p);
            let met = (0..100_000)
                .filter(|n| dice.is_met(&when, *n, Purpose::Drop))
                .count();
            assert!((least..=most).contains(&met), "{p}: {met}");
        }
    }

    #[test]
    fn seeds_directions_and_purposes_have_chances_of_their_own() {
        let picture = |dice: Dice, purpose| {
            (0..64)
                .filter(|n| dice.is_met(&FramesHit::Probability(0.5), *n, purpose))
                .collect::<Vec<_>>()
        };
        let first = picture(Dice::new(1, 0), Purpose::Drop);
        assert_eq!(first, picture(Dice::new(1, 0), Purpose::Drop));
        assert_ne!(first, picture(Dice::new(2, 0), Purpose::Drop));
        assert_ne!(first, picture(Dice::new(1, 1), Purpose::Drop));
        assert_ne!(first, picture(Dice::new(1, 0), Purpose::Swap));
    }

    #[test]
    fn every_nth_and_listed_frames_are_met() {
        let dice = Dice::new(0, 0);
        let met = |when| {
            (0..10)
                .filter(|n| dice.is_met(&when, *n, Purpose::Drop))
                .collect::<Vec<_>>()
        };
        assert_eq!(met(FramesHit::Every(3)), [2, 5, 8]);
        assert_eq!(met(FramesHit::Every(1)).len(), 10);
        assert_eq!(met(FramesHit::Frames(vec![0, 9, 40])), [0, 9]);
        assert!(met(FramesHit::Never).is_empty());
    }
}
