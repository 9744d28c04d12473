//! The commands in a page's prose and tables are run too: those of code blocks are in docs.rs.

use std::collections::BTreeSet;

use crate::docs_common::ran::{Tally, ended};
use crate::docs_common::site::Site;
use crate::docs_common::{Shown, VENDORS_ROWS, commands, page, pages, spans};
use crate::table::{quoted, rows};

/// What a page says in its prose, and what is typed for it, one after the other in one folder.
const RUN: &[(&str, &str)] = &[
    ("wirelab predict --list", "wirelab predict --list"),
    ("wirelab study list", "wirelab study list"),
    (
        "wirelab fit results.json -o mine.toml",
        "wirelab measure am263x --layer udp4 --datagram 128,256,512,1024,1470 --direction rx --load 5M,10M --time 200ms \
         -o results.json && wirelab fit results.json -o mine.toml",
    ),
    (
        "wirelab report board.json model.json --format datasheet",
        "wirelab measure am263x --quick -o board.json && wirelab measure lpc1768 --quick -o model.json; \
         wirelab report board.json model.json --format datasheet",
    ),
    (
        "wirelab stages lab: --fast-track port=1026 --length 64 -o stages.json",
        "wirelab stages lab: --fast-track port=1026 --length 64 --count 32 --wait spin --probes off -o stages.json",
    ),
    ("wirelab explain stages.json", "wirelab explain stages.json"),
    (
        "wirelab stages lab: --fast-track port=1026 --background half --length 64",
        // Half searches for the rate first, which takes 20 s.
        "wirelab stages lab: --fast-track port=1026 --background 20kpps --length 64 --count 32 --wait spin --probes off",
    ),
    (
        "wirelab stages lab: -o stages.html",
        "wirelab stages lab: --length 64 --count 32 -o stages.html",
    ),
    (
        "wirelab report a.json b.json",
        "cp stages.json a.json && cp stages.json b.json && wirelab report a.json b.json",
    ),
    (
        "wirelab report results.json -o page.html",
        "wirelab report stages.json -o page.html",
    ),
    (
        "wirelab lab up --rate 1G",
        "wirelab lab up --rate 1G && wirelab lab down lab",
    ),
];
/// Those that are not, and why.
const NOT_RUN: &[(&str, &str)] = &[
    (
        "wirelab board console",
        "it names the command; crates/wirelab/tests/board.rs runs it beside a board",
    ),
    (
        "wirelab measure --help",
        "it names the option; crates/wirelab/tests/cli.rs reads what it prints",
    ),
    (
        "wirelab receive --sent",
        "it names the option, which docs/by-hand.md uses in a block",
    ),
    (
        "wirelab stages --against",
        "it names the option, which crates/wirelab/tests/exit_status.rs holds",
    ),
    (
        "wirelab stages hdl:reference --predicted",
        "docs/reference-node.md runs it in a block, with --count 8",
    ),
];

/// Whether a piece of code is the form of a command, in which words are left open.
fn is_form(command: &str) -> bool {
    let open = |word: &str| {
        let capitals = word.chars().filter(char::is_ascii_uppercase);
        word.contains(['…', '[', '|']) || capitals.count() >= 3
    };
    command.split_whitespace().any(open)
}

/// Each complete command of wirelab in the prose of a page that no block of a page begins with.
fn in_prose() -> BTreeSet<String> {
    let all = pages();
    let shown: Vec<Shown> = all.iter().flat_map(|name| commands(name)).collect();
    let in_block = |span: &str| {
        shown.iter().any(|shown| {
            let rest = shown.command.strip_prefix(span);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    };
    let spans = all.iter().flat_map(|name| spans(&page(name)));
    let bare = spans.map(|span| {
        let words = span.split_whitespace();
        let words = words.skip_while(|word| ["sudo", "time"].contains(word));
        words.collect::<Vec<_>>().join(" ")
    });
    let is_command = |span: &String| {
        let words: Vec<&str> = span.split(' ').collect();
        words[0] == "wirelab" && words.len() > 2 && !is_form(span) && !in_block(span)
    };
    bare.filter(is_command).collect()
}

#[test]
fn each_command_in_prose_is_run_or_a_row_says_why_not() {
    let there = in_prose();
    let rows = RUN
        .iter()
        .chain(NOT_RUN)
        .map(|(span, _)| (*span).to_owned());
    assert_eq!(there, rows.collect());
}

#[test]
fn the_commands_in_prose_are_run() {
    if !wirelab_port::netns::may_test() {
        return;
    }
    let site = Site::new();
    let mut tally = Tally::default();
    for (_, command) in RUN {
        let (output, kept) = tally.run(command, 0, |command| site.run(command));
        if kept {
            ended(&output, 0, command);
        }
    }
    tally.check("prose", |command| site.run(command));
}

/// What the cells of the table for the rows of the vendor's page say behind `wirelab iperf` and `wirelab measure`.
fn cells() -> Vec<String> {
    let page = page("docs/iperf.md");
    let mut found = Vec::new();
    for row in rows(&page, VENDORS_ROWS) {
        for (cell, command) in [(row[1], "iperf"), (row[3], "measure")] {
            // One with a peer alone is the whole page, which takes minutes; docs/datasheet.md begins it.
            let quoted = quoted(cell).filter(|words| words.contains("HOST") && words.contains(' '));
            found.extend(quoted.map(|words| format!("wirelab {command} {words}")));
        }
    }
    found
}

#[test]
fn the_commands_for_the_rows_of_the_vendors_page_are_run() {
    if !wirelab_port::netns::may_test() {
        return;
    }
    let mut site = Site::new();
    site.serve(
        "ip netns exec box wirelab node serve --listen 198.18.0.1",
        "Ctrl-C ends it.",
    );
    let mut tally = Tally::default();
    let all = cells();
    assert!(all.len() > 18, "{all:?}");
    for command in all {
        // The same for less time.
        let shorter = match command.starts_with("wirelab iperf ") {
            true => " -t 1",
            false if command.contains("--frames") => " --no-ceiling",
            false => " --no-ceiling --time 100ms",
        };
        let command = command.replace("HOST", "198.18.0.1") + shorter;
        let (output, kept) = tally.run(&command, 0, |command| site.run(command));
        if kept {
            ended(&output, 0, &command);
        }
    }
    tally.check("docs/iperf.md", |command| site.run(command));
    for (command, output) in site.finish() {
        ended(&output, 0, &command);
    }
}
