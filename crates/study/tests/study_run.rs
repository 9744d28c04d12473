//! Studies on nodes whose figures can be worked out by hand: the requests, the sources of values, the errors that count.

use std::sync::Mutex;

use crate::common::{Answer, Shelf, small};
use wirelab_study::figure::Figure;
use wirelab_study::metric::Metric;
use wirelab_study::run::{RunError, StudyRun, run};
use wirelab_study::table::{Role, Row, Study};
use wirelab_study::value::value_of;
use wirelab_trial::{Cancel, Kind, Node, NodeError, Progress};

fn run_small(kind: Kind, answer: Answer, node: Option<&str>) -> (StudyRun, Shelf) {
    let mut shelf = Shelf::new(kind, answer);
    let run = run(&small(), node, &mut shelf, &(), &Cancel::new()).unwrap();
    (run, shelf)
}

fn find<'a>(run: &'a StudyRun, row: &str, metric: Metric) -> &'a Figure {
    let mut figures = run.rows.iter();
    let found = figures.find(|f| f.row == row && f.metric == metric);
    found.unwrap_or_else(|| panic!("no figure {row}/{metric}"))
}

fn near(value: Option<f64>, expected: f64) {
    let value = value.expect("a value");
    assert!(
        (value - expected).abs() < 1e-9 * expected.abs().max(1.0),
        "{value} is not {expected}"
    );
}

#[test]
fn every_figure_stands_beside_its_value() {
    let (run, shelf) = run_small(Kind::Predicted, Answer::Complete, None);
    // 50 × (123.04 + 2 + 17) µs.
    let time = find(&run, "scenario 3", Metric::Time);
    near(time.value, 7.102);
    assert_eq!((time.kind, time.unit), (Some(Kind::Predicted), "ms"));
    near(time.error_percent, 100.0 * 0.002 / 7.1);
    near(
        find(&run, "scenario 3", Metric::ShareOfLimit).value,
        100.0 * 1500.0 / 142.04e-6 / 12_190_500.0,
    );
    near(
        find(&run, "udp 3rd second", Metric::Transfer).value,
        4_023_000.0 / 1_048_576.0,
    );
    near(
        find(&run, "udp 3rd second", Metric::Bandwidth).value,
        32.184,
    );
    near(
        find(&run, "udp 3rd second", Metric::Lost).error_percent,
        0.0,
    );
    near(find(&run, "latency 64", Metric::Latency).value, 1.768);
    near(find(&run, "latency 64", Metric::Latency3Sigma).value, 0.03);
    near(find(&run, "limit", Metric::FramesPerS).value, 8_127.0);
    near(find(&run, "limit", Metric::Throughput).value, 12.1905);
    near(find(&run, "limit", Metric::FrameBits).value, 12_304.0);
    near(find(&run, "scenario 1", Metric::Data).value, 75.0);
    assert_eq!(
        find(&run, "scenario 1", Metric::Time).kind,
        Some(Kind::Calibrated)
    );
    // Claims follow the rows: 256 bytes take 192 × 12 ns more, which is above 1 us.
    let claim = find(&run, "size costs little", Metric::Latency);
    near(claim.value, 2.304);
    assert_eq!((claim.holds, claim.error_percent), (Some(false), None));
    let claim = find(&run, "received in", Metric::Latency);
    near(claim.value, 1.768);
    assert_eq!(claim.role, Role::Disputed);
    let names: Vec<&str> = shelf.opened.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["board", "board", "other-board"]);
    assert_eq!(shelf.opened[1].1["alternative"], "arp-cache");
}

