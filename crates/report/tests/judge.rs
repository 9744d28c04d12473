//! The table of `docs/exit-status.md`, row by row: the status, the failures of JUnit and the column of CSV are one judgement.

use crate::common;
use wirelab_report::judge::{End, GoalClass, judge};
use wirelab_report::{Format, Options, render, verdict};
use wirelab_trial::search::{Outcome, SearchEnded};
use wirelab_trial::{
    Counts, Direction, FaultRates, Field, Observation, ResultsFile, SearchOutcome, Status, Warning,
    WarningCode,
};
use wirelab_wire::Layer;

fn failures(file: &ResultsFile) -> usize {
    let text = render(file, Format::Junit, &Options::default());
    let count = text.split("failures=\"").nth(1).unwrap();
    count.split('"').next().unwrap().parse().unwrap()
}

/// Whether it passes, by every format that says so, which must agree.
fn passes(file: &ResultsFile) -> bool {
    let judged = judge(file);
    let passed = judged.passed();
    assert_eq!(failures(file) == 0, passed, "JUnit: {judged:?}");
    let html = render(file, Format::Html, &Options::default());
    assert_eq!(!html.contains("✗ Not clean."), passed, "HTML: {judged:?}");
    if wirelab_report::datasheet::is_datasheet(file) {
        sheet_agrees(file, passed);
    }
    let csv = render(file, Format::Csv, &Options::default());
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let place = |name: &str| headers.iter().position(|n| n == name).unwrap();
    let (column, whole) = (place("passed"), place("run_passed"));
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    for row in rows {
        let trial: usize = row[0].parse().unwrap();
        let failed = matches!(judged.trials[trial - 1], End::Failed(..));
        assert_eq!(&row[column] == "true", !failed, "CSV: {judged:?}");
        assert_eq!(&row[whole] == "true", passed, "CSV: {judged:?}");
    }
    let said = verdict(file);
    if file.observations.is_empty() {
        assert!(!passed && said == "No trial was run.", "{said}");
        return passed;
    }
    let bad = judged
        .trials
        .iter()
        .any(|end| matches!(end, End::Failed(..)));
    assert_eq!(!said.contains("none with a fault"), bad, "{said}");
    let searched = judged
        .goals
        .iter()
        .filter(|goal| goal.class == GoalClass::Search);
    let missed = searched.filter(|goal| goal.end.is_failed()).count() > 0;
    assert_eq!(said.contains("searched not found"), missed, "{said}");
    assert_eq!(said.contains("ended before its plan"), file.interrupted);
    passed
}

/// A datasheet says at its head what the exit status says, in each of its formats.
fn sheet_agrees(file: &ResultsFile, passed: bool) {
    for format in [
        Format::Datasheet,
        Format::DatasheetMarkdown,
        Format::DatasheetHtml,
    ] {
        let page = render(file, format, &Options::default());
        let head = page.split("Setup Details").next().unwrap();
        assert_eq!(!head.contains("✗ Not clean."), passed, "{format}: {head}");
        let sound = ["✓ Passed.", "– Tester limited."];
        let sound = sound.iter().any(|words| head.contains(words));
        assert_eq!(sound, passed, "{format}: {head}");
    }
    let json = render(file, Format::DatasheetJson, &Options::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["passed"], passed);
    let csv = render(file, Format::DatasheetCsv, &Options::default());
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let at = reader
        .headers()
        .unwrap()
        .iter()
        .position(|n| n == "run_passed");
    for row in reader.records().map(Result::unwrap) {
        assert_eq!(&row[at.unwrap()] == "true", passed);
    }
}

/// One trial without a fault.
fn one(change: impl FnOnce(&mut Observation)) -> ResultsFile {
    let mut file = common::lab();
    file.observations.truncate(1);
    file.parts.clear();
    file.interrupted = false;
    file.observations[0].flows.truncate(1);
    change(&mut file.observations[0]);
    file
}

fn counts(o: &mut Observation) -> &mut Counts {
    match &mut o.flows[0].counts {
        Field::Observed { value, .. } => value,
        Field::Absent { .. } => panic!("not counted"),
    }
}

fn void(o: &mut Observation, code: WarningCode) {
    o.status = Status::Void {
        why: "so it is".to_owned(),
    };
    o.warnings.push(Warning::new(code, "so it is", "change it"));
}

/// A peer that counts no content, asked over this layer.
fn uncounted(o: &mut Observation, layer: Layer) {
    o.trial.framing.layer = layer;
    let flow = &mut o.flows[0];
    flow.direction = Direction::Receive;
    flow.counts = Field::absent("iperf checks no content");
    flow.loss_ratio = Field::absent("not measured");
    flow.series.clear();
    o.series.clear();
}

