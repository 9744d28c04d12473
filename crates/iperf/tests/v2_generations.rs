//! Every generation of iperf 2 as a client, byte by byte: the request is understood, and the answer has the
//! peer's own layout. Those which the distribution's binary does not speak follow the published sources.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};

use wirelab_iperf::v2::{Generation, Leg, ServerConfig, ServerReport};

use crate::v2_common::{LIMIT, Ours, hex};

/// One generation: what follows its number and time in each datagram.
struct Kind {
    name: &'static str,
    rest: &'static str,
    generation: Generation,
    /// Where the report starts in the answer.
    report_at: usize,
}

const KINDS: [Kind; 7] = [
    Kind {
        name: "2.0.5 -u -l 60: header of 24 bytes at 12, as every such client sends",
        rest: "00000000 00000001 00001389 0000003c 00100000 fffffc18",
        generation: Generation::Bare,
        report_at: 12,
    },
    Kind {
        name: "2.0.5 -u -r -l 60 where the server cannot be reached back",
        rest: "80000000 00000001 00001389 0000003c 00100000 00000001",
        generation: Generation::V205,
        report_at: 12,
    },
    Kind {
        name: "2.0.13 -u: 64-bit numbers, header at 16 with the extension",
        rest: "00000000 48000000 00000001 00001389 00000000 00000000 fffffc18
               00000000 00000010 00000000 00020000 000d0003 00000000 00100000",
        generation: Generation::V2013,
        report_at: 16,
    },
    Kind {
        name: "2.1.8 -u",
        rest: "00000000 48010098 00000001 00001389 00000000 00000000 fffffc18
               00000000 00000000 00000000 00020001 00080003 00000000 00100000",
        generation: Generation::Wide,
        report_at: 16,
    },
    Kind {
        name: "2.2.1 -u: a longer header, and an identification with the threads",
        rest: "00000000 480100a0 80100001 00001389 00000000 00000000 fffffc18
               00000000 00000000 00000000 00020002 00010003 00000000 00100000",
        generation: Generation::Wide,
        report_at: 16,
    },
    Kind {
        name: "--trip-times -l 60: 18 bytes and a mark",
        rest: "00000000 00020000 00000000 00000000 00000000 00000000 00000000",
        generation: Generation::SmallTripTimes,
        report_at: 16,
    },
    Kind {
        name: "12 bytes and digits (NuttX)",
        rest: "32333435 36373839 30313233 34353637 38393031 32333435",
        generation: Generation::Bare,
        report_at: 12,
    },
];

impl Kind {
    /// A datagram of 100 bytes; the high half of the number follows in the generations that have one.
    fn datagram(&self, id: i32) -> Vec<u8> {
        let mut out = hex(&format!(
            "{:08x} 65000000 {:08x} {}",
            id,
            id.unsigned_abs() * 1000,
            self.rest
        ));
        if id < 0 && self.report_at == 16 {
            out[12..16].fill(0xFF);
        }
        out.resize(100, b'5');
        out
    }
}

#[test]
fn every_generation_is_answered_in_its_own_layout() {
    let ours = Ours::start(
        "127.0.0.1",
        ServerConfig {
            back: false,
            ..ServerConfig::default()
        },
    );
    for kind in KINDS {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(ours.server.udp_address()).unwrap();
        client.set_read_timeout(Some(LIMIT)).unwrap();
        for id in [1, 2, 4, 5, 6, -7] {
            client.send(&kind.datagram(id)).unwrap();
        }
        let mut answer = [0; 200];
        let len = client.recv(&mut answer).unwrap();
        assert_eq!(len, 128, "{}", kind.name);
        let flags = answer[kind.report_at];
        assert!(
            flags == 0x80 || flags == 0x88 || flags == 0xC8,
            "{}: {flags:x}",
            kind.name
        );
        let report = ServerReport::parse(&answer[..len]).unwrap();
        assert_eq!((report.lost, report.out_of_order), (1, 0), "{}", kind.name);
        assert_eq!((report.datagrams, report.bytes), (7, 600), "{}", kind.name);
        let Leg::UdpReceived(udp) = ours.next_leg() else {
            panic!("{}", kind.name);
        };
        assert_eq!(udp.generation, kind.generation, "{}", kind.name);
        assert_eq!(
            (udp.received.lost, udp.received.sent()),
            (1, 6),
            "{}",
            kind.name
        );
        assert!(udp.finished && udp.jitter_ps.is_some(), "{}", kind.name);
    }
}

