//! Whether runs that are alike are the same, whether a slower node is found, and what cannot be judged.

use std::sync::LazyLock;

use wirelab_statistics::random::SplitMix64;
use wirelab_trial::{Field, Observation, ResultsFile};

use super::*;
use crate::Format;
use crate::options::Options;

/// Goodput in Mbit/s of `wirelab measure iperf:HOST --layer tcp4 --direction rx --time 200ms --repeat 40` in a lab, on two
/// cores with other work on both: 9 % apart.
const STREAM: [f64; 40] = [
    4298.0, 4548.0, 4498.0, 4121.0, 4000.0, 4878.0, 4063.0, 3564.0, 4228.0, 4257.0, 4570.0, 4160.0,
    4248.0, 4500.0, 4101.0, 4760.0, 4569.0, 4261.0, 4857.0, 4564.0, 4620.0, 4564.0, 3216.0, 4762.0,
    4533.0, 4956.0, 5008.0, 5028.0, 4204.0, 4710.0, 4726.0, 4700.0, 4147.0, 4583.0, 4232.0, 4599.0,
    4831.0, 4480.0, 3352.0, 4710.0,
];
/// Median round trip in ns of `wirelab measure lab:1 --frame 512 --load 20kpps --direction echo --time 200ms --repeat 40`:
/// 1.3 % apart.
const ECHO: [f64; 40] = [
    33815.0, 34472.0, 33661.0, 33420.0, 33811.0, 33550.0, 33375.0, 33610.0, 33931.0, 35392.0,
    33855.0, 33345.0, 33310.0, 33480.0, 33710.0, 33570.0, 33601.0, 33800.0, 33480.0, 33094.0,
    33790.0, 33285.0, 33118.0, 33250.0, 33265.0, 33440.0, 33084.0, 32930.0, 33135.0, 32839.0,
    33120.0, 33620.0, 33330.0, 33460.0, 33100.0, 33130.0, 33971.0, 33385.0, 33886.0, 33440.0,
];

/// A run of one trial, repeated, whose goodput is each of these.
fn run_of(rates: &[f64]) -> ResultsFile {
    static FILE: LazyLock<ResultsFile> = LazyLock::new(|| {
        let text = include_str!("../../../../spec/examples/iperf.json");
        ResultsFile::parse_unchecked(text).unwrap()
    });
    let mut file = FILE.clone();
    let one = file.observations[0].clone();
    let with = |rate: &f64| {
        let mut o = one.clone();
        o.flows[0].frames_per_s = Field::measured_or(Some(*rate), "");
        o
    };
    file.observations = rates.iter().map(with).collect();
    file.parts.clear();
    file
}

fn drawn(series: &[f64], count: usize, factor: f64, random: &mut SplitMix64) -> Vec<f64> {
    let one = |_| series[random.below(series.len() as u64) as usize] * factor;
    (0..count).map(one).collect()
}

fn of_rate(comparison: &Comparison) -> &Figure {
    let rate = |figure: &&Figure| figure.figure == "forwarding rate";
    comparison.figures.iter().find(rate).unwrap()
}

fn compared(before: &ResultsFile, after: &ResultsFile) -> Comparison {
    compare(("a.json", before), ("b.json", after), Rules::default())
}

/// A hundred pairs of runs drawn from the noise of real trials.
#[test]
fn equal_runs_are_the_same_and_a_slower_node_is_found() {
    for (name, series, repeats) in [("stream", &STREAM, 100), ("echo", &ECHO, 10)] {
        let mut random = SplitMix64::new(2026);
        for (factor, expected) in [(1.0, Verdict::Same), (0.95, Verdict::Worse)] {
            let mut found = 0;
            for _ in 0..100 {
                let before = run_of(&drawn(series, repeats, 1.0, &mut random));
                let after = run_of(&drawn(series, repeats, factor, &mut random));
                found += u32::from(compared(&before, &after).verdict == expected);
            }
            assert!(found >= 95, "{name}, {factor}: {found} {expected:?}");
        }
    }
}

