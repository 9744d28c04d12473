//! A checker at work, whichever path its frames take.

use std::time::Duration;

use wirelab_port::job::CheckReport;
use wirelab_port::{packet, xdp};
use wirelab_trial::NodeError;

/// No frame for this long after the senders ended means that all have arrived.
pub const QUIET: Duration = Duration::from_millis(30);

/// A running checker on either path.
pub enum AnyChecker {
    Xdp(xdp::Checker),
    Packet(packet::Checker),
}

impl AnyChecker {
    /// The path's name in observations.
    pub fn path(&self) -> &'static str {
        match self {
            AnyChecker::Xdp(_) => "xdp",
            AnyChecker::Packet(_) => "packet",
        }
    }

    pub fn received(&self) -> u64 {
        match self {
            AnyChecker::Xdp(checker) => checker.received(),
            AnyChecker::Packet(checker) => checker.received_frames(),
        }
    }

    /// Reset the counts. The packet path's checker, which starts with each run, does not need it.
    pub fn reset(&self) {
        if let AnyChecker::Xdp(checker) = self {
            checker.reset();
        }
    }

    /// Record the flow's progress. The packet path's checker records it with each frame.
    pub fn look(&self) {
        if let AnyChecker::Xdp(checker) = self {
            checker.look();
        }
    }

    pub fn other_run(&self) -> u64 {
        match self {
            AnyChecker::Xdp(checker) => checker.other_run(),
            AnyChecker::Packet(checker) => checker.other_run_frames(),
        }
    }

    pub fn first_ns(&self) -> Option<u64> {
        match self {
            AnyChecker::Xdp(checker) => checker.first_ns(),
            AnyChecker::Packet(checker) => checker.first_ns(),
        }
    }

    pub fn finish(self) -> Result<CheckReport, NodeError> {
        match self {
            AnyChecker::Xdp(checker) => Ok(checker.report()),
            AnyChecker::Packet(checker) => Ok(checker.finish(QUIET)?),
        }
    }

    /// The report of what has arrived until now.
    pub fn stop(self) -> Result<CheckReport, NodeError> {
        match self {
            AnyChecker::Xdp(checker) => Ok(checker.report()),
            AnyChecker::Packet(checker) => Ok(checker.stop()?),
        }
    }
}
