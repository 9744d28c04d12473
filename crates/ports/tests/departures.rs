//! Frames count as sent if they left, and a fault of the link is not a loss of the node.

use std::time::Duration;

use crate::common::{
    alone, assert_clean, bridge, counts, has_warning, ip, node, options, received, run, sender,
    sent, shape, tc, trial, until,
};
use crate::over::Over;
use wirelab_port::iface::{Interface, PortName};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::may_test;
use wirelab_port::packet;
use wirelab_ports::{Pair, Path, PortsNode, one_way};
use wirelab_trial::{
    Buffers, Cancel, Extent, Load, Node, Observation, Progress, Size, SizeUnit, Status, Trial,
};

/// Two pairs, bridged on the node's side, whose ports take no XDP frames: a veth without GRO and without a program at
/// its other end.
fn bridged(path: Path) -> Option<(PortsNode, EphemeralLab)> {
    let lab = may_test().then(|| EphemeralLab::up(&LabSpec::unique("wld", 2)).unwrap())?;
    bridge(&lab.port(0, Side::Node).unwrap());
    let pair = Pair {
        node: lab.port(0, Side::Tester).unwrap(),
        tester: lab.port(1, Side::Tester).unwrap(),
    };
    let node = PortsNode::new("bridged", vec![pair], options(path)).unwrap();
    Some((node, lab))
}

#[test]
fn a_driver_that_takes_nothing_is_found_out_and_the_other_path_is_taken() {
    let Some((mut node, lab)) = bridged(Path::Auto) else {
        return;
    };
    let _alone = alone();
    let observation = run(&mut node, &trial(5_000));
    assert_clean(&observation, "on the packet path");
    assert_eq!(sent(&observation.flows[0]), 5_000);
    assert_eq!(sender(&observation.flows[0]).path, "packet");
    assert!(has_warning(&observation, "slow-path"));
    let pairs = node.pairs().to_vec();
    drop(node);
    let mut strict = PortsNode::new("strict", pairs, options(Path::Xdp)).unwrap();
    for trial in [trial(5_000), at_1000(50)] {
        let error = strict.run(&trial, &(), &Cancel::new()).unwrap_err();
        let text = error.to_string();
        let port = lab.port(0, Side::Tester).unwrap().to_string();
        assert!(text.contains("no frame left"), "{text}");
        assert!(
            text.contains(&port) && text.contains("--path packet"),
            "{text}"
        );
    }
}

#[test]
fn a_sender_alone_says_what_left() {
    let Some((node, lab)) = bridged(Path::Auto) else {
        return;
    };
    let _alone = alone();
    drop(node);
    let port = lab.port(0, Side::Tester).unwrap();
    let send = |path| {
        one_way::send(
            &port,
            [2, 0, 0, 0, 0, 9],
            0,
            &trial(1_000),
            path,
            &Cancel::new(),
        )
    };
    let error = send(Path::Xdp).unwrap_err().to_string();
    assert!(
        error.contains("refused all") && error.contains("1000"),
        "{error}"
    );
    let report = send(Path::Packet).unwrap();
    assert_eq!((report.emitted_frames, report.refused_frames), (1_000, 0));
}

/// A ring of a veth holds 256 frames. Frames that do not fit never left, whatever their number.
#[test]
fn frames_that_a_full_queue_refuses_are_neither_sent_nor_lost() {
    let Some(lab) = may_test().then(|| EphemeralLab::up(&LabSpec::unique("wlq", 1)).unwrap())
    else {
        return;
    };
    let _alone = alone();
    lab.set_threaded_napi(0, Side::Tester, true).unwrap();
    let pairs = wirelab_ports::pairs_of(&lab).unwrap();
    let mut node = PortsNode::new("queue", pairs, options(Path::Xdp)).unwrap();
    let observation = run(&mut node, &trial(300_000));
    let flow = &observation.flows[0];
    let counts = counts(flow);
    assert_eq!(counts.lost_frames, 0, "{counts:?}");
    assert_eq!(counts.check_identity(sent(flow)), Ok(()));
    assert!(sent(flow) < 300_000, "the ring took all: {counts:?}");
    // A busy host may leave the last of them in the ring until the end of the trial.
    let in_doubt = counts.lost_or_missed_frames;
    assert_eq!(counts.good_frames + in_doubt, sent(flow), "{counts:?}");
    assert!(in_doubt <= 256, "{counts:?}");
    assert!(has_warning(&observation, "driver-refused"));
}

