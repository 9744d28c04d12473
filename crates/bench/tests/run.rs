//! Plans run on a simulated node: the requests, the kept results, the end.

use std::sync::Mutex;

use crate::common::{SimulatedNode, Trouble};
use wirelab_bench::{Ended, NoCeiling, Plan, PlanOutcome, run_plan};
use wirelab_trial::*;

fn no_ceiling() -> NoCeiling {
    NoCeiling("not measured in this test".to_owned())
}

fn plan(text: &str) -> Plan {
    Plan::parse(text, "p.toml").unwrap()
}

fn run(node: &mut SimulatedNode, text: &str) -> (PlanOutcome, Vec<Observation>) {
    let mut kept = Vec::new();
    let cancel = Cancel::new();
    let outcome = run_plan(
        node,
        &plan(text),
        &mut no_ceiling(),
        &(),
        &cancel,
        &mut kept,
    );
    (outcome, kept)
}

fn counts(o: &PlanOutcome) -> [u64; 5] {
    [o.complete, o.partial, o.void, o.unsupported, o.not_run]
}

#[test]
fn every_trial_is_asked_in_order_and_kept() {
    let mut node = SimulatedNode::new(1e6);
    node.ports = 3;
    let (outcome, kept) = run(
        &mut node,
        "[[matrix]]\nframe = [64, 512]\ntime = \"1s\"\nwarmup = \"200ms\"\nrepeat = 2\ninject = { drop = 0.5 }",
    );
    assert!(outcome.is_done());
    assert_eq!(counts(&outcome), [4, 0, 0, 0, 0]);
    let frames: Vec<u32> = kept.iter().map(|o| o.trial.size.bytes).collect();
    assert_eq!(frames, [64, 512, 64, 512]);
    assert!(kept.iter().all(|o| o.flows.len() == 3), "all ports");
    let asked: Vec<(Extent, bool)> = node
        .asked
        .iter()
        .map(|t| (t.extent, t.faults.is_clean()))
        .collect();
    let warm = (
        Extent::Time {
            time_ps: 200_000_000_000,
        },
        true,
    );
    let real = (
        Extent::Time {
            time_ps: 1_000_000_000_000,
        },
        false,
    );
    assert_eq!(asked, [warm, real].repeat(4));
}

#[test]
fn the_capacity_shows_as_loss() {
    let (_, kept) = run(
        &mut SimulatedNode::new(40e3),
        "[[matrix]]\nframe = 64\nload = [\"20kpps\", \"50kpps\"]\ndirection = \"rx\"",
    );
    let loss: Vec<f64> = kept
        .iter()
        .map(|o| *o.flows[0].loss_ratio.value().unwrap())
        .collect();
    assert_eq!(loss, [0.0, 0.2]);
}

#[test]
fn a_trial_that_the_node_cannot_do_does_not_end_the_plan() {
    let mut node = SimulatedNode::new(1e6);
    node.unsupported = Some(Buffers::DmaCopied);
    let text = "[[matrix]]\nframe = 64\nframes = 50\nbuffers = [\"prefilled\", \"dma-copied\", \"copied\"]";
    let (outcome, kept) = run(&mut node, text);
    assert!(outcome.is_done());
    assert_eq!(counts(&outcome), [2, 0, 0, 1, 0]);
    let why = "unsupported by this node: buffers: it has no DMA engine of its own: ask prefilled or copied";
    assert_eq!(
        kept[1].status,
        Status::Void {
            why: why.to_owned()
        }
    );
    assert_eq!(kept[1].warnings[0].code, "unsupported");
    assert!(kept[1].flows.is_empty() && !kept[1].passed());
    assert_eq!(
        kept[1].tester.was_limit,
        Field::absent("the trial did not begin")
    );
}

#[test]
fn one_failure_is_kept_and_the_plan_goes_on() {
    let mut node = SimulatedNode::new(1e6);
    node.troubles = [(2, Trouble::Fail), (3, Trouble::Fail), (5, Trouble::Fail)].into();
    let (outcome, kept) = run(&mut node, "[[matrix]]\nframe = 64\nrepeat = 6");
    assert!(outcome.is_done());
    assert_eq!(counts(&outcome), [3, 0, 3, 0, 0]);
    assert_eq!(
        kept[1].status,
        Status::Void {
            why: "the board is silent".to_owned()
        }
    );
    assert_eq!(kept[1].warnings[0].code, "node-failed");
}

#[test]
fn three_failures_in_a_row_end_the_plan() {
    let mut node = SimulatedNode::new(1e6);
    node.troubles = (2..=9).map(|n| (n, Trouble::Fail)).collect();
    let (outcome, kept) = run(&mut node, "[[matrix]]\nframe = 64\nrepeat = 9");
    assert!(
        matches!(&outcome.ended, Ended::Failed(NodeError::Failed(why)) if why == "the board is silent")
    );
    assert_eq!(counts(&outcome), [1, 0, 3, 0, 5]);
    assert_eq!(kept.len(), 4);
}

