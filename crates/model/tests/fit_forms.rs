//! The forms that `fit` finds, and only where they are: classes of sizes, batches, a wire that limits, a ring, stages.

use crate::fit_support::{
    ObservationSpec, codes, fitted, observations, off, parameter, series, warned,
};
use wirelab_model::file::NodeFile;
use wirelab_model::fit::{Captures, Fit, FitOptions, fit};
use wirelab_statistics::random::SplitMix64;
use wirelab_trial::{Direction, Field, Layer, Load};

fn transmits(period_ns: impl Fn(f64) -> f64, sizes: &[u32]) -> Vec<ObservationSpec> {
    let of = |bytes: &u32| {
        ObservationSpec::new(
            Layer::Ethernet,
            Direction::Transmit,
            *bytes,
            1e9 / period_ns(f64::from(*bytes)),
        )
    };
    sizes.iter().map(of).collect()
}

/// The cost in ns of the stages that hold `resource`, by the fitted file.
fn cost_ns(fit: &Fit, seen: &ObservationSpec, resource: &str) -> f64 {
    let file = NodeFile::parse(&fit.node_toml, "fitted.toml")
        .unwrap_or_else(|e| panic!("{e}\n{}", fit.node_toml));
    let instance = file.instance(&seen.trial()).unwrap();
    let net = &instance.net;
    let holds = |s: &&wirelab_sim::net::Stage| {
        s.resource
            .is_some_and(|r| net.resources[r].name == resource)
    };
    net.stages
        .iter()
        .filter(holds)
        .map(|s| s.cost_ps)
        .sum::<u64>() as f64
        / 1e3
}

#[test]
fn a_jump_breaks_sizes_into_classes_and_each_gets_a_path() {
    // A second buffer from 600 bytes on: as where a frame spans two.
    let period = |bytes: f64| {
        if bytes < 600.0 {
            8_000.0
        } else {
            15_000.0 + 3.0 * bytes
        }
    };
    let sizes = [60, 124, 252, 508, 700, 900, 1100, 1300, 1514];
    let mut rng = SplitMix64::new(3);
    let noise: Vec<f64> = sizes
        .iter()
        .map(|_| 1.0 + 0.002 * (rng.uniform() - 0.5))
        .collect();
    let mut seen = transmits(period, &sizes);
    for (one, noise) in seen.iter_mut().zip(noise) {
        one.frames_per_s *= noise;
    }
    let fit = fitted(&seen);
    let text = warned(&fit, "size-classes");
    assert!(
        text[0].contains("60 to 508, 700 to 1514 B of length"),
        "{:?}",
        fit.warnings
    );
    let classes: Vec<_> = fit
        .classes
        .iter()
        .map(|c| (c.from_bytes, c.to_bytes, c.byte_ns.is_some()))
        .collect();
    assert_eq!(classes, [(60, 508, false), (700, 1514, true)]);
    for one in &seen {
        let file = cost_ns(&fit, one, "server");
        assert!(
            off(file, 1e9 / one.frames_per_s) < 0.003,
            "{} B: {file}",
            one.bytes
        );
    }
    // A file whose paths all end says so.
    let (below, _) = fit.node_toml.rsplit_once("[[path]]").unwrap();
    let parts = below.split("\n\n");
    let parts = parts.filter(|part| !part.starts_with("[calibration.ethernet"));
    let below = parts.collect::<Vec<_>>().join("\n\n");
    let file = NodeFile::parse(&below, "below.toml").unwrap();
    let error = file.instance(&seen[8].trial()).unwrap_err().to_string();
    assert!(
        error.ends_with("size: the paths of the file end at 699 bytes of data, and this is 1514; fix: request a smaller size"),
        "{error}"
    );
}

#[test]
fn three_classes_are_found_and_four_sizes_are_too_few_for_any() {
    let steps = |bytes: f64| match bytes {
        b if b < 300.0 => 5_000.0,
        b if b < 900.0 => 9_000.0,
        _ => 20_000.0,
    };
    let fit = fitted(&transmits(
        steps,
        &[60, 128, 256, 400, 512, 800, 1000, 1200, 1514],
    ));
    assert_eq!(fit.classes.len(), 3, "{:?}", fit.warnings);
    let fit = fitted(&transmits(steps, &[60, 256, 800, 1514]));
    assert!(
        fit.classes.is_empty(),
        "{:?} {:?}",
        fit.warnings,
        fit.leave_one_out
    );
    assert!(
        warned(&fit, "line-does-not-fit")[0].contains("a line does not fit"),
        "{:?}",
        fit.warnings
    );
}

