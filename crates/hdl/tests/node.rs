//! Ports of hardware as a node: the results match the request, to the clock.

use std::sync::{Arc, Mutex};

use wirelab_hdl::{HdlNode, HdlOptions};
use wirelab_port::pcapng::{CaptureWriter, VerifyOptions, WriterOptions, verify};
use wirelab_trial::{
    Cancel, ClockKind, Direction, Extent, FlowObservation, Framing, Layer, Node, Observation, Size,
    SizeUnit, Status, Trial,
};

fn node(text: &str) -> HdlNode {
    HdlNode::start(&format!("hdl:{text}"), HdlOptions::parse(text).unwrap()).unwrap()
}

fn trial(payload: u32, frames: u64) -> Trial {
    Trial {
        ports: 4,
        ..Trial::new(
            Framing::default(),
            Direction::Both,
            Size::new(SizeUnit::Payload, payload),
            "max".parse().unwrap(),
            Extent::Frames { frames },
        )
    }
}

fn run(node: &mut HdlNode, trial: &Trial) -> Observation {
    node.run(trial, &(), &Cancel::new()).unwrap()
}

#[test]
fn four_ports_in_both_directions_are_at_the_limit_of_the_link_with_every_payload() {
    let mut node = node("4");
    for payload in [66_u32, 438, 810, 1182, 1498, 46, 8982, 9216] {
        let frames = 30;
        let came = run(&mut node, &trial(payload, frames));
        assert_eq!(came.status, Status::Complete);
        assert_eq!(came.warnings, [], "payload {payload}");
        assert_eq!(came.flows.len(), 4);
        for flow in &came.flows {
            let counts = flow.counts.value().unwrap();
            assert!(counts.is_clean(), "{counts:?}");
            assert_eq!((counts.good_frames, counts.foreign_frames), (frames, 0));
            counts.check_identity(frames).unwrap();
            // RFC 1242's limit, in whole clocks: 14 header, 4 FCS, 8 preamble and 12 gap, one byte for each clock.
            let clocks = flow.counters["clocks_first_to_last"].value();
            assert_eq!(clocks, Some(&((frames - 1) * u64::from(payload + 38))));
            let share = f64::from(payload) / f64::from(payload + 38);
            let efficiency = *flow.efficiency.value().unwrap();
            assert!((efficiency - share).abs() < 1e-12, "{efficiency} {share}");
            let elapsed = flow.elapsed.value().unwrap();
            assert_eq!(elapsed.clock, ClockKind::Simulated);
            assert_eq!(elapsed.ps, frames * u64::from(payload + 38) * 8000);
        }
    }
}

#[test]
fn a_probe_of_100_mhz_sees_single_intervals_that_are_shorter_than_the_wire_allows() {
    let mut node = node("4");
    let came = run(&mut node, &trial(66, 400));
    for flow in &came.flows {
        let spacing = &flow.series[0];
        assert_eq!(spacing.name, "spacing: AXI4-Stream input");
        assert_eq!(
            (spacing.clock.tick_ps, spacing.clock.kind),
            (Some(10_000), ClockKind::Simulated)
        );
        // A frame every 832 ns: 83 or 84 ticks, and 83.2 on average, over whole fives.
        assert_eq!(spacing.histogram.count, 399);
        assert_eq!(
            (spacing.histogram.min_ticks, spacing.histogram.max_ticks),
            (83, 84)
        );
        let counter = |name: &str| *flow.counters[name].value().unwrap();
        assert_eq!(
            (
                counter("probe_shortest_ticks"),
                counter("probe_longest_ticks")
            ),
            (83, 84)
        );
        // 399 intervals are 33,196.8 ticks.
        let total = spacing.raw_ticks.iter().sum::<u64>();
        assert!((33_196..=33_197).contains(&total), "{total}");
        assert_eq!(spacing.raw_ticks.last(), Some(&counter("probe_last_ticks")));
        assert_eq!(spacing.raw_ticks[..395].iter().sum::<u64>(), 395 * 832 / 10);
        // 528 bits in 830 ns are more than the link carries, whose mean is exactly its limit.
        let limit = 66.0 / 104.0;
        assert!(528.0 / 830.0 > limit && *flow.efficiency.value().unwrap() <= limit + 1e-12);
    }
}

