//! What a node file gives for a trial: nets, costs to the picosecond, sources, and what is declined.

use proptest::prelude::*;
use wirelab_config::trial::trial as read_trial;
use wirelab_model::build::{BuildError, Instance};
use wirelab_model::file::{Edge, NodeFile};
use wirelab_sim::net::{Arrivals, OnMissing, Spread, Trigger};
use wirelab_trial::Trial;

const BOARD: &str = include_str!("data/board.toml");

fn board() -> NodeFile {
    NodeFile::parse(BOARD, "board.toml").unwrap()
}

fn board_with(alternative: &str) -> NodeFile {
    let mut node = board();
    node.set(&format!("alternative={alternative}")).unwrap();
    node
}

fn trial(text: &str) -> Trial {
    wirelab_config::read(text, "trial", |top| read_trial(top, None)).unwrap()
}

fn instance(text: &str) -> Instance {
    board().instance(&trial(text)).unwrap()
}

fn stage(instance: &Instance, name: &str) -> usize {
    instance
        .net
        .stages
        .iter()
        .position(|s| s.name == name)
        .unwrap()
}

#[test]
fn costs_of_the_three_laws() {
    let copied = instance("length = 1514\nframes = 50\nbuffers = \"copied\"");
    let costs: Vec<(&str, u64)> = copied
        .net
        .stages
        .iter()
        .map(|s| (s.name.as_str(), s.cost_ps))
        .collect();
    // 757 halfwords x 11.07 clk at 10 ns, and 1538 bytes at 100 Mbit/s.
    assert_eq!(
        costs,
        [
            ("copy-cpu", 83_799_900),
            ("restart", 1_960_000),
            ("wire-tx", 123_040_000)
        ]
    );
    let words: Vec<&str> = copied
        .origins
        .iter()
        .map(|o| o.costs[0].words.as_str())
        .collect();
    assert_eq!(
        words,
        [
            "757 halfwords x 11.07 clk at 100 MHz",
            "1.96 us",
            "1538 bytes at 100 Mbit/s"
        ]
    );
    assert_eq!(
        copied.origins[0].costs[0].parameters,
        ["copy-halfword", "cpu-clock"]
    );
    assert_eq!(copied.origins[2].costs[0].parameters, ["link-rate"]);
    let received = instance("layer = \"udp4\"\ndatagram = 200\ndirection = \"receive\"");
    let read = stage(&received, "read");
    let lines: Vec<(&str, u64)> = received.origins[read]
        .costs
        .iter()
        .map(|l| (l.words.as_str(), l.ps))
        .collect();
    assert_eq!(
        lines,
        [
            ("62 accesses x 17 clk of 6 ns", 6_324_000),
            ("6.5 accesses x 17 clk of 6 ns", 663_000)
        ]
    );
    assert_eq!(received.net.stages[read].cost_ps, 6_987_000);
}

#[test]
fn transmit_and_its_room() {
    let ideal = instance("length = 1514\nframes = 50");
    let info = &ideal.chains[0];
    assert_eq!(info.name, "port 1 transmit");
    assert_eq!((info.source, info.wire, info.busy_wait), (None, 1, true));
    assert_eq!(info.load.as_ref().unwrap().resource, 1);
    let places: Vec<(&str, usize, usize, u32, bool)> = ideal
        .net
        .places
        .iter()
        .map(|p| (p.name.as_str(), p.from, p.to, p.tokens, p.carries_frames))
        .collect();
    assert_eq!(
        places,
        [("frames", 0, 1, 0, true), ("descriptors", 1, 0, 1, false)]
    );
    assert_eq!(ideal.rooms, [None, Some("in-flight".to_owned())]);
    assert_eq!(
        (ideal.resolved.frames_per_s, ideal.raised_from),
        (None, None)
    );
    assert_eq!(
        instance("length = 1514\nbuffers = \"copied\"").chains[0].probes[0].tick_ps,
        10_000.0
    );
}

