//! The counts of a flow's receiver, and the faults of an injector in the receiver's terms.

use serde::{Deserialize, Serialize};

/// The frames of one flow as its receiver counted them. Each frame of the flow is exactly one of good, header-corrupt,
/// truncated, stale and corrupted; duplicated and reordered are counted in addition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Counts {
    /// Frames of the flow that arrived, in any state.
    pub received_frames: u64,
    /// Every byte right.
    pub good_frames: u64,
    /// Test header damaged; nothing in it was used.
    pub header_corrupt_frames: u64,
    /// Shorter than the header says.
    pub truncated_frames: u64,
    /// Intact content of another sequence.
    pub stale_frames: u64,
    /// A wrong byte in the LFSR part.
    pub corrupted_frames: u64,
    /// Copies of a sequence that had arrived before (RFC 5560).
    pub duplicated_frames: u64,
    /// Arrived after a later sequence (RFC 4737).
    pub reordered_frames: u64,
    /// Largest reordering extent in frames (RFC 4737, 4.2.2).
    pub reordering_extent_frames: u64,
    /// So late that the window no longer distinguishes duplicate from reordered.
    pub too_late_frames: u64,
    /// Different sequences that arrived with an intact header.
    pub distinct_sequences: u64,
    /// Sequences sent that certainly were lost on the way: sent − distinct − missed − lost or missed.
    pub lost_frames: u64,
    /// Sequences that arrived, as far as known, and that the tester's own queue dropped before they were counted: the
    /// tester's loss, separate from that of the path and the node.
    #[serde(default)]
    pub missed_frames: u64,
    /// Sequences that either the path lost or the tester's own queue dropped: the system counts dropped buffers, and
    /// one buffer may have held one datagram or many, of the flow or foreign.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_or_missed_frames: u64,
    /// Frames on the port that do not belong to the flow.
    pub foreign_frames: u64,
    /// Frames of the flow's kind that were sent before this run began, e.g. in the trial before, and left a queue of
    /// the node late. They are in no other count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_run_frames: u64,
    /// Payload bytes (what follows the Ethernet header and its tags) of the good frames: those whose test header and
    /// LFSR part were compared byte by byte.
    pub verified_payload_bytes: u64,
    /// Repeating frames whose slot did not follow the one before; 0 for all other flows.
    #[serde(default)]
    pub order_breaks: u64,
}

impl Counts {
    /// The largest number of sent sequences that may have been lost on the way: where the tester's own queue may have
    /// dropped some, more than those that certainly were.
    pub const fn lost_frames_at_most(&self) -> u64 {
        self.lost_frames.saturating_add(self.lost_or_missed_frames)
    }

    /// The count identity: distinct + missed + lost or missed + lost = sent, and the states add up to what was received.
    ///
    /// # Errors
    /// The sum that does not match, with its numbers.
    pub fn check_identity(&self, sent: u64) -> Result<(), String> {
        // Counts may come from a hostile file: their sums need not fit.
        let sum = |counts: &[u64]| counts.iter().copied().map(u128::from).sum::<u128>();
        if sum(&[
            self.distinct_sequences,
            self.missed_frames,
            self.lost_or_missed_frames,
            self.lost_frames,
        ]) != u128::from(sent)
        {
            return Err(format!(
                "distinct {} + missed {} + lost or missed {} + lost {} is not sent {sent}",
                self.distinct_sequences,
                self.missed_frames,
                self.lost_or_missed_frames,
                self.lost_frames
            ));
        }
        let states = sum(&[
            self.good_frames,
            self.header_corrupt_frames,
            self.truncated_frames,
            self.stale_frames,
            self.corrupted_frames,
        ]);
        if states != u128::from(self.received_frames) {
            return Err(format!(
                "good and bad frames are {states}, received {}",
                self.received_frames
            ));
        }
        let tracked = sum(&[
            self.distinct_sequences,
            self.duplicated_frames,
            self.too_late_frames,
            self.header_corrupt_frames,
        ]);
        if tracked != u128::from(self.received_frames) {
            return Err(format!(
                "distinct {} + duplicated {} + too late {} + header-corrupt {} is not received {}",
                self.distinct_sequences,
                self.duplicated_frames,
                self.too_late_frames,
                self.header_corrupt_frames,
                self.received_frames
            ));
        }
        Ok(())
    }