#[test]
fn equal_packets_per_second_at_the_low_end_are_named() {
    // All below 400 bytes are sent as 400, and frames were counted.
    let period = |bytes: f64| 2_000.0 + 20.0 * bytes.max(400.0);
    let mut seen = observations(&transmits(
        period,
        &[60, 128, 256, 380, 512, 800, 1000, 1200, 1514],
    ));
    for o in &mut seen {
        o.flows[0].counts = Field::measured(Default::default());
    }
    let fit = fit(&seen, &FitOptions::default()).unwrap();
    let text = warned(&fit, "equal-rate");
    assert!(
        text[0].contains("equal packets/s from 60 to 380 B, as if each were sent as 400 B"),
        "{:?}",
        fit.warnings
    );
}

#[test]
fn sizes_at_line_rate_are_kept_out_of_the_line() {
    let link = wirelab_wire::LineRate::new(100_000_000).unwrap();
    let mut seen = transmits(
        |bytes| 40_000.0 + 4.0 * bytes,
        &[60, 124, 252, 508, 764, 1020, 1276, 1514],
    );
    for one in &mut seen {
        one.link = Some(100_000_000);
        let line = link.frames_per_s(&one.trial().sizes().unwrap());
        one.frames_per_s = one.frames_per_s.min(line);
    }
    let fit = fitted(&seen);
    assert!(
        fit.notes[0].contains("5 observations at line rate"),
        "{:?}",
        fit.notes
    );
    assert!(
        off(
            parameter(&fit, "ethernet-transmit-period-packet").value,
            40_000.0
        ) < 1e-6
    );
    assert!(off(parameter(&fit, "ethernet-transmit-period-byte").value, 4.0) < 1e-6);
    assert_eq!(parameter(&fit, "link-rate").value, 1e8);
    // In the file the wire limits the large sizes and the server the small ones.
    assert!(
        off(
            cost_ns(&fit, &seen[7], "wire-tx"),
            1e9 / seen[7].frames_per_s
        ) < 1e-6
    );
    assert!(cost_ns(&fit, &seen[7], "server") < cost_ns(&fit, &seen[7], "wire-tx"));
    // More than the link carries is left out, not fitted.
    seen[0].frames_per_s = 1e6;
    assert!(
        fitted(&seen)
            .left_out
            .iter()
            .any(|l| l.why.contains("more frames/s than the link carries"))
    );
}

#[test]
fn a_cost_for_each_batch_is_found_where_cost_falls_with_rate() {
    let batches_per_s = 8_000.0;
    let load = |bytes: u32, frames_per_s: f64| {
        let each = 10e-6 + 5e-9 * f64::from(bytes);
        let busy = 0.03 + frames_per_s * each + frames_per_s.min(batches_per_s) * 20e-6;
        ObservationSpec::new(Layer::UdpIpv4, Direction::Receive, bytes, frames_per_s)
            .busy(Load::FrameRate { frames_per_s }, busy)
    };
    let mut seen = Vec::new();
    for bytes in [64, 512, 1470] {
        for rate in [1e3, 2e3, 4e3, 6e3, 10e3, 16e3, 24e3, 32e3] {
            seen.push(load(bytes, rate));
        }
    }
    let fit = fitted(&seen);
    assert!(
        off(parameter(&fit, "udp4-receive-cpu-batch").value, 20_000.0) < 0.05,
        "{:?}",
        fit.parameters
    );
    assert!(off(parameter(&fit, "udp4-receive-cpu-pacing").value, 125.0) < 0.15);
    assert!(off(parameter(&fit, "udp4-receive-cpu-packet").value, 10_000.0) < 0.05);
    assert!(off(parameter(&fit, "udp4-receive-cpu-byte").value, 5.0) < 0.05);
    let file = NodeFile::parse(&fit.node_toml, "fitted.toml").unwrap();
    assert!(file.stages["udp4-receive-interrupt"].paced.is_some());
}

