//! The judge of frames and the tracker against the model that the hardware's benches use: both must say the same of
//! every frame of long random sequences, so that packet_checker, which is compared with the model, says what Rust says.

use std::process::Command;

use wirelab_trial::tracker::{Event, SlotTracker, Tracker, WINDOW};
use wirelab_wire::{Flags, Flow, Header, Verdict, classify};

const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../rtl/tb/frame_sequences.py"
);

/// The model's frames, verdicts and counts; with `slots` of a flow that repeats.
fn sequence(seed: u32, slots: u32) -> String {
    let [seed, window, slots] = [seed.to_string(), WINDOW.to_string(), slots.to_string()];
    let output = Command::new("python3")
        .args(["-B", SCRIPT, &seed, "2500", &window, &slots])
        .output()
        .expect("python3 starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{SCRIPT}: {errors}");
    String::from_utf8(output.stdout).expect("the script prints ASCII")
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).expect("hex"))
        .collect()
}

fn flow(line: &str) -> Flow {
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[0], "flow");
    let known = |word: &str| (word != "-").then(|| word.to_owned());
    Flow {
        source: known(words[1]).map(|hex| bytes(&hex).try_into().unwrap()),
        udp_port: 0,
        stream: known(words[2]).map(|number| number.parse().unwrap()),
        dscp: None,
    }
}

fn words_of(verdict: &Verdict) -> (&'static str, Option<u32>) {
    match verdict {
        Verdict::Foreign => ("foreign", None),
        Verdict::HeaderCorrupt => ("header_corrupt", None),
        Verdict::Truncated(h) => ("truncated", Some(h.sequence)),
        Verdict::Stale { header, .. } => ("stale", Some(header.sequence)),
        Verdict::Corrupted(h) => ("corrupted", Some(h.sequence)),
        Verdict::Good(h) => ("good", Some(h.sequence)),
    }
}

#[test]
fn rust_and_the_model_of_the_benches_agree() {
    for seed in 1..=4 {
        let text = sequence(seed, 0);
        let mut lines = text.lines();
        let flow = flow(lines.next().expect("a first line"));
        let mut tracker = Tracker::new();
        let mut late = 0;
        let mut counted = None;
        for line in lines {
            if let Some(counts) = line.strip_prefix("counts ") {
                counted = Some(counts.to_owned());
                break;
            }
            let words: Vec<&str> = line.split(' ').collect();
            let (name, number) = words_of(&classify(&bytes(words[2]), &flow));
            let shown = number.map_or("-".to_owned(), |n| n.to_string());
            assert_eq!(
                (name, shown.as_str()),
                (words[0], words[1]),
                "seed {seed}: {line}"
            );
            if let Some(number) = number {
                late += u64::from(tracker.observe(number) == Event::TooLate);
            }
        }
        let counted = counted.expect("a last line with counts");
        for (name, value) in [
            ("distinct", tracker.distinct()),
            ("duplicated", tracker.duplicated()),
            ("reordered", tracker.reordered()),
            ("too_late", late),
            ("next", tracker.next() % (1 << 32)),
        ] {
            let entry = format!(" {name}={value}");
            assert!(
                counted.contains(&entry),
                "seed {seed}:{entry} against {counted}"
            );
        }
        assert!(
            late > 0 && tracker.reordered() > 0 && tracker.next() > 1 << 30,
            "seed {seed} exercises the tracker"
        );
    }
}

/// The header of a frame whose fields may be used.
fn header(verdict: Verdict) -> Option<Header> {
    match verdict {
        Verdict::Foreign | Verdict::HeaderCorrupt => None,
        Verdict::Truncated(header)
        | Verdict::Stale { header, .. }
        | Verdict::Corrupted(header)
        | Verdict::Good(header) => Some(header),
    }
}

#[test]
fn rust_and_the_model_of_the_benches_agree_on_flows_that_repeat() {
    for slots in [1, 2, 31, 4095, 4096] {
        let text = sequence(slots, slots);
        let mut lines = text.lines();
        let flow = flow(lines.next().expect("a first line"));
        let mut tracker = SlotTracker::new(slots);
        let mut mixed = 0;
        for line in lines
            .by_ref()
            .take_while(|line| !line.starts_with("counts "))
        {
            let frame = line.split(' ').nth(2).expect("a frame");
            if let Some(header) = header(classify(&bytes(frame), &flow)) {
                mixed += u64::from(!header.flags.contains(Flags::REPEATING));
                tracker.observe(header.sequence);
            }
        }
        let counts = text.lines().last().expect("a last line with counts");
        for (name, value) in [
            ("distinct", tracker.received()),
            ("order_breaks", tracker.order_breaks()),
            ("mixed", mixed),
            ("duplicated", 0),
            ("lost", 0),
        ] {
            assert!(
                format!("{counts} ").contains(&format!(" {name}={value} ")),
                "{slots} slots: {name}={value} against {counts}"
            );
        }
        assert!(
            tracker.order_breaks() > 20 && tracker.received() > 1000 && mixed > 20,
            "{slots} slots exercise the tracker"
        );
    }
}
