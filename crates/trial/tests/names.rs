//! The tables of capture points and counters, and their page.

use std::path::Path;

use wirelab_trial::counter::Counter;
use wirelab_trial::stage::CapturePoint;

#[path = "../examples/names.rs"]
#[allow(dead_code)]
mod printed;

#[test]
fn the_page_is_that_of_the_tables() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/names.md");
    assert!(
        std::fs::read_to_string(page).unwrap() == printed::page(),
        "docs/names.md is not that of the tables; fix: cargo run -p wirelab-trial --example names > docs/names.md"
    );
}

#[test]
fn each_name_is_given_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut text = String::new();
    for folder in ["crates", "firmware"] {
        read(&root.join(folder), &mut text);
    }
    let given = |word: &str| {
        let start = |at| text.contains(&format!("\"{}{{", &word[..at]));
        text.contains(&format!("\"{word}\""))
            || word.match_indices('_').any(|(at, _)| start(at + 1))
    };
    let counters = Counter::ALL.iter().map(|c| c.word());
    let names = counters.chain(CapturePoint::ALL.iter().map(|p| p.word()));
    let of_nobody: Vec<&str> = names
        .filter(|word| !given(word) && !is_used(word, &text))
        .collect();
    assert!(
        of_nobody.is_empty(),
        "nobody gives {of_nobody:?}; fix: take the row out of the table"
    );
}

/// Whether a row is used by its constant.
fn is_used(word: &str, text: &str) -> bool {
    let rows = include_str!("../src/counter.rs")
        .lines()
        .chain(include_str!("../src/stage/point.rs").lines());
    let row = rows
        .map(str::trim)
        .find(|row| row.contains(&format!(" = \"{word}\":")));
    let name = row
        .and_then(|row| row.split(' ').next())
        .unwrap_or("no row");
    ["Counter", "CapturePoint"]
        .iter()
        .any(|of| text.contains(&format!("{of}::{name}")))
}

/// The sources below a folder but the tables themselves, and what tests say.
fn read(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            if !["tests", "target", "report", "examples"]
                .iter()
                .any(|other| name == *other)
            {
                read(&path, text);
            }
        } else if path
            .extension()
            .is_some_and(|end| end == "rs" || end == "c")
            && name != "counter.rs"
            && !path.ends_with("stage/point.rs")
        {
            let source = std::fs::read_to_string(&path).unwrap();
            text.push_str(
                source
                    .split("#[cfg(test)]\nmod ")
                    .next()
                    .unwrap_or_default(),
            );
        }
    }
}