#[test]
fn a_busy_cpu_is_the_limiting_server() {
    let cost = |bytes: u32| 30e-6 + 10e-9 * f64::from(bytes);
    let mut seen = Vec::new();
    for bytes in [64, 512, 1024, 1470] {
        for share in [0.25, 0.5, 0.75] {
            let frames_per_s = share / cost(bytes);
            let one =
                ObservationSpec::new(Layer::UdpIpv4, Direction::Transmit, bytes, frames_per_s);
            seen.push(one.busy(Load::FrameRate { frames_per_s }, share));
        }
        let one = ObservationSpec::new(
            Layer::UdpIpv4,
            Direction::Transmit,
            bytes,
            1.0 / cost(bytes),
        );
        seen.push(one.busy(Load::Max, 1.0));
    }
    let fit = fitted(&seen);
    assert!(
        fit.notes
            .iter()
            .any(|n| n.contains("it is the limiting server")),
        "{:?}",
        fit.notes
    );
    assert!(!fit.node_toml.contains("resource.server"));
    seen[0].link = Some(1_000_000_000);
    assert!(off(cost_ns(&fit, &seen[0], "cpu"), 1e9 * cost(64)) < 1e-5);
}

/// Receive trials of a node that serves 20,000 frames/s and has `ring` descriptors.
fn overloads(ring: f64, frames: &[u64]) -> Vec<ObservationSpec> {
    let (served, offered) = (20_000.0, 30_000.0);
    let of = |(bytes, frames): (u32, u64)| {
        let n = frames as f64;
        let lost = (n * (1.0 - served / offered) - ring).max(0.0).round();
        let mut seen = ObservationSpec::new(Layer::UdpIpv4, Direction::Receive, bytes, served);
        (seen.frames, seen.loss_ratio) = (frames, lost / n);
        seen.load = Load::FrameRate {
            frames_per_s: offered,
        };
        seen
    };
    let sizes = [64, 512, 1470];
    sizes
        .iter()
        .flat_map(|bytes| frames.iter().map(|n| of((*bytes, *n))))
        .collect()
}

#[test]
fn the_ring_is_as_deep_as_short_overload_shows() {
    let fit = fitted(&overloads(48.0, &[50, 100, 150, 200, 1_000, 100_000]));
    let ring = parameter(&fit, "udp4-receive-ring");
    assert!((47.0..=49.0).contains(&ring.value), "{ring:?}");
    let interval = ring.interval.unwrap();
    assert!(
        interval.low <= 48.0 && interval.high >= 48.0 && interval.high < 60.0,
        "{interval:?}"
    );
    assert!(
        off(
            parameter(&fit, "udp4-receive-period-packet").value,
            50_000.0
        ) < 0.002
    );
    let file = NodeFile::parse(&fit.node_toml, "fitted.toml").unwrap();
    assert_eq!(file.paths[0].rooms[0].tokens, "udp4-receive-ring");
}

#[test]
fn without_short_overload_the_ring_is_unknown_and_said_to_be() {
    let fit = fitted(&overloads(48.0, &[100_000]));
    assert!(
        warned(&fit, "ring-unknown")[0].contains("nothing is known about it"),
        "{:?}",
        fit.warnings
    );
    assert!(
        fit.node_toml
            .contains("assumed: the observations do not show how deep the ring is")
    );
    let fit = fitted(&overloads(48.0, &[60, 100, 100_000]));
    assert!(
        warned(&fit, "ring-unknown")[0].contains("it holds at least 3"),
        "{:?}",
        fit.warnings
    );
}

#[test]
fn a_loss_that_the_tester_may_have_made_says_nothing_of_the_ring() {
    let mut seen = observations(&overloads(48.0, &[50, 100, 150, 200, 1_000, 100_000]));
    for flow in seen.iter_mut().flat_map(|o| &mut o.flows) {
        flow.loss_ratio_at_most = Some(1.0);
    }
    let fit = fit(&seen, &FitOptions::default()).unwrap();
    assert!(codes(&fit).contains(&"ring-unknown"), "{:?}", fit.warnings);
}

/// A node that is seen at two points, as in Table I of the Zynq document (INDIN 2018), in ns.
fn captured() -> Vec<ObservationSpec> {
    let jitter = [-30i64, 0, 30];
    let of = |bytes: u32| {
        let length = f64::from(bytes);
        let (buffer, stack) = (1_690.0 + 25.5 * length, 1_120.0 + 1.2 * length);
        let times = |mean: f64| jitter.map(|j| (mean.round() as i64 + j) as u64);
        let mut seen = ObservationSpec::new(Layer::Ethernet, Direction::Receive, bytes, 1000.0);
        seen.series = vec![
            series("Rx UDP", times(buffer + stack)),
            series("Rx PBUF", times(buffer)),
        ];
        seen
    };
    [64, 256, 1024].map(of).to_vec()
}