#[test]
fn single_trials_cannot_tell_and_say_how_many_would() {
    let comparison = compared(&run_of(&[100.0]), &run_of(&[50.0]));
    let rate = of_rate(&comparison);
    assert_eq!(rate.verdict, Verdict::CannotTell);
    assert!(rate.reason.contains("fix: --repeat "), "{}", rate.reason);
    assert_eq!(comparison.verdict, Verdict::CannotTell);
    // The number of repeats that the message names is enough.
    let n: usize = rate.reason.rsplit(' ').next().unwrap().parse().unwrap();
    let spread = |base: f64| {
        (0..n)
            .map(|i| base + i as f64 / 100.0)
            .collect::<Vec<f64>>()
    };
    let enough = compared(&run_of(&spread(100.0)), &run_of(&spread(50.0)));
    assert_eq!(of_rate(&enough).verdict, Verdict::Worse, "{n} repeats");
}

#[test]
fn what_the_tester_limited_or_a_busy_host_blurred_is_not_judged() {
    let steady: Vec<f64> = (0..10).map(|i| 1000.0 + f64::from(i)).collect();
    let slow: Vec<f64> = steady.iter().map(|rate| rate / 2.0).collect();
    let mut limited = run_of(&slow);
    for o in &mut limited.observations[3..6] {
        o.tester.was_limit = Field::measured_or(Some(true), "");
    }
    let comparison = compared(&run_of(&steady), &limited);
    let rate = of_rate(&comparison);
    assert_eq!(rate.verdict, Verdict::CannotTell);
    assert!(
        rate.reason.contains("the tester was the limit in 3 of 20"),
        "{}",
        rate.reason
    );
    let wild: Vec<f64> = (0..10).map(|i| 500.0 + 100.0 * f64::from(i)).collect();
    let comparison = compared(&run_of(&wild), &run_of(&wild));
    let rate = of_rate(&comparison);
    assert_eq!(rate.verdict, Verdict::CannotTell);
    assert!(rate.reason.contains("quieter host"), "{}", rate.reason);
}

#[test]
fn a_small_change_is_the_same_however_sure_it_is() {
    let before: Vec<f64> = (0..20).map(|i| 1000.0 + f64::from(i) / 10.0).collect();
    let after: Vec<f64> = before.iter().map(|rate| rate * 0.99).collect();
    let (before, after) = (run_of(&before), run_of(&after));
    let rate = of_rate(&compared(&before, &after)).clone();
    assert_eq!(rate.verdict, Verdict::Same);
    assert!(rate.p_of_all.unwrap() < 0.001, "{rate:?}");
    let strict = Rules {
        margin: 0.005,
        ..Rules::default()
    };
    let comparison = compare(("a", &before), ("b", &after), strict);
    assert_eq!(of_rate(&comparison).verdict, Verdict::Worse);
}

#[test]
fn figures_that_no_host_changes_are_compared_exactly() {
    let predicted = |rate: f64| {
        let mut file = run_of(&[rate]);
        for o in &mut file.observations {
            o.flows[0].frames_per_s = Field::Observed {
                value: rate,
                kind: Kind::Predicted,
            };
        }
        file
    };
    let of = |after: f64| of_rate(&compared(&predicted(100.0), &predicted(after))).verdict;
    assert_eq!(of(100.0), Verdict::Same);
    assert_eq!(of(99.999), Verdict::Worse);
    assert_eq!(of(100.001), Verdict::Better);
}

