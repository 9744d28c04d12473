//! The arrivals of a flow over time, in little memory: the sub-intervals of a run for its confidence intervals.

/// Most slices. When they are used up, pairs are merged, and from then on each lasts twice as long.
pub const MOST_SLICES: usize = 128;
/// Initial length of a slice, in ns.
const FIRST_WIDTH_NS: u64 = 1_024;

/// The progress of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Frames that had arrived, or bytes, where a flow has no frames.
    pub amount: u64,
    /// Different sequences that had arrived.
    pub distinct: u64,
    /// Sequences up to the highest that had arrived; 0 where the flow has none.
    pub passed: u64,
}

/// Records the progress of a flow over time. Nothing is allocated after [`Marks::new`], and within a slice it costs one
/// comparison.
#[derive(Clone, Debug)]
pub struct Marks {
    width_ns: u64,
    due_ns: u64,
    marks: Vec<(u64, Totals)>,
}

impl Default for Marks {
    fn default() -> Marks {
        Marks::new()
    }
}

impl Marks {
    /// Nothing has arrived.
    pub fn new() -> Marks {
        Marks {
            width_ns: FIRST_WIDTH_NS,
            due_ns: 0,
            marks: Vec::with_capacity(MOST_SLICES + 1),
        }
    }

    /// Whether the slice has ended at this time in ns.
    #[inline]
    pub const fn is_due(&self, at_ns: u64) -> bool {
        at_ns >= self.due_ns
    }

    /// Ends a slice: before the arrival at `at_ns`, the flow had made this progress. Slices without arrivals are empty.
    pub fn come_to(&mut self, at_ns: u64, before: Totals) {
        let Some((first, _)) = self.marks.first() else {
            self.push(at_ns, before);
            return;
        };
        let since = at_ns.saturating_sub(*first);
        while since / self.width_ns >= MOST_SLICES as u64 {
            self.join();
        }
        while at_ns >= self.due_ns {
            let due = self.due_ns;
            self.push(due, before);
        }
    }

    /// Records a check at `at_ns` with this progress; the times between checks are unknown.
    pub fn looked(&mut self, at_ns: u64, totals: Totals) {
        let Some((_, last)) = self.marks.last() else {
            self.push(at_ns, totals);
            return;
        };
        // A gap belongs to the slice of the next arrival, or to none.
        if last.amount != totals.amount && self.is_due(at_ns) {
            if self.marks.len() > MOST_SLICES {
                self.join();
            }
            self.push(at_ns, totals);
        }
    }

    fn push(&mut self, at_ns: u64, totals: Totals) {
        self.marks.push((at_ns, totals));
        self.due_ns = at_ns.saturating_add(self.width_ns);
    }

    /// Merges pairs of slices.
    fn join(&mut self) {
        let mut at = 0;
        self.marks.retain(|_| {
            at += 1;
            at % 2 == 1
        });
        self.width_ns = self.width_ns.saturating_mul(2);
        if let (Some((first, _)), Some((last, _))) = (self.marks.first(), self.marks.last()) {
            // Checks may be further apart than the length of a slice.
            let mean = last.saturating_sub(*first) / self.marks.len() as u64;
            self.width_ns = self.width_ns.max(mean);
            self.due_ns = last.saturating_add(self.width_ns);
        }
    }

    /// The slices of a flow that ended at `at_ns` with this progress. A short rest belongs to the slice before.
    pub fn finish(mut self, at_ns: u64, totals: Totals) -> Slices {
        let rest = self
            .marks
            .last()
            .map(|(last, _)| at_ns.saturating_sub(*last));
        let Some(rest) = rest else {
            return Slices::default();
        };
        if self.marks.len() > 1 && rest < self.width_ns / 2 {
            self.marks.pop();
        }
        let end = at_ns.max(self.marks.last().map_or(0, |(last, _)| *last));
        self.marks.push((end, totals));
        let between = |pair: &[(u64, Totals)]| {
            let ((from_ns, from), (to_ns, to)) = (pair[0], pair[1]);
            Slice {
                ns: to_ns.saturating_sub(from_ns),
                amount: to.amount.saturating_sub(from.amount),
                distinct: to.distinct.saturating_sub(from.distinct),
                passed: to.passed.saturating_sub(from.passed),
            }
        };
        Slices {
            first_ns: self.marks.first().map(|(first, _)| *first),
            all: self.marks.windows(2).map(between).collect(),
        }
    }
}

/// The arrivals in one slice of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Its length, in ns.
    pub ns: u64,
    /// Frames that arrived, or bytes, where a flow has no frames.
    pub amount: u64,
    /// Different sequences that arrived.
    pub distinct: u64,
    /// Increase of the highest arrived sequence.
    pub passed: u64,
}

