//! Whether datagrams fit the packets of a path, or are fragmented.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use crate::sys;

/// Bytes of an IPv4 header without options (RFC 791).
const IPV4_HEADER: u32 = 20;
/// Bytes of an IPv6 header (RFC 8200).
const IPV6_HEADER: u32 = 40;
/// Bytes of the header of an IPv6 fragment (RFC 8200, 4.5).
const IPV6_FRAGMENT_HEADER: u32 = 8;
/// Bytes of a UDP header (RFC 768).
const UDP_HEADER: u32 = 8;

/// Bytes of the longest packet of a connected socket's path, as far as the system knows; `None` if the socket is not
/// connected.
///
/// # Errors
/// The system's error.
pub fn path_mtu(socket: &UdpSocket) -> io::Result<Option<u32>> {
    let option = match socket.local_addr()?.is_ipv6() {
        true => sys::IPV6_MTU,
        false => sys::IP_MTU,
    };
    match sys::option(socket.as_fd(), option) {
        Ok(mtu) => Ok(u32::try_from(mtu).ok()),
        Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Packets of one datagram: 1 if it fits, more if it is fragmented. Each fragment but the last carries a multiple of
/// 8 bytes (RFC 791, 3.2; RFC 8200, 4.5).
pub const fn fragments(datagram_bytes: u32, mtu: u32, ipv6: bool) -> u32 {
    let header = if ipv6 { IPV6_HEADER } else { IPV4_HEADER };
    let bytes = datagram_bytes.saturating_add(UDP_HEADER);
    let room = mtu.saturating_sub(header);
    if bytes <= room {
        return 1;
    }
    let last = if ipv6 {
        room.saturating_sub(IPV6_FRAGMENT_HEADER)
    } else {
        room
    };
    let each = last & !7;
    if each == 0 {
        // No path has such an MTU: RFC 791 requires 68 bytes, RFC 8200 1280.
        return u32::MAX;
    }
    1 + bytes.saturating_sub(last).div_ceil(each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_one_packet() {
        assert_eq!(fragments(1472, 1500, false), 1);
        assert_eq!(fragments(1473, 1500, false), 2);
        assert_eq!(fragments(1452, 1500, true), 1);
        assert_eq!(fragments(1453, 1500, true), 2);
        assert_eq!(fragments(0, 1500, false), 1);
    }

    #[test]
    fn all_fragments_except_the_last_carry_multiples_of_8() {
        // 8 header + 2000 = 2008 bytes: 1480 and 528.
        assert_eq!(fragments(2000, 1500, false), 2);
        // An MTU of 1006 leaves 986, so each fragment but the last carries 984.
        assert_eq!(fragments(984 + 986 - 8, 1006, false), 2);
        assert_eq!(fragments(984 + 987 - 8, 1006, false), 3);
        assert_eq!(fragments(65_507, 1500, false), 45);
        assert_eq!(fragments(1, 20, false), u32::MAX);
    }

    #[test]
    fn a_connected_socket_knows_its_path() {
        for (address, least) in [("127.0.0.1:0", 576), ("[::1]:0", 1280)] {
            // A host without IPv6 has no such address.
            let Ok(socket) = UdpSocket::bind(address) else {
                continue;
            };
            assert_eq!(path_mtu(&socket).unwrap(), None);
            socket.connect(socket.local_addr().unwrap()).unwrap();
            assert!(path_mtu(&socket).unwrap().unwrap() >= least);
        }
    }
}
