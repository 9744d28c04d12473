//! Every command of wirelab that a page shows is one that it takes, and those of the README are run; what a page names beside
//! it exists. `docs_pages.rs` runs those of the other pages.
//!
//! `docs_common/table.rs` has what the commands need, and each one that is not run just as it is written.

use std::collections::BTreeSet;

use crate::common;
use crate::common::{stderr, wirelab};
use crate::docs_common;
use crate::docs_common::table::PAGES;
use crate::docs_common::{Shown, VENDORS_ROWS, blocks, calls_of, commands, page, pages, root};
use crate::table;
use crate::typed::typed;

/// What the parser says of a command; it refuses an unknown option before it shows help, so nothing is run.
fn taken(mut args: Vec<String>, place: &str) {
    let end = match args.iter().position(|word| word == "--name") {
        // What stands behind it is another program's.
        Some(name) if args.starts_with(&["lab", "exec"].map(str::to_owned)) => name + 2,
        _ => args.len(),
    };
    args.insert(end, "--help".to_owned());
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = wirelab(&words);
    assert!(output.status.success(), "{place}: {}", stderr(&output));
}

#[test]
fn every_command_of_a_page_is_one_that_wirelab_takes() {
    let all: Vec<Shown> = pages().iter().flat_map(|name| commands(name)).collect();
    assert!(all.len() > 90, "{}", all.len());
    for shown in &all {
        for args in calls_of(&shown.command) {
            taken(args, &shown.place());
        }
    }
    let unknown = wirelab(&["measure", "lab:1", "--no-such-option", "--help"]);
    assert_eq!(
        unknown.status.code(),
        Some(2),
        "an option that does not exist must be refused here too"
    );
}

/// Each row of the vendor's page has its command in docs/iperf.md.
#[test]
fn every_row_of_the_vendors_page_has_commands_that_wirelab_takes() {
    let page = page("docs/iperf.md");
    let table = table::rows(&page, VENDORS_ROWS);
    let rows: Vec<&str> = table.iter().map(|row| row[0]).collect();
    for row in table {
        // The third column is the distribution's iperf.
        for (cell, command) in [(row[1], "iperf"), (row[3], "measure")] {
            for quoted in table::quoted(cell).filter(|words| words.contains("HOST")) {
                let args = docs_common::words(quoted);
                taken([vec![command.to_owned()], args].concat(), quoted);
            }
        }
    }
    for row in [
        "Layer 2 latency, RX and TX",
        "Layer 2 transmission",
        "TCP RX",
        "TCP TX",
        "TCP bidirectional",
        "UDP RX, 64 B",
        "UDP RX, 256 B",
        "UDP RX, 512 B",
        "UDP RX, 1470 B",
        "UDP RX (Max)",
        "UDP TX (Max)",
    ] {
        assert!(rows.iter().any(|r| r.starts_with(row)), "{row}: {rows:?}");
    }
}

#[test]
fn every_page_with_commands_is_run_and_no_row_is_of_a_command_that_is_gone() {
    let shown: BTreeSet<String> = pages()
        .into_iter()
        .filter(|name| !commands(name).is_empty())
        .collect();
    let known: BTreeSet<String> = PAGES.iter().map(|page| page.name.to_owned()).collect();
    assert_eq!(
        shown, known,
        "the pages with commands, and those of the table"
    );
    let source = [include_str!("docs.rs"), include_str!("docs_pages.rs")].concat();
    for page in PAGES {
        let run = format!("\"{}\"", page.name);
        assert!(source.contains(&run), "no test runs {}", page.name);
        let there = commands(page.name);
        for row in page.rows {
            let is = there.iter().any(|shown| shown.command == row.command);
            assert!(is, "{}: there is no command {}", page.name, row.command);
            assert!(!row.why.is_empty());
        }
    }
}

#[test]
fn the_readme_is_run() {
    typed("README.md");
}

