//! Flows over the host's loopback: sent frames arrive, are verified and are counted.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::Ordering;

use crate::over::Over;
use wirelab_socket::{Expect, FlowProgress, Offer, Reception, Sent, tcp, udp};
use wirelab_trial::job::Pace;
use wirelab_trial::{Cancel, Counts, Extent};

const STREAM: u8 = 7;

fn offer(datagram_bytes: u32, pace: Pace, frames: u64) -> Offer {
    Offer {
        stream: STREAM,
        datagram_bytes,
        pace,
        extent: Extent::Frames { frames },
        with_time: true,
        node_clock: false,
    }
}

fn expect(datagram_bytes: u32, captures: u32) -> Expect {
    Expect {
        stream: STREAM,
        datagram_bytes,
        captures,
    }
}

fn over_udp(offer: &Offer, captures: u32) -> (Sent, Reception, FlowProgress) {
    let to = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp::prepare(&to);
    let from = UdpSocket::bind("127.0.0.1:0").unwrap();
    from.connect(to.local_addr().unwrap()).unwrap();
    let source = from.local_addr().unwrap().ip();
    let (live, cancel) = (FlowProgress::default(), Cancel::new());
    let expect = expect(offer.datagram_bytes, captures);
    let (sent, seen) = std::thread::scope(|scope| {
        let receiver =
            scope.spawn(|| udp::receive(&to, Some(source), &expect, &live, &cancel).unwrap());
        let over = Over(cancel.flag());
        let sent = udp::send(&from, offer, &FlowProgress::default(), &Cancel::new()).unwrap();
        drop(over);
        (sent, receiver.join().unwrap())
    });
    (sent, seen, live)
}

fn over_tcp(offer: &Offer) -> (Sent, Reception, FlowProgress) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (to, _) = listener.accept().unwrap();
    let live = FlowProgress::default();
    let expect = expect(offer.datagram_bytes, 0);
    let (sent, seen) = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| tcp::receive(&to, &expect, &live, &Cancel::new()).unwrap());
        let sent = tcp::send(&from, offer, &FlowProgress::default(), &Cancel::new()).unwrap();
        (sent, receiver.join().unwrap())
    });
    (sent, seen, live)
}

#[test]
fn a_paced_udp_flow_arrives_whole_on_time_and_with_its_capture_points() {
    let (sent, seen, live) = over_udp(&offer(64, Pace::of(Some(2_000.0)), 600), 100);
    assert!(sent.failure.is_none() && seen.failure.is_none());
    assert_eq!(
        (sent.report.sequences, sent.report.emitted_frames),
        (600, 600)
    );
    assert_eq!(sent.report.gap.count, 599);
    assert!(!sent.segmented);
    let report = seen.report.with_sent(600);
    assert!(report.counts.is_clean(), "{:?}", report.counts);
    assert_eq!(report.counts.check_identity(600), Ok(()));
    assert_eq!(report.counts.verified_payload_bytes, 600 * (64 + 28));
    assert!(report.jitter_ns.is_some() && report.series.is_empty());
    assert_eq!(live.frames.load(Ordering::Relaxed), 600);
    assert_eq!(live.bytes.load(Ordering::Relaxed), 600 * 64);
    // The gaps keep their mean, which is the rate. A busy machine may have moved the schedule.
    let span = sent.report.last_ns - sent.report.first_ns;
    assert!(
        span >= 599 * 500_000 - 500_000,
        "{span}: never faster than asked"
    );
    assert_eq!(seen.captures.len(), 100);
    for (at, capture) in seen.captures.iter().enumerate() {
        assert_eq!(capture.sequence as usize, at);
        assert!(capture.driver_ns <= capture.application_ns);
    }
    assert!(!sent.captures.is_empty() && sent.captures.len() <= 512);
    for capture in &sent.captures {
        assert!(capture.application_ns <= capture.driver_ns);
    }
}

#[test]
fn a_udp_flow_at_full_speed_is_counted_to_the_last_datagram() {
    // Few enough to fit the socket's queue if the receiver is paused.
    for (bytes, frames) in [(18, 5_000), (64, 5_000), (1470, 2_000), (9216, 300)] {
        let (sent, seen, _) = over_udp(&offer(bytes, Pace::Max, frames), 0);
        assert!(sent.failure.is_none() && seen.failure.is_none());
        assert_eq!(sent.report.sequences, frames);
        let counts = seen.report.with_sent(frames).counts;
        assert_eq!(counts.check_identity(frames), Ok(()));
        // A busy machine may drop some in its queues. The socket's queue reports its drops, that of the loopback does
        // not. What arrived is complete, in order, and arrived once.
        let came = frames - counts.lost_frames - counts.missed_frames;
        let expected = Counts {
            received_frames: came,
            good_frames: came,
            distinct_sequences: came,
            lost_frames: counts.lost_frames,
            missed_frames: counts.missed_frames,
            verified_payload_bytes: came * u64::from(bytes + 28),
            ..Counts::default()
        };
        assert_eq!(counts, expected, "{bytes}");
        assert!(counts.good_frames > 0);
    }
}

