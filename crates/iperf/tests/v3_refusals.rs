//! Servers of iperf3 that refuse a client: each says why, however soon it closes the connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::v3_common::real::{RealServer, there_is_iperf3};
use crate::v3_common::{ask, tcp};
use wirelab_iperf::v2;
use wirelab_iperf::v3::{Client, Parameters, Server, TestEvent};
use wirelab_trial::Cancel;

/// Run a long test against a server, and do something beside it.
fn beside_a_first<T>(server: SocketAddr, second: impl FnOnce() -> T) -> T {
    let (began, begins) = mpsc::channel();
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let first = thread::spawn(move || {
        let parameters = Parameters {
            seconds: 60,
            rate_bit_s: 1_000_000,
            ..tcp()
        };
        let client = Client::new(server, parameters);
        client.run_telling(&cancel, &mut |told| {
            if matches!(told, TestEvent::Began(_)) {
                began.send(()).unwrap();
            }
        })
    });
    begins.recv_timeout(Duration::from_secs(60)).unwrap();
    let second = second();
    stop.cancel();
    assert_eq!(first.join().unwrap().unwrap().failure, None);
    second
}

/// The answer to a second client.
fn second_beside_a_first(server: SocketAddr) -> String {
    beside_a_first(server, || ask(server, tcp()).unwrap_err().to_string())
}

const BUSY: &str = "the server is busy with another test; fix: wait until that is over";

#[test]
fn a_busy_server_of_the_distribution_says_so() {
    if !there_is_iperf3() {
        return;
    }
    let server = RealServer::start();
    let refused = second_beside_a_first(server.address);
    assert!(refused.contains(BUSY), "{refused}");
}

fn between_tests(trouble: &v2::Trouble) -> bool {
    let refused = |e: &std::io::Error| {
        matches!(
            e.kind(),
            std::io::ErrorKind::ConnectionRefused | std::io::ErrorKind::ConnectionReset
        )
    };
    match trouble {
        v2::Trouble::ClosedAtOnce(_) => true,
        v2::Trouble::Connect { source, .. } => refused(source),
        _ => false,
    }
}

#[test]
fn a_server_that_is_asked_as_iperf_2_is_named_busy_or_not() {
    if !there_is_iperf3() {
        return;
    }
    let server = RealServer::start();
    let ask_all = || {
        for mode in [v2::Mode::Forward, v2::Mode::Reverse, v2::Mode::FullDuplex] {
            let asked = v2::ClientConfig {
                amount: v2::Amount::Time { centiseconds: 30 },
                mode,
                ..v2::ClientConfig::new(server.address, v2::Protocol::Tcp)
            };
            // It opens its listener again when a test begins: connections in between are reset or refused.
            let mut asks = (0..20).map(|_| asked.run(&AtomicBool::new(false), &|_| {}).trouble);
            let trouble = asks.find(|trouble| !trouble.as_ref().is_some_and(between_tests));
            let expected = Some(Some(v2::Trouble::IsIperf3(server.address)));
            assert_eq!(trouble, expected, "{mode:?}");
        }
    };
    beside_a_first(server.address, ask_all);
    ask_all();
}

#[test]
fn a_busy_server_of_ours_says_so() {
    let mut server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.local_addr();
    let serving = thread::spawn(move || server.serve_one(&Cancel::new()));
    let refused = second_beside_a_first(address);
    assert!(refused.contains(BUSY), "{refused}");
    assert_eq!(serving.join().unwrap().unwrap().failure, None);
}

#[test]
fn a_refusal_reaches_a_client_that_was_asked_for_its_parameters() {
    let mut server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.local_addr();
    let serving = thread::spawn(move || server.serve_one(&Cancel::new()));
    let mut slow = TcpStream::connect(address).unwrap();
    slow.write_all(&[b'a'; 37]).unwrap();
    let mut state = [0; 1];
    slow.read_exact(&mut state).unwrap();
    assert_eq!(state, [9]);
    let brief = Parameters {
        seconds: 0,
        bytes: 1000,
        ..tcp()
    };
    assert_eq!(ask(address, brief).unwrap().failure, None);
    slow.read_exact(&mut state).unwrap();
    assert_eq!(state, [0xFF], "iperf3's word for a busy server");
    serving.join().unwrap().unwrap();
}

/// What our client says of a server that answers so and closes the connection, before or after it has read.
fn answered(says: &'static [u8], reads: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        if reads {
            stream.read_exact(&mut [0; 37]).unwrap();
        }
        stream.write_all(says).unwrap();
    });
    let said = ask(address, tcp()).unwrap_err().to_string();
    server.join().unwrap();
    let peer = format!("{address}: ");
    said.strip_prefix(&peer).unwrap_or(&said).to_owned()
}

#[test]
fn what_refusing_servers_say_comes_through() {
    for reads in [true, false] {
        let said = answered(&[0xFF], reads);
        assert!(said.starts_with(BUSY), "{said}");
        let said = answered(&[], reads);
        assert!(
            said.starts_with("the server closed the connection before it sent anything"),
            "{said}"
        );
    }
    let two_words = answered(&[9, 0xFE, 0, 0, 0, 102, 0, 0, 0, 98], true);
    assert!(
        two_words
            .contains("cannot listen for the streams (iperf3 error 102; its system's error 98"),
        "{two_words}"
    );
    // iperf3 3.12 sends one word alone where it refuses a user.
    let one_word = answered(&[9, 0xFE, 0, 0, 0, 142], true);
    assert!(
        one_word.contains("did not accept the user (iperf3 error 142); fix: check --username"),
        "{one_word}"
    );
    let none = answered(&[9, 0xFE], true);
    assert!(none.contains("it gives no reason"), "{none}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = ask(listener.local_addr().unwrap(), tcp()).unwrap_err();
    let silent = silent.to_string();
    assert!(
        silent.contains("sent nothing for 10 s; fix: check that it is an iperf3 (not iperf 2)"),
        "{silent}"
    );
    // 3.21 sends none.
    let later = answered(&[9], true);
    let told = later.contains("closed the connection while the parameters are agreed on");
    assert!(told && later.contains("; fix: check --username"), "{later}");
}
