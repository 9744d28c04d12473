//! Replays the fuzz corpus of the test frame.

use std::path::Path;

#[test]
fn the_fuzz_corpus_is_judged_without_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/test_frame");
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).expect("the corpus is in the repository") {
        let bytes = std::fs::read(entry.expect("readable").path()).expect("readable");
        wirelab_wire::check::fuzz_classify(&bytes);
        files += 1;
    }
    assert!(files >= 20, "the corpus has {files} files only");
}
