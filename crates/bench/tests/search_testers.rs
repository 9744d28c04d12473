//! Searches beside what is not the node: a path that holds the sender back, a tester that drops, a host that is busy.

use crate::search_common::*;
use wirelab_bench::NoCeiling;
use wirelab_bench::search::{
    BurstSearch, CurveResult, Goal, GoalResult, Limit, LossCurve, Outcome, Search, SearchContext,
    SearchEnded, back_to_back, find_rates, loss_curve,
};
use wirelab_trial::{Cancel, Field, Load, Observation, Retrying, Status, Trial};

/// Run something that asks, each trial again where the tester was held up.
fn ask_steadily<T>(
    node: &mut CurveNode,
    with: impl FnOnce(SearchContext<'_>) -> T,
) -> (T, Vec<Observation>) {
    let mut kept = Vec::new();
    let result = with(SearchContext {
        node: &mut Retrying::new(node),
        ceiling: &mut NoCeiling("not measured in this test".to_owned()),
        progress: &(),
        cancel: &Cancel::new(),
        sink: &mut kept,
    });
    (result, kept)
}

/// A path that takes 8,256 frames/s and no more, on a link that says more; nothing is lost.
fn shaped() -> CurveNode {
    let mut node = CurveNode::of_capacity(f64::MAX);
    node.path_frames_per_s = 8_256.0;
    node
}

fn assert_found(goal: &GoalResult) {
    let width = goal.goal.width_ratio;
    assert_eq!(goal.outcome, Outcome::Found, "{goal:#?}");
    let rate = through(goal);
    assert!((rate / 8_256.0 - 1.0).abs() <= width, "{rate}: {goal:#?}");
    assert!(upper(goal) > 8_256.0 && *goal.width_ratio.value().unwrap() <= width * 1.001);
    assert_eq!(limit(goal), Limit::Path, "neither a loss nor the tester");
}

#[test]
fn what_a_path_takes_that_holds_the_sender_back_is_its_throughput() {
    let mut node = shaped();
    let result = find(&mut node, &both_goals());
    assert_eq!(result.ended, SearchEnded::Done);
    result.goals.iter().for_each(assert_found);
}

#[test]
fn loss_beside_back_pressure_bounds_the_rate_and_does_not_end_the_search() {
    // Beyond what the path takes its queue also drops a little: below 1 %.
    let mut node = CurveNode::new(|load, _, _| if load >= 8_256.0 { 0.008 } else { 0.0 });
    node.path_frames_per_s = 8_256.0;
    let result = find(&mut node, &both_goals());
    assert_eq!(result.ended, SearchEnded::Done);
    for goal in &result.goals {
        assert_eq!(goal.outcome, Outcome::Found, "{goal:#?}");
        let share = through(goal) / 8_256.0;
        assert!((0.974..1.001).contains(&share), "{share}: {goal:#?}");
    }
    // Less than what is allowed is lost above the second bound, and more than nothing above the first.
    let limits: Vec<_> = result.goals.iter().map(limit).collect();
    assert_eq!(limits, [Limit::Node, Limit::Path]);
    let held_back = result.trials.iter().filter(|trial| trial.held_back);
    assert!(held_back.count() > 0, "{:#?}", result.trials);
}

#[test]
fn what_a_path_took_with_a_little_loss_is_judged_by_each_goal() {
    // A queue of two or three frames: it blocks a sender at every load above 2,270/s, takes least just above that, and at
    // 20,000/s takes 5,698/s, of which it drops 0.18 %.
    let mut node = CurveNode::new(|load, _, _| if load > 2_270.0 { 0.001_8 } else { 0.0 });
    node.path_of_load = Some(Box::new(|load| match load {
        ..2_270.0 => load,
        ..10_000.0 => 2_270.0 + (load - 2_270.0) * 0.3,
        _ => 5_698.0,
    }));
    let trial = Trial {
        load: Load::FrameRate {
            frames_per_s: 200_000.0,
        },
        ..receive()
    };
    let (result, _) = ask(&mut node, |context| {
        find_rates(context, &trial, &both_goals())
    });
    let result = result.unwrap();
    assert_eq!(result.ended, SearchEnded::Done);
    let [none, some] = &result.goals[..] else {
        panic!("{result:#?}")
    };
    assert_eq!((none.outcome, limit(none)), (Outcome::Found, Limit::Node));
    assert!((2_250.0..=2_270.0).contains(&through(none)), "{none:#?}");
    assert_eq!((some.outcome, limit(some)), (Outcome::Found, Limit::Path));
    assert!((5_600.0..=5_698.0).contains(&through(some)), "{some:#?}");
}

#[test]
fn a_sender_that_its_host_held_beside_back_pressure_is_the_testers_limit() {
    // It offers a twentieth less than asked: its host holds it for half of that, and the burst after is blocked.
    let mut node = CurveNode::of_capacity(1e6);
    node.keeps_share = 0.95;
    node.hold_and_block = Some((0.5, 0.5));
    let result = find(&mut node, &both_goals());
    for goal in &result.goals {
        assert_ne!(goal.limited_by.value(), Some(&Limit::Path), "{goal:#?}");
        assert_eq!(limit(goal), Limit::Tester, "{goal:#?}");
    }
    for trial in &result.trials {
        assert!(trial.tester_was_limit && !trial.held_back, "{trial:?}");
    }
    // The same that the path alone explains is the path's.
    node.hold_and_block = Some((0.1, 0.9));
    let result = find(&mut node, &both_goals());
    let trials = &result.trials;
    assert!(trials.iter().all(|t| t.held_back && !t.tester_was_limit));
}

#[test]
fn a_search_that_the_tester_leaves_wide_is_unfinished_with_its_bracket() {
    let mut node = CurveNode::of_capacity(200e3);
    node.half_between = (100e3, 290e3);
    let result = find(&mut node, &both_goals());
    assert_eq!(result.ended, SearchEnded::Done);
    for goal in &result.goals {
        assert!(*goal.width_ratio.value().unwrap() > 0.5, "{goal:#?}");
        assert_eq!(goal.outcome, Outcome::Unfinished, "{goal:#?}");
        assert_eq!(limit(goal), Limit::Tester);
        assert!(lower(goal) < 200e3 && 200e3 < upper(goal), "{goal:#?}");
        let Field::Absent { absent } = &goal.conditional_throughput_frames_per_s else {
            panic!("a bracket is not a rate: {goal:#?}")
        };
        assert!(absent.contains("the host paused the tester"), "{absent}");
    }
}

#[test]
fn what_a_queue_took_in_is_not_taken_for_throughput() {
    let mut node = shaped();
    node.path_queue_frames = 92.0;
    let result = find(&mut node, &both_goals());
    for goal in &result.goals {
        let share = through(goal) / 8_256.0;
        assert!((0.99..=1.005).contains(&share), "{share}: {goal:#?}");
    }
}

#[test]
fn what_the_tester_may_have_dropped_decides_no_step() {
    // From 100,000/s on two frames are in doubt, and the node carries 200,000.
    let mut node = CurveNode::of_capacity(200_000.0);
    node.in_doubt = 100_000.0;
    let result = find(&mut node, &both_goals());
    let [lossless, some] = &result.goals[..] else {
        panic!("{result:#?}")
    };
    // Whether they were lost cannot be known: the tester is the limit, and the node may be faster.
    assert_eq!(lossless.outcome, Outcome::Found);
    assert_eq!(limit(lossless), Limit::Tester);
    assert!(
        (99_000.0..=100_000.0).contains(&lower(lossless)),
        "{lossless:#?}"
    );
    // Two frames of 200,000 make no difference to 2.5 %.
    assert_eq!(limit(some), Limit::Node);
    assert!(lower(some) > 199_000.0, "{some:#?}");
    let in_doubt = result.trials.iter().filter(|t| t.tester_was_limit).count();
    assert!(in_doubt >= 2, "each is repeated: {:#?}", result.trials);
}

#[test]
fn a_search_whose_trials_are_held_up_ends_unfinished_with_its_bracket() {
    let mut node = CurveNode::of_capacity(500_000.0);
    node.stops_from_frames_per_s = 300_000.0;
    let search = Search::new(vec![Goal::no_loss(SECOND_PS)]);
    let (result, kept) = ask_steadily(&mut node, |context| {
        find_rates(context, &receive(), &search)
    });
    let result = result.unwrap();
    let SearchEnded::Failed { why } = &result.ended else {
        panic!("{:?}", result.ended)
    };
    assert!(
        why.contains("held up by its own host for 500 ms of 1,000 ms"),
        "{why}"
    );
    let goal = &result.goals[0];
    assert_eq!(goal.outcome, Outcome::Unfinished);
    assert!((100_000.0..300_000.0).contains(&lower(goal)));
    assert_eq!(goal.relevant_upper_bound_frames_per_s.value(), None);
    for figure in [
        &goal.conditional_throughput_frames_per_s,
        &goal.conditional_throughput_payload_bits_per_s,
    ] {
        assert_eq!(figure.value(), None, "a bracket is not a rate: {goal:#?}");
    }
    for held in kept.iter().filter(|o| o.status != Status::Complete) {
        assert!(held.is_void_by_tester());
    }
}

#[test]
fn a_loss_curve_says_at_which_loads_the_tester_was_held_up_and_goes_on() {
    let mut node = CurveNode::of_capacity(500_000.0);
    node.stops_from_frames_per_s = 800_000.0;
    let trial = wirelab_trial::Trial {
        load: Load::FrameRate { frames_per_s: 1e6 },
        ..receive()
    };
    let (result, _) = ask_steadily(&mut node, |context| {
        loss_curve(context, &trial, &LossCurve::new(SECOND_PS))
    });
    let result = result.unwrap();
    assert_eq!(result.ended, SearchEnded::Done);
    let held: Vec<bool> = result
        .points
        .iter()
        .map(|p| p.loss_ratio.value().is_none())
        .collect();
    assert_eq!(held, [true, true, true, false, false, false, false]);
    let Field::Absent { absent } = &result.points[0].loss_ratio else {
        panic!("{:?}", result.points[0])
    };
    assert!(absent.contains("held up by its own host"), "{absent}");
}

fn curve_of(node: &mut CurveNode, trial: &Trial) -> CurveResult {
    let curve = LossCurve::new(SECOND_PS);
    let (result, _) = ask(node, |context| loss_curve(context, trial, &curve));
    result.unwrap()
}

#[test]
fn a_loss_curve_charges_nothing_to_the_node_that_the_path_did_not_take() {
    let result = curve_of(&mut shaped(), &receive());
    assert_eq!((result.ended, result.points.len()), (SearchEnded::Done, 10));
    for point in &result.points {
        assert_eq!(point.loss_ratio.value(), Some(&0.0), "{point:?}");
        assert_eq!(point.held_back_at_frames_per_s, Some(8_256.0));
    }
    for trial in &result.trials {
        assert!(trial.held_back && trial.loss_ratio.value() == Some(&0.0));
    }
    assert!(!result.ends_without_loss, "no load of them was offered");
}

#[test]
fn a_loss_curve_goes_on_below_what_the_path_takes_with_what_was_lost() {
    // Of 10,000 frames/s and less: a tenth is lost from 6,000 on, and the path takes 8,256.
    let mut node = CurveNode::new(|load, _, _| if load > 6_000.0 { 0.1 } else { 0.0 });
    node.path_frames_per_s = 8_256.0;
    let trial = Trial {
        load: Load::FrameRate { frames_per_s: 1e4 },
        ..receive()
    };
    let result = curve_of(&mut node, &trial);
    let points = result.points.iter();
    let seen: Vec<_> = points
        .map(|p| {
            let lost = p.loss_ratio.value().expect("all have a figure");
            (
                p.load_percent,
                p.held_back_at_frames_per_s,
                (lost * 1000.0).round(),
            )
        })
        .collect();
    let held = Some(8_256.0);
    assert_eq!(
        seen,
        [
            (100.0, held, 100.0),
            (90.0, held, 100.0),
            (80.0, None, 100.0),
            (70.0, None, 100.0),
            (60.0, None, 0.0),
            (50.0, None, 0.0)
        ]
    );
    assert!(result.ends_without_loss);
}

/// Two ports: the path of the first takes 5,000 frames/s without loss, the other loses one in twenty above 4,000.
fn one_held_back_and_one_that_loses() -> (CurveNode, Trial) {
    let mut node = CurveNode::new(|load, _, _| match load {
        5_000.0 => 0.0,
        4_000.1.. => 0.05,
        _ => 0.0,
    });
    node.first_path_frames_per_s = Some(5_000.0);
    let trial = Trial {
        load: Load::FrameRate { frames_per_s: 1e4 },
        ports: 2,
        ..receive()
    };
    (node, trial)
}

#[test]
fn the_rate_of_a_flow_held_back_is_not_the_result_where_another_loses() {
    let (mut node, trial) = one_held_back_and_one_that_loses();
    let search = Search::new(vec![Goal::no_loss(SECOND_PS)]);
    let (result, kept) = ask(&mut node, |context| find_rates(context, &trial, &search));
    assert!(kept.iter().all(|seen| seen.flows.len() == 2));
    let goal = &result.unwrap().goals[0];
    assert_eq!(goal.outcome, Outcome::Found, "{goal:#?}");
    let found = lower(goal);
    assert!((3_980.0..=4_000.1).contains(&found), "{goal:#?}");
    assert!(node.loads().contains(&found), "no trial was at {found}");
}

#[test]
fn a_loss_curve_has_no_loss_of_flows_that_were_held_back_to_different_loads() {
    let (mut node, trial) = one_held_back_and_one_that_loses();
    let result = curve_of(&mut node, &trial);
    let (held, offered): (Vec<_>, Vec<_>) = result
        .points
        .iter()
        .partition(|point| point.held_back_at_frames_per_s.is_some());
    assert_eq!((held.len(), offered.len()), (5, 2));
    for point in held {
        let Field::Absent { absent } = &point.loss_ratio else {
            panic!("the loss of 10,000/s is none of 5,000/s: {point:?}")
        };
        assert!(absent.contains("different loads"), "{absent}");
    }
    assert!(result.ends_without_loss);
}

#[test]
fn a_burst_that_was_held_back_decides_nothing() {
    let search = BurstSearch::rfc9004();
    let (result, _) = ask(&mut shaped(), |context| {
        back_to_back(context, &receive(), &search, 8_256.0)
    });
    let result = result.unwrap();
    let SearchEnded::Failed { why } = &result.ended else {
        panic!("{:?}", result.ended)
    };
    assert!(why.starts_with("the path held the sender back in a burst of 2 frames"));
    assert!(result.bursts.is_empty() && result.lengths.value().is_none());
    assert_eq!(result.implied_buffer_time_ps.value(), None);
}