#[test]
fn one_socket_sends_and_receives_at_once() {
    let [a, b] = [0; 2].map(|_: i32| UdpSocket::bind("127.0.0.1:0").unwrap());
    a.connect(b.local_addr().unwrap()).unwrap();
    b.connect(a.local_addr().unwrap()).unwrap();
    let (offer, expect) = (offer(300, Pace::of(Some(3_000.0)), 600), expect(300, 50));
    let over = Cancel::new();
    let (sent, seen): (Vec<_>, Vec<_>) = std::thread::scope(|scope| {
        let both = [&a, &b].map(|socket| {
            udp::prepare(socket);
            let (expect, over) = (&expect, &over);
            let receiver = scope.spawn(move || {
                udp::receive(socket, None, expect, &FlowProgress::default(), over).unwrap()
            });
            let offer = &offer;
            let sender = scope.spawn(move || {
                udp::send(socket, offer, &FlowProgress::default(), &Cancel::new()).unwrap()
            });
            (sender, receiver)
        });
        let (senders, receivers): (Vec<_>, Vec<_>) = both.into_iter().unzip();
        let ends = Over(over.flag());
        let sent = senders.into_iter().map(|s| s.join().unwrap()).collect();
        drop(ends);
        let seen = receivers.into_iter().map(|r| r.join().unwrap()).collect();
        (sent, seen)
    });
    for (sent, seen) in sent.iter().zip(seen) {
        assert!(sent.failure.is_none() && seen.failure.is_none());
        let report = seen.report.with_sent(600);
        assert!(report.counts.is_clean(), "{:?}", report.counts);
        assert!(!sent.captures.is_empty());
        assert_eq!(seen.captures.len(), 50);
    }
}

#[test]
fn a_flow_by_time_ends_by_its_time_or_when_cancelled() {
    let by_time = Offer {
        extent: Extent::Time {
            time_ps: 50_000_000_000,
        },
        ..offer(200, Pace::of(Some(1_000.0)), 0)
    };
    let (sent, seen, _) = over_udp(&by_time, 0);
    assert!(
        (1..=50).contains(&sent.report.sequences),
        "{}",
        sent.report.sequences
    );
    assert_eq!(seen.report.counts.received_frames, sent.report.sequences);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(socket.local_addr().unwrap()).unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    for pace in [Pace::Max, Pace::of(Some(0.001))] {
        let endless = offer(200, pace, u64::MAX);
        let sent = udp::send(&socket, &endless, &FlowProgress::default(), &cancel).unwrap();
        assert_eq!(sent.report.sequences, 0);
    }
}

#[test]
fn a_tcp_flow_arrives_whole_with_and_without_a_pace() {
    for (bytes, pace, frames) in [
        (64, Pace::of(Some(2_000.0)), 200),
        (64, Pace::Max, 50_000),
        (1460, Pace::Max, 50_000),
        (9216, Pace::Max, 5_000),
    ] {
        let (sent, seen, live) = over_tcp(&offer(bytes, pace, frames));
        assert!(sent.failure.is_none() && seen.failure.is_none());
        assert_eq!(sent.report.sequences, frames);
        let report = seen.report.with_sent(frames);
        assert!(report.counts.is_clean(), "{bytes}: {:?}", report.counts);
        assert_eq!(report.counts.check_identity(frames), Ok(()));
        let verified = report.counts.verified_payload_bytes;
        assert_eq!(verified, frames * u64::from(bytes));
        assert_eq!(live.frames.load(Ordering::Relaxed), frames);
    }
}

#[test]
fn sizes_that_are_no_test_frames_are_refused_with_the_limits() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for bytes in [0, 17, 9217, u32::MAX] {
        let (live, cancel) = (FlowProgress::default(), Cancel::new());
        let asked = offer(bytes, Pace::Max, 1);
        let error = udp::send(&socket, &asked, &live, &cancel).unwrap_err();
        assert!(error.to_string().contains("18 to 9216"), "{error}");
        let asked = expect(bytes, 0);
        let error = udp::receive(&socket, None, &asked, &live, &cancel).unwrap_err();
        assert!(error.to_string().contains("18 to 9216"), "{error}");
    }
}

#[test]
fn a_peer_that_is_gone_ends_the_flow_and_keeps_what_was_done() {
    let gone = UdpSocket::bind("127.0.0.1:0").unwrap();
    let from = UdpSocket::bind("127.0.0.1:0").unwrap();
    from.connect(gone.local_addr().unwrap()).unwrap();
    drop(gone);
    for pace in [Pace::Max, Pace::of(Some(1_000.0))] {
        let asked = offer(64, pace, 100_000);
        let sent = udp::send(&from, &asked, &FlowProgress::default(), &Cancel::new()).unwrap();
        let failure = sent.failure.unwrap();
        assert_eq!(failure.kind(), std::io::ErrorKind::ConnectionRefused);
        assert!(sent.report.sequences < 100_000);
    }
}
