//! The summary of repeated trials after the table of `wirelab measure`: a line for each trial and direction.

use wirelab_bench::{CONFIDENCE, DirectionSummary, TrialSummary, summaries};
use wirelab_report::format;
use wirelab_trial::{Observation, Over};

use crate::terminal::say;

/// Prints it, if any trial was repeated.
pub fn print(observations: &[Observation]) {
    let all = summaries(observations);
    if all.iter().all(|s| s.observations < 2) {
        return;
    }
    let percent = CONFIDENCE * 100.0;
    say!(
        "\nRepeated trials: mean with its {percent:.0} % interval {}, and median (measured)",
        Over::Repeats.words()
    );
    for summary in &all {
        for direction in &summary.directions {
            say!("  {}", line(summary, direction));
        }
    }
}

fn line(summary: &TrialSummary, direction: &DirectionSummary) -> String {
    let trial = &summary.trial;
    let size = trial.sizes().map_or("?".to_owned(), |s| {
        format!("payload {} (frame {})", s.payload, s.frame)
    });
    let what = format!("{size}, {}, load {}", direction.direction, trial.load);
    let runs = format!("{} of {} complete", summary.complete, summary.observations);
    let Some(rate) = direction.frames_per_s.value() else {
        return format!("{what}: – ({runs})");
    };
    let (mean, median) = (
        format::frame_rate(rate.mean),
        format::frame_rate(rate.median),
    );
    let interval = rate.mean_interval.map_or("no interval".to_owned(), |i| {
        format!(
            "{} to {}",
            format::frame_rate(i.low.max(0.0)),
            format::frame_rate(i.high)
        )
    });
    format!("{what}: {mean} frames/s ({interval}), median {median}; {runs}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_mean_interval_and_median() {
        let example = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../spec/examples/ports.json"
        ));
        let file = wirelab_trial::ResultsFile::parse(example).expect("a worked example");
        let observation = file.observations[0].clone();
        let mut other = observation.clone();
        for flow in &mut other.flows {
            flow.frames_per_s = flow.frames_per_s.clone().map(|rate| rate * 1.1);
        }
        let all = summaries(&[observation, other]);
        let text = line(&all[0], &all[0].directions[0]);
        let rate = all[0].directions[0]
            .frames_per_s
            .value()
            .expect("the example has a rate");
        assert!(rate.max > rate.min);
        for part in [
            &format::frame_rate(rate.mean),
            &format::frame_rate(rate.median),
            "2 of 2 complete",
            " to ",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }
}
