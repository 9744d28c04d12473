//! Plans with searches: how they are read, in which order they run, and what is kept of them.

use std::sync::Mutex;

use crate::common::environment;
use crate::search_common::CurveNode;
use wirelab_bench::part::PartWork;
use wirelab_bench::{
    Ended, NoCeiling, Plan, PlanOutcome, ResultsWriter, parts, plan_estimate_ps, run_plan,
};
use wirelab_trial::search::*;
use wirelab_trial::*;

fn plan(text: &str) -> Plan {
    Plan::parse(text, "p.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str) -> String {
    Plan::parse(text, "p.toml").unwrap_err().to_string()
}

fn run(node: &mut dyn Node, plan: &Plan) -> (PlanOutcome, ResultsFile) {
    let mut writer = ResultsWriter::create(None, environment(), Vec::new(), "0.1.0", 7).unwrap();
    let mut ceiling = NoCeiling("not measured in this test".to_owned());
    let outcome = run_plan(node, plan, &mut ceiling, &(), &Cancel::new(), &mut writer);
    let done = outcome.is_done();
    (outcome, writer.finish(!done).unwrap())
}

fn names(file: &ResultsFile) -> Vec<&str> {
    file.parts.iter().map(|part| part.name.as_str()).collect()
}

fn rates(part: &Part) -> &SearchResult {
    match &part.found {
        Some(SearchOutcome::Rates(result)) => result,
        other => panic!("{}: {other:?}", part.name),
    }
}

/// All four kinds, interleaved.
const MIXED: &str = r#"
title = "mixed"
[[search]]
name = "rates"
frame = [64, 512]
loss = ["0 %", "2.5 %"]
time = "1s"
around = ["50 %", "90 %", "110 %"]

[[matrix]]
name = "before the curve"
frame = 64
load = "1kpps"
direction = "receive"

[[loss_curve]]
frame = 64

[[bursts]]
frame = 64

[[matrix]]
frame = 64
direction = "receive"
load = "2kpps"
"#;

#[test]
fn sections_of_all_kinds_run_in_the_order_of_the_file() {
    let mut node = CurveNode::of_capacity(200e3);
    let (outcome, file) = run(&mut node, &plan(MIXED));
    assert!(outcome.is_done(), "{outcome:?}");
    assert_eq!(
        names(&file),
        [
            "rates, frame 64",
            "rates, frame 64, around",
            "rates, frame 512",
            "rates, frame 512, around",
            "before the curve",
            "loss curve 1",
            "bursts 1",
            "matrix 2"
        ]
    );
    assert_eq!(
        (outcome.complete, outcome.searched, outcome.not_run),
        (8, 4, 0)
    );
    let mut end = 0;
    for part in &file.parts {
        assert_eq!(part.first, end, "{}", part.name);
        assert!(part.observations > 0 && part.refused.is_none());
        end += part.observations;
    }
    assert_eq!(end, file.observations.len() as u64);
    assert!(!file.interrupted);
    let Some(SearchOutcome::Bursts(bursts)) = &file.parts[6].found else {
        panic!("the bursts");
    };
    let throughput = &rates(&file.parts[0]).goals[0].conditional_throughput_frames_per_s;
    assert_eq!(throughput.value(), Some(&bursts.throughput_frames_per_s));
}

#[test]
fn trials_go_around_the_rate_that_was_found() {
    let mut node = CurveNode::of_capacity(200e3);
    let (_, file) = run(&mut node, &plan(MIXED));
    let (search, around) = (&file.parts[0], &file.parts[1]);
    let most_loss = &rates(search).goals[1];
    let found = *most_loss.relevant_lower_bound_frames_per_s.value().unwrap();
    assert!((200e3..206e3).contains(&found), "{found}");
    let loads: Vec<f64> = around
        .of(&file.observations)
        .iter()
        .map(|o| match o.trial.load {
            Load::BitRate { bits_per_s } => bits_per_s,
            other => panic!("{other}"),
        })
        .collect();
    // 64-byte frames take 84 bytes of the link: 50, 90 and 110 % of about 136 Mbit/s.
    assert_eq!(loads, [68e6, 120e6, 150e6]);
    let trial = &around.of(&file.observations)[0].trial;
    assert_eq!(
        trial.extent,
        Extent::Time {
            time_ps: 1_000_000_000_000
        }
    );
}

#[test]
fn what_was_found_survives_noise_and_a_curve_that_is_not_monotone() {
    // Loses 1 % in a band of loads below its capacity, and each rate is noisy by a thousandth.
    let mut node = CurveNode::new(|load, _, rng| {
        let noise = (rng.uniform() - 0.5) * 2e-3;
        match load {
            l if (60e3..90e3).contains(&l) => 0.01,
            l => (1.0 - 200e3 * (1.0 + noise) / l).max(0.0),
        }
    });
    let text = "[[search]]\nframe = 64\nloss = [\"0 %\", \"2.5 %\"]\ntrials = 3\nexceed = \"40 %\"\nload = \"400kpps\"\naround = [\"50 %\"]";
    let (outcome, file) = run(&mut node, &plan(text));
    assert!(outcome.is_done(), "{outcome:?}");
    let result = rates(&file.parts[0]);
    let [none, some] = &result.goals[..] else {
        panic!("two goals");
    };
    let value = |field: &Field<f64>| *field.value().unwrap();
    let loss_free = value(&none.relevant_lower_bound_frames_per_s);
    assert!(
        loss_free < 60e3 || (90e3..201e3).contains(&loss_free),
        "{loss_free}"
    );
    let at_loss = value(&some.relevant_lower_bound_frames_per_s);
    assert!((190e3..211e3).contains(&at_loss), "{at_loss}");
    assert_eq!(file.parts[1].observations, 1);
}

#[test]
fn bursts_search_the_throughput_they_rest_on() {
    let mut node =
        CurveNode::new(|load, sent, _| f64::from(u8::from(sent > 1_000 && load > 100e3)) * 0.5);
    let text = "[[bursts]]\nframe = 64\nlongest = \"10ms\"\ntime = \"500ms\"";
    let (outcome, file) = run(&mut node, &plan(text));
    assert!(outcome.is_done(), "{outcome:?}");
    assert_eq!(names(&file), ["bursts 1, throughput", "bursts 1"]);
    let Some(SearchOutcome::Bursts(bursts)) = &file.parts[1].found else {
        panic!("the bursts");
    };
    assert_eq!(bursts.lengths.value().unwrap().mean_frames, 1_000.0);
    assert!(bursts.throughput_frames_per_s <= 100e3);

    // Without a link there is no line rate.
    let mut node = CurveNode::of_capacity(200e3).without_link();
    node.sender_frames_per_s = 1e6;
    let (outcome, file) = run(&mut node, &plan(text));
    assert!(outcome.is_done(), "{outcome:?}");
    assert_eq!((outcome.searched, outcome.search_refused), (1, 1));
    let why = file.parts[1].refused.as_deref().unwrap();
    assert!(
        why.contains("no line rate; fix: give it with --rate"),
        "{why}"
    );
}

#[test]
fn a_rate_that_is_not_there_leaves_nothing_to_go_around() {
    let mut node = CurveNode::new(|_, _, _| 0.5);
    let text = "[[search]]\nname = \"none\"\nframe = 64\naround = [\"50 %\", \"110 %\"]\n[[matrix]]\nframe = 64";
    let (outcome, file) = run(&mut node, &plan(text));
    assert!(outcome.is_done());
    assert_eq!(
        rates(&file.parts[0]).goals[0].outcome,
        Outcome::NoLowerBound
    );
    assert_eq!(
        file.parts[1].refused.as_deref(),
        Some("no rate was found, so there are no trials around it")
    );
    assert_eq!((outcome.complete, outcome.not_run), (1, 0));
}

/// A node that cannot do one layer, or may not.
struct Declines<N>(N, bool);

impl<N: Node> Node for Declines<N> {
    fn describe(&self) -> Description {
        self.0.describe()
    }
    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        match trial.framing.layer {
            Layer::UdpIpv4 if self.1 => Err(NodeError::Privilege("CAP_NET_RAW is missing".into())),
            Layer::UdpIpv4 => Err(Unsupported {
                field: Some(TrialField::Layer),
                why: "it has no IP stack".to_owned(),
            }
            .into()),
            _ => self.0.run(trial, progress, cancel),
        }
    }
}

