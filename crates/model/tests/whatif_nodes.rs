//! What changes buy on the nodes that come with the tool: what must be found without a hint.

use std::collections::BTreeSet;

use wirelab_config::trial::trial as read_trial;
use wirelab_model::explain::explain;
use wirelab_model::file::NodeFile;
use wirelab_model::library;
use wirelab_model::whatif::{LEAST_GAIN_PERCENT, WhatifOptions, whatif};
use wirelab_trial::Trial;
use wirelab_trial::whatif::{Aim, Change, ChangeKind, Gain, Whatif};

fn node(name: &str) -> NodeFile {
    library::open(name).unwrap()
}

fn trial(text: &str) -> Trial {
    wirelab_config::read(text, "trial", |top| read_trial(top, None)).unwrap()
}

fn ask(name: &str, text: &str) -> Whatif {
    whatif(&node(name), &trial(text), &WhatifOptions::default()).unwrap()
}

fn single<'a>(found: &'a Whatif, set: &str) -> &'a Change {
    found
        .singles
        .iter()
        .find(|change| change.set == [set])
        .unwrap()
}

#[test]
fn the_best_changes_are_kept_and_all_that_gain_nothing() {
    let all = ask(
        "lpc1768",
        "length = 1514\nframes = 50\nbuffers = \"copied\"",
    );
    let (gain, none): (Vec<&Change>, Vec<&Change>) =
        all.singles.iter().partition(|c| c.why_not.is_none());
    assert!(gain.len() > 1 && !none.is_empty());
    let expected: Vec<&Change> = gain[..1].iter().chain(&none).copied().collect();
    assert_eq!(all.best(1).singles.iter().collect::<Vec<_>>(), expected);
    assert_eq!(all.best(0), all);
}

/// A second frame in flight hides the CPU's copy behind the wire: as fast as frames that lie ready.
#[test]
fn lpc1768_needs_a_second_frame_in_flight() {
    let copied = ask(
        "lpc1768",
        "length = 1514\nframes = 50\nbuffers = \"copied\"",
    );
    let ideal = ask(
        "lpc1768",
        "length = 1514\nframes = 50\nbuffers = \"prefilled\"",
    );
    assert_eq!((copied.aim, ideal.aim), (Aim::Throughput, Aim::Throughput));
    let first = &copied.singles[0];
    assert_eq!(
        (first.kind, first.set.as_slice()),
        (ChangeKind::Token, ["in-flight=2".to_owned()].as_slice())
    );
    assert_eq!(first.after.frames_per_s, ideal.baseline.frames_per_s);
    assert!(
        (first.gain_percent - 67.04).abs() < 0.01,
        "{}",
        first.gain_percent
    );
    // The same for the copy by DMA; a faster copy alone does not get there.
    let dma = ask(
        "lpc1768",
        "length = 1514\nframes = 50\nbuffers = \"dma-copied\"",
    );
    assert_eq!(
        single(&dma, "in-flight=2").after.frames_per_s,
        ideal.baseline.frames_per_s
    );
    assert!(
        single(&copied, "stage.copy-cpu=x0.5").after.frames_per_s < ideal.baseline.frames_per_s
    );
    // More descriptors are of no use to a driver that waits for each frame.
    let descriptor = single(&copied, "tx-descriptors=4");
    assert_eq!(descriptor.gain_percent, 0.0);
    assert!(
        descriptor
            .why_not
            .as_ref()
            .unwrap()
            .contains("room for 1 frame (frames in flight)"),
        "{descriptor:?}"
    );
}

/// All of NuttX's work is the CPU's, under one lock: a second client only waits.
#[test]
fn nuttx_gains_nothing_by_a_second_client() {
    let found = ask(
        "esp32-nuttx",
        "layer = \"udp4\"\ndatagram = 1000\ndirection = \"transmit\"",
    );
    let clients = single(&found, "clients=2");
    assert_eq!(clients.gain, Gain::FramesPerS);
    assert!(
        clients.gain_percent.abs() < LEAST_GAIN_PERCENT,
        "{clients:?}"
    );
    assert!(
        clients.why_not.as_ref().unwrap().contains("cpu"),
        "{clients:?}"
    );
    // Not so the ARP lookup, of which the document hopes for 3 Mbit/s.
    let arp = single(&found, "alternative=arp-lookup");
    let more = arp.after.bits_per_s - found.baseline.bits_per_s;
    assert!((2.9e6..3.1e6).contains(&more), "{more}");
}

