//! What a reader sees of the changes of each node that comes with the tool, and of cycle times: as snapshots.

use wirelab_config::trial::trial as read_trial;
use wirelab_model::cycle::minimum_cycle;
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

#[test]
fn lists_of_every_node() {
    for name in library::names() {
        assert!(
            ASKED.iter().any(|(asked, _)| asked.starts_with(name)),
            "no trial for {name}"
        );
    }
    for (asked, text) in ASKED {
        let fits = |name: &&str| {
            asked == *name
                || asked
                    .strip_prefix(*name)
                    .is_some_and(|rest| rest.starts_with('-'))
        };
        let name = library::names()
            .filter(fits)
            .max_by_key(|name| name.len())
            .unwrap();
        let (file, asked_trial) = (library::open(name).unwrap(), trial(text));
        let found = whatif(&file, &asked_trial, &WhatifOptions::default()).unwrap();
        assert_eq!(found.baseline, baseline(&file, &asked_trial).unwrap());
        let shown = render_whatif(&found, Format::Terminal, &options()).unwrap();
        insta::assert_snapshot!(asked.replace('-', "_"), shown);
    }
}

#[test]
fn markdown_and_json() {
    let file = library::open("lpc1768").unwrap();
    let asked = trial("length = 1514\nframes = 50\nbuffers = \"copied\"");
    let found = whatif(&file, &asked, &WhatifOptions::default()).unwrap();
    insta::assert_snapshot!(render_whatif(&found, Format::Markdown, &options()).unwrap());
    let json = render_whatif(&found, Format::Json, &options()).unwrap();
    let first = "\"kind\": \"token\",\n      \"what\": \"a second frame in flight (in-flight 1 -> 2)\",\n      \
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