#[test]
fn what_the_node_cannot_do_is_shown_and_the_plan_goes_on() {
    let text = "datasheet = true\n[[search]]\nlayer = \"udp4\"\ndatagram = 64\nwarmup = \"1s\"\n[[search]]\nlayer = \"udp4\"\ndatagram = 65\n[[matrix]]\nlayer = [\"udp4\", \"ethernet\"]\nframe = 128";
    for lacks_privilege in [false, true] {
        let mut node = Declines(CurveNode::of_capacity(200e3), lacks_privilege);
        let (outcome, file) = run(&mut node, &plan(text));
        assert!(outcome.is_done(), "{outcome:?}");
        assert_eq!((outcome.complete, outcome.unsupported), (1, 3));
        for part in &file.parts[..2] {
            let ended = &rates(part).ended;
            let SearchEnded::Unsupported { why } = ended else {
                panic!("{ended:?}");
            };
            let [only] = part.of(&file.observations) else {
                panic!("one observation says why");
            };
            assert_eq!(only.warnings[0].code, "unsupported");
            assert_eq!(&only.warnings[0].text, why);
        }
    }
    // Of another plan a missing privilege ends the listed trials.
    let text = "[[matrix]]\nlayer = [\"udp4\", \"ethernet\"]\nframe = 128";
    let mut node = Declines(CurveNode::of_capacity(200e3), true);
    let (outcome, _) = run(&mut node, &plan(text));
    assert!(matches!(
        outcome.ended,
        Ended::Failed(NodeError::Privilege(_))
    ));
}

