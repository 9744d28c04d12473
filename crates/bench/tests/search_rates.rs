//! The search for rates on simulated nodes of known capacity: what is found.

use crate::search_common::*;
use wirelab_bench::search::*;
use wirelab_trial::*;

#[test]
fn both_rates_of_a_node_without_noise() {
    let mut node = CurveNode::of_capacity(400_000.0);
    let result = find(&mut node, &both_goals());
    assert_eq!(result.ended, SearchEnded::Done);
    let [none, some] = &result.goals[..] else {
        panic!("two goals")
    };
    assert!(lower(none) <= 400_000.0 && upper(none) > 400_000.0);
    assert!(upper(none) - lower(none) <= 0.005 * upper(none));
    assert_eq!(through(none), lower(none), "nothing is lost there");
    // 2.5 % are lost at capacity / 0.975, and what arrives is the capacity.
    let truth = 400_000.0 / 0.975;
    assert!(lower(some) <= truth + 1.0 && upper(some) > truth - 1.0);
    assert!(upper(some) - lower(some) <= 0.025 * upper(some));
    assert!(through(some) > 0.97 * 400_000.0 && through(some) < 400_002.0);
    for goal in &result.goals {
        assert_eq!((goal.outcome, limit(goal)), (Outcome::Found, Limit::Node));
        assert_eq!((goal.lower_bound_trials, goal.not_monotone), (1, false));
    }
    let bits = none.conditional_throughput_payload_bits_per_s.value();
    assert_eq!(bits, Some(&(lower(none) * 8.0 * 46.0)));
    assert_eq!(none.trials + some.trials, result.trials.len() as u64);
    assert_eq!(result.asked_ps, SECOND_PS * result.trials.len() as u64);
    // 10, 20 and 80 % of line rate, then nine halvings: ln 4 / 0.005 is between 2⁸ and 2⁹. The other goal shares them.
    assert_eq!((none.trials, some.trials), (12, 1));
}

#[test]
fn goals_are_worked_on_by_their_loss_and_told_in_their_order() {
    let mut node = CurveNode::of_capacity(400e3);
    let one = find(&mut node, &both_goals());
    let loads = node.loads();
    let mut search = both_goals();
    search.goals.reverse();
    let mut node = CurveNode::of_capacity(400e3);
    let mut other = find(&mut node, &search);
    assert_eq!(node.loads(), loads);
    other.goals.reverse();
    assert_eq!(other.goals, one.goals);
}

#[test]
fn the_port_that_loses_most_counts() {
    let mut node = CurveNode::of_capacity(400e3);
    node.one_port_loses = true;
    let trial = Trial {
        ports: 3,
        ..receive()
    };
    let search = both_goals();
    let (result, _) = ask(&mut node, |context| find_rates(context, &trial, &search));
    let goal = &result.unwrap().goals[0];
    assert!(lower(goal) <= 400e3 && upper(goal) > 400e3);
}

#[test]
fn the_smallest_load_has_a_frame_in_each_trial() {
    let search = Search {
        min_load_frames_per_s: Some(0.1),
        preliminary_trial_ps: Some(SECOND_PS / 4),
        ..both_goals()
    };
    let result = find(&mut CurveNode::new(|_, _, _| 0.5), &search);
    assert_eq!(result.min_load_frames_per_s, Some(4.0));
    assert_eq!(result.ended, SearchEnded::Done);
    assert!(
        result
            .goals
            .iter()
            .all(|g| g.outcome == Outcome::NoLowerBound)
    );
}

#[test]
fn smaller_loads_come_first_and_none_above_the_link() {
    let mut node = CurveNode::of_capacity(f64::MAX);
    let result = find(&mut node, &both_goals());
    let loads = node.loads();
    assert!(loads.is_sorted(), "{loads:?}");
    assert!(loads.iter().all(|load| *load <= GIGABIT_FRAMES_PER_S));
    assert_eq!(loads.len(), 4, "10, 20, 80 and 100 %");
    let max = result.max_load.unwrap();
    assert_eq!(max.set_by, MaxLoadSource::Link);
    for goal in &result.goals {
        assert_eq!((goal.outcome, limit(goal)), (Outcome::Found, Limit::Link));
        assert_eq!(lower(goal), max.frames_per_s);
        assert!(goal.relevant_upper_bound_frames_per_s.value().is_none());
    }
}

