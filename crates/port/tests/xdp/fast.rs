//! Shared by the tests of the fast path: a run from one port to another, and the counts of single frames.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wirelab_port::inject::Schedule;
use wirelab_port::job::{CheckJob, CheckReport, SendJob, SendReport};
use wirelab_port::xdp::{Checker, CheckerOptions, Generator, GeneratorOptions};
use wirelab_trial::{Cancel, Counts, FaultRates};

use crate::rig::Rig;

/// The names of the faults, for `FaultRates::rate_mut`.
pub const FAULTS: [&str; 7] = [
    "drop",
    "duplicate",
    "swap",
    "header-corrupt",
    "truncate",
    "stale",
    "corrupt",
];

/// After this long without a frame, all frames are taken to have arrived.
const QUIET: Duration = Duration::from_millis(300);

/// Runs at full speed one after the other: two at once would fill each other's queues.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn rates(faults: &[&str], rate: f64, seed: u64) -> FaultRates {
    let mut rates = FaultRates {
        seed,
        ..FaultRates::default()
    };
    for fault in faults {
        *rates.rate_mut(fault).unwrap() = rate;
    }
    rates
}

/// `job` with faults drawn for `sequences` sequences.
pub fn with_faults(job: SendJob, rates: &FaultRates, sequences: u64) -> SendJob {
    SendJob {
        faults: Schedule::plan(rates, sequences, job.sizes.lfsr_len()).unwrap(),
        ..job
    }
}

/// Every fault alone, and every pair.
pub fn combinations() -> Vec<Vec<&'static str>> {
    let mut all: Vec<Vec<_>> = FAULTS.iter().map(|f| vec![*f]).collect();
    for (i, a) in FAULTS.iter().enumerate() {
        all.extend(FAULTS[i + 1..].iter().map(|b| vec![*a, *b]));
    }
    all
}

pub fn attach(rig: &Rig, check: CheckJob) -> Checker {
    Checker::attach(&rig.tester, check, CheckerOptions::default()).unwrap()
}

pub fn send(rig: &Rig, job: &SendJob) -> SendReport {
    let jobs = [(rig.node.clone(), job.clone())];
    let generator = Generator::load(&jobs, GeneratorOptions::default()).unwrap();
    generator.run(&Cancel::new()).unwrap().remove(0)
}

pub fn run(rig: &Rig, job: &SendJob, check: CheckJob) -> (SendReport, CheckReport) {
    let checker = attach(rig, check);
    let sent = send(rig, job);
    settle(&checker, sent.emitted_frames);
    let seen = checker.report().with_sent(sent.sequences);
    (sent, seen)
}

/// Waits until `expected` frames have arrived, or none for a while.
pub fn settle(checker: &Checker, expected: u64) {
    let (mut last, mut since) = (checker.received(), Instant::now());
    while last < expected && since.elapsed() < QUIET {
        std::thread::sleep(Duration::from_millis(1));
        let now = checker.received();
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
}

/// The verdict on one frame, as the difference of a checker's counts: exactly one of six words.
pub fn verdict(checker: &Checker, before: &mut Counts, frame: &[u8]) -> &'static str {
    checker.judge(frame).unwrap();
    let after = checker.report().counts;
    let kinds = [
        ("good", before.good_frames, after.good_frames),
        (
            "header_corrupt",
            before.header_corrupt_frames,
            after.header_corrupt_frames,
        ),
        ("truncated", before.truncated_frames, after.truncated_frames),
        ("stale", before.stale_frames, after.stale_frames),
        ("corrupted", before.corrupted_frames, after.corrupted_frames),
        ("foreign", before.foreign_frames, after.foreign_frames),
    ];
    let changed: Vec<_> = kinds.iter().filter(|(_, a, b)| a != b).collect();
    assert_eq!(changed.len(), 1, "one frame has one state: {changed:?}");
    assert_eq!(changed[0].1 + 1, changed[0].2, "one frame counts once");
    *before = after;
    changed[0].0
}
