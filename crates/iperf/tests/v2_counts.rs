//! Counters beyond 32 bits, and clocks that are set in the middle of a test.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wirelab_iperf::v2::{
    Amount, Arrival, ClientConfig, ClientHeader, Generation, Head, IdWidth, Leg, Mode, Protocol,
    Rate, Receiver, ServerConfig, ServerReport,
};

use crate::v2_common::{Ours, our_client, time};

fn datagram(id: i64, seconds: u32, microseconds: u32) -> [u8; 60] {
    let mut out = [0; 60];
    let head = Head {
        id,
        seconds,
        microseconds,
    };
    head.emit(&mut out, IdWidth::Wide);
    out
}

#[test]
fn numbers_go_on_beyond_32_bits() {
    let mut receiver = Receiver::of(Generation::Wide, 0);
    let beyond = 1i64 << 32;
    let mut take = |id: i64| receiver.take(&datagram(id, 0, 0), 1);
    take(1);
    take(beyond / 2);
    take(beyond - 3);
    for id in [
        beyond - 2,
        beyond - 1,
        beyond,
        beyond + 2,
        beyond + 2,
        beyond + 4,
        beyond + 3,
    ] {
        assert_eq!(take(id), Arrival::Data);
    }
    let got = receiver.received();
    assert_eq!((got.distinct, got.duplicated, got.reordered), (9, 1, 1));
    assert_eq!(got.sent(), (1 << 32) + 4);
    assert_eq!(got.lost, (1 << 32) + 4 - 9);
    assert_eq!(
        receiver.take(&datagram(-(beyond + 5), 0, 0), 2),
        Arrival::Final
    );
    assert_eq!(receiver.unattributed(), 0);
    let report = ServerReport::parse(&receiver.answer(&[]).unwrap()).unwrap();
    assert_eq!(report.datagrams, (1 << 32) + 5, "both halves are reported");
    // Gaps less what came out of order: the duplicate and the late one.
    assert_eq!(
        (report.lost, report.out_of_order),
        ((1 << 32) + 4 - 9 + 1 - 2, 2)
    );
}

#[test]
fn bytes_go_on_beyond_32_bits() {
    let mut receiver = Receiver::of(Generation::WideBare, 0);
    let mut long = vec![0; 65_507];
    for id in 1..=70_000 {
        long[..16].copy_from_slice(&datagram(id, 0, 0)[..16]);
        receiver.take(&long, id as u64);
    }
    let bytes = 70_000 * 65_507;
    assert!(bytes > u64::from(u32::MAX));
    assert_eq!(
        (receiver.received().bytes, receiver.received().lost),
        (bytes, 0)
    );
    receiver.take(&datagram(-70_001, 0, 0), 70_001);
    let report = ServerReport::parse(&receiver.answer(&[]).unwrap()).unwrap();
    assert_eq!(report.bytes, bytes + 60, "iperf counts the final datagram");
}

#[test]
fn headers_carry_rates_beyond_32_bits_and_amounts_to_31() {
    let rate = Rate::BitsPerS(400_000_000_000);
    let header = ClientHeader::new(true, 5001, 0, Amount::Bytes(1 << 40), rate);
    let mut out = [0; 60];
    header.with_mode(Mode::Dual).emit(&mut out).unwrap();
    let again = ClientHeader::parse(&out).unwrap();
    assert_eq!(again.rate(), Some(rate));
    assert_eq!(
        again.amount,
        Amount::Bytes(i32::MAX as u64),
        "what the word can hold"
    );
}

/// Datagrams 1 ms apart by a steady clock; the sender's own is set back an hour, and forward ten seconds.
#[test]
fn a_sender_whose_clock_is_set_has_no_jitter_from_that() {
    let mut receiver = Receiver::of(Generation::Wide, 0);
    for n in 0..300u32 {
        let set = match n {
            0..100 => 10_000,
            100..200 => 10_000 - 3600,
            _ => 10_000 - 3600 + 10,
        };
        receiver.take(
            &datagram(i64::from(n) + 1, set, n * 1000),
            u64::from(n) * 1_000_000,
        );
    }
    assert_eq!(receiver.jitter_ps(), Some(0));
    assert_eq!(receiver.clock_steps(), 2);
    assert_eq!(receiver.last_ns() - receiver.start_ns(), 299_000_000);
    receiver.take(&datagram(-301, 0, 0), 300_000_000);
    let report = ServerReport::parse(&receiver.answer(&[]).unwrap()).unwrap();
    assert_eq!((report.jitter_us, report.duration_us), (0, 300_000));
}

/// A wall clock that is an hour back or forth each time that it is read.
fn restless() -> Duration {
    static READ: AtomicU64 = AtomicU64::new(0);
    let hours = [10, 9, 11, 2, 30];
    let at = READ.fetch_add(1, Ordering::Relaxed) as usize % hours.len();
    Duration::from_secs(1_700_000_000 + 3600 * hours[at])
}

#[test]
fn steps_of_the_own_wall_clock_disturb_nothing() {
    let ours = Ours::start(
        "127.0.0.1",
        ServerConfig {
            wall: restless,
            interval: Duration::from_millis(50),
            ..ServerConfig::default()
        },
    );
    for mode in [Mode::Dual, Mode::Reverse, Mode::FullDuplex] {
        let (outcome, rows) = our_client(&ClientConfig {
            mode,
            amount: time(20),
            rate: Rate::PacketsPerS(200),
            interval: Duration::from_millis(50),
            wall: restless,
            ..ClientConfig::new(ours.server.udp_address(), Protocol::Udp)
        });
        assert!(outcome.trouble.is_none(), "{outcome:?}");
        let count = if mode == Mode::Reverse { 1 } else { 2 };
        let (seen, more) = ours.legs(count);
        let legs = outcome.legs.into_iter().map(|(_, leg)| leg);
        for leg in legs.chain(seen.into_iter().map(|(leg, _)| leg)) {
            // A step of an hour would be minutes of jitter, and a length of hours.
            match &leg {
                Leg::UdpSent(sent) => {
                    assert!(
                        sent.datagrams > 1 && sent.datagrams <= 41,
                        "{mode:?}: {sent:?}"
                    );
                    assert!(sent.duration_ns < 60_000_000_000, "{mode:?}: {sent:?}");
                }
                Leg::UdpReceived(udp) => {
                    assert!(
                        udp.jitter_ps.unwrap() < 1_000_000_000_000,
                        "{mode:?}: {udp:?}"
                    );
                    assert!(udp.span.seconds() < 60.0 && udp.clock_steps == 0, "{udp:?}");
                }
                other => panic!("{other}"),
            }
        }
        assert!(
            rows.iter()
                .chain(&more)
                .all(|row| row.end_s > row.start_s && row.end_s < 60.0)
        );
    }
}
