//! Back-to-back bursts of RFC 9004 on simulated nodes with a buffer of known length.

use crate::search_common::*;
use wirelab_bench::search::*;
use wirelab_trial::*;

fn bursts(node: &mut CurveNode, search: &BurstSearch, throughput: f64) -> BurstResult {
    let (result, kept) = ask(node, |context| {
        back_to_back(context, &receive(), search, throughput)
    });
    let result = result.unwrap();
    assert_eq!(kept.len(), result.trials.len());
    result
}

#[test]
fn a_buffer_is_found_to_the_frame_and_told_as_time() {
    let mut node = CurveNode::of_buffer(|_| 1_000);
    let result = bursts(
        &mut node,
        &BurstSearch::rfc9004(),
        0.6 * GIGABIT_FRAMES_PER_S,
    );
    assert_eq!(result.ended, SearchEnded::Done);
    let lengths = result.lengths.value().unwrap();
    assert_eq!((lengths.repeats, lengths.mean_frames), (50, 1000.0));
    assert_eq!((lengths.min_frames, lengths.max_frames), (1000, 1000));
    assert_eq!(lengths.stddev_frames, 0.0);
    // 1,000 frames of 672 ns; four tenths of it were not served while they came in.
    assert_eq!(result.implied_buffer_time_ps, Field::measured(672_000_000));
    assert_eq!(
        result.corrected_buffer_time_ps,
        Field::measured(268_800_000)
    );
    let most = BurstSearch::most_trials_per_repeat(result.longest_frames);
    assert!(result.trials.len() as u64 <= 50 * most);
    // From the second repeat on it takes the burst itself and one that is a frame longer.
    let first = result.trials.len() as u64 - 49 * 2;
    assert!(first > 10 && first <= most);
    let back_to_back = |t: &Trial| t.load == Load::LinkShare { percent: 100.0 };
    assert!(node.asked().iter().all(back_to_back));
}

#[test]
fn noise_shows_in_the_spread() {
    let mut node = CurveNode::of_buffer(|rng| 900 + rng.below(201));
    let result = bursts(&mut node, &BurstSearch::rfc9004(), 1e5);
    let lengths = result.lengths.value().unwrap();
    assert!(lengths.min_frames >= 900 && lengths.max_frames <= 1100);
    assert!(lengths.min_frames < lengths.max_frames && lengths.stddev_frames > 1.0);
    assert_eq!(result.bursts.len(), 50);
    let sum: u64 = result.bursts.iter().map(|b| b.frames).sum();
    assert_eq!(lengths.mean_frames, sum as f64 / 50.0);
}

#[test]
fn a_node_at_line_rate_is_not_asked() {
    let mut node = CurveNode::of_capacity(f64::MAX);
    let result = bursts(&mut node, &BurstSearch::rfc9004(), GIGABIT_FRAMES_PER_S);
    assert_eq!(result.screened, Some(Screened::ThroughputIsLineRate));
    assert!(node.asked().is_empty());
    assert!(result.lengths.value().is_none());
    assert!(result.implied_buffer_time_ps.value().is_none());
}

#[test]
fn no_buffer_at_all_and_one_longer_than_asked() {
    let mut node = CurveNode::of_buffer(|_| 0);
    let result = bursts(&mut node, &BurstSearch::rfc9004(), 1e5);
    assert_eq!(result.lengths.value().unwrap().max_frames, 0);
    let mut node = CurveNode::of_buffer(|_| u64::MAX);
    let search = BurstSearch {
        longest_ps: 1_000_000_000,
        ..BurstSearch::rfc9004()
    };
    let result = bursts(&mut node, &search, 1e5);
    assert_eq!(result.longest_frames, 1488);
    assert!(
        result
            .bursts
            .iter()
            .all(|b| b.at_longest && b.frames == 1488)
    );
}

#[test]
fn a_tester_that_cannot_send_back_to_back_gives_no_figure() {
    let mut node = CurveNode::of_buffer(|_| 1_000);
    node.sender_frames_per_s = 1e6;
    let result = bursts(&mut node, &BurstSearch::rfc9004(), 1e5);
    let SearchEnded::Failed { why } = &result.ended else {
        panic!("{:?}", result.ended)
    };
    assert!(why.contains("back to back at line rate"));
    assert!(result.lengths.value().is_none());
}

#[test]
fn fewer_repeats_than_asked_give_no_average() {
    let search = BurstSearch {
        max_trials: 100,
        ..BurstSearch::rfc9004()
    };
    let result = bursts(&mut CurveNode::of_buffer(|_| 1_000), &search, 1e5);
    assert_eq!(result.ended, SearchEnded::TrialLimit);
    assert!(!result.bursts.is_empty() && result.lengths.value().is_none());
    let few = BurstSearch {
        repeats: 49,
        ..BurstSearch::rfc9004()
    };
    let mut node = CurveNode::of_capacity(1.0);
    let (result, _) = ask(&mut node, |context| {
        back_to_back(context, &receive(), &few, 1e5)
    });
    assert!(
        result
            .unwrap_err()
            .to_string()
            .starts_with("repeats: it is not one of RFC 9004")
    );
}

#[test]
fn a_node_that_sends_has_no_bursts_to_take() {
    let mut node = CurveNode::of_capacity(1.0);
    let trial = Trial {
        direction: Direction::Transmit,
        ..receive()
    };
    let (result, _) = ask(&mut node, |context| {
        back_to_back(context, &trial, &BurstSearch::rfc9004(), 1e5)
    });
    let error = result.unwrap_err().to_string();
    assert!(error.starts_with("direction: the tester sends bursts to the node"));
    assert!(node.asked().is_empty());
}
