//! The interface that a node implements: run a trial and report its results. The server handles sessions, repetition,
//! paging and limits.

use std::time::Duration;

use super::Peer;
use crate::message::Record;
use crate::message::{CpuLoad, Identity, Point, Start, Started, Status};
use crate::refusal::Refusal;
use crate::value::State;

/// A node, as the protocol sees it. Times are durations since any fixed moment, the same for all calls.
pub trait NodeHandler {
    /// The node's identity and limits. Called often: keep it ready.
    fn identity(&self) -> &Identity;

    /// Set-up keys and values, e.g. `core_clock_hz` and `400000000`; values are truncated at 120 bytes.
    fn setup(&self) -> &[(String, String)];

    /// Starts a trial that was checked against the identity and the allowed destinations. It must end on its own after
    /// `limit` at the latest, and must not block.
    ///
    /// # Errors
    /// [`Refusal`] where the node cannot; nothing runs then.
    fn start(
        &mut self,
        trial: u32,
        start: &Start,
        limit: Duration,
        peer: Peer,
        now: Duration,
    ) -> Result<Started, Refusal>;

    /// The status of the last trial; the node may also do pending work here.
    fn status(&mut self, now: Duration) -> Status;

    /// Ends the last trial now, with the state `state`.
    fn stop(&mut self, state: State, now: Duration);

    /// All counters of a port in the last trial; empty where there is no such port. Names are keys.
    fn counters(&mut self, port: u32) -> Vec<(String, u64)>;

    /// CPU load of a core over the last trial.
    ///
    /// # Errors
    /// [`Refusal`] where the node does not measure it or has no such core.
    fn load(&mut self, core: u32) -> Result<CpuLoad, Refusal>;

    /// A capture point of the last trial and the number of its records.
    ///
    /// # Errors
    /// [`Refusal`] where there is no such point.
    fn point(&mut self, point: u32) -> Result<(Point, u32), Refusal>;

    /// Records of a capture point from index `from`, any convenient number up to `most`.
    fn records(&mut self, point: u32, from: u32, most: usize) -> Vec<Record>;
}
