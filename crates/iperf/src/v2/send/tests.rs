//! The actions of a sender at given times.

use super::*;
use crate::v2::{IdWidth, Mode, Receiver};

fn plan(amount: Amount) -> SendPlan {
    let rate = Rate::PacketsPerS(1000);
    let header = ClientHeader::new(true, 5001, 64, amount, rate).with_mode(Mode::Forward);
    SendPlan {
        length_bytes: 64,
        rate,
        amount,
        generation: Generation::Wide,
        header: Some(header),
        wants_report: true,
        sending: SendOptions {
            segmentation: false,
            strict_gaps: false,
        },
    }
}

/// Runs to the end; `deliver` gets each datagram, and returns the answer. Returns the end time.
fn run(sender: &mut Sender, mut deliver: impl FnMut(&[u8], u64) -> Option<Vec<u8>>) -> u64 {
    let mut buf = vec![0; sender.buffer_bytes()];
    sender.prepare(&mut buf);
    let mut now = sender.start_ns();
    loop {
        match sender.step(now, (1, 2), &mut buf) {
            SendAction::Send(len) => {
                if let Some(answer) = deliver(&buf[..len], now) {
                    sender.take_answer(&answer);
                }
            }
            SendAction::Hear => {}
            SendAction::Wait { until_ns } => now = until_ns,
            SendAction::Done => return now,
        }
    }
}

#[test]
fn a_flow_and_its_report() {
    let mut sender = Sender::new(plan(Amount::Time { centiseconds: 5 }), 1_000);
    let mut receiver = None;
    run(&mut sender, |datagram, now| {
        let receiver = receiver.get_or_insert_with(|| Receiver::new(datagram, now).unwrap());
        receiver.take(datagram, now);
        receiver.answer(datagram).map(|answer| answer.to_vec())
    });
    let sent = sender.sent();
    assert_eq!((sent.datagrams, sent.final_tries, sent.slips), (50, 1, 0));
    assert_eq!(
        sent.bytes,
        49 * 64 + 76,
        "the first is as long as the header"
    );
    assert_eq!(sent.duration_ns, 50_000_000);
    let report = sent.report.unwrap();
    assert_eq!((report.datagrams, report.lost), (51, 0));
    assert_eq!(
        report.bytes,
        sent.bytes + 64,
        "iperf counts the final datagram"
    );
    assert_eq!(receiver.unwrap().received().sent(), 50);
    assert_eq!(sent.gaps.count, 49);
    assert_eq!(
        (sent.gaps.min_ticks, sent.gaps.max_ticks),
        (1_000_000, 1_000_000)
    );
}

#[test]
fn bytes_to_the_last() {
    // iperf 2.1.8 sends -n 3000 in datagrams of 1470, 1470 and 60 bytes.
    let plan = SendPlan {
        length_bytes: 1470,
        ..plan(Amount::Bytes(3000))
    };
    let mut sender = Sender::new(plan, 0);
    let mut lengths = Vec::new();
    run(&mut sender, |datagram, _| {
        lengths.push(datagram.len());
        Some(vec![0; 128])
    });
    assert_eq!(lengths[..4], [1470, 1470, 60, 1470]);
    let sent = sender.sent();
    assert_eq!((sent.datagrams, sent.bytes), (3, 3000));
    assert_eq!(sent.strange_answers, FINAL_TRIES);
    let notes = sent.with_mtu(Some(1006), false).notes();
    assert!(notes[0].contains("became 2 packets"), "{notes:?}");
    assert!(
        notes[1].contains("no report came after 10 tries"),
        "{notes:?}"
    );
    assert!(notes[2].contains("unknown generation"), "{notes:?}");
    assert_eq!(notes.len(), 3);
}