/// A DMA that moves the same words at the same rate and must be set up for each frame costs time.
#[test]
fn a_copy_dma_does_not_help_ethernet_lite() {
    for name in ["zynq-emaclite", "zynq-emaclite-so"] {
        for length in [64, 256, 1024] {
            let text = format!(
                "layer = \"udp4\"\nlength = {length}\ndirection = \"receive\"\nload = \"1kpps\""
            );
            let found = ask(name, &text);
            assert_eq!(
                (found.aim, found.point.as_deref()),
                (Aim::Latency, Some("Rx UDP"))
            );
            let dma = single(&found, "alternative=dma-copy");
            assert!(
                dma.gain == Gain::Latency && dma.gain_percent < 0.0,
                "{name} {length}: {dma:?}"
            );
            assert!(
                dma.why_not.as_ref().unwrap().contains("-dma takes"),
                "{dma:?}"
            );
        }
    }
}

/// What a change buys is what the changed model does, not a sum of gains.
#[test]
fn changes_are_run_not_added() {
    let found = ask(
        "esp32-nuttx",
        "layer = \"udp4\"\ndatagram = 1000\ndirection = \"transmit\"",
    );
    let tried = found.singles.iter().chain(&found.pairs);
    let mut seen = 0;
    for change in tried {
        let mut file = node("esp32-nuttx");
        change
            .set
            .iter()
            .for_each(|assignment| file.set(assignment).unwrap());
        let alone = whatif(&file, &found.trial, &WhatifOptions::default()).unwrap();
        assert_eq!(
            alone.baseline.frames_per_s, change.after.frames_per_s,
            "{}",
            change.what
        );
        seen += 1;
    }
    assert!(seen > 10 && !found.pairs.is_empty());
}

/// At a load, less loss goes before less CPU load, and a change of the transmit path does not concern a receiver.
#[test]
fn loss_before_load() {
    let found = ask(
        "am263x",
        "layer = \"udp4\"\ndatagram = 64\ndirection = \"receive\"\nload = \"15M\"",
    );
    assert_eq!(found.aim, Aim::Load);
    assert!(found.baseline.loss_ratio > 0.0);
    let first = &found.singles[0];
    assert_eq!((first.gain, first.after.loss_ratio), (Gain::Loss, 0.0));
    let ranked: Vec<f64> = found
        .singles
        .iter()
        .map(|change| change.gain_percent)
        .collect();
    assert!(
        ranked.windows(2).all(|pair| pair[0] >= pair[1]),
        "{ranked:?}"
    );
    assert!(
        found
            .untried
            .iter()
            .any(|u| u.what.starts_with("paced-reclaim"))
    );
    let easy = ask(
        "am263x",
        "layer = \"udp4\"\ndatagram = 1470\ndirection = \"receive\"\nload = \"50M\"",
    );
    let clock = single(&easy, "cpu-clock=480MHz");
    assert!(
        clock.gain == Gain::CpuLoad && (14.0..17.0).contains(&clock.gain_percent),
        "{clock:?}"
    );
}

#[test]
fn a_changed_node_has_the_limit_that_its_explanation_names() {
    let kinds = limits_of_every_path(&[1514]);
    assert!(kinds.len() > 3, "{kinds:?}");
}

#[test]
fn a_changed_node_has_that_limit_with_small_frames_too() {
    let kinds = limits_of_every_path(&[128]);
    assert!(kinds.len() > 3, "{kinds:?}");
}

/// Compares the limits that `whatif` and `explain` name on every path of every node, before each change and after it;
/// the kinds of limits that were seen.
fn limits_of_every_path(lengths: &[u32]) -> BTreeSet<String> {
    let mut kinds = BTreeSet::new();
    for (name, asked) in of_every_path(lengths) {
        let found = whatif(&node(name), &asked, &WhatifOptions::default()).unwrap();
        let changes = found.singles.iter().chain(found.pairs.first());
        let after = changes.map(|change| (change.set.as_slice(), &change.after));
        for (set, figures) in after.chain([(&[][..], &found.baseline)]) {
            let mut file = node(name);
            set.iter().for_each(|one| file.set(one).unwrap());
            let limit = explain(&file, &asked).unwrap().limit;
            assert_eq!(figures.limited_by, limit.words, "{name} {set:?} {asked:?}");
            kinds.insert(format!("{:?}", limit.kind));
        }
    }
    kinds
}

