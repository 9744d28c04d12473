//! Counts of arrivals, counted by either generation's rule.

use super::*;
use crate::v2::IdWidth;

/// A datagram of 200 bytes as 2.1 writes it: stamps 1 ms apart.
fn wide(id: i64) -> [u8; 200] {
    let mut out = [0; 200];
    let microseconds = 1000 * id.unsigned_abs() as u32;
    Head {
        id,
        seconds: 5,
        microseconds,
    }
    .emit(&mut out, IdWidth::Wide);
    out[16..20].copy_from_slice(&0x4801_0098u32.to_be_bytes());
    out[23] = 1;
    out[26..28].copy_from_slice(&5001u16.to_be_bytes());
    out
}

fn play(ids: &[i64]) -> Receiver {
    let mut receiver = Receiver::new(&wide(ids[0]), 0).unwrap();
    for (at, id) in ids.iter().enumerate() {
        receiver.take(&wide(*id), at as u64 * 1_000_000);
    }
    receiver
}

#[test]
fn a_duplicate_hides_a_loss_from_the_peer_but_not_from_us() {
    // The answer of iperf 2.1.8 to the same numbers: lost 0, out of order 2, datagrams 11, bytes 2200.
    let receiver = play(&[1, 2, 4, 5, 5, 6, 8, 7, 9, 10, -11]);
    let report = ServerReport::parse(&receiver.answer(&[]).unwrap()).unwrap();
    assert_eq!((report.lost, report.out_of_order), (0, 2));
    assert_eq!((report.datagrams, report.bytes), (11, 2200));
    assert_eq!(report.duration_us, 10_000);
    let ours = receiver.received();
    assert_eq!((ours.lost, ours.duplicated, ours.reordered), (1, 1, 1));
    assert_eq!((ours.datagrams, ours.sent(), ours.bytes), (10, 10, 2000));
    assert_eq!(receiver.unattributed(), 0);
}

#[test]
fn a_loss_without_duplicates_is_reported_to_both() {
    // iperf 2.1.8: lost 1, out of order 0, datagrams 6.
    let receiver = play(&[1, 2, 4, 5, -6]);
    let report = ServerReport::parse(&receiver.answer(&[]).unwrap()).unwrap();
    assert_eq!(
        (report.lost, report.out_of_order, report.datagrams),
        (1, 0, 6)
    );
    assert_eq!(receiver.received().lost, 1);
}

#[test]
fn what_is_missing_at_the_end_is_nobodys() {
    // iperf 2.1.8 counts one lost: either datagram 5 or the first final one.
    let mut receiver = play(&[1, 2, 3, 4, -6]);
    let report = ServerReport::parse(&receiver.answer(&[]).unwrap()).unwrap();
    assert_eq!((report.lost, report.datagrams), (1, 6));
    assert_eq!((receiver.received().lost, receiver.unattributed()), (0, 1));
    assert_eq!(receiver.take(&wide(-7), 0), Arrival::Final);
    assert_eq!(receiver.take(&wide(5), 0), Arrival::Ignored);
    assert_eq!(receiver.received().ignored, 1);
    let again = ServerReport::parse(&receiver.answer(&[]).unwrap()).unwrap();
    assert_eq!(again, report, "the first final datagram counts");
}

#[test]
fn nodes_with_12_bytes_and_no_times_get_totals_and_no_jitter() {
    for first in [0u32, 1] {
        let mut receiver = None;
        for at in 0..100u32 {
            let mut datagram = [0u8; 1000];
            datagram[..4].copy_from_slice(&(first + at).to_be_bytes());
            // The traffic of one datagram per 248.6 µs.
            let now = u64::from(at) * 248_600;
            let receiver = receiver.get_or_insert_with(|| Receiver::new(&datagram, now).unwrap());
            if at != 50 {
                assert_eq!(receiver.take(&datagram, now), Arrival::Data);
            }
        }
        let receiver = receiver.unwrap();
        assert_eq!(receiver.generation(), Generation::Bare);
        let ours = receiver.received();
        assert_eq!((ours.sent(), ours.lost, ours.bytes), (100, 1, 99_000));
        assert_eq!(receiver.jitter_ps(), None);
        assert!(receiver.iperf_jitter_ms() > 0.1, "what iperf would show");
        assert!(!receiver.is_finished());
    }
}

#[test]
fn jitter_where_times_are_written() {
    let receiver = play(&[1, 2, 3, 4, 5, 6, 7, 8, -9]);
    assert_eq!(receiver.jitter_ps(), Some(0));
}

#[test]
fn a_late_final_datagram_starts_nothing() {
    assert!(Receiver::new(&wide(-11), 0).is_none());
    assert!(Receiver::new(&[0; 11], 0).is_none());
}

#[test]
fn a_single_datagram_has_no_time_and_two_have_that_up_to_the_final_one() {
    for (datagrams, duration_us) in [(1, 0), (2, 300)] {
        let mut receiver = Receiver::of(Generation::Wide, 0);
        for id in 1..=datagrams {
            receiver.take(&wide_of(id), 100_000 * (id as u64 - 1));
        }
        receiver.take(&wide_of(-datagrams - 1), 300_000);
        let report = ServerReport::parse(&receiver.answer(&[]).unwrap()).unwrap();
        assert_eq!(report.duration_us, duration_us);
    }
}

#[test]
fn numbers_over_32_bits() {
    let mut receiver = Receiver::of(Generation::Wide, 0);
    for id in [1, 2, i64::from(u32::MAX), i64::MAX, i64::MIN] {
        receiver.take(&wide_of(id), 1);
    }
    assert!(receiver.is_finished() && receiver.answer(&[]).is_some());
}

fn wide_of(id: i64) -> [u8; 16] {
    let mut out = [0; 16];
    Head {
        id,
        seconds: 0,
        microseconds: 0,
    }
    .emit(&mut out, IdWidth::Wide);
    out
}
