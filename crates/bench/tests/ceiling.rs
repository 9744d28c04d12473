//! The tester's own ceiling: when it is taken, and what it says of a trial.

use std::time::{Duration, Instant};

use crate::common::SimulatedNode;
use wirelab_bench::ceiling::{self, Bound};
use wirelab_bench::{CachedCeiling, Ceiling, NoCeiling, Plan, run_plan};
use wirelab_trial::*;

/// Run `text` on a node of 1 M frames/s with a tester of `ceiling`; the kept observations and the requests.
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
    let (was, warnings) = limit(&mut SimulatedNode::new(1e6), 1.1e6, "");
    assert_eq!(was, Field::measured(true));
    assert_eq!(warnings[0].code, "tester-was-limit");
    assert_eq!(
        warnings[0].text,
        "the tester was at its own ceiling, so the node may be faster than this"
    );
    let (was, warnings) = limit(&mut SimulatedNode::new(1e6), 1.12e6, "");
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

/// The directions requested, and how often the kept trials say that they were requested.
fn repeated(node: &mut SimulatedNode, text: &str) -> (usize, Vec<Option<u64>>) {
    let (kept, _) = run(node, 9e9, text);
    let counter =
        |o: &Observation| Some(*o.counters.get(Counter::ATTEMPTS.word())?.value().unwrap());
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
    // What was found is not discarded, and neither is a node that is slow itself.
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
fn a_spoilt_trial_that_the_node_repeated_on_its_own_is_kept_as_it_is() {
    let mut node = SimulatedNode::new(1e6);
    node.keeps_rate = false;
    node.attempts = Some(1);
    let paced = "[[matrix]]\nframe = 64\ntime = \"1s\"\ndirection = \"rx\"\nload = \"1kpps\"";
    assert_eq!(repeated(&mut node, paced), (1, vec![Some(1)]));
}

/// A trial at maximum load on a node of this rate, before it is judged.
fn seen_at(rate: f64) -> Observation {
    let max = Plan::parse("[[matrix]]\nframe = 64\ndirection = \"rx\"", "p.toml").unwrap();
    let mut kept: Vec<Observation> = Vec::new();
    let mut node = SimulatedNode::new(rate);
    let mut nobody = NoCeiling("judged later".to_owned());
    run_plan(&mut node, &max, &mut nobody, &(), &Cancel::new(), &mut kept);
    let mut seen = kept.remove(0);
    seen.tester.was_limit = Field::absent("judged later");
    seen
}

/// These observations, judged beside a tester that has these runs one after the other, and from the end of the list on the
/// last; and how many runs that took.
fn judge(mut seen: Vec<Observation>, runs: &[f64]) -> (Vec<Observation>, usize) {
    let mut taken = 0;
    let mut provider = |_: &Trial| {
        taken += 1;
        Field::measured(runs[(taken - 1).min(runs.len() - 1)])
    };
    let mut ceiling = CachedCeiling::new(&mut provider);
    seen.iter_mut().for_each(|o| ceiling.judge(o));
    (seen, taken)
}

fn judged(rates: &[f64], runs: &[f64]) -> (Vec<Observation>, usize) {
    judge(rates.iter().copied().map(seen_at).collect(), runs)
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
    let (seen, _) = judged(&[0.89e6], &[0.4e6, 1e6, 1e6]);
    assert_eq!(figures(&seen[0]), (1e6, 0.0, 0.1, false));
    let (seen, _) = judged(&[0.89e6], &[0.4e6, 0.9e6, 1e6]);
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
            assert_eq!(
                limited,
                reached == ceiling,
                "half of it is not near: {o:#?}"
            );
        }
    }
}

fn verdict(o: &Observation) -> bool {
    figures(o).3
}

#[test]
fn equal_trials_get_one_verdict() {
    // Ceilings of one tester, each in a process of its own: the runs agree within 1 %, and are 5 % apart from one process
    // to the next. A node that takes all of it is near in each, and one of 70 % in none.
    for best in [819_520.0, 830e3, 845e3, 861_201.0] {
        let runs = [best * 0.99, best, best * 0.995];
        for (rate, limited) in [
            (780e3, true),
            (819_520.0, true),
            (861_201.0, true),
            (904_532.0, true),
            (600e3, false),
        ] {
            let (seen, _) = judged(&[rate], &runs);
            assert_eq!(verdict(&seen[0]), limited, "{rate} beside {best}");
        }
    }
    // Earlier ceilings do not change it: alone, in another order, or gone on with, each has its own.
    let rates = [0.91e6, 0.89e6, 0.97e6, 0.9e6, 0.88e6, 0.91e6];
    let alone = rates.map(|rate| verdict(&judged(&[rate], &[1e6]).0[0]));
    let (together, taken) = judged(&rates, &[1e6]);
    let together: Vec<bool> = together.iter().map(verdict).collect();
    assert_eq!(together, alone);
    assert_eq!(taken, ceiling::RUNS, "one ceiling for all");
}

#[test]
fn half_of_a_ceiling_is_not_near_it_however_much_its_runs_differ() {
    for runs in [[1e6, 0.1e6, 0.1e6], [1e6, 0.5e6, 0.4e6]] {
        let (seen, _) = judged(&[0.5e6, 0.74e6, 0.76e6], &runs);
        let verdicts: Vec<bool> = seen.iter().map(verdict).collect();
        assert_eq!(verdicts, [false, false, true]);
    }
}

