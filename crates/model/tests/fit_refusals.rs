//! What `fit` refuses or leaves out, and how it says so.

use crate::fit_support::{ObservationSpec, codes, fitted, observations, parameter, series, warned};
use proptest::prelude::*;
use wirelab_model::file::NodeFile;
use wirelab_model::fit::{FitError, FitOptions, fit};
use wirelab_trial::{Direction, Field, Layer, Load, Observation, Status};

fn transmit(bytes: u32) -> ObservationSpec {
    let period_ns = 10_000.0 + 4.0 * f64::from(bytes);
    ObservationSpec::new(Layer::UdpIpv4, Direction::Transmit, bytes, 1e9 / period_ns)
}

fn good() -> Vec<Observation> {
    observations(&[64, 256, 512, 1024, 1470].map(transmit))
}

fn left_out(observations: &[Observation]) -> Vec<String> {
    let fit = fit(observations, &FitOptions::default()).unwrap();
    fit.left_out
        .iter()
        .map(|l| format!("{} {}", l.count, l.why))
        .collect()
}

#[test]
fn too_few_points_are_refused_with_what_is_needed() {
    let error = fit(&good()[..2], &FitOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "too few points to fit: 2 observations, 2 of them usable; udp4-transmit period: 2 of 3 observations. Needed is \
         at least one of: 3 transmit trials at maximum load that the wire does not limit (3 sizes for an interval); CPU \
         load, not shared with the tester, at 3 combinations of size and load (2 sizes and 2 loads to separate the parameters); overloaded receive trials (loss of 1 % and more) at 3 sizes; a captured series of 2 samples; fix: measure a \
         matrix of sizes and loads, e.g. with `wirelab measure`"
    );
    let mut shared = good();
    for o in &mut shared {
        o.status = Status::Void {
            why: "bad frame".to_owned(),
        };
    }
    let error = fit(&shared, &FitOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("5 observations, 0 of them usable; left out 5: void"),
        "{error}"
    );
    assert!(matches!(
        fit(&[], &FitOptions::default()),
        Err(FitError::TooFew { .. })
    ));
}

#[test]
fn several_nodes_need_a_choice() {
    let mut all = good();
    all.extend(good());
    for o in &mut all[5..] {
        o.node.name = "bench:2".to_owned();
    }
    let error = fit(&all, &FitOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the file holds observations of several nodes (bench:1, bench:2); fix: choose one of them"
    );
    let options = FitOptions {
        node: Some("bench:2".to_owned()),
        ..FitOptions::default()
    };
    let fit = fit(&all, &options).unwrap();
    assert_eq!(fit.used_observations, 5);
    assert!(
        fit.node_toml.contains("name = \"bench-2\""),
        "{}",
        fit.node_toml
    );
}

#[test]
fn too_many_and_no_confidence_are_refused() {
    let many = vec![good()[0].clone(); 5_001];
    assert!(matches!(
        fit(&many, &FitOptions::default()),
        Err(FitError::TooMany { have: 5_001, .. })
    ));
    for confidence in [0.0, 1.0, -1.0, f64::NAN] {
        let options = FitOptions {
            confidence,
            ..FitOptions::default()
        };
        assert!(matches!(
            fit(&good(), &options),
            Err(FitError::Confidence(_))
        ));
    }
}

#[test]
fn what_cannot_be_used_is_left_out_by_name() {
    let mut all = good();
    for (i, rate) in [f64::NAN, f64::INFINITY, 0.0, -5.0].into_iter().enumerate() {
        let mut bad = good()[i].clone();
        bad.flows[0].frames_per_s = Field::measured(rate);
        all.push(bad);
    }
    let mut partial = good()[0].clone();
    partial.status = Status::Partial {
        why: "ended by hand".to_owned(),
    };
    let mut faulty = good()[1].clone();
    faulty.trial.faults.drop = 0.1;
    let mut both = good()[2].clone();
    both.trial.direction = Direction::Both;
    let mut huge = good()[3].clone();
    huge.sizes.datagram = Some(u32::MAX);
    let mut limit = good()[4].clone();
    limit.tester.was_limit = Field::measured(true);
    all.extend([partial, faulty, both, huge, limit]);
    assert_eq!(
        left_out(&all),
        [
            "1 a size of 0, or of more than 1048576 bytes",
            "1 direction both: only transmit and receive are fitted",
            "1 frames/s is infinite",
            "1 frames/s is not a number",
            "2 frames/s is not above 0",
            "1 partial: the trial ended early",
            "1 period: the tester was the limit",
            "1 the sender made faults on purpose",
        ]
    );
}

