//! Each fault that a file can have is found and counted as exactly that, alone and in every pair.

use wirelab_port::inject::Schedule;
use wirelab_port::pcapng::{
    CaptureWriter, Fault, InterfaceSpec, VerifyOptions, WriterOptions, generate_into, verify,
};
use wirelab_trial::FaultRates;

use crate::bytes::{Ng, Order, frame, generate_spec, judge};

const SEQUENCES: u64 = 5_000;

fn run(rates: &FaultRates) -> (wirelab_trial::Ledger, wirelab_port::pcapng::VerifyReport) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("faults.pcapng");
    let lfsr_len = generate_spec(0, Schedule::default()).sizes[0].lfsr_len();
    let schedule = Schedule::plan(rates, SEQUENCES, lfsr_len).unwrap();
    let spec = generate_spec(SEQUENCES, schedule);
    let interfaces = [InterfaceSpec::named("a")];
    let mut writer = CaptureWriter::create(&path, &interfaces, &WriterOptions::default()).unwrap();
    let ledger = generate_into(&mut writer, 0, &spec).unwrap();
    writer.finish().unwrap();
    let options = VerifyOptions {
        sent: Some(SEQUENCES),
        ..VerifyOptions::default()
    };
    (ledger, verify(&path, &options).unwrap())
}

type Setter = fn(&mut FaultRates, f64);
const KINDS: [(&str, Setter); 7] = [
    ("drop", |r, p| r.drop = p),
    ("duplicate", |r, p| r.duplicate = p),
    ("swap", |r, p| r.swap = p),
    ("header-corrupt", |r, p| r.header_corrupt = p),
    ("truncate", |r, p| r.truncate = p),
    ("stale", |r, p| r.stale = p),
    ("corrupt", |r, p| r.corrupt = p),
];

fn check(name: &str, rates: &FaultRates) {
    let (ledger, report) = run(rates);
    assert_eq!(report.flows.len(), 1, "{name}");
    let flow = &report.flows[0];
    flow.check_identity().unwrap();
    assert_eq!(ledger.differences(&flow.counts), [], "{name}");
    assert_eq!(report.foreign_frames, 0, "{name}");
    assert!(!report.is_clean(), "{name}: a broken file was called clean");
    let faults = ledger.lost_frames + ledger.duplicated_frames + ledger.reordered_frames;
    let damaged = ledger.header_corrupt_frames + ledger.truncated_frames;
    let content = ledger.stale_frames + ledger.corrupted_frames;
    assert!(
        faults + damaged + content > 20,
        "{name}: too few faults to mean anything"
    );
}

#[test]
fn each_kind_alone() {
    for (name, set) in KINDS {
        let mut rates = FaultRates {
            seed: 7,
            ..FaultRates::default()
        };
        set(&mut rates, 0.02);
        check(name, &rates);
    }
}

#[test]
fn every_pair() {
    for (i, (first, set)) in KINDS.iter().enumerate() {
        for (second, also) in &KINDS[i + 1..] {
            let mut rates = FaultRates {
                seed: 11 + i as u64,
                ..FaultRates::default()
            };
            set(&mut rates, 0.02);
            also(&mut rates, 0.03);
            check(&format!("{first} and {second}"), &rates);
        }
    }
}

#[test]
fn a_clean_plan_is_clean() {
    let (ledger, report) = run(&FaultRates::default());
    assert_eq!(ledger.sent_frames, SEQUENCES);
    assert!(report.is_clean());
}

#[test]
fn a_finding_says_where_to_look() {
    let mut ng = Ng::new(Order::Little);
    ng.interface(1, 0, &[(9, &[9])]);
    ng.packet(0, 10, &frame(128, 0), 124);
    let mut bad = frame(128, 1);
    bad[77] ^= 0x10;
    ng.packet(0, 20, &bad, 124);
    ng.packet(0, 30, &frame(128, 5), 124);
    ng.packet(0, 40, &frame(128, 5), 124);
    let mut stale = frame(128, 6);
    stale[32..].copy_from_slice(&frame(128, 2)[32..]);
    ng.packet(0, 50, &stale, 124);
    let report = judge(&ng.bytes, &VerifyOptions::default());
    let right = frame(128, 1)[77];
    let found = &report.findings;
    assert_eq!(found.len(), 3);
    assert_eq!((found[0].frame, found[0].time_ps), (2, Some(20_000)));
    assert_eq!(
        found[0].to_string(),
        format!(
            "frame 2, stream 0, sequence 1: corrupted; byte 77 is {:02x}, not {right:02x}",
            right ^ 0x10
        )
    );
    assert_eq!((found[1].frame, found[1].fault), (4, Fault::Duplicated));
    assert_eq!(
        (found[2].frame, found[2].fault),
        (5, Fault::Stale { start_word: 2 })
    );
    assert_eq!(found[2].wrong_byte.unwrap().offset, 32);
    assert_eq!(report.gaps.len(), 1);
    assert_eq!(
        (report.gaps[0].frame, report.gaps[0].fault),
        (3, Fault::Gap { missing: 3 })
    );
    assert_eq!(report.flows[0].counts.lost_frames, 3);
}

#[test]
fn only_the_first_findings_are_kept_but_all_are_counted() {
    let mut ng = Ng::new(Order::Little);
    ng.interface(1, 0, &[]);
    for sequence in 0..100 {
        let mut bad = frame(64, sequence);
        bad[40] ^= 1;
        ng.packet(0, 0, &bad, 60);
    }
    let report = judge(&ng.bytes, &VerifyOptions::default());
    assert_eq!(report.findings.len(), 16);
    assert_eq!(report.flows[0].counts.corrupted_frames, 100);
}
