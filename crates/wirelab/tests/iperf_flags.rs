//! Each flag of the distribution's iperf 2 is one of `wirelab iperf`, or docs/iperf.md says why it is not here.

use std::collections::BTreeSet;
use std::process::Command;

use crate::common::{stdout, wirelab};
use crate::docs_common::page;
use crate::iperf_common::has;
use crate::table::{quoted, rows};

/// The flags that a line of a help begins with, short and long.
fn flags_of(line: &str) -> Vec<String> {
    let named = |word: &&str| word.starts_with('-') && word.len() > 1 && *word != "--";
    let name = |word: &str| {
        let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c)));
        word[..end.unwrap_or(word.len())].to_owned()
    };
    let words = line.split_whitespace().take_while(named);
    words.map(name).collect()
}

/// All flags of the help of iperf.
fn flags_of_help(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| line.starts_with("  "));
    lines.flat_map(flags_of).collect()
}

/// All flags of `wirelab iperf`, with their aliases.
fn ours() -> BTreeSet<String> {
    let help = stdout(&wirelab(&["iperf", "--help"]));
    let word = |c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c));
    let flags = help.split(word).filter(|word| word.starts_with('-'));
    flags.map(str::to_owned).collect()
}

/// The flags of the table, and whether each row has a reason.
fn absent() -> BTreeSet<String> {
    let page = page("docs/iperf.md");
    let mut found = BTreeSet::new();
    for row in rows(&page, "| flag | not supported, because |") {
        assert!(row.len() == 2 && row[1].len() > 15, "{row:?}");
        found.extend(quoted(row[0]).map(str::to_owned));
    }
    assert!(found.len() > 40, "{found:?}");
    found
}

#[test]
fn each_flag_of_the_binary_is_here_or_has_a_reason() {
    if !has("iperf") {
        return;
    }
    let output = Command::new("iperf").arg("--help").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    let theirs = flags_of_help(&text);
    for known in [
        "-b",
        "--bandwidth",
        "-Z",
        "--trip-times",
        "-X",
        "--peer-detect",
        "--ipg",
    ] {
        assert!(theirs.contains(known), "{known}: {theirs:?}");
    }
    let (ours, absent) = (ours(), absent());
    let missing: Vec<&String> = theirs
        .iter()
        .filter(|flag| !ours.contains(*flag) && !absent.contains(*flag))
        .collect();
    assert!(
        missing.is_empty(),
        "neither here nor in the table: {missing:?}"
    );
}

#[test]
fn no_flag_of_the_table_is_here() {
    let ours = ours();
    // A letter that has another meaning in iperf3 is here for that alone.
    let of_iperf3 = ["-T"];
    let here: Vec<String> = absent()
        .into_iter()
        .filter(|flag| ours.contains(flag) && !of_iperf3.contains(&flag.as_str()))
        .collect();
    assert!(here.is_empty(), "{here:?} are here");
    for flag in of_iperf3 {
        let output = wirelab(&["iperf", "-c", "127.0.0.1", flag, "1"]);
        assert_eq!(output.status.code(), Some(2), "{flag} without -3");
    }
    for flag in ["--bounceback", "-X", "--udp-histogram"] {
        assert!(absent().contains(flag), "{flag}");
        let output = wirelab(&["iperf", "-c", "127.0.0.1", flag]);
        assert_eq!(output.status.code(), Some(2), "{flag}");
    }
}

#[test]
fn a_flag_that_is_in_neither_would_be_seen() {
    let help = "  -b, --bandwidth #[kmgKMG | pps]  bandwidth\n      --near-congestion=[w] Use\n  -k, --new-flag  what -c does\n";
    let flags = flags_of_help(help);
    let expected = ["--bandwidth", "--near-congestion", "--new-flag", "-b", "-k"];
    assert_eq!(
        flags.iter().map(String::as_str).collect::<Vec<_>>(),
        expected
    );
    assert!(!ours().contains("--new-flag") && !absent().contains("--new-flag"));
}