#[test]
fn json_is_what_the_manual_says() {
    let (run, _) = run_small(Kind::Predicted, Answer::Complete, None);
    let rounded = |f: &Figure| {
        let round = |x: f64| (x * 1e6).round() / 1e6;
        Figure {
            value: f.value.map(round),
            error_percent: f.error_percent.map(round),
            ..f.clone()
        }
    };
    let rows: Vec<Figure> = run.rows.iter().map(rounded).collect();
    let lines: Vec<String> = rows
        .iter()
        .map(|f| serde_json::to_string(f).unwrap())
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn only_held_out_figures_of_a_node_count() {
    let (run, _) = run_small(Kind::Predicted, Answer::Complete, None);
    let errors = run.errors();
    let metrics: Vec<(Metric, usize)> = errors.iter().map(|e| (e.metric, e.count)).collect();
    assert_eq!(
        metrics,
        [
            (Metric::Time, 1),
            (Metric::Throughput, 1),
            (Metric::ShareOfLimit, 1),
            (Metric::Latency, 2),
            (Metric::Transfer, 1),
            (Metric::Bandwidth, 1),
            (Metric::Lost, 1),
            (Metric::Datagrams, 1),
        ]
    );
    let latency = &errors[3];
    let (small, large) = (100.0 * 0.018 / 1.75, 100.0 * (4.072 - 2.7) / 2.7);
    near(latency.mean_abs_percent, (small + large) / 2.0);
    near(latency.max_abs_percent, large);
    assert_eq!(latency.max_row.as_deref(), Some("latency 256"));
    assert_eq!(latency.mean_abs_points, None);
    assert_eq!(latency.as_printed, 0);
    let share = &errors[2];
    // 7.102 ms prints as 7.1 ms, 86.628 % not as 86.66 %.
    assert_eq!((errors[0].as_printed, share.as_printed), (1, 0));
    near(
        share.mean_abs_points,
        (86.66f64 - 100.0 * 1500.0 / 142.04e-6 / 12_190_500.0).abs(),
    );
}

#[test]
fn a_rate_that_the_row_gives_as_its_load_is_no_prediction() {
    // The node carries 1 / 125.04 µs = 7997 frames of 1518 bytes a second, and no more.
    let row = |name: &str, load: &str| {
        format!(
            "[[row]]\nname = \"{name}\"\ntrial = {{ payload = 1500, load = \"{load}\" }}\n\
             published = {{ throughput = \"90 Mbit/s\", efficiency = \"90 %\" }}\n"
        )
    };
    let text = format!(
        "title = \"t\"\nsource = \"s\"\nnode = \"board\"\nlink = \"100M\"\n[defaults]\n\
         trial = {{ layer = \"ethernet\", direction = \"transmit\", frames = 50 }}\n{}{}",
        row("carried", "7.9kpps"),
        row("too much", "8.1kpps"),
    );
    let study = Study::parse(&text, "t.toml").unwrap();
    let mut shelf = Shelf::new(Kind::Predicted, Answer::Complete);
    let run = run(&study, None, &mut shelf, &(), &Cancel::new()).unwrap();
    for metric in [Metric::Throughput, Metric::Efficiency] {
        let carried = find(&run, "carried", metric);
        assert_eq!(
            (carried.kind, carried.counted),
            (Some(Kind::Calibrated), false)
        );
        let too_much = find(&run, "too much", metric);
        assert_eq!(
            (too_much.kind, too_much.counted),
            (Some(Kind::Predicted), true)
        );
    }
}

#[test]
fn held_out_figures_name_the_conditions_that_the_row_gives() {
    let (run, _) = run_small(Kind::Predicted, Answer::Complete, None);
    let bandwidth = find(&run, "udp 3rd second", Metric::Bandwidth);
    assert_eq!(
        bandwidth.reason.as_deref(),
        Some("given: alternative = arp-cache")
    );
    let (run, _) = run_small(Kind::Measured, Answer::Complete, Some("lab:1"));
    let bandwidth = find(&run, "udp 3rd second", Metric::Bandwidth);
    assert_eq!(bandwidth.reason, None, "another node does not get it");
}

#[test]
fn the_same_trial_is_run_once() {
    let text = include_str!("data/small.toml");
    let second = text[text.find("[[row]]\nname      = \"udp").unwrap()..].to_owned();
    let second = &second[..second[1..].find("[[row]]").unwrap() + 1];
    let again: String = (4..17)
        .map(|n| {
            second
                .replace("3rd", &format!("{n}th"))
                .replace("= 3\n", &format!("= {n}\n"))
        })
        .collect();
    let study = Study::parse(
        &text.replacen(second, &format!("{second}{again}"), 1),
        "s.toml",
    );
    let mut shelf = Shelf::new(Kind::Predicted, Answer::Complete);
    let run = run(&study.unwrap(), None, &mut shelf, &(), &Cancel::new()).unwrap();
    assert_eq!((shelf.asked(), shelf.opened.len()), (5, 3));
    let missing = find(&run, "udp 4th second", Metric::Transfer);
    assert_eq!(missing.value, None);
    assert_eq!(
        missing.reason.as_deref(),
        Some("the node has no report of interval 4")
    );
    let transfer = run
        .errors()
        .into_iter()
        .find(|e| e.metric == Metric::Transfer)
        .unwrap();
    assert_eq!((transfer.count, transfer.without_value), (1, 13));
}

#[test]
fn another_node_measures_every_row_without_the_models_conditions() {
    let (run, shelf) = run_small(Kind::Measured, Answer::Complete, Some("lab:1"));
    assert_eq!(shelf.opened.len(), 1);
    assert!(shelf.opened[0].0 == "lab:1" && shelf.opened[0].1.is_empty());
    for row in ["scenario 1", "scenario 3", "udp 3rd second"] {
        let kinds = run
            .rows
            .iter()
            .filter(|f| f.row == row && !f.metric.is_of_the_trial());
        assert!(
            kinds
                .filter(|f| f.value.is_some())
                .all(|f| f.kind == Some(Kind::Measured))
        );
    }
    assert_eq!(run.node.as_deref(), Some("lab:1"));
    // A model that was not fitted to the figures predicts all of them.
    let (run, _) = run_small(Kind::Predicted, Answer::Complete, Some("other-model"));
    assert_eq!(
        find(&run, "scenario 1", Metric::Time).kind,
        Some(Kind::Predicted)
    );
    // The calibrated time of scenario 1 is a prediction there, and counts beside that of scenario 3.
    assert!(
        run.errors()
            .iter()
            .all(|e| e.metric != Metric::Time || e.count == 2)
    );
}

#[test]
fn what_a_node_cannot_do_is_a_reason_and_no_error() {
    let cases = [
        (
            Answer::Unsupported,
            "unsupported by this node: buffers: it is only paper",
        ),
        (Answer::Failed, "it is only paper"),
        (Answer::Void, "the trial is void: it is only paper"),
    ];
    for (answer, reason) in cases {
        let (run, _) = run_small(Kind::Measured, answer, Some("lab:1"));
        let figure = find(&run, "scenario 3", Metric::Time);
        assert_eq!(
            (figure.value, figure.kind, figure.error_percent),
            (None, None, None)
        );
        assert_eq!(figure.reason.as_deref(), Some(reason));
        // That it supports no row is said once for all rows; a failed trial was requested.
        let refused = (answer == Answer::Unsupported).then_some(reason);
        assert_eq!(run.refused.as_deref(), refused);
        // What needs no node is there nevertheless.
        near(find(&run, "scenario 1", Metric::Data).value, 75.0);
        near(find(&run, "limit", Metric::FramesPerS).value, 8_127.0);
        assert_eq!(find(&run, "size costs little", Metric::Latency).holds, None);
    }
    let (run, _) = run_small(Kind::Measured, Answer::Partial, None);
    assert_eq!(run.refused, None);
    let figure = find(&run, "scenario 3", Metric::Time);
    near(figure.value, 7.102);
    assert_eq!(
        figure.reason.as_deref(),
        Some("the trial ended early: it is only paper")
    );
}

#[test]
fn an_emulated_node_is_not_set_against_published_figures() {
    let mut shelf = Shelf::new(Kind::Emulated, Answer::Complete);
    let error = run(&small(), Some("board"), &mut shelf, &(), &Cancel::new()).unwrap_err();
    let told = error.to_string();
    assert!(matches!(error, RunError::Emulated { .. }), "{told}");
    for words in ["is emulated", "not compared with published figures", "fix:"] {
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn no_node_and_no_privilege_end_the_run() {
    let mut shelf = Shelf::new(Kind::Measured, Answer::Privilege);
    let error = run(&small(), None, &mut shelf, &(), &Cancel::new()).unwrap_err();
    assert_eq!(
        error,
        RunError::Privilege("CAP_NET_RAW is missing".to_owned())
    );
    let error = run(&small(), Some("nobody"), &mut shelf, &(), &Cancel::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "studies/small.toml:20: row 'scenario 1': node nobody: no such model: write one of board, other-board"
    );
}

#[test]
fn what_a_page_does_not_give_is_a_reason_and_a_node_is_asked_of_the_user() {
    let top = "title='a'\nsource='b'\n[[row]]\nname='a'\ntrial={layer='udp4', load='5M'}\npublished={cpu_load='3 %'}\n";
    let study = Study::parse(top, "a.toml").unwrap();
    let mut shelf = Shelf::new(Kind::Measured, Answer::Complete);
    let run_on =
        |study: &Study, node, shelf: &mut Shelf| run(study, node, shelf, &(), &Cancel::new());
    let came = run_on(&study, Some("board"), &mut shelf).unwrap();
    let reason = came.rows[0].reason.clone().unwrap_or_default();
    assert!(
        reason.contains("the page does not give the size of this row"),
        "{reason}"
    );
    assert_eq!((came.rows[0].value, shelf.asked()), (None, 0));
    let sized = Study::parse(
        &top.replace("load='5M'", "datagram=64, load='5M'"),
        "a.toml",
    )
    .unwrap();
    let error = run_on(&sized, None, &mut shelf).unwrap_err().to_string();
    assert_eq!(
        error,
        "a.toml:3: row 'a' names no node; fix: write node = \"NAME\" at the top of the file, or give --node"
    );
    assert!(run_on(&sized, Some("board"), &mut shelf).is_ok());
}

#[test]
fn a_cancelled_run_keeps_what_it_has() {
    struct CancelAfter<'a>(u64, &'a Cancel, Mutex<Vec<String>>);
    impl Progress for CancelAfter<'_> {
        fn report(&self, done: u64, total: u64, what: &str) {
            assert!(done <= total, "{done} of {total}");
            let mut seen = self.2.lock().unwrap();
            seen.push(what.to_owned());
            if seen.len() as u64 == self.0 {
                self.1.cancel();
            }
        }
    }
    let (cancel, mut shelf) = (Cancel::new(), Shelf::new(Kind::Predicted, Answer::Complete));
    let progress = CancelAfter(2, &cancel, Mutex::default());
    let run = run(&small(), None, &mut shelf, &progress, &cancel).unwrap();
    assert!(run.interrupted);
    assert_eq!(shelf.asked(), 2);
    assert!(find(&run, "scenario 3", Metric::Time).value.is_some());
    let left = find(&run, "latency 64", Metric::Latency);
    assert_eq!(
        left.reason.as_deref(),
        Some("cancelled before this row was run")
    );
    assert_eq!(
        progress.2.lock().unwrap()[0],
        "small: scenario 1: half of it"
    );
}

#[test]
fn every_metric_has_its_place_in_an_observation() -> Result<(), NodeError> {
    let study = small();
    let mut row: Row = study.row("latency 64").unwrap().clone();
    row.trial.direction = wirelab_trial::Direction::Both;
    let mut node = Shelf::new(Kind::Measured, Answer::Complete).node;
    let seen = node.run(&row.trial, &(), &Cancel::new())?;
    // 68 bytes of frame and 20 beside it take 7.04 µs, and each frame 2 µs more: 9.04 µs for 22 bytes of datagram.
    let rate = 1.0 / 9.04e-6;
    let expected = [
        (Metric::Time, 512.0 * 9.04e-6),
        (Metric::Throughput, rate * 176.0),
        (Metric::ThroughputReceive, rate * 176.0),
        (Metric::ThroughputTransmit, rate * 176.0),
        (Metric::ThroughputSum, rate * 352.0),
        (Metric::FramesPerS, rate),
        (Metric::TimePerFrame, 9.04e-6),
        (Metric::Efficiency, rate * 400.0 / 1e8),
        (Metric::ShareOfLimit, rate * 50.0 / (142_045.0 * 50.0)),
        (Metric::CpuLoad, 0.5),
        (Metric::Loss, 0.0),
        (Metric::Latency, 1.768e-6),
        (Metric::LatencyMin, 1.758e-6),
        (Metric::LatencyMedian, 1.768e-6),
        (Metric::LatencyP99, 1.778e-6),
        (Metric::LatencyMax, 1.778e-6),
        (Metric::Spacing, 0.82e-6),
        (Metric::Transfer, 512.0 * 176.0),
        (Metric::Bandwidth, rate * 176.0),
        (Metric::Datagrams, 512.0),
        (Metric::Frames, 512.0),
        (Metric::Payload, 400.0),
        (Metric::Data, 512.0 * 400.0),
        (Metric::FrameBits, 704.0),
    ];
    for (metric, value) in expected {
        let of_series = metric.name().starts_with("latency");
        row.point = of_series.then(|| "Rx PBUF".to_owned());
        let got = *value_of(&row, &seen, metric).value().unwrap_or(&f64::NAN);
        assert!(
            (got - value).abs() <= 1e-9 * value,
            "{metric}: {got} is not {value}"
        );
    }
    for (metric, why) in [
        (Metric::Jitter, "no jitter on paper"),
        (Metric::Lost, "nothing is counted on paper"),
        (Metric::Latency, "the node has no series of latency"),
    ] {
        row.point = None;
        assert_eq!(
            value_of(&row, &seen, metric),
            wirelab_trial::Field::absent(why)
        );
    }
    // What the mean was calibrated from says nothing of the spread.
    let mut node = Shelf::new(Kind::Calibrated, Answer::Complete).node;
    let fitted = node.run(&row.trial, &(), &Cancel::new())?;
    row.point = Some("Rx PBUF".to_owned());
    let kind = |metric| value_of(&row, &fitted, metric).kind();
    assert_eq!(kind(Metric::Latency), Some(Kind::Calibrated));
    assert_eq!(kind(Metric::Latency3Sigma), Some(Kind::Predicted));
    row.point = Some("other probe".to_owned());
    let spacing = value_of(&row, &seen, Metric::Spacing);
    assert_eq!(
        spacing,
        wirelab_trial::Field::absent("the node has no series of other probe")
    );
    Ok(())
}

#[test]
fn each_row_is_left_out_once_and_has_its_figures_from_the_fit_to_the_others() {
    let (whole, _) = run_small(Kind::Predicted, Answer::Complete, None);
    let study = small();
    let rows = whole.rows.len();
    let asked = Mutex::new(Vec::new());
    let run = study.leave_one_out(whole.clone(), |row: &Row| {
        asked.lock().unwrap().push(row.name.clone());
        let mut without = whole.clone();
        for figure in &mut without.rows {
            figure.value = Some(1.0);
        }
        (row.name != "latency 64").then_some(without)
    });
    let asked = asked.into_inner().unwrap();
    let once = |name: &String| asked.iter().filter(|other| *other == name).count() == 1;
    assert!(asked.len() > 2 && asked.iter().all(once), "{asked:?}");
    // Nothing predicts a row whose others are too few, and none is taken from another row's fit.
    assert!(
        run.rows
            .iter()
            .all(|f| f.row != "latency 64" && f.value == Some(1.0))
    );
    assert!(!run.rows.is_empty() && run.rows.len() < rows);
    assert_eq!(run.study, whole.study);
}

#[test]
fn a_fit_is_of_the_node_that_is_asked_or_the_only_one() {
    let mut study = small();
    let node = study.nodes()[0].to_owned();
    assert_eq!(study.node_to_fit(Some(&node)), Ok(&*node));
    let error = study.node_to_fit(Some("another")).unwrap_err();
    assert!(error.contains(&node) && error.contains("fix: "), "{error}");
    study
        .rows
        .retain(|row| row.node.is_none() || row.node.as_deref() == Some(&*node));
    assert_eq!(study.node_to_fit(None), Ok(&*node));
}
