//! The intervals of single runs hold the truth about as often as they say, lie around their figures, and are the same
//! each time.

use proptest::prelude::*;
use wirelab_statistics::random::SplitMix64;
use wirelab_trial::job::{CheckReport, FlowRequest, Judge, Missed, SendReport, flow_observation};
use wirelab_trial::{
    Clock, Direction, FixedSeries, FlowObservation, Framing, IntervalBasis, Layer, ResultsFile,
    SeriesBuilder, Size, SizeUnit, Stated, check,
};
use wirelab_wire::{Flags, Header, Verdict};

fn frame(sequence: u32) -> Verdict {
    Verdict::Good(Header {
        flags: Flags::NONE,
        stream: 0,
        sequence,
        time_ns: 0,
        lfsr_len: 46,
    })
}

/// A flow of `sent` frames: each has `gap_ns`, and `arrives` says whether it came.
fn flow(
    sent: u64,
    mut gap_ns: impl FnMut(u64) -> f64,
    mut arrives: impl FnMut(u64) -> bool,
) -> CheckReport {
    let mut judge = Judge::new(None, 1);
    let mut at_ns = 1e9;
    for n in 0..sent {
        at_ns += gap_ns(n);
        if arrives(n) {
            judge.take(frame(n as u32), 60, Some(at_ns as u64));
        }
    }
    judge.finish_apart()
}

fn observed(sent: u64, seen: CheckReport) -> FlowObservation {
    let framing = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    let asked = FlowRequest {
        port: "n0".to_owned(),
        direction: Direction::Receive,
        stream: 0,
        layer: framing.layer,
        sizes: Size::new(SizeUnit::Datagram, 100).resolve(framing).unwrap(),
        link: None,
        frames_per_s: None,
        from: "tester".to_owned(),
        to: "node".to_owned(),
        sender_path: "socket".to_owned(),
        receiver_path: "socket".to_owned(),
        ledger: None,
    };
    let report = SendReport {
        emitted_frames: sent,
        sequences: sent,
        ..SendReport::default()
    };
    flow_observation(&asked, &report, seen)
}

fn holds(interval: Option<Stated>, truth: f64) -> bool {
    interval.is_some_and(|i| i.low <= truth && truth <= i.high)
}

/// Of `runs` runs, the share in which `run` says that its interval held the truth.
fn share(runs: u32, mut run: impl FnMut(&mut SplitMix64) -> bool) -> f64 {
    let mut held = 0;
    for at in 0..runs {
        held += u32::from(run(&mut SplitMix64::new(1_000 + u64::from(at))));
    }
    f64::from(held) / f64::from(runs)
}

/// A gap with an exponential distribution, of 1,000 ns on average.
fn exponential(rng: &mut SplitMix64) -> f64 {
    -1_000.0 * (1.0 - rng.uniform()).ln()
}

fn near_nominal(share: f64) {
    assert!((0.88..=0.995).contains(&share), "{share}");
}

