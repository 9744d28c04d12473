//! The kernel's filter (classic BPF) of a checker's ring, which passes only possible test frames.
//!
//! So the frames that the ring drops are also of this type, and foreign traffic is not counted as loss of the flow.
//! The filter passes every frame in which [`wirelab_wire::locate`] finds a test header.

use libc::sock_filter;
use wirelab_wire::frame::{TPID_CUSTOMER, TPID_SERVICE};
use wirelab_wire::header;

/// Load a half-word or byte at an offset, or at one relative to the index register.
const HALF: u16 = (libc::BPF_LD | libc::BPF_H | libc::BPF_ABS) as u16;
const BYTE: u16 = (libc::BPF_LD | libc::BPF_B | libc::BPF_ABS) as u16;
const HALF_BEHIND: u16 = (libc::BPF_LD | libc::BPF_H | libc::BPF_IND) as u16;
const BYTE_BEHIND: u16 = (libc::BPF_LD | libc::BPF_B | libc::BPF_IND) as u16;
/// Set the index register.
const INDEX: u16 = (libc::BPF_LDX | libc::BPF_W | libc::BPF_IMM) as u16;
const IS: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const GO: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const SHIFT: u16 = (libc::BPF_ALU | libc::BPF_LSH | libc::BPF_K) as u16;
const ADD_INDEX: u16 = (libc::BPF_ALU | libc::BPF_ADD | libc::BPF_X) as u16;
const TO_INDEX: u16 = (libc::BPF_MISC | libc::BPF_TAX) as u16;
const KEEP: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const UDP: u32 = 17;

/// Passes frames of the test EtherType and UDP datagrams to `udp_port` (0 for [`header::UDP_PORT`]), after up to two
/// tags. A frame that is too short for these fields does not pass.
pub(super) fn test_frames(udp_port: u16) -> [sock_filter; 28] {
    let udp_port = match udp_port {
        0 => header::UDP_PORT,
        port => port,
    };
    let (customer, service) = (u32::from(TPID_CUSTOMER), u32::from(TPID_SERVICE));
    [
        // The accumulator gets the EtherType, the index register the start of the payload.
        plain(INDEX, 14),
        plain(HALF, 12),
        test(customer, 1, 0),
        test(service, 0, 6),
        plain(INDEX, 18),
        plain(HALF, 16),
        test(customer, 1, 0),
        test(service, 0, 2),
        plain(INDEX, 22),
        plain(HALF, 20),
        test(u32::from(header::ETHERTYPE), 15, 0),
        test(0x0800, 1, 0),
        test(0x86DD, 9, 14),
        // IPv4: the protocol, and the UDP destination port after a header of any length.
        plain(BYTE_BEHIND, 9),
        test(UDP, 0, 12),
        plain(BYTE_BEHIND, 0),
        plain(AND, 15),
        plain(SHIFT, 2),
        plain(ADD_INDEX, 0),
        plain(TO_INDEX, 0),
        plain(HALF_BEHIND, 2),
        plain(GO, 3),
        // IPv6.
        plain(BYTE_BEHIND, 6),
        test(UDP, 0, 3),
        plain(HALF_BEHIND, 42),
        test(u32::from(udp_port), 0, 1),
        plain(KEEP, u32::MAX),
        plain(KEEP, 0),
    ]
}

/// Passes neighbour solicitations (RFC 4861, 4.3), on a socket that receives only IPv6.
pub(super) fn solicitations() -> [sock_filter; 6] {
    [
        plain(BYTE, 20),
        test(58, 0, 3),
        plain(BYTE, 54),
        test(135, 0, 1),
        plain(KEEP, u32::MAX),
        plain(KEEP, 0),
    ]
}

const fn plain(code: u16, k: u32) -> sock_filter {
    sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Skips `yes` instructions if the accumulator is `k`, else `no`.
const fn test(k: u32, yes: u8, no: u8) -> sock_filter {
    sock_filter {
        code: IS,
        jt: yes,
        jf: no,
        k,
    }
}
