//! Servers and clients of iperf 2.0.5 to 2.0.13, which boards in the field have, and of 2.2.1: their flows as captured from
//! builds of the published sources, and servers that read and answer as they do.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use wirelab_iperf::v2::{
    Amount, ClientConfig, Generation, IdWidth, Leg, Mode, Outcome, Protocol, Rate, Sent,
    ServerConfig, ServerReport, UdpReceived,
};

use crate::older::{Build, Count, JITTER_US, Played};
use crate::v2_common::{LIMIT, Ours, hex};

const KINDS: [(Build, Generation); 5] = [
    (Build::V205, Generation::V205),
    (Build::V209, Generation::V205),
    (Build::V2012, Generation::V2010),
    (Build::V2013, Generation::V2013),
    (Build::V221, Generation::Wide),
];

fn config(server: &Played) -> ClientConfig {
    ClientConfig {
        length_bytes: Some(200),
        rate: Rate::PacketsPerS(500),
        amount: Amount::Bytes(100 * 200),
        ..ClientConfig::new(server.address, Protocol::Udp)
    }
}

fn run(config: &ClientConfig) -> Outcome {
    config.run(&AtomicBool::new(false), &|_| {})
}

fn sent(outcome: &Outcome) -> &Sent {
    let sent = outcome.legs.iter().find_map(|(_, leg)| match leg {
        Leg::UdpSent(sent) => Some(&**sent),
        _ => None,
    });
    sent.unwrap_or_else(|| panic!("{outcome:#?}"))
}

#[test]
fn the_servers_of_these_tests_answer_as_the_captured_ones_did() {
    // `iperf -s -u` to numbers 1 to 20 and the last, of 200 bytes each. Time and jitter differ from run to run: one of each
    // stands for all.
    let lasted = Duration::from_micros(0x73327);
    for (kind, last, captured) in [
        (
            Build::V205,
            "ffffffeb 6b07197c 0000417d",
            "ffffffeb 6b07197c 0000417d 80000000 00000000 00000fa0 00000000 00073327 00000001 00000000 00000015 00000000 00000019",
        ),
        (
            Build::V209,
            "ffffffeb 6b05c6a5 000dec9a",
            "ffffffeb 6b05c6a5 000dec9a 80000000 00000000 00000fa0 00000000 00073327 00000001 00000000 00000015 00000000 00000019",
        ),
        (
            Build::V2012,
            "80000015 6b05c6c5 000e9960",
            "80000015 6b05c6c5 000e9960 00000000 80000000 00000000 00000fa0 00000000 00073327 00000001 00000000 00000015 00000000 00000000 00000019",
        ),
        (
            Build::V2013,
            "ffffffeb 6b0720a7 000cee26 ffffffff",
            "ffffffeb 6b0720a7 000cee26 ffffffff 88000000 00000000 00000fa0 00000000 00073327 00000001 00000000 00000015 00000000 00000019",
        ),
        (
            Build::V221,
            "ffffffeb 6b071ace 00057182 ffffffff",
            "00000000 00000000 00000000 00000000 88000000 00000000 00001068 00000000 00073327 00000000 00000000 00000015 00000000 00000019",
        ),
    ] {
        let mut count = Count::default();
        let counted = if kind.is_old() { 2..=21 } else { 1..=21 };
        counted.for_each(|id| count.take(id, 200));
        let captured = hex(captured);
        let answer = kind.answer(&hex(last), &count, lasted);
        assert_eq!(answer[..captured.len()], captured, "{kind:?}");
        assert_eq!(answer.len(), if kind.is_old() { 1470 } else { 128 });
    }
}

#[test]
fn what_an_older_server_counts_is_what_arrived() {
    for (kind, generation) in KINDS {
        for drops in [|_| false, |id| id % 10 == 5] as [fn(u32) -> bool; 2] {
            let lost = (1..=100).filter(|id| drops(*id)).count() as u64;
            let server = Played::start(kind, "127.0.0.1", drops);
            // Asked as a newer one first, and then in its own layout.
            for asked in [Generation::Wide, generation] {
                let what = format!("{kind:?}, {asked:?}, {lost} dropped");
                let outcome = run(&ClientConfig {
                    generation: asked,
                    ..config(&server)
                });
                let sent = sent(&outcome);
                assert_eq!(sent.server, Some(generation), "{what}");
                assert_eq!(
                    sent.lost_and_arrived(),
                    Some((lost, 100 - lost)),
                    "{what}: {sent:#?}"
                );
                assert_eq!(sent.mended.first_taken, asked != generation, "{what}");
                let report = sent.report.unwrap();
                assert_eq!((report.lost, report.out_of_order), (lost, 0), "{what}");
                assert!(report.datagrams <= 101, "{what}: {}", report.datagrams);
                assert_eq!(report.jitter_us, u64::from(JITTER_US), "{what}");
                assert_eq!(sent.final_tries, 1, "{what}");
            }
        }
    }
}

