//! Under load: each point of a node's kernel has every frame of the flow once and no other, beside any other traffic.

use std::collections::BTreeSet;
use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::over::Over;
use crate::rig::{
    Echo, OTHER, PORT, datagram, every_point, info, lab, node, print, sequences, socket, until,
};
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrIn, recvmmsg, sendmmsg};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_stages::{Point, Tracer};
use wirelab_wire::Header;

const FRAMES: u32 = 24_000;
/// Frames between two pauses of a millisecond: some 10,000 a second and more.
const BURST: u32 = 12;

/// The set of a point's sequences, none of which may occur twice.
fn set(tracer: &Tracer, point: &str, stream: u8) -> BTreeSet<u32> {
    let all = sequences(tracer, point, stream);
    let set: BTreeSet<u32> = all.iter().copied().collect();
    assert_eq!(set.len(), all.len(), "{point}: a frame was taken twice");
    set
}

fn address(lab: &EphemeralLab, side: Side, port: u16) -> SocketAddr {
    SocketAddr::from((lab.address(0, side), port))
}

/// Traffic outside the flow, until stopped: datagrams to another port with and without a test header, and test frames
/// to the flow's port inside the tester's own namespace. Returns how many datagrams arrived at their port, of those
/// sent to the node.
fn others(lab: &EphemeralLab, stop: &AtomicBool) -> (u64, u64) {
    let sink = socket(lab, Side::Node, OTHER);
    let (from, own) = (
        socket(lab, Side::Tester, 4001),
        socket(lab, Side::Tester, PORT),
    );
    sink.set_nonblocking(true).unwrap();
    own.set_nonblocking(true).unwrap();
    let (mut sent, mut arrived, mut room) = (0, 0, [0; 2048]);
    let drain = |room: &mut [u8]| {
        let mut count = 0;
        while let Ok((len, _)) = sink.recv_from(room) {
            assert!(len == 300 || len == 64, "untouched");
            count += 1;
        }
        count
    };
    for sequence in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let to = address(lab, Side::Node, OTHER);
        from.send_to(&[0xA5; 300], to).unwrap();
        from.send_to(&datagram(0, sequence, 64), to).unwrap();
        sent += 2;
        let to = address(lab, Side::Tester, PORT);
        from.send_to(&datagram(0, sequence, 64), to).unwrap();
        let _ = own.recv_from(&mut room);
        arrived += drain(&mut room);
        thread::sleep(Duration::from_micros(100));
    }
    // A full ring of the veth pair may have dropped some on a busy machine.
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(10));
        arrived += drain(&mut room);
    }
    (sent, arrived)
}

/// Send all frames of the flow in bursts, and count the answers.
fn offer(lab: &EphemeralLab, tester: &UdpSocket, answers: &AtomicU64) {
    tester.set_nonblocking(true).unwrap();
    let to = address(lab, Side::Node, PORT);
    let mut room = [0; 2048];
    let mut drain = || {
        while tester.recv_from(&mut room).is_ok() {
            answers.fetch_add(1, Ordering::Relaxed);
        }
    };
    for sequence in 0..FRAMES {
        tester.send_to(&datagram(0, sequence, 64), to).unwrap();
        if sequence % BURST == 0 {
            drain();
            thread::sleep(Duration::from_millis(1));
        }
    }
    drain();
}

