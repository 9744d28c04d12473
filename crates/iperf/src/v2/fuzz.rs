//! Entry point for fuzzing of private parsers: any bytes, never a panic, and everything readable survives a round trip.

use super::bytes::be32;
use super::client_header::EXTENDED_LEN;
use super::io::{BURST_LEN, Bursts};
use super::table::Format;
use super::{ClientHeader, Generation, Head, IdWidth, ServerReport};

/// Any bytes as a datagram, as the start of a TCP connection and as an answer.
pub fn fuzz_header(data: &[u8]) {
    for ids in [IdWidth::Narrow, IdWidth::Flagged, IdWidth::Wide] {
        if let Some(head) = Head::parse(data, ids) {
            let mut out = [0; 16];
            head.emit(&mut out, ids);
            let len = ids.head_bytes();
            // The last number has two encodings in 32 bits.
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