/// A trial of each length on each path of every node.
fn of_every_path(lengths: &[u32]) -> Vec<(&'static str, Trial)> {
    let mut out = Vec::new();
    for name in library::names() {
        for path in &node(name).paths {
            for length in lengths {
                let mut asked = trial(&format!("length = {length}"));
                asked.framing.layer = path.layers[0];
                asked.direction = path.direction;
                asked.buffers = path.buffers.first().copied();
                (asked.path, asked.wait) = (path.path, path.wait);
                out.push((name, asked));
            }
        }
    }
    out
}

#[test]
fn pairs_never_contradict_each_other() {
    for name in library::names() {
        let file = node(name);
        let text = match file.paths[0].layers[0] {
            wirelab_trial::Layer::Ethernet => "length = 256",
            _ => "layer = \"udp4\"\nlength = 256",
        };
        let trial = trial(&format!(
            "{text}\ndirection = \"{}\"",
            file.paths[0].direction
        ));
        let found = whatif(&file, &trial, &WhatifOptions::default()).unwrap();
        assert!(found.pairs.len() <= 10);
        for pair in &found.pairs {
            let keys: Vec<&str> = pair
                .set
                .iter()
                .filter_map(|set| set.split('=').next())
                .collect();
            assert!(
                keys.len() == 2 && (keys[0] != keys[1] || keys[0] == "alternative"),
                "{name}: {keys:?}"
            );
        }
        for change in found.singles.iter().chain(&found.pairs) {
            assert!(
                change.gain_percent.is_finite() && change.after.frames_per_s > 0.0,
                "{name}: {change:?}"
            );
            assert!(
                change.gain_percent >= LEAST_GAIN_PERCENT || change.why_not.is_some(),
                "{name}: {change:?}"
            );
        }
    }
}

#[test]
fn changes_of_ones_own() {
    let asked = trial("length = 1514\nframes = 50\nbuffers = \"copied\"");
    let own = |own: &[&str]| WhatifOptions {
        own: own.iter().map(|s| (*s).to_owned()).collect(),
        ..WhatifOptions::default()
    };
    let found = whatif(
        &node("lpc1768"),
        &asked,
        &own(&["cpu-halfword=5 clk/halfword"]),
    )
    .unwrap();
    let mine = single(&found, "cpu-halfword=5clk/halfword");
    assert_eq!(mine.kind, ChangeKind::Own);
    assert!(mine.gain_percent > 20.0);
    // Without its space the unit `1` would be a digit of the number.
    let plain = whatif(
        &node("lpc1768"),
        &asked,
        &own(&["in-flight = 2 1", "mac-frames = 1"]),
    );
    let set = |found: &Whatif| -> Vec<String> {
        let own = found.singles.iter().filter(|c| c.kind == ChangeKind::Own);
        own.map(|c| c.set[0].clone()).collect()
    };
    assert_eq!(set(&plain.unwrap()), ["in-flight = 2 1", "mac-frames=1"]);
    let refused = whatif(&node("lpc1768"), &asked, &own(&["cpu-halfwort=5"])).unwrap_err();
    assert!(refused.to_string().contains("cpu-halfword"), "{refused}");
    let many = vec!["in-flight=2"; 65];
    assert!(
        whatif(&node("lpc1768"), &asked, &own(&many))
            .unwrap_err()
            .to_string()
            .contains("at most 64")
    );
}

#[test]
fn a_point_that_is_not_there() {
    let options = WhatifOptions {
        aim: Some(Aim::Latency),
        point: Some("Rx TCP".to_owned()),
        ..WhatifOptions::default()
    };
    let udp = trial("layer = \"udp4\"\nlength = 64\ndirection = \"receive\"");
    let error = whatif(&node("zynq-emaclite"), &udp, &options).unwrap_err();
    assert!(error.to_string().contains("Rx PBUF, Rx UDP"), "{error}");
    let copied = trial("length = 1514\nbuffers = \"copied\"");
    let error = whatif(&node("lpc1768"), &copied, &options).unwrap_err();
    assert!(
        error.to_string().contains("the path has no capture point"),
        "{error}"
    );
}
