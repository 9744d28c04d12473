//! Nets with figures that can be followed by hand: what the closed form and the simulation make of them.

use wirelab_sim::net::{Arrivals, Chain, Net, OnMissing, Place, Resource, Spread, Stage, Trigger};
use wirelab_sim::sim::{Edge, EdgeTimer, SimRequest, SimResult, simulate};
use wirelab_sim::steady::{CircuitKind, Ratio64, Reason, Steady, steady_state};

const US: u64 = 1_000_000;

fn on(resource: usize, name: &str, cost_ps: u64) -> Stage {
    Stage {
        resource: Some(resource),
        ..Stage::new(name, cost_ps)
    }
}

fn net(resources: &[&str], stages: Vec<Stage>, rooms: Vec<Place>) -> Net {
    let way: Vec<usize> = (0..stages.len()).collect();
    let frames = way.windows(2).map(|two| Place::frames(two[0], two[1]));
    Net {
        resources: resources
            .iter()
            .map(|name| Resource {
                name: (*name).into(),
            })
            .collect(),
        places: frames.chain(rooms).collect(),
        chains: vec![Chain {
            name: "port0".into(),
            stages: way,
        }],
        stages,
    }
}

/// The LPC1768 that copies each frame by CPU (AN11053, scenario 2): 83.8 us of copy, 1.96 us to restart, 123.04 us
/// of wire, and so many frames in flight.
fn lpc1768(in_flight: u32) -> Net {
    let restart = Stage {
        priority: 0,
        ..on(0, "restart", 1_960_000)
    };
    net(
        &["cpu", "wire"],
        vec![
            on(0, "copy", 83_800_000),
            restart,
            on(1, "wire", 123_040_000),
        ],
        vec![
            Place::room("idle wire", 2, 1, 1),
            Place::room("descriptors", 2, 0, in_flight),
        ],
    )
}

fn run(net: &Net, frames: u64) -> SimResult {
    simulate(net, &SimRequest::frames(net, frames)).unwrap()
}

fn steady(net: &Net) -> Steady {
    steady_state(net).unwrap()
}

/// Names of the stages of the slowest circuit.
fn critical<'a>(net: &'a Net, steady: &Steady) -> Vec<&'a str> {
    let stages = steady.critical.stages.iter();
    stages.map(|stage| &*net.stages[*stage].name).collect()
}

#[test]
fn one_frame_in_flight_adds_copy_and_wire() {
    let net = lpc1768(1);
    let steady = steady(&net);
    assert_eq!(
        steady.period,
        Ratio64 {
            cost_ps: 208_800_000,
            tokens: 1
        }
    );
    assert_eq!(critical(&net, &steady), ["copy", "restart", "wire"]);
    assert_eq!((steady.exact, steady.reasons.as_slice()), (true, &[][..]));
    assert_eq!(steady.slack_ps, [Some(0); 3]);
    // 50 frames take 10.44 ms.
    assert_eq!(run(&net, 50).end_ps, 50 * 208_800_000);
}

#[test]
fn a_second_frame_in_flight_hides_the_copy() {
    let net = lpc1768(2);
    let steady = steady(&net);
    assert_eq!(
        steady.period,
        Ratio64 {
            cost_ps: 125 * US,
            tokens: 1
        }
    );
    assert_eq!(critical(&net, &steady), ["restart", "wire"]);
    assert_eq!(steady.critical.kind, CircuitKind::Places);
    // The CPU has 125 - 85.76 us to spare; the other circuit has 2 · 125 - 208.8.
    assert_eq!(steady.slack_ps, [Some(39_240_000), Some(0), Some(0)]);
    assert_eq!(steady.reasons, [Reason::Shared(0)]);
    assert_eq!(run(&net, 50).end_ps, 83_800_000 + 50 * 125 * US);
    // Slowest first, each with its own period: wire and restart, wire alone, the way of two descriptors, CPU.
    let periods: Vec<f64> = steady
        .circuits
        .iter()
        .map(|circuit| circuit.period().ps() / 1e6)
        .collect();
    assert_eq!(periods, [125.0, 123.04, 104.4, 85.76]);
}

#[test]
fn priority_decides_who_gets_the_resource() {
    let mut net = lpc1768(2);
    // Copying before restarting leaves the wire idle, so nothing is gained by the second descriptor.
    net.stages[1].priority = 2;
    // Only the last frame has no other to wait for.
    assert_eq!(
        run(&net, 50).end_ps,
        83_800_000 + 49 * 208_800_000 + 125 * US
    );
}

