//! The code point of a trial is in each IPv4 header on the wire, on both paths, and the header's checksum is right.

use crate::common::{alone, assert_clean, counts, node, run, tap, trial};
use wirelab_port::netns::may_test;
use wirelab_ports::Path;
use wirelab_trial::{Framing, Layer, Size, SizeUnit, Trial};
use wirelab_wire::{Flow, header};

const FRAMES: u64 = 200;

fn marked(dscp: &str) -> Trial {
    Trial {
        framing: Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        },
        size: Size::new(SizeUnit::Datagram, 100),
        dscp: Some(dscp.parse().unwrap()),
        ..trial(FRAMES)
    }
}

/// The sum of an IPv4 header without options: all ones if its checksum is right (RFC 1071).
fn sum(header: &[u8]) -> u16 {
    let words = header
        .chunks(2)
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum = words.sum::<u32>();
    ((sum & 0xFFFF) + (sum >> 16)) as u16
}

#[test]
fn each_frame_on_the_wire_has_the_code_point() {
    let _alone = alone();
    for (path, dscp, tos) in [(Path::Packet, "EF", 0xB8), (Path::Packet, "63", 0xFC)] {
        let Some(mut node) = node(1, path) else {
            return;
        };
        let flow = Flow {
            udp_port: header::UDP_PORT,
            ..Flow::default()
        };
        let (tap, frames) = tap(&node.pairs()[0].tester, flow);
        assert_clean(&run(&mut node, &marked(dscp)), dscp);
        drop(tap.finish(std::time::Duration::from_millis(100)).unwrap());
        let frames = frames.lock().unwrap();
        // Other traffic of the host on the port goes to other UDP ports.
        let port = header::UDP_PORT.to_be_bytes();
        let ours = frames
            .iter()
            .filter(|f| f.len() > 38 && f[12..14] == [8, 0] && f[36..38] == port);
        let heads: Vec<&[u8]> = ours.map(|f| &f[14..34]).collect();
        // Up to ten frames that belong to no run first test whether a path carries any.
        let seen = heads.len() as u64;
        assert!((FRAMES..=FRAMES + 10).contains(&seen), "{dscp}: {seen}");
        for head in heads {
            assert_eq!((head[1], sum(head)), (tos, 0xFFFF), "{dscp}: {head:02x?}");
        }
    }
}

#[test]
fn the_checkers_of_both_paths_take_the_flow_by_its_code_point() {
    let _alone = alone();
    if !may_test() {
        return;
    }
    for path in [Path::Xdp, Path::Packet] {
        let mut node = node(1, path).unwrap();
        for dscp in ["CS5", "AF41", "0"] {
            let observation = run(&mut node, &marked(dscp));
            assert_clean(&observation, &format!("{path:?} {dscp}"));
            assert_eq!(counts(&observation.flows[0]).good_frames, FRAMES);
        }
    }
}
