//! Chooses the frames for each fault from rates and a seed, without a loop over the frames in between.

use wirelab_statistics::random::SplitMix64;
use wirelab_trial::FaultRates;

use super::limits::{InjectError, MAX_STEPS, check, too_many};
use super::{ChangedEmission, Mutation, Schedule};

/// Faults of order; a frame has at most one.
#[derive(Clone, Copy, PartialEq)]
enum Arrangement {
    Drop,
    Duplicate,
    Swap,
}

/// Faults of content; a frame has at most one.
#[derive(Clone, Copy, PartialEq)]
enum Damage {
    HeaderCorrupt,
    Truncate,
    Stale,
    Corrupt,
}

impl Schedule {
    /// Decide the faults of sequences 0 to `sequences` − 1 of frames with an LFSR part of `lfsr_len` bytes.
    ///
    /// Every sequence has at most one fault of order (drop, duplicate, swap with its successor) and at most one of
    /// content (header-corrupt, truncate, stale, corrupt), each with the probability of its rate. The successor in a
    /// swap has no order fault itself, and the last sequence is not swapped. A second copy follows its frame directly
    /// and has the same damage. The same rates, number and seed give the same faults. Sequences from `sequences` on
    /// have none.
    ///
    /// # Errors
    /// [`InjectError`] names the rate that cannot be met, and the fix.
    pub fn plan(
        rates: &FaultRates,
        sequences: u64,
        lfsr_len: u32,
    ) -> Result<Schedule, InjectError> {
        check(rates, sequences, lfsr_len)?;
        let order = Hits::new(
            rates.seed,
            1,
            [
                (Arrangement::Drop, rates.drop),
                (Arrangement::Duplicate, rates.duplicate),
                (Arrangement::Swap, rates.swap),
            ],
        );
        let content = Hits::new(
            rates.seed,
            2,
            [
                (Damage::HeaderCorrupt, rates.header_corrupt),
                (Damage::Truncate, rates.truncate),
                (Damage::Stale, rates.stale),
                (Damage::Corrupt, rates.corrupt),
            ],
        );
        let planner = Planner {
            steps: Vec::new(),
            offset: 0,
            skipping: false,
            cursor: 0,
            sequences,
            lfsr_len,
            order,
            content,
            detail: SplitMix64::stream(rates.seed, 3),
        };
        planner.run().ok_or_else(|| too_many(rates, sequences))
    }
}

struct Planner {
    steps: Vec<ChangedEmission>,
    offset: i64,
    /// Sequences were left out, and no emission has recorded that yet.
    skipping: bool,
    /// The next sequence to process.
    cursor: u64,
    sequences: u64,
    lfsr_len: u32,
    order: Hits<Arrangement, 3>,
    content: Hits<Damage, 4>,
    detail: SplitMix64,
}

impl Planner {
    /// `None` if there would be too many steps.
    fn run(mut self) -> Option<Schedule> {
        loop {
            let at = self.order.at.min(self.content.at);
            if at >= self.sequences {
                break;
            }
            self.pass(at);
            self.one(at);
            if self.steps.len() > MAX_STEPS {
                return None;
            }
        }
        self.pass(self.sequences);
        if self.skipping {
            self.emit(self.sequences, Mutation::None);
        }
        Some(Schedule { steps: self.steps })
    }

    /// Sequences up to `to` have no fault. The first of them may have to record that others were left out.
    fn pass(&mut self, to: u64) {
        if self.cursor < to && self.skipping {
            self.emit(self.cursor, Mutation::None);
        }
        self.cursor = to;
    }

    fn one(&mut self, sequence: u64) {
        self.cursor = sequence + 1;
        let damage = self.damage(sequence);
        match self.order.take(sequence) {
            Some(Arrangement::Drop) => {
                self.offset += 1;
                self.skipping = true;
            }
            Some(Arrangement::Duplicate) => {
                if damage != Mutation::None || self.skipping {
                    self.emit(sequence, damage);
                }
                self.offset -= 1;
                self.emit(sequence, damage);
            }
            Some(Arrangement::Swap) if self.cursor < self.sequences => {
                let successor = self.cursor;
                let its_damage = self.damage(successor);
                self.order.take(successor);
                self.emit_at(
                    sequence.wrapping_add_signed(-self.offset),
                    successor,
                    its_damage,
                );
                self.emit_at(
                    successor.wrapping_add_signed(-self.offset),
                    sequence,
                    damage,
                );
                self.cursor = successor + 1;
            }
            Some(Arrangement::Swap) | None => {
                if damage != Mutation::None || self.skipping {
                    self.emit(sequence, damage);
                }
            }
        }
    }