    /// Frames that were sent and did not arrive, or were missed.
    pub const fn unseen_frames(&self) -> u64 {
        self.lost_frames
            .saturating_add(self.missed_frames)
            .saturating_add(self.lost_or_missed_frames)
    }

    /// Whether nothing is wrong: every frame sent arrived once, in order, intact.
    pub fn is_clean(&self) -> bool {
        self.good_frames == self.received_frames
            && [
                self.lost_frames,
                self.missed_frames,
                self.lost_or_missed_frames,
                self.duplicated_frames,
                self.reordered_frames,
                self.too_late_frames,
                self.order_breaks,
            ]
            .iter()
            .all(|n| *n == 0)
    }

    /// Whether nothing is wrong except what the tester's own queue dropped, or may have.
    pub fn is_clean_but_for_the_tester(&self) -> bool {
        let without = Counts {
            missed_frames: 0,
            lost_or_missed_frames: 0,
            ..*self
        };
        without.is_clean()
    }
}

/// An injector's faults in the receiver's terms: the counts of a faultless path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ledger {
    /// Sequences used, whether or not they were sent.
    pub sent_frames: u64,
    /// Sequences left out.
    pub dropped_frames: u64,
    /// Frames sent with a damaged header (copies counted).
    pub header_corrupt_frames: u64,
    /// Frames sent truncated (copies counted).
    pub truncated_frames: u64,
    /// Frames sent with another sequence's content (copies counted).
    pub stale_frames: u64,
    /// Frames sent with a damaged LFSR part (copies counted).
    pub corrupted_frames: u64,
    /// Second copies with an intact header.
    pub duplicated_frames: u64,
    /// Frames that a receiver sees after a later one.
    pub reordered_frames: u64,
    /// Sequences that no intact header carries.
    pub lost_frames: u64,
    /// Frames sent with a wrong FCS: a checker behind a MAC has no such count, so a node that has one compares it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bad_fcs_frames: u64,
}

const fn is_zero(frames: &u64) -> bool {
    *frames == 0
}

impl Ledger {
    /// Where a receiver's counts differ from the ledger: field, ledger, counted.
    pub fn differences(&self, counts: &Counts) -> Vec<(&'static str, u64, u64)> {
        [
            (
                "header_corrupt_frames",
                self.header_corrupt_frames,
                counts.header_corrupt_frames,
            ),
            (
                "truncated_frames",
                self.truncated_frames,
                counts.truncated_frames,
            ),
            ("stale_frames", self.stale_frames, counts.stale_frames),
            (
                "corrupted_frames",
                self.corrupted_frames,
                counts.corrupted_frames,
            ),
            (
                "duplicated_frames",
                self.duplicated_frames,
                counts.duplicated_frames,
            ),
            (
                "reordered_frames",
                self.reordered_frames,
                counts.reordered_frames,
            ),
            ("lost_frames", self.lost_frames, counts.lost_frames),
        ]
        .into_iter()
        .filter(|(_, ledger, counted)| ledger != counted)
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(n: u64) -> Counts {
        Counts {
            received_frames: n,
            good_frames: n,
            distinct_sequences: n,
            ..Counts::default()
        }
    }

    #[test]
    fn the_identity_holds_and_can_fail() {
        assert_eq!(clean(10).check_identity(10), Ok(()));
        assert!(
            clean(10)
                .check_identity(11)
                .unwrap_err()
                .contains("is not sent 11")
        );
        let counts = Counts {
            good_frames: 9,
            ..clean(10)
        };
        assert!(
            counts
                .check_identity(10)
                .unwrap_err()
                .contains("good and bad")
        );
        let counts = Counts {
            duplicated_frames: 1,
            ..clean(10)
        };
        assert!(
            counts
                .check_identity(10)
                .unwrap_err()
                .contains("duplicated 1")
        );
        assert!(!counts.is_clean());
    }

    #[test]
    fn a_ledger_that_differs_is_named() {
        let ledger = Ledger {
            sent_frames: 10,
            lost_frames: 1,
            ..Ledger::default()
        };
        assert_eq!(ledger.differences(&clean(10)), [("lost_frames", 1, 0)]);
    }
}
