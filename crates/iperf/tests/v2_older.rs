//! Servers and clients of iperf 2.0.5 to 2.0.13, which boards in the field have: their flows as captured from builds of the
//! published sources, and servers that read and answer as they do.

use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use wirelab_iperf::v2::{
    Amount, ClientConfig, Generation, Leg, Mode, Outcome, Protocol, Rate, Sent, ServerConfig,
    ServerReport,
};

#[path = "v2_common/older.rs"]
mod older;
mod v2_common;

use older::{Count, Older, OlderServer};
use v2_common::{LIMIT, Ours, hex};

const KINDS: [(Older, Generation); 2] = [
    (Older::V2009, Generation::V205),
    (Older::V2013, Generation::V2010),
];

fn config(server: &OlderServer) -> ClientConfig {
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
    // `iperf -s -u` 2.0.9 and 2.0.13 to numbers 1 to 20 and the last, of 200 bytes each.
    let mut count = Count::default();
    (2..=21).for_each(|id| count.take(id, 200));
    for (kind, last, captured) in [
        (
            Older::V2009,
            "ffffffeb 6b05c6a5 000dec9a",
            "ffffffeb 6b05c6a5 000dec9a 80000000 00000000 00000fa0 00000000 00073327 00000001 00000000 00000015 00000000 00000019",
        ),
        (
            Older::V2013,
            "80000015 6b05c6c5 000e9960",
            "80000015 6b05c6c5 000e9960 00000000 80000000 00000000 00000fa0 00000000 00073327 00000001 00000000 00000015 00000000 00000000 00000019",
        ),
    ] {
        let captured = hex(captured);
        let answer = kind.answer(&hex(last), &count, Duration::from_micros(0x73327));
        assert_eq!(answer[..captured.len()], captured, "{kind:?}");
        assert_eq!(answer.len(), 1470);
    }
}

#[test]
fn what_an_older_server_counts_is_what_arrived() {
    for (kind, generation) in KINDS {
        for drops in [|_| false, |id| id % 10 == 5] as [fn(u32) -> bool; 2] {
            let lost = (1..=100).filter(|id| drops(*id)).count() as u64;
            let server = OlderServer::start(kind, "127.0.0.1", drops);
            // Asked as a newer one first, and then in its own layout.
            for asked in [Generation::Wide, generation] {
                let what = format!("{kind:?}, {asked:?}, {lost} dropped");
                let outcome = run(&ClientConfig {
                    generation: asked,
                    ..config(&server)
                });
                let sent = sent(&outcome);
                assert_eq!(sent.server, Some(generation), "{what}");
                assert_eq!(sent.told(), Some((lost, 100 - lost)), "{what}: {sent:#?}");
                assert_eq!(sent.mended.first_taken, asked != generation, "{what}");
                let report = sent.report.unwrap();
                assert_eq!((report.lost, report.out_of_order), (lost, 0), "{what}");
                assert!(report.datagrams <= 101, "{what}: {}", report.datagrams);
                assert_eq!(report.jitter_us, 0x19, "{what}");
                assert_eq!(sent.final_tries, 1, "{what}");
            }
        }
    }
}

#[test]
fn a_flow_that_a_server_times_from_the_one_before_has_its_own_time() {
    for (kind, _) in KINDS {
        let server = OlderServer::start(kind, "127.0.0.1", |_| false);
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
            assert_eq!(
                sent.mended.lingered_us.is_some(),
                flow > 0,
                "{kind:?}, flow {flow}"
            );
            let says = sent
                .notes()
                .iter()
                .any(|note| note.contains("the flow before"));
            assert_eq!(says, flow > 0, "{:?}", sent.notes());
        }
    }
}

