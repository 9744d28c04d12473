//! Detects packets that a path must fragment.

use wirelab_trial::{Layer, Warning, WarningCode};

/// The warning where each datagram is fragmented on the tester's own interface.
pub fn fragmented(datagram_bytes: u32, layer: Layer, mtu: Option<u32>) -> Option<Warning> {
    let ipv6 = match layer {
        Layer::UdpIpv4 => false,
        Layer::UdpIpv6 => true,
        _ => return None,
    };
    let mtu = mtu?;
    let fragments = wirelab_socket::mtu::fragments(datagram_bytes, mtu, ipv6);
    (fragments > 1).then(|| Warning::new(WarningCode::FRAGMENTED, format!(
            "each datagram of {datagram_bytes} bytes becomes {fragments} packets at an MTU of {mtu}, and the loss of any of them loses it"
        ), format!(
            "use datagrams of at most {} bytes, or raise the MTU of the whole path",
            mtu.saturating_sub(layer.header_bytes())
        )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_datagrams_that_do_not_fit_are_warned_of() {
        assert_eq!(fragmented(1472, Layer::UdpIpv4, Some(1500)), None);
        let warning = fragmented(1473, Layer::UdpIpv4, Some(1500)).unwrap();
        assert!(warning.text.contains("2 packets"), "{}", warning.text);
        assert!(warning.fix.contains("1472"), "{}", warning.fix);
        assert!(fragmented(1453, Layer::UdpIpv6, Some(1500)).is_some());
        assert_eq!(fragmented(9000, Layer::TcpIpv4, Some(1500)), None);
        assert_eq!(fragmented(9000, Layer::UdpIpv4, None), None);
    }
}