#[test]
fn busy_time_and_firings_are_those_of_the_stages() {
    let net = lpc1768(1);
    let mut ask = SimRequest {
        firings_kept: 4,
        frames_kept: 2,
        ..SimRequest::frames(&net, 3)
    };
    let run = simulate(&net, &ask).unwrap();
    assert_eq!(run.busy_ps, [3 * 85_760_000, 3 * 123_040_000]);
    assert_eq!(
        (run.stages[2].starts, run.stages[2].busy_ps),
        (3, 3 * 123_040_000)
    );
    assert_eq!(run.events, 9);
    let starts: Vec<_> = run
        .firings
        .iter()
        .map(|one| (one.stage, one.frame, one.start_ps, one.end_ps))
        .collect();
    assert_eq!(
        starts,
        [
            (0, Some(0), 0, 83_800_000),
            (1, Some(0), 83_800_000, 85_760_000),
            (2, Some(0), 85_760_000, 208_800_000),
            (0, Some(1), 208_800_000, 292_600_000),
        ]
    );
    assert_eq!(
        (run.chains[0].frames[1].id, run.chains[0].frames[1].end_ps),
        (1, 417_600_000)
    );
    ask.firings_from_ps = 300 * US;
    assert_eq!(
        simulate(&net, &ask).unwrap().firings[0].start_ps,
        417_600_000
    );
}

/// Frames every 10 us; a ring of so many buffers, each given back after 25 us of CPU.
fn ring(buffers: u32) -> Net {
    let arrivals = Arrivals {
        frames_per_s: 100_000.0,
        burst: 1,
        lost_before_ratio: 0.0,
    };
    let arrive = Stage {
        trigger: Trigger::Arrivals(arrivals),
        ..Stage::new("wire", 0)
    };
    let dma = Stage {
        on_missing: OnMissing::Drop,
        ..Stage::new("dma", US)
    };
    net(
        &["cpu"],
        vec![arrive, dma, on(0, "stack", 25 * US)],
        vec![Place::room("ring", 2, 1, buffers)],
    )
}

#[test]
fn a_full_ring_loses_frames() {
    // Frames 0 and 1 take the two buffers. Frame 0 is done at 26 us, so frame 2 at 20 us is lost and frame 3 at 30
    // us is not; from then on one is done every 25 us, which two of five frames hit.
    let run = run(&ring(2), 1000);
    let chain = &run.chains[0];
    assert_eq!((chain.offered, chain.done, chain.lost), (1000, 401, 599));
    assert_eq!(run.stages[1].lost, 599);
    let steady = steady(&ring(2));
    assert_eq!(
        steady.period,
        Ratio64 {
            cost_ps: 25 * US,
            tokens: 1
        }
    );
    assert_eq!(steady.reasons, [Reason::Arrivals(0), Reason::Drops(1)]);
}

#[test]
fn a_ring_that_is_emptied_in_time_loses_nothing() {
    let mut net = ring(1);
    // The buffer comes back at the very instant at which the next frame arrives.
    net.stages[2].cost_ps = 9 * US;
    let run = run(&net, 1000);
    assert_eq!((run.chains[0].done, run.chains[0].lost), (1000, 0));
    let steady = steady(&net);
    assert_eq!(
        steady.critical.period(),
        Ratio64 {
            cost_ps: 10 * US,
            tokens: 1
        }
    );
    net.stages[2].cost_ps += 1;
    assert_eq!(run_lost(&net), 500);
}

fn run_lost(net: &Net) -> u64 {
    run(net, 1000).chains[0].lost
}

#[test]
fn frames_lost_before_are_counted_apart() {
    let mut net = ring(4);
    let arrivals = Arrivals {
        frames_per_s: 1000.0,
        burst: 4,
        lost_before_ratio: 0.025,
    };
    net.stages[0].trigger = Trigger::Arrivals(arrivals);
    let run = run(&net, 1000);
    let chain = &run.chains[0];
    assert_eq!(
        (chain.offered, chain.done, chain.lost, chain.lost_before),
        (1000, 975, 0, 25)
    );
}

/// Frames every 10 us to an interrupt that comes at most every 45 us and then costs 5 us for all that wait.
fn paced(trigger: Trigger) -> Net {
    let arrivals = Arrivals {
        frames_per_s: 100_000.0,
        burst: 1,
        lost_before_ratio: 0.0,
    };
    let arrive = Stage {
        trigger: Trigger::Arrivals(arrivals),
        ..Stage::new("wire", US)
    };
    net(
        &["cpu"],
        vec![
            arrive,
            Stage {
                trigger,
                ..on(0, "interrupt", 5 * US)
            },
        ],
        vec![],
    )
}

fn latency_us(net: &Net, frames: u64) -> Vec<u64> {
    let watch = EdgeTimer {
        from: (0, Edge::End),
        to: (1, Edge::End),
    };
    let run = simulate(
        net,
        &SimRequest {
            watches: vec![watch],
            ..SimRequest::frames(net, frames)
        },
    )
    .unwrap();
    assert_eq!(run.samples[0].count, frames);
    run.samples[0].kept_ps.iter().map(|ps| ps / US).collect()
}

