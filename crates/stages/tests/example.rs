//! The example program for applications works: priority datagrams take the fast track, ordinary UDP to the same host
//! the stack.

#[path = "../examples/fast_track.rs"]
#[allow(dead_code)]
mod program;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::rig::Rig;
use crate::common::{lab, until};
use wirelab_port::ebpf::program_on;
use wirelab_trial::Wait;

#[test]
fn the_example_takes_priority_datagrams_and_leaves_the_rest_to_the_stack() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let (priority, ordinary) = (rig.tester_socket(1026), rig.tester_socket(7000));
    let (overtaken, stack) = (rig.node_socket(1026), rig.node_socket(7000));
    let port = rig.node.to_string();
    let ready = &AtomicBool::new(false);
    let (total, counters) = std::thread::scope(|scope| {
        let serving = scope.spawn(move || {
            let began = Instant::now();
            let served = program::serve(&port, "own,port=1026", Wait::Sleep, |total| {
                ready.store(true, Ordering::Release);
                total.datagrams >= 100 || began.elapsed() > Duration::from_secs(30)
            });
            served.map_err(|error| error.to_string())
        });
        until("the example", || {
            serving.is_finished() || ready.load(Ordering::Acquire)
        });
        for _ in 0..100 {
            priority.send(b"brake").unwrap();
            ordinary.send(b"a picture").unwrap();
            assert_eq!(stack.recv(&mut [0; 32]).unwrap(), 9);
        }
        serving.join().unwrap().unwrap()
    });
    assert_eq!((total.datagrams, total.bytes), (100, 500));
    assert_eq!(counters.node.matched[0], 100);
    // The last ordinary datagram may arrive after the end of the example.
    assert!(counters.node.passed >= 99, "{counters:?}");
    overtaken.set_nonblocking(true).unwrap();
    assert!(
        overtaken.recv(&mut [0; 8]).is_err(),
        "the stack never saw them"
    );
    assert_eq!(program_on(&rig.node).unwrap(), None);
}
