//! Trials between pairs of ports, on both paths: paced, with faults, many at once, and with each type of buffers.

use crate::common::{
    alone, assert_as_injected, assert_clean, assert_honest, counts, has_warning, node, rates, run,
    sender, sent, trial,
};
use wirelab_port::packet::PREFILLED_SLOTS;
use wirelab_ports::Path;
use wirelab_trial::{
    Buffers, Direction, Extent, Framing, IntervalBasis, Layer, Load, NodeError, Size, SizeUnit,
    Status, Trial, TrialField,
};

const SECOND: u64 = 1_000_000_000_000;

/// 100 Mbit/s, a time, one payload, as many frames as the link carries.
fn at_100m(payload: u32, time_ps: u64) -> Trial {
    Trial {
        size: Size::new(SizeUnit::Payload, payload),
        load: Load::LinkShare { percent: 100.0 },
        extent: Extent::Time { time_ps },
        link_bits_per_s: Some(100_000_000),
        ..trial(0)
    }
}

#[test]
fn a_single_run_has_intervals_of_rate_and_loss_on_both_paths() {
    for path in [Path::Xdp, Path::Packet] {
        let Some(mut node) = node(1, path) else {
            return;
        };
        let _alone = alone();
        let asked = Trial {
            load: Load::FrameRate {
                frames_per_s: 10_000.0,
            },
            extent: Extent::Time {
                time_ps: SECOND / 2,
            },
            ..trial(0)
        };
        let lossy = Trial {
            faults: rates(&[("drop", 0.1)], 7),
            ..asked.clone()
        };
        // The portable path does not inject faults.
        let lossy = Some(lossy).filter(|_| path == Path::Xdp);
        for trial in [Some(asked), lossy].into_iter().flatten() {
            let observation = run(&mut node, &trial);
            let flow = &observation.flows[0];
            for (interval, figure) in [
                (flow.intervals.frames_per_s, &flow.frames_per_s),
                (flow.intervals.payload_bits_per_s, &flow.payload_bits_per_s),
                (flow.intervals.loss_ratio, &flow.loss_ratio),
            ] {
                let interval = interval.unwrap_or_else(|| panic!("{path:?}: no interval"));
                let figure = *figure.value().unwrap();
                assert!(
                    interval.low <= figure && figure <= interval.high,
                    "{path:?}: {figure}, {interval:?}"
                );
                assert!(interval.parts >= 8 && interval.over == IntervalBasis::WithinRun);
            }
            assert_eq!(wirelab_trial::check::observation(&observation), []);
        }
    }
}

#[test]
fn paced_trials_send_the_exact_number_on_time_or_say_that_they_did_not() {
    let Some(mut node) = node(1, Path::Xdp) else {
        return;
    };
    let _alone = alone();
    let mut trials: Vec<Trial> = [1_000.0, 50_000.0, 200_000.0]
        .into_iter()
        .map(|frames_per_s| Trial {
            load: Load::FrameRate { frames_per_s },
            extent: Extent::Time {
                time_ps: 3 * SECOND / 10,
            },
            ..trial(0)
        })
        .collect();
    trials.extend([66, 438, 810, 1182, 1498].map(|payload| at_100m(payload, 3 * SECOND / 10)));
    for trial in trials {
        let observation = run(&mut node, &trial);
        let what = format!("{:?} at {}", trial.size, trial.load);
        assert_clean(&observation, &what);
        assert_honest(&observation, &what);
        let flow = &observation.flows[0];
        let asked = *sender(flow).asked_frames_per_s.value().unwrap();
        let interval_ps = (1e12 / asked).round() as u64;
        assert_eq!(sent(flow), 3 * SECOND / 10 / interval_ps, "{what}");
        assert_eq!(counts(flow).good_frames, sent(flow), "{what}");
        let gap = sender(flow).gap.value().unwrap();
        assert_eq!(gap.count, sent(flow) - 1, "{what}");
        // If the host paused the sender, its gaps are the host's, and so are those of frames that caught up.
        let undisturbed = sender(flow).slips.value() == Some(&0)
            && sender(flow).longest_burst_frames.value() == Some(&1);
        if undisturbed && sender(flow).kept_rate.value() == Some(&true) {
            let median = gap.percentile(50.0).unwrap() as f64;
            let interval = interval_ps as f64 / 1000.0;
            let bucket = interval / 16.0;
            assert!(
                (median - interval).abs() <= bucket,
                "{what}: {median} ns for {interval} ns"
            );
        }
        assert_eq!(
            (sender(flow).path.as_str(), flow.receiver_path.as_str()),
            ("xdp", "xdp")
        );
    }
}

