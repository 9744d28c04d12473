//! Impossible results of a search.

use super::flow::EDGE_S;
use super::{Findings, ROUNDING, near};
use crate::field::Field;
use crate::format;
use crate::results::SearchOutcome;
use crate::search::{
    BurstLengths, BurstResult, CurveResult, GoalResult, Outcome, SearchResult, TrialRecord,
};
use crate::trial::Direction;

/// Allowed relative difference between two widths of the same bounds.
const SAME_WIDTH: f64 = 1e-6;

pub(super) fn look_at(found: &SearchOutcome, findings: &mut Findings) {
    match found {
        SearchOutcome::Rates(result) => rates(result, findings),
        SearchOutcome::LossCurve(curve) => losses(curve, findings),
        SearchOutcome::Bursts(bursts) => longest(bursts, findings),
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
        findings.within(format!("goal {}", at + 1), |f| {
            share_of(&goal.width_ratio, "width_ratio", f);
            f.share("goal.loss_ratio", goal.goal.loss_ratio);
            bounds(result, goal, f);
            throughput(result, goal, f);
        });
    }
    let requested = result.trials.len() as u64;
    let of_goals = result.goals.iter().map(|goal| goal.trials);
    let sum = of_goals.fold(0, u64::saturating_add);
    findings.must(sum <= requested, "goals", || {
        format!("{}, but {requested} requested", format::count(sum, "trial"))
    });
    trials(&result.trials, findings);
}

/// Bounds are loads of the search, and a found rate has a lower one.
fn bounds(result: &SearchResult, goal: &GoalResult, findings: &mut Findings) {
    let lower = goal.relevant_lower_bound_frames_per_s.value().copied();
    let upper = goal.relevant_upper_bound_frames_per_s.value().copied();
    let most = result.max_load.map_or(f64::MAX, |load| load.frames_per_s);
    for (field, bound) in [
        ("relevant_lower_bound_frames_per_s", lower),
        ("relevant_upper_bound_frames_per_s", upper),
    ] {
        let Some(bound) = bound else { continue };
        findings.not_negative(field, bound);
        findings.must(bound <= most * (1.0 + ROUNDING), field, || {
            format!("{bound}, but the highest load is {most}")
        });
    }
    let is_found = goal.outcome == Outcome::Found;
    findings.must(
        !is_found || lower.is_some(),
        "relevant_lower_bound_frames_per_s",
        || "there is none, but the rate was found".to_owned(),
    );
    let trials = result.trials.len() as u64;
    findings.must(
        goal.lower_bound_trials <= trials,
        "lower_bound_trials",
        || {
            format!(
                "{}, but {} requested",
                goal.lower_bound_trials,
                format::count(trials, "trial")
            )
        },
    );
    let (Some(lower), Some(upper)) = (lower, upper) else {
        return;
    };
    findings.must(lower <= upper, "relevant_lower_bound_frames_per_s", || {
        format!("{lower} is above the upper bound, {upper}")
    });
    if let Some(width) = goal.width_ratio.value() {
        let follows = (upper - lower) / upper;
        findings.must((width - follows).abs() <= SAME_WIDTH, "width_ratio", || {
            format!("{width}, but from {lower} to {upper} it is {follows}")
        });
    }
}

