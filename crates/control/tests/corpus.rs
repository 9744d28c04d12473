//! Replays the fuzz corpus.

use crate::common;
use std::path::Path;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        run(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen > 0, "no corpus for {target}");
}

#[test]
fn control_line() {
    replay("control_line", common::demo::fuzz_line);
}

#[test]
fn control_server() {
    replay("control_server", common::demo::fuzz_server);
}

#[test]
fn stages() {
    replay("stages", common::demo::fuzz_stages);
}

#[test]
fn what_the_corpus_tells_comes_out_as_stages() {
    let whole = include_bytes!("../../../fuzz/corpus/stages/way-in");
    let mut told = common::demo::told(whole);
    let stages = told.stages_of(0);
    for stage in ["wire to interrupt", "call to application"] {
        assert!(stages.iter().any(|s| s.name == stage), "{stage}: {told:?}");
    }
    assert!(stages.iter().all(|s| s.histogram.count == 3));
}