#[test]
fn no_frame_is_lost_or_taken_twice_between_stages() {
    let Some(lab) = lab() else { return };
    let app = Echo::start(socket(&lab, Side::Node, PORT), false);
    let tester = socket(&lab, Side::Tester, 4000);
    let tracer = Tracer::attach(&every_point(&node(&lab))).unwrap();
    let (stop, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let (sent, arrived) = thread::scope(|scope| {
        let background = scope.spawn(|| others(&lab, &stop));
        let over = Over(&stop);
        offer(&lab, &tester, &answers);
        drop(over);
        background.join().unwrap()
    });
    println!("background: {arrived} of {sent} datagrams arrived");
    assert!(arrived > 100 && arrived <= sent);
    until("the application", || {
        let (socket, call) = (info(&tracer, Point::InSocket), info(&tracer, Point::InCall));
        socket.counts.taken == call.counts.taken
            && info(&tracer, Point::OutDriver).counts.taken == call.counts.taken
    });
    let received: BTreeSet<u32> = app.stop().into_iter().collect();
    let [driver, stack, queued, call] =
        ["driver", "stack", "socket", "call"].map(|point| set(&tracer, point, 0));
    print(&tracer);
    for info in tracer.points() {
        assert_eq!(
            (info.counts.missed, info.counts.unreadable),
            (0, 0),
            "{info:?}"
        );
    }
    println!("{:?}", tracer.polls());
    // Frames that a full ring of the veth pair drops are lost before the node; from there on every frame is accounted
    // for.
    println!("{} of {FRAMES} frames reached the node", driver.len());
    assert!(driver.len() > FRAMES as usize / 2 && driver.iter().all(|s| *s < FRAMES));
    assert_eq!(driver, stack);
    let waiting = info(&tracer, Point::InSocket);
    assert_eq!(waiting.counts.unmatched, 0);
    assert!(queued.is_subset(&stack));
    assert_eq!((stack.len() - queued.len()) as u64, waiting.counts.dropped);
    assert_eq!(queued, call);
    assert_eq!(call, received);
    let (wire, interrupt) = (
        info(&tracer, Point::InWire),
        info(&tracer, Point::InInterrupt),
    );
    assert_eq!(wire.counts.taken, driver.len() as u64);
    assert_eq!(
        interrupt.counts.taken + interrupt.counts.unmatched,
        driver.len() as u64
    );
    for (point, sent) in [("call", Point::OutCall), ("queue", Point::OutQueue)] {
        assert_eq!(set(&tracer, point, 1), received, "{sent:?}");
    }
    assert_eq!(set(&tracer, "driver", 1), received);
    assert!(tracer.times().iter().all(|t| t.stream < 2));
}

/// Batches: one system call receives or sends several frames, and each has the time of that call.
#[test]
fn each_frame_of_a_batch_has_the_time_of_its_call() {
    const BATCH: u32 = 32;
    let Some(lab) = lab() else { return };
    let (app, tester) = (
        socket(&lab, Side::Node, PORT),
        socket(&lab, Side::Tester, 4000),
    );
    let tracer = Tracer::attach(&every_point(&node(&lab))).unwrap();
    for sequence in 0..BATCH {
        let to = address(&lab, Side::Node, PORT);
        tester.send_to(&datagram(0, sequence, 64), to).unwrap();
    }
    until("the batch", || {
        info(&tracer, Point::InSocket).counts.taken == u64::from(BATCH)
    });
    let mut rooms = vec![[0u8; 256]; BATCH as usize];
    let mut parts: Vec<_> = rooms.iter_mut().map(|r| [IoSliceMut::new(r)]).collect();
    let mut headers = MultiHeaders::<SockaddrIn>::preallocate(BATCH as usize, None);
    let (fd, flags) = (app.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
    let got = recvmmsg(fd, &mut headers, parts.iter_mut(), flags, None).unwrap();
    assert_eq!(got.count(), BATCH as usize);
    let order: Vec<u32> = rooms
        .iter()
        .map(|r| Header::parse(r).unwrap().sequence)
        .collect();
    assert_eq!(order, (0..BATCH).collect::<Vec<u32>>());

    let answers: Vec<_> = (0..BATCH).map(|s| datagram(1, s, 64)).collect();
    let parts: Vec<_> = answers.iter().map(|a| [IoSlice::new(a)]).collect();
    let SocketAddr::V4(to) = address(&lab, Side::Tester, 4000) else {
        unreachable!("a lab has addresses of IPv4")
    };
    let to = vec![Some(SockaddrIn::from(SocketAddrV4::new(*to.ip(), to.port()))); BATCH as usize];
    let mut headers = MultiHeaders::<SockaddrIn>::preallocate(BATCH as usize, None);
    sendmmsg(fd, &mut headers, &parts, to, [], MsgFlags::empty()).unwrap();
    until("the answers", || {
        info(&tracer, Point::OutDriver).counts.taken == u64::from(BATCH)
    });
    let times = tracer.times();
    for stream in [0, 1] {
        let call = times
            .iter()
            .find(|t| t.name == "call" && t.stream == stream);
        let call = &call.unwrap().times;
        assert_eq!(call.len(), BATCH as usize, "stream {stream}");
        let times: BTreeSet<u64> = call.iter().map(|(_, ns)| *ns).collect();
        assert_eq!(
            times.len(),
            1,
            "one call, one time: stream {stream}, {call:?}"
        );
    }
}
