//! Our two ends of iperf3 against each other, and against peers that are none.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::over::Over;
use crate::v3_common::{ask, bytes, tcp, told_bytes, udp};
use wirelab_iperf::v3::{Client, Parameters, Server, TestEvent};
use wirelab_trial::Cancel;

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
    let (began, begins) = mpsc::channel();
    let first = thread::spawn(move || {
        let long = Parameters {
            streams: 2,
            seconds: 5,
            ..tcp()
        };
        Client::new(address, long).run_telling(&Cancel::new(), &mut |told| {
            if matches!(told, TestEvent::Began(_)) {
                began.send(()).unwrap();
            }
        })
    });
    begins.recv_timeout(Duration::from_secs(60)).unwrap();
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
    assert!(error.contains("not a state of iperf3"), "{error}");
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
    let start = format!("cannot listen on {}: ", server.local_addr());
    assert!(error.starts_with(&start), "{error}");
}

#[test]
fn a_thousand_half_open_and_hostile_connections_leave_the_server_answering() {
    let mut server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.local_addr();
    let serving = thread::spawn(move || (server.serve_one(&Cancel::new()), server));
    let mut crowd = Vec::new();
    for i in 0..1000_usize {
        let mut stream = TcpStream::connect(address).unwrap();
        let says = match i % 5 {
            // Nothing, half a cookie, a cookie alone, a hostile length after it, nonsense.
            0 => vec![],
            1 => vec![b'a'; 20],
            2 => vec![b'b'; 37],
            3 => [vec![b'c'; 37], vec![0xFF; 4]].concat(),
            _ => b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: none\r\n\r\n".to_vec(),
        };
        // One that was put out already cannot be written to.
        stream.write_all(&says).ok();
        crowd.push(stream);
    }
    let blocks = Parameters {
        seconds: 0,
        blocks: 20,
        ..udp()
    };
    let asked = blocks.clone();
    let client = thread::spawn(move || ask(address, asked));
    let (served, mut server) = serving.join().unwrap();
    assert_eq!(served.unwrap().streams[0].counted.received.distinct, 20);
    assert_eq!(client.join().unwrap().unwrap().failure, None);
    // Now while a test runs: data flows, and the crowd is turned away.
    let asked = Parameters {
        streams: 2,
        ..tcp()
    };
    let client = thread::spawn(move || ask(address, asked));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut more = Vec::new();
            // Once the test is over nobody takes connections, so none is waited for.
            while more.len() < 1000 && !over.load(Ordering::Relaxed) {
                let wait = Duration::from_millis(100);
                if let Ok(mut stream) = TcpStream::connect_timeout(&address, wait) {
                    stream.write_all(&vec![b'x'; more.len() % 60]).ok();
                    more.push(stream);
                }
            }
        });
        let _over = Over(&over);
        let served = server.serve_one(&Cancel::new());
        assert_eq!(served.unwrap().failure, None);
    });
    assert_eq!(client.join().unwrap().unwrap().failure, None);
    drop(crowd);
}

#[test]
fn a_client_that_only_holds_its_place_is_put_out() {
    let mut server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    // Longer than a busy host leaves this client without a core.
    server.set_quiet(Duration::from_secs(3));
    let address = server.local_addr();
    let serving = thread::spawn(move || server.serve_one(&Cancel::new()));
    let cookie = [b'q'; 37];
    let mut control = TcpStream::connect(address).unwrap();
    control.write_all(&cookie).unwrap();
    let asked = Parameters {
        seconds: 86_400,
        ..tcp()
    };
    let json = asked.to_json();
    let length = u32::try_from(json.len()).unwrap().to_be_bytes();
    control
        .write_all(&[&length, json.as_bytes()].concat())
        .unwrap();
    let mut states = [0; 2];
    control.read_exact(&mut states).unwrap();
    assert_eq!(states, [9, 10], "parameters, then streams are requested");
    let mut data = TcpStream::connect(address).unwrap();
    data.write_all(&cookie).unwrap();
    let outcome = serving.join().unwrap().unwrap();
    let why = outcome.failure.unwrap();
    assert!(why.contains("moved no data for so long"), "{why}");
    let mut states = [0; 3];
    control.read_exact(&mut states).unwrap();
    assert_eq!(states, [1, 2, 11], "it ran, and the server ended it");
}

#[test]
fn what_a_peer_asks_is_bounded() {
    let mut server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    server.set_longest(Duration::from_millis(300));
    let address = server.local_addr();
    let long = Parameters {
        seconds: 3600,
        reverse: true,
        ..udp()
    };
    let client = thread::spawn(move || ask(address, long));
    let served = server.serve_one(&Cancel::new()).unwrap();
    let why = served.failure.unwrap();
    assert!(why.contains("was stopped by this server"), "{why}");
    let outcome = client.join().unwrap().unwrap();
    assert!(outcome.failure.is_some() && bytes(&outcome) > 0);
    for wrong in [
        Parameters {
            streams: 129,
            ..tcp()
        },
        Parameters {
            length_bytes: 2 << 20,
            ..tcp()
        },
        Parameters {
            seconds: 100_000,
            ..tcp()
        },
        Parameters {
            window_bytes: u32::MAX,
            ..tcp()
        },
        Parameters {
            reverse: true,
            bidirectional: true,
            ..tcp()
        },
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        let cancel = Cancel::new();
        thread::scope(|scope| {
            let served = scope.spawn(|| server.serve_one(&cancel));
            let over = Over(cancel.flag());
            stream.write_all(&[b'a'; 37]).unwrap();
            let json = wrong.to_json();
            let length = u32::try_from(json.len()).unwrap().to_be_bytes();
            stream
                .write_all(&[&length, json.as_bytes()].concat())
                .unwrap();
            let mut answer = [0; 10];
            stream.read_exact(&mut answer).unwrap();
            // A request for its parameters, then iperf3's error 13: not implemented.
            assert_eq!(answer, [9, 0xFE, 0, 0, 0, 13, 0, 0, 0, 0], "{wrong:?}");
            drop(over);
            assert!(served.join().unwrap().is_err());
        });
    }
}