#[test]
fn without_pace_datagrams_leave_together() {
    let plan = SendPlan {
        rate: Rate::Max,
        length_bytes: 100,
        ..plan(Amount::Bytes(1050))
    };
    let mut sender = Sender::new(plan, 0);
    let mut buf = vec![0; sender.buffer_bytes()];
    assert_eq!(sender.take_together(0, 8), None, "the first goes alone");
    assert_eq!(sender.step(0, (0, 0), &mut buf), SendAction::Send(100));
    assert_eq!(sender.take_together(5, 8), Some(2..10));
    assert_eq!(sender.take_together(9, 8), Some(10..11));
    assert_eq!(sender.take_together(9, 8), None, "less than one is left");
    assert_eq!(sender.step(9, (0, 0), &mut buf), SendAction::Send(50));
    assert_eq!(sender.take_together(9, 8), None, "the end");
    let sent = sender.sent();
    assert_eq!(
        (sent.datagrams, sent.bytes, sent.gaps.count),
        (11, 1050, 10)
    );
    let mut paced = Sender::new(self::plan(Amount::Bytes(1000)), 0);
    paced.step(0, (0, 0), &mut buf);
    assert_eq!(paced.take_together(u64::MAX / 2, 8), None);
}

#[test]
fn no_report_after_ten_tries() {
    let mut sender = Sender::new(plan(Amount::Bytes(640)), 0);
    let mut finals = Vec::new();
    let end = run(&mut sender, |datagram, _| {
        let id = Head::parse(datagram, IdWidth::Wide).unwrap().id;
        if id < 0 {
            finals.push(id);
        }
        // No answer is a report.
        Some(vec![0; 52])
    });
    assert_eq!(finals, [-11; 10], "the same number each time");
    let sent = sender.sent();
    assert_eq!(
        (sent.report, sent.final_tries, sent.datagrams),
        (None, 10, 10)
    );
    assert_eq!(end, 9_000_000 + 10 * FINAL_WAIT_NS);
}

#[test]
fn flows_back_end_without_a_report() {
    let plan = SendPlan {
        generation: Generation::WideBare,
        header: None,
        wants_report: false,
        ..plan(Amount::Bytes(64))
    };
    let mut sender = Sender::new(plan, 0);
    let mut datagrams = Vec::new();
    run(&mut sender, |datagram, _| {
        datagrams.push(datagram.to_vec());
        None
    });
    let ids = datagrams
        .iter()
        .map(|d| Head::parse(d, IdWidth::Wide).unwrap().id);
    assert_eq!(ids.collect::<Vec<_>>(), [1, -2, -2, -2]);
    assert_eq!(
        Generation::detect(&datagrams[0]),
        Some(Generation::WideBare)
    );
    assert_eq!(datagrams[0].len(), 64);
}

#[test]
fn a_pause_that_is_too_long_to_catch_up_with_is_reported() {
    let mut sender = Sender::new(plan(Amount::Time { centiseconds: 40 }), 0);
    let mut buf = vec![0; sender.buffer_bytes()];
    let mut sent = 0;
    for now in (0..=400)
        .filter(|ms| !(20..220).contains(ms))
        .map(|ms| ms * 1_000_000)
    {
        while sender.ended_ns().is_none()
            && matches!(sender.step(now, (0, 0), &mut buf), SendAction::Send(_))
        {
            sent += u64::from(sender.ended_ns().is_none());
        }
    }
    let result = sender.sent();
    assert_eq!(
        (result.datagrams, sent),
        (299, 299),
        "101 ms of 400 were lost for good"
    );
    assert_eq!(result.longest_burst, Some(100), "it caught up with 100 ms");
    assert_eq!((result.slips, result.slipped_ns), (1, 101_000_000));
    assert_eq!((result.kept_ratio(), result.kept_rate()), (0.7475, false));
    assert!(result.notes()[0].contains("did not keep the rate: 1 pause, 0.101 s"));
    assert_eq!(result.gaps.max_ticks, 201_000_000);
}

#[test]
fn stopped_and_abandoned() {
    let mut sender = Sender::new(plan(Amount::Time { centiseconds: 10 }), 0);
    let mut buf = vec![0; sender.buffer_bytes()];
    assert_eq!(sender.step(0, (0, 0), &mut buf), SendAction::Send(76));
    sender.stop(5);
    assert_eq!(sender.step(6, (0, 0), &mut buf), SendAction::Hear);
    assert_eq!(sender.step(6, (0, 0), &mut buf), SendAction::Send(64));
    assert_eq!(Head::parse(&buf, IdWidth::Wide).map(|h| h.id), Some(-2));
    sender.abandon(7);
    assert_eq!(sender.step(8, (0, 0), &mut buf), SendAction::Done);
}
