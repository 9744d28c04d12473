//! Headers as captured, and as they are written for each generation.

use super::*;

/// Hexadecimal of captures of the distribution's iperf 2.1.8.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |p: &[u8]| u8::from_str_radix(std::str::from_utf8(p).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}
const TAIL: &str = "0000000000000000 00000000 00020001 00080003 00000000";

/// Port, length and amount of the captures, and the rate where it is not the default.
fn round(bytes: &[u8], ours: ClientHeader, mode: Mode) {
    assert_eq!(ClientHeader::parse(bytes), Some(ours));
    assert_eq!(ours.mode(), mode);
    let mut out = [0xEE; EXTENDED_LEN];
    assert_eq!(ours.emit(&mut out), Some(EXTENDED_LEN));
    assert_eq!(out[..], bytes[..EXTENDED_LEN]);
}

#[test]
fn udp_headers_as_captured() {
    let rate = "00100000 00000000 00000000";
    let time = |centiseconds| Amount::Time { centiseconds };
    for (start, mode, port, amount) in [
        (
            "48010098 00000001 0000c905 00000000 00000000 00000bb8",
            Mode::Forward,
            0xc905,
            Amount::Bytes(3000),
        ),
        (
            "c8010098 00000001 000087fc 00000000 00000000 00000bb8",
            Mode::Tradeoff,
            0x87fc,
            Amount::Bytes(3000),
        ),
        (
            "c8010099 00000001 00001b58 00000000 00000000 ffffffec",
            Mode::Dual,
            7000,
            time(20),
        ),
    ] {
        let ours = ClientHeader::new(true, port, 0, amount, Rate::UDP_DEFAULT).with_mode(mode);
        round(&hex(&format!("{start}{TAIL}{rate}")), ours, mode);
    }
    for (upper, mode) in [("0400", Mode::Reverse), ("0808", Mode::FullDuplex)] {
        let bytes = hex(&format!(
            "6c010098 00000001 0000b95c 00000000 00000000 ffffffec 00000000 00000000
             {upper}0000 00020001 00080003 00000000 {rate}"
        ));
        let ours = ClientHeader::new(true, 0xb95c, 0, time(20), Rate::UDP_DEFAULT).with_mode(mode);
        round(&bytes, ours, mode);
    }
}

#[test]
fn rates_as_captured() {
    let start = "c8010098 00000001 00009b63 00000000 00000000 ffffffec";
    let amount = Amount::Time { centiseconds: 20 };
    let bytes = hex(&format!("{start}{TAIL} 80000000 00000c00 00000000"));
    let ours = ClientHeader::new(true, 0x9b63, 0, amount, Rate::BitsPerS(50 << 30));
    round(&bytes, ours.with_mode(Mode::Tradeoff), Mode::Tradeoff);
    assert_eq!(ours.rate(), Some(Rate::BitsPerS(50 << 30)));
    // `-b 100pps -l 64 -R` is encoded as 0xc800.
    let packets = ClientHeader::new(true, 1, 64, amount, Rate::PacketsPerS(100));
    assert_eq!(packets.rate(), Some(Rate::BitsPerS(0xc800)));
    let none = ClientHeader::new(true, 1, 0, amount, Rate::Max);
    assert_eq!(none.rate(), None);
}

#[test]
fn tcp_headers_as_captured() {
    for (start, mode, port) in [
        ("40010078 00000001 00009719", Mode::Forward, 0x9719),
        ("c0010078 00000001 00008b6f", Mode::Tradeoff, 0x8b6f),
        ("c0010079 00000001 00001b59", Mode::Dual, 7001),
    ] {
        let bytes = hex(&format!(
            "{start} 00002000 00000000 ffffff9c {TAIL} 00a00000 00000000 00000000"
        ));
        let amount = Amount::Time { centiseconds: 100 };
        let ours = ClientHeader::new(false, port, 8192, amount, Rate::BitsPerS(10 << 20));
        round(&bytes, ours.with_mode(mode), mode);
        assert_eq!(ClientHeader::tcp_len(ours.flags), EXTENDED_LEN);
    }
    let reverse = ClientHeader::new(false, 1, 0, Amount::DEFAULT, Rate::Max);
    assert_eq!(reverse.with_mode(Mode::Reverse).flags, 0x4401_0078);
    let wants = ClientHeader {
        flags: 0x4601_0078,
        ..reverse
    };
    assert!(wants.wants_ack() && !reverse.wants_ack());
    assert_eq!(wants.mode(), Mode::Forward);
    assert_eq!(
        ack()[..],
        hex("00000002 0000001c 00000000 00020001 00080003 00000000 00000000")
    );
}

