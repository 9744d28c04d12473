//! A capture beside trials: what it lacks is reported and is not a loss of the trial, and each run in it is judged
//! separately.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{alone, assert_clean, node, run, trial};
use wirelab_port::pcapng::{
    CaptureWriter, InterfaceSpec, VerifyOptions, VerifyReport, WriterOptions, verify,
};
use wirelab_ports::{Path, one_way};
use wirelab_trial::{Buffers, Node, Size, SizeUnit, Trial};
use wirelab_wire::{Flags, Header};

/// More than the ring of a capture holds.
const FRAMES: u64 = 150_000;

#[test]
fn a_capture_that_lacks_frames_says_how_many() {
    let Some(mut node) = node(1, Path::Xdp) else {
        return;
    };
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let options = WriterOptions::default();
    let interfaces = node.capture_interfaces();
    let writer = CaptureWriter::create(&folder.path().join("m.pcapng"), &interfaces, &options);
    let writer = Arc::new(Mutex::new(writer.unwrap()));
    node.capture_into(Arc::clone(&writer));
    let trial = wirelab_trial::Trial {
        size: Size::new(SizeUnit::Frame, 1518),
        ..trial(FRAMES)
    };
    // No write while the frames arrive, so that the ring fills.
    let held = writer.lock().unwrap();
    let observation = std::thread::scope(|scope| {
        let run = scope.spawn(|| run(&mut node, &trial));
        std::thread::sleep(Duration::from_secs(2));
        drop(held);
        run.join().unwrap()
    });
    node.end_capture().unwrap();
    let writer = Arc::into_inner(writer).unwrap().into_inner().unwrap();
    let written = writer.finish().unwrap().frames;
    assert!(written < FRAMES, "the ring took all");
    assert_clean(&observation, "the trial itself");
    let mut told = observation.warnings.iter().filter(|w| w.code == "capture");
    let told = &told.next().expect("the capture lacks frames").text;
    let number = told.split("may lack up to ").nth(1).expect(told);
    let number = number.split(' ').next().unwrap().replace(',', "");
    let number: u64 = number.parse().unwrap();
    assert!(number >= FRAMES - written, "{told}: {written} are in it");
}

fn judged(file: &std::path::Path, sent: u64) -> VerifyReport {
    let options = VerifyOptions {
        sent: Some(sent),
        ..VerifyOptions::default()
    };
    verify(file, &options).unwrap()
}

#[test]
fn each_trial_in_a_capture_is_judged_alone() {
    let _alone = alone();
    let of_buffers = Trial {
        buffers: Some(Buffers::InPlace),
        ..trial(200)
    };
    for (path, trial, runs) in [
        (Path::Xdp, trial(200), 3),
        (Path::Packet, trial(200), 3),
        // Three runs are one trial.
        (Path::Packet, of_buffers.clone(), 9),
        (Path::Xdp, of_buffers, 9),
    ] {
        let Some(mut node) = node(1, path) else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.pcapng");
        let interfaces = node.capture_interfaces();
        let writer = CaptureWriter::create(&file, &interfaces, &WriterOptions::default());
        let writer = Arc::new(Mutex::new(writer.unwrap()));
        node.capture_into(Arc::clone(&writer));
        for _ in 0..3 {
            assert!(run(&mut node, &trial).passed());
        }
        node.end_capture().unwrap();
        let writer = Arc::into_inner(writer).unwrap().into_inner().unwrap();
        writer.finish().unwrap();
        let report = judged(&file, 200);
        assert!(report.is_clean(), "{path:?}: {report:#?}");
        assert_eq!((report.runs(), report.flows.len()), (runs, runs));
        assert_eq!(report.dropped_by_capture(), 0);
    }
}

#[test]
fn a_late_frame_is_of_the_run_that_sent_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("late.pcapng");
    let job = one_way::one_way_job(&trial(2), [2; 6], [4; 6], 0, None).unwrap();
    let interfaces = [InterfaceSpec::named("n0")];
    let mut writer = CaptureWriter::create(&file, &interfaces, &WriterOptions::default()).unwrap();
    let mut write = |run_ns, sequence, time_ns| {
        writer.begin_run(run_ns);
        let header = Header {
            flags: Flags::TIME_VALID,
            stream: 0,
            sequence,
            time_ns,
            lfsr_len: 0,
        };
        let mut frame = vec![0; job.sizes.length as usize];
        job.frame.build(&job.sizes, &header, &mut frame);
        writer.write_frame(0, time_ns, &frame).unwrap();
    };
    for (sequence, time_ns) in [(0, 1_100), (1, 1_200)] {
        write(1_000, sequence, time_ns);
    }
    // A copy of the first run's last frame, which a slow queue released late.
    for (sequence, time_ns) in [(0, 2_100), (1, 1_200), (1, 2_200)] {
        write(2_000, sequence, time_ns);
    }
    assert_eq!(writer.finish().unwrap().frames, 5);
    let report = judged(&file, 2);
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!((report.runs(), report.other_run_frames), (2, 1));
}
