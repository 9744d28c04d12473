//! Replays the fuzz corpora of iperf 2 and iperf3, and any other bytes.

use std::path::Path;

use crate::fuzz;
use proptest::prelude::*;
use wirelab_iperf::{v2, v3};

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        run(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen > 0, "no corpus for {target}");
}

#[test]
fn iperf2_header() {
    replay("iperf2_header", v2::fuzz_header);
}

#[test]
fn iperf2_receiver() {
    replay("iperf2_receiver", fuzz::iperf2_receiver);
}

#[test]
fn iperf2_amount() {
    replay("iperf2_amount", fuzz::iperf2_amount);
}

#[test]
fn iperf3_control() {
    replay("iperf3_control", fuzz::iperf3_control);
}

#[test]
fn iperf3_json() {
    replay("iperf3_json", fuzz::iperf3_json);
}

#[test]
fn iperf3_auth() {
    replay("iperf3_auth", v3::fuzz_auth);
}

#[test]
fn iperf3_datagram() {
    replay("iperf3_datagram", fuzz::iperf3_datagram);
}

proptest! {
    #[test]
    fn any_bytes_of_iperf2(mut data in prop::collection::vec(any::<u8>(), 0..300), port in 1u16.., flags: u32) {
        v2::fuzz_header(&data);
        fuzz::iperf2_receiver(&data);
        fuzz::iperf2_amount(&data);
        // Nearly a header: right where the checks look, anything elsewhere.
        if data.len() > 40 {
            data[..4].copy_from_slice(&(flags | 1 << 31).to_be_bytes());
            data[4..8].copy_from_slice(&[0, 0, 0, 1]);
            data[8..12].copy_from_slice(&u32::from(port).to_be_bytes());
            v2::fuzz_header(&data);
        }
    }

    #[test]
    fn any_bytes_of_iperf3(data in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzz::iperf3_control(&data);
        fuzz::iperf3_json(&data);
        v3::fuzz_auth(&data);
        fuzz::iperf3_datagram(&data);
        // Bytes that are mostly states.
        let states: Vec<u8> = data.iter().map(|byte| byte % 18).collect();
        fuzz::iperf3_control(&states);
    }
}
