//! Failures of the fast path: what it refuses, what it does not touch, and what it leaves when it is killed.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::sys::RawSocket;
use crate::common::{lab, lab_of};
use crate::fast;
use crate::fast::{alone, attach, rates, run, settle, with_faults};
use crate::over::Over;
use crate::rig;
use crate::rig::{Rig, built, ip, job, sizes, until};
use wirelab_port::iface::PortName;
use wirelab_port::job::{Pace, SendJob};
use wirelab_port::lab::{LabSpec, Side};
use wirelab_port::xdp::{
    Checker, CheckerOptions, Generator, GeneratorOptions, MAX_LENGTH, XdpError, program_on,
};
use wirelab_trial::{Buffers, Cancel, Extent};
use wirelab_wire::Flow;

fn load(rig: &Rig, job: &SendJob) -> Result<Generator, XdpError> {
    Generator::load(
        &[(rig.node.clone(), job.clone())],
        GeneratorOptions::default(),
    )
}

#[test]
fn what_is_not_available_says_so_and_names_the_fix() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let text = |r: Result<Generator, XdpError>| r.err().unwrap().to_string();
    let plain = job(rig.spec, 64, 10);

    let long = job(rig.spec, MAX_LENGTH + 5, 10);
    let said = text(load(&rig, &long));
    assert!(
        said.contains("3369") && said.contains("3368") && said.contains("--path packet"),
        "{said}"
    );
    let said = text(load(
        &rig,
        &SendJob {
            buffers: Some(Buffers::Copied),
            ..plain.clone()
        },
    ));
    assert!(said.contains("buffers copied"), "{said}");
    let said = text(Generator::load(&[], GeneratorOptions::default()));
    assert!(said.contains("has no port"), "{said}");
    let many = vec![(rig.node.clone(), plain.clone()); 17];
    let said = text(Generator::load(&many, GeneratorOptions::default()));
    assert!(
        said.contains("17 ports are too many") && said.contains("at most 16"),
        "{said}"
    );
    let mut odd = rig.check();
    odd.time_every = 3;
    let error = Checker::load(odd, CheckerOptions::default()).err().unwrap();
    assert!(error.to_string().contains("one frame in 3"), "{error}");

    let nowhere = PortName::new(rig.node.namespace.as_deref(), "nosuch0").unwrap();
    let error = Checker::attach(&nowhere, rig.check(), CheckerOptions::default());
    let said = error.err().unwrap().to_string();
    assert!(said.contains("nosuch0") && said.contains("n0"), "{said}");

    ip(
        &rig.tester,
        &["link", "set", "dev", &rig.tester.interface, "down"],
    );
    let error = Checker::attach(&rig.tester, rig.check(), CheckerOptions::default());
    let said = error.err().unwrap().to_string();
    assert!(said.contains("t0") && said.contains("is down"), "{said}");
    ip(
        &rig.node,
        &["link", "set", "dev", &rig.node.interface, "down"],
    );
    let said = text(load(&rig, &plain));
    assert!(said.contains("n0") && said.contains("is down"), "{said}");
}

#[test]
fn the_program_of_another_program_is_named_and_stays() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    assert_eq!(program_on(&rig.tester).unwrap(), None);
    let somebody = attach(&rig, rig.check());
    let (name, id) = program_on(&rig.tester).unwrap().unwrap();
    assert_eq!(name, "check");
    let error = Checker::attach(&rig.tester, rig.check(), CheckerOptions::default());
    let error = error.err().unwrap();
    assert!(
        matches!(&error, XdpError::Occupied { program, id: told, .. } if program == "check" && *told == id)
    );
    let said = error.to_string();
    assert!(
        said.contains(&rig.tester.to_string()) && said.contains("link set dev t0 xdp off`"),
        "{said}"
    );
    assert!(!said.contains('\\') && !said.contains('\n'), "{said:?}");
    assert_eq!(
        program_on(&rig.tester).unwrap(),
        Some((name, id)),
        "it stays"
    );
    // The ring of the link holds this many, however slow the receiver is.
    const FEW: u64 = 200;
    let sent = fast::send(&rig, &job(rig.spec, 64, FEW));
    settle(&somebody, sent.emitted_frames);
    assert_eq!(somebody.report().counts.good_frames, FEW, "and works");
    drop(somebody);
    assert_eq!(
        program_on(&rig.tester).unwrap(),
        None,
        "gone with its owner"
    );
    let (_, seen) = run(&rig, &job(rig.spec, 64, FEW), rig.check());
    assert!(seen.counts.is_clean() && seen.counts.good_frames == FEW);
}

