//! Our two ends of iperf3 against each other, and against peers that are none.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use v3_common::{ask, bytes, tcp, told_bytes, udp};
use wirelab_iperf::v3::{Parameters, Server};
use wirelab_trial::Cancel;

mod v3_common;

#[test]
fn our_two_ends_in_all_modes() {
    let mut server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.local_addr();
    for parameters in [
        Parameters {
            bytes: 1 << 20,
            seconds: 0,
            ..tcp()
        },
        Parameters {
            bytes: 1 << 20,
            seconds: 0,
            reverse: true,
            streams: 2,
            ..tcp()
        },
        Parameters {
            blocks: 100,
            seconds: 0,
            ..udp()
        },
        Parameters {
            blocks: 100,
            seconds: 0,
            reverse: true,
            streams: 2,
            ..udp()
        },
    ] {
        let asked = parameters.clone();
        let client = thread::spawn(move || ask(address, asked));
        let served = server.serve_one(&Cancel::new()).unwrap();
        let asked = client.join().unwrap().unwrap();
        let sent = if parameters.reverse { &served } else { &asked };
        let received = if parameters.reverse { &asked } else { &served };
        assert!(
            bytes(received) >= parameters.wanted_bytes().unwrap(),
            "{parameters:?}"
        );
        assert!(bytes(received) <= bytes(sent));
        assert_eq!(
            (told_bytes(&asked), told_bytes(&served)),
            (bytes(&served), bytes(&asked))
        );
        assert_eq!(sent.streams.len(), parameters.streams as usize);
        assert!(sent.streams.iter().all(|stream| stream.gaps.is_some()));
    }
}

#[test]
fn a_busy_server_says_so_and_goes_on() {
    let mut server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.local_addr();
    let serving = thread::spawn(move || (server.serve_one(&Cancel::new()), server));
    // Half-open, talkative and hostile ones, more than are let wait.
    let mut crowd: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    for (i, stream) in crowd.iter_mut().enumerate() {
        stream
            .write_all(&[b"x".repeat(37), vec![0xFF; i % 9]].concat()[..i % 45])
            .ok();
    }
    let first = thread::spawn(move || {
        ask(
            address,
            Parameters {
                streams: 2,
                ..tcp()
            },
        )
    });
    thread::sleep(Duration::from_millis(500));
    let second = ask(address, tcp()).unwrap_err();
    assert!(second.to_string().contains("busy"), "{second}");
    assert_eq!(first.join().unwrap().unwrap().failure, None);
    let (served, mut server) = serving.join().unwrap();
    assert_eq!(served.unwrap().failure, None);
    let again = thread::spawn(move || {
        ask(
            address,
            Parameters {
                bytes: 1000,
                seconds: 0,
                ..tcp()
            },
        )
    });
    assert_eq!(server.serve_one(&Cancel::new()).unwrap().failure, None);
    again.join().unwrap().unwrap();
    drop(crowd);
}

#[test]
fn a_server_that_is_no_iperf3_is_named_as_such() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let other = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut cookie = [0; 37];
        stream.read_exact(&mut cookie).unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
    });
    let error = ask(address, tcp()).unwrap_err().to_string();
    assert!(error.contains("no state of iperf3"), "{error}");
    other.join().unwrap();
}

#[test]
fn over_ipv6() {
    let Ok(mut server) = Server::bind("[::1]:0".parse().unwrap()) else {
        return;
    };
    let address = server.local_addr();
    for mut parameters in [tcp(), udp()] {
        (parameters.seconds, parameters.blocks) = (0, 20);
        let client = thread::spawn(move || ask(address, parameters));
        let served = server.serve_one(&Cancel::new()).unwrap();
        let asked = client.join().unwrap().unwrap();
        assert_eq!(bytes(&served), bytes(&asked));
    }
}

#[test]
fn a_port_in_use_is_named() {
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let error = Server::bind(server.local_addr()).err().unwrap().to_string();
    let start = format!("listening on {}: ", server.local_addr());
    assert!(error.starts_with(&start), "{error}");
}