#[test]
fn short_trials_first_save_time_and_warm_up_is_not_recorded() {
    let goals = || vec![Goal::no_loss(60 * SECOND_PS)];
    let mut node = CurveNode::of_capacity(123_456.0);
    let slow = find(&mut node, &Search::new(goals()));
    let mut node = CurveNode::of_capacity(123_456.0);
    let search = Search {
        preliminary_trial_ps: Some(SECOND_PS),
        warmup_ps: SECOND_PS / 5,
        ..Search::new(goals())
    };
    let fast = find(&mut node, &search);
    assert_eq!(node.asked().len(), fast.trials.len() + 1);
    assert_eq!(node.loads()[0], fast.min_load_frames_per_s.unwrap());
    assert!(5 * fast.asked_ps < slow.asked_ps);
    for goal in [&fast.goals[0], &slow.goals[0]] {
        assert!(lower(goal) <= 123_456.0 && upper(goal) > 123_456.0);
        assert!(*goal.width_ratio.value().unwrap() <= 0.005);
        assert_eq!(goal.lower_bound_trials, 1, "a full one");
    }
}

#[test]
fn noise_near_capacity_needs_several_trials() {
    // Within 2 % of its capacity it loses in every third trial.
    let noisy = || {
        CurveNode::new(|load, _, rng| match load / 300_000.0 {
            share if share > 1.0 => 1.0 - 1.0 / share,
            share if share > 0.98 && rng.below(3) == 0 => 1e-4,
            _ => 0.0,
        })
    };
    let tolerant = Goal {
        duration_sum_ps: 21 * SECOND_PS,
        exceed_ratio: 0.5,
        ..Goal::no_loss(SECOND_PS)
    };
    let strict = Goal {
        exceed_ratio: 0.0,
        ..tolerant.clone()
    };
    let mut node = noisy();
    let result = find(&mut node, &Search::new(vec![strict, tolerant]));
    let [strict, tolerant] = &result.goals[..] else {
        panic!("two goals")
    };
    assert!(lower(tolerant) <= 300_000.0 && upper(tolerant) > 300_000.0);
    assert!(lower(strict) <= 300_000.0 && upper(strict) > 0.98 * 300_000.0);
    assert!(
        lower(strict) < lower(tolerant),
        "a loss in 21 trials decides"
    );
    assert_eq!(strict.lower_bound_trials, 21);
    assert_eq!(
        through(tolerant),
        lower(tolerant),
        "the median trial lost nothing"
    );
    let mut node = noisy();
    let again = find(&mut node, &result.search);
    assert_eq!(again, result, "the same seed gives the same search");
}

#[test]
fn where_loss_falls_with_load_the_smallest_failing_load_bounds() {
    // It polls too slowly from 90 to 110 kframes/s, and is well again up to 600.
    let mut node = CurveNode::new(|load, _, _| match load {
        90e3..110e3 => 0.01,
        600e3.. => 1.0 - 600e3 / load,
        _ => 0.0,
    });
    let search = Search {
        min_load_frames_per_s: Some(10e3),
        ..both_goals()
    };
    let mut trial = receive();
    // A tenth of it is requested first, and lies in the hole.
    trial.load = Load::FrameRate {
        frames_per_s: 1_000e3,
    };
    let (result, _) = ask(&mut node, |context| find_rates(context, &trial, &search));
    let result = result.unwrap();
    let [none, some] = &result.goals[..] else {
        panic!("two goals")
    };
    assert!(lower(none) < 90e3 && upper(none) >= 90e3 && upper(none) < 91e3);
    assert!(none.not_monotone, "loads above met the goal");
    assert!(
        lower(some) <= 615.4e3 && upper(some) >= 615.3e3,
        "the hole loses 1 %"
    );
    assert!(!some.not_monotone);
}

