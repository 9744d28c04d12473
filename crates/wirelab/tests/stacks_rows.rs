//! The rows of docs/stacks.md that can be built from registries alone: a run of today has the counts of the page.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::common;
use crate::docs_common::{page, root};
use serde_json::Value;
use wirelab_board::machine::file::MachineFile;
use wirelab_board::machine::image::Image;
use wirelab_board::machine::running::Machine;

const COUNT: &str = "32";
/// The compiler of the page's images of lwIP.
const LWIPS_COMPILER: &str = "12.2.1 20221205";
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

/// The machine that asks for its address and sends, and its image.
fn client() -> Option<(PathBuf, PathBuf)> {
    let file = root().join("crates/wirelab/tests/machines/lwip-client.toml");
    Some((file, image("lwip-client", "firmware")?))
}

#[test]
fn an_image_that_asks_by_dhcp_and_then_sends_is_counted() {
    let Some((file, image)) = client() else {
        return;
    };
    let stages = common::json(&[
        "stages",
        &format!("qemu:{}", file.display()),
        "--image",
        &image.display().to_string(),
        "--length",
        "106",
        "--count",
        COUNT,
        "--json",
    ]);
    let all = stages["stages"].as_array().expect("stages");
    let is_sum = |s: &&Value| s["from"] == "application" && s["to"] == "mac";
    let sum = all.iter().find(is_sum).expect("a sum of stages");
    assert_eq!((&sum["count"], &sum["outliers"]), (&32.into(), &0.into()));
    if is_of_the_page(&image, LWIPS_COMPILER) {
        // What the echo takes for an answer of as many bytes.
        let (_, [_, sent]) = rows("lwIP, raw", "UDP")[0];
        assert_eq!(sum["mode_ticks"], sent);
    }
}

#[test]
fn an_image_at_a_tap_gets_its_address_by_dhcp() {
    let Some((file, image)) = client().filter(|_| wirelab_port::netns::may_test()) else {
        return;
    };
    let file = MachineFile::find(&file.display().to_string()).expect("a machine file");
    let image = Image::find(&file, Some(&image)).expect("an image");
    let (machine, counting) = Machine::start(&file, &image, None).expect("it is up");
    assert!(counting.is_none());
    let ip = machine.ip().to_string();
    let answers = || {
        let mut ping = std::process::Command::new("ping");
        ping.args(["-c", "1", "-W", "2", &ip]).output()
    };
    let answered = machine.namespace().expect("a namespace").run_in(answers);
    let answered = answered.expect("the namespace is there").expect("ping");
    assert!(answered.status.success(), "{answered:?}");
}

#[test]
fn the_rows_of_lwips_raw_interface_are_those_of_a_run() {
    hold("lwip-raw", "lwIP, raw", LWIPS_COMPILER, "firmware");
}

#[test]
fn the_rows_of_smoltcp_are_those_of_a_run() {
    hold("smoltcp", "smoltcp", "rustc 1.95.0", "rust-thumb");
}
