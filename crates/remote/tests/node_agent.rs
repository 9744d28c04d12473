//! Trials on `wirelab node serve`, in a lab: every layer in every direction, counts, CPU load, captures, and bad days.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common;
use crate::common::agent::{all, counts, open, serve};
use crate::common::{MS, NODE_IPV4, assert_clean, flow, has_warning, lab, on_tester, trial};
use wirelab_port::iface::{Mac, PortName};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_port::tap::{BOARD_MAC, TapError, TapPort, TapSpec};
use wirelab_trial::{
    Cancel, Direction, Extent, Kind, Layer, Load, Node, Progress, Size, SizeUnit, Status, Trial,
};

#[test]
fn udp_and_tcp_in_every_direction() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    let directions = [Direction::Receive, Direction::Transmit, Direction::Both];
    let trials: Vec<Trial> = [Layer::UdpIpv4, Layer::TcpIpv4]
        .iter()
        .flat_map(|layer| directions.map(|direction| trial(*layer, direction)))
        .collect();
    for observation in all(&lab, &trials) {
        let asked = &observation.trial;
        let what = format!("{:?} {}", asked.framing.layer, asked.direction);
        assert_eq!(observation.status, Status::Complete, "{what}");
        let flows = if asked.direction == Direction::Both {
            2
        } else {
            1
        };
        assert_eq!(observation.flows.len(), flows, "{what}");
        for flow in &observation.flows {
            assert_clean(flow, &what);
            let sent = *flow.sent_frames.value().unwrap();
            assert!((2..=150).contains(&sent), "{what}: {sent}");
            let goodput = *flow.goodput_bits_per_s.value().expect(&what);
            // Paced: a sender that its host held up catches up, and without a pace it would be Gbit/s.
            assert!(goodput > 0.0 && goodput < 50e6, "{what}: {goodput}");
        }
        assert!(observation.node.setup.contains_key("stack"), "{what}");
    }
}

#[test]
fn a_node_that_says_that_it_is_emulated_gives_emulated_figures() {
    let Some(lab) = lab() else { return };
    for emulator in [None, Some("QEMU 8.2")] {
        let _node = serve(&lab, |options| {
            let key = |text: &str| ("emulator".to_owned(), text.to_owned());
            options.set.extend(emulator.map(key));
        });
        let asked = trial(Layer::UdpIpv4, Direction::Receive);
        for observation in all(&lab, &[asked]) {
            let what = format!("{observation:#?}");
            assert_eq!(observation.is_emulated(), emulator.is_some(), "{what}");
            let warned = has_warning(&observation, "emulated");
            assert_eq!(warned, emulator.is_some(), "{what}");
        }
    }
}

/// A cable of two TAPs, as between the tester and an emulated board: what the kernel sends on one is received on the other. Two
/// threads are it, until this is dropped.
struct Cable(Arc<AtomicBool>);

