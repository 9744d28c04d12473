//! Types the commands of a page one after the other, as a reader does, and holds what they print to what the page shows.

use std::time::Duration;

use super::board_common;
use super::common::stderr;
use super::docs_common::how::{Before, How, Page, Row, Text};
use super::docs_common::ran::{Tally, all_of, ended};
use super::docs_common::shown::{width, wrong};
use super::docs_common::site::Site;
use super::docs_common::table::PAGES;
use super::docs_common::{self, Shown, blocks, commands, page};

/// How long a command that is interrupted runs before.
const A_MOMENT: Duration = Duration::from_millis(2500);

/// Whether this host has what a command needs; says so in the way the test runner understands if not.
fn can_run(command: &str) -> bool {
    let boards = ["zynq7000", "lpc1768", "board list"];
    if command.contains("hdl:reference") {
        return docs_common::has_image("reference.elf");
    }
    if command.contains("qemu:") {
        return docs_common::has_image("mps2-an385.elf") && board_common::can_run("mps2-an385");
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
        panic!("{}: {difference}\nall of it:\n{printed}", shown.place());
    }
}

/// Types the commands of a page one after the other.
pub fn typed(name: &str) {
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