/// The arguments of cargo, make and scripts on a page.
#[test]
fn what_a_page_names_of_the_repository_exists() {
    let makefile = page("Makefile");
    let has_target = |t: &str| {
        makefile
            .lines()
            .any(|line| line.starts_with(&format!("{t}:")))
    };
    let crates = |path: &str| {
        let mut all = std::fs::read_dir(root().join("crates")).unwrap();
        all.any(|entry| entry.unwrap().path().join(path).is_file())
    };
    let mut seen = 0;
    for name in pages() {
        let text = page(&name);
        let inline = text
            .lines()
            .flat_map(|line| line.split('`').skip(1).step_by(2));
        let code = inline.map(str::to_owned);
        let code = code.chain(blocks(&text).into_iter().flat_map(|block| block.lines));
        for code in code {
            let words: Vec<&str> = code.split_whitespace().collect();
            for (at, word) in words.iter().enumerate() {
                let next = || words.get(at + 1).copied().unwrap_or_default();
                let exists = match *word {
                    "make" if at == 0 => next().is_empty() || has_target(next()),
                    "--example" => crates(&format!("examples/{}.rs", next())),
                    "--bench" => crates(&format!("benches/{}.rs", next())),
                    "--test" if words[0] == "cargo" => crates(&format!("tests/{}.rs", next())),
                    _ => match word.strip_prefix("target/release/examples/") {
                        Some(example) => crates(&format!("examples/{example}.rs")),
                        None if word.starts_with("scripts/") || word.starts_with("rtl/") => {
                            let path = word.split("::").next().unwrap_or_default();
                            word.contains(['*', '…']) || root().join(path).exists()
                        }
                        None => continue,
                    },
                };
                seen += 1;
                assert!(exists, "{name}: {code}: there is no {word} {}", next());
            }
        }
    }
    assert!(seen > 50, "{seen} were looked at");
}

#[test]
fn the_scenarios_of_the_lpc1768_are_what_its_board_measures() {
    if !docs_common::has_image("lpc1768-ram.elf") {
        return;
    }
    let text = page("docs/board-lpc1768.md");
    for (image, buffers) in [
        ("ram", "prefilled"),
        ("ram", "copied"),
        ("ram-pointer", "copied"),
        ("flash", "copied"),
        ("ram", "dma-copied"),
        ("ram", "copied-ahead"),
        ("ram", "in-place"),
    ] {
        let node = format!("board:lpc1768,image={image}");
        let asked = [
            "measure", &node, "--length", "1514", "--frames", "50", "--json",
        ];
        let file = common::json(&[&asked[..], &["--buffers", buffers]].concat());
        let elapsed = &file["observations"][0]["flows"][0]["elapsed"]["value"]["ps"];
        let ms = elapsed.as_f64().expect("a time") / 1e9;
        let named = match image {
            "ram" => format!("| `{buffers}` |"),
            other => format!("| `{buffers}`, `{other}` |"),
        };
        let row = text
            .lines()
            .find(|line| line.contains(&named))
            .expect(&named);
        let cell = row.split('|').nth(5).expect("measured").trim();
        assert_eq!(cell, format!("{ms:.3}"), "{row}");
    }
}

/// Of one run, of which the page on the datasheet holds all to what is printed.
#[test]
fn the_readme_and_the_page_on_the_datasheet_show_the_same_run() {
    let run = |name: &str| {
        let mut all = commands(name).into_iter();
        let is = |shown: &Shown| shown.command.starts_with("wirelab measure node:198.18.0.1");
        all.find(is).expect(name).output
    };
    let whole = run("docs/datasheet.md");
    assert!(whole.len() > 30);
    let mut rest = whole.iter();
    let part = run("README.md");
    assert!(part.iter().filter(|line| *line != "…").count() > 5);
    for line in part.iter().filter(|line| *line != "…") {
        assert!(rest.any(|there| there == line), "README.md: {line}");
    }
}

#[test]
fn no_output_of_a_page_was_left_open() {
    for name in pages() {
        assert!(
            !page(&name).contains("@@"),
            "{name}: a place was never filled"
        );
    }
}
