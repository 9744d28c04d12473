//! The shortest cycle of a fieldbus of identical nodes, as plain data: a model computes it, a report shows it.
//!
//! Field names are stable and say their unit; the JSON of a [`CycleTimes`] is made of them.

use serde::Serialize;

use crate::field::Field;
use wirelab_wire::Framing;

/// How long a node takes for its part of a cycle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeDelay {
    /// Mean time in ps of one frame at a time.
    pub mean_ps: Field<u64>,
    /// The two instants that it spans, e.g. `wire-rx end to Rx UDP`.
    pub span: String,
}

/// A term of a cycle time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CycleTerm {
    /// What takes the time, with the arithmetic in words.
    pub what: String,
    /// The time in ps.
    pub time_ps: u64,
}

/// The shortest cycle with one way to arrange data in frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CycleTime {
    /// Frames in one direction in a cycle.
    pub frames: u64,
    /// Bytes of the link they take, with preamble and gap.
    pub link_bytes: u64,
    /// Share of the link's bytes that are cyclic data, 0 to 1.
    pub efficiency_ratio: f64,
    /// The terms of the cycle, without the nodes.
    pub terms: Vec<CycleTerm>,
    /// Shortest cycle with nodes of no delay, in ps.
    pub cycle_ps: u64,
    /// Shortest cycle including the receive and transmit delay of a node, in ps.
    pub cycle_with_node_ps: Field<u64>,
}

/// Shortest cycles of a number of identical nodes with one controller.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CycleTimes {
    /// The node.
    pub node: String,
    /// The node in one line.
    pub title: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Cyclic data of each node in each direction, in bytes.
    pub data_bytes: u32,
    /// Layer and VLAN tags of an individual frame.
    pub framing: Framing,
    /// The individual frame in bytes with FCS.
    pub frame_bytes: u32,
    /// The link in bit/s.
    pub link_bits_per_s: u64,
    /// Time in which each node forwards a summation frame, in ps.
    pub forward_ps: u64,
    /// From the end of a frame on the wire until the node has the data.
    pub receive: NodeDelay,
    /// From the node's data to the beginning of a frame on the wire.
    pub transmit: NodeDelay,
    /// A frame for each node in each direction.
    pub individual: CycleTime,
    /// One frame for all nodes, which each forwards.
    pub summation: CycleTime,
    /// What the figures leave out.
    pub notes: Vec<String>,
}

impl CycleTimes {
    /// Pretty-printed JSON with a line end.
    pub fn to_json(&self) -> String {
        crate::explanation::json(self)
    }
}
