//! What is wrong in a plan is named with file, line, column and field, and with what to write instead.

use std::collections::BTreeSet;

use wirelab_bench::{MAX_TRIALS, Plan};
use wirelab_config::trial::TRIAL_KEYS;

use crate::table::{quoted, rows};

fn error(text: &str) -> String {
    Plan::parse(text, "p.toml").unwrap_err().to_string()
}

/// The error of a matrix whose second line is `frame = 64` and whose third is `line`.
fn line(line: &str) -> String {
    error(&format!("[[matrix]]\nframe = 64\n{line}\n"))
}

#[test]
fn the_page_has_a_row_for_each_key_of_a_matrix() {
    let told = line("nothing = 1");
    let (_, keys) = told.split_once("write one of ").expect("the keys");
    let page = include_str!("../../../docs/plans.md");
    let rows = rows(page, "| key | takes | default | example |");
    let on_page: BTreeSet<&str> = rows.iter().flat_map(|row| quoted(row[0])).collect();
    assert_eq!(on_page, keys.split(", ").collect());
}

#[test]
fn unknown_keys_name_the_nearest() {
    let keys = format!("name, {}, inject, warmup, repeat", TRIAL_KEYS.join(", "));
    assert_eq!(
        line("laod = \"max\""),
        format!(
            "p.toml:3:1: matrix.laod: no such key; did you mean 'load'? fix: write one of {keys}"
        )
    );
    assert_eq!(
        line("colour = 1"),
        format!("p.toml:3:1: matrix.colour: no such key; fix: write one of {keys}")
    );
    assert_eq!(
        error("tilte = \"x\"\n[[matrix]]\nframe = 64"),
        "p.toml:1:1: tilte: no such key; did you mean 'title'? fix: write one of title, node, datasheet, matrix, search, loss_curve, bursts"
    );
    assert_eq!(
        line("inject = { dorp = 0.1 }"),
        "p.toml:3:12: matrix.inject.dorp: no such key; did you mean 'drop'? fix: write one of drop, duplicate, \
         swap, header-corrupt, truncate, stale, corrupt, bad-fcs, seed"
    );
    let long = line(&format!("{} = 1", "x".repeat(5_000)));
    assert!(long.len() < 400, "{long}");
}

