//! The portable path beside other activity of the host and the link: foreign frames, a full ring, a paused sender or
//! checker.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::common::lab;
use crate::common::sys::Hog;
use crate::rig;
use crate::rig::{DRAIN, Rig, job, sizes};
use wirelab_port::inject::Schedule;
use wirelab_port::job::SendJob;
use wirelab_port::packet::{CheckOptions, Checker, SendOptions, announce, send};
use wirelab_trial::{Cancel, Extent, FaultRates};
use wirelab_wire::{FrameSpec, Transport};

/// One test at a time: each takes a processor, or the whole process, from the others.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last processor that this process may run on.
fn last_cpu() -> usize {
    let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap();
    let mut cpus = (0..nix::sched::CpuSet::count()).rev();
    cpus.find(|cpu| set.is_set(*cpu).unwrap()).unwrap()
}

#[test]
fn a_port_is_announced_to_its_peer() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let (sink, frames) = rig::Memory::new(9);
    let options = CheckOptions {
        sink: Some(Box::new(sink)),
        ..CheckOptions::default()
    };
    let checker = Checker::start(&rig.tester, &rig.check(), options).unwrap();
    let (own, peer) = (rig.spec.source, rig.spec.destination);
    announce(&rig.node, peer, [None, None]).unwrap();
    announce(&rig.node, peer, [Some(5), Some(6)]).unwrap();
    let seen = checker.finish(DRAIN).unwrap();
    assert_eq!(
        (seen.counts.received_frames, seen.counts.foreign_frames),
        (0, 2)
    );
    let frames = frames.lock().unwrap();
    let addresses = [peer, own].concat();
    assert!(
        frames
            .iter()
            .all(|(_, f)| f[..12] == addresses && f.len() >= 60)
    );
    assert_eq!(frames[0].1[12..14], [0x88, 0xB6]);
    assert_eq!(
        frames[1].1[12..22],
        [0x88, 0xA8, 0, 5, 0x81, 0, 0, 6, 0x88, 0xB6]
    );
}

/// A flow with injected losses beside foreign traffic, into a ring that is not emptied meanwhile.
fn crowded(rig: &Rig, sink: bool) -> (u64, u64, wirelab_port::job::CheckReport) {
    let (memory, _) = rig::Memory::new(usize::MAX);
    let options = CheckOptions {
        cpu: Some(last_cpu()),
        ring_bytes: Some(1),
        sink: sink.then(|| Box::new(memory) as _),
        ..CheckOptions::default()
    };
    let frames = 20_000;
    let mut rates = FaultRates::default();
    *rates.rate_mut("drop").unwrap() = 0.05;
    let faults = Schedule::plan(&rates, frames, sizes(&rig.spec, 64).lfsr_len()).unwrap();
    let flow = SendJob {
        faults,
        ..job(rig.spec, 64, frames)
    };
    let foreign = FrameSpec {
        transport: Transport::UdpIpv4 {
            addresses: [[198, 18, 0, 1].into(), [198, 18, 0, 2].into()],
            ports: [9, 9],
        },
        ..rig.spec
    };
    let foreign = job(foreign, 64, 30_000);
    let checker = Checker::start(&rig.tester, &rig.check(), options).unwrap();
    let hog = Hog::start(last_cpu());
    let elsewhere = SendOptions { cpu: Some(0) };
    let (never, node) = (Cancel::new(), &rig.node);
    let sent = std::thread::scope(|scope| {
        let other = scope.spawn(|| send(node, &foreign, &elsewhere, &never).unwrap());
        let sent = send(node, &flow, &elsewhere, &never).unwrap();
        assert_eq!(other.join().unwrap().emitted_frames, 30_000);
        sent
    });
    drop(hog);
    let seen = checker.finish(DRAIN).unwrap().with_sent(sent.sequences);
    let injected = flow.faults.ledger(sent.emitted_frames).lost_frames;
    assert_eq!(seen.counts.check_identity(frames), Ok(()));
    (injected, 30_000, seen)
}

