//! Replies to hosts that resolve a receiver's IP address. A router delivers nothing before it knows the Ethernet
//! address of a neighbour (ARP, RFC 826; neighbour discovery, RFC 4861), and a port of a trial need not have an IP
//! address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::announce::head;
use super::error::PacketError;
use super::filter;
use super::socket_of;
use super::sys::socket::PacketSocket;
use crate::iface::{Interface, PortName};

/// Interval between two checks whether to end.
const PATIENCE: Duration = Duration::from_millis(20);

const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86DD;
/// Hardware Ethernet, protocol IPv4, lengths 6 and 4.
const ARP_KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];
const ARP_REQUEST: [u8; 2] = [0, 1];
const ARP_REPLY: [u8; 2] = [0, 2];
const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Solicited, and override (RFC 4861, 4.4).
const FLAGS: [u8; 4] = [0x60, 0, 0, 0];
/// The option that holds the target's Ethernet address, and its length in units of eight bytes.
const TARGET_ADDRESS: [u8; 2] = [2, 1];
/// Hop limit of a packet that no router forwarded (RFC 4861, 7.1.1).
const ALL_HOPS: u8 = 255;
/// The smallest Ethernet frame in bytes, without FCS.
const SMALLEST: usize = 60;

/// Replies for an IP address on a port, as long as this value exists.
#[derive(Debug)]
pub struct Neighbour {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
    /// Begin to announce that `address` is at `port`, in frames with these tags.
    ///
    /// # Errors
    /// [`PacketError::Iface`], [`PacketError::Privilege`] or [`PacketError::Setup`], which name what is missing.
    pub fn start(
        port: &PortName,
        address: IpAddr,
        vlans: [Option<u16>; 2],
    ) -> Result<Neighbour, PacketError> {
        let failed = |what| move |e| PacketError::setup(port, what, e);
        let interface = Interface::query(port)?;
        let socket = socket_of(port)?;
        let ethertype = match address {
            IpAddr::V4(_) => ARP,
            IpAddr::V6(_) => IPV6,
        };
        if ethertype == IPV6 {
            socket
                .hear(&mut filter::solicitations())
                .map_err(failed("a filter"))?;
        }
        // IPv6 hosts send to a multicast group, which a port without an address has not joined.
        socket
            .promiscuous(interface.index)
            .map_err(failed("promiscuous mode"))?;
        let _ = socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32);
        socket
            .bind(interface.index, ethertype)
            .map_err(failed("the interface"))?;
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let answer = move || answer_all(&socket, interface.mac.0, address, vlans, &ended);
        let thread = std::thread::Builder::new()
            .name("wirelab-neighbour".to_owned())
            .spawn(answer)
            .map_err(failed("a thread"))?;
        Ok(Neighbour {
            over,
            thread: Some(thread),
        })
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer_all(
    socket: &PacketSocket,
    mac: [u8; 6],
    address: IpAddr,
    vlans: [Option<u16>; 2],
    over: &AtomicBool,
) {
    let mut buffer = [0; 256];
    while !over.load(Ordering::Relaxed) {
        if socket.wait(libc::POLLIN, PATIENCE) == 0 {
            continue;
        }
        let Ok(length) = socket.receive(&mut buffer) else {
            // A read from an interface that is down fails until it is up.
            let _ = socket.take_error();
            std::thread::sleep(PATIENCE);
            continue;
        };
        let answer = match address {
            IpAddr::V4(address) => arp_answer(&buffer[..length], mac, address, vlans),
            IpAddr::V6(address) => advertisement(&buffer[..length], mac, address, vlans),
        };
        if let Some(mut frame) = answer {
            let length = frame.len();
            // The host asks again.
            let _ = socket.send_frames(&mut frame, length, &[length]);
        }
    }
}

/// The reply to a request for `address`; `None` for any other frame.
fn arp_answer(
    frame: &[u8],
    mac: [u8; 6],
    address: Ipv4Addr,
    vlans: [Option<u16>; 2],
) -> Option<Vec<u8>> {
    let packet = frame.get(14..42)?;
    let asks = packet[..6] == ARP_KIND && packet[6..8] == ARP_REQUEST;
    if !asks || packet[24..28] != address.octets() {
        return None;
    }
    let (sender, to) = (&packet[8..18], packet[8..14].try_into().ok()?);
    let mut answer = head(to, mac, vlans, ARP);
    answer.extend(ARP_KIND);
    answer.extend(ARP_REPLY);
    answer.extend(mac);
    answer.extend(address.octets());
    answer.extend(sender);
    answer.resize(answer.len().max(SMALLEST), 0);
    Some(answer)
}

/// The reply to a solicitation for `address`; `None` for any other frame, and if the sender has no address yet.
fn advertisement(
    frame: &[u8],
    mac: [u8; 6],
    address: Ipv6Addr,
    vlans: [Option<u16>; 2],
) -> Option<Vec<u8>> {
    let (ip, message) = (frame.get(14..54)?, frame.get(54..78)?);
    let asks = ip[6] == ICMPV6 && ip[7] == ALL_HOPS && message[0] == SOLICITATION;
    let asker: [u8; 16] = ip[8..24].try_into().ok()?;
    if !asks || message[8..24] != address.octets() || Ipv6Addr::from(asker).is_unspecified() {
        return None;
    }
    let to = frame[6..12].try_into().ok()?;
    let mut body = vec![ADVERTISEMENT, 0, 0, 0];
    body.extend(FLAGS);
    body.extend(address.octets());
    body.extend(TARGET_ADDRESS);
    body.extend(mac);
    let length = body.len() as u16;
    let pseudo = [
        &address.octets()[..],
        &asker,
        &[0, 0, 0, length as u8, 0, 0, 0, ICMPV6],
        &body,
    ];
    let checksum = checksum(&pseudo.concat());
    body[2..4].copy_from_slice(&checksum.to_be_bytes());
    let mut answer = head(to, mac, vlans, IPV6);
    answer.extend([0x60, 0, 0, 0]);
    answer.extend(length.to_be_bytes());
    answer.extend([ICMPV6, ALL_HOPS]);
    answer.extend(address.octets());
    answer.extend(asker);
    answer.extend(body);
    Some(answer)
}

/// Checksum of an even number of bytes (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    !(((folded & 0xFFFF) + (folded >> 16)) as u16)
}