#[test]
fn a_flow_that_a_server_times_from_the_one_before_has_its_own_time() {
    for (kind, _) in KINDS {
        let server = Played::start(kind, "127.0.0.1", |_| false);
        for flow in 0..4 {
            let outcome = run(&config(&server));
            let sent = sent(&outcome);
            let report = sent.report.unwrap();
            // 100 datagrams, 500 a second.
            let expected = 150_000..400_000;
            assert!(
                expected.contains(&report.duration_us),
                "{kind:?}, flow {flow}: {sent:#?}"
            );
            let lingers = kind.is_old() && flow > 0;
            let mended = sent.mended.lingered_us.is_some();
            assert_eq!(mended, lingers, "{kind:?}, flow {flow}");
            let says = sent
                .notes()
                .iter()
                .any(|note| note.contains("the flow before"));
            assert_eq!(says, lingers, "{kind:?}: {:?}", sent.notes());
        }
    }
}

fn back(outcome: &Outcome) -> &UdpReceived {
    let back = outcome.legs.iter().find_map(|(_, leg)| match leg {
        Leg::UdpReceived(udp) => Some(&**udp),
        _ => None,
    });
    back.unwrap_or_else(|| panic!("{outcome:#?}"))
}

#[test]
fn an_amount_that_a_server_takes_for_a_time_ends_all_the_same() {
    for kind in [Build::V205, Build::V209] {
        for mode in [Mode::Tradeoff, Mode::Dual] {
            let server = Played::start(kind, "127.0.0.1", |_| false);
            let outcome = run(&ClientConfig {
                mode,
                ..config(&server)
            });
            assert_eq!(outcome.trouble, None, "{kind:?}: {outcome:#?}");
            let back = back(&outcome);
            let received = back.received;
            // The requested amount, a datagram or two more, and what arrived before the check.
            let whole = received.lost == 0 && (101..200).contains(&received.distinct);
            assert!(whole && back.finished, "{kind:?}: {back:#?}");
        }
    }
}

#[test]
fn a_stream_that_never_ends_is_cut_where_an_amount_was_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = ClientConfig {
        mode: Mode::Tradeoff,
        amount: Amount::Bytes(1_000_000),
        ..ClientConfig::new(listener.local_addr().unwrap(), Protocol::Tcp)
    };
    let server = std::thread::spawn(move || {
        let (mut stream, peer) = listener.accept().unwrap();
        let mut header = [0; 24];
        stream.read_exact(&mut header).unwrap();
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        drop(stream);
        let port = u32::from_be_bytes(header[8..12].try_into().unwrap());
        let mut back = TcpStream::connect((peer.ip(), port as u16)).unwrap();
        while back.write_all(&[b'5'; 131_072]).is_ok() {}
    });
    let outcome = run(&config);
    server.join().unwrap();
    assert_eq!(outcome.trouble, None, "{outcome:#?}");
    let bytes = outcome.legs.iter().find_map(|(_, leg)| match leg {
        Leg::TcpReceived { bytes, .. } => Some(*bytes),
        _ => None,
    });
    // Two blocks more, and what was read in one piece.
    assert!(
        bytes.is_some_and(|bytes| (1_000_000..1_400_000).contains(&bytes)),
        "{outcome:#?}"
    );
}

#[test]
fn older_servers_send_back_what_they_are_asked() {
    for (kind, generation) in KINDS {
        for mode in [Mode::Tradeoff, Mode::Dual] {
            let what = format!("{kind:?}, {mode:?}");
            let server = Played::start(kind, "127.0.0.1", |_| false);
            let outcome = run(&ClientConfig {
                mode,
                amount: Amount::Time { centiseconds: 20 },
                own_amount: Some(Amount::Bytes(100 * 200)),
                ..config(&server)
            });
            assert_eq!(outcome.trouble, None, "{what}: {outcome:#?}");
            let back = back(&outcome);
            let received = back.received;
            assert_eq!((received.distinct, received.lost), (50, 0), "{what}");
            assert!(back.finished, "{what}");
            assert_eq!(sent(&outcome).lost_and_arrived(), Some((0, 100)), "{what}");
            assert_eq!(outcome.server(), Some(generation), "{what}");
            assert_eq!(
                server.told.lock().unwrap().as_slice(),
                [0],
                "{what}: wirelab's report"
            );
        }
    }
}