/// The same with a ring that overflowed. A host with time for both the hog and the checker empties it in time.
fn overflowed(rig: &Rig, sink: bool) -> (u64, u64, wirelab_port::job::CheckReport) {
    (0..20)
        .map(|_| crowded(rig, sink))
        .find(|(_, _, seen)| seen.counts.missed_frames + seen.counts.lost_or_missed_frames > 1000)
        .expect("a ring that overflows in one of 20 runs")
}

#[test]
fn foreign_frames_that_the_ring_drops_do_not_hide_losses() {
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    let (injected, foreign, seen) = overflowed(&rig, false);
    let c = seen.counts;
    assert!(
        injected > 500 && c.missed_frames > 1000,
        "{injected} of {seen:?}"
    );
    let bounds = c.lost_frames..=c.lost_frames + c.lost_or_missed_frames;
    assert!(bounds.contains(&injected), "{injected} of {seen:?}");
    // Only if the host dropped before the ring, it is unknown whose frames they were.
    assert!(
        c.foreign_frames + c.lost_or_missed_frames >= foreign,
        "{seen:?}"
    );
    assert!(
        seen.is_crowded() && seen.foreign_frames_per_s() > Some(1000),
        "{seen:?}"
    );
}

#[test]
fn a_ring_that_a_capture_shares_gives_bounds() {
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    let (injected, _, seen) = overflowed(&rig, true);
    let c = seen.counts;
    assert_eq!(c.missed_frames, 0, "nothing is certain: {seen:?}");
    assert!(c.lost_or_missed_frames > 1000, "{seen:?}");
    let bounds = c.lost_frames..=c.lost_frames + c.lost_or_missed_frames;
    assert!(bounds.contains(&injected), "{injected} of {seen:?}");
}

/// As fast as possible for 600 ms.
fn for_a_while(rig: &Rig) -> SendJob {
    SendJob {
        extent: Extent::Time {
            time_ps: 600_000_000_000,
        },
        ..job(rig.spec, 64, 0)
    }
}

#[test]
fn a_sender_at_full_speed_that_loses_its_processor_says_so() {
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    let options = SendOptions {
        cpu: Some(last_cpu()),
    };
    let sent = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            let _hog = Hog::start(last_cpu());
            std::thread::sleep(Duration::from_millis(300));
        });
        send(&rig.node, &for_a_while(&rig), &options, &Cancel::new()).unwrap()
    });
    assert!(sent.slips > 0 && sent.slipped_ns >= 200_000_000, "{sent:?}");
    assert!(sent.slipped_ns <= sent.call_ns, "{sent:?}");
}

#[test]
fn a_process_that_is_stopped_is_seen_by_its_sender_and_its_checker() {
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    let checker = rig.start();
    let own = std::process::id();
    let stop = format!("sleep 0.2; kill -STOP {own}; sleep 0.3; kill -CONT {own}");
    let mut stopper = std::process::Command::new("sh")
        .args(["-c", &stop])
        .spawn()
        .unwrap();
    let never = Cancel::new();
    let sent = send(
        &rig.node,
        &for_a_while(&rig),
        &SendOptions::default(),
        &never,
    )
    .unwrap();
    assert!(stopper.wait().unwrap().success());
    let seen = checker.finish(DRAIN).unwrap();
    assert!(sent.slips > 0 && sent.slipped_ns >= 200_000_000, "{sent:?}");
    assert!(
        seen.held_up_ns >= Some(200_000_000),
        "{:?}",
        seen.held_up_ns
    );
}

#[test]
fn a_slow_path_holds_the_sender_back_and_not_its_host() {
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    rig.shape("tbf rate 2mbit burst 4000b limit 1000000b");
    for frame in [64, 1518] {
        let run = SendJob {
            sizes: sizes(&rig.spec, frame),
            ..for_a_while(&rig)
        };
        let sent = send(&rig.node, &run, &SendOptions::default(), &Cancel::new()).unwrap();
        let blocked = sent.blocked_ns.unwrap();
        // A busy host wakes the sender late, which is a pause; during the rest of the time the path was full.
        assert!(blocked > 60_000_000, "{sent:?}");
        assert!(blocked + sent.slipped_ns > 300_000_000, "{sent:?}");
    }
}
