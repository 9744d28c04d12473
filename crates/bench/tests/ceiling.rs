//! The tester's own ceiling: when it is taken, and what it says of a trial.

mod common;

use common::SimulatedNode;
use wirelab_bench::{NoCeiling, Plan, run_plan};
use wirelab_trial::*;

/// Run `text` on a node of 1 M frames/s with a tester of `ceiling`; the kept observations and what was asked.
fn run(node: &mut SimulatedNode, ceiling: f64, text: &str) -> (Vec<Observation>, Vec<Trial>) {
    let (mut kept, mut asked) = (Vec::new(), Vec::new());
    let mut provider = |trial: &Trial| {
        asked.push(trial.clone());
        Field::measured(ceiling)
    };
    let plan = Plan::parse(text, "p.toml").unwrap();
    let outcome = run_plan(node, &plan, &mut provider, &(), &Cancel::new(), &mut kept);
    assert!(outcome.is_done());
    (kept, asked)
}

fn limit(node: &mut SimulatedNode, ceiling: f64, line: &str) -> (Field<bool>, Vec<Warning>) {
    let text = format!("[[matrix]]\nframe = 64\ndirection = \"rx\"\n{line}");
    let (mut kept, _) = run(node, ceiling, &text);
    let o = kept.remove(0);
    (o.tester.was_limit, o.warnings)
}

#[test]
fn it_is_taken_once_for_each_kind_of_trial() {
    let (kept, asked) = run(
        &mut SimulatedNode::new(1e6),
        5e6,
        "[[matrix]]\nframe = [64, 512]\nload = [\"max\", \"10%\"]\ndirection = [\"tx\", \"rx\"]\nports = [1, 2]\n\
         vlan = [0, 1]\nrepeat = 3\nrate = \"1G\"\ninject = { drop = 0.1 }\nbuffers = [\"copied\", \"in-place\"]",
    );
    assert_eq!(kept.len(), 2 * 2 * 2 * 2 * 2 * 3 * 2);
    assert_eq!(asked.len(), 2 * 2 * 2 * 2);
    for trial in &asked {
        assert_eq!(trial.load, Load::Max);
        assert_eq!((trial.link_bits_per_s, trial.buffers), (None, None));
        assert!(trial.faults.is_clean());
    }
    assert!(
        kept.iter()
            .all(|o| o.tester.ceiling_frames_per_s == Field::measured(5e6))
    );
}

#[test]
fn near_its_ceiling_the_tester_was_the_limit() {
    let (was, warnings) = limit(&mut SimulatedNode::new(1e6), 1.05e6, "");
    assert_eq!(was, Field::measured(true));
    assert_eq!(warnings[0].code, "tester-was-limit");
    assert_eq!(
        warnings[0].text,
        "the tester was at its own ceiling, so the node may be faster than this"
    );
    let (was, warnings) = limit(&mut SimulatedNode::new(1e6), 1.06e6, "");
    assert_eq!((was, warnings.len()), (Field::measured(false), 0));
}

#[test]
fn a_full_link_is_the_limit_and_not_the_tester() {
    let mut node = SimulatedNode::new(148_809.0);
    assert_eq!(
        limit(&mut node, 148_809.0, "rate = \"100M\"").0,
        Field::measured(false)
    );
    assert_eq!(limit(&mut node, 148_809.0, "").0, Field::measured(true));
    node.link_bits_per_s = Some(100_000_000);
    assert_eq!(limit(&mut node, 148_809.0, "").0, Field::measured(false));
}

#[test]
fn a_tester_that_cannot_keep_the_rate_was_the_limit() {
    let mut node = SimulatedNode::new(1e6);
    node.keeps_rate = false;
    assert_eq!(
        limit(&mut node, 9e9, "load = \"1kpps\"").0,
        Field::measured(true)
    );
    node.keeps_rate = true;
    assert_eq!(
        limit(&mut node, 9e9, "load = \"1kpps\"").0,
        Field::measured(false)
    );
}

#[test]
fn a_node_that_cannot_keep_the_rate_is_not_the_testers_fault() {
    let mut node = SimulatedNode::new(1e6);
    node.keeps_rate = false;
    let (kept, _) = run(
        &mut node,
        9e9,
        "[[matrix]]\nframe = 64\ndirection = \"tx\"\nload = \"1kpps\"",
    );
    assert_eq!(kept[0].tester.was_limit, Field::measured(false));
}

#[test]
fn an_unknown_ceiling_is_absent_and_no_verdict() {
    let mut kept: Vec<Observation> = Vec::new();
    run_plan(
        &mut SimulatedNode::new(1e6),
        &Plan::parse("[[matrix]]\nframe = 64", "p.toml").unwrap(),
        &mut NoCeiling("--no-ceiling was given".to_owned()),
        &(),
        &Cancel::new(),
        &mut kept,
    );
    let tester = &kept[0].tester;
    assert_eq!(
        tester.ceiling_frames_per_s,
        Field::absent("--no-ceiling was given")
    );
    assert_eq!(
        tester.was_limit,
        Field::absent("the tester's ceiling: --no-ceiling was given")
    );
}

/// The directions asked, and how often the trials that were kept say that they were asked.
fn repeated(node: &mut SimulatedNode, text: &str) -> (usize, Vec<Option<u64>>) {
    let (kept, _) = run(node, 9e9, text);
    let counter = |o: &Observation| Some(*o.counters.get(counter::ATTEMPTS)?.value().unwrap());
    (node.asked.len(), kept.iter().map(counter).collect())
}

#[test]
fn a_trial_that_the_tester_spoilt_is_asked_again_and_says_so() {
    let asked = "[[matrix]]\nframe = 64\ntime = \"1s\"\n";
    let slow = |capacity: f64| {
        let mut node = SimulatedNode::new(capacity);
        node.keeps_rate = false;
        node
    };
    let paced = format!("{asked}direction = \"rx\"\nload = \"1kpps\"");
    assert_eq!(repeated(&mut slow(1e6), &paced), (3, vec![Some(3)]));
    let mut good = SimulatedNode::new(1e6);
    assert_eq!(repeated(&mut good, &paced), (1, vec![None]));
    // What was found is not thrown away, and neither is a node that is slow itself.
    assert_eq!(repeated(&mut slow(500.0), &paced), (1, vec![None]));
    let sent = format!("{asked}direction = \"tx\"\nload = \"1kpps\"");
    assert_eq!(repeated(&mut slow(1e6), &sent), (1, vec![None]));
    // A host that is busy all the time does not hold a long run up: 2 repeats and a twentieth of its time.
    let many = format!("{paced}\nrepeat = 100");
    let (trials, kept) = repeated(&mut slow(1e6), &many);
    assert_eq!(kept.len(), 100);
    assert!((102..=106).contains(&trials), "{trials}");
}

#[test]
fn a_spoilt_trial_that_the_node_asked_again_by_itself_is_kept_as_it_is() {
    let mut node = SimulatedNode::new(1e6);
    node.keeps_rate = false;
    node.attempts = Some(1);
    let paced = "[[matrix]]\nframe = 64\ntime = \"1s\"\ndirection = \"rx\"\nload = \"1kpps\"";
    assert_eq!(repeated(&mut node, paced), (1, vec![Some(1)]));
}