#[test]
fn a_node_that_is_gone_ends_the_plan() {
    let mut node = CurveNode::of_capacity(200e3);
    node.fails_from = 8;
    let (outcome, file) = run(&mut node, &plan(MIXED));
    assert!(matches!(outcome.ended, Ended::Failed(NodeError::Failed(_))));
    assert!(file.interrupted);
    assert_eq!(file.parts.len(), 1);
    assert_eq!(rates(&file.parts[0]).goals[0].outcome, Outcome::Unfinished);
}

#[derive(Default)]
struct ProgressLog(Mutex<Vec<(u64, u64)>>);

impl Progress for ProgressLog {
    fn report(&self, done: u64, total: u64, what: &str) {
        assert!(what.ends_with(" left"), "{what}");
        self.0.lock().unwrap().push((done, total));
    }
}

#[test]
fn progress_shrinks_where_a_search_needs_less_than_it_might() {
    let log = ProgressLog::default();
    let text = "[[search]]\nframe = 64\n[[matrix]]\nframe = 64\ntime = \"10s\"";
    let (plan, mut node) = (plan(text), CurveNode::of_capacity(200e3));
    let most_ms =
        plan_estimate_ps(&plan, &node.describe().capabilities, 0).unwrap() / 1_000_000_000;
    let mut ceiling = NoCeiling("not measured in this test".to_owned());
    let mut kept = Vec::new();
    run_plan(
        &mut node,
        &plan,
        &mut ceiling,
        &log,
        &Cancel::new(),
        &mut kept,
    );
    let log = log.0.into_inner().unwrap();
    assert!(log.windows(2).all(|w| w[0].0 <= w[1].0), "never back");
    assert!(
        log.iter()
            .all(|(done, total)| done <= total && *total <= most_ms)
    );
    let searched_ms = 1_000 * (kept.len() as u64 - 1);
    let last = log.last().unwrap().1;
    assert_eq!(last, searched_ms + 10_000);
    assert!(last < most_ms, "{last} of {most_ms}");
}

#[test]
fn every_key_is_read() {
    let plan = plan(
        r#"
[[search]]
name = "all keys"
layer = "udp4"
vlan = 1
datagram = [64, 1470]
direction = ["receive", "transmit"]
ports = 2
rate = "1G"
load = "50%"
loss = ["2.5 %", "0 %"]
time = "10s"
trials = 21
exceed = "50 %"
width = "3 %"
short = "1s"
min_load = "100pps"
warmup = "2s"
max_trials = 77
max_time = "1h"
around = ["110 %"]
[[loss_curve]]
payload = 100
step = "2.5 %"
time = "3s"
max_time = "5m"
[[bursts]]
length = 100
direction = "echo"
repeats = 60
longest = "1s"
resolution = 8
max_trials = 9000
max_time = "10m"
time = "3s"
"#,
    );
    let parts = parts(&plan, 4).unwrap();
    let asks: Vec<String> = parts.iter().map(|part| format!("{part:#?}")).collect();
    assert_eq!(asks.len(), 4 * 2 + 1 + 2);
    assert!(matches!(&parts[9].what, PartWork::Rates(of, _) if of.trial.ports == 4));
    insta::assert_snapshot!(
        [&asks[0], &asks[1], &asks[8], &asks[10]]
            .map(String::as_str)
            .join("\n")
    );
}