/// Waits for a first test frame on a port.
pub struct Arrival(PacketSocket);

impl Arrival {
    /// Begin to listen for test frames to this UDP port (0 for the standard one) or of the test EtherType.
    ///
    /// # Errors
    /// As [`Neighbour::start`].
    pub fn listen(port: &PortName, udp_port: u16) -> Result<Arrival, PacketError> {
        let failed = |what| move |e| PacketError::setup(port, what, e);
        let interface = Interface::query(port)?;
        let socket = socket_of(port)?;
        socket
            .hear(&mut filter::test_frames(udp_port))
            .map_err(failed("a filter"))?;
        socket
            .promiscuous(interface.index)
            .map_err(failed("promiscuous mode"))?;
        let _ = socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32);
        socket
            .bind(interface.index, libc::ETH_P_ALL as u16)
            .map_err(failed("the interface"))?;
        Ok(Arrival(socket))
    }

    /// Whether a frame arrives within `patience`.
    ///
    /// # Errors
    /// The system's error about the interface.
    pub fn arrived_within(&self, patience: Duration) -> io::Result<bool> {
        let events = self.0.wait(libc::POLLIN, patience);
        match self.0.take_error() {
            Some(error) => Err(error),
            None => Ok(events & libc::POLLIN != 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
    const ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 1];

    fn arp_request() -> Vec<u8> {
        let mut frame = head([0xFF; 6], ROUTER, [None; 2], ARP);
        frame.extend(ARP_KIND);
        frame.extend(ARP_REQUEST);
        frame.extend(ROUTER);
        frame.extend([198, 18, 0, 254]);
        frame.extend([0; 6]);
        frame.extend([198, 18, 0, 2]);
        frame
    }

    #[test]
    fn a_request_for_the_address_alone_is_answered() {
        let ours = Ipv4Addr::new(198, 18, 0, 2);
        let request = arp_request();
        let answer = arp_answer(&request, MAC, ours, [Some(100), None]).unwrap();
        assert_eq!(answer[..6], ROUTER);
        assert_eq!(answer[12..18], [0x81, 0, 0, 100, 8, 6], "with its tag");
        assert_eq!(answer[24..36], [0, 2, 2, 0, 0, 0, 0, 9, 198, 18, 0, 2]);
        assert_eq!(answer[36..46], [2, 0, 0, 0, 0, 1, 198, 18, 0, 254]);
        assert_eq!(
            arp_answer(&request, MAC, Ipv4Addr::new(198, 18, 0, 3), [None; 2]),
            None
        );
        for cut in 0..request.len() {
            assert_eq!(arp_answer(&request[..cut], MAC, ours, [None; 2]), None);
        }
    }

    #[test]
    fn a_solicitation_is_answered_with_a_right_checksum() {
        let ours: Ipv6Addr = "2001:2::2".parse().unwrap();
        let asker: Ipv6Addr = "fe80::1".parse().unwrap();
        let mut request = head([0x33; 6], ROUTER, [None; 2], IPV6);
        request.extend([0x60, 0, 0, 0, 0, 24, ICMPV6, ALL_HOPS]);
        request.extend(asker.octets());
        request.extend(ours.octets());
        request.extend([SOLICITATION, 0, 0, 0, 0, 0, 0, 0]);
        request.extend(ours.octets());
        let answer = advertisement(&request, MAC, ours, [None; 2]).unwrap();
        assert_eq!(answer[..6], ROUTER);
        assert_eq!(answer[54], ADVERTISEMENT);
        let pseudo = [
            &answer[22..54],
            &[0, 0, 0, 32, 0, 0, 0, ICMPV6],
            &answer[54..],
        ];
        assert_eq!(checksum(&pseudo.concat()), 0);
        assert_eq!(answer[80..], MAC);
        assert_eq!(advertisement(&request, MAC, asker, [None; 2]), None);
        // A host without an address only checks whether another has it.
        request[22..38].fill(0);
        assert_eq!(advertisement(&request, MAC, ours, [None; 2]), None);
    }
}
