//! Peers that are no iperf 2 server, or one that does not read: each ends with its name and a fix, and without a figure that
//! could be taken for one.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wirelab_iperf::v2::{Amount, ClientConfig, Leg, Mode, Outcome, Protocol, Trouble};

/// A peer that takes one connection.
fn peer(does: impl FnOnce(TcpStream) + Send + 'static) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || does(listener.accept().unwrap().0));
    (address, thread)
}

fn ask(address: SocketAddr, protocol: Protocol) -> Outcome {
    let config = ClientConfig {
        amount: Amount::Time { centiseconds: 100 },
        ..ClientConfig::new(address, protocol)
    };
    config.run(&AtomicBool::new(false), &|_| {})
}

fn sent(outcome: &Outcome) -> &Leg {
    &outcome
        .legs
        .first()
        .unwrap_or_else(|| panic!("{outcome:#?}"))
        .1
}

#[test]
fn a_peer_that_accepts_and_never_reads_has_no_rate() {
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let (address, thread) = peer(move |stream| {
        let _ = stopped.recv();
        drop(stream);
    });
    let outcome = ask(address, Protocol::Tcp);
    drop(stop);
    thread.join().unwrap();
    let Some(Trouble::NotReading { unread, for_s, .. }) = outcome.trouble else {
        panic!("{outcome:#?}");
    };
    // It had five seconds more.
    assert!(unread > 0 && for_s > 5.0, "{unread} bytes, {for_s} s");
    let text = outcome.trouble.as_ref().unwrap().to_string();
    assert!(
        text.contains("does not read") && text.contains("fix: "),
        "{text}"
    );
    let Leg::TcpSent {
        span, bytes, stall, ..
    } = sent(&outcome)
    else {
        panic!("{outcome:#?}");
    };
    // The whole of the trial, and what its system took at the start.
    assert!(span.seconds() >= 0.9, "{span:?}");
    assert!(*bytes < 16_000_000, "{bytes}");
    assert!(stall.unwrap().lasted_ns > 5_000_000_000, "{stall:?}");
    let notes = sent(&outcome).notes();
    assert!(
        notes.iter().any(|note| note.starts_with("a stall")),
        "{notes:?}"
    );
}

/// So little that the buffers of the peer's system take all of it.
fn ask_a_little(address: SocketAddr, mode: Mode) -> Outcome {
    let config = ClientConfig {
        amount: Amount::Bytes(40_000),
        mode,
        ..ClientConfig::new(address, Protocol::Tcp)
    };
    config.run(&AtomicBool::new(false), &|_| {})
}

#[test]
fn what_the_peers_system_took_alone_is_not_read() {
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let (address, thread) = peer(move |stream| {
        let _ = stopped.recv();
        drop(stream);
    });
    let outcome = ask_a_little(address, Mode::Forward);
    drop(stop);
    thread.join().unwrap();
    let Some(trouble @ Trouble::NotReading { unread: 0, .. }) = &outcome.trouble else {
        panic!("{outcome:#?}");
    };
    let text = trouble.to_string();
    let said = text.contains("did not read to the end") && text.contains("fix: ");
    assert!(said && trouble.is_wrong_peer(), "{text}");
}

#[test]
fn a_peer_that_resets_after_all_was_written_is_gone() {
    let (address, thread) = peer(|mut stream| {
        stream.read_exact(&mut [0; 100]).unwrap();
        std::thread::sleep(Duration::from_millis(700));
        // What is unread makes the end a reset.
        drop(stream);
    });
    let outcome = ask_a_little(address, Mode::Forward);
    thread.join().unwrap();
    assert!(
        matches!(outcome.trouble, Some(Trouble::Gone { .. })),
        "{outcome:#?}"
    );
}

#[test]
fn a_peer_that_closes_at_once_is_reported_with_what_may_refuse() {
    for mode in [Mode::Forward, Mode::Reverse] {
        // A busy machine may hold the peer for longer than "at once" is; then it is gone, and not one that does not read.
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let (address, thread) = peer(drop);
            let outcome = match mode {
                Mode::Forward => ask(address, Protocol::Tcp),
                mode => ask_a_little(address, mode),
            };
            thread.join().unwrap();
            let trouble = outcome.trouble.as_ref();
            let text = trouble.map(ToString::to_string).unwrap_or_default();
            if let Some(Trouble::ClosedAtOnce(_)) = trouble {
                let told = text.contains("closed the connection at once; fix: ");
                assert!(told && text.contains("--allow") && text.contains("token=FILE"));
                assert!(trouble.unwrap().is_wrong_peer());
                break;
            }
            assert!(
                matches!(trouble, Some(Trouble::Gone { .. })),
                "{mode:?}: {outcome:#?}"
            );
            assert!(Instant::now() < until, "{mode:?}: {text}");
        }
    }
}