    /// Emit `sequence` at the position of the present offset.
    fn emit(&mut self, sequence: u64, mutation: Mutation) {
        self.emit_at(
            sequence.wrapping_add_signed(-self.offset),
            sequence,
            mutation,
        );
    }

    fn emit_at(&mut self, emission: u64, sequence: u64, mutation: Mutation) {
        self.skipping = false;
        self.steps.push(ChangedEmission {
            emission,
            sequence: sequence as u32,
            mutation,
            offset_after: self.offset,
        });
    }

    fn damage(&mut self, sequence: u64) -> Mutation {
        let Some(damage) = self.content.take(sequence) else {
            return Mutation::None;
        };
        let mut below = |n: u32| self.detail.below(u64::from(n)) as u32;
        match damage {
            Damage::HeaderCorrupt => Mutation::HeaderBit(below(144) as u16),
            Damage::Truncate => Mutation::Truncate(1 + below(self.lfsr_len.min(0xFFFF)) as u16),
            Damage::Stale => Mutation::Stale(1 + below(4095) as u16),
            Damage::Corrupt => Mutation::LfsrBit(below(self.lfsr_len * 8)),
        }
    }
}

/// Sequences hit by one group of faults, ascending.
struct Hits<T, const N: usize> {
    rng: SplitMix64,
    faults: [(T, f64); N],
    total: f64,
    /// The next sequence that is hit.
    at: u64,
}

impl<T: Copy, const N: usize> Hits<T, N> {
    fn new(seed: u64, stream: u64, faults: [(T, f64); N]) -> Hits<T, N> {
        let total = faults.iter().map(|f| f.1).sum();
        let mut hits = Hits {
            rng: SplitMix64::stream(seed, stream),
            faults,
            total,
            at: 0,
        };
        hits.at = hits.gap();
        hits
    }

    /// Sequences without a fault before the next hit: geometric, by inversion of the distribution function.
    fn gap(&mut self) -> u64 {
        if self.total <= 0.0 {
            return u64::MAX;
        }
        if self.total >= 1.0 {
            return 0;
        }
        // Uniform above 0, so the logarithm is finite; the conversion saturates.
        let uniform = 1.0 - self.rng.uniform();
        (uniform.ln() / (-self.total).ln_1p()) as u64
    }

    /// The fault of `sequence`, if it is hit; then advance to the next hit.
    fn take(&mut self, sequence: u64) -> Option<T> {
        if self.at != sequence {
            return None;
        }
        let mut rest = self.rng.uniform() * self.total;
        let mut chosen = None;
        for (fault, rate) in self.faults.iter().filter(|f| f.1 > 0.0) {
            chosen = Some(*fault);
            rest -= rate;
            if rest < 0.0 {
                break;
            }
        }
        self.at = (sequence + 1).saturating_add(self.gap());
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_each_fault_as_documented() {
        let plan = |rates: FaultRates| Schedule::plan(&rates, 3, 28).unwrap().steps;
        let none = FaultRates::default();
        let short = |steps: Vec<ChangedEmission>| -> Vec<(u64, u32, i64)> {
            steps
                .iter()
                .map(|s| (s.emission, s.sequence, s.offset_after))
                .collect()
        };
        let duplicate = plan(FaultRates {
            duplicate: 1.0,
            ..none
        });
        assert_eq!(short(duplicate), [(1, 0, -1), (3, 1, -2), (5, 2, -3)]);
        let swap = plan(FaultRates { swap: 1.0, ..none });
        assert_eq!(short(swap), [(0, 1, 0), (1, 0, 0)]);
        let drop = plan(FaultRates { drop: 1.0, ..none });
        assert_eq!(short(drop), [(0, 3, 3)]);
        let stale = plan(FaultRates { stale: 1.0, ..none });
        assert_eq!(short(stale), [(0, 0, 0), (1, 1, 0), (2, 2, 0)]);
        assert!(plan(none).is_empty());
    }

    #[test]
    fn faults_happen_as_often_as_asked() {
        let rates = FaultRates {
            drop: 0.002,
            duplicate: 0.001,
            corrupt: 0.01,
            stale: 0.005,
            seed: 7,
            ..FaultRates::default()
        };
        let n = 1_000_000;
        let schedule = Schedule::plan(&rates, n, 28).unwrap();
        let ledger = schedule.ledger(schedule.emissions(n));
        for (count, rate) in [
            (ledger.dropped_frames, rates.drop),
            (ledger.duplicated_frames, rates.duplicate),
            (ledger.corrupted_frames, rates.corrupt),
            (ledger.stale_frames, rates.stale),
        ] {
            let expected = rate * n as f64;
            assert!(
                (count as f64 - expected).abs() < 6.0 * expected.sqrt(),
                "{count} of {expected}"
            );
        }
    }
}
