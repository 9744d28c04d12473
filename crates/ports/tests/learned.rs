//! A switch that knows nothing of the receiver: it learns where that is before the first frame, and floods none.

mod common;

use common::{alone, assert_clean, bridge, ip, options, received, run, trial};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::may_test;
use wirelab_ports::{Pair, Path, PortsNode};

const FRAMES: u64 = 1_000;

#[test]
fn a_switch_has_learned_where_the_receiver_is_before_the_first_frame() {
    if !may_test() {
        return;
    }
    let lab = EphemeralLab::up(&LabSpec::unique("wll", 3)).unwrap();
    let _alone = alone();
    let port = |pair, side| lab.port(pair, side).unwrap();
    let inside = port(0, Side::Node);
    bridge(&inside);
    ip(&inside, &["link", "set", "dev", "n2", "master", "br0"]);
    let pair = Pair {
        node: port(0, Side::Tester),
        tester: port(1, Side::Tester),
    };
    let mut node = PortsNode::new("switch", vec![pair], options(Path::Packet)).unwrap();
    let aside = port(2, Side::Tester);
    for _ in 0..2 {
        // All that the ports have said so far is forgotten.
        ip(
            &inside,
            &["link", "set", "dev", "br0", "type", "bridge", "fdb_flush"],
        );
        let before = received(&aside);
        assert_clean(&run(&mut node, &trial(FRAMES)), "through a switch");
        let flooded = received(&aside) - before;
        assert!(flooded < FRAMES / 10, "{flooded} frames were flooded");
    }
}