#[test]
fn the_only_trial_that_fails_is_an_error() {
    let mut node = SimulatedNode::new(1e6);
    node.troubles = [(1, Trouble::Fail)].into();
    let (outcome, kept) = run(&mut node, "[[matrix]]\nframe = 64");
    assert!(matches!(outcome.ended, Ended::Failed(NodeError::Failed(_))));
    assert_eq!(kept.len(), 1);
}

#[test]
fn a_missing_privilege_ends_the_plan_at_once() {
    let mut node = SimulatedNode::new(1e6);
    node.troubles = [(1, Trouble::Privilege)].into();
    let (outcome, kept) = run(&mut node, "[[matrix]]\nframe = 64\nrepeat = 4");
    assert!(matches!(
        outcome.ended,
        Ended::Failed(NodeError::Privilege(_))
    ));
    assert_eq!(counts(&outcome), [0, 0, 0, 0, 4]);
    assert!(kept.is_empty());
}

#[test]
fn a_warm_up_that_fails_is_said_to_be_one() {
    let mut node = SimulatedNode::new(1e6);
    node.troubles = [(1, Trouble::Fail)].into();
    let (outcome, kept) = run(
        &mut node,
        "[[matrix]]\nframe = 64\nrepeat = 2\nwarmup = \"1ms\"",
    );
    assert_eq!(counts(&outcome), [1, 0, 1, 0, 0]);
    let why = "in the warm-up: the board is silent".to_owned();
    assert_eq!(kept[0].status, Status::Void { why });
}

#[test]
fn cancelled_in_the_middle_what_was_recorded_is_kept() {
    for last in [false, true] {
        let mut node = SimulatedNode::new(1e6);
        let at = if last { 5 } else { 3 };
        node.troubles = [(at, Trouble::CancelDuring)].into();
        let (outcome, kept) = run(&mut node, "[[matrix]]\nframe = 64\nrepeat = 5");
        assert!(matches!(outcome.ended, Ended::Interrupted));
        assert_eq!(counts(&outcome), [at - 1, 1, 0, 0, 5 - at]);
        assert_eq!(
            kept.last().unwrap().status,
            Status::Partial {
                why: "cancelled".to_owned()
            }
        );
        assert_eq!(
            node.asked.len() as u64,
            at,
            "nothing was requested afterwards"
        );
    }
}

#[test]
fn cancelled_in_a_warm_up_nothing_of_the_trial_is_kept() {
    let mut node = SimulatedNode::new(1e6);
    node.troubles = [(3, Trouble::CancelDuring)].into();
    let (outcome, kept) = run(
        &mut node,
        "[[matrix]]\nframe = 64\nrepeat = 5\nwarmup = \"1ms\"",
    );
    assert!(matches!(outcome.ended, Ended::Interrupted));
    assert_eq!((kept.len(), node.asked.len(), outcome.not_run), (1, 3, 4));
}

#[test]
fn a_bad_plan_asks_nothing() {
    let mut node = SimulatedNode::new(1e6);
    let mut kept: Vec<Observation> = Vec::new();
    let outcome = run_plan(
        &mut node,
        &Plan::default(),
        &mut no_ceiling(),
        &(),
        &Cancel::new(),
        &mut kept,
    );
    assert!(matches!(outcome.ended, Ended::BadPlan(_)));
    assert!(node.asked.is_empty() && kept.is_empty());
}

#[derive(Default)]
struct ProgressLog(Mutex<Vec<(u64, u64, String)>>);

impl Progress for ProgressLog {
    fn report(&self, done: u64, total: u64, what: &str) {
        self.0.lock().unwrap().push((done, total, what.to_owned()));
    }
}

#[test]
fn progress_is_that_of_the_whole_plan() {
    let log = ProgressLog::default();
    run_plan(
        &mut SimulatedNode::new(1e6),
        &plan("[[matrix]]\nframe = [64, 65]\ntime = \"2s\"\n[[matrix]]\nframe = 64\ntime = \"4s\""),
        &mut no_ceiling(),
        &log,
        &Cancel::new(),
        &mut Vec::new(),
    );
    let log = log.0.into_inner().unwrap();
    let half: Vec<_> = log.iter().filter(|s| s.2.contains("half of it")).collect();
    let at: Vec<(u64, u64)> = half.iter().map(|s| (s.0, s.1)).collect();
    assert_eq!(at, [(1_000, 8_000), (3_000, 8_000), (6_000, 8_000)]);
    let (what, left) = half[1].2.rsplit_once(", ").unwrap();
    assert_eq!(what, "trial 2 of 3: half of it");
    assert!(left.ends_with(" s left"), "{left}");
    assert!(log.windows(2).all(|w| w[0].0 <= w[1].0), "never back");
}
