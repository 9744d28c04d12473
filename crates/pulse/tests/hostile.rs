//! Hostile recordings: the fuzz corpus, each cut of it, and bytes that are changed.

use crate::common::{FORMATS, Recorded, write};
use proptest::prelude::*;
use wirelab_pulse::fuzz_pulse;

const SMALL: Recorded = Recorded {
    start_ps: 8_000_000,
    width_ps: 9_000_000,
    period_ps: 1_000_000,
    length_ps: 24_000_000,
};

#[test]
fn the_fuzz_corpus_is_replayed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/pulse");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        fuzz_pulse(&bytes);
        for end in (0..bytes.len()).step_by(13) {
            fuzz_pulse(&bytes[..end]);
        }
        files += 1;
    }
    assert!(files > FORMATS.len(), "{files} files");
}

proptest! {
    #[test]
    fn changed_bytes_make_no_panic(changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..8)) {
        for format in FORMATS {
            let mut bytes = write(format.name, &SMALL);
            for (at, byte) in &changes {
                let at = usize::from(*at) % bytes.len();
                bytes[at] = *byte;
            }
            fuzz_pulse(&bytes);
        }
    }

    #[test]
    fn any_bytes_make_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        fuzz_pulse(&bytes);
        fuzz_pulse(&[b"PK\x03\x04", &bytes[..]].concat());
        fuzz_pulse(&[b"$var wire 1 ! D0 $end $enddefinitions $end\n", &bytes[..]].concat());
    }
}