#[test]
fn shared_and_impossible_loads_are_not_fitted_and_counted() {
    let loaded = |share: f64| {
        let frames_per_s = 10_000.0 * share;
        let busy = 0.05 + frames_per_s * 40e-6;
        transmit(512).busy(Load::FrameRate { frames_per_s }, busy)
    };
    let mut all = observations(&[0.2, 0.5, 0.8, 1.0, 1.5, 2.0].map(loaded));
    for (o, share) in all.iter_mut().zip([0.2, 0.5, 0.8, 1.0, 1.5, 2.0]) {
        o.flows[0].frames_per_s = Field::measured(10_000.0 * share);
    }
    let spoil = |o: &mut Observation, shared: bool, ratio: f64| {
        let mut load = *o.cpu_load.value().unwrap();
        (load.shared, load.busy_ratio) = (shared, ratio);
        o.cpu_load = Field::measured(load);
    };
    spoil(&mut all[0], true, 0.99);
    spoil(&mut all[1], false, f64::NAN);
    spoil(&mut all[2], false, 3.0);
    let fit = fit(&all, &FitOptions::default()).unwrap();
    let words: Vec<String> = fit
        .left_out
        .iter()
        .map(|l| format!("{} {}", l.count, l.why))
        .collect();
    assert_eq!(
        words,
        [
            "1 CPU load busy_ratio is above 1",
            "1 CPU load busy_ratio is not a number",
            "1 CPU load shared: tester and node had a core in common",
        ]
    );
    assert!((parameter(&fit, "udp4-transmit-idle").value - 5.0).abs() < 1e-6);
    assert!((parameter(&fit, "udp4-transmit-cpu-packet").value - 40_000.0).abs() < 1e-3);
}

#[test]
fn what_data_cannot_separate_is_said() {
    // One size: a and b.
    let one_size = [1.0, 2.0, 3.0].map(|k| {
        let frames_per_s = 1000.0 * k;
        ObservationSpec::new(Layer::UdpIpv4, Direction::Receive, 512, frames_per_s).busy(
            Load::FrameRate { frames_per_s },
            0.02 + frames_per_s * 50e-6,
        )
    });
    let fit = fitted(&one_size);
    assert!(
        warned(&fit, "inseparable")[0].contains("one size only"),
        "{:?}",
        fit.warnings
    );
    assert!((parameter(&fit, "udp4-receive-cpu-packet").value - 50_000.0).abs() < 1e-3);
    // One rate: idle and a, unless the node knows its idle load.
    let one_rate = |baseline: f64| {
        let of = |bytes: u32| {
            let busy = 0.02 + 2000.0 * (40e-6 + 5e-9 * f64::from(bytes));
            let mut seen = ObservationSpec::new(Layer::UdpIpv4, Direction::Receive, bytes, 2000.0);
            seen.baseline = baseline;
            seen.busy(
                Load::FrameRate {
                    frames_per_s: 2000.0,
                },
                busy,
            )
        };
        fitted(&[64, 512, 1024, 1470].map(of))
    };
    let (blind, known) = (one_rate(0.0), one_rate(0.02));
    assert!(
        warned(&blind, "inseparable")[0].contains("the cost of a frame includes the idle load")
    );
    assert!((parameter(&blind, "udp4-receive-cpu-packet").value - 50_000.0).abs() < 1e-3);
    assert!(warned(&known, "inseparable")[0].contains("idle baseline of 2.0 % was taken"));
    assert!((parameter(&known, "udp4-receive-cpu-packet").value - 40_000.0).abs() < 1e-3);
    assert_eq!(
        known
            .parameters
            .iter()
            .filter(|p| p.name == "udp4-receive-idle")
            .count(),
        1
    );
    // Two sizes close together: a and b are both there, but hardly apart.
    let near =
        [(1400, 0.001), (1402, -0.001), (1404, 0.002), (1406, -0.001)].map(|(bytes, error)| {
            let period_ns = (10_000.0 + 4.0 * f64::from(bytes)) * (1.0 + error);
            ObservationSpec::new(Layer::UdpIpv4, Direction::Transmit, bytes, 1e9 / period_ns)
        });
    let fit = fitted(&near);
    assert!(
        warned(&fit, "inseparable")[0].contains("only their sum is known"),
        "{:?}",
        fit.warnings
    );
}

