//! A capture beside a trial on the fast path: what it lacks is said, and is no loss of the trial.

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{alone, assert_clean, node, run, trial};
use wirelab_port::pcapng::{CaptureWriter, WriterOptions};
use wirelab_ports::Path;
use wirelab_trial::{Size, SizeUnit};

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
    // Nobody writes while the frames come, so that the ring fills.
    let held = writer.lock().unwrap();
    let observation = std::thread::scope(|scope| {
        let run = scope.spawn(|| run(&mut node, &trial));
        std::thread::sleep(Duration::from_secs(2));
        drop(held);
        run.join().unwrap()
    });
    node.end_capture();
    let writer = Arc::into_inner(writer).unwrap().into_inner().unwrap();
    let written = writer.finish().unwrap().frames;
    assert!(written < FRAMES, "the ring took all");
    assert_clean(&observation, "the trial itself");
    let mut told = observation.warnings.iter().filter(|w| w.code == "capture");
    let told = &told.next().expect("the capture lacks frames").text;
    let number = told.split("lacks up to ").nth(1).expect(told);
    let number: u64 = number.split(' ').next().unwrap().parse().unwrap();
    assert!(number >= FRAMES - written, "{told}: {written} are in it");
}