#[test]
fn foreign_frames_are_counted_and_passed_on() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let mut check = rig.check();
    check.flow.stream = Some(0);
    let checker = attach(&rig, check);
    let (wire, tap) = (
        RawSocket::open(&rig.node, 3),
        RawSocket::open(&rig.tester, 0x88B5),
    );
    let stranger = [2, 7, 7, 7, 7, 7];
    let mut same_type = vec![0x5A; 60];
    same_type[..6].copy_from_slice(&rig.spec.destination);
    same_type[6..12].copy_from_slice(&stranger);
    same_type[12..14].copy_from_slice(&[0x88, 0xB5]);
    let mut other_stream = built(&rig.spec, 64, 0);
    other_stream[17] = 1;
    other_stream[31] -= 1;
    for frame in [&same_type, &other_stream] {
        wire.send(frame).unwrap();
        let (passed, _) = tap.receive(Duration::from_secs(10)).expect("passed on");
        assert_eq!(&passed, frame);
    }
    wire.send(&built(&rig.spec, 64, 0)).unwrap();
    until("the frame of the flow", || checker.received() == 1);
    let counts = checker.report().with_sent(1).counts;
    // Besides wirelab's frames there may be some of the stacks.
    assert!(
        counts.foreign_frames >= 2 && counts.is_clean(),
        "{counts:?}"
    );
    assert_eq!(counts.check_identity(1), Ok(()));
    assert_eq!(
        tap.receive(Duration::from_millis(200)),
        None,
        "ours is kept"
    );
}

#[test]
fn a_cancelled_run_keeps_its_counts_at_any_pace() {
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    for pace in [
        Pace::Max,
        Pace::Interval { ps: 5_000_000 },
        Pace::Interval { ps: 1_000_000_000 },
    ] {
        let plain = SendJob {
            pace,
            ..job(rig.spec, 64, 1 << 40)
        };
        let job = with_faults(plain, &rates(&["drop", "swap"], 0.05, 1), 300_000);
        let checker = attach(&rig, rig.check());
        let generator = load(&rig, &job).unwrap();
        let cancel = Cancel::new();
        let sent = std::thread::scope(|scope| {
            let run = scope.spawn(|| generator.run(&cancel));
            let over = Over(cancel.flag());
            until("some frames", || checker.received() > 20);
            drop(over);
            run.join().unwrap().unwrap().remove(0)
        });
        settle(&checker, sent.emitted_frames);
        let counts = checker.report().with_sent(sent.sequences).counts;
        assert!(
            sent.emitted_frames > 20 && counts.good_frames > 20,
            "{pace:?}"
        );
        assert_eq!(counts.received_frames, sent.emitted_frames, "{pace:?}");
        assert_eq!(counts.check_identity(sent.sequences), Ok(()), "{pace:?}");
        let ledger = job.faults.ledger(sent.emitted_frames);
        assert_eq!(ledger.differences(&counts), [], "{pace:?}");
    }
}

#[test]
fn a_run_by_time_ends_and_a_cancel_before_it_sends_nothing() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let job = SendJob {
        pace: Pace::Interval { ps: 1_000_000_000 },
        extent: Extent::Time {
            time_ps: 50_000_000_000,
        },
        ..job(rig.spec, 64, 0)
    };
    let (sent, seen) = run(&rig, &job, rig.check());
    assert_eq!((sent.sequences, seen.counts.good_frames), (50, 50));
    let cancel = Cancel::new();
    cancel.cancel();
    let sent = load(&rig, &job).unwrap().run(&cancel).unwrap().remove(0);
    assert_eq!((sent.emitted_frames, sent.sequences), (0, 0));
}

