//! Progress of a whole plan, from the progress of its trials and their expected durations.

use std::time::Instant;

use wirelab_trial::{Progress, format};

const PS_PER_MS: u64 = 1_000_000_000;

/// Reports a trial's progress as a part of the plan's, in milliseconds of expected time.
pub struct StepProgress<'a> {
    outer: &'a dyn Progress,
    before_ms: u64,
    step_ms: u64,
    total_ms: u64,
    label: String,
}

impl<'a> StepProgress<'a> {
    /// For a step of `step_ps`, with `before_ps` of `total_ps` done.
    pub fn new(
        outer: &'a dyn Progress,
        before_ps: u64,
        step_ps: u64,
        total_ps: u64,
        label: String,
    ) -> StepProgress<'a> {
        StepProgress {
            outer,
            before_ms: before_ps / PS_PER_MS,
            step_ms: step_ps / PS_PER_MS,
            total_ms: (total_ps / PS_PER_MS).max(1),
            label,
        }
    }
}

impl Progress for StepProgress<'_> {
    fn report(&self, done: u64, total: u64, what: &str) {
        let share = u128::from(done.min(total)) * u128::from(self.step_ms);
        let within = (share / u128::from(total.max(1))) as u64;
        let now = self.before_ms.saturating_add(within).min(self.total_ms);
        let text = if what.is_empty() {
            self.label.clone()
        } else {
            format!("{}: {what}", self.label)
        };
        self.outer.report(now, self.total_ms, &text);
    }
}

/// Reports the progress of a part as that of the whole plan; time that the part turns out not to need is subtracted.
pub struct PartProgress<'a> {
    /// The progress of the plan.
    pub outer: &'a dyn Progress,
    /// Elapsed time, in ps.
    pub before_ps: u64,
    /// Expected time of the parts after it, in ps.
    pub after_ps: u64,
    /// Longest time of the part, in ps: a search knows its own bound only once it knows its loads.
    pub at_most_ps: u64,
}

impl Progress for PartProgress<'_> {
    fn report(&self, done: u64, total: u64, what: &str) {
        let before = self.before_ps / PS_PER_MS;
        let whole = before.saturating_add(total.min(self.at_most_ps / PS_PER_MS));
        let whole = whole.saturating_add(self.after_ps / PS_PER_MS);
        self.outer.report(before.saturating_add(done), whole, what);
    }
}

/// Adds the remaining time to the text: the expected time, corrected by the actual speed so far.
pub struct TimeLeft<'a> {
    outer: &'a dyn Progress,
    begun: Instant,
}

impl<'a> TimeLeft<'a> {
    /// Starts now.
    pub fn new(outer: &'a dyn Progress) -> TimeLeft<'a> {
        TimeLeft {
            outer,
            begun: Instant::now(),
        }
    }
}

impl Progress for TimeLeft<'_> {
    fn report(&self, done: u64, total: u64, what: &str) {
        let passed_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let left = in_words(left_ms(done, total, passed_ms));
        self.outer
            .report(done, total, &format!("{what}, {left} left"));
    }
}

/// A time in words, e.g. `40 s`, `14 min`, `2.5 h`.
fn in_words(ms: u64) -> String {
    match ms.div_ceil(1_000) {
        s @ 0..=99 => format!("{s} s"),
        s @ 100..=5_999 => format!("{} min", s.div_ceil(60)),
        s => format!("{} h", format::decimal(s as f64 / 3_600.0, 1)),
    }
}

/// Expected remaining milliseconds, scaled by the actual speed so far; a short time so far is not evidence.
fn left_ms(done: u64, total: u64, passed_ms: u64) -> u64 {
    const PROOF_MS: u64 = 2_000;
    let expected = total.saturating_sub(done);
    if done < PROOF_MS || passed_ms < PROOF_MS {
        return expected;
    }
    let left = u128::from(expected) * u128::from(passed_ms) / u128::from(done);
    u64::try_from(left).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_corrected_by_what_was_slower() {
        assert_eq!(left_ms(0, 60_000, 500), 60_000);
        assert_eq!(left_ms(1_000, 60_000, 5_000), 59_000, "too early to tell");
        assert_eq!(
            left_ms(20_000, 60_000, 30_000),
            60_000,
            "half as slow again"
        );
        assert_eq!(left_ms(20_000, 60_000, 10_000), 20_000);
        assert_eq!(left_ms(70_000, 60_000, 10_000), 0, "a total that shrank");
        assert_eq!(left_ms(1 << 40, u64::MAX, u64::MAX), u64::MAX);
        for (ms, words) in [
            (0, "0 s"),
            (98_500, "99 s"),
            (100_001, "2 min"),
            (836_000, "14 min"),
            (9_000_000, "2.5 h"),
        ] {
            assert_eq!(in_words(ms), words);
        }
    }
}