/// The queue of the port takes every frame and drops older ones for it, without an error for the sender.
#[test]
fn frames_that_a_queue_of_the_port_drops_are_neither_sent_nor_lost() {
    let Some(mut node) = node(1, Path::Packet) else {
        return;
    };
    let _alone = alone();
    let port = node.pairs()[0].node.clone();
    drop_the_oldest(&port, 100);
    let observation = run(&mut node, &at_1000(500));
    let flow = &observation.flows[0];
    let c = counts(flow);
    assert_eq!(c.lost_frames + c.lost_or_missed_frames, 0, "{c:?}");
    assert_eq!(c.check_identity(sent(flow)), Ok(()));
    assert!(sent(flow) < 300 && c.good_frames == sent(flow), "{c:?}");
    assert!(
        has_warning(&observation, "driver-refused"),
        "{observation:#?}"
    );
}

/// Limits a port to this many frames/s of 64 bytes, with a queue of ten that drops its first frame for the next.
fn drop_the_oldest(port: &PortName, frames_per_s: u64) {
    shape(port, frames_per_s * 84 * 8);
    let own = "parent 8001: handle 8002: pfifo_head_drop limit 10";
    tc(port, &format!("qdisc replace dev {} {own}", port.interface));
}

/// Other senders on the same port hide how many of the flow's frames never left: the loss is then a range.
#[test]
fn what_a_queue_drops_beside_foreign_frames_is_no_certain_loss() {
    let Some(mut node) = node(1, Path::Packet) else {
        return;
    };
    let _alone = alone();
    let pair = node.pairs()[0].clone();
    let mac = Interface::query(&pair.tester).unwrap().mac.0;
    drop_the_oldest(&pair.node, 200);
    let over = std::sync::atomic::AtomicBool::new(false);
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    let observation = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(relaxed) {
                packet::announce(&pair.node, mac, [None; 2]).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let _over = Over(&over);
        run(&mut node, &at_1000(500))
    });
    let flow = &observation.flows[0];
    let c = counts(flow);
    assert_eq!(c.lost_frames, 0, "{c:?}");
    assert!(c.lost_or_missed_frames > 0, "no foreign frame left: {c:?}");
    assert_eq!(c.check_identity(sent(flow)), Ok(()));
    assert!(
        has_warning(&observation, "departure-unknown"),
        "{observation:#?}"
    );
}

#[test]
fn a_shaper_is_said_to_be_bypassed_only_where_it_is() {
    let Some((mut bridged, _lab)) = bridged(Path::Auto) else {
        return;
    };
    let _alone = alone();
    shape(&bridged.pairs()[0].node.clone(), 100_000_000);
    let observation = run(&mut bridged, &trial(500));
    assert_eq!(sender(&observation.flows[0]).path, "packet");
    assert!(!has_warning(&observation, "shaper-bypassed"));
    let mut direct = node(1, Path::Auto).unwrap();
    shape(&direct.pairs()[0].node.clone(), 100_000_000);
    assert!(has_warning(
        &run(&mut direct, &trial(500)),
        "shaper-bypassed"
    ));
    let observation = run(&mut direct, &buffers(50));
    assert!(!has_warning(&observation, "shaper-bypassed"));
}

/// A sender that the kernel stops with an error: its frames until then count, and the trial is partial.
#[test]
fn a_sender_that_broke_off_makes_a_trial_partial() {
    let Some(mut node) = node(1, Path::Packet) else {
        return;
    };
    let _alone = alone();
    let pair = node.pairs()[0].clone();
    let observation = with_fault(&mut node, &pair.tester, 512, || {
        ip(&pair.node, &["link", "set", "dev", "n0", "mtu", "100"]);
    });
    let Status::Partial { why } = &observation.status else {
        panic!("{:?}", observation.status);
    };
    assert!(
        why.contains("n0: sending broke off after") && why.contains("Message too long"),
        "{why}"
    );
    let flow = &observation.flows[0];
    assert!(counts(flow).good_frames >= 50 && counts(flow).lost_frames == 0);
    assert_eq!(counts(flow).check_identity(sent(flow)), Ok(()));
}

fn buffers(frames: u64) -> Trial {
    Trial {
        buffers: Some(Buffers::InPlace),
        load: Load::Max,
        ..at_1000(frames)
    }
}