#[test]
fn a_load_is_set_to_the_nearest_whole_clock_and_what_was_set_is_reported() {
    let mut node = node("2");
    for (load, period) in [
        ("50%", 208),
        ("100kpps", 1250),
        ("700M", 149),
        ("gap=13B", 105),
    ] {
        let asked = Trial {
            ports: 1,
            direction: Direction::Receive,
            load: load.parse().unwrap(),
            ..trial(66, 50)
        };
        let came = run(&mut node, &asked);
        assert_eq!(came.warnings, [], "{load}");
        let flow = &came.flows[0];
        assert_eq!(
            (flow.port.as_str(), flow.direction),
            ("port 0", Direction::Receive)
        );
        assert_eq!(flow.counters["period_clocks"].value(), Some(&period));
        assert_eq!(
            flow.counters["clocks_first_to_last"].value(),
            Some(&(49 * period))
        );
        let rate = *flow.frames_per_s.value().unwrap();
        assert!((rate - 125e6 / period as f64).abs() < 1e-6, "{rate}");
        let sender = flow.sender.value().unwrap();
        assert_eq!(sender.kept_rate.value(), Some(&true));
    }
}

#[test]
fn udp_and_tags_are_sent_and_found_good() {
    let mut node = node("1");
    for (layer, vlan_tags, smallest) in [
        (Layer::UdpIpv4, 0, 46),
        (Layer::UdpIpv4, 1, 46),
        (Layer::Ethernet, 1, 42),
    ] {
        for payload in [smallest, 1472] {
            let asked = Trial {
                framing: Framing { layer, vlan_tags },
                ports: 1,
                ..trial(payload, 20)
            };
            let came = run(&mut node, &asked);
            assert_eq!(
                (came.warnings.len(), came.flows.len()),
                (0, 1),
                "{:?}",
                came.warnings
            );
            let flow = &came.flows[0];
            assert!(flow.counts.value().unwrap().is_clean());
            let clocks = u64::from(payload + 38 + 4 * u32::from(vlan_tags));
            assert_eq!(
                flow.counters["clocks_first_to_last"].value(),
                Some(&(19 * clocks))
            );
            assert_eq!(flow.goodput_bits_per_s.value().is_some(), layer.is_udp());
        }
    }
}

#[test]
fn every_fault_that_is_asked_is_found_under_its_name() {
    let mut node = node("2");
    for name in [
        "drop",
        "duplicate",
        "swap",
        "header-corrupt",
        "truncate",
        "stale",
        "corrupt",
        "bad-fcs",
    ] {
        let mut asked = Trial {
            ports: 2,
            ..trial(200, 41)
        };
        *asked.faults.rate_mut(name).unwrap() = 0.1;
        let came = run(&mut node, &asked);
        for flow in &came.flows {
            let counts = flow.counts.value().unwrap();
            assert!(!counts.is_clean(), "{name}");
            let ledger = flow.sender.value().unwrap().ledger.unwrap();
            assert_eq!(ledger.differences(counts), [], "{name}");
            assert_eq!(ledger.sent_frames, 41);
            counts.check_identity(41).unwrap();
            let found = [
                counts.lost_frames,
                counts.duplicated_frames,
                counts.reordered_frames,
                counts.truncated_frames,
                counts.stale_frames,
                counts.corrupted_frames,
            ];
            // A swap takes two frames, so one fewer fits.
            let times = if name == "swap" { 3 } else { 4 };
            assert_eq!(
                found.iter().filter(|n| **n == times).count(),
                1,
                "{name}: {counts:?}"
            );
        }
        let codes: Vec<_> = came.warnings.iter().map(|w| w.code.as_str()).collect();
        let expected = if name == "swap" {
            vec!["reordering-extent"; 2]
        } else {
            vec![]
        };
        assert_eq!(codes, expected, "{name}");
    }
}

/// The value of one of a flow's counters.
fn counter(flow: &FlowObservation, name: &str) -> u64 {
    *flow.counters[name].value().unwrap()
}

#[test]
fn a_wrong_fcs_is_found_by_the_mac_and_its_frame_is_lost() {
    let mut asked = Trial {
        ports: 2,
        ..trial(200, 41)
    };
    asked.faults.bad_fcs = 0.1;
    let came = run(&mut node("2"), &asked);
    assert_eq!(came.status, Status::Complete, "{:?}", came.warnings);
    for flow in &came.flows {
        assert_eq!(counter(flow, "bad_fcs_frames"), 4);
        assert_eq!(counter(flow, "damaged_frames"), 0);
        let counts = flow.counts.value().unwrap();
        assert_eq!((counts.lost_frames, counts.good_frames), (4, 37));
        let ledger = flow.sender.value().unwrap().ledger.unwrap();
        assert_eq!((ledger.bad_fcs_frames, ledger.lost_frames), (4, 4));
    }
}

