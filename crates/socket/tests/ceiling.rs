//! The tester's own ceiling, for each layer that uses sockets.

use wirelab_socket::ceiling;
use wirelab_trial::{Direction, Extent, Framing, Layer, Load, Size, SizeUnit, Trial};

fn trial(layer: Layer, bytes: u32) -> Trial {
    let unit = match layer {
        Layer::Ethernet => SizeUnit::Frame,
        _ => SizeUnit::Datagram,
    };
    Trial::new(
        Framing {
            layer,
            vlan_tags: 0,
        },
        Direction::Receive,
        Size::new(unit, bytes),
        Load::Max,
        Extent::Frames { frames: 1 },
    )
}

#[test]
fn udp_and_tcp_have_one_and_ethernet_says_why_not() {
    for layer in [Layer::UdpIpv4, Layer::TcpIpv4] {
        let rate = ceiling::frames_per_s(&trial(layer, 1470));
        assert!(rate.value().is_some_and(|rate| *rate > 1.0), "{rate:?}");
    }
    let none = ceiling::frames_per_s(&trial(Layer::Ethernet, 1518));
    assert!(format!("{none:?}").contains("do not go through sockets"));
    let echo = Trial {
        direction: Direction::Echo,
        ..trial(Layer::UdpIpv4, 64)
    };
    assert!(format!("{:?}", ceiling::frames_per_s(&echo)).contains("floor"));
}
