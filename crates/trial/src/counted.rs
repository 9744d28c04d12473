//! Counted frames for a reader: rows of a number and what it is of.

use crate::counts::{Counts, Ledger};
use crate::format::integer;

/// Rows of a table: the number of frames, and which they are.
pub type CountedRows = Vec<(u64, String)>;

/// Rows of counted frames: the first ones, and of the others those that are not 0.
pub fn but_for_zeros(rows: Vec<(&'static str, u64)>, first: usize) -> CountedRows {
    let rows = rows.into_iter().enumerate();
    rows.filter(|(at, (_, n))| *at < first || *n > 0)
        .map(|(_, (what, n))| (n, what.to_owned()))
        .collect()
}

impl Counts {
    /// The frames of a flow by what a checker found about them, the good ones first.
    pub fn found(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("good", self.good_frames),
            ("header-corrupt", self.header_corrupt_frames),
            ("truncated", self.truncated_frames),
            ("stale", self.stale_frames),
            ("corrupted", self.corrupted_frames),
            ("duplicated", self.duplicated_frames),
            ("reordered", self.reordered_frames),
            ("too late", self.too_late_frames),
        ]
    }

    /// What a checker counted, and `more`: the good frames, and of the others those that are not 0.
    pub fn verdicts(&self, more: &[(&'static str, u64)]) -> CountedRows {
        let mut rows = self.found();
        rows.push(("of another run", self.other_run_frames));
        rows.push(("foreign", self.foreign_frames));
        rows.extend(more);
        but_for_zeros(rows, 1)
    }

    /// How many of the sent frames were lost.
    pub fn lost_of(&self, sent: u64) -> (u64, String) {
        (self.lost_frames, format!("lost of {}", integer(sent)))
    }
}

impl Ledger {
    /// The frames of an injector that wrote `frames`, and the injected faults with the names of `--inject`.
    pub fn rows(&self, frames: u64) -> CountedRows {
        let faults = [
            ("dropped", self.dropped_frames),
            ("header-corrupt", self.header_corrupt_frames),
            ("truncated", self.truncated_frames),
            ("stale", self.stale_frames),
            ("corrupted", self.corrupted_frames),
            ("duplicated", self.duplicated_frames),
            ("reordered", self.reordered_frames),
            ("with a bad FCS", self.bad_fcs_frames),
        ];
        let faults = but_for_zeros(faults.into(), 0).into_iter();
        let faults: CountedRows = faults
            .map(|(frames, what)| (frames, format!("{what} (injected)")))
            .collect();
        let mut rows = vec![(frames, "written".to_owned())];
        if !faults.is_empty() {
            rows.push((self.sent_frames, "sequences".to_owned()));
            rows.push((self.lost_frames, "lost".to_owned()));
        }
        rows.extend(faults);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_reported_in_words() {
        let none = Ledger::default().rows(10);
        assert_eq!(none, [(10, "written".to_owned())]);
        let ledger = Ledger {
            sent_frames: 1_000,
            dropped_frames: 12,
            corrupted_frames: 3,
            lost_frames: 12,
            ..Ledger::default()
        };
        let rows = [
            (988, "written"),
            (1_000, "sequences"),
            (12, "lost"),
            (12, "dropped (injected)"),
            (3, "corrupted (injected)"),
        ];
        let rows = rows.map(|(n, what)| (n, what.to_owned()));
        assert_eq!(ledger.rows(988), rows);
    }
}
