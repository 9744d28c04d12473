//! Labs for the tests of `wirelab stages`.

use std::time::{Duration, Instant};

use serde_json::Value;

/// The namespaces of labs that a process has made.
pub fn labs_of(pid: u32) -> Vec<String> {
    let all = wirelab_port::netns::NetNs::list().unwrap();
    let mark = format!("stages-{pid}-");
    all.into_iter()
        .filter(|name| name.starts_with(&mark))
        .collect()
}

/// Wait until something is so; a busy machine may take its time.
pub fn until(what: &str, so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The row of one stage; what was printed where it is not there.
pub fn row<'a>(all: &'a Value, way: &str, length: u64, from: &str, to: &str) -> &'a Value {
    let mut rows = all["stages"].as_array().unwrap().iter();
    let is = |r: &&Value| {
        let words = (&r["direction"], &r["from"], &r["to"]);
        words == (&way.into(), &from.into(), &to.into()) && r["length_bytes"] == length
    };
    rows.find(is)
        .unwrap_or_else(|| panic!("no {from} to {to}, {way}, length {length}: {all:#}"))
}
