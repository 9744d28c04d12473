//! Replays the fuzz corpora of the test frame and of the rules of the fast track.

use std::path::Path;

fn replay(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut files = 0;
    for entry in std::fs::read_dir(corpus.join(target)).expect("the corpus is in the repository") {
        run(&std::fs::read(entry.expect("readable").path()).expect("readable"));
        files += 1;
    }
    assert!(files >= 20, "the corpus has {files} files only");
}

#[test]
fn the_fuzz_corpus_is_judged_without_panic() {
    replay("test_frame", wirelab_wire::check::fuzz_classify);
}

#[test]
fn rules() {
    replay("rules", wirelab_wire::rule::fuzz_rules);
}
