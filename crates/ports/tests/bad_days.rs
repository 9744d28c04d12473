//! Failures of a pair of ports: each is refused or survived, with a message that names the thing and the fix.

use std::process::{Command, Stdio};

use crate::common::{
    alone, assert_clean, counts, has_warning, ip, node, node_of, options, received, run, sent,
    trial, until,
};
use crate::over::Over;
use wirelab_port::iface::PortName;
use wirelab_port::job::CheckJob;
use wirelab_port::lab::{Lab, LabSpec, Side};
use wirelab_port::netns::NetNs;
use wirelab_port::netns::may_test;
use wirelab_port::xdp::{self, program_on};
use wirelab_ports::{Pair, Path, PortsNode, pairs_of};
use wirelab_trial::{
    Cancel, Direction, Extent, Load, Node, NodeError, Size, SizeUnit, Status, Trial, TrialField,
    TrialOption,
};
use wirelab_wire::Flow;

fn refused(node: &mut PortsNode, trial: &Trial) -> NodeError {
    node.run(trial, &(), &Cancel::new()).unwrap_err()
}

#[track_caller]
fn assert_says(error: impl std::fmt::Display, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
}

#[test]
fn what_a_trial_cannot_have_is_named_with_the_limit() {
    let Some(mut node) = node(1, Path::Auto) else {
        return;
    };
    let size = |unit, bytes| Trial {
        size: Size::new(unit, bytes),
        ..trial(10)
    };
    assert_says(
        refused(&mut node, &size(SizeUnit::Frame, 63)),
        &["63", "64"],
    );
    assert_says(
        refused(&mut node, &size(SizeUnit::Frame, 1600)),
        &["1596", "1500", "mtu 1582"],
    );
    let share = Trial {
        load: Load::LinkShare { percent: 95.0 },
        ..trial(10)
    };
    assert_says(refused(&mut node, &share), &["95%", "--rate"]);
    let above = Trial {
        load: Load::FrameRate {
            frames_per_s: 200_000.0,
        },
        link_bits_per_s: Some(100_000_000),
        ..trial(10)
    };
    assert_says(
        refused(&mut node, &above),
        &["200000", "100000000", "148809"],
    );
    let none = Trial {
        link_bits_per_s: Some(0),
        ..trial(10)
    };
    assert_says(refused(&mut node, &none), &["link rate of 0", "--rate"]);
    let two = Trial {
        ports: 2,
        ..trial(10)
    };
    assert_says(refused(&mut node, &two), &["ports", "2 requested", "has 1"]);
    let echo = Trial {
        direction: Direction::Echo,
        ..trial(10)
    };
    assert!(
        matches!(refused(&mut node, &echo), NodeError::Unsupported(u) if u.field == Some(TrialField::Direction))
    );
    let taken = [
        TrialOption::Link,
        TrialOption::Buffers,
        TrialOption::StrictGaps,
        TrialOption::Faults,
        TrialOption::Dscp,
    ];
    for (field, asked) in trial(10).with_each_but(&taken) {
        let NodeError::Unsupported(no) = refused(&mut node, &asked) else {
            panic!("{field} was accepted");
        };
        assert_eq!(no.field.map(TrialField::name), Some(field));
        assert_says(no, &["no node between them", "leave it out"]);
    }
    assert_clean(&run(&mut node, &trial(1000)), "after all that");
}

#[test]
fn interfaces_that_are_unknown_down_or_without_carrier_are_named() {
    let Some(mut node) = node(1, Path::Auto) else {
        return;
    };
    let Pair {
        node: near,
        tester: far,
    } = node.pairs()[0].clone();
    let nosuch = PortName::new(near.namespace.as_deref(), "nosuch0").unwrap();
    let pair = Pair {
        node: nosuch,
        tester: far.clone(),
    };
    let error = PortsNode::new("bad", vec![pair], options(Path::Auto))
        .err()
        .unwrap();
    assert_says(error, &["nosuch0", "n0"]);
    ip(&far, &["link", "set", "dev", "t0", "down"]);
    let error = refused(&mut node, &trial(10));
    assert_says(error, &["n0", "no carrier"]);
    ip(&near, &["link", "set", "dev", "n0", "down"]);
    assert_says(refused(&mut node, &trial(10)), &["n0", "is down", "up`"]);
    ip(&near, &["link", "set", "dev", "n0", "up"]);
    ip(&far, &["link", "set", "dev", "t0", "up"]);
    until("the carrier", || {
        node.run(&trial(10), &(), &Cancel::new()).is_ok()
    });
    assert_clean(&run(&mut node, &trial(1000)), "up again");
}