#[test]
fn a_little_loss_at_every_load_leaves_no_throughput() {
    let mut node = CurveNode::new(|load, _, _| 0.001 + (1.0 - 500e3 / load).max(0.0));
    let result = find(&mut node, &both_goals());
    let [none, some] = &result.goals[..] else {
        panic!("two goals")
    };
    assert_eq!(none.outcome, Outcome::NoLowerBound);
    assert_eq!(upper(none), result.min_load_frames_per_s.unwrap());
    assert!(none.conditional_throughput_frames_per_s.value().is_none());
    assert!(none.limited_by.value().is_none());
    assert_eq!((some.outcome, limit(some)), (Outcome::Found, Limit::Node));
    assert!(through(some) > 480e3 && through(some) < 501e3);
}

#[test]
fn a_tester_that_is_the_limit_is_named() {
    let mut node = CurveNode::of_capacity(1e6);
    node.sender_frames_per_s = 250e3;
    let result = find(&mut node, &Search::new(vec![Goal::no_loss(SECOND_PS)]));
    let goal = &result.goals[0];
    assert_eq!((goal.outcome, limit(goal)), (Outcome::Found, Limit::Tester));
    // A rate is kept within half a percent.
    assert!(lower(goal) > 248e3 && lower(goal) < 252e3);
    let limited = result.trials.iter().filter(|t| t.tester_was_limit);
    assert!(limited.count() >= 2, "repeated before it is believed");
    let mut node = CurveNode::of_capacity(1e6);
    node.sender_frames_per_s = 10.0;
    let all = find(&mut node, &result.search);
    assert_eq!(all.goals[0].outcome, Outcome::TesterTooSlow);
}

/// Most of three trials must be without loss.
fn most_of_three() -> Search {
    Search::new(vec![Goal {
        duration_sum_ps: 3 * SECOND_PS,
        exceed_ratio: 0.5,
        width_ratio: 0.05,
        ..Goal::no_loss(SECOND_PS)
    }])
}

/// A node without a link, whose tester is held up in some of the trials.
fn on_a_busy_host(capacity: f64, is_held_up: fn(&usize) -> bool) -> SearchResult {
    let mut node = CurveNode::of_capacity(capacity).without_link();
    node.sender_frames_per_s = 250e3;
    node.held_up_at = (2..1_000).filter(is_held_up).collect();
    find(&mut node, &most_of_three())
}

#[test]
fn a_tester_that_is_held_up_does_not_bound_the_node_below_what_it_offered() {
    let result = on_a_busy_host(1e6, |run| run % 4 != 0);
    assert_eq!(result.ended, SearchEnded::Done);
    let goal = &result.goals[0];
    assert_eq!((goal.outcome, limit(goal)), (Outcome::Found, Limit::Tester));
    // At the highest load it was held up to half in most trials.
    assert!(lower(goal) >= 125e3 && lower(goal) <= 250e3, "{goal:?}");
    let offered = result.trials.iter().filter_map(|t| t.sent_frames.value());
    let most = offered.copied().max().unwrap() as f64;
    assert!(lower(goal) <= most, "a rate that was really sent");
}

#[test]
fn a_node_that_loses_is_found_by_a_tester_that_is_held_up() {
    let result = on_a_busy_host(90e3, |run| run % 3 == 0);
    let goal = &result.goals[0];
    assert_eq!((goal.outcome, limit(goal)), (Outcome::Found, Limit::Node));
    assert!(lower(goal) <= 90e3 && lower(goal) > 60e3, "{goal:?}");
    assert!(upper(goal) > 90e3, "{goal:?}");
}

#[test]
fn no_load_is_asked_above_the_testers_ceiling() {
    let mut node = CurveNode::of_capacity(1e6);
    let mut kept = Vec::new();
    let context = SearchContext {
        node: &mut node,
        ceiling: &mut |_: &Trial| Field::measured(300e3),
        progress: &(),
        cancel: &Cancel::new(),
        sink: &mut kept,
    };
    let result = find_rates(context, &receive(), &both_goals()).unwrap();
    assert_eq!(
        result.max_load.unwrap().set_by,
        MaxLoadSource::TesterCeiling
    );
    assert!(node.loads().iter().all(|load| *load <= 300e3));
    assert_eq!(limit(&result.goals[0]), Limit::Tester);
    assert_eq!(lower(&result.goals[0]), 300e3);
}

