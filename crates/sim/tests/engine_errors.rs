//! Nets and runs that cannot be: each is refused with words that name the thing and the fix.

use wirelab_sim::net::{
    Arrivals, Chain, MAX_COST_PS, MAX_ITEMS, Net, OnMissing, Place, Resource, Stage, Trigger,
};
use wirelab_sim::sim::{Edge, EdgeTimer, SimRequest, simulate};
use wirelab_sim::steady::steady_state;
use wirelab_trial::Cancel;

/// Copy, DMA and wire with two descriptors.
fn net() -> Net {
    let on = |resource, name| Stage {
        resource: Some(resource),
        ..Stage::new(name, 10)
    };
    Net {
        resources: ["cpu", "wire"]
            .map(|name| Resource { name: name.into() })
            .to_vec(),
        stages: vec![on(0, "copy"), Stage::new("dma", 5), on(1, "wire")],
        places: vec![
            Place::frames(0, 1),
            Place::frames(1, 2),
            Place::room("descriptors", 2, 0, 2),
        ],
        chains: vec![Chain {
            name: "transmit".into(),
            stages: vec![0, 1, 2],
        }],
    }
}

fn refused(change: impl Fn(&mut Net)) -> String {
    let mut net = net();
    net.check().expect("the net itself can run");
    change(&mut net);
    let why = net.check().expect_err("the changed one cannot");
    // Neither solver continues in that case.
    assert_eq!(steady_state(&net).unwrap_err(), why);
    assert_eq!(
        simulate(&net, &SimRequest::frames(&net, 1))
            .unwrap_err()
            .to_string(),
        why.to_string()
    );
    why.to_string()
}

fn arrivals(frames_per_s: f64, burst: u32, lost_before_ratio: f64) -> Trigger {
    Trigger::Arrivals(Arrivals {
        frames_per_s,
        burst,
        lost_before_ratio,
    })
}

#[test]
fn a_net_that_cannot_run() {
    let said = [
        refused(|net| net.places = vec![Place::frames(0, 1); MAX_ITEMS + 1]),
        refused(|net| net.stages[1].resource = Some(2)),
        refused(|net| net.places[1].to = 3),
        refused(|net| net.chains[0].stages.push(7)),
        refused(|net| net.chains[0].stages.clear()),
        refused(|net| {
            net.chains.push(Chain {
                name: "receive".into(),
                stages: vec![2],
            })
        }),
        refused(|net| {
            net.places.remove(0);
        }),
        refused(|net| net.stages[0].trigger = arrivals(1e3, 1, 0.0)),
        refused(|net| {
            net.places.remove(0);
            net.stages[1].trigger = arrivals(1e3, 1, 0.0);
        }),
        refused(|net| net.places[2].tokens = u32::MAX),
        refused(|net| net.places[0].tokens = 1),
        refused(|net| {
            net.chains[0].stages.remove(0);
        }),
        refused(|net| net.places[2].tokens = 0),
        refused(|net| net.places.push(Place::room("itself", 1, 1, 0))),
        refused(|net| net.stages[1].on_missing = OnMissing::Drop),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_figure_that_makes_no_sense() {
    let source = |trigger| {
        refused(move |net| {
            net.places.pop();
            net.stages[0].trigger = trigger;
        })
    };
    let said = [
        refused(|net| net.stages[0].cost_ps = MAX_COST_PS + 1),
        refused(|net| net.stages[0].trigger = Trigger::Paced { period_ps: 0 }),
        refused(|net| {
            net.stages[0].trigger = Trigger::Polled {
                period_ps: u64::MAX,
            }
        }),
        source(arrivals(f64::NAN, 1, 0.0)),
        source(arrivals(f64::INFINITY, 1, 0.0)),
        source(arrivals(-1.0, 1, 0.0)),
        source(arrivals(1e3, 0, 0.0)),
        source(arrivals(1e3, 1, 1.1)),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

fn fails(net: &Net, ask: &SimRequest) -> String {
    simulate(net, ask)
        .expect_err("the run has no end")
        .to_string()
}

#[test]
fn a_run_without_end() {
    let whole = net();
    let ask = |net: &Net| SimRequest::frames(net, 5_000_000);
    let mut unlimited = net();
    unlimited.places.pop();
    unlimited.stages[0].resource = None;
    let mut standing = net();
    standing
        .stages
        .iter_mut()
        .for_each(|stage| stage.cost_ps = 0);
    // A chain of ten frames that waits for another of three.
    let mut starved = net();
    starved.stages.push(Stage::new("echo", 1));
    starved.chains.push(Chain {
        name: "echo".into(),
        stages: vec![3],
    });
    starved.places.push(Place::room("echoes", 3, 0, 1));
    let slow = {
        let mut net = net();
        net.stages[2].cost_ps = MAX_COST_PS;
        net
    };
    let at_stage_3 = EdgeTimer {
        from: (0, Edge::Start),
        to: (3, Edge::End),
    };
    let said = [
        fails(&whole, &SimRequest::default()),
        fails(
            &whole,
            &SimRequest {
                watches: vec![at_stage_3],
                ..ask(&whole)
            },
        ),
        fails(
            &whole,
            &SimRequest {
                events_max: 1000,
                ..ask(&whole)
            },
        ),
        fails(
            &unlimited,
            &SimRequest {
                time_ps: Some(1_000_000_000),
                ..SimRequest::default()
            },
        ),
        fails(&standing, &SimRequest::frames(&standing, u64::MAX)),
        fails(
            &starved,
            &SimRequest {
                frames: vec![Some(10), Some(3)],
                ..SimRequest::default()
            },
        ),
        fails(
            &starved,
            &SimRequest {
                frames: vec![None, Some(3)],
                time_ps: Some(1000),
                ..SimRequest::default()
            },
        ),
        fails(&slow, &SimRequest::frames(&slow, 10_000)),
        steady_state(&unlimited_everywhere())
            .unwrap_err()
            .to_string(),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

fn unlimited_everywhere() -> Net {
    let mut net = net();
    net.places.pop();
    net.stages
        .iter_mut()
        .for_each(|stage| stage.resource = None);
    net
}

#[test]
fn a_run_that_is_cancelled_keeps_what_it_has() {
    let net = net();
    let cancel = Cancel::new();
    cancel.cancel();
    let run = simulate(
        &net,
        &SimRequest {
            cancel,
            ..SimRequest::frames(&net, 1_000_000)
        },
    )
    .unwrap();
    assert!(!run.complete && run.chains[0].done > 0 && run.chains[0].done < 1_000_000);
    assert!(run.end_ps > 0);
}

#[test]
fn no_frames_end_at_once() {
    let net = net();
    let run = simulate(&net, &SimRequest::frames(&net, 0)).unwrap();
    assert_eq!(
        (run.complete, run.end_ps, run.events, run.chains[0].done),
        (true, 0, 0, 0)
    );
}
