//! ARP (RFC 826) on a wire: answers to requests for the tester's address, and the request by which a node learns it.

use super::Ends;

const BROADCAST: [u8; 6] = [0xFF; 6];
/// Hardware Ethernet, protocol IPv4, lengths 6 and 4.
const KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];
const REQUEST: [u8; 2] = [0, 1];
const REPLY: [u8; 2] = [0, 2];
/// Offsets in a frame: EtherType, kind, operation, sender's addresses, target's IPv4 address, end.
const AT: [usize; 6] = [12, 14, 20, 22, 38, 42];

/// The answer to a request of the node for the tester's address; `None` for any other frame.
pub fn answer(frame: &[u8], ends: &Ends) -> Option<[u8; 60]> {
    let field = |n: usize| frame.get(AT[n]..AT[n + 1]);
    let to = frame.get(..6)?;
    let is_request = field(0)? == [8, 6] && field(1)? == KIND && field(2)? == REQUEST;
    let for_us = to == BROADCAST || to == ends.tester_mac;
    let (sender, target) = (frame.get(22..32)?, field(4)?);
    if !is_request || !for_us || target != ends.tester_ip.octets() || sender[..6] != ends.node_mac {
        return None;
    }
    Some(packet(&ends.node_mac, &REPLY, ends, sender))
}

/// A request for the node's address. A host that answers also records the addresses of the requester.
pub fn request(ends: &Ends) -> [u8; 60] {
    let mut target = [0; 10];
    target[6..].copy_from_slice(&ends.node_ip.octets());
    packet(&BROADCAST, &REQUEST, ends, &target)
}

/// A packet of the tester about a target's two addresses.
fn packet(to: &[u8; 6], operation: &[u8; 2], ends: &Ends, target: &[u8]) -> [u8; 60] {
    let mut out = [0; 60];
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, to);
    put(6, &ends.tester_mac);
    put(12, &[8, 6]);
    put(14, &KIND);
    put(20, operation);
    put(22, &ends.tester_mac);
    put(28, &ends.tester_ip.octets());
    put(32, target);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: Ends = Ends {
        node_mac: [2, 0, 10, 55, 0, 2],
        node_ip: std::net::Ipv4Addr::new(10, 55, 0, 2),
        tester_mac: [2, 0x57, 0x4C, 55, 0, 1],
        tester_ip: std::net::Ipv4Addr::new(10, 55, 0, 1),
    };

    #[test]
    fn the_testers_own_request_is_answered_by_the_node_alone() {
        let theirs = Ends {
            node_mac: ENDS.tester_mac,
            node_ip: ENDS.tester_ip,
            tester_mac: ENDS.node_mac,
            tester_ip: ENDS.node_ip,
        };
        let request_frame = request(&ENDS);
        assert!(answer(&request_frame, &theirs).is_some());
        assert_eq!(answer(&request_frame, &ENDS), None);
    }

    fn router_request() -> Vec<u8> {
        let mut frame = vec![0xFF; 6];
        frame.extend(ENDS.node_mac);
        frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        frame.extend(ENDS.node_mac);
        frame.extend(ENDS.node_ip.octets());
        frame.extend([0; 6]);
        frame.extend(ENDS.tester_ip.octets());
        frame.resize(60, 0);
        frame
    }

    #[test]
    fn the_node_learns_the_testers_address() {
        let answer = answer(&router_request(), &ENDS).unwrap();
        assert_eq!(answer[..6], ENDS.node_mac);
        assert_eq!(answer[20..28], [0, 2, 2, 0x57, 0x4C, 55, 0, 1]);
        assert_eq!(answer[28..32], [10, 55, 0, 1]);
        assert_eq!(answer[32..42], [2, 0, 10, 55, 0, 2, 10, 55, 0, 2]);
    }

    #[test]
    fn nothing_else_is_answered_whatever_comes() {
        let whole = router_request();
        for cut in 0..42 {
            assert_eq!(answer(&whole[..cut], &ENDS), None, "{cut}");
        }
        for at in (0..6).chain(12..28).chain(38..42) {
            let mut frame = whole.clone();
            frame[at] ^= 1;
            assert_eq!(answer(&frame, &ENDS), None, "byte {at}");
        }
    }
}
