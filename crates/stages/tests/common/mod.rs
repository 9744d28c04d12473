//! Shared by the tests of a node's port: a lab or the reason for skipping, and frames.

pub mod frames;
pub mod rig;

use std::time::{Duration, Instant};

use wirelab_port::lab::{EphemeralLab, LabSpec};

/// A lab of one pair for this test; `None` if namespaces cannot be made.
pub fn lab() -> Option<EphemeralLab> {
    lab_of(&LabSpec::unique("wlf", 1))
}

pub fn lab_of(spec: &LabSpec) -> Option<EphemeralLab> {
    wirelab_port::netns::may_test().then(|| EphemeralLab::up(spec).unwrap())
}

/// Waits until `holds` returns true, at most half a minute on a slow machine.
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
