//! Paused probes, alone in their process: a child that another test starts holds copies of the old links and of the
//! port for a moment, and both would count frames.

use crate::rig::{Echo, PORT, accounted, info, lab, node, options, ping_pong, socket, until};
use wirelab_port::lab::Side;
use wirelab_stages::{FlowFilter, Point, Tracer};

#[test]
fn probes_that_are_off_see_nothing_and_come_back() {
    let Some(lab) = lab() else { return };
    let app = Echo::start(socket(&lab, Side::Node, PORT), false);
    let tester = socket(&lab, Side::Tester, 4000);
    let tracer = Tracer::attach(&options(&node(&lab))).unwrap();
    ping_pong(&lab, &tester, 20, 64);
    until("the end of the last poll", || {
        accounted(&tracer, Point::InSocket) == 20
    });
    tracer.pause();
    ping_pong(&lab, &tester, 20, 64);
    tracer.resume().unwrap();
    ping_pong(&lab, &tester, 20, 64);
    app.stop();
    until("the end of the last poll again", || {
        accounted(&tracer, Point::InSocket) == 40
    });
    for point in [Point::InStack, Point::InCall, Point::OutQueue] {
        assert_eq!(info(&tracer, point).counts.taken, 40, "{point:?}");
    }
    tracer
        .aim(&FlowFilter {
            udp_ports: vec![PORT + 1],
            ..FlowFilter::default()
        })
        .unwrap();
    assert!(tracer.points().iter().all(|i| i.counts.taken == 0));
    let app = Echo::start(socket(&lab, Side::Node, PORT), false);
    ping_pong(&lab, &tester, 20, 64);
    app.stop();
    assert!(tracer.times().is_empty(), "another flow");
}
