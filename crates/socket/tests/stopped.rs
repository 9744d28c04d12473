//! A host that stops its sender and its receiver: both report it, on every transport.
//!
//! One test, because it stops its own process.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command};

use crate::over::Over;
use wirelab_socket::{Expect, FlowProgress, Offer, Reception, Sent, tcp, udp};
use wirelab_trial::job::Pace;
use wirelab_trial::{Cancel, Extent};

const BYTES: u32 = 512;
/// Less than the second of the stop, of which a sender catches up 100 ms.
const SEEN_NS: u64 = 800_000_000;

fn offer(pace: Pace) -> Offer {
    Offer {
        stream: 1,
        datagram_bytes: BYTES,
        pace,
        extent: Extent::Time {
            time_ps: 3_000_000_000_000,
        },
        with_time: false,
        node_clock: false,
    }
}

const EXPECT: Expect = Expect {
    stream: 1,
    datagram_bytes: BYTES,
    captures: 0,
};

/// Stops this process for a second, a second from now.
fn stop_for_a_second() -> Child {
    let own = std::process::id();
    let stop = format!("sleep 1; kill -STOP {own}; sleep 1; kill -CONT {own}");
    Command::new("sh").args(["-c", &stop]).spawn().unwrap()
}

fn run(
    send: impl FnOnce() -> Sent + Send,
    receive: impl FnOnce(&Cancel) -> Reception + Send,
) -> (Sent, Reception) {
    let over = &Cancel::new();
    let mut stopper = stop_for_a_second();
    let both = std::thread::scope(|scope| {
        let seen = scope.spawn(move || receive(over));
        let ends = Over(over.flag());
        let sent = scope.spawn(send).join().unwrap();
        drop(ends);
        (sent, seen.join().unwrap())
    });
    assert!(stopper.wait().unwrap().success());
    both
}

fn over_udp(pace: Pace) -> (Sent, Reception) {
    let [to, from] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    from.connect(to.local_addr().unwrap()).unwrap();
    let send = move || {
        udp::send(
            &from,
            &offer(pace),
            &FlowProgress::default(),
            &Cancel::new(),
        )
        .unwrap()
    };
    run(send, |over| {
        udp::receive(&to, None, &EXPECT, &FlowProgress::default(), over).unwrap()
    })
}

fn over_tcp(pace: Pace) -> (Sent, Reception) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (to, _) = listener.accept().unwrap();
    let send = move || {
        tcp::send(
            &from,
            &offer(pace),
            &FlowProgress::default(),
            &Cancel::new(),
        )
        .unwrap()
    };
    run(send, |over| {
        tcp::receive(&to, &EXPECT, &FlowProgress::default(), over).unwrap()
    })
}

#[test]
fn a_process_that_is_stopped_is_seen_by_its_sender_and_its_receiver() {
    // A frame each ms.
    for pace in [Pace::Max, Pace::Interval { ps: 1_000_000_000 }] {
        for (over, (sent, seen)) in [("UDP", over_udp(pace)), ("TCP", over_tcp(pace))] {
            let report = &sent.report;
            assert!(
                report.slips > 0 && report.slipped_ns >= SEEN_NS,
                "{over} {pace:?}: {report:?}"
            );
            let held_up_ns = seen.report.held_up_ns.unwrap();
            assert!(held_up_ns >= SEEN_NS, "{over} {pace:?}: {held_up_ns}");
            // Both saw the same length of the stop.
            assert!(
                report.slipped_ns < 2 * held_up_ns,
                "{over} {pace:?}: {held_up_ns}, {report:?}"
            );
        }
    }
}