#[test]
fn the_gate_fails_on_what_is_worse_and_on_nothing_in_common() {
    let steady: Vec<f64> = (0..10).map(|i| 1000.0 + f64::from(i)).collect();
    let slow: Vec<f64> = steady.iter().map(|rate| rate * 0.96).collect();
    let comparison = compared(&run_of(&steady), &run_of(&slow));
    let rule = |text: &str| [text.parse::<FailIf>().unwrap()];
    assert!(comparison.passes(&[]));
    assert!(!comparison.passes(&rule("worse")));
    assert!(!comparison.passes(&rule("worse:3%")));
    assert!(comparison.passes(&rule("worse:5%")));
    for wrong in [
        "",
        "worse:",
        "worse:5",
        "worse:-1%",
        "worse:200%",
        "better",
        "worse:NaN%",
    ] {
        let error = wrong.parse::<FailIf>().unwrap_err();
        assert!(error.to_string().contains("fix:"), "{wrong}");
    }
    let mut other = run_of(&slow);
    for o in &mut other.observations {
        o.trial.ports = 2;
    }
    let apart = compared(&run_of(&steady), &other);
    assert!(
        apart.figures.is_empty() && !apart.only_before.is_empty() && !apart.only_after.is_empty()
    );
    assert!(apart.passes(&[]) && !apart.passes(&rule("worse")));
}

#[test]
fn set_ups_that_differ_are_reported_in_every_format_and_hostile_names_stay_text() {
    let steady: Vec<f64> = (0..10).map(|i| 1000.0 + f64::from(i)).collect();
    let slow: Vec<f64> = steady.iter().map(|rate| rate / 2.0).collect();
    let mut after = run_of(&slow);
    let hostile = "<script>alert(1)</script>\u{1b}[31m|=1+1";
    let each = |o: &mut Observation| {
        o.node.setup.insert("clock".to_owned(), hostile.to_owned());
    };
    after.observations.iter_mut().for_each(each);
    let comparison = compare(
        ("=a", &run_of(&steady)),
        (hostile, &after),
        Rules::default(),
    );
    let clock = |d: &&Difference| d.what == "node's clock";
    assert_eq!(comparison.set_up.iter().find(clock).unwrap().after, hostile);
    let options = Options {
        width: Some(100),
        ..Options::default()
    };
    let rules = [FailIf::Worse(0.05)];
    for format in Format::ALL {
        let Ok(text) = render(&comparison, format, &options, &rules) else {
            assert_eq!(format, Format::OpenMetrics);
            continue;
        };
        assert!(
            text.ends_with('\n') && text.contains("forwarding rate"),
            "{format}"
        );
        let steers = text.contains('\u{1b}');
        assert!(
            !steers || matches!(format, Format::Csv | Format::DatasheetCsv),
            "{format}"
        );
        let page = matches!(format, Format::Html | Format::DatasheetHtml | Format::Junit);
        assert!(!page || !text.contains("<script>alert"), "{format}");
    }
    let junit = render(&comparison, Format::Junit, &options, &rules).unwrap();
    assert!(junit.contains("failures=\"1\""), "{junit}");
    for words in [", change −50.0 % (−50.", " (measured): ▼ worse;"] {
        assert!(junit.contains(words), "{words}: {junit}");
    }
}

#[test]
fn a_reason_is_said_once_for_all_figures_and_a_size_with_its_unit() {
    let render = |comparison: &Comparison| {
        render(comparison, Format::Markdown, &Options::default(), &[]).unwrap()
    };
    let single = compared(&run_of(&[100.0]), &run_of(&[50.0]));
    let several = single.figures.len();
    assert!(several > 1 && single.count(Verdict::CannotTell) == several);
    let text = render(&single);
    assert_eq!(text.matches("fix: --repeat").count(), 1, "{text}");
    assert!(text.contains("- all figures: 1 and 1 repeats"), "{text}");
    let predicted = |length| {
        let mut file = run_of(&[100.0]);
        file.observations[0].cpu_load = Field::Observed {
            value: wirelab_trial::CpuLoad {
                busy_ratio: 0.5,
                idle_baseline_ratio: None,
                shared: false,
                interval: None,
            },
            kind: Kind::Predicted,
        };
        file.observations[0].sizes.payload = length;
        file
    };
    let text = render(&compared(&predicted(1500), &predicted(1500)));
    let names = ", payload 1500 B, 50 Mbit/s, receive: forwarding rate, loss: 1 and 1 repeats";
    assert!(text.contains(names), "{text}");
}