/// A trial of which this arrived, and whose sender reached that.
fn sent_and_arrived(direction: Direction, sent: f64, arrived: f64) -> Observation {
    let mut seen = seen_at(arrived);
    seen.trial.direction = direction;
    let flow = &mut seen.flows[0];
    flow.direction = direction;
    if let Field::Observed { value: sender, .. } = &mut flow.sender {
        sender.achieved_frames_per_s = Field::measured(sent);
    }
    seen
}

#[test]
fn no_ceiling_is_below_what_the_tester_sent_whether_tester_or_node_lost_it() {
    let runs = [819_520.0, 861_201.0];
    let ports = {
        let mut seen = sent_and_arrived(Direction::Transmit, 904_532.0, 500e3);
        seen.node.node_type = "ports".to_owned();
        seen
    };
    for seen in [
        sent_and_arrived(Direction::Receive, 904_532.0, 500e3),
        sent_and_arrived(Direction::Echo, 904_532.0, 500e3),
        ports,
    ] {
        let (seen, _) = judge(vec![seen], &runs);
        let (ceiling, spread, _, limited) = figures(&seen[0]);
        assert_eq!(ceiling, 904_532.0);
        assert!((spread - (1.0 - 861_201.0 / 904_532.0)).abs() < 1e-9);
        assert!(!limited, "what arrived is far below");
    }
    // What a node says that it sent is not a rate of the tester.
    let node = sent_and_arrived(Direction::Transmit, 904_532.0, 500e3);
    assert_eq!(figures(&judge(vec![node], &runs).0[0]).0, 861_201.0);
}

#[test]
fn a_burst_that_a_queue_took_in_is_no_ceiling_of_the_trials_behind_it() {
    let mut burst = sent_and_arrived(Direction::Receive, 9e6, 500e3);
    burst.trial.extent = Extent::Frames { frames: 10 };
    burst.flows[0].sent_frames = Field::measured(10);
    let after = seen_at(500e3);
    let (seen, taken) = judge(vec![burst, after], &[1e6]);
    assert_eq!((figures(&seen[0]).0, figures(&seen[1]).0), (9e6, 1e6));
    assert_eq!(taken, ceiling::RUNS);
}

/// A stream of an iperf peer: bytes, and no frames.
fn stream(frames_per_s: f64) -> Observation {
    let mut seen = sent_and_arrived(Direction::Receive, 1.0, 1.0);
    seen.trial.framing.layer = Layer::TcpIpv4;
    seen.trial.size = Size::new(SizeUnit::Datagram, 1460);
    seen.sizes = seen.trial.sizes().unwrap();
    let flow = &mut seen.flows[0];
    flow.frames_per_s = Field::absent("a stream has no frames");
    flow.sender = Field::absent("a stream has no frames");
    flow.goodput_bits_per_s = Field::measured(frames_per_s * 8.0 * 1460.0);
    seen
}

#[test]
fn a_stream_without_frames_is_judged_by_its_bytes() {
    for (rate, ceiling, limited) in [
        (500e3, 1e6, false),
        (950e3, 1e6, true),
        (7_484e3, 7_484e3, true),
    ] {
        let (seen, _) = judge(vec![stream(rate)], &[1e6]);
        let (found, _, _, was) = figures(&seen[0]);
        assert!((found / ceiling - 1.0).abs() < 1e-9 && was == limited);
    }
}

#[test]
fn without_a_rate_the_verdict_says_why_there_is_none() {
    let mut without = stream(1.0);
    without.flows[0].goodput_bits_per_s = Field::absent("no byte was transferred");
    let mut emulated = seen_at(5e5);
    emulated.flows[0].frames_per_s = Field::Observed {
        value: 5e5,
        kind: Kind::Emulated,
    };
    let (seen, _) = judge(vec![without, emulated], &[1e6]);
    let why = seen.iter().map(|o| match &o.tester.was_limit {
        Field::Absent { absent } => absent.as_str(),
        other => panic!("{other:?}"),
    });
    let why: Vec<&str> = why.collect();
    assert_eq!(
        why,
        [
            "no rate to compare with the tester's ceiling: a stream has no frames",
            "the rate is emulated, which is not compared with a measured ceiling"
        ]
    );
}

/// A tester whose runs were made so long ago.
struct Aged(Duration, usize);

impl Ceiling for Aged {
    fn frames_per_s(&mut self, _: &Trial) -> Field<f64> {
        Field::measured(1e6)
    }

    fn bound(&mut self, trial: &Trial) -> Bound {
        self.1 += 1;
        Bound {
            frames_per_s: self.frames_per_s(trial),
            spread_ratio: 0.0,
            taken: Instant::now().checked_sub(self.0),
        }
    }
}

#[test]
fn a_ceiling_that_is_old_is_taken_again() {
    for (age, taken) in [(Duration::ZERO, 1), (Duration::from_secs(3_600), 3)] {
        let mut tester = Aged(age, 0);
        let mut cached = CachedCeiling::new(&mut tester);
        for _ in 0..3 {
            cached.judge(&mut seen_at(5e5));
        }
        assert_eq!(tester.1, taken, "{age:?}");
    }
    // The age is that of the runs, also where one cache asks another.
    let mut tester = Aged(Duration::from_secs(3_600), 0);
    let mut run = CachedCeiling::new(&mut tester);
    for _ in 0..2 {
        CachedCeiling::new(&mut run).judge(&mut seen_at(5e5));
    }
    assert_eq!(tester.1, 2);
}
