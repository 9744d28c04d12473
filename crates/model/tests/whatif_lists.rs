//! What a reader sees of the changes of each node that comes with the tool, and of cycle times: as snapshots.

use wirelab_config::trial::trial as read_trial;
use wirelab_model::cycle::minimum_cycle;
use wirelab_model::file::NodeFile;
use wirelab_model::library;
use wirelab_model::whatif::{WhatifOptions, baseline, whatif};
use wirelab_report::{Format, Options, render_cycle, render_whatif};
use wirelab_trial::Trial;

fn trial(text: &str) -> Trial {
    wirelab_config::read(text, "trial", |top| read_trial(top, None)).unwrap()
}

fn options() -> Options {
    Options {
        width: Some(120),
        ..Options::default()
    }
}

/// A trial that stands for each node.
const ASKED: [(&str, &str); 14] = [
    (
        "am263x-transmit",
        "layer = \"udp4\"\ndatagram = 1470\ndirection = \"transmit\"",
    ),
    (
        "am263x-receive",
        "layer = \"udp4\"\ndatagram = 64\ndirection = \"receive\"\nload = \"15M\"",
    ),
    (
        "esp32-nuttx",
        "layer = \"udp4\"\ndatagram = 1000\ndirection = \"transmit\"",
    ),
    ("ethernet-fmc", "payload = 1498\ndirection = \"transmit\""),
    (
        "lpc1768-copied",
        "length = 1514\nframes = 50\nbuffers = \"copied\"",
    ),
    (
        "lpc1768-dma-copied",
        "length = 1514\nframes = 50\nbuffers = \"dma-copied\"",
    ),
    (
        "lpc1768-prefilled",
        "length = 1514\nframes = 50\nbuffers = \"prefilled\"",
    ),
    (
        "reference-dma",
        "layer = \"udp4\"\nlength = 1024\ndirection = \"receive\"\nload = \"1kpps\"",
    ),
    (
        "reference-lite-device",
        "layer = \"udp4\"\nlength = 1024\ndirection = \"receive\"\nload = \"1kpps\"",
    ),
    (
        "reference-lite-ordered",
        "layer = \"udp4\"\nlength = 1024\ndirection = \"transmit\"\nload = \"1kpps\"",
    ),
    (
        "zynq-emaclite",
        "layer = \"udp4\"\nlength = 1024\ndirection = \"receive\"\nload = \"1kpps\"",
    ),
    (
        "zynq-emaclite-so",
        "layer = \"udp4\"\nlength = 1024\ndirection = \"transmit\"\nload = \"1kpps\"",
    ),
    (
        "zynq-gem",
        "layer = \"udp4\"\nlength = 1024\ndirection = \"receive\"\nload = \"1kpps\"",
    ),
    (
        "zynq-temac",
        "layer = \"udp4\"\nlength = 1024\ndirection = \"receive\"\nload = \"1kpps\"",
    ),
];

/// The node of a name of [`ASKED`].
fn node_of(asked: &str) -> &'static str {
    let fits = |name: &&str| {
        let rest = asked.strip_prefix(*name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let fitting = library::names().filter(fits);
    fitting.max_by_key(|name| name.len()).unwrap()
}

#[test]
fn lists_of_every_node() {
    for name in library::names() {
        assert!(
            ASKED.iter().any(|(asked, _)| asked.starts_with(name)),
            "no trial for {name}"
        );
    }
    for (asked, text) in ASKED {
        let (file, asked_trial) = (library::open(node_of(asked)).unwrap(), trial(text));
        let found = whatif(&file, &asked_trial, &WhatifOptions::default()).unwrap();
        assert_eq!(found.baseline, baseline(&file, &asked_trial).unwrap());
        let shown = render_whatif(&found, Format::Terminal, &options()).unwrap();
        insta::assert_snapshot!(asked.replace('-', "_"), shown);
    }
}

/// The options of every change that a reader sees make the same change again.
#[test]
fn printed_changes_are_options() {
    for (asked, text) in ASKED {
        let name = node_of(asked);
        let (file, asked_trial) = (library::open(name).unwrap(), trial(text));
        let with_unit = WhatifOptions {
            own: vec![own(&file)],
            ..WhatifOptions::default()
        };
        let found = whatif(&file, &asked_trial, &with_unit).unwrap();
        let shown = render_whatif(&found, Format::Terminal, &Options::default()).unwrap();
        let printed: Vec<Vec<&str>> = shown.lines().flat_map(options_in).collect();
        let changes = || found.singles.iter().chain(&found.pairs);
        assert!(printed.len() > 1, "{asked}: {shown}");
        for set in printed {
            let mut changed = file.clone();
            for one in &set {
                changed
                    .set(one)
                    .unwrap_or_else(|why| panic!("{asked}: {why}"));
            }
            let tried = changes().find(|change| change.set == set).unwrap();
            assert_eq!(baseline(&changed, &asked_trial).unwrap(), tried.after);
        }
    }
}

/// An assignment with a unit behind a space: a parameter of the file as it is.
fn own(file: &NodeFile) -> String {
    let (name, parameter) = file.parameters.iter().next().unwrap();
    format!("{name}={} {}", parameter.value, parameter.unit)
}

/// The assignments of each change in a line: words behind `--set`, until other words follow.
fn options_in(line: &str) -> Vec<Vec<&str>> {
    let mut out: Vec<Vec<&str>> = Vec::new();
    let mut words = line.split_whitespace().peekable();
    let mut again = false;
    while let Some(word) = words.next() {
        if word != "--set" {
            again = false;
            continue;
        }
        let one = words.next().unwrap();
        let end = one.trim_end_matches([':', ';', '.']);
        match out.last_mut().filter(|_| again) {
            Some(last) => last.push(end),
            None => out.push(vec![end]),
        }
        again = end == one;
    }
    out
}

#[test]
fn markdown_and_json() {
    let file = library::open("lpc1768").unwrap();
    let asked = trial("length = 1514\nframes = 50\nbuffers = \"copied\"");
    let found = whatif(&file, &asked, &WhatifOptions::default()).unwrap();
    insta::assert_snapshot!(render_whatif(&found, Format::Markdown, &options()).unwrap());
    let json = render_whatif(&found, Format::Json, &options()).unwrap();
    let first = "\"kind\": \"token\",\n      \"what\": \"a second frame in flight (in-flight 1 → 2)\",\n      \
                 \"set\": [\n        \"in-flight=2\"\n      ],\n      \"gain\": \"frames_per_s\",";
    assert!(json.contains(first), "{json}");
    assert!(
        render_whatif(&found, Format::Html, &options())
            .unwrap()
            .contains("<td")
    );
    assert!(render_whatif(&found, Format::Csv, &options()).is_err());
}

#[test]
fn cycle_times() {
    let file = library::open("zynq-emaclite").unwrap();
    let asked = trial("layer = \"udp4\"\ndatagram = 18\nrate = \"100M\"");
    let found = minimum_cycle(&file, &asked, 100, 18, 1_000_000).unwrap();
    insta::assert_snapshot!(render_cycle(&found, Format::Terminal, &options()).unwrap());
    let json = render_cycle(&found, Format::Json, &options()).unwrap();
    assert!(
        json.contains("\"cycle_with_node_ps\": {\n      \"value\": "),
        "{json}"
    );
    let sends_only = library::open("lpc1768").unwrap();
    let found = minimum_cycle(&sends_only, &trial("length = 64"), 1, 16, 0).unwrap();
    insta::assert_snapshot!(render_cycle(&found, Format::Markdown, &options()).unwrap());
}