#[test]
fn each_listed_trial_ends_as_the_table_says() {
    assert!(passes(&one(|_| {})), "clean");
    assert!(
        !passes(&one(|o| {
            counts(o).lost_frames = 1;
            counts(o).distinct_sequences -= 1;
        })),
        "loss"
    );
    assert!(
        !passes(&one(|o| void(o, WarningCode::SENDER_BELOW_RATE))),
        "void"
    );
    assert!(
        !passes(&one(|o| void(o, WarningCode::UNSUPPORTED))),
        "unsupported"
    );
    assert!(!passes(&one(|o| o.status = Status::cancelled())), "partial");
    let mut cut = one(|_| {});
    cut.interrupted = true;
    assert!(!passes(&cut) && failures(&cut) == 1, "interrupted");
    assert!(!passes(&common::file(vec![])), "nothing was requested");
}

#[test]
fn what_was_requested_and_not_available_is_a_failure() {
    // TCP shows a rate, and has no loss that could be counted.
    assert!(
        passes(&one(|o| uncounted(o, Layer::TcpIpv4))),
        "TCP with a rate"
    );
    assert!(
        !passes(&one(|o| uncounted(o, Layer::UdpIpv4))),
        "UDP without a loss"
    );
    assert!(
        passes(&one(|o| {
            uncounted(o, Layer::UdpIpv4);
            o.flows[0].loss_ratio = Field::measured(0.0);
        })),
        "UDP with the peer's loss"
    );
    assert!(
        !passes(&one(|o| {
            uncounted(o, Layer::UdpIpv4);
            o.flows[0].loss_ratio = Field::measured(0.25);
        })),
        "a loss that the peer reports"
    );
    // The server died: it sent no report.
    let dead = one(|o| {
        uncounted(o, Layer::TcpIpv4);
        o.flows[0].without_rates("the peer sent no report");
    });
    assert!(!passes(&dead), "no figure at all");
    assert!(verdict(&dead).contains("without the requested figure (1)"));
}

#[test]
fn faults_that_were_injected_must_be_found_exactly() {
    let faulty = |differ: u64| {
        let mut file =
            ResultsFile::parse(include_str!("../../../spec/examples/ports.json")).unwrap();
        file.observations.remove(0);
        assert_ne!(file.observations[0].trial.faults, FaultRates::default());
        if let Field::Observed { value, .. } = &mut file.observations[0].flows[0].sender {
            value.ledger.as_mut().unwrap().lost_frames += differ;
        }
        file
    };
    assert!(passes(&faulty(0)));
    assert!(!passes(&faulty(1)));
}

fn damaged(o: &mut Observation) {
    let c = counts(o);
    c.good_frames -= 1;
    c.corrupted_frames += 1;
}

fn lossy(o: &mut Observation) {
    let c = counts(o);
    c.lost_frames = 1;
    c.distinct_sequences -= 1;
    c.received_frames -= 1;
    c.good_frames -= 1;
}

/// What the tester's own queue dropped, for certain or perhaps.
fn missed(o: &mut Observation, for_certain: bool) {
    let c = counts(o);
    match for_certain {
        true => c.missed_frames = 1,
        false => c.lost_or_missed_frames = 1,
    }
    c.distinct_sequences -= 1;
    c.received_frames -= 1;
    c.good_frames -= 1;
}

/// A copy of a frame that came twice; one so late that it may be a copy is counted separately.
fn came_again(o: &mut Observation, too_late: bool) {
    let c = counts(o);
    match too_late {
        true => c.too_late_frames = 1,
        false => c.duplicated_frames = 1,
    }
    c.received_frames += 1;
    c.good_frames += 1;
}

fn reordered(o: &mut Observation) {
    let c = counts(o);
    c.reordered_frames = 1;
    c.reordering_extent_frames = 1;
}

fn told_by_the_peer(o: &mut Observation, loss: Option<f64>) {
    uncounted(o, Layer::UdpIpv4);
    if let Some(loss) = loss {
        o.flows[0].loss_ratio = Field::measured(loss);
    }
}

fn dead(o: &mut Observation) {
    uncounted(o, Layer::UdpIpv4);
    o.flows[0].without_rates("the peer sent no report");
}