impl Cable {
    /// `None`, and a word for the test runner, where there are no TAP devices.
    fn between(lab: &EphemeralLab, ends: [(Side, Ipv4Addr, Option<Mac>); 2]) -> Option<Cable> {
        let tap = |(side, address, mac): (Side, Ipv4Addr, Option<Mac>)| {
            let namespace = lab.port(0, side).unwrap().namespace;
            let port = PortName::new(namespace.as_deref(), "tap0").unwrap();
            let address = Some(address);
            TapPort::create(&TapSpec {
                mac,
                address,
                ..TapSpec::new(port)
            })
        };
        let taps = match (tap(ends[0]), tap(ends[1])) {
            (Ok(one), Ok(other)) => Arc::new([one, other]),
            (Err(error), _) | (_, Err(error)) => {
                assert!(matches!(error, TapError::NoDriver(_)), "{error}");
                // Directly, because the test harness swallows what is printed otherwise.
                let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP tun: {error}");
                return None;
            }
        };
        let over = Arc::new(AtomicBool::new(false));
        for from in 0..2 {
            let (taps, over) = (Arc::clone(&taps), Arc::clone(&over));
            std::thread::spawn(move || {
                let mut frame = [0; 2048];
                while !over.load(Ordering::Relaxed) {
                    if let Some(bytes) = taps[from]
                        .read_frame(&mut frame, Some(Duration::from_millis(100)))
                        .unwrap()
                    {
                        taps[1 - from].write_frame(&frame[..bytes]).unwrap();
                    }
                }
            });
        }
        Some(Cable(over))
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The node does not say so; the address of the tester's TAP does, as of each board that wirelab starts.
#[test]
fn a_node_behind_the_tap_of_a_board_gives_emulated_figures() {
    let Some(lab) = lab() else { return };
    let (tester, node) = (Ipv4Addr::new(10, 79, 0, 1), Ipv4Addr::new(10, 79, 0, 2));
    let [a, b, c, d] = BOARD_MAC;
    let mac = Some(Mac([a, b, c, d, 0, 1]));
    let ends = [(Side::Tester, tester, mac), (Side::Node, node, None)];
    let Some(_cable) = Cable::between(&lab, ends) else {
        return;
    };
    let _node = serve(&lab, |options| options.listen = (node, 5002).into());
    let asked = trial(Layer::UdpIpv4, Direction::Receive);
    let observation = on_tester(&lab, || {
        let mut node = open(&node.to_string()).unwrap();
        node.run(&asked, &(), &Cancel::new()).unwrap()
    });
    assert_eq!(observation.node.setup.get("emulator"), None);
    assert!(observation.is_emulated(), "{observation:#?}");
    let flow = flow(&observation, Direction::Receive);
    assert_eq!(flow.frames_per_s.kind(), Some(Kind::Emulated));
    assert_eq!(
        flow.sent_frames.kind(),
        Some(Kind::Measured),
        "the tester's"
    );
    let told = |text: &str| text.contains("an emulated board of this host, behind tap0");
    let warnings = &observation.warnings;
    assert!(warnings.iter().any(|w| told(&w.text)), "{warnings:?}");
}

#[test]
fn over_ipv6_too() {
    let Some(lab) = lab() else { return };
    let listen = SocketAddr::new(common::NODE_IPV6.parse().unwrap(), 5002);
    let _node = serve(&lab, |options| options.listen = listen);
    let host = format!("[{}]", common::NODE_IPV6);
    for (layer, direction) in [
        (Layer::UdpIpv6, Direction::Receive),
        (Layer::UdpIpv6, Direction::Transmit),
        (Layer::TcpIpv6, Direction::Both),
    ] {
        let trial = trial(layer, direction);
        let observation = on_tester(&lab, || {
            let mut node = open(&host).unwrap();
            node.run(&trial, &(), &Cancel::new()).unwrap()
        });
        assert_eq!(observation.status, Status::Complete, "{layer:?}");
        for flow in &observation.flows {
            assert_clean(flow, &format!("{layer:?} {direction}"));
        }
    }
}

#[test]
fn numbers_of_frames_and_maximum_load() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    let frames = |layer, direction, frames, load| Trial {
        extent: Extent::Frames { frames },
        load,
        ..trial(layer, direction)
    };
    let pps = Load::FrameRate {
        frames_per_s: 2000.0,
    };
    let trials = [
        frames(Layer::UdpIpv4, Direction::Receive, 300, pps),
        frames(Layer::UdpIpv4, Direction::Transmit, 300, pps),
        frames(Layer::TcpIpv4, Direction::Receive, 20_000, Load::Max),
        frames(Layer::TcpIpv4, Direction::Transmit, 20_000, Load::Max),
        frames(Layer::TcpIpv4, Direction::Both, 20_000, Load::Max),
    ];
    for observation in all(&lab, &trials) {
        let asked = &observation.trial;
        let what = format!("{:?} {}", asked.framing.layer, asked.direction);
        assert_eq!(observation.status, Status::Complete, "{what}");
        let Extent::Frames { frames } = asked.extent else {
            panic!("{what}");
        };
        for flow in &observation.flows {
            assert_eq!(flow.sent_frames.value(), Some(&frames), "{what}");
            assert_clean(flow, &what);
        }
    }
}

#[test]
fn a_paced_trial_has_captures_of_the_node_in_both_directions() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    let trials = [
        trial(Layer::UdpIpv4, Direction::Receive),
        trial(Layer::UdpIpv4, Direction::Transmit),
    ];
    for (observation, name) in all(&lab, &trials)
        .iter()
        .zip(["driver to application", "application to driver"])
    {
        let flow = &observation.flows[0];
        let series = flow.series.iter().find(|s| s.name == name);
        let series = series.unwrap_or_else(|| panic!("no {name}: {observation:#?}"));
        let sent = *flow.sent_frames.value().unwrap();
        assert!(series.histogram.count > 0, "{name}: of {sent}");
        assert_eq!(series.clock.owner, wirelab_trial::Owner::Node);
        let median = series.percentile(50.0).unwrap();
        assert!(median > 0, "{name}: {median} ns");
    }
}

