//! The loss curve of RFC 2544, 26.3, on simulated nodes.

use crate::search_common::*;
use wirelab_bench::search::*;

fn curve(node: &mut CurveNode, curve: &LossCurve) -> CurveResult {
    let (result, kept) = ask(node, |context| loss_curve(context, &receive(), curve));
    let result = result.unwrap();
    assert_eq!(kept.len(), result.trials.len());
    result
}

#[test]
fn it_goes_down_until_nothing_is_lost_twice() {
    let capacity = 0.55 * GIGABIT_FRAMES_PER_S;
    let result = curve(
        &mut CurveNode::of_capacity(capacity),
        &LossCurve::new(SECOND_PS),
    );
    let loads: Vec<f64> = result.points.iter().map(|p| p.load_percent).collect();
    assert_eq!(loads, [100.0, 90.0, 80.0, 70.0, 60.0, 50.0, 40.0]);
    assert!(result.ends_without_loss && result.ended == SearchEnded::Done);
    for point in &result.points {
        let truth = (1.0 - 55.0 / point.load_percent).max(0.0);
        assert!((point.loss_ratio.value().unwrap() - truth).abs() < 1e-5);
    }
    assert_eq!(result.asked_ps, 7 * SECOND_PS);
}

#[test]
fn one_lossless_trial_among_lossy_ones_does_not_end_it() {
    let mut node = CurveNode::new(|load, _, _| match load / GIGABIT_FRAMES_PER_S {
        0.75..0.85 => 0.0,
        0.35.. => 0.1,
        _ => 0.0,
    });
    let result = curve(&mut node, &LossCurve::new(SECOND_PS));
    assert_eq!(result.points.last().unwrap().load_percent, 20.0);
    assert!(result.ends_without_loss);
}

#[test]
fn a_node_that_always_loses_and_one_that_never_does() {
    let mut lossy = CurveNode::new(|_, _, _| 0.01);
    let result = curve(&mut lossy, &LossCurve::new(SECOND_PS));
    assert_eq!((result.points.len(), result.ends_without_loss), (10, false));
    assert!(result.points.iter().all(|p| p.load_frames_per_s > 0.0));
    let mut clean = CurveNode::of_capacity(f64::MAX);
    let result = curve(&mut clean, &LossCurve::new(SECOND_PS));
    assert_eq!((result.points.len(), result.ends_without_loss), (2, true));
}

#[test]
fn loads_that_the_tester_does_not_offer_are_no_points_without_loss() {
    let mut node = CurveNode::of_capacity(f64::MAX);
    node.sender_frames_per_s = 0.75 * GIGABIT_FRAMES_PER_S;
    let result = curve(&mut node, &LossCurve::new(SECOND_PS));
    let seen: Vec<bool> = result
        .points
        .iter()
        .map(|p| p.loss_ratio.value().is_some())
        .collect();
    assert_eq!(seen, [false, false, false, true, true]);
}

#[test]
fn steps_above_ten_percent_and_links_without_rate_are_refused() {
    let wide = LossCurve {
        step_percent: 20.0,
        ..LossCurve::new(SECOND_PS)
    };
    let mut node = CurveNode::of_capacity(1e6);
    let (result, _) = ask(&mut node, |context| loss_curve(context, &receive(), &wide));
    assert!(result.unwrap_err().to_string().contains("RFC 2544, 26.3"));
    let mut node = CurveNode::of_capacity(1e6).without_link();
    let usual = LossCurve::new(SECOND_PS);
    let (result, _) = ask(&mut node, |context| loss_curve(context, &receive(), &usual));
    assert_eq!(result.unwrap_err(), SearchError::NoLinkRate);
    assert!(node.asked().is_empty());
}

#[test]
fn the_limit_of_time_ends_it_early() {
    let short = LossCurve {
        max_time_ps: 3 * SECOND_PS,
        ..LossCurve::new(SECOND_PS)
    };
    let result = curve(&mut CurveNode::of_capacity(1.0), &short);
    assert_eq!(
        (result.points.len(), result.ended),
        (3, SearchEnded::TimeLimit)
    );
}
