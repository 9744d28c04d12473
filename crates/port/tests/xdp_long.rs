//! Clean runs of minutes on the fast path: no finding in a hundred million frames.

#[allow(dead_code, reason = "the other tests use the rest")]
mod common;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "xdp/fast.rs"]
mod fast;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "packet/rig.rs"]
mod rig;

use common::lab;
use fast::{alone, run};
use rig::{Rig, job};
use wirelab_wire::header;

fn clean_run(frame: u32, frames: u64) {
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    let job = job(rig.spec, frame, frames);
    let mut check = rig.check();
    check.time_every = 16;
    let (sent, seen) = run(&rig, &job, check);
    assert_eq!((sent.sequences, sent.emitted_frames), (frames, frames));
    assert!(seen.counts.is_clean(), "{seen:?}");
    assert_eq!(seen.counts.check_identity(frames), Ok(()));
    assert_eq!(
        (seen.counts.good_frames, seen.counts.foreign_frames),
        (frames, 0)
    );
    let content = u64::from(job.sizes.lfsr_len()) + header::LEN as u64;
    assert_eq!(seen.counts.verified_payload_bytes, frames * content);
    assert!(seen.notes.is_empty(), "{:?}", seen.notes);
}

#[test]
fn a_hundred_million_frames_of_64_check_without_a_finding() {
    clean_run(64, 100_000_000);
}

#[test]
fn twenty_million_frames_of_1518_check_without_a_finding() {
    clean_run(1518, 20_000_000);
}
