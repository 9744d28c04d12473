//! How fast a capture is verified from page cache, and how fast one is written, in file bytes per second.
//!
//! The goal is 1 GB/s (issue 2). The file is in the temporary folder and is read once before the measurement.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_main};
use wirelab_port::inject::Schedule;
use wirelab_port::pcapng::{
    CaptureReader, GenerateSpec, VerifyOptions, WriterOptions, generate, verify,
};
use wirelab_wire::{FrameSpec, LineRate, Size, SizeUnit, Transport};

/// Approximate bytes of each capture: larger than any CPU cache.
const FILE_BYTES: u64 = 200_000_000;

fn spec(length: u32) -> GenerateSpec {
    let frame = FrameSpec {
        destination: [2, 0x57, 0x4C, 0, 0, 2],
        source: [2, 0x57, 0x4C, 0, 0, 1],
        vlans: [None, None],
        transport: Transport::Ethernet,
        dscp: 0,
    };
    let sizes = Size::new(SizeUnit::Length, length)
        .resolve_test(frame.framing())
        .expect("a length that fits");
    GenerateSpec {
        interface: "bench".to_owned(),
        frame,
        sizes: vec![sizes],
        stream: 0,
        sequences: FILE_BYTES / u64::from(length + 32),
        link: LineRate::new(10_000_000_000).expect("not 0"),
        start_ns: 1_700_000_000_000_000_000,
        with_time: true,
        slots: None,
        faults: Schedule::default(),
    }
}

fn walk(path: &Path) -> u64 {
    let mut reader = CaptureReader::open(path).expect("the file was just written");
    while let Some(frame) = reader.next_frame().expect("page cache") {
        black_box(frame);
    }
    reader.frames()
}

fn captures(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for length in [1514, 508, 60] {
        let path = folder.path().join(format!("{length}.pcapng"));
        let spec = spec(length);
        let file = generate(&path, &spec, &WriterOptions::default()).expect("room on the disk");
        let options = VerifyOptions {
            sent: Some(spec.sequences),
            ..VerifyOptions::default()
        };
        let report = verify(&path, &options).expect("readable");
        assert!(report.is_clean(), "the bench must measure the good path");
        let mut group = c.benchmark_group(format!("length {length}"));
        group.sample_size(10);
        group.throughput(Throughput::Bytes(file.file.bytes));
        group.bench_function("verify", |b| b.iter(|| verify(&path, &options)));
        group.bench_function("walk without judging", |b| b.iter(|| walk(&path)));
        let again = WriterOptions {
            overwrite: true,
            ..WriterOptions::default()
        };
        let out = folder.path().join("out.pcapng");
        group.bench_function("generate", |b| b.iter(|| generate(&out, &spec, &again)));
        group.finish();
    }
}

mod group {
    //! The code of criterion's macro cannot have doc comments.
    #![allow(missing_docs)]
    criterion::criterion_group!(benches, super::captures);
}
criterion_main!(group::benches);