#[test]
fn headers_of_2_0_5() {
    let bytes = hex("80000001 00000001 00001389 000005be 00100000 fffffc18");
    let header = ClientHeader::parse(&bytes).unwrap();
    assert_eq!((header.mode(), header.port), (Mode::Dual, 5001));
    assert_eq!(
        header.rate(),
        Some(Rate::BitsPerS(1 << 20)),
        "in the word of the window"
    );
    assert_eq!(ClientHeader::tcp_len(0x8000_0001), V1_LEN);
    let mut out = [0; V1_LEN];
    assert_eq!(header.emit(&mut out), Some(V1_LEN));
    assert_eq!(out[..], bytes);
    assert_eq!(header.emit(&mut out[..23]), None);
}

#[test]
fn headers_of_2_0_5_to_2_0_13_over_tcp_name_no_rate() {
    // As captured from `iperf -c … -r -n 4000 -l 1000 -L 6001` 2.0.13, then with the window of 2.0.5 `-w 64K`.
    for word in ["36373839", "00010000"] {
        let bytes = hex(&format!(
            "80000000 00000001 00001771 000003e8 {word} 00000fa0"
        ));
        let header = ClientHeader::of_stream(&bytes).unwrap();
        assert_eq!((header.mode(), header.rate()), (Mode::Tradeoff, None));
    }
}

#[test]
fn the_rate_of_2_0_10_to_2_0_13_has_32_bits() {
    // The header of `iperf -u -l 200 -n 300 -b 1M -r -L 6001` 2.0.13, as captured.
    let bytes = hex(
        "c0000000 00000001 00001771 000000c8 32333435 0000012c 00000001 0000001c 00000000 00020000
         000d0000 00000000 00100000 38393031 32333435",
    );
    let header = ClientHeader::parse(&bytes).unwrap();
    assert_eq!(header.rate(), Some(Rate::BitsPerS(1 << 20)));
}

#[test]
fn what_older_servers_are_asked() {
    let amount = Amount::Bytes(300);
    let ours = ClientHeader::new(true, 0x1771, 100, amount, Rate::BitsPerS(10_000_000));
    let mut out = [0; 60];
    let old = ours
        .with_mode(Mode::Tradeoff)
        .of_generation(Generation::V205);
    old.emit_into(Generation::V205, &mut out);
    // As captured from `iperf -u -l 100 -n 300 -b 10M -r -L 6001` 2.0.9, but for the rate in the word of the window,
    // where 2.0.5 reads it.
    assert_eq!(
        out[12..40],
        hex("80000000 00000001 00001771 00000064 00989680 0000012c 00989680")
    );
    put_words(&mut out, 28, &[0]);
    let read = ClientHeader::of_datagram(Generation::V205, &out).unwrap();
    assert_eq!(read.rate(), Some(Rate::BitsPerS(10_000_000)), "of 2.0.9");
    put_words(&mut out, 28, &[1_000_000, 0, DIGITS_AT_16]);
    let read = ClientHeader::of_datagram(Generation::V205, &out).unwrap();
    assert_eq!(read.rate(), Some(Rate::BitsPerS(1_000_000)), "of 2.0.5");
    let later = ours.with_mode(Mode::Dual).of_generation(Generation::V2010);
    assert_eq!(later.flags, 0xc000_0001);
    let plain = ours.of_generation(Generation::V2010);
    assert_eq!((plain.flags, plain.extension), (0, None));
}

#[test]
fn headers_of_2_2_are_longer_and_name_an_identification() {
    let bytes = hex(&format!(
        "480100a0 80100002 00001389 00000000 00000000 fffffc18 {TAIL} 00100000 00000000 00000000 00000000"
    ));
    let header = ClientHeader::parse(&bytes).unwrap();
    assert_eq!((header.threads, header.mode()), (2, Mode::Forward));
}