#[test]
fn four_pairs_full_duplex_at_100_mbit_s_are_clean_in_all_eight_directions() {
    let Some(mut node) = node(4, Path::Auto) else {
        return;
    };
    let _alone = alone();
    for payload in [66, 1498] {
        let trial = Trial {
            direction: Direction::Both,
            ports: 4,
            ..at_100m(payload, SECOND / 5)
        };
        let observation = run(&mut node, &trial);
        let what = format!("payload {payload}");
        assert_eq!(observation.flows.len(), 8);
        assert_clean(&observation, &what);
        assert_honest(&observation, &what);
        let mut streams: Vec<u8> = observation.flows.iter().map(|f| f.stream).collect();
        streams.sort_unstable();
        assert_eq!(streams, [0, 1, 2, 3, 4, 5, 6, 7]);
        let numbers: Vec<u64> = observation.flows.iter().map(sent).collect();
        assert!(
            numbers.iter().all(|n| *n == numbers[0] && *n > 1000),
            "{numbers:?}"
        );
        for flow in &observation.flows {
            let efficiency = *flow.efficiency.value().unwrap();
            let limit = f64::from(payload) / f64::from(payload + 38);
            assert!(
                efficiency <= limit * 1.005,
                "more than the link carries: {efficiency}"
            );
            assert!(flow.counts.value().unwrap().foreign_frames < 100);
        }
    }
}

#[test]
fn faults_of_a_trial_are_found_as_injected_on_the_fast_path() {
    let Some(mut node) = node(2, Path::Xdp) else {
        return;
    };
    let _alone = alone();
    let all = [
        ("drop", 0.01),
        ("duplicate", 0.01),
        ("swap", 0.01),
        ("header-corrupt", 0.01),
        ("truncate", 0.01),
        ("stale", 0.01),
        ("corrupt", 0.01),
    ];
    let time = Extent::Time {
        time_ps: SECOND / 20,
    };
    let trials = [
        Trial {
            faults: rates(&all, 1),
            ..trial(200_000)
        },
        Trial {
            faults: rates(&all[..3], 2),
            extent: time,
            ..trial(0)
        },
        Trial {
            faults: rates(&all, 3),
            extent: time,
            ..trial(0)
        },
        // Both directions with their own faults, on one generator and on one for each processor.
        Trial {
            faults: rates(&all, 4),
            direction: Direction::Both,
            ports: 2,
            load: Load::FrameRate {
                frames_per_s: 20_000.0,
            },
            ..trial(5_000)
        },
        Trial {
            faults: rates(&all[..2], 5),
            direction: Direction::Both,
            ports: 2,
            load: Load::FrameRate {
                frames_per_s: 500.0,
            },
            ..trial(200)
        },
        Trial {
            faults: rates(&all, 6),
            direction: Direction::Both,
            ports: 2,
            ..trial(100_000)
        },
        Trial {
            faults: rates(&all, 8),
            ports: 2,
            ..trial(50_000)
        },
        Trial {
            faults: rates(&all, 7),
            size: Size::new(SizeUnit::Frame, 1518),
            framing: Framing {
                layer: Layer::UdpIpv4,
                vlan_tags: 0,
            },
            ..trial(50_000)
        },
    ];
    for (n, trial) in trials.iter().enumerate() {
        let observation = run(&mut node, trial);
        let what = format!("trial {n}");
        assert_eq!(observation.status, Status::Complete, "{what}");
        assert_as_injected(&observation, &what);
        let ledgers: Vec<_> = observation.flows.iter().map(|f| sender(f).ledger).collect();
        for (i, one) in ledgers.iter().enumerate() {
            // Few frames may have equally many faults by chance.
            assert!(
                sent(&observation.flows[i]) < 1_000 || !ledgers[..i].contains(one),
                "{what}: flows have faults of their own"
            );
        }
        if let Extent::Frames { frames } = trial.extent {
            assert!(
                observation.flows.iter().all(|f| sent(f) == frames),
                "{what}"
            );
        }
    }
}

#[test]
fn faults_of_a_trial_are_found_as_injected_on_the_portable_path() {
    let Some(mut node) = node(1, Path::Packet) else {
        return;
    };
    let _alone = alone();
    for (seed, faults) in [
        vec![("drop", 0.02), ("duplicate", 0.02)],
        vec![("swap", 0.05), ("truncate", 0.02)],
        vec![("header-corrupt", 0.02), ("stale", 0.02), ("corrupt", 0.02)],
    ]
    .into_iter()
    .enumerate()
    {
        let trial = Trial {
            faults: rates(&faults, seed as u64),
            size: Size::new(SizeUnit::Frame, 128),
            load: Load::FrameRate {
                frames_per_s: 40_000.0,
            },
            ..trial(20_000)
        };
        let observation = run(&mut node, &trial);
        assert_as_injected(&observation, &format!("{faults:?}"));
        let flow = &observation.flows[0];
        assert_eq!(
            (sender(flow).path.as_str(), flow.receiver_path.as_str()),
            ("packet", "packet")
        );
    }
}