#[test]
fn receive_has_a_source_at_the_load() {
    // 5 Mbit/s of datagrams of 64 bytes, which the tool raises to 112.
    let received =
        instance("layer = \"udp4\"\ndatagram = 64\nload = \"5M\"\ndirection = \"receive\"");
    assert_eq!(
        (received.raised_from, received.resolved.sizes.datagram),
        (Some(64), Some(112))
    );
    let info = &received.chains[0];
    assert_eq!((info.source, info.wire), (Some(0), 1));
    assert_eq!(info.points[0].from, (1, Edge::End));
    assert_eq!(info.points[0].to, (4, Edge::End));
    let Trigger::Arrivals(Arrivals {
        frames_per_s,
        burst,
        lost_before_ratio,
    }) = received.net.stages[0].trigger
    else {
        panic!("the first stage is not a source");
    };
    assert!((frames_per_s - 5e6 / (8.0 * 112.0)).abs() < 1e-9);
    assert_eq!((burst, lost_before_ratio), (1, 0.0));
    let interrupt = &received.net.stages[stage(&received, "interrupt")];
    assert_eq!(
        interrupt.trigger,
        Trigger::Paced {
            period_ps: 125_000_000
        }
    );
    assert_eq!(
        (interrupt.spread, interrupt.priority),
        (Spread::Normal { sigma_ps: 20_000 }, 0)
    );
    assert_eq!(
        received.net.stages[stage(&received, "store")].on_missing,
        OnMissing::Drop
    );
    assert_eq!(info.load.as_ref().unwrap().idle_ratio, 0.04);
    // At full speed frames come at the line rate; in Ethernet trials nothing is raised.
    let full = instance("length = 64\ndirection = \"receive\"");
    let Trigger::Arrivals(arrivals) = full.net.stages[0].trigger else {
        panic!("the first stage is not a source")
    };
    assert!((arrivals.frames_per_s - 100e6 / (8.0 * 88.0)).abs() < 1e-6);
    assert_eq!(full.raised_from, None);
}

#[test]
fn a_tcp_peer_is_held_back_by_the_window() {
    let text = BOARD.replace(
        "layer = [\"ethernet\", \"udp4\"]\ndirection = \"receive\"",
        "layer = [\"ethernet\", \"tcp4\"]\ndirection = \"receive\"\n\
         room = [{ name = \"window\", from = \"read\", to = \"wire-rx\", tokens = \"rx-buffers\" }]",
    );
    let text = text.replace("\"wire-rx\", \"store\", ", "\"wire-rx\", ");
    // The path's own [[path.room]] cannot stand beside a list.
    let text = text.replace(
        "[[path.room]]\nname = \"buffers\"\nfrom = \"read\"\nto = \"store\"\ntokens = \"rx-buffers\"\n",
        "",
    );
    let node = NodeFile::parse(&text, "board.toml").unwrap();
    let source = |trial_text: &str| node.instance(&trial(trial_text)).unwrap().chains[0].source;
    let tcp = "layer = \"tcp4\"\nlength = 1514\ndirection = \"receive\"";
    assert_eq!(source(tcp), None);
    assert_eq!(source(&format!("{tcp}\nload = \"10M\"")), Some(0));
    assert_eq!(source("length = 1514\ndirection = \"receive\""), Some(0));
}

#[test]
fn both_directions_share_the_cpu_and_echo_is_one_chain() {
    let both = instance("length = 1514\ndirection = \"both\"\nbuffers = \"copied\"\nports = 2");
    let names: Vec<&str> = both.net.chains.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "port 1 transmit",
            "port 1 receive",
            "port 2 transmit",
            "port 2 receive"
        ]
    );
    let resources: Vec<&str> = both.net.resources.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(
        resources,
        ["cpu", "wire-tx#1", "wire-rx#1", "wire-tx#2", "wire-rx#2"]
    );
    assert_eq!(both.net.stages[0].name, "copy-cpu#1");
    let echo = instance("length = 64\ndirection = \"echo\"\nload = \"1kpps\"");
    let info = &echo.chains[0];
    let names: Vec<&str> = info
        .stages
        .iter()
        .map(|s| echo.net.stages[*s].name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "arrivals",
            "wire-rx",
            "store",
            "interrupt",
            "read",
            "restart",
            "wire-tx"
        ]
    );
    assert_eq!(
        (info.wire, info.wire_in, &info.paths),
        (6, Some(1), &vec![2, 0])
    );
    // A transmit trial below full speed is paced by a source of its own.
    let paced = instance("length = 64\nload = \"50%\"");
    assert_eq!(paced.net.stages[0].name, "offered load");
    assert_eq!(paced.chains[0].source, Some(0));
}

