//! Failures of the portable path: what it refuses, and what it keeps when an interface fails.

use std::time::Duration;

use crate::common::lab;
use crate::over::Over;
use crate::rig;
use crate::rig::{DRAIN, Rig, job, sizes};
use wirelab_port::iface::PortName;
use wirelab_port::inject::Schedule;
use wirelab_port::job::{Pace, SendJob};
use wirelab_port::lab::Side;
use wirelab_port::packet::{CheckOptions, Checker, FrameSink, PacketError, SendOptions, send};
use wirelab_trial::{Buffers, Cancel, Extent, FaultRates};
use wirelab_wire::FrameSpec;

#[test]
fn what_is_not_available_says_so() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let try_send =
        |job: &SendJob| send(&rig.node, job, &SendOptions::default(), &Cancel::new()).unwrap_err();
    let plain = job(rig.spec, 512, 10);
    let text = try_send(&SendJob {
        buffers: Some(Buffers::DmaCopied),
        ..plain.clone()
    })
    .to_string();
    assert!(
        text.starts_with("buffers: a packet socket cannot"),
        "{text}"
    );
    let rates = FaultRates {
        drop: 0.5,
        ..FaultRates::default()
    };
    let faults = Schedule::plan(&rates, 10, plain.sizes.lfsr_len()).unwrap();
    let text = try_send(&SendJob {
        buffers: Some(Buffers::Prefilled),
        faults,
        ..plain.clone()
    })
    .to_string();
    assert!(text.starts_with("faults: prefilled frames"), "{text}");
    let text = try_send(&job(rig.spec, 9018, 10)).to_string();
    assert!(
        text.contains("9014") && text.contains("1500") && text.contains("mtu 9000"),
        "{text}"
    );
    let twice = FrameSpec {
        vlans: [Some(1), Some(2)],
        ..rig.spec
    };
    let text = try_send(&SendJob {
        frame: twice,
        sizes: sizes(&twice, 1526),
        ..plain.clone()
    })
    .to_string();
    assert!(
        text.contains("mtu 1508"),
        "the kernel allows one customer tag only: {text}"
    );
    let nowhere = PortName::new(rig.node.namespace.as_deref(), "nosuch0").unwrap();
    let error = Checker::start(&nowhere, &rig.check(), CheckOptions::default()).unwrap_err();
    assert!(
        error.to_string().contains("n0"),
        "the interfaces there are named: {error}"
    );
    rig::ip(
        &rig.node,
        &["link", "set", "dev", &rig.node.interface, "down"],
    );
    let text = try_send(&plain).to_string();
    assert!(text.contains("is down") && text.contains("up`"), "{text}");
}

#[test]
fn an_interface_that_goes_down_breaks_the_run_off_and_keeps_what_was_done() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let endless = SendJob {
        extent: Extent::Time {
            time_ps: 3_600_000_000_000_000,
        },
        pace: Pace::Interval { ps: 1_000_000_000 },
        ..job(rig.spec, 64, 0)
    };
    for buffers in [None, Some(Buffers::InPlace)] {
        let checker = rig.start();
        let job = SendJob {
            buffers,
            ..endless.clone()
        };
        let error = std::thread::scope(|scope| {
            let sender =
                scope.spawn(|| send(&rig.node, &job, &SendOptions::default(), &Cancel::new()));
            rig::until("some frames have come", || checker.received_frames() > 20);
            rig::ip(
                &rig.node,
                &["link", "set", "dev", &rig.node.interface, "down"],
            );
            sender.join().unwrap().unwrap_err()
        });
        let text = error.to_string();
        let PacketError::Broken { partial, .. } = error else {
            panic!("{text}")
        };
        assert!(partial.emitted_frames > 20, "{partial:?}");
        assert!(
            text.contains("broke off after") && text.contains("up`"),
            "{text}"
        );
        let seen = checker.finish(DRAIN).unwrap().with_sent(partial.sequences);
        assert_eq!(
            seen.counts.check_identity(partial.sequences),
            Ok(()),
            "{seen:?}"
        );
        assert_eq!(seen.counts.distinct_sequences, seen.counts.good_frames);
        // What the kernel took has arrived, except for what the link took with it: at most one call's frames.
        let under_way = partial.emitted_frames.checked_sub(seen.counts.good_frames);
        assert!(
            under_way.is_some_and(|frames| frames <= 32),
            "{buffers:?}: {under_way:?}"
        );
        rig::ip(
            &rig.node,
            &["link", "set", "dev", &rig.node.interface, "up"],
        );
        rig::until("the link is up again", || {
            lab.interface(0, Side::Node).unwrap().carrier
        });
    }
}