#[test]
fn every_framing_and_direction_is_clean_on_both_paths() {
    let Some(mut fast) = node(1, Path::Auto) else {
        return;
    };
    let Some(mut slow) = node(1, Path::Packet) else {
        return;
    };
    let _alone = alone();
    let (one, back, both) = (Direction::Transmit, Direction::Receive, Direction::Both);
    for (layer, vlan_tags, frame, directions) in [
        (Layer::Ethernet, 1, 64, &[one, back, both][..]),
        (Layer::UdpIpv4, 0, 65, &[back, both]),
        (Layer::UdpIpv4, 1, 1500, &[one]),
        (Layer::UdpIpv6, 0, 84, &[one, both]),
        (Layer::UdpIpv6, 2, 512, &[back]),
    ] {
        for direction in directions.iter().copied() {
            let trial = Trial {
                framing: Framing { layer, vlan_tags },
                direction,
                size: Size::new(SizeUnit::Frame, frame),
                load: Load::FrameRate {
                    frames_per_s: 20_000.0,
                },
                ..trial(1_000)
            };
            for (node, path) in [(&mut fast, "xdp"), (&mut slow, "packet")] {
                let observation = run(node, &trial);
                let what = format!("{layer:?} {vlan_tags} {frame} {direction} {path}");
                assert_clean(&observation, &what);
                let flows = if direction == Direction::Both { 2 } else { 1 };
                assert_eq!(observation.flows.len(), flows, "{what}");
                for flow in &observation.flows {
                    assert_eq!(flow.receiver_path, path, "{what}");
                    let counts = flow.counts.value().expect("counted");
                    let payload = u64::from(observation.sizes.payload);
                    assert_eq!(counts.verified_payload_bytes, 1_000 * payload, "{what}");
                    assert_eq!(
                        flow.goodput_bits_per_s.value().is_some(),
                        layer != Layer::Ethernet
                    );
                }
            }
        }
    }
}

#[test]
fn each_kind_of_buffers_is_clean_and_gives_its_median() {
    let Some(mut node) = node(1, Path::Auto) else {
        return;
    };
    let _alone = alone();
    for buffers in [
        Buffers::Prefilled,
        Buffers::Copied,
        Buffers::CopiedAhead,
        Buffers::InPlace,
    ] {
        let trial = Trial {
            size: Size::new(SizeUnit::Length, 1514),
            buffers: Some(buffers),
            ..trial(50)
        };
        let observation = run(&mut node, &trial);
        let what = buffers.to_string();
        assert_clean(&observation, &what);
        let flow = &observation.flows[0];
        assert_eq!((sent(flow), counts(flow).good_frames), (50, 50), "{what}");
        let series = observation.series.iter().find(|s| s.is_of_runs());
        let mut times = series.expect("times of the runs").raw_ticks.clone();
        assert_eq!(times.len(), 3, "{what}");
        times.sort_unstable();
        let elapsed = flow.elapsed.value().unwrap().ps;
        assert!(
            elapsed.abs_diff(times[1] * 1000) <= 1000,
            "{what}: {elapsed}, {times:?}"
        );
        let rate = *flow.frames_per_s.value().unwrap();
        assert!(
            (rate * elapsed as f64 / 1e12 - 50.0).abs() < 0.01,
            "{what}: {rate}"
        );
        assert!(sender(flow).kernel_copied.value().is_some(), "{what}");
        assert!(
            !has_warning(&observation, "checker"),
            "{what}: {:?}",
            observation.warnings
        );
    }
    // More frames than slots: they repeat, each slot after the previous one.
    let around = Trial {
        buffers: Some(Buffers::Prefilled),
        ..trial(3 * u64::from(PREFILLED_SLOTS) + 7)
    };
    assert_clean(&run(&mut node, &around), "around");
    let dma = Trial {
        buffers: Some(Buffers::DmaCopied),
        ..trial(50)
    };
    let error = wirelab_trial::Node::run(&mut node, &dma, &(), &wirelab_trial::Cancel::new());
    match error.unwrap_err() {
        NodeError::Unsupported(unsupported) => {
            assert_eq!(unsupported.field.map(TrialField::name), Some("buffers"));
            assert!(unsupported.why.contains("in-place"), "{unsupported}");
        }
        other => panic!("{other}"),
    }
}
