//! Truncated, damaged, empty and foreign files, full disks, and hostile bytes.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use proptest::prelude::*;
use wirelab_port::pcapng::{
    CaptureError, CaptureWriter, End, InterfaceSpec, VerifyOptions, WriterOptions, fuzz_capture,
    verify, verify_from,
};

use crate::bytes::{Ng, Order, classic, frame, judge};

/// A small capture of every type, and the ends of its blocks or records.
fn captures() -> Vec<(Vec<u8>, Vec<usize>)> {
    let mut all = Vec::new();
    for order in [Order::Little, Order::Big] {
        let mut ng = Ng::new(order);
        let mut ends = vec![ng.bytes.len()];
        ng.interface(1, 0, &[(2, b"a"), (9, &[9])]);
        ends.push(ng.bytes.len());
        for sequence in 0..3 {
            ng.packet(0, sequence.into(), &frame(64, sequence), 60);
            ends.push(ng.bytes.len());
            ng.block(0x0BAD, &[7; 21]);
            ends.push(ng.bytes.len());
        }
        all.push((ng.bytes, ends));
        let frames = [0, 1, 2].map(|sequence| frame(64, sequence));
        let records = frames.each_ref().map(|f| (0, 0, &f[..], 60));
        let bytes = classic(order, 0xA1B2_3C4D, 1, &records);
        all.push((bytes, vec![24, 100, 176, 252]));
    }
    all
}

#[test]
fn every_whole_frame_before_a_cut_at_any_byte_is_judged() {
    for (bytes, ends) in captures() {
        let whole = judge(&bytes, &VerifyOptions::default());
        assert!(whole.is_clean());
        for cut in 1..bytes.len() {
            let result = verify_from("cut.pcapng", &bytes[..cut], &VerifyOptions::default());
            if cut < 4 {
                assert!(
                    matches!(result, Err(CaptureError::NotACapture { .. })),
                    "{cut}"
                );
                continue;
            }
            let report = result.unwrap();
            let blocks = ends.iter().filter(|end| **end <= cut).count();
            let start = if blocks == 0 { 0 } else { ends[blocks - 1] };
            let expected = match start == cut {
                true => End::Whole,
                false => End::Cut {
                    offset: start as u64,
                    block: report.blocks + 1,
                    bytes: (cut - start) as u64,
                },
            };
            assert_eq!(report.end, expected, "cut at {cut}");
            let good: u64 = report.flows.iter().map(|f| f.counts.good_frames).sum();
            assert_eq!(good, report.frames, "cut at {cut}");
            assert_eq!(report.is_clean(), start == cut && good > 0);
        }
    }
}

#[test]
fn blocks_are_counted_up_to_the_cut() {
    let (bytes, ends) = captures().remove(0);
    let report = judge(&bytes[..ends[4] + 5], &VerifyOptions::default());
    assert_eq!((report.blocks, report.frames), (5, 2));
    let text = report.end.to_string();
    assert!(
        text.contains("block 6") && text.contains(&format!("byte {}", ends[4])),
        "{text}"
    );
}

#[test]
fn a_block_that_makes_no_sense_ends_the_reading_and_is_named() {
    let base = |change: &dyn Fn(&mut Ng)| {
        let mut ng = Ng::new(Order::Little);
        ng.interface(1, 0, &[]);
        ng.packet(0, 0, &frame(64, 0), 60);
        let at = ng.bytes.len();
        change(&mut ng);
        let report = judge(&ng.bytes, &VerifyOptions::default());
        assert_eq!(report.frames, 1);
        match report.end {
            End::Damaged { offset, block, why } => {
                assert_eq!((offset, block), (at as u64, 4), "{why}");
                why
            }
            other => panic!("{other:?}"),
        }
    };
    let last_byte = |ng: &mut Ng| {
        let at = ng.bytes.len() - 1;
        ng.bytes[at] ^= 1;
    };
    assert!(base(&|ng| ng.bytes.extend([0; 64])).contains("never written to its end"));
    assert!(
        base(&|ng| ng.bytes.extend([6, 0, 0, 0, 13, 0, 0, 0, 0, 0, 0, 0])).contains("length of 13")
    );
    assert!(base(&|ng| ng.packet(5, 0, &[], 0)).contains("interface 5"));
    assert!(base(&|ng| ng.block(6, &[0; 4])).contains("contradict"));
    assert!(base(&|ng| ng.block(0x0A0D_0D0A, &[0; 16])).contains("byte-order magic"));
    let unlike = base(&|ng| {
        ng.packet(0, 0, &frame(64, 1), 60);
        last_byte(ng);
    });
    assert!(unlike.contains("at its end"), "{unlike}");
    let unknown = base(&|ng| {
        ng.block(0x0BAD, &[0; 8]);
        last_byte(ng);
    });
    assert!(unknown.contains("at its end"), "{unknown}");
    let huge = base(&|ng| ng.bytes.extend([6, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0]));
    assert!(huge.contains("2147483648 bytes"), "{huge}");
}

