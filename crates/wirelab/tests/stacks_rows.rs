//! The rows of docs/stacks.md that can be built from registries alone: a run of today has the counts of the page.

mod common;
mod docs_common;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use docs_common::{page, root};
use serde_json::Value;

const COUNT: &str = "32";
/// With another compiler than that of the page counts differ, though not by so much.
const OTHER_COMPILER: f64 = 0.4;

/// The image of a stack, or why it is not there, in the way that the test runner understands.
fn image(name: &str, lacks: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().expect("a test knows where it is");
    let mut folders = program.ancestors().map(|folder| folder.join("stacks"));
    let found = folders.find_map(|folder| {
        let path = folder.join(format!("{name}.elf"));
        path.is_file().then_some(path)
    });
    if found.is_none() {
        // Directly, because the test harness swallows what is printed otherwise.
        let text = format!("WIRELAB-SKIP {lacks}: there is no {name}.elf: run scripts/stacks/*.sh");
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    found
}

/// The counts of the page: received and sent, by bytes of data.
fn rows(stack: &str, traffic: &str) -> Vec<(u64, [u64; 2])> {
    let begin = format!("| {stack} | {traffic} | ");
    let page = page("docs/stacks.md");
    let lines = page.lines().filter_map(|line| line.strip_prefix(&begin));
    let number = |cell: &str| cell.replace(',', "").parse::<u64>();
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let count = |at: usize| number(cells[at]).unwrap_or_else(|_| panic!("{line}: cell {at}"));
        (count(0), [count(4), count(7)])
    });
    rows.collect()
}

/// Whether the image is of the compiler that the page names.
fn is_of_the_page(image: &Path, compiler: &str) -> bool {
    let made = std::fs::read_to_string(image.with_extension("txt")).expect("what it is made of");
    made.contains(compiler)
}

fn counts(machine: &str, image: &Path, length: u64) -> [u64; 2] {
    let machine = root().join(format!("firmware/stacks/machines/{machine}.toml"));
    let stages = common::json(&[
        "stages",
        &format!("qemu:{}", machine.display()),
        "--image",
        &image.display().to_string(),
        "--length",
        &length.to_string(),
        "--count",
        COUNT,
        "--json",
    ]);
    let all = stages["stages"].as_array().expect("stages");
    let usual = |from: &str, to: &str| {
        let is = |s: &&Value| s["from"] == from && s["to"] == to;
        let stage = all.iter().find(is).expect("a sum of stages");
        stage["mode_ticks"].as_u64().expect("a count")
    };
    [
        usual("interrupt", "application"),
        usual("application", "mac"),
    ]
}

fn hold(name: &str, stack: &str, compiler: &str, lacks: &str) {
    if !wirelab_port::netns::may_test() {
        return;
    }
    let Some(image) = image(name, lacks) else {
        return;
    };
    for (traffic, headers) in [("UDP", 42), ("TCP", 54)] {
        let rows = rows(stack, traffic);
        assert_eq!(rows.len(), 2, "{stack}, {traffic}");
        for (data, expected) in rows {
            let machine = format!("{name}-{}", traffic.to_lowercase());
            let counted = counts(&machine, &image, data + headers);
            if is_of_the_page(&image, compiler) {
                assert_eq!(counted, expected, "{stack}, {traffic}, {data} bytes");
                continue;
            }
            for (now, page) in counted.iter().zip(expected) {
                let change = (*now as f64 - page as f64).abs() / page as f64;
                assert!(
                    change < OTHER_COMPILER,
                    "{stack}: {now}, the page has {page}"
                );
            }
        }
    }
}

#[test]
fn the_rows_of_lwips_raw_interface_are_those_of_a_run() {
    hold("lwip-raw", "lwIP, raw", "12.2.1 20221205", "firmware");
}

#[test]
fn the_rows_of_smoltcp_are_those_of_a_run() {
    hold("smoltcp", "smoltcp", "rustc 1.95.0", "rust-thumb");
}