/// The slices of a run in their order, from the first arrival to the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slices {
    /// The slices.
    pub all: Vec<Slice>,
    /// The first arrival by the receiver's clock, in ns, where it is known.
    pub first_ns: Option<u64>,
}

impl Slices {
    /// The same run in at most `most` slices (at least one), each merged from consecutive ones. A hostile node may report any
    /// number.
    #[must_use]
    pub fn joined(&self, most: usize) -> Slices {
        let each = self.all.len().div_ceil(most.max(1)).max(1);
        let join = |slices: &[Slice]| {
            slices.iter().fold(Slice::default(), |sum, slice| Slice {
                ns: sum.ns.saturating_add(slice.ns),
                amount: sum.amount.saturating_add(slice.amount),
                distinct: sum.distinct.saturating_add(slice.distinct),
                passed: sum.passed.saturating_add(slice.passed),
            })
        };
        Slices {
            all: self.all.chunks(each).map(join).collect(),
            first_ns: self.first_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(amount: u64) -> Totals {
        Totals {
            amount,
            distinct: amount,
            passed: amount,
        }
    }

    /// A flow of so many frames, one every `gap_ns`, with a pause of `pause_ns` after half of them.
    fn flow(frames: u64, gap_ns: u64, pause_ns: u64) -> Slices {
        let (mut marks, mut last) = (Marks::new(), 0);
        for n in 0..frames {
            let pause = if n >= frames / 2 { pause_ns } else { 0 };
            last = 5_000_000_000 + n * gap_ns + pause;
            if marks.is_due(last) {
                marks.come_to(last, totals(n));
            }
            assert!(marks.marks.len() <= MOST_SLICES + 1);
        }
        marks.finish(last, totals(frames))
    }

    fn sum(slices: &Slices) -> (u64, u64) {
        let all = slices.all.iter();
        all.fold((0, 0), |sum, slice| {
            (sum.0 + slice.ns, sum.1 + slice.amount)
        })
    }

    #[test]
    fn slices_hold_all_of_a_run_however_long_it_is() {
        for (frames, gap_ns) in [(1_000, 10), (300_000, 700), (100, 1_000_000_000), (9, 1)] {
            let slices = flow(frames, gap_ns, 0);
            assert_eq!(sum(&slices), ((frames - 1) * gap_ns, frames));
            let number = slices.all.len();
            let short = frames * gap_ns < FIRST_WIDTH_NS * MOST_SLICES as u64 / 2;
            assert!(
                short || (MOST_SLICES / 2 - 1..=MOST_SLICES).contains(&number),
                "{number} of {frames} each {gap_ns} ns"
            );
        }
    }

    #[test]
    fn a_pause_is_slices_in_which_nothing_came() {
        let slices = flow(10_000, 1_000, 10_000_000);
        assert_eq!(sum(&slices), (9_999_000 + 10_000_000, 10_000));
        let empty = slices.all.iter().filter(|slice| slice.amount == 0).count();
        let half = slices.all.len() / 2;
        assert!(empty.abs_diff(half) <= 2, "{empty} of {}", slices.all.len());
        let longest = slices.all.iter().map(|slice| slice.ns).max();
        assert!(longest <= slices.all.first().map(|first| first.ns * 3 / 2));
    }

    #[test]
    fn looks_now_and_then_give_slices_too() {
        let mut marks = Marks::new();
        marks.looked(1_000, Totals::default());
        for look in 1..5_000 {
            marks.looked(1_000 + look * 1_000_000, totals(look * 7));
        }
        let slices = marks.finish(1_000 + 5_000 * 1_000_000, totals(35_000));
        assert_eq!(sum(&slices), (5_000_000_000, 35_000));
        assert!((MOST_SLICES / 2 - 1..=MOST_SLICES).contains(&slices.all.len()));
        let lengths = || slices.all.iter().map(|slice| slice.ns);
        let (shortest, longest) = (lengths().min(), lengths().max());
        assert!(
            longest < shortest.map(|ns| ns * 3),
            "{shortest:?} to {longest:?}"
        );

        let mut ended = Marks::new();
        ended.looked(0, Totals::default());
        ended.looked(10_000, totals(50));
        (0..9).for_each(|look| ended.looked(20_000 + look * 10_000, totals(99)));
        assert_eq!(
            sum(&ended.finish(12_000, totals(99))),
            (12_000, 99),
            "nothing came after that"
        );
    }

    #[test]
    fn nothing_or_one_frame_has_no_slice_of_its_own() {
        assert_eq!(Marks::new().finish(7, Totals::default()), Slices::default());
        assert_eq!(sum(&flow(1, 1, 0)), (0, 1));
    }
}