#[test]
fn captured_series_become_delays_between_points() {
    let fit = fitted(&captured());
    assert!(
        fit.notes[0].contains("times from one start: Rx PBUF, Rx UDP"),
        "{:?}",
        fit.notes
    );
    let value = |name: &str| parameter(&fit, &format!("ethernet-receive-{name}")).value;
    assert!(
        off(value("rx-pbuf-packet"), 1_690.0) < 0.001 && off(value("rx-pbuf-byte"), 25.5) < 0.001
    );
    assert!(off(value("rx-udp-packet"), 1_120.0) < 0.01 && off(value("rx-udp-byte"), 1.2) < 0.01);
    assert!((value("rx-pbuf-sigma") - 30.0).abs() < 0.1);
    let file = NodeFile::parse(&fit.node_toml, "fitted.toml").unwrap();
    let points = &file.paths[0].points;
    assert_eq!(
        (points[1].from.stage.as_str(), points[1].to.stage.as_str()),
        ("ethernet-receive-rx-pbuf", "ethernet-receive-rx-udp")
    );
    // Each a stage of its own, where the reader says so.
    let options = FitOptions {
        captures: Captures::Stages,
        ..FitOptions::default()
    };
    let apart = fit_with(&captured(), &options);
    let packet = parameter(&apart, "ethernet-receive-rx-udp-packet").value;
    assert!(off(packet, 1_690.0 + 1_120.0) < 0.01, "{packet}");
}

fn fit_with(seen: &[ObservationSpec], options: &FitOptions) -> Fit {
    fit(&observations(seen), options).unwrap()
}

#[test]
fn repeats_scatter_and_a_line_within_them_is_not_broken() {
    let mut rng = SplitMix64::new(11);
    let mut seen = Vec::new();
    for bytes in [60, 124, 252, 508, 1020, 1514] {
        for _ in 0..5 {
            let period_ns =
                (9_000.0 + 6.0 * f64::from(bytes)) * (1.0 + 0.2 * (rng.uniform() - 0.5));
            seen.push(ObservationSpec::new(
                Layer::Ethernet,
                Direction::Transmit,
                bytes,
                1e9 / period_ns,
            ));
        }
    }
    let fit = fitted(&seen);
    assert!(
        fit.classes.is_empty() && !codes(&fit).contains(&"size-classes"),
        "{:?}",
        fit.warnings
    );
    assert!(
        fit.leave_one_out[0]
            .cells
            .iter()
            .all(|c| c.observations == 5)
    );
    let interval = parameter(&fit, "ethernet-transmit-period-packet")
        .interval
        .unwrap();
    assert!(
        interval.low < 9_000.0 && 9_000.0 < interval.high,
        "{interval:?}"
    );
}

#[test]
fn repeats_that_scatter_are_blamed_and_not_the_line() {
    let mut rng = SplitMix64::new(12);
    let mut seen = Vec::new();
    for bytes in [60, 124, 252, 508, 1020, 1514] {
        for _ in 0..3 {
            let period_ns = (300.0 + 0.1 * f64::from(bytes)) * (0.5 + rng.uniform());
            seen.push(ObservationSpec::new(
                Layer::Ethernet,
                Direction::Transmit,
                bytes,
                1e9 / period_ns,
            ));
        }
    }
    let fit = fitted(&seen);
    assert!(
        codes(&fit).contains(&"repeats-scatter") && !codes(&fit).contains(&"line-does-not-fit"),
        "{:?}",
        fit.warnings
    );
}

#[test]
fn latency_is_taken_where_queues_are_empty() {
    let mut seen = captured();
    let mut full = captured();
    for one in &mut seen {
        one.load = Load::FrameRate {
            frames_per_s: 1000.0,
        };
    }
    for one in &mut full {
        one.series = vec![
            series("Rx PBUF", [900_000, 900_100]),
            series("Rx UDP", [950_000, 950_100]),
        ];
    }
    seen.extend(full);
    let fit = fitted(&seen);
    assert!(
        off(
            parameter(&fit, "ethernet-receive-rx-pbuf-packet").value,
            1_690.0
        ) < 0.001,
        "{:?}",
        fit.parameters
    );
    // No server is known: frames wait nowhere, and no ring is made up.
    assert!(!fit.node_toml.contains("ring"), "{}", fit.node_toml);
}
