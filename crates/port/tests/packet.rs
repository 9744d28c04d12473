//! The portable path on real veth pairs: clean runs, every fault, every type of buffers, captures.

use std::sync::{Arc, Mutex};

use crate::common::{lab, lab_of};
use crate::rig;
use crate::rig::{DRAIN, Rig, job, sizes};
use wirelab_port::inject::Schedule;
use wirelab_port::job::{CheckJob, Pace, SendJob};
use wirelab_port::lab::{LabSpec, Side};
use wirelab_port::packet::{
    CaptureSink, CheckOptions, Checker, PREFILLED_SLOTS, SendOptions, send,
};
use wirelab_port::pcapng::{CaptureWriter, InterfaceSpec, VerifyOptions, WriterOptions, verify};
use wirelab_trial::{Buffers, Cancel, Extent, FaultRates};
use wirelab_wire::{FrameSpec, Transport};

#[test]
fn clean_runs_at_every_size_and_framing_have_no_finding() {
    let mut big = LabSpec::unique("wlp", 1);
    big.mtu = 9216;
    let Some(lab) = lab_of(big) else { return };
    let rig = Rig::new(&lab);
    let tagged = FrameSpec {
        vlans: [Some(0x2005), None],
        ..rig.spec
    };
    let twice = FrameSpec {
        vlans: [Some(0x2005), Some(6)],
        ..rig.spec
    };
    let udp = FrameSpec {
        transport: Transport::UdpIpv4 {
            addresses: [[198, 18, 0, 1].into(), [198, 18, 0, 2].into()],
            ports: [5003, 5003],
        },
        ..rig.spec
    };
    for (spec, frame) in [
        (rig.spec, 64),
        (rig.spec, 1518),
        (rig.spec, 3500),
        (rig.spec, 9018),
        (tagged, 64),
        (tagged, 1522),
        (twice, 128),
        (udp, 64),
        (udp, 1518),
        (udp, 9018),
    ] {
        let job = SendJob {
            frame: spec,
            sizes: sizes(&spec, frame),
            ..job(rig.spec, 64, 5000)
        };
        let (sent, seen) = rig.run(&job);
        let what = format!("{spec:?} of {frame}");
        assert_eq!(
            (sent.sequences, sent.emitted_frames, sent.refused_frames),
            (5000, 5000, 0),
            "{what}"
        );
        assert_eq!(sent.gap.count, 4999, "{what}");
        assert!(seen.counts.is_clean(), "{what}: {seen:?}");
        assert_eq!(seen.counts.check_identity(5000), Ok(()), "{what}");
        let payload = u64::from(job.sizes.payload) * 5000;
        assert_eq!(seen.counts.verified_payload_bytes, payload, "{what}");
        assert_eq!(
            (seen.missed.at_least, seen.counts.good_frames),
            (0, 5000),
            "{what}: {seen:?}"
        );
        assert_eq!(
            seen.series[0].histogram.count, 5000,
            "{what}: {:?}",
            seen.notes
        );
        assert!(
            seen.jitter_ns.is_some() && seen.notes.is_empty(),
            "{what}: {seen:?}"
        );
        let ((first, n0), (last, n1)) = (seen.first.unwrap(), seen.last.unwrap());
        assert_eq!((n0, n1), (0, 4999));
        assert!(first + 1000 >= sent.first_ns && last >= sent.last_ns && first < last);
    }
}

#[test]
fn each_fault_alone_and_all_together_are_found_as_the_ledger_has_them() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let rate = 0.01;
    let one = |set: fn(&mut FaultRates, f64)| {
        let mut rates = FaultRates {
            seed: 7,
            ..FaultRates::default()
        };
        set(&mut rates, rate);
        rates
    };
    let all = FaultRates {
        drop: rate,
        duplicate: rate,
        swap: rate,
        header_corrupt: rate,
        truncate: rate,
        stale: rate,
        corrupt: rate,
        seed: 9,
        ..FaultRates::default()
    };
    let every = [
        one(|r, p| r.drop = p),
        one(|r, p| r.duplicate = p),
        one(|r, p| r.swap = p),
        one(|r, p| r.header_corrupt = p),
        one(|r, p| r.truncate = p),
        one(|r, p| r.stale = p),
        one(|r, p| r.corrupt = p),
        all,
    ];
    for rates in every {
        for buffers in [None, Some(Buffers::InPlace), Some(Buffers::Copied)] {
            let plain = job(rig.spec, 512, 20_000);
            let faults = Schedule::plan(&rates, 20_000, plain.sizes.lfsr_len()).unwrap();
            let emissions = faults.emissions(20_000);
            let ledger = faults.ledger(emissions);
            let job = SendJob {
                faults,
                buffers,
                ..plain
            };
            let (sent, seen) = rig.run(&job);
            assert_eq!(
                (sent.sequences, sent.emitted_frames),
                (20_000, emissions),
                "{rates:?}"
            );
            assert_eq!(
                ledger.differences(&seen.counts),
                [],
                "{rates:?} {buffers:?}"
            );
            assert_eq!(seen.counts.check_identity(20_000), Ok(()), "{rates:?}");
            assert!(!seen.counts.is_clean(), "{rates:?} must leave a trace");
        }
    }
}

