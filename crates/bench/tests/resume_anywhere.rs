//! A plan is ended in each of its trials in turn, and the file on the disk left in each of its states.

use crate::resume::{ceiling, go_on, node, plan, same, uninterrupted, whole as writer_of};
use wirelab_bench::{Ended, run_plan};
use wirelab_trial::*;

/// All trials before the bursts are tried, and every seventh of these, which are alike.
fn is_one_of_many_bursts(k: usize) -> bool {
    k > 45 && k % 7 != 0
}

#[test]
fn a_file_that_was_left_at_any_moment_becomes_the_whole_one() {
    let (whole, states, _) = uninterrupted();
    assert!(states.len() > 90, "{}", states.len());
    for (k, state) in states.into_iter().enumerate() {
        if is_one_of_many_bursts(k) {
            continue;
        }
        assert!(state.interrupted);
        // As `kill -9` leaves it: what was observed, and no word of how its search stood.
        let missing = whole.observations.len() - state.observations.len();
        let mut node = node();
        let (ended, file) = go_on(&mut node, &plan(), state);
        assert!(matches!(ended, Ended::Done), "after {k}: {ended:?}");
        same(&file, &whole, k);
        let warm_ups = node.asked().len() - missing;
        assert!(warm_ups <= 5, "after {k}: {warm_ups} trials were repeated");
    }
}

#[test]
fn ctrl_c_in_any_trial_costs_that_trial_alone() {
    let (whole, _, asked) = uninterrupted();
    for k in (1..=asked).filter(|k| !is_one_of_many_bursts(*k)) {
        let mut cut = node();
        (cut.ends_early, cut.cancels) = (vec![k], true);
        let mut writer = writer_of(None);
        let (cancel, mut ceiling) = (Cancel::new(), ceiling());
        let outcome = run_plan(&mut cut, &plan(), &mut ceiling, &(), &cancel, &mut writer);
        assert!(matches!(outcome.ended, Ended::Interrupted), "{outcome:?}");
        let file = writer.finish(true).unwrap();
        let (ended, file) = go_on(&mut node(), &plan(), file);
        assert!(matches!(ended, Ended::Done), "after {k}: {ended:?}");
        same(&file, &whole, k);
    }
}