#[test]
fn an_echo_has_round_trips_by_the_testers_clock() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    let trials = [64, 256, 1024].map(|length| Trial {
        size: Size::new(SizeUnit::Length, length),
        load: Load::FrameRate {
            frames_per_s: 1000.0,
        },
        extent: Extent::Frames { frames: 512 },
        ..trial(Layer::UdpIpv4, Direction::Echo)
    });
    for observation in all(&lab, &trials) {
        let what = format!("{:?}", observation.trial.size);
        assert_eq!(observation.status, Status::Complete, "{what}");
        let flow = flow(&observation, Direction::Echo);
        assert_clean(flow, &what);
        assert_eq!(flow.sent_frames.value(), Some(&512), "{what}");
        let reflected = common::counter(flow, "node_received_frames");
        assert!(reflected >= counts(flow).good_frames, "{what}");
        let trips = flow.series.iter().find(|s| s.name == "round trip");
        let trips = trips.unwrap_or_else(|| panic!("{observation:#?}"));
        let back = counts(flow).distinct_sequences;
        assert_eq!(trips.raw_ticks.len() as u64, back, "{what}");
        assert_eq!(trips.clock.owner, wirelab_trial::Owner::Tester);
    }
}

#[test]
fn an_echo_beside_a_background_reports_its_round_trips_its_floor_and_the_result_of_the_background()
{
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    let probes = |layer| Trial {
        size: Size::new(SizeUnit::Length, 128),
        load: Load::FrameRate {
            frames_per_s: 500.0,
        },
        extent: Extent::Frames { frames: 200 },
        ..trial(layer, Direction::Echo)
    };
    let layers = [Layer::UdpIpv4, Layer::Ethernet];
    let trials = layers.map(|layer| Trial {
        background: Some("4kpps,length=256".parse().unwrap()),
        ..probes(layer)
    });
    for observation in all(&lab, &trials) {
        let what = format!("{:?}", observation.trial.framing.layer);
        assert_eq!(observation.status, Status::Complete, "{what}");
        let flow = flow(&observation, Direction::Echo);
        assert_clean(flow, &what);
        let back = counts(flow).distinct_sequences;
        let series = |name: &str| flow.series.iter().find(|s| s.name == name);
        let trips = series("round trip").unwrap_or_else(|| panic!("{observation:#?}"));
        assert_eq!(trips.histogram.count, back, "{what}");
        // Ethernet has no loopback of its own.
        let floor = series("tester's floor");
        assert_eq!(
            floor.is_some(),
            observation.trial.framing.layer == Layer::UdpIpv4,
            "{what}"
        );
        // The background is sent for as long as the probes are, and is nothing of their flow.
        let ran = wirelab_trial::BackgroundResult::of(std::slice::from_ref(&observation));
        let ran = ran.unwrap_or_else(|| panic!("{:#?}", observation.counters));
        let (sent, received) = (ran.sent_frames, ran.received_frames.unwrap());
        assert_eq!(sent, received + ran.lost_frames.unwrap(), "{what}");
        assert!(received > 0, "{what}: {ran:?}");
        assert!((ran.asked_frames_per_s - 4000.0).abs() < 100.0, "{ran:?}");
        let slow = has_warning(&observation, "background-below-rate");
        assert!(!slow || observation.tester.was_limit.value() == Some(&true));
    }
}

/// Frames of 200 bytes of length, as the AM263x document takes its layer 2 latency with.
fn ethernet(direction: Direction) -> Trial {
    Trial {
        size: Size::new(SizeUnit::Length, 200),
        load: Load::FrameRate {
            frames_per_s: 1000.0,
        },
        extent: Extent::Frames { frames: 512 },
        ..trial(Layer::Ethernet, direction)
    }
}

