//! Peers that keep the order of an iperf3 test and do not do what it measures: each ends with a fix, and without a figure.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::v3_common::{ask, tcp};
use wirelab_iperf::v3::{Parameters, StreamOutcome};

fn read_framed(control: &mut TcpStream) {
    let mut length = [0; 4];
    control.read_exact(&mut length).unwrap();
    let mut object = vec![0; u32::from_be_bytes(length) as usize];
    control.read_exact(&mut object).unwrap();
}

/// A server whose only fault is what `does` makes of the stream, until the client ends the test.
fn server(does: impl FnOnce(&mut TcpStream) + Send + 'static) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let (mut control, _) = listener.accept().unwrap();
        control.read_exact(&mut [0; 37]).unwrap();
        control.write_all(&[9]).unwrap();
        read_framed(&mut control);
        control.write_all(&[10]).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 37]).unwrap();
        control.write_all(&[1, 2]).unwrap();
        does(&mut stream);
        let mut state = [0];
        control.read_exact(&mut state).unwrap();
        assert_eq!(state, [4], "the end of the test");
        control.write_all(&[13]).unwrap();
        read_framed(&mut control);
        let results = br#"{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":0,"sender_has_retransmits":-1,"streams":[]}"#;
        let length = u32::try_from(results.len()).unwrap();
        control.write_all(&length.to_be_bytes()).unwrap();
        control.write_all(results).unwrap();
        control.write_all(&[14]).unwrap();
        control.read_exact(&mut state).unwrap();
        drop(stream);
    });
    (address, thread)
}

fn asked(address: SocketAddr, parameters: Parameters) -> (Option<String>, StreamOutcome, u64) {
    let outcome = ask(address, parameters).unwrap();
    let notes = outcome.notes();
    let stream = outcome.streams[0].clone();
    let named = notes
        .iter()
        .any(|note| note.contains("a stall: the peer took nothing for"));
    assert_eq!(stream.stall.is_some(), named, "{notes:?}");
    (outcome.failure, stream, outcome.elapsed_ns)
}

#[test]
fn a_server_that_never_reads_has_no_rate() {
    let (address, thread) = server(|_| ());
    let two = Parameters {
        seconds: 2,
        ..tcp()
    };
    let (failure, stream, elapsed_ns) = asked(address, two);
    thread.join().unwrap();
    let failure = failure.expect("the test shows nothing");
    assert!(
        failure.contains("does not read them") && failure.contains("fix: "),
        "{failure}"
    );
    // Not the last write, which was in the first moments.
    assert_eq!(stream.end_ns, elapsed_ns);
    assert!(elapsed_ns >= 2_000_000_000);
    assert!(
        stream
            .stall
            .is_some_and(|stall| stall.lasted_ns > 500_000_000)
    );
}

#[test]
fn a_server_that_sends_at_the_start_alone_has_the_rate_of_the_whole_test() {
    let (address, thread) = server(|stream| stream.write_all(&[0; 1000]).unwrap());
    let back = Parameters {
        reverse: true,
        seconds: 1,
        ..tcp()
    };
    let (_, stream, elapsed_ns) = asked(address, back);
    thread.join().unwrap();
    assert_eq!(stream.counted.bytes, 1000);
    assert!(
        (1_000_000_000..=elapsed_ns).contains(&stream.end_ns),
        "{stream:?}"
    );
}

#[test]
fn a_block_that_does_not_fit_at_once_is_written_whole_and_none_after_the_end() {
    let (address, thread) = server(|stream| {
        thread::sleep(Duration::from_millis(200));
        let mut block = vec![0; 10_000];
        // The end of the test is sent on the control connection.
        stream
            .set_read_timeout(Some(Duration::from_millis(1200)))
            .unwrap();
        while stream.read(&mut block).is_ok_and(|len| len > 0) {}
    });
    // Blocks of 1 MB are due at 0 and 1.049 s, and find room for a part.
    let paced = Parameters {
        seconds: 1,
        rate_bit_s: 8_000_000,
        length_bytes: 1 << 20,
        window_bytes: 20_000,
        ..tcp()
    };
    let (_, stream, _) = asked(address, paced);
    thread.join().unwrap();
    assert_eq!(stream.counted.bytes, 1 << 20);
}

#[test]
fn what_the_peer_did_not_acknowledge_is_not_sent() {
    // The system takes a large block at once, and the peer's a part of it.
    let (address, thread) = server(|_| ());
    let large = Parameters {
        seconds: 2,
        window_bytes: 200_000,
        ..tcp()
    };
    let outcome = ask(address, large).unwrap();
    thread.join().unwrap();
    let written: u64 = outcome
        .intervals
        .iter()
        .map(|interval| interval.streams[0].1.since(&interval.streams[0].0).bytes)
        .sum();
    let counted = outcome.streams[0].counted.bytes;
    assert!(counted < written, "{counted} of {written} bytes");
}

#[test]
fn all_of_an_amount_is_counted_and_a_server_that_reads_has_no_failure() {
    let (address, thread) = server(|stream| {
        let mut left = 3_000_000;
        let mut buf = vec![0; 100_000];
        while left > 0 {
            left -= stream.read(&mut buf).unwrap();
        }
    });
    let amount = Parameters {
        seconds: 0,
        bytes: 3_000_000,
        length_bytes: 100_000,
        ..tcp()
    };
    let (failure, stream, _) = asked(address, amount);
    thread.join().unwrap();
    assert_eq!(failure, None);
    assert_eq!(stream.counted.bytes, 3_000_000);
}
