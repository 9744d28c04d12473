//! What the faults of a schedule must look like to a receiver, counted from its steps alone.

use wirelab_trial::Ledger;

use super::{Mutation, Schedule, Step, plain};

/// How a step arranges its frame.
#[derive(Clone, Copy, PartialEq)]
enum Arrangement {
    InOrder,
    Copy,
    SwapFirst,
    SwapSecond,
}

/// A step together with the offset before it.
fn place(step: &Step, offset: i64) -> Arrangement {
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
    /// Emissions after which no sequence below `sequences` is sent any more: so many use them all.
    pub fn emissions(&self, sequences: u64) -> u64 {
        let mut offset = 0;
        for step in &self.steps {
            let next = plain(step.emission, offset);
            let place = place(step, offset);
            let concerns = if place == Arrangement::Copy {
                next - 1
            } else {
                next
            };
            if concerns >= sequences {
                break;
            }
            let kept = plain(step.emission, step.offset_after);
            if kept >= sequences {
                // This step leaves out the last sequences that are asked for.
                return step.emission;
            }
            if place == Arrangement::SwapFirst && kept + 1 == sequences {
                return step.emission + 2;
            }
            offset = step.offset_after;
        }
        sequences.wrapping_add_signed(-offset)
    }

    /// Sequences that the first `emissions` emissions use, from 0 on, whether or not they left.
    ///
    /// What is left out in front of the next emission counts as used, and so does the frame that a run which
    /// ended in the middle of a swap still owed.
    pub fn sequences_used(&self, emissions: u64) -> u64 {
        let reached = self.steps.partition_point(|s| s.emission < emissions);
        let offset = match reached.checked_sub(1) {
            Some(last) => self.steps[last].offset_after,
            None => 0,
        };
        let used = plain(emissions, offset);
        match self.steps.get(reached) {
            Some(step) if step.emission == emissions => match place(step, offset) {
                Arrangement::SwapSecond => used + 1,
                Arrangement::Copy => used,
                _ => plain(emissions, step.offset_after),
            },
            _ => used,
        }
    }

    /// What a receiver must find when the first `emissions` emissions arrived and the way did nothing to them.
    ///
    /// A run may end early, even in the middle of a swap: the frame that it still owed then counts as left out.
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
            let place = place(step, offset);
            ledger.dropped_frames += (step.offset_after - offset).max(0) as u64;
            if step.emission == emissions {
                owed = u64::from(place == Arrangement::SwapSecond);
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
            match place {
                // Both copies are damaged alike, so the first one tells whether the sequence is lost.
                Arrangement::Copy => ledger.duplicated_frames += u64::from(intact),
                _ => ledger.lost_frames += u64::from(!intact),
            }
            match place {
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
