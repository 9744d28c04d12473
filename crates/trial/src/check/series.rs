//! Impossible series of samples and histograms.

use super::{Findings, ROUNDING};
use crate::interval::IntervalBasis;
use crate::series::{Histogram, Series, bucket_of, highest_of, lowest_of};

/// Allowed difference of two means or deviations of the same samples, relative to the largest: sums of many floats are
/// slightly off.
const SUMS: f64 = 1e-6;

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
        raw(series, f);
        // A reader removes percentiles that are right, so any that are left are wrong.
        f.must(series.percentiles.is_empty(), "percentiles", || {
            "they are not those of the samples".to_owned()
        });
        for (percent, interval) in series.intervals.each() {
            let Some(interval) = interval else { continue };
            let field = format!("interval of {percent} %");
            let value = series.percentile(percent).map(|ticks| ticks as f64);
            f.within_run(&field, &interval, value);
            // Its ends are samples, but those of a model with other parameters are not.
            let is_inside = interval.over == IntervalBasis::Parameters
                || interval.low >= h.min_ticks as f64 && interval.high <= h.max_ticks as f64;
            f.must(is_inside, &field, || {
                format!(
                    "from {} to {}, but the samples are from {} to {}",
                    interval.low, interval.high, h.min_ticks, h.max_ticks
                )
            });
        }
    });
}

/// The kept samples are those of the histogram, or some of them.
fn raw(series: &Series, findings: &mut Findings) {
    let h = &series.histogram;
    let raw = series.raw_ticks.len() as u64;
    let is_all = !series.sampled && raw > 0;
    let fits = if is_all {
        raw == h.count
    } else {
        raw <= h.count
    };
    findings.must(fits, "raw_ticks", || {
        format!("{raw} samples, but the histogram holds {}", h.count)
    });
    let range = h.min_ticks..=h.max_ticks;
    if let Some(tick) = series.raw_ticks.iter().find(|t| !range.contains(t)) {
        findings.say(
            "raw_ticks",
            format!("{tick} is not from {} to {}", h.min_ticks, h.max_ticks),
        );
    } else if is_all && fits {
        rebuilt(series, findings);
    }
}

/// All samples reproduce the histogram.
fn rebuilt(series: &Series, findings: &mut Findings) {
    let h = &series.histogram;
    let mut counts = vec![0u64; h.buckets.len()];
    let (mut min, mut max, mut number) = (u64::MAX, 0, 0.0);
    // B. P. Welford, Technometrics 4 (1962), as in the histogram.
    let (mut mean, mut squares) = (0.0, 0.0);
    for ticks in &series.raw_ticks {
        let at = h.buckets.partition_point(|bucket| bucket.0 < *ticks);
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
        (min, max) = (min.min(*ticks), max.max(*ticks));
        number += 1.0;
        let before = *ticks as f64 - mean;
        mean += before / number;
        squares += before * (*ticks as f64 - mean);
    }
    let off = h.buckets.iter().zip(&counts).find(|(b, n)| b.1 != **n);
    if let Some((bucket, count)) = off {
        findings.say(
            "histogram.buckets",
            format!(
                "{} samples up to {}, but raw_ticks has {count} there",
                bucket.1, bucket.0
            ),
        );
    }
    for (field, stated, value) in [
        ("histogram.min_ticks", h.min_ticks, min),
        ("histogram.max_ticks", h.max_ticks, max),
    ] {
        findings.must(stated == value, field, || {
            format!("{stated}, but raw_ticks gives {value}")
        });
    }
    let deviation = (squares / (number - 1.0_f64).max(1.0)).sqrt();
    let margin = SUMS * (1.0 + max as f64);
    // A deviation may be computed from bucket centres: off by half a bucket, and (n − 1) for n.
    let bucket = bucket_of(max);
    let half = (highest_of(bucket) - lowest_of(bucket)) as f64 / 2.0 * std::f64::consts::SQRT_2;
    for (field, stated, value, margin) in [
        ("histogram.mean_ticks", h.mean_ticks, mean, margin),
        (
            "histogram.stddev_ticks",
            h.stddev_ticks,
            deviation,
            margin + half,
        ),
    ] {
        findings.must((stated - value).abs() <= margin, field, || {
            format!("{stated}, but raw_ticks gives {value}")
        });
    }
}

/// A histogram whose buckets, ends, mean and deviation agree.
pub(super) fn histogram(h: &Histogram, findings: &mut Findings) {
    let sum: u128 = h.buckets.iter().map(|b| u128::from(b.1)).sum();
    findings.must(sum == u128::from(h.count), "count", || {
        format!("{}, but its buckets hold {sum}", h.count)
    });
    findings.must(h.tick_ps != Some(0), "tick_ps", || {
        "a tick of 0 ps is not a time".to_owned()
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
    let (first, last) = (h.buckets.first(), h.buckets.last());
    let within = last.is_some_and(|bucket| bucket.0 <= highest_of(bucket_of(h.max_ticks)))
        && first.is_some_and(|bucket| lowest_of(bucket_of(bucket.0)) <= h.min_ticks);
    findings.must(
        within && reach(first, h.min_ticks) && reach(last, h.max_ticks),
        "buckets",
        || {
            format!(
                "they do not reach exactly from {} to {}",
                h.min_ticks, h.max_ticks
            )
        },
    );
    moments(h, findings);
}

/// Bounds of mean and deviation that follow from the buckets.
fn moments(h: &Histogram, findings: &mut Findings) {
    let (min, max) = (h.min_ticks as f64, h.max_ticks as f64);
    // Counts sent as integers, and sums of many floats, are slightly off.
    let margin = 1.0 + max * SUMS;
    let (mean, deviation) = (h.mean_ticks, h.stddev_ticks);
    let count = h.count as f64;
    // The coarsest buckets are log-linear. After a merge of different kinds of buckets, a bucket is no wider than
    // those.
    let ends = |bucket: u64| {
        let low = lowest_of(bucket_of(bucket)) as f64;
        (low.max(min), (bucket as f64).min(max))
    };
    let (mut low, mut high, mut least, mut most) = (0.0, 0.0, 0.0, 0.0);
    for (bucket, n) in &h.buckets {
        let (n, (from, to)) = (*n as f64, ends(*bucket));
        low += n * from / count;
        high += n * to / count;
        let off = (from - mean).max(mean - to).max(0.0);
        least += n * off * off;
        let far = (mean - from).abs().max((to - mean).abs());
        most += n * far * far;
    }
    findings.must(
        (low - margin..=high + margin).contains(&mean),
        "mean_ticks",
        || format!("{mean}, but by its buckets it is from {low} to {high}"),
    );
    let least = (least / count).sqrt();
    // Popoviciu: no samples deviate more than two of which one is the minimum and one the maximum.
    let most = if h.count > 1 {
        let spread = (max - min) / 2.0 * (count / (count - 1.0)).sqrt();
        spread.min((most / (count - 1.0)).sqrt())
    } else {
        0.0
    };
    let range = least * (1.0 - ROUNDING) - margin..=most * (1.0 + ROUNDING) + margin;
    findings.must(
        deviation >= 0.0 && range.contains(&deviation),
        "stddev_ticks",
        || format!("{deviation}, but by its buckets it is from {least} to {most}"),
    );
}
