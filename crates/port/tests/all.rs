//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

#[path = "pcapng/bad_days.rs"]
mod bad_days;
#[path = "pcapng/bytes.rs"]
mod bytes;
mod common;
#[path = "xdp/fast.rs"]
mod fast;
#[path = "pcapng/faults.rs"]
mod faults;
#[path = "pcapng/flows.rs"]
mod flows;
#[path = "pcapng/formats.rs"]
mod formats;
mod impair;
mod inject;
mod lab;
#[path = "../../cores/tests/common/over.rs"]
mod over;
mod packet;
mod packet_host;
mod packet_joined;
mod packet_trouble;
mod pcapng;
#[path = "packet/rig.rs"]
mod rig;
#[path = "pcapng/round_trip.rs"]
mod round_trip;
mod tap;
mod xdp_drops;
mod xdp_faults;
mod xdp_frames;
mod xdp_judge;
mod xdp_track;
mod xdp_trouble;
