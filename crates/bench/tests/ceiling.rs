//! The tester's own ceiling: when it is taken, and what it says of a trial.

mod common;

use common::SimulatedNode;
use wirelab_bench::{NoCeiling, Plan, ceiling, run_plan};
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
fn it_is_taken_for_each_kind_of_trial() {
    let (kept, asked) = run(
        &mut SimulatedNode::new(1e6),
        5e6,
        "[[matrix]]\nframe = [64, 512]\nload = [\"max\", \"10%\"]\ndirection = [\"tx\", \"rx\"]\nports = [1, 2]\n\
         vlan = [0, 1]\nrepeat = 3\nrate = \"1G\"\ninject = { drop = 0.1 }\nbuffers = [\"copied\", \"in-place\"]",
    );
    assert_eq!(kept.len(), 2 * 2 * 2 * 2 * 2 * 3 * 2);
    assert_eq!(asked.len(), 2 * 2 * 2 * 2 * ceiling::RUNS);
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

/// The observations of trials at maximum load on nodes of these rates, with a tester that has these runs one after the
/// other, and from the end of the list on the last.
fn judged(rates: &[f64], runs: &[f64]) -> (Vec<Observation>, usize) {
    let mut taken = 0;
    let mut provider = |_: &Trial| {
        taken += 1;
        Field::measured(runs[(taken - 1).min(runs.len() - 1)])
    };
    let mut ceiling = wirelab_bench::CachedCeiling::new(&mut provider);
    let max = Plan::parse("[[matrix]]\nframe = 64\ndirection = \"rx\"", "p.toml").unwrap();
    let judged = rates.iter().map(|rate| {
        let mut kept: Vec<Observation> = Vec::new();
        let mut node = SimulatedNode::new(*rate);
        run_plan(
            &mut node,
            &max,
            &mut NoCeiling("judged later".to_owned()),
            &(),
            &Cancel::new(),
            &mut kept,
        );
        let mut seen = kept.remove(0);
        seen.tester.was_limit = Field::absent("judged later");
        ceiling.judge(&mut seen);
        seen
    });
    (judged.collect(), taken)
}

fn figures(o: &Observation) -> (f64, f64, f64, bool) {
    let t = &o.tester;
    let value = |field: &Field<f64>| *field.value().unwrap();
    (
        value(&t.ceiling_frames_per_s),
        value(&t.ceiling_spread_ratio),
        value(&t.ceiling_margin_ratio),
        *t.was_limit.value().unwrap(),
    )
}

#[test]
fn the_best_of_several_runs_is_the_ceiling_and_its_spread_widens_the_margin() {
    // One run was held up: the two best agree.
    let (seen, _) = judged(&[0.94e6], &[0.4e6, 1e6, 1e6]);
    assert_eq!(figures(&seen[0]), (1e6, 0.0, 0.05, false));
    let (seen, _) = judged(&[0.94e6], &[0.4e6, 0.9e6, 1e6]);
    let (ceiling, spread, margin, limited) = figures(&seen[0]);
    assert_eq!((ceiling, limited), (1e6, true));
    assert!((spread - 0.1).abs() < 1e-9 && (margin - 0.15).abs() < 1e-9);
}

#[test]
fn no_trial_is_faster_than_the_ceiling_beside_it() {
    // 7,484 against 1,441: the runs are made again, and what was reached is the least that it can be.
    let (seen, taken) = judged(&[7_484.0], &[1_441.0, 1_300.0, 1_441.0, 8_000.0]);
    assert_eq!(figures(&seen[0]).0, 8_000.0);
    assert_eq!(taken, 2 * ceiling::RUNS);
    for (runs, rate) in [
        (&[1_441.0][..], 7_484.0),
        (&[3.26e6], 3.9e6),
        (&[1.0, 2.0], 1e9),
    ] {
        let (seen, _) = judged(&[rate, rate / 2.0, rate], runs);
        for o in &seen {
            let reached = *o.flows[0].frames_per_s.value().unwrap();
            let (ceiling, _, _, limited) = figures(o);
            assert!(reached <= ceiling, "{reached} over a ceiling of {ceiling}");
            assert!(limited || reached < 0.95 * ceiling, "{o:#?}");
        }
    }
}

#[test]
fn equal_trials_get_one_verdict() {
    // 1 % of noise around the edge of the margin, begun on either side of it.
    for first in [0.952e6, 0.948e6] {
        let rates = [first, 0.945e6, 0.955e6, 0.948e6, 0.952e6];
        let (seen, taken) = judged(&rates, &[1e6]);
        let verdicts: Vec<bool> = seen.iter().map(|o| figures(o).3).collect();
        assert_eq!(verdicts, [first > 0.95e6; 5]);
        assert_eq!(taken, ceiling::RUNS, "one ceiling for all");
    }
    // What is not equal is told apart.
    let (seen, _) = judged(&[0.96e6, 0.8e6, 0.96e6, 0.99e6], &[1e6]);
    let verdicts: Vec<bool> = seen.iter().map(|o| figures(o).3).collect();
    assert_eq!(verdicts, [true, false, false, true]);
}