#[test]
fn a_program_of_another_program_is_refused_on_every_path_that_needs_its_place() {
    let Some(mut node) = node(1, Path::Auto) else {
        return;
    };
    let tester = node.pairs()[0].tester.clone();
    let job = CheckJob {
        flow: Flow::default(),
        slots: None,
        time_every: 1,
    };
    let options = xdp::CheckerOptions {
        pass: true,
        ..Default::default()
    };
    let somebody = xdp::Checker::attach(&tester, job, options).unwrap();
    let (name, id) = program_on(&tester).unwrap().unwrap();
    let error = refused(&mut node, &trial(100));
    assert_says(
        error,
        &[&tester.to_string(), &name, &id.to_string(), "xdp off"],
    );
    assert_eq!(program_on(&tester).unwrap(), Some((name, id)));
    drop(somebody);
    assert_clean(&run(&mut node, &trial(1000)), "alone again");
    assert_eq!(program_on(&tester).unwrap(), None, "nothing stays attached");
}

#[test]
fn a_port_has_one_run_at_a_time() {
    let Some(node) = node(1, Path::Auto) else {
        return;
    };
    let pairs = node.pairs().to_vec();
    let error = PortsNode::new("second", pairs, options(Path::Auto))
        .err()
        .unwrap();
    assert_says(error, &["n0", "in use", &std::process::id().to_string()]);
}

#[test]
fn a_cancelled_trial_is_partial_and_keeps_its_counts() {
    for path in [Path::Xdp, Path::Packet] {
        let Some(mut node) = node(1, path) else {
            return;
        };
        let _alone = alone();
        let tester = node.pairs()[0].tester.clone();
        let cancel = Cancel::new();
        let begin = received(&tester);
        let observation = std::thread::scope(|scope| {
            let run = scope.spawn(|| node.run(&trial(1 << 40), &(), &cancel));
            let over = Over(cancel.flag());
            until("some frames", || received(&tester) > begin + 5000);
            drop(over);
            run.join().unwrap().unwrap()
        });
        let why = format!("{path:?}: {observation:?}");
        assert!(
            matches!(observation.status, Status::Partial { .. }),
            "{why}"
        );
        assert!(!observation.passed());
        let flow = &observation.flows[0];
        assert!(counts(flow).good_frames > 1000, "{why}");
        assert_eq!(counts(flow).check_identity(sent(flow)), Ok(()), "{why}");
        assert_eq!(program_on(&tester).unwrap(), None);
    }
}

#[test]
fn long_frames_and_big_mtus_fall_to_the_portable_path_and_say_so() {
    let mut spec = LabSpec::unique("wln", 1);
    spec.mtu = 9000;
    let Some(mut node) = node_of(&spec, Path::Auto) else {
        return;
    };
    let _alone = alone();
    // A long frame takes the other path correctly; for short ones the MTU is the obstacle.
    for (frame, code) in [(9018, "long-frames"), (1518, "slow-path")] {
        let trial = Trial {
            size: Size::new(SizeUnit::Frame, frame),
            load: Load::FrameRate {
                frames_per_s: 5_000.0,
            },
            ..trial(500)
        };
        let observation = run(&mut node, &trial);
        assert_clean(&observation, &format!("frame {frame}"));
        assert_eq!(observation.flows[0].receiver_path, "packet");
        assert!(
            has_warning(&observation, code),
            "{:?}",
            observation.warnings
        );
    }
    drop(node);
    let Some(mut strict) = node_of(
        &LabSpec {
            mtu: 9000,
            ..LabSpec::unique("wln", 1)
        },
        Path::Xdp,
    ) else {
        return;
    };
    let long = Trial {
        size: Size::new(SizeUnit::Frame, 9018),
        ..trial(10)
    };
    assert_says(refused(&mut strict, &long), &["--path packet"]);
}

const CHILD: &str = "WIRELAB_TEST_PORTS_CHILD";

#[test]
fn a_killed_run_leaves_no_lab_and_its_ports_were_its_own() {
    if let Ok(name) = std::env::var(CHILD) {
        let mut node = PortsNode::in_lab(&LabSpec::new(name, 2), options(Path::Auto)).unwrap();
        let trial = Trial {
            direction: Direction::Both,
            ports: 2,
            extent: Extent::Time {
                time_ps: 600_000_000_000_000,
            },
            load: Load::FrameRate {
                frames_per_s: 10_000.0,
            },
            ..trial(0)
        };
        node.run(&trial, &(), &Cancel::new()).unwrap();
        return;
    }
    if !may_test() {
        return;
    }
    let spec = LabSpec::unique("wlk", 2);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "bad_days::a_killed_run_leaves_no_lab_and_its_ports_were_its_own",
        ])
        .env(CHILD, &spec.name)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let namespace = spec.namespace(Side::Tester);
    let port = PortName::new(Some(&namespace), "t0").unwrap();
    until("the other run", || received(&port) > 5_000);
    let pairs = pairs_of(&Lab::open(&spec.name).unwrap()).unwrap();
    let error = PortsNode::new("second", pairs, options(Path::Auto))
        .err()
        .unwrap();
    assert_says(error, &["in use", &child.id().to_string()]);
    let before = received(&port);
    until("it is in mid-run", || received(&port) > before);
    child.kill().unwrap();
    child.wait().unwrap();
    until("its namespaces to go", || {
        !NetNs::list()
            .unwrap()
            .iter()
            .any(|n| n.starts_with(&spec.name))
    });
    assert!(Lab::open(&spec.name).is_err());
}