#[test]
fn values_say_what_to_write() {
    let cases = [
        (
            "load = [\"max\", \"fast\"]",
            "p.toml:3:16: matrix.load: invalid load 'fast'; fix: write max, 95%, 50kpps, 800M (bit/s) or gap=96B",
        ),
        (
            "load = 95",
            "p.toml:3:8: matrix.load: invalid value 95; fix: write it in quotes, as on the command line",
        ),
        (
            "direction = \"sideways\"",
            "p.toml:3:13: matrix.direction: unknown direction 'sideways'; fix: write one of transmit, tx, receive, rx, both, echo",
        ),
        (
            "buffers = [\"melted\"]",
            "p.toml:3:12: matrix.buffers: unknown kind of buffers 'melted'; fix: write one of prefilled, copied, \
             dma-copied, copied-ahead, in-place",
        ),
        (
            "ports = [1, 0]",
            "p.toml:3:13: matrix.ports: invalid value 0; fix: write a whole number from 1 to 256",
        ),
        (
            "ports = []",
            "p.toml:3:9: matrix.ports: the list is empty; fix: write a value, or leave the key out",
        ),
        (
            "ports = [1, 4, 1]",
            "p.toml:3:16: matrix.ports: it is in the list twice; fix: name it once; to run it more often, use repeat",
        ),
        (
            "time = 3",
            "p.toml:3:8: matrix.time: invalid value 3; fix: write a duration in quotes, e.g. \"200ms\"",
        ),
        (
            "time = \"3 weeks\"",
            "p.toml:3:8: matrix.time: invalid duration '3 weeks'; fix: write a number with ps, ns, us, ms, s, m or h, e.g. 200ms",
        ),
        (
            "time = \"0s\"",
            "p.toml:3:8: matrix.time: a trial needs time; fix: write e.g. \"3s\"",
        ),
        (
            "time = \"3s\"\nframes = 50",
            "p.toml:4:10: matrix.frames: the matrix also has a time; fix: keep one of the two",
        ),
        (
            "frames = 0",
            "p.toml:3:10: matrix.frames: invalid value 0; fix: write a whole number from 1 to 9223372036854775807",
        ),
        (
            "rate = \"fast\"",
            "p.toml:3:8: matrix.rate: invalid rate 'fast'; fix: write bit/s with k, M, G or T, from 1 to 10T, e.g. 100M",
        ),
        (
            "rate = true",
            "p.toml:3:8: matrix.rate: invalid value true; fix: write bit/s, e.g. \"100M\"",
        ),
        (
            "inject = \"drop\"",
            "p.toml:3:10: matrix.inject: invalid value \"drop\"; fix: write the faults with their probabilities, e.g. { drop = 1e-5, seed = 7 }",
        ),
        (
            "inject = { drop = 1.5 }",
            "p.toml:3:19: matrix.inject.drop: invalid value 1.5; fix: write a probability from 0 to 1, e.g. 1e-5",
        ),
        (
            "inject = { drop = \"1/h\" }",
            "p.toml:3:19: matrix.inject.drop: invalid rate of a fault; fix: write a probability from 0 to 1, e.g. 1e-5, or a number per second as 1/s",
        ),
        (
            "inject = { drop = 0.1, corrupt = \"1/s\" }",
            "p.toml:3:34: matrix.inject.corrupt: the faults of a trial are either all probabilities or all numbers per second; fix: write this one like the others",
        ),
        (
            "inject = { drop = nan }",
            "p.toml:3:19: matrix.inject.drop: invalid value nan; fix: write a probability from 0 to 1, e.g. 1e-5",
        ),
        (
            "layer = \"ip\"",
            "p.toml:3:9: matrix.layer: unknown layer 'ip'; fix: write one of ethernet, udp4, udp6, tcp4, tcp6",
        ),
        (
            "payload = [1500, 20]",
            "p.toml:3:18: matrix.payload: payload 20 is too small: the smallest test frame with this framing \
             has 46; fix: give 46 or more",
        ),
        (
            "datagram = 64",
            "p.toml:3:12: matrix.datagram: a datagram size needs UDP or TCP; fix: choose --frame, --length or --payload \
             on Ethernet",
        ),
        (
            "name = 7",
            "p.toml:3:8: matrix.name: invalid value 7; fix: write a text in quotes",
        ),
        (
            "load = [\"max\", \"200kpps\"]\nrate = \"100M\"",
            "p.toml:3:16: matrix.load: at frame 64: a load of 200000pps is 200000 frames/s, but a link of 100000000 \
             bit/s carries 148809 frames/s of this size; fix: lower it, or give a share such as 95%",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(line(text), expected);
    }
}

#[test]
fn a_size_must_fit_every_framing() {
    assert_eq!(
        line("layer = [\"ethernet\", \"udp6\"]"),
        "p.toml:2:9: matrix.frame: frame 64 is too small: the smallest test frame with this framing has 84; fix: give 84 or more"
    );
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(
        error("title = \"x\""),
        "p.toml:1:1: matrix: there is none; fix: add a section [[matrix]] or [[search]] with a size"
    );
    assert_eq!(
        error("[[matrix]]\nframe = 64\n\n[[matrix]]\nload = \"max\"\n"),
        "p.toml:4:1: matrix: it has no size; fix: write frame = [64, 1518], or length, payload or datagram"
    );
    assert_eq!(
        error("[matrix]\nframe = 64"),
        "p.toml:1:1: matrix: it is not a list of sections; fix: write each matrix as a section of its own, [[matrix]]"
    );
    assert_eq!(
        error("matrix = []"),
        "p.toml:1:10: matrix: there is none; fix: add a section [[matrix]] or [[search]] with a size"
    );
}

#[test]
fn two_matrices_of_one_name() {
    assert_eq!(
        error("[[matrix]]\nframe = 64\nname = \"a\"\n[[matrix]]\nframe = 65\nname = \"a\""),
        "p.toml:6:8: matrix.name: 'a' is the name of another section too; fix: choose another"
    );
}

#[test]
fn what_is_no_toml_says_where() {
    assert_eq!(
        error("[[matrix]]\nµ = \"€\" x"),
        // Characters, not bytes.
        "p.toml:2:9: TOML: unexpected key or value, expected newline, `#`; fix: write TOML, e.g. key = \"value\", and each key once"
    );
    assert!(line("load = \"max\"\nload = \"95%\"").starts_with("p.toml:4:1: TOML: duplicate key"));
}

#[test]
fn too_many_trials_and_too_long_a_file() {
    let most = Plan::parse("[[matrix]]\nframe = 64\nrepeat = 10000", "p.toml").unwrap();
    assert_eq!(most.trials(), MAX_TRIALS);
    assert_eq!(
        error("[[matrix]]\nframe = 64\nrepeat = 10000\n[[matrix]]\nframe = [64, 65]\n"),
        "p.toml:4:1: matrix: with this one the plan has 10002 trials, and the maximum is 10000; fix: shorten its lists, \
         or split the plan into several files"
    );
    assert_eq!(
        Plan::parse(&"#".repeat(300 * 1024), "p.toml")
            .unwrap_err()
            .to_string(),
        "p.toml: too long for a plan: at most 256 KiB are read; fix: split it into several files"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.toml");
    let error = Plan::load(&path).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("cannot read {}: No such file", path.display())),
        "{error}"
    );
    std::fs::write(&path, b"title = \"\xff\"").unwrap();
    let error = Plan::load(&path).unwrap_err().to_string();
    assert!(
        error.ends_with("it is not UTF-8 text (byte 9); fix: name a text file that can be read"),
        "{error}"
    );
    std::fs::write(&path, vec![b'#'; 300 * 1024]).unwrap();
    let error = Plan::load(&path).unwrap_err().to_string();
    assert!(error.contains("too long for a plan"), "{error}");
}
