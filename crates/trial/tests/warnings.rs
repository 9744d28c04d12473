//! The table of warnings and its page.

use std::path::Path;

use wirelab_trial::WarningCode;

#[path = "../examples/warnings.rs"]
#[allow(dead_code)]
mod printed;

#[test]
fn codes_are_in_order_and_each_word_is_of_its_constant() {
    let words: Vec<&str> = WarningCode::ALL.iter().map(|code| code.word()).collect();
    assert!(words.is_sorted_by(|a, b| a < b), "{words:?}");
    for code in WarningCode::ALL {
        assert_eq!(code.word().replace('-', "_").to_uppercase(), code.name());
        assert!(code.meaning().ends_with('.'), "{}", code.word());
    }
}

#[test]
fn the_page_is_that_of_the_table_and_each_warning_is_emitted() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = printed::page(&crates).unwrap();
    let unused: Vec<&str> = page.lines().filter(|line| line.ends_with("|  |")).collect();
    assert!(unused.is_empty(), "nobody emits {unused:#?}");
    let kept = std::fs::read_to_string(crates.join("../docs/warnings.md")).unwrap();
    assert!(
        kept == page,
        "docs/warnings.md is not that of the table; fix: cargo run -p wirelab-trial --example warnings > docs/warnings.md"
    );
}