/// A client's flow as captured: its first datagrams, those of data, and the final one, without the time.
struct Captured {
    name: &'static str,
    generation: Generation,
    /// Whether a datagram with the header alone goes before the data.
    greets: bool,
    rest: &'static str,
    last: u32,
    /// What its own server counts: out of order, datagrams, bytes. It leaves the first out, and counts the last.
    own: [u64; 3],
}

/// What a server of the old ones counts of five datagrams of data.
const OLD: [u64; 3] = [0, 5, 500];
/// Its reporter had counted one datagram when 2.0.5 wrote the last, and its server reported that.
const EARLY: [u64; 3] = [1, 4, 500];

const CAPTURED: [Captured; 11] = [
    Captured {
        name: "2.0.5 -u -l 100 -n 500",
        generation: Generation::Bare,
        greets: false,
        rest: "00000000 00000001 00001771 00000064 00100000 000001f4 36373839 30313233 34353637",
        last: 0xffff_ffff,
        own: EARLY,
    },
    Captured {
        name: "2.0.5 -u -l 100 -n 500 -r",
        generation: Generation::V205,
        greets: false,
        rest: "80000000 00000001 PORT 00000064 00100000 000001f4 36373839 30313233 34353637",
        last: 0xffff_ffff,
        own: EARLY,
    },
    Captured {
        name: "2.0.9 -u -l 100 -n 500",
        generation: Generation::Bare,
        greets: false,
        rest: "00000000 00000001 0000c349 00000064 00000000 000001f4 00989680 30313233 34353637",
        last: 0xffff_fffb,
        own: OLD,
    },
    Captured {
        name: "2.0.9 -u -l 100 -n 500 -r",
        generation: Generation::V205,
        greets: false,
        rest: "80000000 00000001 PORT 00000064 00000000 000001f4 00989680 30313233 34353637",
        last: 0xffff_fffb,
        own: OLD,
    },
    Captured {
        name: "2.0.10 -u -l 100 -n 500",
        generation: Generation::V2010,
        greets: false,
        rest: "32333435 00000000 30313233 34353637 38393031 32333435 36373839 30313233 34353637",
        last: 0x8000_0005,
        own: OLD,
    },
    Captured {
        name: "2.0.12+ -u -l 100 -n 500",
        generation: Generation::V2010,
        greets: false,
        rest: "32333435 00000000 30313233 34353637 38393031 32333435 36373839 30310034 34353637",
        last: 0x8000_0005,
        own: OLD,
    },
    Captured {
        name: "2.0.12+ -u -l 100 -n 500 -r",
        generation: Generation::V2010,
        greets: true,
        rest: "32333435 c0000000 00000001 PORT 00000068 32333435 000001f4 00000001 0000001c 00000000 00020000 000d0000 00000000 00989680",
        last: 0x8000_0005,
        own: OLD,
    },
    Captured {
        name: "2.0.13 -u -l 100 -n 500",
        generation: Generation::V2013,
        greets: false,
        rest: "00000000 08000000 30313233 34353637 38393031 32333435 36373839 30310034 34353637",
        last: 0xffff_fffb,
        own: OLD,
    },
    Captured {
        name: "2.0.13 -u -l 100 -n 500 -b 1M -r",
        generation: Generation::V2013,
        greets: true,
        rest: "00000000 c8000000 00000001 PORT 00000070 32333435 000001f4 00000001 0000001c 00000000 00020000 000d0003 00000000 00100000",
        last: 0xffff_fffb,
        own: OLD,
    },
    Captured {
        name: "2.2.1 -u -l 100 -n 500",
        generation: Generation::Wide,
        greets: false,
        rest: "00000000 480100a0 00000001 00001771 00000064 00000000 000001f4 00000000 00000000 00000000 00020002 00010001 00000000 00100000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000",
        last: 0xffff_fffa,
        own: [0, 6, 600],
    },
    Captured {
        name: "2.2.1 -u -l 100 -n 500 -r",
        generation: Generation::Wide,
        greets: false,
        rest: "00000000 c80100a0 00000001 PORT 00000064 00000000 000001f4 00000000 00000000 00000000 00020002 00010001 00000000 00100000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000",
        last: 0xffff_fffa,
        own: [0, 6, 600],
    },
];

