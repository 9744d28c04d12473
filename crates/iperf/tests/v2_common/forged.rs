//! What a stranger sends to a server of iperf 2 in a victim's name, and what the victim gets.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use wirelab_iperf::v2::{Amount, ClientHeader, Generation, Head, Mode, Rate};

/// Sockets to which nothing came for so long are quiet.
const QUIET: Duration = Duration::from_millis(700);

/// A datagram of a flow that asks for traffic back to `port`, so many a second, in the layout of a generation.
pub fn datagram(kind: Generation, mode: Mode, port: u16, packets_per_s: u64, id: i64) -> Vec<u8> {
    let mut out = vec![0; 100];
    let head = Head {
        id,
        seconds: 0,
        microseconds: 0,
    };
    head.emit(&mut out, kind.ids());
    let amount = Amount::Time { centiseconds: 3000 };
    let header = ClientHeader::new(true, port, 100, amount, Rate::PacketsPerS(packets_per_s));
    let header = header.with_mode(mode).of_generation(kind);
    header.emit(&mut out[kind.header_at().unwrap()..]).unwrap();
    out
}

/// Bytes that come to any of these sockets until they are quiet, or until `enough` came.
pub fn bytes_that_come(sockets: &[&UdpSocket], enough: usize) -> usize {
    let wait = Some(Duration::from_millis(5));
    for socket in sockets {
        socket.set_read_timeout(wait).unwrap();
    }
    let (mut bytes, mut heard, mut buf) = (0, Instant::now(), [0; 2000]);
    while heard.elapsed() < QUIET && bytes < enough {
        for socket in sockets {
            if let Ok(len) = socket.recv(&mut buf) {
                (bytes, heard) = (bytes + len, Instant::now());
            }
        }
    }
    bytes
}
