//! A switch and a router without knowledge of the receiver: they learn its place before the first frame.

use crate::common::{alone, assert_clean, bridge, ip, options, received, run, trial};
use wirelab_port::iface::Interface;
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::may_test;
use wirelab_ports::{Pair, Path, PortsNode};
use wirelab_trial::{Framing, Layer, Load, Size, SizeUnit, Trial};

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
        // Forget everything that the ports have announced so far.
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

#[test]
fn a_router_over_ipv6_finds_a_receiver_that_has_no_address() {
    if !may_test() {
        return;
    }
    let lab = EphemeralLab::up(&LabSpec::unique("wll6", 2)).unwrap();
    let _alone = alone();
    let port = |pair, side| lab.port(pair, side).unwrap();
    let (inside, from, to) = (
        port(0, Side::Node),
        port(0, Side::Tester),
        port(1, Side::Tester),
    );
    let namespace = inside.netns().unwrap();
    let set = || {
        for (name, value) in [
            ("n0/disable_ipv6", "0"),
            ("n1/disable_ipv6", "0"),
            ("n0/accept_dad", "0"),
            ("n1/accept_dad", "0"),
            ("all/forwarding", "1"),
        ] {
            let file = format!("/proc/sys/net/ipv6/conf/{name}");
            std::fs::write(&file, value).unwrap_or_else(|e| panic!("{file}: {e}"));
        }
    };
    namespace.run_in(set).unwrap();
    // It replies for the receiver's address and sends as the sender, so that the flow's addresses are right on both
    // sides.
    let mac = |port| Interface::query(port).unwrap().mac.to_string();
    ip(&inside, &["link", "set", "dev", "n0", "address", &mac(&to)]);
    ip(
        &inside,
        &["link", "set", "dev", "n1", "address", &mac(&from)],
    );
    ip(
        &inside,
        &[
            "-6",
            "address",
            "add",
            "2001:2::fe/64",
            "dev",
            "n0",
            "nodad",
        ],
    );
    ip(
        &inside,
        &["-6", "address", "add", "fe80::fe/64", "dev", "n1", "nodad"],
    );
    ip(
        &inside,
        &["-6", "route", "add", "2001:2::2/128", "dev", "n1"],
    );
    let pair = Pair {
        node: from,
        tester: to,
    };
    let mut node = PortsNode::new("router", vec![pair], options(Path::Packet)).unwrap();
    let framing = Framing {
        layer: Layer::UdpIpv6,
        ..Framing::default()
    };
    let trial = Trial {
        framing,
        size: Size::new(SizeUnit::Frame, 128),
        load: Load::FrameRate {
            frames_per_s: 10_000.0,
        },
        ..trial(FRAMES)
    };
    assert_clean(&run(&mut node, &trial), "through a router");
}
