//! Studies as a reader sees them: published beside predicted, with errors and notes.

use std::collections::BTreeMap;

use crate::common::page;
use wirelab_report::{Format, Options, study};
use wirelab_study::run::{NodeSource, StudyRun, run};
use wirelab_study::table::Study;
use wirelab_trial::*;

fn shown(runs: &[StudyRun], format: Format, options: &Options) -> String {
    study::render(runs, format, options).unwrap()
}

const TEXT: &str = r#"
title  = "A small <table> | of \u001b[31m figures"
source = "Nobody's datasheet, Table 1"
node   = "paper"
link   = "100M"

[[row]]
name      = "limit"
limit     = true
trial     = { payload = 1500 }
published = { frames_per_s = "8127 frames/s", throughput = "12.19 MB/s" }

[[row]]
name      = "scenario 1"
trial     = { length = 1514, frames = 50, buffers = "prefilled" }
published = { time = "6.25 ms", cpu_load = "50 %" }
role      = { time = "calibration" }

[[row]]
name      = "scenario 3"
trial     = { length = 1514, frames = 50, buffers = "dma-copied" }
published = { time = "7.1 ms", cpu_load = "48 %", loss = "0.5 %", jitter = "1 us" }
role      = { loss = "unpredictable" }
reason    = { loss = "it is the host's" }

[[row]]
name      = "a counted row"
trial     = { length = 1514, frames = 50 }
published = { datagrams = "50", lost = "0" }

[[claim]]
name      = "copying"
text      = "the copy costs less than 0.5 ms"
published = "< 0.5 ms"
metric    = "time"
difference = [["scenario 3", "scenario 1"]]
"#;

/// A node whose frames take 125 µs, and 17 µs more where they are copied.
struct Paper(Kind);

impl Node for Paper {
    fn describe(&self) -> Description {
        Description::default()
    }

    fn run(
        &mut self,
        trial: &Trial,
        _: &dyn Progress,
        _: &Cancel,
    ) -> Result<Observation, NodeError> {
        let kind = self.0;
        let ps = match trial.buffers {
            Some(Buffers::DmaCopied) => 50 * 142_000_000,
            _ => 50 * 125_000_000,
        };
        let elapsed = Elapsed {
            ps,
            spans: Spans::Pin,
            clock: ClockKind::Simulated,
        };
        let load = CpuLoad {
            busy_ratio: 0.5,
            idle_baseline_ratio: Some(0.0),
            shared: false,
            interval: None,
        };
        let none = "not on paper";
        let flow = FlowObservation {
            port: "paper/0".to_owned(),
            direction: trial.direction,
            stream: 0,
            sent_frames: Field::Observed { value: 50, kind },
            counts: Field::Observed {
                value: Counts::default(),
                kind,
            },
            elapsed: Field::Observed {
                value: elapsed,
                kind,
            },
            frames_per_s: Field::absent(none),
            payload_bits_per_s: Field::absent(none),
            link_bits_per_s: Field::absent(none),
            efficiency: Field::absent(none),
            goodput_bits_per_s: Field::absent(none),
            loss_ratio: Field::Observed { value: 0.01, kind },
            loss_ratio_at_most: None,
            intervals: wirelab_trial::FlowIntervals::default(),
            over_time: wirelab_trial::OverTime::default(),
            checker_held_up_ps: Field::absent(none),
            jitter_ps: Field::absent(none),
            sender: Field::absent(none),
            receiver_path: "paper".to_owned(),
            series: Vec::new(),
            counters: BTreeMap::new(),
        };
        Ok(Observation {
            trial: trial.clone(),
            sizes: trial.sizes().unwrap(),
            node: self.describe(),
            status: Status::Complete,
            started_unix_ns: Field::absent(none),
            flows: vec![flow],
            cpu_load: Field::Observed { value: load, kind },
            busy_over_time: Vec::new(),
            series: Vec::new(),
            counters: BTreeMap::new(),
            tester: TesterObservation::new(Field::absent(none), Field::absent(none)),
            warnings: Vec::new(),
        })
    }
}

struct Shelf(Kind);

impl NodeSource for Shelf {
    fn node(&mut self, _: &str, _: &BTreeMap<String, String>) -> Result<Box<dyn Node>, String> {
        Ok(Box::new(Paper(self.0)))
    }
}

fn study() -> Study {
    Study::parse(TEXT, "studies/small.toml").unwrap()
}

fn ran(kind: Kind, node: Option<&str>) -> StudyRun {
    run(&study(), node, &mut Shelf(kind), &(), &Cancel::new()).unwrap()
}

fn options(width: usize) -> Options {
    Options {
        width: Some(width),
        ..Options::default()
    }
}

#[test]
fn terminal() {
    insta::assert_snapshot!(shown(
        &[ran(Kind::Predicted, None)],
        Format::Terminal,
        &options(120)
    ));
}