#[test]
fn what_cannot_be_asked_says_what_can() {
    let cases = [
        (
            "length = 64\nports = 3",
            "unsupported by this node: ports: 3 requested, and the node has 2; fix: choose 1 to 2 ports",
        ),
        (
            "length = 200\nlayer = \"tcp4\"",
            "unsupported by this node: layer: no path for transmit on tcp4; fix: choose ethernet, udp4",
        ),
        (
            "length = 64\nbuffers = \"in-place\"",
            "unsupported by this node: buffers: no path for transmit on ethernet with in-place buffers; fix: choose prefilled, copied",
        ),
        (
            "length = 1600",
            "unsupported by this node: size: this is a frame of 1604 bytes with FCS, and the node's largest has 1518; fix: request a smaller size",
        ),
        (
            "length = 64\nload = \"200M\"",
            "a load of 200M is 284091 frames/s, but a link of 100000000 bit/s carries 142045 frames/s of this size; fix: lower it",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(
            board().instance(&trial(text)).unwrap_err().to_string(),
            expected
        );
    }
    let mut board = board();
    board.link = None;
    let error = board.instance(&trial("length = 64")).unwrap_err();
    assert!(
        matches!(error, BuildError::Unsupported(ref why) if why.why.contains("--rate")),
        "{error}"
    );
    let given = board
        .instance(&trial("length = 1514\nrate = \"1G\""))
        .unwrap();
    assert_eq!(given.net.stages[1].cost_ps, 12_304_000);
    assert!(given.origins[1].costs[0].parameters.is_empty());
}

#[test]
fn changes_by_hand() {
    let mut node = board();
    let copied = trial("length = 1514\nbuffers = \"copied\"");
    let costs = |node: &NodeFile| -> Vec<u64> {
        node.instance(&copied)
            .unwrap()
            .net
            .stages
            .iter()
            .map(|s| s.cost_ps)
            .collect()
    };
    node.set("restart-gap = 2").unwrap();
    node.set("copy-halfword=4clk/word").unwrap();
    node.set("stage.wire-tx=x0.5").unwrap();
    node.set("stage.copy-cpu.resource=gpdma").unwrap();
    node.set("in-flight=3").unwrap();
    assert_eq!(costs(&node), [15_160_000, 2_000_000, 61_520_000]);
    let changed = node.instance(&copied).unwrap();
    assert_eq!(changed.net.resources[0].name, "gpdma");
    assert_eq!(changed.net.places[2].tokens, 3);
    assert_eq!(
        changed.origins[2].costs[0].words,
        "0.5 x (1538 bytes at 100 Mbit/s)"
    );
    assert_eq!(node.changes.len(), 5);
    let dma = board_with("dma-copy");
    assert_eq!(costs(&dma), [17_055_000, 1_960_000, 123_040_000]);
    let none = board_with("no-copy");
    assert_eq!(costs(&none), [1_960_000, 123_040_000]);
    let places = none.instance(&copied).unwrap().net.places;
    assert_eq!((places[1].from, places[1].to, places[1].tokens), (1, 0, 2));
}

#[test]
fn changes_that_cannot_be_made() {
    let cases = [
        ("in-flight", "there is no '='"),
        (
            "in-flihgt=2",
            "there is no parameter 'in-flihgt'; did you mean 'in-flight'?",
        ),
        (
            "in-flight=0",
            "in 'prefilled': deadlock: no token on the circuit restart → wire-tx → restart; fix: give one of its places a token",
        ),
        (
            "in-flight=1.5",
            "'in-flight' is 1.5; fix: write a whole number from 0 to 100000",
        ),
        (
            "in-flight=-1",
            "-1 is not a valid value; fix: write a number from 0",
        ),
        (
            "in-flight=inf",
            "invalid number with a unit 'inf'; fix: write e.g. 2 frames",
        ),
        ("restart-gap=2 furlongs", "unknown unit 'furlongs'"),
        ("restart-gap=2 clk", "'restart-gap' counts clk of no clock"),
        (
            "restart-gap=2 MHz",
            "'restart-gap' is in MHz; fix: write a time",
        ),
        ("cpu-clock=0", "the clock 'cpu-clock' stands still"),
        (
            "stage.copy=x2",
            "there is no stage 'copy'; did you mean 'copy-cpu'? fix: write one of copy-cpu, copy-dma,",
        ),
        (
            "stage.copy-cpu=2",
            "invalid factor '2' of the stage's cost; fix: write e.g. x0.5",
        ),
        (
            "stage.copy-cpu.resource=gpu",
            "there is no resource 'gpu'; did you mean 'cpu'?",
        ),
        (
            "stage.copy-cpu.colour=red",
            "a stage has no 'colour' to set",
        ),
        ("alternative=dma", "there is no alternative 'dma'"),
    ];
    let mut node = board();
    for (assignment, expected) in cases {
        let error = node.set(assignment).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("--set {assignment}: ")) && error.contains(expected),
            "{error}"
        );
    }
    assert_eq!(node, board());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Against exact arithmetic: words x hundredths of a clock / MHz, to the nearest picosecond.
    #[test]
    fn costs_are_the_nearest_picosecond(hundredths in 1u64..5_000, mhz in 1u64..2_000, length in 60u64..1514) {
        let mut node = board_with("dma-copy");
        node.set(&format!("gpdma-word={}.{:02}", hundredths / 100, hundredths % 100)).unwrap();
        node.set(&format!("cpu-clock={mhz}")).unwrap();
        let copied = node.instance(&trial(&format!("length = {length}\nbuffers = \"copied\""))).unwrap();
        let exact = length.div_ceil(4) * hundredths * 10_000;
        let error = (copied.net.stages[0].cost_ps * mhz).abs_diff(exact);
        prop_assert!(2 * error <= mhz, "{} ps for {exact} / {mhz}", copied.net.stages[0].cost_ps);
    }
}