#[test]
fn ethernet_in_every_direction_with_its_captures() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    let directions = [
        Direction::Receive,
        Direction::Transmit,
        Direction::Both,
        Direction::Echo,
    ];
    for observation in all(&lab, &directions.map(ethernet)) {
        let direction = observation.trial.direction;
        let what = direction.to_string();
        assert_eq!(observation.status, Status::Complete, "{what}");
        for flow in &observation.flows {
            assert_eq!(flow.sent_frames.value(), Some(&512), "{what}");
            assert_clean(flow, &what);
            let name = match flow.direction {
                Direction::Receive => "driver to application",
                Direction::Transmit => "application to driver",
                _ => "round trip",
            };
            let series = flow.series.iter().find(|s| s.name == name);
            let series = series.unwrap_or_else(|| panic!("no {name}: {flow:#?}"));
            // A stamp may be missing on a busy machine, but not all of them.
            assert!(series.raw_ticks.len() > 10, "{what}: {name}");
        }
    }
}

#[test]
fn ethernet_at_full_speed() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    let trials = [Direction::Receive, Direction::Transmit].map(|direction| Trial {
        size: Size::new(SizeUnit::Payload, 1500),
        load: Load::Max,
        extent: Extent::Time { time_ps: 200 * MS },
        ..ethernet(direction)
    });
    for observation in all(&lab, &trials) {
        let what = observation.trial.direction.to_string();
        assert_eq!(observation.status, Status::Complete, "{what}");
        let flow = &observation.flows[0];
        let sent = *flow.sent_frames.value().unwrap();
        assert_eq!(counts(flow).check_identity(sent), Ok(()), "{what}");
        assert!(counts(flow).good_frames > 500, "{what}: {flow:#?}");
        assert!(flow.payload_bits_per_s.value().is_some(), "{what}");
    }
}

#[test]
fn the_load_of_a_node_on_a_core_of_its_own_is_its_own() {
    let Some(lab) = lab() else { return };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let _node = serve(&lab, |_| {});
    let mut long = trial(Layer::UdpIpv4, Direction::Receive);
    long.extent = Extent::Time { time_ps: 600 * MS };
    let observation = all(&lab, &[long]).remove(0);
    let load = observation.cpu_load.value();
    let load = load.unwrap_or_else(|| panic!("{observation:#?}"));
    assert!((0.0..=1.0).contains(&load.busy_ratio), "{load:?}");
    let idle = load.idle_baseline_ratio;
    assert!(idle.is_none_or(|i| (0.0..=1.0).contains(&i)), "{load:?}");
    assert_eq!(load.shared, has_warning(&observation, "shared-cores"));
    assert_eq!(load.shared, cores < 2, "{observation:#?}");
}

#[test]
fn a_node_on_all_cores_shares_them() {
    let Some(lab) = lab() else { return };
    let cores = wirelab_cores::allowed().unwrap();
    let _node = serve(&lab, |options| options.cores = Some(cores));
    let observation = all(&lab, &[trial(Layer::UdpIpv4, Direction::Receive)]).remove(0);
    if let Some(load) = observation.cpu_load.value() {
        assert!(load.shared);
    }
    assert!(
        has_warning(&observation, "shared-cores"),
        "{observation:#?}"
    );
}

/// Sets a flag when the trial is under way.
struct WhenRunning<'a>(&'a (dyn Fn(u64) + Sync));

impl Progress for WhenRunning<'_> {
    fn report(&self, done: u64, _: u64, _: &str) {
        (self.0)(done);
    }
}

#[test]
fn a_cancelled_trial_keeps_what_was_recorded() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    for direction in [Direction::Receive, Direction::Transmit, Direction::Both] {
        let mut long = trial(Layer::UdpIpv4, direction);
        long.extent = Extent::Time {
            time_ps: 60_000 * MS,
        };
        let observation = on_tester(&lab, || {
            let cancel = Cancel::new();
            let look = |done| {
                if done > 200 {
                    cancel.cancel();
                }
            };
            let mut node = open(NODE_IPV4).unwrap();
            node.run(&long, &WhenRunning(&look), &cancel).unwrap()
        });
        let Status::Partial { why } = &observation.status else {
            panic!("{direction}: {:?}", observation.status);
        };
        assert!(why.contains("ended by the user"), "{why}");
        for flow in &observation.flows {
            assert_eq!(
                counts(flow).check_identity(*flow.sent_frames.value().unwrap()),
                Ok(()),
                "{direction}"
            );
            assert!(counts(flow).good_frames > 50, "{direction}");
        }
    }
}