#[test]
fn a_trial_of_buffers_says_in_words_what_did_not_leave() {
    let Some(mut node) = node(1, Path::Packet) else {
        return;
    };
    let _alone = alone();
    drop_the_oldest(&node.pairs()[0].node.clone(), 100);
    let observation = run(&mut node, &buffers(50));
    assert_void(&observation, ["run 1 of 3: ", "of 50 frames did not leave"]);
    let Status::Void { why } = &observation.status else {
        unreachable!();
    };
    assert!(!why.contains("were lost") && !why.contains('{'), "{why}");
}

#[test]
fn a_trial_of_buffers_that_is_ended_early_keeps_its_whole_runs() {
    let Some(mut node) = node(1, Path::Packet) else {
        return;
    };
    let _alone = alone();
    let cancel = Cancel::new();
    /// Ends the trial from inside its second run.
    struct EndSoon<'a>(&'a Cancel);
    impl Progress for EndSoon<'_> {
        fn report(&self, done: u64, _: u64, _: &str) {
            if done == 1 {
                self.0.cancel();
            }
        }
    }
    let observation = node.run(&buffers(50), &EndSoon(&cancel), &cancel).unwrap();
    assert_eq!(observation.status, Status::cancelled());
    assert!(counts(&observation.flows[0]).is_clean());
    assert!(observation.flows[0].frames_per_s.value().is_some());
}

fn at_1000(frames: u64) -> Trial {
    Trial {
        load: Load::FrameRate {
            frames_per_s: 1_000.0,
        },
        extent: Extent::Frames { frames },
        ..trial(0)
    }
}

/// A trial of a second, with a fault of a port in its middle.
fn with_fault(
    node: &mut PortsNode,
    port: &PortName,
    frame: u32,
    fault: impl FnOnce(),
) -> Observation {
    let begin = received(port);
    let trial = Trial {
        size: Size::new(SizeUnit::Frame, frame),
        extent: Extent::Time {
            time_ps: 1_000_000_000_000,
        },
        ..at_1000(0)
    };
    std::thread::scope(|scope| {
        let run = scope.spawn(|| node.run(&trial, &(), &Cancel::new()));
        until("some frames", || received(port) > begin + 50);
        fault();
        run.join().unwrap().unwrap()
    })
}

#[track_caller]
fn assert_void(observation: &Observation, words: [&str; 2]) {
    let Status::Void { why } = &observation.status else {
        panic!("{:?}", observation.status);
    };
    for word in words {
        assert!(why.contains(word), "'{word}' is not in: {why}");
    }
    assert!(!observation.passed());
    for flow in &observation.flows {
        assert!(flow.counts.value().is_none(), "{:?}", flow.counts);
        assert!(flow.loss_ratio.value().is_none() && flow.loss_ratio_at_most.is_none());
        let rates = [
            &flow.frames_per_s,
            &flow.payload_bits_per_s,
            &flow.link_bits_per_s,
            &flow.efficiency,
            &flow.goodput_bits_per_s,
        ];
        assert!(rates.iter().all(|rate| rate.value().is_none()));
        assert!(flow.jitter_ps.value().is_none() && flow.elapsed.value().is_none());
        assert!(flow.intervals == Default::default() && flow.series.is_empty());
    }
    assert!(observation.series.is_empty());
    assert_eq!(observation.tester.was_limit.value(), None);
}

#[test]
fn a_link_that_went_down_for_a_moment_makes_a_trial_void() {
    for path in [Path::Xdp, Path::Packet] {
        for side in ["n0", "t0"] {
            let Some(mut node) = node(1, path) else {
                return;
            };
            let _alone = alone();
            let pair = node.pairs()[0].clone();
            let lost = if side == "n0" {
                &pair.node
            } else {
                &pair.tester
            };
            let observation = with_fault(&mut node, &pair.tester, 64, || {
                ip(lost, &["link", "set", "dev", side, "down"]);
                std::thread::sleep(Duration::from_millis(100));
                ip(lost, &["link", "set", "dev", side, "up"]);
            });
            assert_void(&observation, ["carrier", "during the run"]);
            until("the link to be back", || {
                node.run(&trial(10), &(), &Cancel::new()).is_ok()
            });
            assert_clean(&run(&mut node, &trial(200)), "up again");
        }
    }
}

#[test]
fn an_interface_that_went_away_makes_a_trial_void() {
    for path in [Path::Xdp, Path::Packet] {
        let Some(mut node) = node(1, path) else {
            return;
        };
        let _alone = alone();
        let pair = node.pairs()[0].clone();
        let observation = with_fault(&mut node, &pair.tester, 64, || {
            ip(&pair.node, &["link", "delete", "dev", "n0"]);
        });
        assert_void(&observation, ["n0", "deleted"]);
    }
}
