//! Each flag of iperf3 is one of ours, or in the table of those that are not here.

use std::collections::BTreeSet;
use std::process::Command;

use crate::common::{stdout, wirelab};
use crate::docs_common::page;
use crate::iperf_common::has;
use crate::table::{quoted, rows};

/// What iperf3 3.18 and 3.22 have beside 3.12, by their help.
const LATER: &[&str] = &[
    "--cntl-ka",
    "--gsro",
    "--json-stream",
    "--json-stream-full-output",
    "--mptcp",
    "--server-max-duration",
    "--skip-rx-copy",
    "--use-pkcs1-padding",
    "-m",
];
/// Letters that are another option's here: what to write is in the table, or the long name is the same.
const OTHER_MEANING: &[&str] = &["-d", "-L", "-V"];

/// The flags at the beginning of the lines of a help.
fn flags(help: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for line in help.lines().map(str::trim_start) {
        let words = line.split([' ', ',', '=', '<', '[', '|']);
        let listed =
            words.take_while(|word| word.is_empty() || word.starts_with('-') || *word == "or");
        let named = listed.filter(|word| word.len() > 1);
        all.extend(named.map(str::to_owned));
    }
    all
}

/// The names in the first column of a table of the page.
fn table(head: &str) -> BTreeSet<String> {
    let page = page("docs/iperf.md");
    let rows = rows(&page, head);
    let names = rows.iter().flat_map(|row| quoted(row[0]));
    names
        .filter_map(|name| name.split(' ').next())
        .filter(|name| name.starts_with('-'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_flag_of_iperf3_is_ours_or_has_a_reason() {
    if !has("iperf3") {
        return;
    }
    let output = Command::new("iperf3").arg("--help").output().unwrap();
    let mut theirs = flags(&stdout(&output));
    assert!(
        theirs.len() > 70 && theirs.contains("--get-server-output"),
        "{theirs:?}"
    );
    theirs.extend(LATER.iter().map(|name| (*name).to_owned()));
    let help = stdout(&wirelab(&["iperf", "--help"]));
    // Help names further spellings of an option in brackets.
    let mut ours = flags(&help);
    for aliases in help.split("alias").skip(1) {
        let names = aliases.split(']').next().unwrap();
        ours.extend(names.split([' ', ',', ':', '\n']).map(str::to_owned));
    }
    ours.insert("-6".to_owned());
    ours.insert("-h".to_owned());
    let missing = table("| flag | why, and what to do |");
    let unexplained: Vec<&String> = theirs
        .iter()
        .filter(|name| !ours.contains(*name) && !missing.contains(*name))
        .collect();
    assert!(
        unexplained.is_empty(),
        "neither here nor explained: {unexplained:?}"
    );
    let there = missing
        .iter()
        .filter(|name| ours.contains(*name) && !OTHER_MEANING.contains(&name.as_str()));
    let there: Vec<&String> = there.collect();
    assert!(there.is_empty(), "they are here: {there:?}");
    let unknown: Vec<&String> = missing.difference(&theirs).collect();
    assert!(unknown.is_empty(), "iperf3 has none of {unknown:?}");
}

#[test]
fn what_is_said_to_be_here_is() {
    let help = flags(&stdout(&wirelab(&["iperf", "--help"])));
    let listed = table("| flag | what it does here |");
    assert!(listed.len() > 15, "{listed:?}");
    let unknown: Vec<&String> = listed.difference(&help).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
