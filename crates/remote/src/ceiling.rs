//! The tester's own ceiling for a peer's traffic, measured against itself over the loopback.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wirelab_cores::{Cores, pin_thread, prefer_this_thread};
use wirelab_iperf::v2::server::ServerEvent;
use wirelab_iperf::v2::{Amount, ClientConfig, Leg, Protocol, Rate, Server, ServerConfig};
use wirelab_trial::{Direction, Field, Layer, Trial};

use crate::iperf::plan::length_bytes;

/// Long enough that the start does not matter.
const TIME: Duration = Duration::from_millis(100);
/// How long the tester's own server may take to report what it received.
const REPORT: Duration = Duration::from_secs(3);

/// The kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// The traffic of `iperf:HOST`.
    Iperf,
    /// Test frames over sockets, for `node:HOST`.
    Node,
    /// Whole frames over a wire whose frames the tester builds, for a board without an interface.
    Wire,
}

/// Does `work`, with all threads that it starts, on `cores`. Beside a node on the same machine the tester must keep off the
/// node's cores, or its work would count in the node's idle baseline. Without cores it runs anywhere.
pub fn within<R: Send>(cores: Option<&Cores>, work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let placed = || {
            // If the cores are gone by now, the trial reports it, because it is pinned in the same way.
            let _ = cores.map(pin_thread);
            prefer_this_thread(None);
            work()
        };
        match scope.spawn(placed).join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Frames/s of one flow that the tester reaches against itself with this traffic. Ethernet frames do not use sockets:
/// their ceiling is that of ports.
pub fn ceiling_frames_per_s(trial: &Trial, traffic: Traffic) -> Field<f64> {
    match traffic {
        Traffic::Wire => crate::node::wire::ceiling::frames_per_s(trial),
        _ if trial.framing.layer == Layer::Ethernet => {
            Field::absent("sockets send no Ethernet frames: the ceiling is that of ports")
        }
        Traffic::Iperf if trial.direction == Direction::Echo => {
            Field::absent("an echo has a floor, not a ceiling: see the tester's floor")
        }
        Traffic::Iperf => iperf(trial),
        Traffic::Node => wirelab_socket::ceiling::frames_per_s(trial),
    }
}

fn iperf(trial: &Trial) -> Field<f64> {
    let absent = |why: &str| Field::absent(format!("could not be measured: {why}"));
    let ip = match trial.framing.layer {
        Layer::UdpIpv6 | Layer::TcpIpv6 => IpAddr::V6(Ipv6Addr::LOCALHOST),
        _ => IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    let datagram = match trial.size.resolve(trial.framing) {
        Ok(sizes) => sizes.datagram.unwrap_or(0).max(1),
        Err(error) => return absent(&error.to_string()),
    };
    let (tell, report) = std::sync::mpsc::channel();
    let tell = Mutex::new(tell);
    let handler = Arc::new(move |event| {
        if let ServerEvent::Leg { leg, .. } = event {
            let tell = tell.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = tell.send(leg);
        }
    });
    let server = match Server::start(SocketAddr::new(ip, 0), ServerConfig::default(), handler) {
        Ok(server) => server,
        Err(trouble) => return absent(&trouble.to_string()),
    };
    let (protocol, address) = match trial.framing.layer {
        Layer::UdpIpv4 | Layer::UdpIpv6 => (Protocol::Udp, server.udp_address()),
        _ => (Protocol::Tcp, server.tcp_address()),
    };
    let mut config = ClientConfig::new(address, protocol);
    config.length_bytes = length_bytes(datagram, trial.framing.layer, None);
    config.rate = Rate::Max;
    config.amount = Amount::time(TIME);
    let outcome = config.run(&AtomicBool::new(false), &|_| {});
    if let Some(trouble) = outcome.trouble {
        return absent(&trouble.to_string());
    }
    let Ok(leg) = report.recv_timeout(REPORT) else {
        return absent("the tester's own server reported nothing");
    };
    let (frames, ns) = match leg {
        Leg::UdpReceived(udp) => (
            udp.received.datagrams as f64,
            udp.span.end_ns.saturating_sub(udp.span.start_ns),
        ),
        Leg::TcpReceived { span, bytes, .. } => (
            bytes as f64 / f64::from(datagram),
            span.end_ns.saturating_sub(span.start_ns),
        ),
        Leg::UdpSent(_) | Leg::TcpSent { .. } => return absent("nothing was received"),
    };
    Field::measured_or(
        (ns > 0 && frames > 0.0).then(|| frames * 1e9 / ns as f64),
        "nothing was received",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::{Direction, Extent, Framing, Load, Size, SizeUnit};

    fn trial(layer: Layer) -> Trial {
        Trial::new(
            Framing {
                layer,
                vlan_tags: 0,
            },
            Direction::Receive,
            Size::new(SizeUnit::Datagram, 1000),
            Load::Max,
            Extent::Frames { frames: 1 },
        )
    }

    #[test]
    fn the_tester_has_a_ceiling_of_its_own() {
        for layer in [Layer::UdpIpv4, Layer::TcpIpv4] {
            for traffic in [Traffic::Iperf, Traffic::Node] {
                let ceiling = ceiling_frames_per_s(&trial(layer), traffic);
                let rate = ceiling.value();
                assert!(
                    rate.is_some_and(|r| *r > 1000.0),
                    "{layer:?} {traffic:?}: {ceiling:?}"
                );
            }
        }
        let mut ethernet = trial(Layer::Ethernet);
        ethernet.size = Size::new(SizeUnit::Length, 200);
        assert!(
            ceiling_frames_per_s(&ethernet, Traffic::Iperf)
                .value()
                .is_none()
        );
    }
}
