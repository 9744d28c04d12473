//! What the host dropped before the checker of the fast path, beside drivers that count frames as dropped that the
//! checker ended, and drivers that do not.

use crate::common;
use crate::common::lab;
use crate::rig;
use crate::rig::{Rig, built, spec};
use wirelab_port::iface::{Interface, PortName};
use wirelab_port::job::{CheckJob, CheckReport};
use wirelab_port::netns::{NetNs, may_test};
use wirelab_port::tap::{TapPort, TapSpec};
use wirelab_port::xdp::{Checker, CheckerOptions};
use wirelab_wire::Flow;

const FRAMES: u64 = 2_000;

/// Frames one by one, each tenth lost before the port, with a look at the counters after every fiftieth.
fn with_losses(checker: &Checker, mut frame: impl FnMut(u32)) -> CheckReport {
    let mut came = 0;
    for n in (0..FRAMES as u32).filter(|n| n % 10 != 9) {
        frame(n);
        came += 1;
        if n % 50 == 0 {
            rig::until("the frame", || checker.received() == came);
            checker.look();
        }
    }
    rig::until("all frames", || checker.received() == came);
    checker.report().with_sent(FRAMES)
}

/// All losses are certain, except as many as the host dropped of other frames.
#[track_caller]
fn assert_certain(seen: &CheckReport, in_doubt: u64) {
    let c = seen.counts;
    assert_eq!(c.check_identity(FRAMES), Ok(()));
    assert_eq!(
        (c.lost_frames, c.missed_frames, c.lost_or_missed_frames),
        (FRAMES / 10 - in_doubt, 0, in_doubt),
        "{seen:?}"
    );
}

#[test]
fn losses_are_certain_where_the_driver_counts_what_the_checker_let_end() {
    if !may_test() || !rig::tap_here() {
        return;
    }
    let name = format!("wlt-drops-{}", std::process::id());
    NetNs::create(&name).unwrap();
    let _gone = rig::Namespace(name.clone());
    let port = PortName::new(Some(&name), "tap0").unwrap();
    let tap = TapPort::create(&TapSpec::new(port.clone())).unwrap();
    rig::until("the tap runs", || {
        Interface::query(&port).is_ok_and(|found| found.up && found.carrier)
    });
    let spec = spec([2, 0x57, 0x4C, 0, 0, 7], [2, 0x57, 0x4C, 0, 0, 8]);
    let check = CheckJob {
        flow: Flow {
            source: Some(spec.source),
            ..Flow::default()
        },
        slots: None,
        time_every: 1,
    };
    let checker = Checker::attach(&port, check, CheckerOptions::default()).unwrap();
    let seen = with_losses(&checker, |n| {
        tap.write_frame(&built(&spec, 128, n)).unwrap();
    });
    assert_eq!(
        dropped(&port),
        FRAMES * 9 / 10,
        "this driver counts what the checker let end"
    );
    assert_certain(&seen, 0);
    // Without a receiver after a checker that passes them, the host drops these frames.
    checker.reset();
    let strange = [&[0xFF; 12][..], &[0x99, 0x99], &[0; 46]].concat();
    let seen = with_losses(&checker, |n| {
        tap.write_frame(&built(&spec, 128, n)).unwrap();
        if n >= 1_995 {
            tap.write_frame(&strange).unwrap();
        }
    });
    assert_certain(&seen, 4);
}

#[test]
fn losses_are_certain_where_the_driver_does_not() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let checker = Checker::attach(&rig.tester, rig.check(), CheckerOptions::default()).unwrap();
    let wire = common::sys::RawSocket::open(&rig.node, 3);
    let seen = with_losses(&checker, |n| wire.send(&built(&rig.spec, 128, n)).unwrap());
    assert!(
        dropped(&rig.tester) < FRAMES / 2,
        "this driver does not count them"
    );
    assert_certain(&seen, 0);
}

/// Received frames that the interface counts as dropped.
fn dropped(port: &PortName) -> u64 {
    let path = format!("/sys/class/net/{}/statistics/rx_dropped", port.interface);
    let text = port
        .netns()
        .unwrap()
        .run_with_sysfs(|| std::fs::read_to_string(path));
    text.unwrap().unwrap().trim().parse().unwrap()
}