#[test]
fn a_queue_that_refuses_every_frame_ends_the_run_and_says_where_to_look() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    // No frame fits its burst.
    rig.shape("tbf rate 1mbit burst 100b limit 100000b");
    let plain = SendJob {
        pace: Pace::Max,
        ..job(rig.spec, 512, 100_000)
    };
    // Through the ring and, for long frames, in batches of system calls, at the same time: both end after 5 s.
    let jumbo = ["link", "set", "dev", &rig.node.interface, "mtu", "9000"];
    rig::ip(&rig.node, &jumbo);
    let long = SendJob {
        sizes: sizes(&rig.spec, 8000),
        ..plain.clone()
    };
    let try_send =
        |job: &SendJob| send(&rig.node, job, &SendOptions::default(), &Cancel::new()).unwrap_err();
    let errors = std::thread::scope(|scope| {
        let jobs = [plain, long].map(|job| scope.spawn(move || try_send(&job)));
        jobs.map(|job| job.join().unwrap())
    });
    for error in errors {
        let text = error.to_string();
        assert!(matches!(error, PacketError::Broken { .. }), "{error:?}");
        assert!(
            text.contains("after 0 frames") && text.contains("qdisc show dev n0"),
            "{text}"
        );
    }
}

#[test]
fn the_checkers_interface_may_go_down_and_the_report_says_so() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let checker = rig.start();
    rig::ip(
        &rig.tester,
        &["link", "set", "dev", &rig.tester.interface, "down"],
    );
    let seen = checker.finish(DRAIN).unwrap();
    assert!(
        seen.notes.iter().any(|n| n.contains("down")),
        "{:?}",
        seen.notes
    );
}

#[test]
fn cancelling_ends_a_run_and_keeps_it() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    for pace in [Pace::Max, Pace::Interval { ps: 1_000_000_000 }] {
        for buffers in [None, Some(Buffers::InPlace), Some(Buffers::Copied)] {
            let job = SendJob {
                pace,
                buffers,
                extent: Extent::Time {
                    time_ps: 3_600_000_000_000_000,
                },
                ..job(rig.spec, 64, 0)
            };
            let checker = rig.start();
            let cancel = Cancel::new();
            let sent = std::thread::scope(|scope| {
                let sender =
                    scope.spawn(|| send(&rig.node, &job, &SendOptions::default(), &cancel));
                let over = Over(cancel.flag());
                rig::until("some frames have come", || checker.received_frames() > 5);
                drop(over);
                sender.join().unwrap().unwrap()
            });
            let seen = checker.finish(DRAIN).unwrap().with_sent(sent.sequences);
            assert_eq!(
                seen.counts.lost_frames, sent.refused_frames,
                "{pace:?} {buffers:?} {seen:?}"
            );
            assert_eq!(seen.counts.check_identity(sent.sequences), Ok(()));
        }
    }
}

#[test]
fn a_ring_that_is_too_small_misses_frames_and_says_so() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    struct Slow;
    impl FrameSink for Slow {
        fn frame(&mut self, _: u64, _: &[u8]) -> std::io::Result<()> {
            std::thread::sleep(Duration::from_millis(1));
            Ok(())
        }
    }
    let options = CheckOptions {
        ring_bytes: Some(1),
        sink: Some(Box::new(Slow)),
        ..CheckOptions::default()
    };
    let checker = Checker::start(&rig.tester, &rig.check(), options).unwrap();
    let sent = send(
        &rig.node,
        &job(rig.spec, 1518, 2000),
        &SendOptions::default(),
        &Cancel::new(),
    )
    .unwrap();
    let seen = checker.finish(DRAIN).unwrap().with_sent(sent.sequences);
    // A capture also takes foreign frames, so it is unknown whose frames the ring dropped.
    let counts = seen.counts;
    assert!(counts.lost_or_missed_frames > 0 && seen.missed.at_least == 0);
    assert_eq!(
        (counts.missed_frames, counts.lost_frames),
        (0, 0),
        "{seen:?}"
    );
    assert!(
        seen.notes.iter().any(|n| n.contains("too slow")),
        "{:?}",
        seen.notes
    );
}