#[test]
fn older_servers_send_back_what_they_are_asked() {
    for (kind, generation) in KINDS {
        for mode in [Mode::Tradeoff, Mode::Dual] {
            let what = format!("{kind:?}, {mode:?}");
            let server = OlderServer::start(kind, "127.0.0.1", |_| false);
            let outcome = run(&ClientConfig {
                mode,
                ..config(&server)
            });
            assert_eq!(outcome.trouble, None, "{what}: {outcome:#?}");
            let back = outcome.legs.iter().find_map(|(_, leg)| match leg {
                Leg::UdpReceived(udp) => Some(udp),
                _ => None,
            });
            let back = back.unwrap_or_else(|| panic!("{what}: {outcome:#?}"));
            let received = back.received;
            assert_eq!((received.distinct, received.lost), (50, 0), "{what}");
            assert!(back.finished, "{what}");
            assert_eq!(sent(&outcome).told(), Some((0, 100)), "{what}");
            assert_eq!(outcome.server(), Some(generation), "{what}");
            assert_eq!(
                server.told.lock().unwrap().as_slice(),
                [0],
                "{what}: what we told"
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
}

const CAPTURED: [Captured; 5] = [
    Captured {
        name: "2.0.9 -u -l 100 -n 500",
        generation: Generation::Bare,
        greets: false,
        rest: "00000000 00000001 0000c349 00000064 00000000 000001f4 00989680 30313233 34353637",
        last: 0xffff_fffb,
    },
    Captured {
        name: "2.0.9 -u -l 100 -n 500 -r",
        generation: Generation::V205,
        greets: false,
        rest: "80000000 00000001 PORT 00000064 00000000 000001f4 00989680 30313233 34353637",
        last: 0xffff_fffb,
    },
    Captured {
        name: "2.0.10 -u -l 100 -n 500",
        generation: Generation::V2010,
        greets: false,
        rest: "32333435 00000000 30313233 34353637 38393031 32333435 36373839 30313233 34353637",
        last: 0x8000_0005,
    },
    Captured {
        name: "2.0.13 -u -l 100 -n 500",
        generation: Generation::V2010,
        greets: false,
        rest: "32333435 00000000 30313233 34353637 38393031 32333435 36373839 30310034 34353637",
        last: 0x8000_0005,
    },
    Captured {
        name: "2.0.13 -u -l 100 -n 500 -r",
        generation: Generation::V2010,
        greets: true,
        rest: "32333435 c0000000 00000001 PORT 00000068 32333435 000001f4 00000001 0000001c 00000000 00020000 000d0000 00000000 00989680",
        last: 0x8000_0005,
    },
];

impl Captured {
    fn datagram(&self, number: u32, port: u16) -> Vec<u8> {
        let rest = self.rest.replace("PORT", &format!("{port:08x}"));
        let us = number.wrapping_mul(700) & 0xffff;
        let mut out = hex(&format!("{number:08x} 6b05c631 {us:08x} {rest}"));
        out.resize(100, b'5');
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
        let numbers = [0].repeat(flow.greets.into()).into_iter().chain(0..5);
        for number in numbers.chain([flow.last]) {
            client.send(&flow.datagram(number, port)).unwrap();
        }
        let mut answer = [0; 2000];
        let len = client.recv(&mut answer).unwrap();
        let name = flow.name;
        // 2.0.10 to 2.0.13 take no answer below this.
        assert!(len >= 120, "{name}: {len} bytes");
        let at = if flow.generation == Generation::V2010 {
            16
        } else {
            12
        };
        assert_eq!(answer[at..at + 4], [0x80, 0, 0, 0], "{name}");
        assert_eq!(answer[..4], flow.last.to_be_bytes(), "{name}");
        let report = ServerReport::parse(&answer[..len]).unwrap();
        // Its own server leaves the first out, and counts the last.
        let told = (
            report.lost,
            report.out_of_order,
            report.datagrams,
            report.bytes,
        );
        assert_eq!(told, (0, 0, 5, 500), "{name}");
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

/// Traffic back, as the client's listener reads it: the first is its own, nothing is asked, and the last is marked.
fn take_back(name: &str, back: &UdpSocket, flow: &Captured) {
    let at = flow.generation.header_at().unwrap();
    let mut numbers = Vec::new();
    loop {
        let mut datagram = [0; 2000];
        let (len, from) = back.recv_from(&mut datagram).unwrap();
        let number = u32::from_be_bytes(datagram[..4].try_into().unwrap());
        let no_header = if at == 16 { [0; 4] } else { *b"2345" };
        assert_eq!(datagram[at..at + 4], no_header, "{name}");
        if number >> 31 != 0 {
            let last = match flow.generation {
                Generation::V205 => number.wrapping_neg(),
                _ => number & 0x7fff_ffff,
            };
            assert_eq!(last as usize, numbers.len(), "{name}");
            let mut report = vec![0; 200];
            report[at] = 0x80;
            back.send_to(&report, from).unwrap();
            break;
        }
        let most = if flow.greets { 0x68 } else { 100 };
        assert!(len <= most, "{name}: {len} bytes");
        numbers.push(number);
    }
    assert!(
        numbers.iter().copied().eq(0..numbers.len() as u32),
        "{name}: {numbers:?}"
    );
    assert!(numbers.len() >= 4, "{name}: {numbers:?}");
}