#[test]
fn rates_of_independent_and_of_correlated_arrivals_are_held() {
    near_nominal(share(200, |rng| {
        let seen = flow(4_000, |_| exponential(rng), |_| true);
        let flow = observed(4_000, seen);
        holds(flow.intervals.frames_per_s, 1e6)
    }));
    // How fast frames come wanders, with a memory of 60 frames: a slice is as long.
    near_nominal(share(200, |rng| {
        let mut wander = 0.0;
        let seen = flow(
            8_000,
            |_| {
                let kick = (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0;
                wander = wander * 0.984 + kick;
                1_000.0 + 30.0 * wander
            },
            |_| true,
        );
        holds(observed(8_000, seen).intervals.frames_per_s, 1e6)
    }));
}

#[test]
fn losses_one_by_one_and_in_bursts_are_held() {
    for loss in [0.001, 0.01, 0.3] {
        near_nominal(share(200, |rng| {
            let seen = flow(6_000, |_| 1_000.0, |_| rng.uniform() >= loss);
            holds(observed(6_000, seen).intervals.loss_ratio, loss)
        }));
    }
    // Bursts of 25 frames on average, a tenth of the time (E. N. Gilbert's channel).
    near_nominal(share(200, |rng| {
        let mut bad = rng.uniform() < 0.1;
        let seen = flow(
            12_000,
            |_| 1_000.0,
            |_| {
                let turn = if bad { 1.0 / 25.0 } else { 1.0 / 225.0 };
                bad ^= rng.uniform() < turn;
                !bad
            },
        );
        holds(observed(12_000, seen).intervals.loss_ratio, 0.1)
    }));
}

#[test]
fn percentiles_of_independent_and_of_correlated_times_are_held() {
    // A logistic time: its percentiles are known, and x = exp(s·logit) keeps their order.
    let time = |z: f64| (10_000.0 * (z / 4.0).exp()) as u64;
    for (percent, memory, samples) in [
        (50.0, 0.0, 2_000),
        (99.0, 0.0, 4_000),
        (99.9, 0.0, 20_000),
        (50.0, 0.9, 6_000),
        (90.0, 0.9, 6_000),
        (99.0, 0.9, 20_000),
    ] {
        // Of a standard normal distribution.
        let normal = match percent {
            50.0 => 0.0,
            90.0 => 1.281_552,
            99.0 => 2.326_348,
            _ => 3.090_232,
        };
        let share = share(120, |rng| {
            let mut normal_of = || {
                let (a, b) = (1.0 - rng.uniform(), rng.uniform());
                (-2.0 * f64::ln(a)).sqrt() * (std::f64::consts::TAU * b).cos()
            };
            let mut z = normal_of();
            let mut series = SeriesBuilder::new(FixedSeries::ROUND_TRIP, Clock::TESTER_NS, 0);
            for _ in 0..samples {
                z = memory * z + (1.0 - memory * memory).sqrt() * normal_of();
                series.push(time(z));
            }
            let each = series.finish().intervals.each();
            let found = each.iter().find(|(of, _)| *of == percent).unwrap().1;
            holds(found, time(normal) as f64)
        });
        assert!(
            (0.87..=1.0).contains(&share),
            "{percent} % with a memory of {memory}: {share}"
        );
    }
}

#[test]
fn a_reservoir_keeps_the_order_of_arrival_and_so_what_lasts() {
    let of = |ticks: fn(u64) -> u64| {
        let mut series = SeriesBuilder::new(FixedSeries::LATENCY, Clock::TESTER_NS, 0);
        (0..300_000).for_each(|n| series.push(ticks(n)));
        series.finish()
    };
    let rising = of(|n| 1_000 + n);
    assert!(rising.sampled && rising.raw_ticks.is_sorted());
    let width = |s: wirelab_trial::Series| s.intervals.p50_ticks.map_or(0.0, |i| i.high - i.low);
    let mixed = of(|n| 1_000 + n * 7_919 % 300_000);
    let (rising, mixed) = (width(rising), width(mixed));
    assert!(rising > 10.0 * mixed && mixed > 0.0, "{rising} {mixed}");
}

#[test]
fn no_loss_has_an_upper_end_and_a_range_is_covered_whole() {
    let clean = observed(3_000, flow(3_000, |_| 1_000.0, |_| true));
    let loss = clean.intervals.loss_ratio.unwrap();
    assert_eq!((loss.low, loss.high), (0.0, 0.001), "the rule of three");
    assert_eq!(loss.over, IntervalBasis::WithinRun);
    let mut seen = flow(3_000, |_| 1_000.0, |n| n % 10 != 0);
    seen.missed = Missed {
        at_least: 50,
        at_most: 150,
    };
    let ranged = observed(3_000, seen);
    let interval = ranged.intervals.loss_ratio.unwrap();
    let (low, high) = (
        *ranged.loss_ratio.value().unwrap(),
        ranged.loss_ratio_at_most.unwrap(),
    );
    assert_eq!((low, high), (0.05, 250.0 / 3_000.0));
    assert!(interval.low <= low && high < interval.high, "{interval:?}");
}

#[test]
fn what_never_came_at_the_end_is_in_the_interval() {
    let flow = observed(4_000, flow(4_000, |_| 1_000.0, |n| n < 3_000));
    let interval = flow.intervals.loss_ratio.unwrap();
    assert!(interval.low < 0.25 && 0.25 < interval.high, "{interval:?}");
}

#[test]
fn too_little_has_no_interval() {
    for frames in [0, 1, 2, 5] {
        let flow = observed(frames, flow(frames, |_| 1_000.0, |_| true));
        assert!(flow.intervals.is_empty(), "{frames}: {:?}", flow.intervals);
    }
    let series = |count: u64| {
        let mut series = SeriesBuilder::new(FixedSeries::LATENCY, Clock::TESTER_NS, 0);
        (0..count).for_each(|n| series.push(n * 7_919 % 1_000));
        series.finish().intervals
    };
    assert!(series(63).is_empty());
    let some = series(400);
    assert!(some.p50_ticks.is_some() && some.p90_ticks.is_some());
    assert_eq!(
        (some.p99_ticks, some.p99_9_ticks),
        (None, None),
        "four samples beyond the 99 % do not say where it ends"
    );
}

#[test]
fn frames_that_lie_ready_have_no_place_of_a_loss() {
    let mut judge = Judge::new(Some(4), 1);
    for n in (0..2_000u32).filter(|n| n % 5 != 0) {
        let Verdict::Good(mut header) = frame(n % 4) else {
            unreachable!("it is good")
        };
        header.flags = Flags::REPEATING;
        judge.take(
            Verdict::Good(header),
            60,
            Some(1_000 + u64::from(n) * 1_000),
        );
    }
    let flow = observed(2_000, judge.finish_apart());
    assert_eq!(flow.loss_ratio.value(), Some(&0.2));
    assert_eq!(flow.intervals.loss_ratio, None);
    assert!(flow.intervals.frames_per_s.is_some());
}

#[test]
fn a_file_without_intervals_is_read_and_one_with_impossible_ones_is_refused() {
    let example = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../spec/examples/ports.json"
    ));
    assert!(!example.contains("intervals"), "an old file");
    let mut file = ResultsFile::parse(example).unwrap();
    let flow = &mut file.observations[0].flows[0];
    assert!(flow.intervals.is_empty());
    let rate = *flow.frames_per_s.value().unwrap();
    let around = |low: f64, high: f64| Stated {
        low,
        high,
        confidence: 0.95,
        over: IntervalBasis::WithinRun,
        parts: 64,
    };
    flow.intervals.frames_per_s = Some(around(rate * 0.9, rate * 1.1));
    let again = ResultsFile::parse(&file.to_json()).unwrap();
    assert_eq!(again, file);
    for (low, high) in [
        (rate * 1.1, rate * 1.2),
        (rate * 1.1, rate * 0.9),
        (-1.0, rate * 2.0),
    ] {
        file.observations[0].flows[0].intervals.frames_per_s = Some(around(low, high));
        let found = check::file(&file);
        assert!(!found.is_empty(), "{low} to {high}");
        assert!(found[0].to_string().contains("intervals, frames_per_s"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn intervals_lie_around_their_figures_and_are_the_same_each_time(
        seed in any::<u64>(),
        sent in 1u64..3_000,
        loss in 0.0f64..1.0,
        gap in 1.0f64..100_000.0,
    ) {
        let run = || {
            let mut rng = SplitMix64::new(seed);
            let mut gaps = SplitMix64::new(!seed);
            let seen = flow(sent, |_| gap * gaps.uniform(), |_| rng.uniform() >= loss);
            observed(sent, seen)
        };
        let (one, other) = (run(), run());
        prop_assert_eq!(&one.intervals, &other.intervals);
        for (interval, value) in [
            (one.intervals.frames_per_s, &one.frames_per_s),
            (one.intervals.goodput_bits_per_s, &one.goodput_bits_per_s),
            (one.intervals.loss_ratio, &one.loss_ratio),
        ] {
            if let Some(interval) = interval {
                let value = *value.value().unwrap();
                prop_assert!(interval.low <= value && value <= interval.high, "{:?} {}", interval, value);
                prop_assert!(interval.low >= 0.0);
            }
        }
    }

    #[test]
    fn intervals_of_percentiles_lie_around_them(
        ticks in prop::collection::vec(prop_oneof![0u64..20, any::<u32>().prop_map(u64::from)], 0..1_500),
    ) {
        let mut series = SeriesBuilder::new(FixedSeries::LATENCY, Clock::TESTER_NS, 0);
        ticks.iter().for_each(|ticks| series.push(*ticks));
        let series = series.finish();
        for (percent, interval) in series.intervals.each() {
            if interval.is_some() {
                let value = series.percentile(percent).unwrap() as f64;
                prop_assert!(holds(interval, value), "{} {:?} {}", percent, interval, value);
            }
        }
    }
}
