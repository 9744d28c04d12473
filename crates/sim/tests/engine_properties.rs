//! Over random nets: the closed form and the simulation agree, and neither depends on luck.

use proptest::prelude::*;
use wirelab_sim::net::{
    Arrivals, Chain, Net, NetError, OnMissing, Place, Resource, Spread, Stage, Trigger,
};
use wirelab_sim::sim::{SimRequest, SimResult, simulate};
use wirelab_sim::steady::{Circuit, steady_state};

/// Frames that a run to its steady state takes: far more than the tokens and stages of these nets.
const FRAMES: u64 = 2000;

/// Who holds what.
#[derive(Clone, Copy, Debug)]
enum Resources {
    /// Each stage has its own, or is a mere delay.
    Own,
    /// Some stages share one, in an order that places fix.
    InOrder,
    /// Some stages compete for one.
    Shared,
}

/// A chain of two to six stages. Room leads from its end to its beginning, and between any other two.
fn nets(resources: Resources) -> impl Strategy<Value = Net> {
    let stages = prop::collection::vec((1..60u64, any::<bool>(), any::<bool>()), 2..7);
    let rooms = prop::collection::vec((0..6usize, 0..6usize, 1..4u32), 0..5);
    (stages, rooms, 1..5u32).prop_map(move |(stages, rooms, in_flight)| {
        let count = stages.len();
        let shared: Vec<usize> = (0..count).filter(|&index| stages[index].2).collect();
        let shares = |index: usize| !matches!(resources, Resources::Own) && shared.contains(&index);
        let stage = |(index, &(cost_ps, is_delay, _)): (usize, &(u64, bool, bool))| Stage {
            resource: if shares(index) {
                Some(count)
            } else {
                (!is_delay).then_some(index)
            },
            ..Stage::new(&format!("s{index}"), cost_ps)
        };
        let way = (1..count).map(|to| Place::frames(to - 1, to));
        let back = Place::room("back", count - 1, 0, in_flight);
        let rooms = rooms
            .iter()
            .map(|&(a, b, tokens)| Place::room("room", a % count, b % count, tokens));
        let mut places: Vec<Place> = way.chain([back]).chain(rooms).collect();
        if matches!(resources, Resources::InOrder) && shared.len() > 1 {
            places.extend(
                shared
                    .windows(2)
                    .map(|two| Place::room("order", two[0], two[1], 0)),
            );
            places.push(Place::room("order", shared[shared.len() - 1], shared[0], 1));
        }
        Net {
            resources: (0..=count)
                .map(|index| Resource {
                    name: format!("r{index}"),
                })
                .collect(),
            stages: stages.iter().enumerate().map(stage).collect(),
            places,
            chains: vec![Chain {
                name: "chain".into(),
                stages: (0..count).collect(),
            }],
        }
    })
}

fn run(net: &Net, frames: u64) -> SimResult {
    simulate(
        net,
        &SimRequest {
            frames_kept: frames as usize,
            ..SimRequest::frames(net, frames)
        },
    )
    .unwrap()
}

