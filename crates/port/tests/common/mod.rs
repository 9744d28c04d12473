//! What the tests of labs and of the impairer share: a lab or the reason for skipping, and raw sockets.
#![allow(dead_code)]

pub mod sys;

use std::io::Write;

use wirelab_port::lab::{EphemeralLab, LabSpec};

/// Whether this host lets namespaces be made; says so in the way the test runner understands if it does not.
pub fn may_make_namespaces() -> bool {
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

/// A lab for this test; `None` where namespaces cannot be made.
pub fn lab(pairs: u8) -> Option<EphemeralLab> {
    lab_of(LabSpec::unique("wlt", pairs))
}

pub fn lab_of(spec: LabSpec) -> Option<EphemeralLab> {
    may_make_namespaces().then(|| EphemeralLab::up(&spec).unwrap())
}
