//! Replays the fuzz corpus.

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
    replay("control_line", wirelab_control::fuzz_line);
}

#[test]
fn control_server() {
    replay("control_server", wirelab_control::fuzz_server);
}

#[test]
fn stages() {
    replay("stages", wirelab_control::fuzz_stages);
}