#[test]
fn an_mtu_that_xdp_does_not_take_is_an_error_and_no_panic() {
    let mut spec = LabSpec::unique("wlx", 1);
    spec.mtu = 9000;
    let Some(lab) = lab_of(spec) else { return };
    let rig = Rig::new(&lab);
    let error = Checker::attach(&rig.tester, rig.check(), CheckerOptions::default());
    let error = error.err().unwrap();
    assert!(matches!(error, XdpError::Unsupported { .. }));
    let said = error.to_string();
    assert!(
        said.contains("9000") && said.contains("--path packet"),
        "{said}"
    );
    assert_eq!(program_on(&rig.tester).unwrap(), None);
}

const CHILD: &str = "WIRELAB_TEST_XDP_CHILD";

/// The objects in the file systems in which eBPF objects can be pinned.
fn pinned() -> Vec<String> {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    let mut found = Vec::new();
    for mount in mounts.lines().map(|l| l.split(' ').collect::<Vec<_>>()) {
        if mount.get(2) == Some(&"bpf") {
            let entries = std::fs::read_dir(Path::new(mount[1])).unwrap();
            found.extend(entries.map(|e| e.unwrap().path().display().to_string()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_killed_run_leaves_neither_program_nor_map() {
    if let Ok(lab) = std::env::var(CHILD) {
        let port = |side: Side, letter: char| {
            PortName::new(Some(&format!("{lab}-{side}")), &format!("{letter}0")).unwrap()
        };
        let (node, tester) = (port(Side::Node, 'n'), port(Side::Tester, 't'));
        let check = wirelab_port::job::CheckJob {
            flow: Flow::default(),
            slots: None,
            time_every: 1,
        };
        let _checker = Checker::attach(&tester, check, CheckerOptions::default()).unwrap();
        let spec = rig::spec([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let job = job(spec, 64, u64::MAX / 1000);
        let generator = Generator::load(&[(node, job)], GeneratorOptions::default()).unwrap();
        generator.run(&Cancel::new()).unwrap();
        return;
    }
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    let before = pinned();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "xdp_trouble::a_killed_run_leaves_neither_program_nor_map",
        ])
        .env(CHILD, lab.name())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let received = |port: &PortName| {
        let file = format!("/sys/class/net/{}/statistics/rx_packets", port.interface);
        let read = || std::fs::read_to_string(&file).unwrap_or_default();
        let text = port.netns().unwrap().run_with_sysfs(read).unwrap();
        text.trim().parse::<u64>().unwrap_or(0)
    };
    until("the child's run", || {
        program_on(&rig.tester).unwrap().is_some() && received(&rig.tester) > 10_000
    });
    let frames = received(&rig.tester);
    until("it is in mid-run", || received(&rig.tester) > frames);
    child.kill().unwrap();
    child.wait().unwrap();
    until("its program to go", || {
        program_on(&rig.tester).unwrap().is_none()
    });
    let frames = received(&rig.tester);
    std::thread::sleep(Duration::from_millis(100));
    assert!(
        received(&rig.tester) <= frames + 10,
        "nobody sends any more"
    );
    assert_eq!(pinned(), before);
    let (_, seen) = run(&rig, &job(rig.spec, 64, 1000), rig.check());
    assert!(seen.counts.is_clean() && seen.counts.good_frames == 1000);
}

#[test]
fn a_receiver_that_goes_down_is_a_loss_and_no_more() {
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    let checker = attach(&rig, rig.check());
    let job = SendJob {
        pace: Pace::Interval { ps: 20_000_000 },
        sizes: sizes(&rig.spec, 128),
        // Until the receiver is down for a while.
        ..job(rig.spec, 64, 1 << 40)
    };
    let generator = load(&rig, &job).unwrap();
    let cancel = Cancel::new();
    let sent = std::thread::scope(|scope| {
        let run = scope.spawn(|| generator.run(&cancel));
        let over = Over(cancel.flag());
        until("some frames", || checker.received() > 100);
        ip(
            &rig.tester,
            &["link", "set", "dev", &rig.tester.interface, "down"],
        );
        std::thread::sleep(Duration::from_millis(100));
        drop(over);
        run.join().unwrap().unwrap().remove(0)
    });
    settle(&checker, sent.emitted_frames);
    let counts = checker.report().with_sent(sent.sequences).counts;
    assert!(
        counts.lost_frames > 0 && counts.good_frames > 100,
        "{counts:?}"
    );
    assert_eq!(counts.check_identity(sent.sequences), Ok(()));
}

const HELD: &str = "WIRELAB_TEST_XDP_HELD";
/// The pace of the process that is stopped.
const PACE: &str = "WIRELAB_TEST_XDP_PACE";

/// The report of a sender in a separate process that was stopped for 0.4 s: slips, time slipped, longest burst,
/// frames.
fn held_up(test: &str, name: &str, pace: Pace) -> Option<[u64; 4]> {
    if let Ok(file) = std::env::var(HELD) {
        let lab = lab(1)?;
        let rig = Rig::new(&lab);
        let _checker = attach(&rig, rig.check());
        let extent = Extent::Time {
            time_ps: 2_000_000_000_000,
        };
        let job = SendJob {
            extent,
            pace,
            ..job(rig.spec, 64, 0)
        };
        let generator = load(&rig, &job).unwrap();
        std::fs::write(&file, "sending").unwrap();
        let sent = generator.run(&Cancel::new()).unwrap().remove(0);
        let burst = sent.longest_burst_frames.unwrap_or(0);
        let (slips, slipped_ns, frames) = (sent.slips, sent.slipped_ns, sent.sequences);
        std::fs::write(&file, format!("{slips} {slipped_ns} {burst} {frames}")).unwrap();
        return None;
    }
    if !wirelab_port::netns::may_test() {
        return None;
    }
    let _alone = alone();
    let file = tempfile::NamedTempFile::new().unwrap();
    let said = || std::fs::read_to_string(file.path()).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("xdp_trouble::{test}")])
        .env(HELD, file.path())
        .env(PACE, name)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("the child's run", || said() == "sending");
    std::thread::sleep(Duration::from_millis(500));
    let process = nix::unistd::Pid::from_raw(child.id() as i32);
    let signal = |signal| nix::sys::signal::kill(process, signal).unwrap();
    signal(nix::sys::signal::Signal::SIGSTOP);
    std::thread::sleep(Duration::from_millis(400));
    signal(nix::sys::signal::Signal::SIGCONT);
    assert!(child.wait().unwrap().success());
    let numbers: Vec<u64> = said().split(' ').map(|n| n.parse().unwrap()).collect();
    Some(numbers.try_into().unwrap())
}

/// Of 400 ms, all count as a pause at maximum load and with strict gaps. Otherwise a thousand frames, which are due
/// in 100 ms, are caught up.
#[test]
fn a_sender_that_its_host_stopped_says_so_and_makes_up_for_what_its_pace_allows() {
    let test = "a_sender_that_its_host_stopped_says_so_and_makes_up_for_what_its_pace_allows";
    let ps = 100_000_000;
    let at_pace = std::env::var(PACE).ok();
    for (name, pace, least_slipped_ns, bursts) in [
        ("max", Pace::Max, 350_000_000, 0..=0),
        ("caught up", Pace::Interval { ps }, 250_000_000, 900..=1_000),
        ("strict", Pace::Strict { ps }, 350_000_000, 0..=11),
    ] {
        if at_pace.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let Some([slips, slipped_ns, burst, frames]) = held_up(test, name, pace) else {
            return;
        };
        let what = format!("{name}: {slips} slips, {slipped_ns} ns, burst of {burst}");
        assert!(slips > 0 && slipped_ns >= least_slipped_ns, "{what}");
        assert!(bursts.contains(&burst), "{what}");
        assert!(pace == Pace::Max || frames == 20_000, "{what}: {frames}");
    }
}
