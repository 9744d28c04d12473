//! What a flow did over its run: how much arrived in each slice of it, for a picture over time.

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
        let kept = slices.joined(MOST_KEPT).0;
        OverTime {
            slice_ns: kept.iter().map(|slice| slice.ns).collect(),
            arrived: kept.iter().map(|slice| slice.amount).collect(),
            missing_frames: kept.iter().map(missing).collect(),
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        // A packed list is empty, too, and has a length.
        *self == OverTime::default()
    }
}