#[test]
fn a_paced_interrupt_takes_all_that_waits() {
    // Frames are there at 1, 11, 21 … us; the interrupt starts at 1, 46, 91 us and ends 5 us later.
    let net = paced(Trigger::Paced { period_ps: 45 * US });
    assert_eq!(latency_us(&net, 10), [5, 40, 30, 20, 10, 45, 35, 25, 15, 5]);
    let run = run(&net, 10);
    assert_eq!(
        (run.stages[1].starts, run.stages[1].frames, run.busy_ps[0]),
        (3, 10, 15 * US)
    );
}

#[test]
fn a_polling_loop_looks_at_multiples_of_its_period() {
    // Looks at 0, 45 and 90 us find nothing, 5 and 4 frames; one waits for 135.
    let net = paced(Trigger::Polled { period_ps: 45 * US });
    assert_eq!(
        latency_us(&net, 10),
        [49, 39, 29, 19, 9, 44, 34, 24, 14, 49]
    );
}

#[test]
fn a_paced_stage_takes_no_more_than_there_is_room_for() {
    let mut net = paced(Trigger::Paced { period_ps: 45 * US });
    net.places.push(Place::room("mail box", 1, 1, 2));
    // Two at once, so that the queue grows: 500 starts of 1000 frames.
    let run = run(&net, 1000);
    assert_eq!(run.stages[1].starts, 500 + 1);
    let steady = steady(&net);
    assert_eq!(
        steady.period,
        Ratio64 {
            cost_ps: 45 * US,
            tokens: 2
        }
    );
    assert_eq!(steady.critical.kind, CircuitKind::Pacing(1));
}

#[test]
fn a_time_stops_the_source_and_lets_frames_out() {
    let net = lpc1768(1);
    let run = simulate(
        &net,
        &SimRequest {
            time_ps: Some(417_600_000),
            ..SimRequest::default()
        },
    )
    .unwrap();
    assert_eq!(
        (run.chains[0].offered, run.chains[0].done, run.end_ps),
        (2, 2, 417_600_000)
    );
    let run = simulate(
        &net,
        &SimRequest {
            time_ps: Some(417_600_001),
            ..SimRequest::default()
        },
    )
    .unwrap();
    assert_eq!(
        (run.chains[0].offered, run.chains[0].done, run.end_ps),
        (3, 3, 3 * 208_800_000)
    );
}

#[test]
fn ways_part_and_meet_again() {
    // A frame goes to two stages at once, and on when both are done.
    let mut net = net(
        &["a", "b"],
        vec![
            Stage::new("in", 1),
            on(0, "short", 10),
            on(1, "long", 30),
            Stage::new("out", 1),
        ],
        vec![Place::room("room", 3, 0, 4)],
    );
    let ways = [(0, 1), (0, 2), (1, 3), (2, 3)];
    net.places.retain(|place| !place.carries_frames);
    net.places
        .extend(ways.map(|(from, to)| Place::frames(from, to)));
    let run = simulate(
        &net,
        &SimRequest {
            frames_kept: 2,
            ..SimRequest::frames(&net, 100)
        },
    )
    .unwrap();
    assert_eq!((run.chains[0].done, run.end_ps), (100, 1 + 100 * 30 + 1));
    assert_eq!(run.chains[0].frames[1].end_ps, 62);
    assert_eq!(steady(&net).critical.kind, CircuitKind::Resource(1));
}

#[test]
fn spread_needs_a_seed_and_keeps_the_mean() {
    let mut net = lpc1768(1);
    net.stages[0].spread = Spread::Normal { sigma_ps: 2 * US };
    let end = |seed| {
        simulate(
            &net,
            &SimRequest {
                seed,
                ..SimRequest::frames(&net, 10_000)
            },
        )
        .unwrap()
        .end_ps
    };
    assert_eq!(end(3), end(3));
    assert_ne!(end(3), end(4));
    let mean_ps = end(3) as f64 / 10_000.0;
    assert!((mean_ps - 208_800_000.0).abs() < 80_000.0, "{mean_ps}");
}

#[test]
fn two_flows_that_share_a_cpu_are_bounded_by_its_sum() {
    let one = lpc1768(1);
    let mut both = one.clone();
    let shift = |place: &Place| Place {
        from: place.from + 3,
        to: place.to + 3,
        ..place.clone()
    };
    both.places.extend(one.places.iter().map(shift));
    both.stages.extend(one.stages.iter().cloned());
    both.stages[5].resource = Some(2);
    both.resources.push(Resource {
        name: "wire1".into(),
    });
    both.chains.push(Chain {
        name: "port1".into(),
        stages: vec![3, 4, 5],
    });
    let steady = steady(&both);
    assert_eq!(steady.reasons, [Reason::SharedByFlows(0)]);
    assert_eq!(
        steady.period,
        Ratio64 {
            cost_ps: 208_800_000,
            tokens: 1
        }
    );
    let cpu = steady
        .circuits
        .iter()
        .find(|circuit| circuit.kind == CircuitKind::Resource(0))
        .unwrap();
    assert_eq!(cpu.cost_ps, 2 * 85_760_000);
    assert_eq!(steady.chains[1].as_ref().unwrap().stages, [3, 4, 5]);
}
