//! Manners on a network: a peer behind a router, or with a public address, gets no packet unless the user says so.

use std::net::{IpAddr, SocketAddr};

use crate::common::{NODE_IPV4, lab, on_tester, tool};
use wirelab_port::iface::{LinkState, PortName};
use wirelab_port::lab::Side;
use wirelab_remote::manners::{RouteRisk, beyond};
use wirelab_remote::{IPERF, IPERF3, NODE};
use wirelab_trial::{NodeName, OpenError, OpenOptions};

/// Addresses behind the node, which is the router to them.
const ROUTED: &str = "192.168.77.1";
const ROUTED_IPV6: &str = "fd00:77::1";
/// A public address that the table says is on the link.
const PUBLIC: &str = "8.8.4.4";

#[test]
fn a_routed_peer_and_a_public_one_are_refused_before_the_first_packet() {
    let Some(lab) = lab() else { return };
    tool(
        &lab,
        Side::Tester,
        "ip",
        &["route", "add", "192.168.77.0/24", "via", NODE_IPV4],
    );
    tool(
        &lab,
        Side::Tester,
        "ip",
        &["-6", "route", "add", "fd00:77::/64", "via", "2001:2::1"],
    );
    tool(
        &lab,
        Side::Tester,
        "ip",
        &["route", "add", PUBLIC, "dev", "t0"],
    );
    on_tester(&lab, || {
        let port = PortName::new(None, "t0").unwrap();
        let sent = || LinkState::query(&port).unwrap().unwrap().transmitted_frames;
        let before = sent();
        for kind in [&IPERF, &IPERF3, &NODE] {
            for (host, words) in [
                (ROUTED, "the route leads over 198.18.0.1"),
                (ROUTED_IPV6, "the route leads over 2001:2::1"),
                (PUBLIC, "is a public address"),
            ] {
                let host = match host.contains(':') {
                    true => format!("[{host}]:9"),
                    false => host.to_owned(),
                };
                let name: NodeName = format!("{}:{host}", kind.name).parse().unwrap();
                let refused = (kind.open)(&name, &OpenOptions::default()).err().unwrap();
                let OpenError::Usage(why) = &refused else {
                    panic!("{name}: {refused:?}");
                };
                assert!(why.contains(words) && why.contains("RFC 6815"), "{why}");
                assert!(why.contains("fix: ") && why.contains("--routed"), "{why}");
            }
        }
        assert_eq!(sent(), before, "something was sent");
        let routed = OpenOptions {
            routed: true,
            ..OpenOptions::default()
        };
        let name: NodeName = format!("iperf:{ROUTED}").parse().unwrap();
        assert!((IPERF.open)(&name, &routed).is_ok());
        let peer: IpAddr = ROUTED.parse().unwrap();
        let router = NODE_IPV4.parse().unwrap();
        assert_eq!(
            beyond(SocketAddr::new(peer, 5001)).unwrap(),
            Some(RouteRisk::Router { peer, router })
        );
        let on_link: IpAddr = router;
        assert_eq!(beyond(SocketAddr::new(on_link, 5001)).unwrap(), None);
    });
}