/// A row of the first table: an outcome, and whether a listed trial, one of a search and one of a datasheet pass with it.
type TableRow = (&'static str, fn(&mut Observation), [bool; 3]);

const TABLE: [TableRow; 16] = [
    ("clean", |_| {}, [true, true, true]),
    ("lost", lossy, [false, true, true]),
    (
        "missed by the tester",
        |o| missed(o, true),
        [false, true, true],
    ),
    ("lost or missed", |o| missed(o, false), [false, true, true]),
    ("late", |o| came_again(o, true), [false, true, true]),
    ("twice", |o| came_again(o, false), [false, true, true]),
    ("out of order", reordered, [false, true, true]),
    ("damaged", damaged, [false, false, false]),
    (
        "contradicting",
        |o| counts(o).received_frames += 1,
        [false, false, false],
    ),
    (
        "a loss that the peer reports",
        |o| told_by_the_peer(o, Some(0.25)),
        [false, true, true],
    ),
    (
        "no loss reported",
        |o| told_by_the_peer(o, None),
        [false, true, true],
    ),
    ("no figure at all", dead, [false, true, false]),
    (
        "partial",
        |o| o.status = Status::cancelled(),
        [false, false, false],
    ),
    (
        "void",
        |o| void(o, WarningCode::SENDER_BELOW_RATE),
        [false, true, false],
    ),
    (
        "node failed",
        |o| void(o, WarningCode::NODE_FAILED),
        [false; 3],
    ),
    (
        "unsupported",
        |o| void(o, WarningCode::UNSUPPORTED),
        [false, true, true],
    ),
];

#[test]
fn each_outcome_has_its_status_wherever_the_trial_was_asked() {
    let page = common::am263x::page();
    let searched = page.parts.iter().find(|part| part.found.is_some()).unwrap();
    let in_search = searched.first as usize;
    let of_page = |o: &Observation| o.trial.direction == Direction::Receive && !o.flows.is_empty();
    let in_page = page.observations.iter().enumerate().position(|(at, o)| {
        let asked = page.parts.iter().find(|part| {
            (part.first..part.first + part.observations).contains(&(at as u64))
                && part.found.is_none()
        });
        asked.is_some() && of_page(o) && o.flows[0].counts.value().is_some()
    });
    let places = [in_search, in_page.unwrap()];
    for (what, change, expected) in TABLE {
        assert_eq!(passes(&one(change)), expected[0], "listed: {what}");
        for (at, expected) in places.into_iter().zip(&expected[1..]) {
            let mut file = page.clone();
            file.interrupted = false;
            file.observations[at].flows.truncate(1);
            change(&mut file.observations[at]);
            assert!(wirelab_report::datasheet::is_datasheet(&file));
            assert_eq!(passes(&file), *expected, "trial {at}: {what}");
            file.interrupted = true;
            assert!(!passes(&file), "trial {at}: {what}, interrupted");
        }
    }
}

#[test]
fn searches_fail_where_a_goal_was_not_found_and_never_for_what_they_lose() {
    let page = common::am263x::page();
    let part = page
        .parts
        .iter()
        .find(|part| matches!(part.found, Some(SearchOutcome::Rates(_))));
    let mut part = part.unwrap().clone();
    let mut file = page.clone();
    file.interrupted = false;
    file.observations = part.of(&page.observations).to_vec();
    part.first = 0;
    let with = |change: &dyn Fn(&mut wirelab_trial::Part)| {
        let mut file = file.clone();
        let mut part = part.clone();
        change(&mut part);
        file.parts = vec![part];
        passes(&file)
    };
    assert!(with(&|_| {}), "found");
    for outcome in [
        Outcome::NoLowerBound,
        Outcome::TesterTooSlow,
        Outcome::Unfinished,
    ] {
        assert!(
            !with(
                &|part| if let Some(SearchOutcome::Rates(r)) = &mut part.found {
                    r.goals[0].outcome = outcome;
                }
            ),
            "{outcome:?}"
        );
    }
    assert!(
        !with(&|part| {
            part.found = None;
            part.refused = Some("the link has no rate".to_owned());
        }),
        "refused"
    );
    assert!(
        !with(
            &|part| if let Some(SearchOutcome::Rates(r)) = &mut part.found {
                r.goals.clear();
                r.ended = SearchEnded::TimeLimit;
            }
        ),
        "ended early"
    );
    // The search for a background's load: what it was for says itself whether it came to be.
    part.observations = 0;
    if let Some(SearchOutcome::Rates(r)) = &mut part.found {
        r.goals[0].outcome = Outcome::Unfinished;
        assert!(!r.trials.is_empty());
    }
    file.parts = vec![part];
    assert_eq!(judge(&file).goals, []);
}
