//! Entry points for fuzzing: any bytes, never a panic, and what can be read comes out the same again.

use super::datagram::{Head, is_reply, reply_to};
use super::receive::Receiver;
use super::{ClientControl, ClientEvent, Cookie, Parameters, Results, ServerControl, ServerEvent};

/// Any bytes from the peer of a control connection, to both ends: a byte for the length of each piece, then the piece.
pub fn fuzz_control(data: &[u8]) {
    let mut client = ClientControl::new(Cookie::new(1), Parameters::default());
    let mut server = ServerControl::new();
    let (mut client_lives, mut server_lives) = (true, true);
    let mut rest = data;
    while let Some((len, after)) = rest.split_first() {
        let (piece, after) = after.split_at(usize::from(*len).min(after.len()));
        rest = after;
        client.receive(piece);
        while client_lives {
            match client.next_event() {
                Ok(Some(ClientEvent::Run)) => client.end(),
                Ok(Some(ClientEvent::GiveResults)) => client.give_results(&Results::default()),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => client_lives = false,
            }
        }
        server.receive(piece);
        while server_lives {
            match server.next_event() {
                Ok(Some(ServerEvent::Asked(..))) => {
                    server.accept();
                    server.start();
                }
                Ok(Some(ServerEvent::PeerResults(results))) => server.give_results(&results),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => server_lives = false,
            }
        }
    }
}

/// Any bytes as the parameters and as the results of a peer.
pub fn fuzz_json(data: &[u8]) {
    if let Ok(parameters) = Parameters::parse(data) {
        let again = Parameters::parse(parameters.to_json().as_bytes());
        assert_eq!(again, Ok(parameters));
    }
    if let Ok(results) = Results::parse(data) {
        let again = Results::parse(results.to_json().as_bytes());
        assert_eq!(again, Ok(results));
    }
}

/// Any bytes as the datagrams of a stream: a byte for the length of each, then the datagram.
pub fn fuzz_datagram(data: &[u8]) {
    for counters_64 in [false, true] {
        let mut receiver = Receiver::new(counters_64);
        let mut now_ns = 0;
        let mut rest = data;
        while let Some((len, after)) = rest.split_first() {
            let (datagram, after) = after.split_at(usize::from(*len).min(after.len()));
            rest = after;
            now_ns += 1_000_000 * u64::from(*len);
            receiver.take(datagram, now_ns);
            if let Some(reply) = reply_to(datagram) {
                assert!(is_reply(&reply));
            }
            if let Some(head) = Head::parse(datagram, counters_64) {
                let mut out = [0; 16];
                head.emit(&mut out, counters_64);
                assert_eq!(Head::parse(&out, counters_64), Some(head));
            }
            let seen = receiver.received();
            assert_eq!(
                seen.distinct + seen.duplicated + seen.too_late,
                seen.datagrams
            );
        }
    }
}
