//! Series and histograms against sorted lists of all samples.

use proptest::prelude::*;
use wirelab_trial::series::{BUCKETS, RAW_SAMPLES, bucket_of, highest_of, lowest_of};
use wirelab_trial::{Clock, FixedSeries, Histogram, Series, SeriesBuilder};

fn series(samples: impl IntoIterator<Item = u64>, seed: u64) -> Series {
    let mut builder = SeriesBuilder::new(FixedSeries::LATENCY, Clock::TESTER_NS, seed);
    samples.into_iter().for_each(|s| builder.push(s));
    builder.finish()
}

fn log_linear(samples: &[u64]) -> Histogram {
    let mut counts = vec![0u64; BUCKETS];
    for s in samples {
        counts[bucket_of(*s)] += 1;
    }
    let sum = samples.iter().map(|s| u128::from(*s)).sum();
    let (min, max) = (samples.iter().min(), samples.iter().max());
    Histogram::from_log_linear(
        Some(1000),
        &counts,
        *min.unwrap_or(&0),
        *max.unwrap_or(&0),
        sum,
    )
}

#[test]
fn every_bucket_begins_where_the_one_before_ends() {
    for bucket in 0..BUCKETS {
        assert_eq!(bucket_of(lowest_of(bucket)), bucket);
        assert_eq!(bucket_of(highest_of(bucket)), bucket);
        if bucket > 0 {
            assert_eq!(lowest_of(bucket), highest_of(bucket - 1) + 1);
        }
    }
    assert_eq!(highest_of(BUCKETS - 1), u64::MAX);
    // The formula of the specification, by hand: e = 10, 64 + 4·32 + (1500 >> 5) & 31.
    assert_eq!(bucket_of(1500), 64 + 128 + 14);
    assert_eq!((lowest_of(206), highest_of(206)), (1472, 1503));
}

#[test]
fn a_short_series_is_kept_whole_and_in_order() {
    let s = series([30, 10, 20], 0);
    assert_eq!(
        (s.raw_ticks.as_slice(), s.sampled),
        (&[30, 10, 20][..], false)
    );
    assert_eq!(s.histogram.tick_ps, Some(1000));
    assert_eq!(
        (s.percentile(0.0), s.percentile(50.0)),
        (Some(10), Some(20))
    );
    assert_eq!(
        (s.percentile(66.7), s.percentile(100.0)),
        (Some(30), Some(30))
    );
    assert_eq!(
        (s.histogram.mean_ticks, s.histogram.stddev_ticks),
        (20.0, 10.0)
    );
}

#[test]
fn an_empty_series_has_no_percentile() {
    let s = series([], 0);
    assert_eq!(
        (s.percentile(50.0), s.histogram.percentile(50.0)),
        (None, None)
    );
    assert_eq!(s.histogram.count, 0);
    assert_eq!(log_linear(&[]).percentile(50.0), None);
}

#[test]
fn a_long_series_loses_no_count_and_keeps_a_fair_sample() {
    let n = 4 * RAW_SAMPLES as u64;
    let s = series(0..n, 42);
    assert_eq!((s.raw_ticks.len(), s.sampled), (RAW_SAMPLES, true));
    assert_eq!(s.histogram.count, n);
    assert_eq!(s.histogram.buckets.iter().map(|b| b.1).sum::<u64>(), n);
    assert_eq!((s.histogram.min_ticks, s.histogram.max_ticks), (0, n - 1));
    // A quarter of the samples of each quarter, give or take five standard deviations.
    for quarter in 0..4 {
        let part = quarter * n / 4..(quarter + 1) * n / 4;
        let kept = s.raw_ticks.iter().filter(|t| part.contains(t)).count() as f64;
        assert!((kept - 16_384.0).abs() < 5.0 * 111.0, "{quarter}: {kept}");
    }
    assert_eq!(series(0..n, 42), s, "the same seed keeps the same samples");
    assert_ne!(series(0..n, 43).raw_ticks, s.raw_ticks);
    let p99 = s.percentile(99.0).unwrap() as f64;
    assert!((p99 / (0.99 * n as f64) - 1.0).abs() < 0.001, "{p99}");
}

