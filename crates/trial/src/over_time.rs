//! The course of a flow: what arrived in each slice of the run, for a picture over time.

use serde::{Deserialize, Serialize};

use crate::column::Column;
use crate::slices::{Slice, Slices};

/// Slices that a results file keeps of a flow: as many as a picture shows.
pub const MOST_KEPT: usize = 64;

/// The slices of a flow, from the first arrival to the last. The lists have the same length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OverTime {
    /// Length of each slice in ns.
    pub slice_ns: Column<u64>,
    /// What arrived in it: frames, or bytes where the flow is a stream.
    pub arrived: Column<u64>,
    /// Sequences that it passed over: lost, late, or dropped by the tester's own queue; 0 for a stream.
    pub missing_frames: Column<u64>,
    /// The first arrival by CLOCK_MONOTONIC of the tester in ns, where it is known; a file does not have it.
    #[serde(skip)]
    pub first_ns: Option<u64>,
}

/// The owner of the cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cores {
    /// The node's.
    Node,
    /// All cores that the tester may use on its host.
    Tester,
}

/// How busy cores were over a run. The lists have the same length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BusyOverTime {
    /// The owner of the cores.
    pub of: Cores,
    /// From the first arrival of the trial to the first slice, in ns.
    pub from_ns: u64,
    /// Length of each slice in ns.
    pub slice_ns: Column<u64>,
    /// Time in each slice that a core worked, the mean of all cores, in ns.
    pub busy_ns: Column<u64>,
}

impl BusyOverTime {
    /// The load of cores in slices, each with its length and how long a core worked in it, in ns.
    pub fn new(of: Cores, from_ns: u64, slices: &[(u64, u64)]) -> BusyOverTime {
        BusyOverTime {
            of,
            from_ns,
            slice_ns: slices.iter().map(|(ns, _)| *ns).collect(),
            busy_ns: slices.iter().map(|(_, busy)| *busy).collect(),
        }
    }
}

impl OverTime {
    /// A flow whose sequences have these slices.
    pub fn of_frames(slices: &Slices) -> OverTime {
        OverTime::new(slices, |slice| slice.passed.saturating_sub(slice.distinct))
    }

    /// A stream of bytes.
    pub fn of_stream(slices: &Slices) -> OverTime {
        OverTime::new(slices, |_| 0)
    }

    fn new(slices: &Slices, missing: impl Fn(&Slice) -> u64) -> OverTime {
        let kept = slices.joined(MOST_KEPT).all;
        OverTime {
            first_ns: slices.first_ns.filter(|_| !kept.is_empty()),
            slice_ns: kept.iter().map(|slice| slice.ns).collect(),
            arrived: kept.iter().map(|slice| slice.amount).collect(),
            missing_frames: kept.iter().map(missing).collect(),
        }
    }

    /// The first and the last arrival by the clock of `first_ns`, if that is known.
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        let slices = self.slice_ns.iter();
        let lasted = slices.fold(0u64, |sum, ns| sum.saturating_add(*ns));
        let first = self.first_ns?;
        Some((first, first.saturating_add(lasted)))
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        // A packed list is empty, too, and has a length.
        *self == OverTime::default()
    }
}