#[test]
fn a_node_that_sends_less_than_requested_fails_the_load_whichever_end_says_so() {
    for sender_is_seen in [true, false] {
        let mut node = CurveNode::of_capacity(f64::MAX);
        node.sender_frames_per_s = 250e3;
        node.sender_is_seen = sender_is_seen;
        let trial = Trial {
            direction: Direction::Transmit,
            ..receive()
        };
        let search = both_goals();
        let (result, _) = ask(&mut node, |context| find_rates(context, &trial, &search));
        let result = result.unwrap();
        let [none, some] = &result.goals[..] else {
            panic!("two goals")
        };
        assert_eq!((none.outcome, limit(none)), (Outcome::Found, Limit::Node));
        assert!(lower(none) > 248e3 && lower(none) < 252e3);
        // Asked for 2.5 % more than it can send, it sends what it can.
        assert!(lower(some) > 250e3 && through(some) < 250_001.0);
    }
}

#[test]
fn without_a_link_rate_a_trial_at_max_sets_the_highest_load() {
    let mut node = CurveNode::of_capacity(200e3).without_link();
    node.sender_frames_per_s = 900e3;
    let result = find(&mut node, &both_goals());
    assert_eq!(node.asked()[0].load, Load::Max);
    assert_eq!(result.trials[0].load_frames_per_s, None);
    let max = result.max_load.unwrap();
    assert_eq!(
        (max.frames_per_s, max.set_by),
        (900e3, MaxLoadSource::MaxTrial)
    );
    assert!(lower(&result.goals[0]) <= 200e3 && upper(&result.goals[0]) > 200e3);
}

#[test]
fn a_search_on_a_model_gives_predicted_figures_and_kinds_do_not_mix() {
    let mut node = CurveNode::of_capacity(200e3);
    node.kind = Kind::Predicted;
    let result = find(&mut node, &both_goals());
    let goal = &result.goals[0];
    for kind in [
        goal.conditional_throughput_frames_per_s.kind(),
        goal.relevant_lower_bound_frames_per_s.kind(),
        goal.relevant_upper_bound_frames_per_s.kind(),
        goal.limited_by.kind(),
        result.trials[0].loss_ratio.kind(),
    ] {
        assert_eq!(kind, Some(Kind::Predicted));
    }
    let mut node = CurveNode::of_capacity(200e3);
    node.predicts_from = 4;
    let result = find(&mut node, &both_goals());
    let SearchEnded::Failed { why } = result.ended else {
        panic!("{:?}", result.ended)
    };
    assert!(why.contains("some predicted"), "{why}");
    // One calibrated figure among predicted ones: none of the results may be called predicted.
    let mut node = CurveNode::of_capacity(200e3);
    (node.kind, node.predicts_from) = (Kind::Calibrated, 4);
    let result = find(&mut node, &both_goals());
    assert_eq!(result.ended, SearchEnded::Done);
    let kind = result.goals[0].conditional_throughput_frames_per_s.kind();
    assert_eq!(kind, Some(Kind::Calibrated));
}

#[test]
fn what_a_tester_offered_that_did_not_keep_the_load_counts_where_the_node_carried_it() {
    // A busy host: it always offers 3 % less than requested.
    let mut node = CurveNode::of_capacity(200e3);
    node.keeps_share = 0.97;
    let result = find(&mut node, &both_goals());
    let [none, some] = &result.goals[..] else {
        panic!("two goals");
    };
    for goal in [none, some] {
        assert_eq!(goal.outcome, Outcome::Found, "{goal:?} {:?}", node.loads());
        assert_eq!(
            limit(goal),
            Limit::Tester,
            "no load above was really offered"
        );
        assert!(!goal.not_monotone);
    }
    assert!((190e3..=200e3).contains(&lower(none)), "{}", lower(none));
    assert!((195e3..=206e3).contains(&lower(some)), "{}", lower(some));
    assert!(result.trials.iter().all(|trial| trial.tester_was_limit));

    // One that is held up only now and then is not a bound where it offered more at another time.
    let mut node = CurveNode::of_capacity(200e3);
    node.held_up_at = vec![2, 3, 5];
    let result = find(&mut node, &both_goals());
    assert!((198e3..=200e3).contains(&lower(&result.goals[0])));
    assert_eq!(limit(&result.goals[0]), Limit::Node);
}
