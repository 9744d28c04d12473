//! What no series of samples and no histogram can show.

use super::{Findings, ROUNDING};
use crate::series::{Histogram, Series};

pub(super) fn look_at(series: &Series, findings: &mut Findings) {
    findings.within(format!("series {}", series.name), |f| {
        let h = &series.histogram;
        histogram(h, f);
        f.must(
            h.count == 0 || h.tick_ps == series.clock.tick_ps,
            "histogram.tick_ps",
            || {
                format!(
                    "{:?}, but its clock has {:?}",
                    h.tick_ps, series.clock.tick_ps
                )
            },
        );
        let raw = series.raw_ticks.len() as u64;
        let fits = match series.sampled || raw == 0 {
            true => raw <= h.count,
            false => raw == h.count,
        };
        f.must(fits, "raw_ticks", || {
            format!("{raw} samples, but the histogram holds {}", h.count)
        });
        for (percent, interval) in series.intervals.each() {
            if let Some(interval) = interval {
                f.interval(
                    &format!("interval of {percent} %"),
                    &interval,
                    series.percentile(percent).map(|ticks| ticks as f64),
                );
            }
        }
        let outside = series
            .raw_ticks
            .iter()
            .find(|t| !(h.min_ticks..=h.max_ticks).contains(t));
        if let Some(tick) = outside {
            f.say(
                "raw_ticks",
                format!("{tick} is not from {} to {}", h.min_ticks, h.max_ticks),
            );
        }
    });
}

/// A histogram whose buckets, ends, mean and deviation go together.
pub(super) fn histogram(h: &Histogram, findings: &mut Findings) {
    let sum: u128 = h.buckets.iter().map(|b| u128::from(b.1)).sum();
    findings.must(sum == u128::from(h.count), "count", || {
        format!("{}, but its buckets hold {sum}", h.count)
    });
    findings.must(
        h.buckets.windows(2).all(|pair| pair[0].0 < pair[1].0),
        "buckets",
        || "their values do not ascend".to_owned(),
    );
    if h.count == 0 {
        return;
    }
    findings.must(h.min_ticks <= h.max_ticks, "min_ticks", || {
        format!("{} is above the largest, {}", h.min_ticks, h.max_ticks)
    });
    // A bucket is named by its highest value: the first reaches the smallest sample, the last the largest.
    let reach = |at: Option<&(u64, u64)>, ticks| at.is_some_and(|bucket| bucket.0 >= ticks);
    findings.must(
        reach(h.buckets.first(), h.min_ticks) && reach(h.buckets.last(), h.max_ticks),
        "buckets",
        || format!("they do not reach from {} to {}", h.min_ticks, h.max_ticks),
    );
    let (min, max) = (h.min_ticks as f64, h.max_ticks as f64);
    // Counts that were sent as integers, and sums of many floats, are a little off.
    let margin = 1.0 + max * 1e-6;
    let mean = h.mean_ticks;
    findings.must(
        (min - margin..=max + margin).contains(&mean),
        "mean_ticks",
        || format!("{mean} is not from {min} to {max}"),
    );
    // Popoviciu: no samples deviate more than two of which one is the smallest and one the largest.
    let most = (max - min) / 2.0
        * if h.count > 1 {
            (h.count as f64 / (h.count - 1) as f64).sqrt()
        } else {
            0.0
        };
    let deviation = h.stddev_ticks;
    findings.must(
        (0.0..=most * (1.0 + ROUNDING) + margin).contains(&deviation),
        "stddev_ticks",
        || format!("{deviation}, but from {min} to {max} it is at most {most}"),
    );
}
