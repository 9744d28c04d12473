//! Progress of a whole plan, made from the progress of its trials and what each is expected to last.

use wirelab_trial::Progress;

const PS_PER_MS: u64 = 1_000_000_000;

/// Passes a trial's progress on as a part of the plan's, in milliseconds of expected time.
pub struct StepProgress<'a> {
    outer: &'a dyn Progress,
    before_ms: u64,
    step_ms: u64,
    total_ms: u64,
    label: String,
}

impl<'a> StepProgress<'a> {
    /// For a step of `step_ps` with `before_ps` of `total_ps` behind it.
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
