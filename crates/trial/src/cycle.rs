//! The shortest cycle of a fieldbus of like nodes, as plain data: a model fills it in, a report shows it.
//!
//! Field names are stable and say their unit; the JSON of a [`CycleTimes`] is made of them.

use serde::Serialize;

use crate::field::Field;
use wirelab_wire::Framing;

/// How long a node itself takes for its part of a cycle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeDelay {
    /// Mean time in ps of one frame at a time.
    pub mean_ps: Field<u64>,
    /// Between which instants, e.g. `wire-rx end to Rx UDP`.
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

/// The shortest cycle with one way to lay data into frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CycleTime {
    /// Frames that go one way in a cycle.
    pub frames: u64,
    /// Bytes of the link they take, with preamble and gap.
    pub link_bytes: u64,
    /// Share of the link's bytes that are cyclic data, 0 to 1.
    pub efficiency_ratio: f64,
    /// What the cycle is the sum of, without the nodes.
    pub terms: Vec<CycleTerm>,
    /// Shortest cycle with nodes that take no time, in ps.
    pub cycle_ps: u64,
    /// Shortest cycle with the receive and transmit delay of a node in it, in ps.
    pub cycle_with_node_ps: Field<u64>,
}

/// Shortest cycles of a number of like nodes with one controller.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CycleTimes {
    /// The node.
    pub node: String,
    /// The node in a line.
    pub title: String,
    /// How many of them.
    pub nodes: u32,
    /// Cyclic data of each node, each way, in bytes.
    pub data_bytes: u32,
    /// Layer and VLAN tags of an individual frame.
    pub framing: Framing,
    /// The individual frame in bytes with FCS.
    pub frame_bytes: u32,
    /// The link in bit/s.
    pub link_bits_per_s: u64,
    /// Time in which each node passes a summation frame on, in ps.
    pub forward_ps: u64,
    /// From the end of a frame on the wire to the data in the node's hands.
    pub receive: NodeDelay,
    /// From the node's data to the beginning of a frame on the wire.
    pub transmit: NodeDelay,
    /// A frame for each node each way.
    pub individual: CycleTime,
    /// One frame for all nodes, which each passes on.
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
