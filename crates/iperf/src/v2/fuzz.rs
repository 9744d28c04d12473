//! Entry points for fuzzing: any bytes, never a panic, and what can be read comes out the same again.

use super::amount::{parse_bytes, parse_rate};
use super::bytes::be32;
use super::client_header::EXTENDED_LEN;
use super::io::{BURST_LEN, Bursts};
use super::table::Format;
use super::{Arrival, ClientHeader, Generation, Head, IdWidth, Receiver, ServerReport};

/// Any bytes as a datagram, as the start of a TCP connection and as an answer.
pub fn fuzz_header(data: &[u8]) {
    for ids in [IdWidth::Narrow, IdWidth::Flagged, IdWidth::Wide] {
        if let Some(head) = Head::parse(data, ids) {
            let mut out = [0; 16];
            head.emit(&mut out, ids);
            let len = ids.head_bytes();
            // The last number can be written in two ways in 32 bits.
            let same = out[..len] == data[..len] || (ids != IdWidth::Wide && head.id < 0);
            assert!(same && Head::parse(&out, ids) == Some(head), "{head:?}");
        }
    }
    let at = Generation::detect(data).and_then(Generation::header_at);
    for bytes in [data, data.get(at.unwrap_or(0)..).unwrap_or_default()] {
        if let Some(header) = ClientHeader::parse(bytes) {
            let mut out = [0; EXTENDED_LEN];
            let len = header.emit(&mut out).expect("there is room");
            let again = ClientHeader::parse(&out[..len]).expect("what is written can be read");
            assert_eq!((again.mode(), again.rate()), (header.mode(), header.rate()));
            assert_eq!((again.amount, again.port), (header.amount, header.port));
        }
    }
    if let Some(Ok(bytes)) = super::server::fuzz_bounce(data) {
        assert!((48..=1 << 20).contains(&bytes), "bounded memory");
    }
    let header = ClientHeader::tcp_len(be32(data, 0).unwrap_or(0));
    let mut bursts = Bursts::after(header);
    for part in data.chunks(61) {
        bursts.take(part, i64::from(be32(data, 64).unwrap_or(0)) * 1_000_000);
    }
    let writes = bursts.all().map_or(0, |times| times.count as usize);
    assert!(writes <= data.len() / BURST_LEN, "{writes} writes");
    if let Some(report) = ServerReport::parse(data) {
        let line = report
            .row(super::table::Id::Sum)
            .enhanced_line(Format::AutoBits);
        assert!(!line.is_empty());
        for generation in [
            Generation::V205,
            Generation::V2010,
            Generation::V2013,
            Generation::Wide,
        ] {
            assert!(ServerReport::parse(&report.emit(generation, data)).is_some());
        }
    }
}

/// Any bytes as the datagrams of a flow: a byte for the length of each, then the datagram.
pub fn fuzz_receiver(data: &[u8]) {
    let mut rest = data;
    let mut receiver: Option<Receiver> = None;
    // Any wall clock, from the first bytes.
    let epoch_us = u64::from(be32(data, 0).unwrap_or(0)) * 1_000_000;
    let mut now_ns = 0;
    while let Some((len, after)) = rest.split_first() {
        let (datagram, after) = after.split_at(usize::from(*len).min(after.len()));
        rest = after;
        now_ns += 1_000_000 * u64::from(*len);
        if receiver.is_none() {
            receiver = Receiver::new(datagram, now_ns).map(|new| new.with_wall(epoch_us, true));
        }
        let Some(receiver) = &mut receiver else {
            continue;
        };
        if receiver.take(datagram, now_ns) == Arrival::Final {
            let answer = receiver.answer(datagram).expect("a final datagram came");
            assert!(ServerReport::parse(&answer).is_some());
        }
        let received = receiver.received();
        assert!(received.distinct + received.duplicated + received.too_late == received.datagrams);
    }
}

/// Any text as an amount and as a rate.
pub fn fuzz_amount(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let _ = parse_bytes(text);
    if let Ok(rate) = parse_rate(text) {
        let _ = rate.interval_ps(u32::MAX);
    }
}
