//! Hostile node files: long, deep, cut, and with values where others belong.

use std::fmt::Write as _;
use std::path::Path;

use wirelab_model::file::{MAX_FILE_BYTES, NodeFile, fuzz_node_file};

const BOARD: &str = include_str!("data/board.toml");

fn error(text: &str) -> String {
    NodeFile::parse(text, "n.toml").unwrap_err().to_string()
}

#[test]
fn hostile_sizes() {
    let long = error(&" ".repeat(MAX_FILE_BYTES as usize + 1));
    assert!(long.contains("at most 256 KiB are read"), "{long}");
    let nested = error(&format!("x = {}", "[".repeat(100_000)));
    assert!(nested.len() < 400, "{nested}");
    let name = "n".repeat(9_000);
    let named = error(&format!(
        "{BOARD}\n[parameter.{name}]\nvalue = 1\nunit = \"1\"\nsource = \"x\""
    ));
    assert!(
        named.contains("fix: write 1 to 96 letters") && named.len() < 400,
        "{named}"
    );
    let unknown = error(&format!(
        "{BOARD}\n[stage.s]\nsource = \"x\"\nresource = \"{name}\"\n"
    ));
    assert!(unknown.len() < 400, "{unknown}");
    let mut many = BOARD.to_owned();
    for i in 0..501 {
        writeln!(many, "[resource.r{i}]").unwrap();
    }
    assert!(
        error(&many).contains("write at most 500"),
        "{}",
        error(&many)
    );
}

#[test]
fn the_fuzz_corpus_is_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/node_file");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        fuzz_node_file(&std::fs::read(entry.unwrap().path()).unwrap());
        files += 1;
    }
    assert!(files >= 5, "{files} files");
}

#[test]
fn no_cut_of_a_file_panics() {
    for end in (0..BOARD.len()).step_by(37) {
        fuzz_node_file(&BOARD.as_bytes()[..end]);
    }
    for word in [
        "0",
        "-1",
        "1e300",
        "\"\"",
        "[]",
        "{}",
        "true",
        "\"link\"",
        "\"board\"",
    ] {
        for (at, _) in BOARD.match_indices("= ") {
            let rest = &BOARD[at + 2..];
            let tail = rest.find('\n').map_or("", |newline| &rest[newline..]);
            fuzz_node_file(format!("{}= {word}{tail}", &BOARD[..at]).as_bytes());
        }
    }
}
