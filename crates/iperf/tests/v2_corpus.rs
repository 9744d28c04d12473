//! Replays the fuzz corpus of iperf 2.

use std::path::Path;

use proptest::prelude::*;
use wirelab_iperf::v2;

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
    replay("iperf2_receiver", v2::fuzz_receiver);
}

#[test]
fn iperf2_amount() {
    replay("iperf2_amount", v2::fuzz_amount);
}

proptest! {
    #[test]
    fn any_bytes(mut data in prop::collection::vec(any::<u8>(), 0..300), port in 1u16.., flags: u32) {
        v2::fuzz_header(&data);
        v2::fuzz_receiver(&data);
        v2::fuzz_amount(&data);
        // Nearly a header: right where the checks look, anything elsewhere.
        if data.len() > 40 {
            data[..4].copy_from_slice(&(flags | 1 << 31).to_be_bytes());
            data[4..8].copy_from_slice(&[0, 0, 0, 1]);
            data[8..12].copy_from_slice(&u32::from(port).to_be_bytes());
            v2::fuzz_header(&data);
        }
    }
}