#[test]
fn a_peer_that_pauses_is_a_stall_of_that_length() {
    let (tell, told) = std::sync::mpsc::channel();
    let (address, thread) = peer(move |mut stream| {
        let mut buf = vec![0; 1 << 20];
        let mut read = 0;
        while read < 20_000_000 {
            read += stream.read(&mut buf).unwrap();
        }
        let paused = Instant::now();
        std::thread::sleep(Duration::from_secs(2));
        tell.send(paused.elapsed()).unwrap();
        while stream.read(&mut buf).unwrap() > 0 {}
    });
    let config = ClientConfig {
        amount: Amount::Bytes(60_000_000),
        ..ClientConfig::new(address, Protocol::Tcp)
    };
    let outcome = config.run(&AtomicBool::new(false), &|_| {});
    thread.join().unwrap();
    assert_eq!(outcome.trouble, None);
    let Leg::TcpSent {
        bytes, stall, span, ..
    } = sent(&outcome)
    else {
        panic!("{outcome:#?}");
    };
    assert_eq!(*bytes, 60_000_000, "all was acknowledged");
    let stall = stall.unwrap();
    // It begins when the queues between them are full, which takes as long as a busy host lets the client wait.
    let paused_ns = told.recv().unwrap().as_nanos() as u64;
    assert!(
        (500_000_000..paused_ns + 4_000_000_000).contains(&stall.lasted_ns),
        "{stall:?} of {paused_ns} ns"
    );
    assert!(stall.from_ns + stall.lasted_ns <= span.end_ns - span.start_ns + 5_000_000_000);
}

#[test]
fn other_programs_are_named_with_a_fix() {
    type Says = fn(&mut TcpStream);
    let read_on = |stream: &mut TcpStream| {
        let mut buf = vec![0; 1 << 20];
        while stream.read(&mut buf).is_ok_and(|len| len > 0) {}
    };
    let cases: [(&str, Says); 3] = [
        ("is an iperf3 server", |stream| {
            stream.write_all(&[0xFF]).unwrap();
        }),
        ("is an iperf3 server", |stream| {
            stream.write_all(&[9]).unwrap()
        }),
        ("says what no iperf 2 server says", |stream| {
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .unwrap();
        }),
    ];
    for (expected, says) in cases {
        let (address, thread) = peer(move |mut stream| {
            says(&mut stream);
            read_on(&mut stream);
            let _ = stream.shutdown(Shutdown::Both);
        });
        let outcome = ask(address, Protocol::Tcp);
        thread.join().unwrap();
        let trouble = outcome.trouble.as_ref().unwrap();
        assert!(trouble.is_wrong_peer(), "{outcome:#?}");
        let text = trouble.to_string();
        assert!(text.contains(expected) && text.contains("fix: "), "{text}");
    }
}

#[test]
fn random_answers_to_datagrams_are_no_reports() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let address = socket.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (mut buf, mut word) = ([0; 2000], 0x9e37_79b9_u32);
        while let Ok((_, from)) = socket.recv_from(&mut buf) {
            let mut answer = [0; 128];
            for byte in &mut answer {
                word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (word >> 24) as u8;
            }
            // As a report begins, in any layout.
            answer[12] |= 0x80;
            answer[16] |= 0x88;
            let _ = socket.send_to(&answer, from);
        }
    });
    let outcome = ask(address, Protocol::Udp);
    let Leg::UdpSent(sent) = sent(&outcome) else {
        panic!("{outcome:#?}");
    };
    assert_eq!(sent.report, None);
    assert!(sent.strange_answers > 0, "{sent:#?}");
    assert!(
        sent.notes()
            .iter()
            .any(|note| note.contains("no report of a known layout"))
    );
    thread.join().unwrap();
}
