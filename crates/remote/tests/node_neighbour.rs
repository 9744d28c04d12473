//! A node whose link-layer address the tester has forgotten, and the other way round.

use crate::common::agent::{counts, open, serve};
use crate::common::{NODE_IPV4, assert_clean, lab, on_tester, trial};
use wirelab_port::lab::Side;
use wirelab_trial::{Cancel, Direction, Extent, Layer, Load, Node, Trial};

/// Both sides forget each other before each trial, and keep one frame alone for a neighbour that they do not know: the
/// control protocol makes them known before the first frame.
#[test]
fn no_frame_is_lost_to_a_neighbour_that_is_not_known() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    let forget = |interface: &str| {
        let queue = format!("/proc/sys/net/ipv4/neigh/{interface}/unres_qlen");
        std::fs::write(&queue, "1").unwrap_or_else(|e| panic!("{queue}: {e}"));
        let ip = |words: &[&str]| {
            std::process::Command::new("ip")
                .args(words)
                .output()
                .unwrap()
        };
        assert!(ip(&["neigh", "flush", "dev", interface]).status.success());
        let known = ip(&["neigh", "show", "dev", interface, "nud", "reachable"]);
        assert!(known.stdout.is_empty(), "{known:?}");
    };
    let namespace = lab.port(0, Side::Node).unwrap().netns().unwrap();
    let observations = on_tester(&lab, || {
        let mut node = open(NODE_IPV4).unwrap();
        let mut one = |direction| {
            forget("t0");
            namespace.run_in(|| forget("n0")).unwrap();
            let trial = Trial {
                extent: Extent::Frames { frames: 200 },
                load: Load::FrameRate {
                    frames_per_s: 20_000.0,
                },
                ..trial(Layer::UdpIpv4, direction)
            };
            node.run(&trial, &(), &Cancel::new()).unwrap()
        };
        [Direction::Receive, Direction::Transmit].map(&mut one)
    });
    for observation in observations {
        let what = observation.trial.direction.to_string();
        for flow in &observation.flows {
            assert_eq!(counts(flow).distinct_sequences, 200, "{what}");
            assert_clean(flow, &what);
        }
    }
}
