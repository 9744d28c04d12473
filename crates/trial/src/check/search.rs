//! What no search can find.

use super::Findings;
use crate::field::Field;
use crate::results::Found;
use crate::search::{BurstResult, CurveResult, GoalResult, SearchResult, TrialRecord};

pub(super) fn look_at(found: &Found, findings: &mut Findings) {
    match found {
        Found::Rates(result) => rates(result, findings),
        Found::LossCurve(curve) => losses(curve, findings),
        Found::Bursts(bursts) => longest(bursts, findings),
    }
}

fn trials(trials: &[TrialRecord], findings: &mut Findings) {
    for (at, trial) in trials.iter().enumerate() {
        findings.within(format!("trial {}", at + 1), |f| {
            if let Some(load) = trial.load_frames_per_s {
                f.not_negative("load_frames_per_s", load);
            }
            if let Some(rate) = trial.forwarding_frames_per_s.value() {
                f.not_negative("forwarding_frames_per_s", *rate);
            }
            share_of(&trial.loss_ratio, "loss_ratio", f);
        });
        if findings.is_full() {
            return;
        }
    }
}

fn share_of(field: &Field<f64>, name: &str, findings: &mut Findings) {
    if let Some(value) = field.value() {
        findings.share(name, *value);
    }
}

fn rates(result: &SearchResult, findings: &mut Findings) {
    let most = result.max_load.map(|load| load.frames_per_s);
    for (field, value) in [
        ("max_load.frames_per_s", most),
        ("min_load_frames_per_s", result.min_load_frames_per_s),
    ] {
        if let Some(value) = value {
            findings.not_negative(field, value);
        }
    }
    for (at, goal) in result.goals.iter().enumerate() {
        findings.within(format!("goal {}", at + 1), |f| bounds(goal, f));
    }
    trials(&result.trials, findings);
}

fn bounds(goal: &GoalResult, findings: &mut Findings) {
    findings.share("goal.loss_ratio", goal.goal.loss_ratio);
    share_of(&goal.width_ratio, "width_ratio", findings);
    let (lower, upper) = (
        &goal.relevant_lower_bound_frames_per_s,
        &goal.relevant_upper_bound_frames_per_s,
    );
    for (field, value) in [
        ("relevant_lower_bound_frames_per_s", lower),
        ("relevant_upper_bound_frames_per_s", upper),
        (
            "conditional_throughput_frames_per_s",
            &goal.conditional_throughput_frames_per_s,
        ),
        (
            "conditional_throughput_payload_bits_per_s",
            &goal.conditional_throughput_payload_bits_per_s,
        ),
        (
            "conditional_throughput_goodput_bits_per_s",
            &goal.conditional_throughput_goodput_bits_per_s,
        ),
    ] {
        if let Some(value) = value.value() {
            findings.not_negative(field, *value);
        }
    }
    if let (Some(lower), Some(upper)) = (lower.value(), upper.value()) {
        findings.must(lower <= upper, "relevant_lower_bound_frames_per_s", || {
            format!("{lower} is above the upper bound, {upper}")
        });
    }
}

fn losses(curve: &CurveResult, findings: &mut Findings) {
    findings.not_negative("max_load_frames_per_s", curve.max_load_frames_per_s);
    for (at, point) in curve.points.iter().enumerate() {
        findings.within(format!("point {}", at + 1), |f| {
            f.not_negative("load_percent", point.load_percent);
            f.not_negative("load_frames_per_s", point.load_frames_per_s);
            if let Some(rate) = point.held_back_at_frames_per_s {
                f.not_negative("held_back_at_frames_per_s", rate);
            }
            share_of(&point.loss_ratio, "loss_ratio", f);
        });
    }
    trials(&curve.trials, findings);
}

fn longest(bursts: &BurstResult, findings: &mut Findings) {
    findings.not_negative("max_frames_per_s", bursts.max_frames_per_s);
    findings.not_negative("throughput_frames_per_s", bursts.throughput_frames_per_s);
    for (at, burst) in bursts.bursts.iter().enumerate() {
        findings.must(burst.frames <= bursts.longest_frames, "bursts", || {
            format!(
                "burst {} has {} frames, but at most {} were allowed",
                at + 1,
                burst.frames,
                bursts.longest_frames
            )
        });
        if findings.is_full() {
            return;
        }
    }
    if let Some(lengths) = bursts.lengths.value() {
        let range = lengths.min_frames as f64..=lengths.max_frames as f64;
        findings.must(
            range.contains(&lengths.mean_frames),
            "lengths.mean_frames",
            || {
                format!(
                    "{} is not from {} to {}",
                    lengths.mean_frames,
                    range.start(),
                    range.end()
                )
            },
        );
        findings.not_negative("lengths.stddev_frames", lengths.stddev_frames);
    }
    if let (Some(implied), Some(corrected)) = (
        bursts.implied_buffer_time_ps.value(),
        bursts.corrected_buffer_time_ps.value(),
    ) {
        findings.must(corrected <= implied, "corrected_buffer_time_ps", || {
            format!("{corrected} is above the implied one, {implied}")
        });
    }
    trials(&bursts.trials, findings);
}