#[test]
fn other_ticks_are_not_added() {
    let mut ns = Histogram::of(Some(1000), [1]);
    let instructions = Histogram::of(None, [1]);
    let error = ns.merge(&instructions).unwrap_err().to_string();
    assert!(error.contains("clocks are not the same"), "{error}");
    let mut empty = Histogram::default();
    empty.merge(&ns).unwrap();
    assert_eq!(empty, ns);
    ns.merge(&Histogram::default()).unwrap();
    assert_eq!(empty, ns);
}

#[test]
fn a_hostile_histogram_does_no_harm() {
    let mut hostile = Histogram {
        tick_ps: None,
        buckets: vec![(9, u64::MAX), (3, u64::MAX), (9, 1)].into(),
        count: 2,
        min_ticks: 7,
        max_ticks: 3,
        mean_ticks: -1.0,
        stddev_ticks: 1e300,
    };
    assert_eq!(hostile.percentile(50.0), Some(3));
    hostile.merge(&hostile.clone()).unwrap();
    assert!(hostile.percentile(f64::INFINITY).is_some());
    assert_eq!(hostile.percentile(f64::NAN), None);
}

fn samples() -> impl Strategy<Value = Vec<u64>> {
    let one = prop_oneof![
        0u64..100,
        0u64..100_000,
        any::<u32>().prop_map(u64::from),
        any::<u64>()
    ];
    prop::collection::vec(one, 1..200)
}

fn nearest_rank(sorted: &[u64], percent: u64) -> u64 {
    sorted[(percent as usize * sorted.len()).div_ceil(100).max(1) - 1]
}

proptest! {
    #[test]
    fn percentiles_like_a_sorted_list(list in samples(), percent in 0u64..=100) {
        let mut sorted = list.clone();
        sorted.sort_unstable();
        let exact = nearest_rank(&sorted, percent);
        let s = series(list.iter().copied(), 0);
        prop_assert_eq!(s.percentile(percent as f64), Some(exact));
        let hdr = s.histogram.percentile(percent as f64).unwrap();
        prop_assert!(hdr >= exact && hdr - exact <= exact / 1000, "{} for {}", hdr, exact);
        let log = log_linear(&list).percentile(percent as f64).unwrap();
        prop_assert!(log >= exact && log - exact <= exact / 32, "{} for {}", log, exact);
    }

    #[test]
    fn halves_add_up_to_the_whole(list in prop::collection::vec(0u64..1_000_000, 2..200), at in 0usize..200) {
        let (a, b) = list.split_at(at.min(list.len()));
        let whole = Histogram::of(None, list.iter().copied());
        let mut sum = Histogram::of(None, a.iter().copied());
        sum.merge(&Histogram::of(None, b.iter().copied())).unwrap();
        prop_assert_eq!(&sum.buckets, &whole.buckets);
        prop_assert_eq!((sum.count, sum.min_ticks, sum.max_ticks),
            (whole.count, whole.min_ticks, whole.max_ticks));
        prop_assert!((sum.mean_ticks - whole.mean_ticks).abs() < 1e-6);
        prop_assert!((sum.stddev_ticks - whole.stddev_ticks).abs() < 1e-6);
        let n = list.len() as f64;
        let mean = list.iter().sum::<u64>() as f64 / n;
        let squares: f64 = list.iter().map(|s| (*s as f64 - mean).powi(2)).sum();
        prop_assert!((whole.mean_ticks - mean).abs() < 1e-6);
        prop_assert!((whole.stddev_ticks - (squares / (n - 1.0)).sqrt()).abs() < 1e-6);
        let log = log_linear(&list);
        prop_assert!((log.mean_ticks - mean).abs() < 1e-6);
        prop_assert!((log.stddev_ticks - whole.stddev_ticks).abs() <= 0.04 * list.iter().max().copied().unwrap_or(0) as f64);
    }
}
