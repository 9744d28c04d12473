//! The tester's own ceiling for frames that it builds and judges one by one, measured over a wire to itself.

use std::time::Duration;

use wirelab_port::wire::{FrameWire, MOST_BYTES, UnixWire};
use wirelab_socket::flow::Offer;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::job::{CheckReport, Judge, Pace};
use wirelab_trial::{Cancel, Extent, Field, Layer, Trial};
use wirelab_wire::header::UDP_PORT;
use wirelab_wire::{Flow, FrameSpec, Transport, classify};

use super::line::send;

/// Long enough that the start does not matter, in ps.
const TIME_PS: u64 = 100_000_000_000;
/// Without a frame for this long, all have arrived.
const QUIET: Duration = Duration::from_millis(50);

/// Frames/s of one flow that the tester reaches against itself.
pub fn frames_per_s(trial: &Trial) -> Field<f64> {
    let absent =
        |why: &dyn std::fmt::Display| Field::absent(format!("could not be measured: {why}"));
    let transport = match trial.framing.layer {
        Layer::Ethernet => Transport::Ethernet,
        Layer::UdpIpv4 => Transport::UdpIpv4 {
            addresses: [[10, 55, 0, 1].into(), [10, 55, 0, 2].into()],
            ports: [UDP_PORT, UDP_PORT],
        },
        _ => return Field::absent("such a wire carries only Ethernet and UDP over IPv4"),
    };
    let sizes = match trial.sizes() {
        Ok(sizes) => sizes,
        Err(error) => return absent(&error),
    };
    let (near, far) = match UnixWire::pair() {
        Ok(ends) => ends,
        Err(error) => return absent(&error),
    };
    let spec = FrameSpec {
        destination: [2, 0, 10, 55, 0, 2],
        source: [2, 0x57, 0x4C, 55, 0, 1],
        vlans: match trial.framing.vlan_tags {
            0 => [None, None],
            1 => [Some(100), None],
            _ => [Some(100), Some(101)],
        },
        transport,
        dscp: 0,
    };
    let offer = Offer {
        stream: 0,
        datagram_bytes: sizes.datagram.unwrap_or(0),
        pace: Pace::Max,
        extent: Extent::Time { time_ps: TIME_PS },
        with_time: false,
        node_clock: false,
    };
    let received = std::thread::scope(|scope| {
        let judged = scope.spawn(move || judge(&far));
        send(&near, &offer, &sizes, &spec, &Cancel::new());
        judged.join().unwrap_or_default()
    });
    Field::measured_or(received.frames_per_s(), "nothing was received")
}

fn judge(wire: &UnixWire) -> CheckReport {
    let mut judge = Judge::new(None, 16);
    let mut buffer = vec![0; MOST_BYTES];
    let mut patience = Duration::from_secs(2);
    while let Ok(Some(length)) = wire.receive(&mut buffer, patience) {
        patience = QUIET;
        let frame = &buffer[..length];
        let payload = frame.len().saturating_sub(14) as u64;
        judge.take(classify(frame, &Flow::default()), payload, Some(now_ns()));
    }
    judge.finish_apart()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::{Direction, Framing, Load, Size, SizeUnit};

    #[test]
    fn the_tester_reaches_something_against_itself_and_says_where_it_cannot() {
        let trial = |layer| {
            Trial::new(
                Framing {
                    layer,
                    vlan_tags: 0,
                },
                Direction::Receive,
                Size::new(SizeUnit::Length, 256),
                Load::Max,
                Extent::Frames { frames: 1 },
            )
        };
        for layer in [Layer::Ethernet, Layer::UdpIpv4] {
            assert!(
                *frames_per_s(&trial(layer)).value().unwrap() > 100.0,
                "{layer:?}"
            );
        }
        assert_eq!(frames_per_s(&trial(Layer::TcpIpv4)).value(), None);
    }
}
