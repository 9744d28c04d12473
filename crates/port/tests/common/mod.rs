//! What the tests of labs and of the impairer share: a lab or the reason for skipping, and raw sockets.

pub mod sys;

use wirelab_port::lab::{EphemeralLab, LabSpec};

/// A lab for this test; `None` if namespaces cannot be made.
pub fn lab(pairs: u8) -> Option<EphemeralLab> {
    lab_of(LabSpec::unique("wlt", pairs))
}

pub fn lab_of(spec: LabSpec) -> Option<EphemeralLab> {
    wirelab_port::netns::may_test().then(|| EphemeralLab::up(&spec).unwrap())
}
