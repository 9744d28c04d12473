//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod common;
mod dscp;
mod intervals;
mod iperf3_real;
mod iperf_bad_days;
mod iperf_bad_peers;
mod iperf_older;
mod iperf_real;
mod leaving;
mod manners;
mod node_agent;
mod node_boards;
mod node_firmware;
mod node_host;
mod node_hostile_points;
mod node_inside;
mod node_neighbour;
mod node_scripted;
#[path = "../../iperf/tests/v2_common/older.rs"]
mod older;
#[path = "../../cores/tests/common/over.rs"]
mod over;
mod search;
mod serial;
mod serial_common;
mod tester_drops;