#[test]
fn a_node_that_dies_leaves_what_the_tester_saw() {
    let Some(lab) = lab() else { return };
    for direction in [Direction::Transmit, Direction::Receive] {
        let node = std::sync::Mutex::new(Some(serve(&lab, |_| {})));
        let mut long = trial(Layer::UdpIpv4, direction);
        long.extent = Extent::Time {
            time_ps: 5_000 * MS,
        };
        let observation = on_tester(&lab, || {
            let look = |done| {
                if done > 300 {
                    node.lock().unwrap().take();
                }
            };
            let mut remote = open(NODE_IPV4).unwrap();
            remote
                .run(&long, &WhenRunning(&look), &Cancel::new())
                .unwrap()
        });
        let Status::Partial { why } = &observation.status else {
            panic!("{direction}: {:?}", observation.status);
        };
        assert!(!why.is_empty());
        let flow = flow(&observation, direction);
        assert!(flow.counts.value().is_none(), "{direction}: {flow:#?}");
        if direction == Direction::Transmit {
            let seen = flow.counters["received_frames"].value();
            assert!(seen.is_some_and(|n| *n > 50), "{flow:#?}");
        } else {
            assert!(flow.sent_frames.value().is_some_and(|n| *n > 50));
        }
        // And the next node at that address is used as usual.
        let _node = serve(&lab, |_| {});
        let next = all(&lab, &[trial(Layer::UdpIpv4, direction)]).remove(0);
        assert_eq!(next.status, Status::Complete);
    }
}

#[test]
fn what_a_node_cannot_do_is_said_before_anything_is_sent() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    let refused = |trial: &Trial| {
        on_tester(&lab, || {
            let mut node = open(NODE_IPV4).unwrap();
            node.run(trial, &(), &Cancel::new())
                .unwrap_err()
                .to_string()
        })
    };
    let base = trial(Layer::UdpIpv4, Direction::Receive);
    for (trial, words) in [
        (trial(Layer::UdpIpv6, Direction::Receive), "udp4"),
        (trial(Layer::TcpIpv4, Direction::Echo), "udp4 or udp6"),
        (
            Trial {
                load: Load::Max,
                ..trial(Layer::UdpIpv4, Direction::Echo)
            },
            "--load 1kpps",
        ),
        (
            Trial {
                ports: 2,
                ..base.clone()
            },
            "--ports 1",
        ),
        (
            Trial {
                extent: Extent::Frames { frames: u64::MAX },
                ..base.clone()
            },
            "a trial on this node has 1 to",
        ),
        (
            Trial {
                size: Size::new(SizeUnit::Datagram, 17),
                ..base.clone()
            },
            "give 18 or more",
        ),
        (
            Trial {
                load: Load::LinkShare { percent: 50.0 },
                ..base
            },
            "--rate",
        ),
    ] {
        let error = refused(&trial);
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn nobody_there_says_what_to_start() {
    let Some(lab) = lab() else { return };
    for (host, words) in [
        (NODE_IPV4, "wirelab node serve"),
        ("192.0.2.77", "there is no route"),
        ("[::1", "']' is missing"),
    ] {
        let error = on_tester(&lab, || open(host).err().unwrap().to_string());
        assert!(error.contains(words), "{host}: {error}");
    }
}

#[test]
fn a_trial_of_a_tester_that_was_killed_is_waited_for() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |options| options.limits.idle_ms = 2_000);
    let trial = trial(Layer::UdpIpv4, Direction::Receive);
    let observation = on_tester(&lab, || {
        common::killed_tester(NODE_IPV4);
        let mut node = open(NODE_IPV4).unwrap();
        node.run(&trial, &(), &Cancel::new()).unwrap()
    });
    assert_eq!(observation.status, Status::Complete);
    assert_clean(&observation.flows[0], "after a tester that was killed");
}
