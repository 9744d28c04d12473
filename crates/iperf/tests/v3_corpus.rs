//! Replays the fuzz corpus of iperf3.

use std::path::Path;

use proptest::prelude::*;
use wirelab_iperf::v3;

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
fn iperf3_control() {
    replay("iperf3_control", v3::fuzz_control);
}

#[test]
fn iperf3_json() {
    replay("iperf3_json", v3::fuzz_json);
}

#[test]
fn iperf3_datagram() {
    replay("iperf3_datagram", v3::fuzz_datagram);
}

proptest! {
    #[test]
    fn any_bytes(data in prop::collection::vec(any::<u8>(), 0..300)) {
        v3::fuzz_control(&data);
        v3::fuzz_json(&data);
        v3::fuzz_datagram(&data);
        // Bytes that are mostly states.
        let states: Vec<u8> = data.iter().map(|byte| byte % 18).collect();
        v3::fuzz_control(&states);
    }
}
