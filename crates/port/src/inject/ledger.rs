//! What a receiver must find of a schedule's faults, counted from its steps alone.

use wirelab_trial::Ledger;

use super::{ChangedEmission, Mutation, Schedule, plain};

/// How a step changes the order.
#[derive(Clone, Copy, PartialEq)]
enum Arrangement {
    InOrder,
    Copy,
    SwapFirst,
    SwapSecond,
}

/// The order of a step, from the offset before it.
fn arrangement(step: &ChangedEmission, offset: i64) -> Arrangement {
    let plain = plain(step.emission, step.offset_after) as u32;
    if step.offset_after < offset {
        Arrangement::Copy
    } else if step.sequence == plain.wrapping_add(1) {
        Arrangement::SwapFirst
    } else if step.sequence == plain.wrapping_sub(1) {
        Arrangement::SwapSecond
    } else {
        Arrangement::InOrder
    }
}

impl Schedule {
    /// Number of emissions after which no sequence below `sequences` is left to send.
    pub fn emissions(&self, sequences: u64) -> u64 {
        let mut offset = 0;
        for step in &self.steps {
            let next = plain(step.emission, offset);
            let arrangement = arrangement(step, offset);
            let concerns = if arrangement == Arrangement::Copy {
                next - 1
            } else {
                next
            };
            if concerns >= sequences {
                break;
            }
            let kept = plain(step.emission, step.offset_after);
            if kept >= sequences {
                // This step leaves out the last requested sequences.
                return step.emission;
            }
            if arrangement == Arrangement::SwapFirst && kept + 1 == sequences {
                return step.emission + 2;
            }
            offset = step.offset_after;
        }
        sequences.wrapping_add_signed(-offset)
    }

    /// Number of sequences, from 0 on, that the first `emissions` emissions use, whether or not they were sent.
    ///
    /// Sequences left out before the next emission count as used, and so does the missing frame of a run that ended
    /// in the middle of a swap.
    pub fn sequences_used(&self, emissions: u64) -> u64 {
        let reached = self.steps.partition_point(|s| s.emission < emissions);
        let offset = match reached.checked_sub(1) {
            Some(last) => self.steps[last].offset_after,
            None => 0,
        };
        let used = plain(emissions, offset);
        match self.steps.get(reached) {
            Some(step) if step.emission == emissions => match arrangement(step, offset) {
                Arrangement::SwapSecond => used + 1,
                Arrangement::Copy => used,
                _ => plain(emissions, step.offset_after),
            },
            _ => used,
        }
    }

    /// What a receiver must find if the first `emissions` emissions arrived and the path changed nothing.
    ///
    /// A run may end early, even in the middle of a swap; the missing frame then counts as left out.
    pub fn ledger(&self, emissions: u64) -> Ledger {
        let mut ledger = Ledger {
            sent_frames: self.sequences_used(emissions),
            ..Ledger::default()
        };
        let mut offset = 0;
        let mut first_of_swap_intact = false;
        let mut owed = 0;
        for step in &self.steps {
            if step.emission > emissions {
                break;
            }
            let arrangement = arrangement(step, offset);
            ledger.dropped_frames += (step.offset_after - offset).max(0) as u64;
            if step.emission == emissions {
                owed = u64::from(arrangement == Arrangement::SwapSecond);
                break;
            }
            offset = step.offset_after;
            let intact = step.mutation.keeps_header();
            match step.mutation {
                Mutation::None => {}
                Mutation::HeaderBit(_) => ledger.header_corrupt_frames += 1,
                Mutation::Truncate(_) => ledger.truncated_frames += 1,
                Mutation::Stale(_) => ledger.stale_frames += 1,
                Mutation::LfsrBit(_) => ledger.corrupted_frames += 1,
            }
            match arrangement {
                // Both copies have the same damage, so the first decides whether the sequence is lost.
                Arrangement::Copy => ledger.duplicated_frames += u64::from(intact),
                _ => ledger.lost_frames += u64::from(!intact),
            }
            match arrangement {
                Arrangement::SwapFirst => first_of_swap_intact = intact,
                Arrangement::SwapSecond => {
                    ledger.reordered_frames += u64::from(intact && first_of_swap_intact);
                }
                _ => {}
            }
        }
        ledger.dropped_frames += owed;
        ledger.lost_frames += ledger.dropped_frames;
        ledger
    }
}