#[test]
fn what_is_wrong_is_named_with_its_place_and_the_fix() {
    for (lines, error) in [
        (
            "[[serch]]\nframe = 64",
            "p.toml:1:3: serch: no such key; did you mean 'search'? fix: write one of title, node, datasheet, matrix, search, loss_curve, bursts",
        ),
        (
            "[[search]]",
            "p.toml:1:1: search: it has no size; fix: write frame = [64, 1518], or length, payload or datagram",
        ),
        (
            "[[search]]\nframe = 64\nlos = \"0 %\"",
            "p.toml:3:1: search.los: no such key; did you mean 'loss'? ",
        ),
        (
            "[[search]]\nframe = 64\nloss = 0.025",
            "p.toml:3:8: search.loss: invalid value 0.025; fix: write a share from 0 to 99 percent in quotes, e.g. \"2.5 %\"",
        ),
        (
            "[[search]]\nframe = 64\nloss = \"100 %\"",
            "p.toml:3:8: search.loss: invalid value \"100 %\"; fix: write a share from 0 to 99 percent",
        ),
        (
            "[[search]]\nframe = 64\nloss = [\"1 %\", \"1%\"]",
            "p.toml:3:16: search.loss: it is in the list twice",
        ),
        (
            "[[search]]\nframe = 64\nwidth = \"0 %\"",
            "p.toml:3:9: search.width: invalid value \"0 %\"; fix: write a share from 0.01 to 50 percent",
        ),
        (
            "[[search]]\nframe = 64\ntime = \"0s\"",
            "p.toml:3:8: search.time: it must be above 0; fix: write e.g. \"1s\"",
        ),
        (
            "[[search]]\nframe = 64\ntime = \"1s\"\nshort = \"1s\"",
            "p.toml:4:9: search.short: short trials are shorter than time",
        ),
        (
            "[[search]]\nframe = 64\naround = [\"0 %\"]",
            "p.toml:3:11: search.around: invalid value \"0 %\"; fix: write a share from 1 to 1000 percent",
        ),
        (
            "[[search]]\nframe = 64\nmin_load = \"1M\"",
            "p.toml:3:12: search.min_load: invalid value \"1M\"; fix: write frames/s, e.g. \"100pps\"",
        ),
        (
            "[[search]]\nlayer = \"tcp4\"\ndatagram = 1460",
            "p.toml:2:9: search.layer: TCP retransmits lost data",
        ),
        (
            "[[search]]\nframe = 64\nrate = \"100M\"\nload = \"1Mpps\"",
            "p.toml:4:8: search.load: at frame 64: a load of 1000000pps is 1000000 frames/s, but a link",
        ),
        (
            "[[loss_curve]]\nframe = 64\nstep = \"20 %\"",
            "p.toml:3:8: loss_curve.step: invalid value \"20 %\"; fix: write a share from 0.1 to 10 percent",
        ),
        (
            "[[bursts]]\nframe = 64\nrepeats = 49",
            "p.toml:3:11: bursts.repeats: invalid value 49; fix: write a whole number from 50 to 1000",
        ),
        (
            "[[bursts]]\nframe = 64\ndirection = \"tx\"",
            "p.toml:3:13: bursts.direction: the tester sends bursts to the node; fix: write \"receive\" or \"echo\"",
        ),
        (
            "[[bursts]]\nname = \"x\"\nframe = 64\n[[matrix]]\nname = \"x\"\nframe = 64",
            "p.toml:5:8: matrix.name: 'x' is the name of another section too",
        ),
        (
            "search = 5",
            "p.toml:1:10: search: it is not a list of sections; fix: write each search as a section of its own, [[search]]",
        ),
        (
            "datasheet = 1",
            "p.toml:1:13: datasheet: invalid value 1; fix: write true or false",
        ),
    ] {
        let text = refused(lines);
        assert!(text.starts_with(error), "{text}\nis not\n{error}");
    }
    let many = format!("[[search]]\nframe = {:?}", (64..1_100).collect::<Vec<_>>());
    assert!(refused(&many).contains("1036 searches, and the maximum is 1000"));
}