#[test]
fn faults_come_so_many_times_a_second_of_simulated_time() {
    let mut node = node("1");
    // 100,000 clocks of 8 ns: at 1,000 bit errors a second, one in 125,000 clocks, there is none; at 10,000 there are
    // eight, the last of which has no frame after it.
    let (clocks, period) = (100_000, 1000 + 38);
    let clean = Trial {
        ports: 1,
        ..trial(1000, clocks / period)
    };
    for (asked, expected) in [("1000/s", 0), ("10000/s", clocks / 12_500 - 1)] {
        let mut faulty = clean.clone();
        faulty.faults.set("corrupt", asked).unwrap();
        let came = run(&mut node, &faulty);
        assert_eq!(came.status, Status::Complete, "{:?}", came.warnings);
        let counts = came.flows[0].counts.value().unwrap();
        assert_eq!(counts.corrupted_frames, expected, "{asked}");
        let ledger = came.flows[0].sender.value().unwrap().ledger.unwrap();
        assert_eq!(ledger.differences(counts), [], "{asked}");
    }
    // Nothing of it remains for the next trial.
    let after = run(&mut node, &clean);
    assert!(after.flows[0].counts.value().unwrap().is_clean());
}

#[test]
fn a_run_lasts_until_its_last_duplicate_is_sent() {
    let mut node = node("1");
    // The duplicates alone take more clocks than the patience of a run.
    let frames = 400;
    let mut asked = Trial {
        ports: 1,
        ..trial(8982, frames)
    };
    asked.faults.duplicate = 0.5;
    let came = run(&mut node, &asked);
    assert_eq!(came.status, Status::Complete, "{:?}", came.warnings);
    let counts = came.flows[0].counts.value().unwrap();
    assert_eq!(counts.duplicated_frames, frames / 2);
    assert_eq!(counts.distinct_sequences, frames);
}

#[test]
fn a_trial_leaves_nothing_behind_and_gives_the_same_again() {
    let mut node = node("4");
    let first = run(&mut node, &trial(66, 25));
    let mut spoilt = trial(300, 12);
    spoilt.faults.drop = 0.25;
    run(&mut node, &spoilt);
    let again = run(&mut node, &trial(66, 25));
    for (first, again) in first.flows.iter().zip(&again.flows) {
        assert_eq!(first.counts, again.counts);
        assert_eq!(first.elapsed, again.elapsed);
        assert_eq!(first.frames_per_s, again.frames_per_s);
    }
}

#[test]
fn a_cancelled_trial_keeps_what_was_recorded() {
    let mut node = node("1");
    let asked = Trial {
        ports: 1,
        ..trial(1498, 100_000)
    };
    let cancel = Cancel::new();
    struct AtOnce(Cancel);
    impl wirelab_trial::Progress for AtOnce {
        fn report(&self, _: u64, _: u64, _: &str) {
            self.0.cancel();
        }
    }
    let came = node.run(&asked, &AtOnce(cancel.clone()), &cancel).unwrap();
    assert!(matches!(came.status, Status::Partial { .. }));
    let counts = came.flows[0].counts.value().unwrap();
    assert!(counts.is_clean() && counts.good_frames > 10, "{counts:?}");
    counts.check_identity(counts.good_frames).unwrap();
    // The next trial is complete again.
    let whole = Trial {
        ports: 1,
        ..trial(100, 10)
    };
    assert!(run(&mut node, &whole).passed());
}

#[test]
fn a_capture_has_every_frame_with_its_simulated_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench.pcapng");
    let mut node = node("4");
    let writer =
        CaptureWriter::create(&path, &node.capture_interfaces(), &WriterOptions::default());
    let shared = Arc::new(Mutex::new(writer.unwrap()));
    node.capture_into(Arc::clone(&shared));
    // Longer than a slice of the run.
    run(&mut node, &trial(438, 160));
    node.end_capture().unwrap();
    run(&mut node, &trial(438, 5));
    let writer = Arc::into_inner(shared).unwrap().into_inner().unwrap();
    assert_eq!(writer.finish().unwrap().frames, 640);
    let options = VerifyOptions {
        sent: Some(160),
        ..VerifyOptions::default()
    };
    let report = verify(&path, &options).unwrap();
    assert_eq!((report.flows.len(), report.foreign_frames), (4, 0));
    assert_eq!(report.interfaces[3].name.as_deref(), Some("port 3"));
    for flow in &report.flows {
        assert!(
            flow.counts.is_clean() && flow.counts.good_frames == 160,
            "{flow:?}"
        );
        // (438 + 38) bytes at 8 ns.
        assert_eq!(flow.elapsed_ps, Some(160 * 3_808_000));
        assert_eq!(flow.time_backwards_frames, 0);
        // Port n checks the frames of port n ± 2.
        assert_eq!(u32::from(flow.stream), (flow.interface + 2) % 4);
    }
}