#[test]
fn every_kind_of_buffers_delivers_every_frame() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    for (buffers, frames) in [
        (Buffers::InPlace, 10_000),
        (Buffers::Copied, 3_000),
        (Buffers::CopiedAhead, 3_000),
        (Buffers::Copied, 50),
        (Buffers::InPlace, 50),
    ] {
        for frame in [64, 1518] {
            let job = SendJob {
                buffers: Some(buffers),
                ..job(rig.spec, frame, frames)
            };
            let (sent, seen) = rig.run(&job);
            assert_eq!(
                (sent.sequences, sent.emitted_frames),
                (frames, frames),
                "{buffers}"
            );
            assert_eq!(
                sent.kernel_copied,
                Some(true),
                "veth copies what the ring shares"
            );
            assert!(
                seen.counts.is_clean() && seen.missed.at_least == 0,
                "{buffers} {frame}: {seen:?}"
            );
            assert_eq!(seen.counts.check_identity(frames), Ok(()), "{buffers}");
        }
    }
}

#[test]
fn prefilled_frames_repeat_their_slots() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    for frames in [50, 10_000] {
        let job = SendJob {
            buffers: Some(Buffers::Prefilled),
            ..job(rig.spec, 1518, frames)
        };
        let check = CheckJob {
            slots: Some(PREFILLED_SLOTS),
            ..rig.check()
        };
        let (sent, seen) = rig.run_with(&job, &check);
        assert_eq!(sent.emitted_frames, frames);
        assert!(seen.counts.is_clean(), "{seen:?}");
        assert_eq!(seen.counts.check_identity(frames), Ok(()));
        assert!(
            seen.series.is_empty(),
            "frames that lie ready have no time: {seen:?}"
        );
        // A receiver that interprets the slots as sequences must not find the flow clean.
        let (_, seen) = rig.run_with(&job, &rig.check());
        assert_eq!(seen.counts.is_clean(), frames < u64::from(PREFILLED_SLOTS));
        assert!(
            seen.notes.iter().any(|n| n.contains("a sequence repeated")),
            "{:?}",
            seen.notes
        );
    }
}

#[test]
fn frames_that_go_out_and_foreign_frames_are_not_of_the_flow() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    // A checker on the sending port does not see what it sends.
    let beside = Checker::start(&rig.node, &rig.check(), CheckOptions::default()).unwrap();
    let other = FrameSpec {
        source: [2, 0, 0, 0, 0, 9],
        ..rig.spec
    };
    let mut check = rig.check();
    check.flow.stream = Some(0);
    let checker = Checker::start(&rig.tester, &check, CheckOptions::default()).unwrap();
    let stream = SendJob {
        stream: 9,
        ..job(other, 64, 100)
    };
    send(&rig.node, &stream, &SendOptions::default(), &Cancel::new()).unwrap();
    send(
        &rig.node,
        &job(rig.spec, 64, 1000),
        &SendOptions::default(),
        &Cancel::new(),
    )
    .unwrap();
    let seen = checker.finish(DRAIN).unwrap().with_sent(1000);
    assert!(seen.counts.is_clean(), "{seen:?}");
    assert_eq!(seen.counts.received_frames, 1000);
    assert!(seen.counts.foreign_frames >= 100, "{:?}", seen.counts);
    let beside = beside.finish(DRAIN).unwrap();
    assert_eq!(beside.counts.received_frames, 0, "{beside:?}");
}

#[test]
fn a_paced_flow_keeps_its_number_and_its_schedule() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let interval = 200_000_000;
    let job = SendJob {
        pace: Pace::Strict { ps: interval },
        extent: Extent::Time {
            time_ps: 200_000_000_000,
        },
        ..job(rig.spec, 64, 0)
    };
    let (sent, seen) = rig.run(&job);
    // On any host: never more than the schedule has, and each missing frame is in a slip.
    let slipped = sent.slipped_ns * 1000 / interval + sent.slips;
    assert!(
        sent.sequences <= 1000 && sent.sequences + slipped + 1 >= 1000,
        "{sent:?}"
    );
    assert!(
        seen.counts.is_clean() && sent.refused_frames == 0,
        "{seen:?}"
    );
    // No catching up: no span of frames is shorter than the schedule less ten intervals.
    let span = sent.last_ns - sent.first_ns;
    assert!(
        span + 10 * interval / 1000 + 20_000 >= (sent.sequences - 1) * interval / 1000,
        "{sent:?}"
    );
}

