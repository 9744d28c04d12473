//! What holds for every search of rates, whatever node and goals.

use crate::search_common::*;
use proptest::prelude::*;
use wirelab_bench::search::*;
use wirelab_statistics::random::SplitMix64;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_the_curve_the_bounds_are_loads_that_were_seen(seed: u64, width_ratio in 0.001f64..0.3) {
        let holes = move |load: f64| SplitMix64::stream(seed, (load / 50e3) as u64).below(4) == 0;
        let mut node = CurveNode::new(move |load, _, _| if holes(load) { 0.1 } else { 0.0 });
        let search = Search::new(vec![Goal { width_ratio, ..Goal::no_loss(SECOND_PS) }]);
        let result = find(&mut node, &search);
        prop_assert_eq!(&result.ended, &SearchEnded::Done);
        let min = result.min_load_frames_per_s.unwrap();
        prop_assert!(result.trials.len() as u64 <= search.most_trials(min, GIGABIT_FRAMES_PER_S));
        let goal = &result.goals[0];
        let loads = node.loads();
        let failing = loads.iter().copied().filter(|load| holes(*load)).reduce(f64::min);
        prop_assert_eq!(goal.relevant_upper_bound_frames_per_s.value().copied(), failing);
        let below = |load: &f64| !holes(*load) && failing.is_none_or(|f| *load < f);
        let meeting = loads.iter().copied().filter(below).reduce(f64::max);
        prop_assert_eq!(goal.relevant_lower_bound_frames_per_s.value().copied(), meeting);
        let above = loads.iter().any(|load| !holes(*load) && failing.is_some_and(|f| *load > f));
        prop_assert_eq!(goal.not_monotone, above);
    }

    #[test]
    fn the_truth_lies_between_bounds_within_the_width_at_a_bounded_cost(
        share in 0.002f64..1.2,
        loss_ratio in prop_oneof![Just(0.0), 0.0f64..0.5],
        width_ratio in 0.001f64..0.3,
        exceed_ratio in prop_oneof![Just(0.0), 0.0f64..0.9],
        sum in 1u64..5,
        short in proptest::option::of(1u64..9),
    ) {
        let capacity = share * GIGABIT_FRAMES_PER_S;
        let goal = Goal {
            final_trial_ps: SECOND_PS,
            duration_sum_ps: sum * SECOND_PS,
            loss_ratio,
            exceed_ratio,
            width_ratio,
        };
        let search = Search {
            preliminary_trial_ps: short.map(|tenths| tenths * SECOND_PS / 10),
            ..Search::new(vec![goal.clone(), Goal { loss_ratio: loss_ratio / 2.0, ..goal }])
        };
        let result = find(&mut CurveNode::of_capacity(capacity), &search);
        prop_assert_eq!(&result.ended, &SearchEnded::Done);
        let min = result.min_load_frames_per_s.unwrap();
        let most = search.most_trials(min, GIGABIT_FRAMES_PER_S);
        prop_assert!(result.trials.len() as u64 <= most, "{} trials, at most {}", result.trials.len(), most);
        for goal in &result.goals {
            prop_assert_eq!(goal.outcome, Outcome::Found);
            let truth = capacity / (1.0 - goal.goal.loss_ratio);
            // One frame of a trial of 0.1 s is what a loss is known to.
            let frame = 20.0 / (1.0 - goal.goal.loss_ratio);
            prop_assert!(lower(goal) <= truth + frame);
            if limit(goal) == Limit::Node {
                prop_assert!(upper(goal) >= truth - frame);
                prop_assert!(upper(goal) - lower(goal) <= width_ratio * upper(goal) * (1.0 + 1e-6));
            } else {
                prop_assert_eq!(lower(goal), GIGABIT_FRAMES_PER_S);
            }
        }
    }
}