#[test]
fn payload_is_no_header() {
    assert_eq!(
        ClientHeader::parse(b"0123456789012345678901234567890123456789"),
        None
    );
    assert_eq!(ClientHeader::tcp_len(0x3031_3233), 0);
    assert_eq!(ClientHeader::tcp_len(0x0080_0000), 0, "bounceback");
    assert_eq!(ClientHeader::parse(&[0xFF; 60]), None);
    assert_eq!(ClientHeader::parse(&[0; 60]), None);
    for len in 0..V1_LEN {
        assert_eq!(
            ClientHeader::parse(
                &hex("c0010079 00000001 00001b59 00000000 00000000 ffffffec")[..len]
            ),
            None
        );
    }
}

// As `iperf --trip-times` of 2.1.8 sends them: -l 500 -b 1m -t 1.
#[test]
fn trip_times_as_captured() {
    let amount = Amount::Time { centiseconds: 100 };
    let rate = Rate::BitsPerS(1_000_000);
    let start = (0x6b06_ed80, 0x0006_143b);
    let rest = "00000000 00000000 00100000 00020001 00080003 00000000 000f4240 00000000";
    let udp = hex(&format!(
        "680100d8 00000001 0000a3c4 000001f4 00000000 ffffff9c {rest}"
    ));
    let header = ClientHeader::new(true, 0xa3c4, 500, amount, rate).with_trip_times(start);
    let mut out = [0xEE; 112];
    assert_eq!(header.emit(&mut out), Some(112));
    assert_eq!(out[..56], udp);
    assert_eq!(out[56..96], [0; 40]);
    assert_eq!(out[96..], hex("6b06ed80 0006143b 00000000 00000000"));
    assert_eq!(header.bytes_in(Generation::Wide), 128);
    let tcp = hex(&format!(
        "400100a0 00000001 0000d281 000001f4 00000000 ffffff9c {rest}
         00000000 00000000 6b06ed80 0006143b 00000000 00000000"
    ));
    let header = ClientHeader::new(false, 0xd281, 500, amount, rate).with_trip_times(start);
    let mut out = [0xEE; 80];
    assert_eq!(header.emit(&mut out), Some(80));
    assert_eq!(out[..], tcp);
    assert_eq!(ClientHeader::tcp_len(header.flags), 80);
    let reverse = header.with_mode(Mode::Reverse);
    assert_eq!(
        (reverse.flags, reverse.mode()),
        (0x4401_00a0, Mode::Reverse)
    );
}

// What the server of 2.1.8 writes before its traffic back to such a client.
#[test]
fn answers_with_times_as_captured() {
    let start = (0x6b06_f19f, 0x0002_1776);
    let amount = Amount::Time { centiseconds: 100 };
    let request = ClientHeader::new(false, 0x17d4, 500, amount, Rate::BitsPerS(1_000_000));
    let timed = request.with_mode(Mode::Reverse).with_trip_times((1, 2));
    let tcp = hex(
        "400100a0 00000001 000017d4 000001f4 00000000 ffffff9c 00000000 00000000 00100000 00020001
         00080003 00000000 00000000 00000000 00000000 00000000 6b06f19f 00021776 00000000 00000000",
    );
    let answer = timed.answer_with_times(false, start).unwrap();
    assert_eq!(answer.to_vec(), tcp);
    let both = request.with_mode(Mode::FullDuplex).with_trip_times((1, 2));
    for udp in [false, true] {
        let answer = both.answer_with_times(udp, start).unwrap();
        assert_eq!(answer.mode(), Mode::Forward, "it asks nothing back");
    }
    let udp = timed.answer_with_times(true, start).unwrap();
    assert_eq!(udp.to_vec()[..4], [0x68, 1, 0, 0xd8]);
    assert_eq!(udp.to_vec()[32..36], [0, 0x18, 0, 0]);
    for other in [
        request.with_mode(Mode::Reverse),
        request.with_trip_times((1, 2)),
    ] {
        assert_eq!(other.answer_with_times(true, start), None);
    }
}