#[test]
fn a_damaged_pcap_record_is_named() {
    let whole = frame(64, 0);
    let mut bytes = classic(Order::Little, 0xA1B2_C3D4, 1, &[(0, 0, &whole, 60)]);
    bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]);
    let report = judge(&bytes, &VerifyOptions::default());
    assert!(
        matches!(
            report.end,
            End::Damaged {
                offset: 100,
                block: 2,
                ..
            }
        ),
        "{:?}",
        report.end
    );
}

#[test]
fn what_is_no_capture_is_named_with_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng.gz");
    fs::write(&path, [0x1F, 0x8B, 8, 0, 0, 0]).unwrap();
    let text = verify(&path, &VerifyOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("a.pcapng.gz") && text.contains("gzip -dc"),
        "{text}"
    );
    let missing = folder.path().join("missing");
    let text = verify(&missing, &VerifyOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("cannot open") && text.contains("missing"),
        "{text}"
    );
    let text = verify(folder.path(), &VerifyOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("is a directory; fix: name a capture in it"),
        "{text}"
    );
}

#[test]
fn a_disk_error_in_the_middle_names_the_place() {
    struct Broken<'a>(&'a [u8]);
    impl Read for Broken<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0.is_empty() {
                true => Err(io::Error::from_raw_os_error(5)),
                false => self.0.read(out),
            }
        }
    }
    let (bytes, ends) = captures().remove(0);
    let source = Broken(&bytes[..ends[2] + 3]);
    let error = verify_from("disk.pcapng", source, &VerifyOptions::default()).unwrap_err();
    let text = error.to_string();
    let place = format!("disk.pcapng failed at byte {} (block 4)", ends[2]);
    assert!(text.contains(&place), "{text}");
}

#[test]
fn a_disk_that_is_full_from_the_start_is_named_at_once() {
    let interfaces = [InterfaceSpec::named("a")];
    let options = WriterOptions::default();
    let Err(error) = CaptureWriter::create(Path::new("/dev/full"), &interfaces, &options) else {
        panic!("/dev/full took data");
    };
    assert!(
        matches!(
            &error,
            CaptureError::Write {
                frames: 0,
                bytes: 0,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("/dev/full"));
}

#[test]
fn the_corpus_of_the_fuzzer_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/pcapng");
    let mut files = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        fuzz_capture(&fs::read(entry.unwrap().path()).unwrap());
        files += 1;
    }
    assert!(files >= 8, "the corpus in {} is gone", folder.display());
}

/// Another program wrote the files of the corpus: this crate's judgement is compared with that program's.
#[test]
fn captures_of_another_program_are_judged_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/pcapng");
    let judged = |name: &str| verify(&folder.join(name), &VerifyOptions::default()).unwrap();
    for name in [
        "clean-le.pcapng",
        "clean-be.pcapng",
        "le-us.pcap",
        "be-ns.pcap",
    ] {
        let report = judged(name);
        assert!(report.is_clean(), "{name}: {report:?}");
        assert_eq!(report.flows[0].counts.good_frames, 3, "{name}");
    }
    let counts = judged("each-fault.pcapng").flows[0].counts;
    assert_eq!(
        (counts.header_corrupt_frames, counts.corrupted_frames),
        (2, 1)
    );
    assert_eq!((counts.truncated_frames, counts.stale_frames), (1, 1));
    assert_eq!((counts.duplicated_frames, counts.reordered_frames), (1, 1));
    assert_eq!((counts.good_frames, counts.lost_frames), (3, 1));
    let udp = judged("udp-streams.pcapng");
    assert_eq!(udp.flows.len(), 2);
    assert_eq!(udp.flows[0].payload_bytes, 2 * 110);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn hostile_bytes_never_panic(
        which in 0usize..4,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        tail in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = captures().remove(which).0;
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.extend(tail);
        fuzz_capture(&bytes);
    }
}
