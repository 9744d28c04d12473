//! Every number of the examples follows from others: no single one of them can be changed by far and be taken.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wirelab_trial::ResultsFile;

/// Numbers that nothing else in a file says anything of, each by a part of its place, and why.
const FREE: [(&str, &str); 10] = [
    (
        "created_unix_ns",
        "when it was, no clock of another kind knows",
    ),
    (
        "started_unix_ns",
        "when it was, no clock of another kind knows",
    ),
    ("environment/", "what the tester's host is"),
    ("node/capabilities/", "what the node says of itself"),
    ("trial/extent/", "the request; a run may end earlier"),
    (
        "trial/load/",
        "the request; a sender may be slower, and some report nothing",
    ),
    ("trial/faults/seed", "any seed is one"),
    ("clock/resolution_ticks", "what a clock says of itself"),
    (
        "counters/mac_tx_frames",
        "a register of the node, which may count more than the flow",
    ),
    (
        "jitter_ps",
        "its transit times are not in the file: it is bound by the run alone",
    ),
];

/// As [`FREE`], but only 0 is taken in their place.
const MAY_BE_NONE: [(&str, &str); 3] = [
    (
        "ledger/corrupted_frames",
        "what a path damages need not be injected",
    ),
    (
        "sender/value/longest_burst_frames",
        "a sender need not catch up",
    ),
    (
        "over_time/",
        "a slice may be empty, and the last ones need not be reported",
    ),
];

fn examples() -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/examples");
    let paths = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let of = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    // Each number as one of the text: `to_json` would pack long lists.
    let read = |path: PathBuf| {
        let file = ResultsFile::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        (of(&path), serde_json::to_value(&file).unwrap())
    };
    paths.map(read).collect()
}

/// The places of all numbers inside a value.
fn numbers(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(place.to_owned()),
        Value::Array(all) => {
            for (at, one) in all.iter().enumerate() {
                numbers(one, &format!("{place}/{at}"), found);
            }
        }
        Value::Object(all) => {
            for (name, one) in all {
                numbers(one, &format!("{place}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// The number times a million, where that is another one.
fn far_more(number: &Value) -> Option<Value> {
    let more = match number.as_u64() {
        Some(count) => json!(count.saturating_mul(1_000_000)),
        None => json!(number.as_f64()? * 1e6),
    };
    (more != *number && number.as_f64() != Some(0.0)).then_some(more)
}

/// 0 in place of a count.
fn none(number: &Value) -> Option<Value> {
    number.as_u64().filter(|count| *count > 0).map(|_| json!(0))
}

/// Whether the file is read with this number in that place.
fn is_taken(file: &mut Value, place: &str, number: Value) -> bool {
    let there = file.pointer_mut(place).unwrap();
    let before = std::mem::replace(there, number);
    let taken = ResultsFile::parse(&file.to_string()).is_ok();
    *file.pointer_mut(place).unwrap() = before;
    taken
}

#[test]
fn no_number_of_an_example_can_be_another_by_far() {
    let is_of =
        |list: &[(&str, &str)], place: &str| list.iter().any(|(part, _)| place.contains(part));
    let (mut taken, mut tried) = (Vec::new(), 0);
    for (name, mut file) in examples() {
        assert!(
            ResultsFile::parse(&file.to_string()).is_ok(),
            "{name} is sound"
        );
        let mut places = Vec::new();
        numbers(&file, "", &mut places);
        for place in places.iter().filter(|place| !is_of(&FREE, place)) {
            let number = file.pointer(place).unwrap().clone();
            let zero = none(&number).filter(|_| !is_of(&MAY_BE_NONE, place));
            for other in [far_more(&number), zero].into_iter().flatten() {
                tried += 1;
                if is_taken(&mut file, place, other.clone()) {
                    taken.push(format!("{name}{place}: {number} may be {other}"));
                }
            }
        }
    }
    assert!(tried > 500, "{tried}");
    assert!(taken.is_empty(), "{}", taken.join("\n"));
}

#[test]
fn every_exception_is_one() {
    let mut files = examples();
    for (part, why) in FREE.iter().chain(&MAY_BE_NONE) {
        let needed = files.iter_mut().any(|(_, file)| {
            let mut places = Vec::new();
            numbers(file, "", &mut places);
            places
                .iter()
                .filter(|place| place.contains(part))
                .any(|place| {
                    let number = file.pointer(place).unwrap().clone();
                    let others = [far_more(&number), none(&number)];
                    others
                        .into_iter()
                        .flatten()
                        .any(|other| is_taken(file, place, other))
                })
        });
        assert!(
            needed,
            "{part} ({why}) is in no example, or is refused anyway"
        );
    }
}
