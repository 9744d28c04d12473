//! Every command of wirelab that a page shows is one that it takes, and is run; what a page names beside it exists.
//!
//! `docs_common/table.rs` has what the commands need, and each one that is not run just as it is written.

mod board_common;
mod common;
mod docs_common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::{stderr, wirelab};
use docs_common::how::{Before, How, Page, Row, Text};
use docs_common::ran::{Tally, all_of, ended};
use docs_common::shown::{width, wrong};
use docs_common::site::Site;
use docs_common::table::PAGES;
use docs_common::{Shown, blocks, calls_of, commands, page, pages, root};

/// How long a command that is interrupted runs before.
const A_MOMENT: Duration = Duration::from_millis(2500);

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
    let table = page
        .lines()
        .skip_while(|line| !line.starts_with("| row of the page |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut rows = Vec::new();
    for line in table {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        rows.push(cells[0].to_owned());
        // The third column is the distribution's iperf.
        for (cell, command) in [(cells[1], "iperf"), (cells[3], "measure")] {
            let quoted = cell.split('`').skip(1).step_by(2);
            for quoted in quoted.filter(|words| words.contains("HOST")) {
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
    let source = include_str!("docs.rs");
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

/// Whether this host has what a command needs; says so in the way the test runner understands if not.
fn can_run(command: &str) -> bool {
    let boards = ["zynq7000", "lpc1768", "board list"];
    if command.contains("hdl:reference") {
        return docs_common::has_image("reference.elf");
    }
    if !command.contains("board") || !boards.iter().any(|b| command.contains(b)) {
        return true;
    }
    docs_common::has_image("lpc1768-ram.elf") && board_common::can_run("zynq7000")
}

fn row<'a>(page: &'a Page, command: &str) -> Option<&'a Row> {
    page.rows.iter().find(|row| row.command == command)
}

fn prepare(site: &mut Site, about: &Page) {
    for (name, text) in about.files {
        let (mut text, replaced) = match text {
            Text::File(path, replaced) => (page(path), replaced),
            Text::Block(with, replaced) => {
                let all = blocks(&page(about.name)).into_iter();
                let mut found = all.map(|block| block.lines.join("\n"));
                (
                    found.find(|text| text.contains(with)).expect(with),
                    replaced,
                )
            }
        };
        for (old, new) in *replaced {
            assert!(text.contains(old), "{name}: {old}");
            text = text.replace(old, new);
        }
        let path = site.folder().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).unwrap();
        std::fs::write(path, text).unwrap();
    }
    for before in about.before {
        match before {
            Before::Run(command) => ended(&site.run(command), 0, command),
            Before::Peer(command, says) => drop(site.serve(&there(command), says)),
        }
    }
}

/// The results file that a command writes into.
fn results_of(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace();
    words.find(|word| word.ends_with(".json"))
}

fn there(command: &str) -> String {
    format!("ip netns exec box {command}")
}

/// What a page shows of a command's output is what it prints, or what a run in its place prints.
fn held(shown: &Shown, as_written: bool, printed: &str) {
    if let Some(difference) = wrong(shown, as_written, printed) {
        panic!("{}: {difference}", shown.place());
    }
}

/// Types the commands of a page one after the other.
fn typed(name: &str) {
    if !wirelab_port::netns::may_test() {
        return;
    }
    let about = PAGES.iter().find(|page| page.name == name).expect(name);
    let mut site = Site::new();
    prepare(&mut site, about);
    let mut tally = Tally::default();
    for shown in commands(name) {
        if !can_run(&shown.command) {
            continue;
        }
        let row = row(about, &shown.command);
        let command = row.and_then(|row| row.instead).unwrap_or(&shown.command);
        let command = command.trim_end_matches(" &");
        let (how, status) = row.map_or((How::Runs, 0), |row| (row.how, row.status));
        let place = shown.place();
        site.set_width(width(&shown.command));
        let as_written = row.is_none_or(|row| row.instead.is_none());
        match how {
            How::Serves(says) => held(&shown, as_written, &site.serve(command, says)),
            How::ServesThere(says) => held(&shown, as_written, &site.serve(&there(command), says)),
            How::Interrupted => {
                let output = site.interrupted(command, A_MOMENT, results_of(command));
                ended(&output, status, &place);
                assert!(stderr(&output).contains("interrupted"), "{place}");
                held(&shown, as_written, &all_of(&output));
            }
            How::Beside(ready) => site.beside(command, ready, false, status),
            How::BesideUntilInterrupted(ready) => site.beside(command, ready, true, status),
            How::Runs => {
                let (output, kept) = tally.run(command, status, |command| site.run(command));
                let mut printed = all_of(&output);
                if let Some((beside, output, status)) = site.settle() {
                    ended(&output, status, &beside);
                    printed += &all_of(&output);
                }
                if kept {
                    ended(&output, status, &place);
                    held(&shown, as_written, &printed);
                }
            }
        }
    }
    tally.check(name, |command| site.run(command));
    for (command, output) in site.finish() {
        ended(&output, 0, &command);
    }
}

#[test]
fn the_readme_is_run() {
    typed("README.md");
}

#[test]
fn the_pages_on_peers_are_run() {
    for name in ["docs/iperf.md", "docs/node.md", "docs/latency.md"] {
        typed(name);
    }
}

#[test]
fn the_pages_on_the_datasheet_and_plans_are_run() {
    for name in ["docs/datasheet.md", "docs/plans.md", "docs/report.md"] {
        typed(name);
    }
}

#[test]
fn the_pages_on_boards_are_run() {
    for name in ["docs/board.md", "docs/board-lpc1768.md"] {
        typed(name);
    }
}

#[test]
fn the_pages_on_ports_are_run() {
    for name in [
        "docs/by-hand.md",
        "docs/captures.md",
        "docs/lab.md",
        "docs/search.md",
    ] {
        typed(name);
    }
}

#[test]
fn the_pages_on_stages_are_run() {
    for name in ["docs/stages.md", "docs/fast-track.md", "docs/fit.md"] {
        typed(name);
    }
}

#[test]
fn the_pages_on_hardware_are_run() {
    for name in ["docs/hdl.md", "docs/reference-node.md"] {
        typed(name);
    }
}

#[test]
fn the_pages_on_models_and_studies_are_run() {
    for name in [
        "docs/explain.md",
        "docs/whatif.md",
        "docs/studies.md",
        "docs/nodes/am263x.md",
        "docs/nodes/esp32-nuttx.md",
        "docs/nodes/ethernet-fmc.md",
        "docs/nodes/lpc1768.md",
        "docs/nodes/reference.md",
        "docs/nodes/zynq-emaclite.md",
        "docs/nodes/zynq-gem.md",
        "docs/nodes/zynq-temac.md",
    ] {
        typed(name);
    }
}

/// What cargo, make and scripts are told by a page.
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
