//! A results file of ten thousand trials is opened in less than a second of processor time.

use nix::time::{ClockId, clock_gettime};
use wirelab_trial::slices::{Slice, Slices};
use wirelab_trial::{OverTime, ResultsFile};

/// Processor time of this process in s, which others on the machine do not lengthen.
fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap();
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

#[test]
fn ten_thousand_trials_open_in_less_than_a_second() {
    let text = include_str!("../../../spec/examples/ports.json");
    let mut file = ResultsFile::parse(text).unwrap();
    // As a run has them: slices over time, and some hundred samples of each series.
    for flow in file.observations.iter_mut().flat_map(|o| &mut o.flows) {
        let slice = Slice {
            ns: 1_000_000,
            amount: 1,
            distinct: 1,
            passed: 1,
        };
        flow.over_time = OverTime::of_frames(&Slices {
            all: vec![slice; 32],
            first_ns: None,
        });
    }
    let some = file.observations.clone();
    file.observations = some.into_iter().cycle().take(10_000).collect();
    file.parts.clear();
    let text = file.to_json();
    let begun = processor_s();
    let read = ResultsFile::parse(&text).unwrap();
    let took_s = processor_s() - begun;
    assert_eq!(read.observations.len(), 10_000);
    println!("{} MB opened in {took_s:.2} s", text.len() / 1_000_000);
    assert!(took_s < 1.0, "{took_s:.2} s for {} bytes", text.len());
}
