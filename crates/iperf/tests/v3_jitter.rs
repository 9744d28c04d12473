//! Impossible jitters, as iperf3 before 3.8 reports them if two clocks differ: none is shown as a figure.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use crate::v3_common::{ask, udp};
use serde_json::Value;
use wirelab_iperf::v2::table::Format;
use wirelab_iperf::v3::datagram::{DatagramHead, hello, reply_to};
use wirelab_iperf::v3::table::Table;
use wirelab_iperf::v3::{
    ClientControl, ClientEvent, Cookie, Parameters, Results, Server, ServerControl, ServerEvent,
    StreamResult, TestOutcome, report,
};
use wirelab_trial::Cancel;

/// 20 datagrams, one in 2 ms.
fn brief() -> Parameters {
    Parameters {
        seconds: 0,
        blocks: 20,
        ..udp()
    }
}

/// Move bytes between a control connection and its state machine.
fn exchange(stream: &mut TcpStream, out: &[u8]) -> Vec<u8> {
    stream.write_all(out).unwrap();
    let mut bytes = [0; 4096];
    match stream.read(&mut bytes) {
        Ok(len) => bytes[..len].to_vec(),
        Err(_) => Vec::new(),
    }
}

/// A server that receives nothing and reports this jitter.
fn tells(jitter_s: f64) -> TestOutcome {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let socket = UdpSocket::bind(address).unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let wait = Some(Duration::from_millis(5));
        stream.set_read_timeout(wait).unwrap();
        let mut control = ServerControl::new();
        loop {
            let out = control.take_output();
            control.receive(&exchange(&mut stream, &out));
            match control.next_event().unwrap() {
                Some(ServerEvent::Requested(..)) => {
                    control.accept();
                    stream.write_all(&control.take_output()).unwrap();
                    let mut opening = [0; 4];
                    let (_, from) = socket.recv_from(&mut opening).unwrap();
                    socket.send_to(&reply_to(&opening).unwrap(), from).unwrap();
                    control.start();
                }
                Some(ServerEvent::PeerResults(_)) => {
                    let stream = StreamResult {
                        id: 1,
                        bytes: 10_000,
                        packets: 20,
                        jitter_s,
                        ..StreamResult::default()
                    };
                    control.give_results(&Results {
                        streams: vec![stream],
                        ..Results::default()
                    });
                }
                Some(ServerEvent::Over) => return,
                Some(ServerEvent::Ended) | None => {}
            }
        }
    });
    let outcome = ask(address, brief()).unwrap();
    server.join().unwrap();
    assert_eq!(outcome.failure, None);
    outcome
}

fn last_line(outcome: &TestOutcome) -> String {
    let ends = outcome.streams.iter().map(|stream| stream.ends).collect();
    let table = Table::new(
        Format::AutoBits,
        outcome.client,
        outcome.parameters.clone(),
        ends,
    );
    table.total(outcome).pop().unwrap()
}

#[test]
fn a_server_that_tells_an_impossible_jitter() {
    // A third of a year, as 3.1.3 reports it if the clocks differ by five years; a negative value, and one that is not a
    // number.
    for jitter_s in [9.8e6, -3.0, f64::NAN] {
        let outcome = tells(jitter_s);
        let json = report::to_json(&outcome);
        for place in ["/end/sum/jitter_ms", "/end/streams/0/udp/jitter_ms"] {
            assert_eq!(json.pointer(place), Some(&Value::Null), "{json:#}");
        }
        let notes = outcome.notes();
        assert!(
            notes.len() == 1 && notes[0].contains("it is unknown; iperf3 before 3.8"),
            "{notes:?}"
        );
        let line = last_line(&outcome);
        assert!(line.contains("    ? ms  0/20 (0%)  receiver"), "{line}");
    }
    let outcome = tells(12e-6);
    assert_eq!(outcome.notes(), [""; 0]);
    let line = last_line(&outcome);
    assert!(line.contains("0.012 ms  0/20 (0%)  receiver"), "{line}");
}

/// A client whose clock is set while it sends, to our server.
fn sends_with_a_clock_that_is_set(server: SocketAddr) {
    let mut stream = TcpStream::connect(server).unwrap();
    let wait = Some(Duration::from_millis(5));
    stream.set_read_timeout(wait).unwrap();
    let mut control = ClientControl::new(Cookie::new(3), brief());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    loop {
        let out = control.take_output();
        control.receive(&exchange(&mut stream, &out));
        match control.next_event().unwrap() {
            Some(ClientEvent::OpenStreams) => {
                socket.send_to(&hello(), server).unwrap();
                socket.recv_from(&mut [0; 4]).unwrap();
            }
            Some(ClientEvent::Run) => {
                for number in 1..=20 {
                    let mut datagram = [0; 500];
                    let seconds = if number < 10 { 1000 } else { 5000 };
                    DatagramHead::new(number, seconds * 1_000_000_000).emit(&mut datagram, false);
                    socket.send_to(&datagram, server).unwrap();
                }
                control.end();
            }
            Some(ClientEvent::GiveResults) => {
                let stream = StreamResult {
                    id: 1,
                    bytes: 10_000,
                    packets: 20,
                    ..StreamResult::default()
                };
                control.give_results(&Results {
                    streams: vec![stream],
                    ..Results::default()
                });
            }
            Some(ClientEvent::Over) => {
                stream.write_all(&control.take_output()).unwrap();
                return;
            }
            Some(ClientEvent::PeerResults(_)) | None => {}
        }
    }
}

#[test]
fn a_client_whose_clock_is_set() {
    let mut server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.local_addr();
    let client = thread::spawn(move || sends_with_a_clock_that_is_set(address));
    let outcome = server.serve_one(&Cancel::new()).unwrap();
    client.join().unwrap();
    assert_eq!(outcome.failure, None);
    assert!(outcome.streams[0].counted.received.jitter_ns > 100_000_000_000);
    let json = report::to_json(&outcome);
    assert_eq!(json.pointer("/end/sum/jitter_ms"), Some(&Value::Null));
    let notes = outcome.notes();
    assert!(
        notes.len() == 1 && notes[0].contains("the sender's times give a jitter of"),
        "{notes:?}"
    );
    let line = last_line(&outcome);
    assert!(line.contains("    ? ms  0/20 (0%)  receiver"), "{line}");
}