#[test]
fn a_sender_with_wrong_content_is_found() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let wire = rig::Wire::open(&rig.node);
    let checker = rig.start();
    let mut frame = rig::built(&rig.spec, 128, 0);
    wire.send(&frame);
    // A generator that does not write the content of the next sequence.
    let header = rig::built(&rig.spec, 128, 1);
    frame[14..32].copy_from_slice(&header[14..32]);
    wire.send(&frame);
    // One that writes constants, as others do.
    let mut constant = rig::built(&rig.spec, 128, 2);
    constant[32..].fill(0xAA);
    wire.send(&constant);
    let seen = checker.finish(DRAIN).unwrap().with_sent(3);
    let c = seen.counts;
    assert_eq!(
        (
            c.good_frames,
            c.stale_frames,
            c.corrupted_frames,
            c.lost_frames
        ),
        (1, 1, 1, 0),
        "{c:?}"
    );
}

#[test]
fn frames_reach_a_sink_whole_until_it_fails() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let tagged = FrameSpec {
        vlans: [Some(0x2005), None],
        ..rig.spec
    };
    let (sink, frames) = rig::Memory::new(60);
    let options = CheckOptions {
        sink: Some(Box::new(sink)),
        ..CheckOptions::default()
    };
    let checker = Checker::start(&rig.tester, &rig.check(), options).unwrap();
    let job = SendJob {
        frame: tagged,
        sizes: sizes(&tagged, 256),
        ..job(rig.spec, 64, 100)
    };
    let started = rig::unix_ns();
    send(&rig.node, &job, &SendOptions::default(), &Cancel::new()).unwrap();
    let seen = checker.finish(DRAIN).unwrap().with_sent(100);
    assert!(
        seen.counts.is_clean(),
        "the check goes on when the capture fails: {seen:?}"
    );
    assert!(
        seen.notes
            .iter()
            .any(|n| n.contains("capture ended after 60 frames")),
        "{:?}",
        seen.notes
    );
    let frames: Vec<_> = frames
        .lock()
        .unwrap()
        .drain(..)
        .filter(|(_, f)| f.get(6..12) == Some(&rig.spec.source))
        .collect();
    assert!(!frames.is_empty());
    for (unix_ns, frame) in frames {
        assert_eq!(frame.len(), 252);
        assert_eq!(
            frame[12..16],
            [0x81, 0, 0x20, 5],
            "the tag is back in its place"
        );
        assert!(unix_ns >= started && unix_ns <= rig::unix_ns());
    }
}

#[test]
fn a_shaped_link_is_filled_without_loss() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    lab.set_link_rate(0, Side::Node, Some(1_000_000_000))
        .unwrap();
    for buffers in [
        None,
        Some(Buffers::InPlace),
        Some(Buffers::Copied),
        Some(Buffers::CopiedAhead),
    ] {
        let job = SendJob {
            buffers,
            ..job(rig.spec, 1518, 3000)
        };
        let (sent, seen) = rig.run(&job);
        assert_eq!(
            (sent.emitted_frames, sent.refused_frames),
            (3000, 0),
            "{buffers:?}"
        );
        assert!(seen.counts.is_clean(), "{buffers:?}: {seen:?}");
    }
}

#[test]
fn a_capture_taken_while_checking_is_verified_as_clean() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("beside.pcapng");
    let interfaces = [InterfaceSpec::named(rig.tester.to_string())];
    let writer = CaptureWriter::create(&path, &interfaces, &WriterOptions::default()).unwrap();
    let writer = Arc::new(Mutex::new(writer));
    let sink = CaptureSink {
        writer: Arc::clone(&writer),
        interface: 0,
        sent_since_ns: None,
    };
    let options = CheckOptions {
        sink: Some(Box::new(sink)),
        ..CheckOptions::default()
    };
    let checker = Checker::start(&rig.tester, &rig.check(), options).unwrap();
    let plain = job(rig.spec, 512, 2000);
    let rates = FaultRates {
        drop: 0.01,
        seed: 3,
        ..FaultRates::default()
    };
    let faults = Schedule::plan(&rates, 2000, plain.sizes.lfsr_len()).unwrap();
    let dropped = faults.ledger(faults.emissions(2000)).lost_frames;
    let job = SendJob { faults, ..plain };
    send(&rig.node, &job, &SendOptions::default(), &Cancel::new()).unwrap();
    let seen = checker.finish(DRAIN).unwrap().with_sent(2000);
    assert!(seen.notes.is_empty(), "{:?}", seen.notes);
    let writer = Arc::into_inner(writer).unwrap().into_inner().unwrap();
    let written = writer.finish().unwrap();
    assert_eq!(written.frames, 2000 - dropped + seen.counts.foreign_frames);
    let options = VerifyOptions {
        sent: Some(2000),
        ..VerifyOptions::default()
    };
    let report = verify(&path, &options).unwrap();
    assert_eq!(report.flows.len(), 1);
    assert!(dropped > 0 && seen.counts.lost_frames == dropped);
    assert_eq!(
        report.flows[0].counts.lost_frames, dropped,
        "both judges agree"
    );
    assert_eq!(report.flows[0].counts.good_frames, seen.counts.good_frames);
}