/// The throughput at the lower bound is at most that load, in its units.
fn throughput(result: &SearchResult, goal: &GoalResult, findings: &mut Findings) {
    let Some(rate) = goal.conditional_throughput_frames_per_s.value().copied() else {
        return;
    };
    let field = "conditional_throughput_frames_per_s";
    findings.not_negative(field, rate);
    let lower = &goal.relevant_lower_bound_frames_per_s;
    // A node that sends may send faster than requested.
    let offered = matches!(result.trial.direction, Direction::Receive | Direction::Echo);
    if let Some(lower) = lower.value().filter(|_| offered) {
        let edge = EDGE_S * 1e12 / goal.goal.final_trial_ps.max(1) as f64;
        findings.must(rate <= lower * (1.0 + ROUNDING + edge), field, || {
            format!("{rate}, but {lower} was offered")
        });
    }
    let sizes = &result.sizes;
    for (field, value, bytes) in [
        (
            "conditional_throughput_payload_bits_per_s",
            &goal.conditional_throughput_payload_bits_per_s,
            Some(sizes.payload),
        ),
        (
            "conditional_throughput_goodput_bits_per_s",
            &goal.conditional_throughput_goodput_bits_per_s,
            sizes.datagram,
        ),
    ] {
        if let (Some(value), Some(bytes)) = (value.value(), bytes) {
            let follows = rate * 8.0 * f64::from(bytes);
            findings.must(near(*value, follows, ROUNDING), field, || {
                format!("{value}, but {rate} frames/s of {bytes} bytes are {follows}")
            });
        }
    }
}

fn losses(curve: &CurveResult, findings: &mut Findings) {
    findings.not_negative("max_load_frames_per_s", curve.max_load_frames_per_s);
    for (at, point) in curve.points.iter().enumerate() {
        findings.within(format!("point {}", at + 1), |f| {
            f.not_negative("load_percent", point.load_percent);
            f.not_negative("load_frames_per_s", point.load_frames_per_s);
            let follows = curve.max_load_frames_per_s * point.load_percent / 100.0;
            f.must(
                near(point.load_frames_per_s, follows, ROUNDING),
                "load_frames_per_s",
                || {
                    format!(
                        "{}, but {} % of {} are {follows}",
                        point.load_frames_per_s, point.load_percent, curve.max_load_frames_per_s
                    )
                },
            );
            if let Some(rate) = point.held_back_at_frames_per_s {
                f.not_negative("held_back_at_frames_per_s", rate);
                f.must(
                    rate <= point.load_frames_per_s * (1.0 + ROUNDING),
                    "held_back_at_frames_per_s",
                    || format!("{rate} is above the load, {}", point.load_frames_per_s),
                );
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
                "burst {} has {}, but at most {} are allowed",
                at + 1,
                format::count(burst.frames, "frame"),
                bursts.longest_frames
            )
        });
        if findings.is_full() {
            return;
        }
    }
    if let Some(of) = bursts.lengths.value() {
        findings.within("lengths", |f| lengths(bursts, of, f));
    }
    let implied = bursts.implied_buffer_time_ps.value();
    if let (Some(implied), Some(corrected)) = (implied, bursts.corrected_buffer_time_ps.value()) {
        findings.must(corrected <= implied, "corrected_buffer_time_ps", || {
            format!("{corrected} is above the implied one, {implied}")
        });
    }
    trials(&bursts.trials, findings);
}

/// The lengths summarize the bursts.
fn lengths(bursts: &BurstResult, of: &BurstLengths, findings: &mut Findings) {
    let frames = || bursts.bursts.iter().map(|burst| burst.frames);
    let number = frames().count();
    let mean = frames().map(|n| n as f64).sum::<f64>() / number.max(1) as f64;
    findings.must(of.repeats as usize == number, "repeats", || {
        format!("{}, but there are {number} bursts", of.repeats)
    });
    let ends = (frames().min(), frames().max());
    let stated = (Some(of.min_frames), Some(of.max_frames));
    findings.must(ends == stated, "min_frames", || {
        format!("from {stated:?}, but the bursts are from {ends:?}")
    });
    findings.must(near(of.mean_frames, mean, ROUNDING), "mean_frames", || {
        format!("{}, but that of the bursts is {mean}", of.mean_frames)
    });
    findings.not_negative("stddev_frames", of.stddev_frames);
    let most = (of.max_frames.saturating_sub(of.min_frames)) as f64;
    findings.must(of.stddev_frames <= most, "stddev_frames", || {
        format!(
            "{}, but the bursts are at most {most} apart",
            of.stddev_frames
        )
    });
}
