//! A checker at work, whichever path its frames take.

use std::time::Duration;

use serde::Serialize;
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

/// The path that frames took between wirelab and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FramePath {
    /// Frames of an XDP program.
    Xdp,
    /// A packet socket.
    Packet,
}

impl FramePath {
    /// Its word in results.
    pub const fn word(self) -> &'static str {
        match self {
            FramePath::Xdp => "xdp",
            FramePath::Packet => "packet",
        }
    }
}

impl AnyChecker {
    /// The path on which it receives.
    pub fn path(&self) -> FramePath {
        match self {
            AnyChecker::Xdp(_) => FramePath::Xdp,
            AnyChecker::Packet(_) => FramePath::Packet,
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