#[test]
fn terminal_of_another_node() {
    let shown = shown(
        &[ran(Kind::Measured, Some("lab:1"))],
        Format::Terminal,
        &options(80),
    );
    let table: Vec<&str> = shown.lines().filter(|l| l.contains('%')).take(4).collect();
    assert!(table.iter().all(|l| l.chars().count() <= 80), "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn markdown() {
    insta::assert_snapshot!(shown(
        &[ran(Kind::Predicted, None)],
        Format::Markdown,
        &Options::default()
    ));
}

#[test]
fn html_is_well_formed_and_links_its_notes() {
    let run = ran(Kind::Predicted, None);
    let page = shown(&[run.clone(), run], Format::Html, &Options::default());
    let doc = roxmltree::Document::parse_with_options(
        &page,
        roxmltree::ParsingOptions {
            allow_dtd: true,
            ..Default::default()
        },
    )
    .unwrap();
    let ids: Vec<&str> = doc
        .descendants()
        .filter_map(|n| n.attribute("id"))
        .collect();
    let links = doc.descendants().filter_map(|n| n.attribute("href"));
    let links: Vec<&str> = links.collect();
    assert!(
        !links.is_empty() && links.iter().all(|l| ids.contains(&&l[1..])),
        "{links:?}"
    );
    insta::assert_snapshot!(
        page::own(&shown(
            &[ran(Kind::Predicted, None)],
            Format::Html,
            &Options::default()
        ))
        .split("</style>")
        .nth(1)
        .unwrap()
    );
}

#[test]
fn lists_and_what_was_published() {
    insta::assert_snapshot!(format!(
        "{}\n{}",
        study::list(&[study()], &options(120)),
        study::show(&study(), &options(100))
    ));
}

#[test]
fn an_interrupted_run_says_so() {
    let cancel = Cancel::new();
    cancel.cancel();
    let run = run(&study(), None, &mut Shelf(Kind::Predicted), &(), &cancel).unwrap();
    let shown = shown(&[run], Format::Terminal, &options(120));
    assert!(shown.contains("the run was cancelled"), "{shown}");
    assert!(
        shown.contains("CPU load: 0 held-out figures, 0 as printed; 2 without a value"),
        "{shown}"
    );
}

#[test]
fn the_studys_own_model_stands_beside_another_node() {
    let model = ran(Kind::Predicted, None);
    let run = ran(Kind::Measured, Some("board:example")).beside(&model);
    insta::assert_snapshot!(shown(&[run], Format::Terminal, &options(140)));
}

/// A page has a row for a trial, and for each metric what was published, predicted and measured, with the error.
#[test]
fn a_page_has_published_predicted_and_measured_side_by_side() {
    let model = ran(Kind::Predicted, None);
    let run = ran(Kind::Measured, Some("board:example")).beside(&model);
    let first = run.rows[0].clone();
    let page = shown(&[run], Format::Html, &options(140));
    let sheet = page.split("<table").nth(1).unwrap();
    let heads: Vec<&str> = sheet.split("<th scope=\"col\"").skip(1).collect();
    let heads = heads
        .iter()
        .map(|head| head.split(['>', '<']).nth(1).unwrap());
    let heads: Vec<&str> = heads.take(5).collect();
    assert_eq!(heads, ["row", "published", "model", "node", "error"]);
    let row = sheet
        .split("<tr>")
        .find(|row| row.contains(&format!(">{}<", first.row)))
        .unwrap();
    let cells: Vec<&str> = row.split("<td").skip(1).collect();
    let [published, model, node] = [0, 1, 2].map(|at| cells[at].split(['>', '<']).nth(1).unwrap());
    assert_eq!(published, first.printed.to_string());
    for (cell, value) in [(model, first.model.unwrap().value), (node, first.value)] {
        let number: f64 = cell.split(' ').next().unwrap().parse().unwrap();
        assert!(
            (number - value.unwrap()).abs() <= 0.06 * number.abs().max(1.0),
            "{cell}"
        );
    }
}

#[test]
fn a_loss_of_which_only_the_ends_are_known_shows_both_and_claims_of_it_may_be_undecided() {
    let mut run = ran(Kind::Measured, None);
    for figure in &mut run.rows {
        match figure.row.as_str() {
            "copying" => (figure.value_at_most, figure.holds) = (Some(9.0), None),
            _ if figure.metric.name() == "loss" => figure.value_at_most = Some(72.0),
            _ => {}
        }
    }
    let runs = [run];
    for text in [
        shown(&runs, Format::Terminal, &options(120)),
        shown(&runs, Format::Markdown, &options(120)),
        shown(&runs, Format::Html, &options(120)),
    ] {
        assert!(text.contains("1.00–72.00"), "{text}");
        assert!(text.contains("undecided"), "{text}");
    }
}