/// After how many frames a steady state repeats: a multiple of the tokens of every slowest circuit.
fn repeats_after(circuits: &[Circuit]) -> u64 {
    let slowest = circuits
        .iter()
        .filter(|circuit| circuit.period() == circuits[0].period());
    slowest.fold(1, |so_far, circuit| {
        so_far / gcd(so_far, circuit.tokens) * circuit.tokens
    })
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The ends of the last frames are exactly the closed form's period apart.
fn assert_same_period(net: &Net) -> Result<(), TestCaseError> {
    let steady = steady_state(net).unwrap();
    prop_assert!(steady.exact && steady.all_circuits, "{:?}", steady.reasons);
    let times = run(net, FRAMES).chains[0].frames.clone();
    let window = repeats_after(&steady.circuits);
    let (last, before) = (
        times[FRAMES as usize - 1].end_ps,
        times[(FRAMES - 1 - window) as usize].end_ps,
    );
    prop_assert_eq!(
        (last - before) * steady.period.tokens,
        window * steady.period.cost_ps
    );
    // And on the way there no frame strays further than all stages and tokens together last.
    let costs: u64 = net.stages.iter().map(|stage| stage.cost_ps).sum();
    let stray = i128::from(costs) * 8;
    for (frame, times) in times.iter().enumerate() {
        let ideal =
            frame as i128 * i128::from(steady.period.cost_ps) / i128::from(steady.period.tokens);
        prop_assert!(
            (i128::from(times.end_ps) - ideal).abs() <= stray,
            "frame {}",
            frame
        );
    }
    Ok(())
}

/// So many frames cannot be faster than any circuit's tokens can go round.
fn assert_not_faster(net: &Net, frames: u64) -> Result<(), TestCaseError> {
    let run = run(net, frames);
    for circuit in steady_state(net).unwrap().circuits {
        let rounds = (frames - 1) / circuit.tokens;
        prop_assert!(
            run.end_ps >= rounds * circuit.cost_ps,
            "{} ps, {:?}",
            run.end_ps,
            circuit
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn both_give_the_same_period_with_own_resources(net in nets(Resources::Own)) {
        assert_same_period(&net)?;
    }

    #[test]
    fn both_give_the_same_period_with_an_order_on_a_shared_resource(net in nets(Resources::InOrder)) {
        assert_same_period(&net)?;
    }

    #[test]
    fn nothing_is_faster_than_the_bound(net in nets(Resources::Shared), frames in 1..200u64) {
        assert_not_faster(&net, frames)?;
    }

    #[test]
    fn one_more_token_never_slows(net in nets(Resources::Own), place in any::<prop::sample::Index>()) {
        let mut more = net.clone();
        let rooms: Vec<usize> = (0..net.places.len()).filter(|&place| !net.places[place].carries_frames).collect();
        more.places[rooms[place.index(rooms.len())]].tokens += 1;
        prop_assert!(run(&more, 100).end_ps <= run(&net, 100).end_ps);
        prop_assert!(steady_state(&more).unwrap().period <= steady_state(&net).unwrap().period);
    }

    #[test]
    fn a_circuit_without_a_token_is_found_and_named(net in nets(Resources::Own), ends in (0..6usize, 0..6usize)) {
        let mut net = net;
        let (a, b) = (ends.0 % net.stages.len(), ends.1 % net.stages.len());
        net.places.push(Place::room("deadlock", a.max(b), a.min(b), 0));
        let Err(NetError::Deadlock { circuit }) = net.check() else { return Err(TestCaseError::fail("no deadlock")) };
        prop_assert_eq!(&circuit[0], &circuit[circuit.len() - 1]);
        for two in circuit.windows(2) {
            let leads = |place: &&Place| net.stages[place.from].name == two[0] && net.stages[place.to].name == two[1];
            prop_assert!(net.places.iter().filter(leads).any(|place| place.tokens == 0), "{:?}", two);
        }
    }

    #[test]
    fn slack_is_what_a_stage_may_grow(net in nets(Resources::InOrder)) {
        let steady = steady_state(&net).unwrap();
        for (stage, slack) in steady.slack_ps.iter().enumerate() {
            let grown = |by_ps: u64| {
                let mut net = net.clone();
                net.stages[stage].cost_ps += by_ps;
                steady_state(&net).unwrap().period
            };
            let slack = slack.expect("every stage lies on the way back");
            prop_assert_eq!(grown(slack), steady.period);
            prop_assert!(grown(slack + 1) > steady.period);
        }
    }

    #[test]
    fn the_seed_decides(net in nets(Resources::Shared), widths in prop::collection::vec(2..60u64, 6), seed in any::<u64>()) {
        let mut net = net;
        for (stage, &width_ps) in net.stages.iter_mut().zip(&widths) {
            stage.spread = if width_ps % 2 == 0 {
                Spread::Uniform { width_ps }
            } else {
                Spread::Normal { sigma_ps: width_ps }
            };
        }
        let ask = |seed| SimRequest { seed, firings_kept: 1000, ..SimRequest::frames(&net, 100) };
        let first = simulate(&net, &ask(seed)).unwrap();
        prop_assert_eq!(&first, &simulate(&net, &ask(seed)).unwrap());
        prop_assert_ne!(&first.firings, &simulate(&net, &ask(!seed)).unwrap().firings);
    }

    #[test]
    fn no_frame_is_unaccounted_for(
        rate in 1e6..1e12f64, burst in 1..9u32, lost_before_ratio in 0.0..1.0f64, ring in 1..5u32,
        costs in (0..40u64, 1..40u64, 0..40u64), kind in 0..3u32, frames in 0..300u64,
    ) {
        let period_ps = 25;
        let arrivals = Trigger::Arrivals(Arrivals { frames_per_s: rate * 0.1, burst, lost_before_ratio });
        let trigger = [Trigger::Tokens, Trigger::Paced { period_ps }, Trigger::Polled { period_ps }][kind as usize];
        let net = Net {
            resources: vec![Resource { name: "cpu".into() }],
            stages: vec![
                Stage { trigger: arrivals, ..Stage::new("arrive", costs.0) },
                Stage { on_missing: OnMissing::Drop, ..Stage::new("dma", 1) },
                Stage { resource: Some(0), trigger, ..Stage::new("interrupt", costs.1) },
                Stage { resource: Some(0), ..Stage::new("stack", costs.2) },
            ],
            places: vec![
                Place::frames(0, 1),
                Place::frames(1, 2),
                Place::frames(2, 3),
                Place::room("ring", 3, 1, ring),
            ],
            chains: vec![Chain { name: "receive".into(), stages: vec![0, 1, 2, 3] }],
        };
        let run = simulate(&net, &SimRequest::frames(&net, frames)).unwrap();
        let chain = &run.chains[0];
        prop_assert_eq!(chain.offered, frames);
        prop_assert_eq!(chain.done + chain.lost + chain.lost_before, frames);
        prop_assert_eq!(run.stages[3].frames, chain.done);
        prop_assert_eq!(run.busy_ps[0], run.stages[2].busy_ps + run.stages[3].busy_ps);
        if frames > 0 {
            let bound = steady_state(&net).unwrap();
            let node = bound.circuits.iter().filter(|one| one.stages != [0]).map(Circuit::period).max().unwrap();
            let rounds = (chain.done.max(1) - 1) / u64::from(ring);
            prop_assert!(run.end_ps >= (rounds as f64 * f64::from(ring) * node.ps()) as u64 - rounds.min(1));
        }
    }
}
