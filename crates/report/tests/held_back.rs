//! Searches on a path that holds the sender back, in every format: nothing that was never sent is shown as lost.

use crate::common;
use wirelab_report::{Format, Options, render};
use wirelab_trial::search::{
    BurstResult, BurstSearch, CurveResult, LossCurve, LossPoint, SearchEnded,
};
use wirelab_trial::{Field, Part, ResultsFile, SearchOutcome};

const SECOND_PS: u64 = 1_000_000_000_000;

fn with(found: SearchOutcome) -> ResultsFile {
    let mut file = common::lab();
    file.parts = vec![Part {
        name: "shaped".to_owned(),
        first: 0,
        observations: 1,
        found: Some(found),
        refused: None,
    }];
    file
}

fn point(load_percent: f64, held_back_at_frames_per_s: Option<f64>, loss_ratio: f64) -> LossPoint {
    LossPoint {
        load_percent,
        load_frames_per_s: load_percent * 1e4,
        held_back_at_frames_per_s,
        loss_ratio: Field::measured(loss_ratio),
    }
}

/// 1,000,000 frames/s are 100 %; the path takes 250,000, of which some are lost.
fn curve() -> ResultsFile {
    let of = &common::lab().observations[0];
    with(SearchOutcome::LossCurve(CurveResult {
        node: "lab:1".to_owned(),
        trial: of.trial.clone(),
        sizes: of.sizes,
        curve: LossCurve::new(SECOND_PS),
        max_load_frames_per_s: 1e6,
        points: vec![
            point(100.0, Some(250_000.0), 0.125),
            point(50.0, Some(250_000.0), 0.0),
            point(20.0, None, 0.0),
        ],
        ends_without_loss: false,
        trials: Vec::new(),
        asked_ps: 3 * SECOND_PS,
        ended: SearchEnded::Done,
    }))
}

fn text(file: &ResultsFile, format: Format) -> String {
    render(file, format, &Options::default())
}

#[test]
fn a_loss_curve_shows_at_which_load_the_path_held_back() {
    let file = curve();
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let out = text(&file, format);
        assert!(out.contains("held back at"), "{out}");
        assert!(
            out.contains("held the sender back at 2 of 3 loads"),
            "{out}"
        );
        assert!(out.contains("250,000"), "{out}");
    }
    let pictures = common::page::pictures(&text(&file, Format::Html));
    let of_search = |p: &&serde_json::Value| {
        let name = p["x"]["name"].as_str();
        name.is_some_and(|name| name.contains("achieved"))
    };
    let search = pictures.iter().find(of_search).unwrap();
    let mark = &search["panes"][0]["series"][0]["points"][0];
    let flows = &file.observations[0].flows;
    let senders = flows.iter().filter_map(|f| f.sender.value());
    let sent = senders.map(|s| *s.achieved_frames_per_s.value().unwrap());
    let mean = sent.sum::<f64>() / flows.len() as f64;
    assert!(
        (mark["x"].as_f64().unwrap() - mean).abs() < 1e-6,
        "the mark is at the load that was sent, and no other"
    );
    let json = text(&file, Format::Json);
    assert!(json.contains("\"held_back_at_frames_per_s\": 250000.0"));
}

#[test]
fn a_curve_that_was_offered_has_no_column_of_what_was_not() {
    let mut file = curve();
    if let Some(SearchOutcome::LossCurve(curve)) = &mut file.parts[0].found {
        curve
            .points
            .retain(|p| p.held_back_at_frames_per_s.is_none());
    }
    for format in [Format::Terminal, Format::Html, Format::Json] {
        let out = text(&file, format);
        assert!(!out.contains("held back at") && !out.contains("held_back_at"));
    }
}

#[test]
fn bursts_that_gave_no_length_are_not_bounded_by_the_node() {
    let of = &common::lab().observations[0];
    let why = "the search ended before all repeats were done";
    let file = with(SearchOutcome::Bursts(BurstResult {
        node: "lab:1".to_owned(),
        trial: of.trial.clone(),
        sizes: of.sizes,
        search: BurstSearch::rfc9004(),
        max_frames_per_s: 1e6,
        throughput_frames_per_s: 8_256.0,
        longest_frames: 2_000_000,
        screened: None,
        bursts: Vec::new(),
        lengths: Field::absent(why),
        implied_buffer_time_ps: Field::absent(why),
        corrected_buffer_time_ps: Field::absent(why),
        trials: Vec::new(),
        asked_ps: 0,
        ended: SearchEnded::Failed {
            why: "the path held the sender back".to_owned(),
        },
    }));
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let out = text(&file, format);
        assert!(
            out.contains("Longest bursts") && !out.contains("by the node"),
            "{out}"
        );
    }
}
