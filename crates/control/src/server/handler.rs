//! What a node implements: run a trial and tell what it saw. Sessions, repetition, paging and limits are not its
//! business.

use std::time::Duration;

use super::Peer;
use crate::message::Record;
use crate::message::{CpuLoad, Identity, Point, Start, Started, Status};
use crate::refusal::Refusal;
use crate::value::State;

/// A node, as the protocol sees it. Times are durations since any fixed moment, the same for all calls.
pub trait NodeHandler {
    /// What the node is and allows. Called often: keep it ready.
    fn identity(&self) -> &Identity;

    /// Set-up keys and values, e.g. `core_clock_hz` and `400000000`; values are cut at 120 bytes.
    fn setup(&self) -> &[(String, String)];

    /// Start a trial that was checked against the identity and against where traffic may go. It must end by
    /// itself after `limit` at the latest, and must not block.
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

    /// How far the last trial is; also where the node can do what is due.
    fn status(&mut self, now: Duration) -> Status;

    /// End the last trial now; it goes into `state`.
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

    /// Records of a capture point from `from` on, as many as are convenient up to `most`.
    fn records(&mut self, point: u32, from: u32, most: usize) -> Vec<Record>;
}