impl Captured {
    fn datagram(&self, number: u32, port: u16) -> Vec<u8> {
        let rest = self.rest.replace("PORT", &format!("{port:08x}"));
        let us = number.wrapping_mul(700) & 0xffff;
        let mut out = hex(&format!("{number:08x} 6b05c631 {us:08x} {rest}"));
        out.resize(100, b'5');
        if self.generation.ids() == IdWidth::Wide && number == self.last {
            out[12..16].fill(0xFF);
        }
        out
    }
}

#[test]
fn older_clients_are_counted_and_answered_as_captured() {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    for flow in CAPTURED {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        let back = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = back.local_addr().unwrap().port();
        for socket in [&client, &back] {
            socket.set_read_timeout(Some(LIMIT)).unwrap();
        }
        client.connect(ours.server.udp_address()).unwrap();
        let first = flow.own[1] == 6;
        let data = (0..5).map(|n| n + u32::from(first));
        let wide = flow.generation.ids() == IdWidth::Wide;
        let mut greeting = flow.datagram(0, port);
        greeting[12..16].copy_from_slice(b"2345");
        if flow.greets {
            client.send(&greeting).unwrap();
        }
        for number in data.chain([flow.last]) {
            client.send(&flow.datagram(number, port)).unwrap();
            // A copy, which only 2.0.13 marks as such by its high word.
            if flow.greets && wide && number < 2 {
                client.send(&greeting).unwrap();
            }
        }
        let mut answer = [0; 2000];
        let len = client.recv(&mut answer).unwrap();
        let name = flow.name;
        // 2.0.10 to 2.0.13 take no answer below this.
        assert!(len >= 120, "{name}: {len} bytes");
        let at = flow.generation.report_at();
        let flags = if wide { 0x88 } else { 0x80 };
        assert_eq!(answer[at..at + 4], [flags, 0, 0, 0], "{name}");
        let copied = if wide { 0 } else { flow.last };
        assert_eq!(answer[..4], copied.to_be_bytes(), "{name}");
        let report = ServerReport::parse(&answer[..len]).unwrap();
        let told = [report.out_of_order, report.datagrams, report.bytes];
        assert_eq!((report.lost, told), (0, flow.own), "{name}");
        // The flow back of the one before may end later.
        let udp = loop {
            if let Leg::UdpReceived(udp) = ours.next_leg() {
                break udp;
            }
        };
        assert_eq!(udp.generation, flow.generation, "{name}");
        let received = udp.received;
        assert_eq!(
            (received.datagrams, received.lost, udp.unattributed),
            (5, 0, 0),
            "{name}"
        );
        assert_eq!(received.duplicated, 0, "{name}");
        if flow.rest.contains("PORT") {
            take_back(name, &back, &flow);
        }
    }
}

/// Traffic back, as the client's listener reads it: the first is its own, without a request, and the last is marked.
fn take_back(name: &str, back: &UdpSocket, flow: &Captured) {
    let at = flow.generation.header_at().unwrap();
    let first = flow.generation.first_id() as u32;
    let mut numbers = Vec::new();
    loop {
        let mut datagram = [0; 2000];
        let (len, from) = back.recv_from(&mut datagram).unwrap();
        let number = u32::from_be_bytes(datagram[..4].try_into().unwrap());
        let no_header = match flow.generation {
            Generation::V205 => *b"2345",
            Generation::V2010 => [0; 4],
            _ => *b"6789",
        };
        assert_eq!(datagram[at..at + 4], no_header, "{name}");
        if number >> 31 != 0 {
            let last = match flow.generation {
                Generation::V2010 => number & 0x7fff_ffff,
                _ => number.wrapping_neg(),
            };
            assert_eq!(last as usize, first as usize + numbers.len(), "{name}");
            let mut report = vec![0; 200];
            report[at] = 0x80;
            back.send_to(&report, from).unwrap();
            break;
        }
        let most = if flow.greets { 0x70 } else { 100 };
        assert!(len <= most, "{name}: {len} bytes");
        numbers.push(number);
    }
    assert!(
        numbers
            .iter()
            .copied()
            .eq(first..first + numbers.len() as u32),
        "{name}: {numbers:?}"
    );
    assert!(numbers.len() >= 4, "{name}: {numbers:?}");
}
