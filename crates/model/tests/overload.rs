//! Models above saturation: receive livelock, a receive window and a peer's own limit lose what real nodes lose, and a model
//! without them says that it is an ideal server.

use wirelab_model::file::NodeFile;
use wirelab_model::library;
use wirelab_model::node::ModelNode;
use wirelab_trial::{
    Cancel, Direction, Extent, Framing, Layer, Load, Node, Observation, Size, SizeUnit, Trial,
    WarningCode,
};

/// Costs in the file.
const INTERRUPT_S: f64 = 20e-6;
const STACK_S: f64 = 60e-6;

fn file(set: &[&str]) -> NodeFile {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/livelock.toml");
    let mut file = library::open(path).expect("a node file");
    for change in set {
        file.set(change).expect("a change");
    }
    file
}

fn run(file: NodeFile, layer: Layer, load: Load, datagram: u32) -> Observation {
    let framing = Framing {
        layer,
        vlan_tags: 0,
    };
    let trial = Trial::new(
        framing,
        Direction::Receive,
        Size::new(SizeUnit::Datagram, datagram),
        load,
        Extent::Time {
            time_ps: 1_000_000_000_000,
        },
    );
    let mut node = ModelNode::new(file);
    node.run(&trial, &(), &Cancel::new()).expect("a prediction")
}

fn offered(frames_per_s: f64) -> Load {
    Load::FrameRate { frames_per_s }
}

fn rate(observation: &Observation) -> f64 {
    *observation.flows[0].frames_per_s.value().expect("a rate")
}

/// Mogul and Ramakrishnan, 1997: what interrupts leave of the CPU serves packets.
fn served(offered: f64) -> f64 {
    let most = (1.0 - offered * INTERRUPT_S).max(0.0) / STACK_S;
    offered.min(most)
}

#[test]
fn interrupts_starve_the_stack_as_the_arithmetic_says() {
    let whole = 1.0 / (INTERRUPT_S + STACK_S);
    for load in [
        5_000.0, 12_000.0, 20_000.0, 30_000.0, 40_000.0, 49_000.0, 60_000.0, 200_000.0,
    ] {
        let observation = run(file(&[]), Layer::UdpIpv4, offered(load), 64);
        let (found, expected) = (rate(&observation), served(load));
        assert!(
            (found - expected).abs() <= 0.005 * whole,
            "{load}: {found}, not {expected}"
        );
        assert!(!observation.warned(WarningCode::IDEAL_SERVER), "{load}");
        let lost = *observation.flows[0].loss_ratio.value().unwrap();
        assert!(
            (lost - (1.0 - expected / load)).abs() < 0.01,
            "{load}: {lost}"
        );
    }
}

#[test]
fn a_model_without_livelock_says_that_it_is_an_ideal_server() {
    // The same work without a priority: the one that has waited longest goes first.
    let mut ideal = file(&[]);
    ideal.stages.get_mut("interrupt").unwrap().priority = 1;
    let observation = run(ideal, Layer::UdpIpv4, offered(40_000.0), 64);
    assert!(rate(&observation) > 2.0 * served(40_000.0));
    assert!(observation.warned(WarningCode::IDEAL_SERVER));
    let below = run(file(&[]), Layer::UdpIpv4, offered(10_000.0), 64);
    assert!(!below.warned(WarningCode::IDEAL_SERVER), "nothing is lost");
}

/// The slowest of the peer, the window over its round trip, and the CPU limits a stream.
#[test]
fn a_stream_is_limited_by_the_peer_the_window_or_the_cpu() {
    let data_bits = 1460.0 * 8.0;
    let goodput = |set: &[&str]| {
        let observation = run(file(set), Layer::TcpIpv4, Load::Max, 1460);
        rate(&observation) * data_bits
    };
    let near = |found: f64, expected: f64| {
        assert!(
            (found / expected - 1.0).abs() < 0.01,
            "{found}, not {expected}"
        );
    };
    // 30 µs of the CPU for a segment.
    near(goodput(&[]), data_bits / 30e-6);
    near(goodput(&["host-rate=100"]), 100e6);
    // Two segments in 200 µs, their time on the peer, the wire and the CPU.
    let wire_s = f64::from(1460 + 20 + 20 + 38) * 8.0 / 1e9;
    let round_s = data_bits / 400e6 + wire_s + 30e-6 + 200e-6;
    near(goodput(&["window=1"]), data_bits / round_s);
}
