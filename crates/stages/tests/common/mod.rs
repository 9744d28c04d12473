//! What the tests of a node's port share: a lab or the reason for skipping, and frames.
#![allow(dead_code)]

pub mod frames;
pub mod rig;

use std::io::Write;
use std::time::{Duration, Instant};

use wirelab_port::lab::{EphemeralLab, LabSpec};

/// Whether this host lets namespaces be made and programs be loaded; says so in the way the test runner understands if
/// it does not.
pub fn may_load() -> bool {
    match wirelab_port::netns::probe() {
        Ok(()) => true,
        Err(error) if error.is_privilege() => {
            // Directly, because the test harness swallows what is printed otherwise.
            let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP root: {error}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// A lab of one pair for this test; `None` where namespaces cannot be made.
pub fn lab() -> Option<EphemeralLab> {
    lab_of(&LabSpec::unique("wlf", 1))
}

pub fn lab_of(spec: &LabSpec) -> Option<EphemeralLab> {
    may_load().then(|| EphemeralLab::up(spec).unwrap())
}

/// Waits until something holds, at most half a minute: a machine can be slow.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "waited for {what}"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}