#[test]
fn the_times_of_an_emulation_are_not_fitted() {
    let mut all = good();
    all[2].mark_emulated();
    let error = fit(&all, &FitOptions::default()).unwrap_err();
    assert!(
        matches!(error, FitError::Emulated { number: 3, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("fix:"), "{error}");
}

#[test]
fn published_figures_are_fitted_but_not_called_measured() {
    let mut all = good();
    all[0].flows[0].frames_per_s = Field::Observed {
        value: 1e9 / 10_256.0,
        kind: wirelab_trial::Kind::Published,
    };
    let fit = fit(&all, &FitOptions::default()).unwrap();
    assert!(
        fit.notes
            .iter()
            .any(|n| n.contains("1 observation with figures that were not measured")),
        "{:?}",
        fit.notes
    );
}

#[test]
fn a_hostile_description_makes_a_file_that_can_be_read() {
    let mut all = good();
    for o in &mut all {
        o.node.name = "\"]\n[evil]\nü\u{7f}".to_owned();
        o.node
            .setup
            .insert("co\"re\n".to_owned(), "a\\b\n[parameter.x]\u{1}".to_owned());
        o.node
            .setup
            .insert("long".to_owned(), "x".repeat(1_000_000));
        o.series.push(series(
            "\"]\nevil = 1 # a very long name of a point that goes on and on",
            [100, 101],
        ));
    }
    let options = FitOptions {
        file: "a\n\"b\".json".to_owned(),
        ..FitOptions::default()
    };
    let fit = fit(&all, &options).unwrap();
    let file = NodeFile::parse(&fit.node_toml, "hostile.toml").unwrap();
    assert_eq!(file.setup["co\"re\n"], "a\\b\n[parameter.x]\u{1}");
    assert!(fit.node_toml.len() < 20_000);
    assert!(
        serde_json::to_string(&fit)
            .unwrap()
            .contains("\"leave_one_out\"")
    );
    assert!(codes(&fit).contains(&"inseparable") || !fit.parameters.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_panics_and_what_is_written_can_be_read(
        figures in prop::collection::vec(
            (0usize..5, any::<bool>(), any::<u16>(), any::<f64>(), any::<f64>(), any::<f64>(), any::<u64>(), any::<u64>()), 0..40),
    ) {
        let layers = [Layer::Ethernet, Layer::UdpIpv4, Layer::UdpIpv6, Layer::TcpIpv4, Layer::TcpIpv6];
        let of = |(layer, receive, bytes, rate, busy, loss, frames, ticks): (usize, bool, u16, f64, f64, f64, u64, u64)| {
            let direction = if receive { Direction::Receive } else { Direction::Transmit };
            let mut seen = ObservationSpec::new(layers[layer], direction, u32::from(bytes), rate);
            seen.frames = frames;
            seen.loss_ratio = if frames % 2 == 0 { loss } else { 0.5 };
            seen.series = vec![series("a", [ticks]), series("b", [ticks / 2, 7])];
            if ticks % 2 == 0 { seen.link = Some(ticks); }
            if frames % 3 == 0 { seen.busy(Load::Max, busy.abs().fract()) } else { seen }
        };
        let seen: Vec<ObservationSpec> = figures.into_iter().map(of).collect();
        match fit(&observations(&seen), &FitOptions::default()) {
            Ok(fit) => prop_assert!(NodeFile::parse(&fit.node_toml, "hostile.toml").is_ok()),
            // Costs and links beyond any node are what the reader of node files refuses.
            Err(FitError::NoNode(why)) => prop_assert!(why.contains("1000 s") || why.contains("link"), "{why}"),
            Err(_) => {}
        }
    }
}

#[test]
fn delays_without_anything_that_holds_frames_back_make_no_node() {
    let captured = |seen: ObservationSpec| ObservationSpec {
        series: vec![series("latency", [5_000, 5_100, 5_200])],
        ..seen
    };
    let without = observations(&[64, 1470].map(|b| captured(transmit(b))));
    let error = fit(&without, &FitOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(
            "udp4-transmit latency: neither a period nor a link rate (--rate of measure) says how fast the node sends"
        ),
        "{error}"
    );
    let linked = [64, 1470].map(|b| {
        captured(ObservationSpec {
            link: Some(1_000_000_000),
            ..transmit(b)
        })
    });
    let fit = fitted(&linked);
    assert!(
        fit.parameters
            .iter()
            .any(|p| p.name == "udp4-transmit-latency-packet")
    );
}

#[test]
fn a_full_cpu_is_a_bound_and_gives_no_batch_of_its_own() {
    // 2.5 % idle, 60 us and 14 ns a byte; in overload the CPU is full, not at 102.5 %.
    let mut seen = Vec::new();
    for bytes in [64, 512, 1470] {
        let cost_s = 60e-6 + 14e-9 * f64::from(bytes);
        for per_s in [1_000.0, 4_000.0, 8_000.0] {
            let load = Load::FrameRate {
                frames_per_s: per_s,
            };
            let one = ObservationSpec::new(Layer::UdpIpv4, Direction::Receive, bytes, per_s);
            seen.push(one.busy(load, 0.025 + per_s * cost_s));
        }
        let full = ObservationSpec::new(Layer::UdpIpv4, Direction::Receive, bytes, 1.0 / cost_s);
        seen.push(
            ObservationSpec {
                loss_ratio: 0.8,
                ..full
            }
            .busy(Load::Max, 1.0),
        );
    }
    let fit = fitted(&seen);
    assert!(
        !fit.parameters.iter().any(|p| p.name.contains("batch")),
        "{:#?}",
        fit.parameters
    );
    let near = |name: &str, value: f64| {
        let found = parameter(&fit, name).value;
        assert!((found / value - 1.0).abs() < 1e-3, "{name}: {found}");
    };
    near("udp4-receive-idle", 2.5);
    near("udp4-receive-cpu-packet", 60_000.0);
    near("udp4-receive-cpu-byte", 14.0);
}

#[test]
fn a_cpu_that_is_always_full_is_not_called_one_size() {
    let seen = [64, 512, 1470].map(|b| transmit(b).busy(Load::Max, 1.0));
    let fit = fitted(&seen);
    let said = warned(&fit, "inseparable").join("\n");
    assert!(!said.contains("one size only"), "{said}");
    assert!(said.contains("udp4-transmit CPU load"), "{said}");
}