/// The run with its trials at two payloads.
fn at_two_payloads(factor: f64) -> ResultsFile {
    let rates: Vec<f64> = (0..40)
        .map(|at| factor * (1000.0 + f64::from(at / 2)))
        .collect();
    let mut file = run_of(&rates);
    for (at, o) in file.observations.iter_mut().enumerate() {
        let payload = [64, 1400][at % 2];
        o.sizes.payload = payload;
        o.trial.size = wirelab_wire::Size::new(wirelab_wire::SizeUnit::Payload, payload);
    }
    file
}

#[test]
fn both_curves_stand_in_one_picture_with_their_difference_below() {
    let page = |before: &ResultsFile, after: &ResultsFile| {
        let options = Options::default();
        render(&compared(before, after), Format::Html, &options, &[]).unwrap()
    };
    let pages = page(&at_two_payloads(1.0), &at_two_payloads(0.5));
    let (_, data) = pages.split_once("id=\"wirelab-data\">").unwrap();
    for words in [
        "a.json, 1400 bytes: 1,010 frames/s",
        "b.json, 64 bytes: 505 frames/s",
        "\"64 bytes: −50.0 %\"",
        "\"name\":\"its interval\"",
    ] {
        assert!(data.contains(words), "{words}: {data}");
    }
    // A single payload is not a curve, and a picture of what did not change would be of no use.
    let plane = "\"type\":\"plane\"";
    assert!(pages.contains(plane));
    assert!(!page(&run_of(&[1.0; 4]), &run_of(&[0.5; 4])).contains(plane));
    assert!(!page(&at_two_payloads(1.0), &at_two_payloads(1.0)).contains(plane));
}

#[test]
fn another_link_rate_is_a_difference_of_the_set_up() {
    let linked = |mbit: u64| {
        let mut file = run_of(&[100.0; 12]);
        for o in &mut file.observations {
            o.trial.link_bits_per_s = Some(mbit * 1_000_000);
        }
        file
    };
    let comparison = compared(&linked(100), &linked(95));
    assert_eq!(of_rate(&comparison).verdict, Verdict::Same);
    let link = |d: &&Difference| d.what == "link";
    let link = comparison.set_up.iter().find(link).unwrap();
    assert_eq!((&*link.before, &*link.after), ("100 Mbit/s", "95 Mbit/s"));
}

#[test]
fn interfaces_of_a_lab_that_is_made_for_each_run_are_no_difference() {
    let run = |node: &str, ports: &str| {
        let mut file = run_of(&[100.0; 12]);
        for o in &mut file.observations {
            o.node.name = node.to_owned();
            o.node.setup.insert("ports".to_owned(), ports.to_owned());
        }
        file
    };
    let differs = |node: &str| {
        let comparison = compared(
            &run(node, "measure-1-0-node/n0"),
            &run(node, "measure-2-0-node/n0"),
        );
        comparison.set_up.iter().any(|d| d.what == "node's ports")
    };
    assert!(!differs("lab:1"));
    assert!(differs("ports:a:b"), "others are real ports");
}

#[test]
fn a_few_repeats_that_the_tester_limited_are_left_out() {
    let slower: Vec<f64> = (0..20).map(|at| 90.0 + f64::from(at) / 10.0).collect();
    let faster: Vec<f64> = slower.iter().map(|rate| rate + 10.0).collect();
    let limited = |count: usize| {
        let mut file = run_of(&slower);
        for o in file.observations.iter_mut().take(count) {
            o.tester.was_limit = Field::measured_or(Some(true), "");
        }
        of_rate(&compared(&run_of(&faster), &file)).clone()
    };
    assert_eq!(limited(0).verdict, Verdict::Worse);
    let few = limited(4);
    assert_eq!((few.verdict, few.after.len()), (Verdict::Worse, 16));
    assert!(
        few.reason
            .contains("without 4 trials that the tester limited"),
        "{}",
        few.reason
    );
    let many = limited(5);
    assert_eq!((many.verdict, many.after.len()), (Verdict::CannotTell, 20));
}
