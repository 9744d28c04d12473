//! What the writer writes, the reader reads; generated captures are right for the judge.

use std::fs;

use proptest::prelude::*;
use wirelab_port::inject::Schedule;
use wirelab_port::pcapng::{
    CaptureError, CaptureReader, CaptureWriter, End, InterfaceSpec, VerifyOptions, WriterOptions,
    generate, verify,
};

use crate::bytes::{generate_spec, sizes};

proptest! {
    #[test]
    fn frames_come_back_as_they_were_written(
        frames in proptest::collection::vec(
            (0u32..3, any::<u64>(), proptest::collection::vec(any::<u8>(), 0..300), 0u32..100),
            0..40,
        ),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pcapng");
        let interfaces = ["a", "β", ""].map(InterfaceSpec::named);
        let mut writer = CaptureWriter::create(&path, &interfaces, &WriterOptions::default()).unwrap();
        for (interface, time, bytes, cut) in &frames {
            writer.write_cut_frame(*interface, *time, bytes, bytes.len() as u32 + cut).unwrap();
        }
        let summary = writer.finish().unwrap();
        prop_assert_eq!(summary.frames, frames.len() as u64);
        prop_assert_eq!(summary.bytes, fs::metadata(&path).unwrap().len());
        let mut reader = CaptureReader::open(&path).unwrap();
        for (interface, time, bytes, cut) in &frames {
            let got = reader.next_frame().unwrap().expect("as many frames as were written");
            prop_assert_eq!(got.interface, *interface);
            prop_assert_eq!(got.time_ps, Some(i128::from(*time) * 1000));
            prop_assert_eq!(got.bytes, &bytes[..]);
            prop_assert_eq!(got.original_len, bytes.len() as u32 + cut);
        }
        prop_assert_eq!(reader.next_frame().unwrap(), None);
        prop_assert_eq!(reader.end(), Some(&End::Whole));
        let names: Vec<_> = reader.interfaces().iter().map(|i| i.name.clone().unwrap()).collect();
        prop_assert_eq!(names, ["a", "β", ""]);
    }
}

#[test]
fn a_generated_capture_is_clean_and_has_the_rate_of_its_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    let spec = generate_spec(10_000, Schedule::default());
    let made = generate(&path, &spec, &WriterOptions::default()).unwrap();
    assert_eq!(made.file.frames, 10_000);
    let options = VerifyOptions {
        sent: Some(10_000),
        ..VerifyOptions::default()
    };
    let report = verify(&path, &options).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(
        (report.frames, report.test_frames(), report.bytes),
        (10_000, 10_000, made.file.bytes)
    );
    let flow = &report.flows[0];
    assert_eq!((flow.stream, flow.sequences), (3, Some((0, 9_999))));
    assert_eq!(flow.counts.good_frames, 10_000);
    assert_eq!(flow.lengths.distinct_bytes, [124]);
    assert_eq!(flow.counts.verified_payload_bytes, 10_000 * 110);
    // 148 link bytes at 1 Gbit/s are 1184 ns; N frames take N times that.
    assert_eq!(flow.elapsed_ps, Some(10_000 * 1_184_000));
    assert_eq!(
        (flow.gap.count, flow.gap.min_ticks, flow.gap.max_ticks),
        (9_999, 1184, 1184)
    );
    let rate = flow.link_bits_per_s().unwrap();
    assert!((rate - 1e9).abs() < 1.0, "{rate}");
    assert_eq!(
        report.interfaces[0].link_rate_bits_per_s,
        Some(1_000_000_000)
    );
    assert_eq!(report.interfaces[0].label(), "veth0");
}

#[test]
fn sizes_are_taken_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    let mut spec = generate_spec(100, Schedule::default());
    spec.sizes = (0..20).map(|i| sizes(&spec.frame, 64 + 100 * i)).collect();
    generate(&path, &spec, &WriterOptions::default()).unwrap();
    let report = verify(&path, &VerifyOptions::default()).unwrap();
    assert!(report.is_clean());
    let lengths = &report.flows[0].lengths;
    assert_eq!(
        (lengths.min_bytes, lengths.max_bytes, lengths.more),
        (60, 1960, true)
    );
    assert_eq!(lengths.distinct_bytes.len(), 16);
}

#[test]
fn a_file_that_is_there_is_not_overwritten_unless_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    fs::write(&path, "precious").unwrap();
    let spec = generate_spec(3, Schedule::default());
    let error = generate(&path, &spec, &WriterOptions::default()).unwrap_err();
    assert!(matches!(&error, CaptureError::Exists { name } if name.ends_with("a.pcapng")));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    let options = WriterOptions {
        overwrite: true,
        ..WriterOptions::default()
    };
    generate(&path, &spec, &options).unwrap();
    assert!(verify(&path, &VerifyOptions::default()).unwrap().is_clean());
}

#[test]
fn an_abandoned_writer_leaves_what_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    let interfaces = [InterfaceSpec::named("a")];
    let mut writer = CaptureWriter::create(&path, &interfaces, &WriterOptions::default()).unwrap();
    writer.write_frame(0, 1, &[1; 60]).unwrap();
    drop(writer);
    let report = verify(&path, &VerifyOptions::default()).unwrap();
    assert_eq!((report.frames, report.end), (1, End::Whole));
}

#[test]
fn statistics_say_what_the_capture_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    let interfaces = [InterfaceSpec::named("a"), InterfaceSpec::named("b")];
    let mut writer = CaptureWriter::create(&path, &interfaces, &WriterOptions::default()).unwrap();
    writer.set_statistics(1, 50, 7).unwrap();
    assert!(writer.set_statistics(2, 0, 0).is_err());
    writer.finish().unwrap();
    let report = verify(&path, &VerifyOptions::default()).unwrap();
    assert_eq!(report.dropped_by_capture(), 7);
    assert_eq!(report.interfaces[1].dropped_by_capture, 7);
}
