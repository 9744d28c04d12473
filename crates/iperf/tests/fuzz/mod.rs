//! What a fuzzer runs, shared by the fuzz targets and the tests that replay their corpora: any bytes, never a panic, and what
//! can be read comes out the same again.

use wirelab_iperf::v2::amount::{parse_bytes, parse_rate};
use wirelab_iperf::v3::datagram::{DatagramHead, is_reply, reply_to};
use wirelab_iperf::v3::{
    ClientControl, ClientEvent, Cookie, Parameters, Results, ServerControl, ServerEvent,
};
use wirelab_iperf::{v2, v3};

/// Any bytes as the datagrams of a flow: a byte for the length of each, then the datagram.
pub fn iperf2_receiver(data: &[u8]) {
    let mut rest = data;
    let mut receiver: Option<v2::Receiver> = None;
    // Any wall clock, from the first bytes.
    let epoch_us =
        u64::from(u32::from_be_bytes(*data.first_chunk().unwrap_or(&[0; 4]))) * 1_000_000;
    let mut now_ns = 0;
    while let Some((len, after)) = rest.split_first() {
        let (datagram, after) = after.split_at(usize::from(*len).min(after.len()));
        rest = after;
        now_ns += 1_000_000 * u64::from(*len);
        if receiver.is_none() {
            receiver = v2::Receiver::new(datagram, now_ns).map(|new| new.with_wall(epoch_us, true));
        }
        let Some(receiver) = &mut receiver else {
            continue;
        };
        if receiver.take(datagram, now_ns) == v2::Arrival::Final {
            let answer = receiver.answer(datagram).expect("a final datagram came");
            assert!(v2::ServerReport::parse(&answer).is_some());
        }
        let received = receiver.received();
        assert!(received.distinct + received.duplicated + received.too_late == received.datagrams);
    }
}

/// Any text as an amount and as a rate.
pub fn iperf2_amount(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let _ = parse_bytes(text);
    if let Ok(rate) = parse_rate(text) {
        let _ = rate.interval_ps(u32::MAX);
    }
}

/// Any bytes from the peer of a control connection, to both ends: a byte for the length of each piece, then the piece.
pub fn iperf3_control(data: &[u8]) {
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
                Ok(Some(ServerEvent::Requested(..))) => {
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
pub fn iperf3_json(data: &[u8]) {
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
pub fn iperf3_datagram(data: &[u8]) {
    for counters_64 in [false, true] {
        let mut receiver = v3::receive::Receiver::new(counters_64);
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
            if let Some(head) = DatagramHead::parse(datagram, counters_64) {
                let mut out = [0; 16];
                head.emit(&mut out, counters_64);
                assert_eq!(DatagramHead::parse(&out, counters_64), Some(head));
            }
            let seen = receiver.received();
            assert_eq!(
                seen.distinct + seen.duplicated + seen.too_late,
                seen.datagrams
            );
        }
    }
}
