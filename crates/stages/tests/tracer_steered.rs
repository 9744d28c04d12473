//! Receive work that is steered to another core, and frames that pass a place there without a program being run: none
//! may be missing in silence.

mod rig;

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rig::{PORT, datagram, info, lab, node, options, sequences, socket, until};
use wirelab_cores::{Cores, Steering, allowed};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_stages::{Point, Tracer};

/// Send frames `from` to `to` to the node, `pause` apart.
fn send(lab: &EphemeralLab, tester: &UdpSocket, frames: std::ops::Range<u32>, pause: Duration) {
    let to = SocketAddr::from((lab.address(0, Side::Node), PORT));
    for sequence in frames {
        tester.send_to(&datagram(0, sequence, 64), to).unwrap();
        thread::sleep(pause);
    }
}

/// Frames that a point accounts for: with a time, or with a word why there is none.
fn passed(tracer: &Tracer, point: Point) -> u64 {
    let info = info(tracer, point);
    info.counts.taken + info.counts.unmatched + info.counts.unreadable + info.counts.unseen
}

#[test]
fn frames_that_the_stack_let_pass_unseen_are_counted_when_they_arrive() {
    const SEEN: u32 = 20;
    const UNSEEN: u32 = 5;
    let Some(lab) = lab() else { return };
    let app = socket(&lab, Side::Node, PORT);
    let tester = socket(&lab, Side::Tester, 4000);
    let tracer = Tracer::attach(&options(&node(&lab))).unwrap();
    tracer.store().set_socket(app.as_fd()).unwrap();
    send(&lab, &tester, 0..SEEN, Duration::ZERO);
    until("the frames before", || {
        info(&tracer, Point::InSocket).counts.taken == u64::from(SEEN)
    });
    // Nothing traces the kernel, and the driver's program runs on.
    tracer.pause();
    tracer.store().set_on(true);
    send(&lab, &tester, SEEN..SEEN + UNSEEN, Duration::ZERO);
    until("the frames that nobody traces", || {
        info(&tracer, Point::InDriver).counts.taken == u64::from(SEEN + UNSEEN)
    });
    tracer.resume().unwrap();
    for _ in 0..SEEN + UNSEEN {
        app.recv(&mut [0; 256]).unwrap();
    }
    let all: Vec<u32> = (0..SEEN + UNSEEN).collect();
    for point in ["driver", "call"] {
        assert_eq!(sequences(&tracer, point, 0), all, "{point}");
    }
    for point in [Point::InStack, Point::InSocket] {
        let info = info(&tracer, point);
        assert_eq!(
            (info.counts.taken, info.counts.unseen),
            (u64::from(SEEN), u64::from(UNSEEN)),
            "{info:?}"
        );
    }
    // When a frame was ready is not known, so that nobody can say whether its reader slept.
    let copy = info(&tracer, Point::InCopy);
    assert_eq!(
        copy.counts.taken + copy.counts.unmatched,
        u64::from(SEEN + UNSEEN),
        "{copy:?}"
    );
    assert!(copy.counts.unmatched >= u64::from(UNSEEN), "{copy:?}");
}

/// Frames cross to the node's core through a queue of the kernel's, while other work wants both cores.
#[test]
fn steered_to_a_busy_core_each_frame_is_accounted_for_at_every_point() {
    const FRAMES: u32 = 2000;
    let Some(lab) = lab() else { return };
    let cores = allowed().unwrap();
    let last = Cores::new(cores.numbers().last().copied()).unwrap();
    let here = node(&lab);
    let steer = || Steering::to(&here.interface, &last).unwrap();
    let steering = lab.netns(Side::Node).unwrap().run_in(steer).unwrap();
    let app = socket(&lab, Side::Node, PORT);
    app.set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let tester = socket(&lab, Side::Tester, 4000);
    let tracer = Tracer::attach(&options(&here)).unwrap();
    tracer.store().set_socket(app.as_fd()).unwrap();
    let over = AtomicBool::new(false);
    let received = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let reader = scope.spawn(|| {
            let mut received = 0u64;
            loop {
                match app.recv(&mut [0; 256]) {
                    Ok(_) => received += 1,
                    Err(_) if over.load(Ordering::Relaxed) => break received,
                    Err(_) => {}
                }
            }
        });
        send(&lab, &tester, 0..FRAMES, Duration::from_micros(300));
        thread::sleep(Duration::from_millis(200));
        over.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    drop(steering);
    rig::print(&tracer);
    let driver = info(&tracer, Point::InDriver).counts.taken;
    let [stack, queued] = [Point::InStack, Point::InSocket].map(|point| info(&tracer, point));
    println!(
        "{received} of {driver} frames arrived, {} of them unseen",
        stack.counts.unseen
    );
    assert!(received > 0 && received <= driver);
    assert_eq!(
        passed(&tracer, Point::InStack),
        driver - stack.counts.dropped,
        "{stack:?}"
    );
    assert_eq!(
        passed(&tracer, Point::InSocket),
        driver - stack.counts.dropped - queued.counts.dropped,
        "{queued:?}"
    );
    assert_eq!(info(&tracer, Point::InCall).counts.taken, received);
    assert_eq!(
        received,
        driver - stack.counts.dropped - queued.counts.dropped
    );
}