/// First bytes of a TCP connection, and the answer to them, if there is one.
#[test]
fn every_header_over_tcp_is_counted_as_iperf_counts_it() {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let extension =
        "00000000 00000000 00000000 00020002 00010003 00000000 00000000 00000000 00000000";
    for (name, header, ack) in [
        (
            "lwIP: data alone",
            "30313233 34353637 38393031".to_owned(),
            0,
        ),
        (
            "2.0.5 -n 200K",
            "00000000 00000001 00001771 00000000 00000000 00032000".to_owned(),
            0,
        ),
        (
            "2.0.9 -n 200K",
            "00000000 00000001 00001771 00000000 00000000 00032000 00000000 38393031 32333435"
                .to_owned(),
            0,
        ),
        (
            "2.0.13 -n 200K",
            "08000000 34353637 38393031 32333435 36373839 30313233 34353637".to_owned(),
            0,
        ),
        (
            "2.1.8 -X: 60 bytes and an answer",
            format!("46010078 00000001 00001389 00000000 00000000 fffffc18 {extension}"),
            28,
        ),
        (
            "2.2.1 -n 200K: 64 bytes",
            "40010080 00000001 00001771 00000000 00000000 00032000 00000000 00000000 00000000 00020002 00010001 00000000 00000000 00000000 00000000 00000000"
                .to_owned(),
            0,
        ),
    ] {
        let mut client = TcpStream::connect(ours.server.tcp_address()).unwrap();
        client.set_read_timeout(Some(LIMIT)).unwrap();
        let header = hex(&header);
        client.write_all(&header).unwrap();
        let mut answer = vec![0; ack];
        client.read_exact(&mut answer).unwrap();
        client.write_all(&[b'5'; 5000]).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(
            client.read(&mut [0; 1]).unwrap(),
            0,
            "{name}: nothing else is said"
        );
        let Leg::TcpReceived { bytes, .. } = ours.next_leg() else {
            panic!("{name}");
        };
        assert_eq!(bytes, 5000 + header.len() as u64, "{name}");
    }
}

/// `-n 200K -r`, as captured: the stream comes back to the port that is named, and asks nothing.
#[test]
fn every_header_over_tcp_gets_its_stream_back() {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    for (name, header) in [
        ("2.0.5", "80000000 00000001 PORT 00000000 00000000 00032000"),
        (
            "2.0.5 -w 1000: as a rate it would take half an hour",
            "80000000 00000001 PORT 00000000 000003e8 00032000",
        ),
        (
            "2.0.9",
            "80000000 00000001 PORT 00000000 00000000 00032000 00000000 38393031 32333435",
        ),
        (
            "2.0.13",
            "88000000 00000001 PORT 00000000 36373839 00032000",
        ),
        (
            "2.2.1",
            "c0010080 00000001 PORT 00000000 00000000 00032000 00000000 00000000 00000000 00020002 00010001 00000000 00000000 00000000 00000000 00000000",
        ),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(ours.server.tcp_address()).unwrap();
        let header = hex(&header.replace("PORT", &format!("{port:08x}")));
        client.write_all(&header).unwrap();
        client.write_all(&[b'5'; 5000]).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let (mut back, _) = listener.accept().unwrap();
        back.set_read_timeout(Some(LIMIT)).unwrap();
        let mut bytes = Vec::new();
        back.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 0x32000, "{name}");
        assert_eq!(bytes[0] & 0x80, 0, "{name}: it asks for a stream itself");
        for _ in 0..2 {
            ours.next_leg();
        }
    }
}

#[test]
fn nonsense_in_place_of_bounceback_is_refused() {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let mut client = TcpStream::connect(ours.server.tcp_address()).unwrap();
    client.set_read_timeout(Some(LIMIT)).unwrap();
    client.write_all(&hex("00800000 ffffffff")).unwrap();
    assert!(matches!(client.read(&mut [0; 1]), Ok(0) | Err(_)));
    assert_eq!(
        ours.refusal(),
        "bounceback: blocks have 48 to 1048576 bytes"
    );
}
