//! Explanations made by hand: their words, their pictures, and that nothing in them breaks out of a page.

use crate::common::page;
use crate::explained::{gain, serial};
use proptest::prelude::*;
use wirelab_report::{
    Format, NoExplanation, Options, render_explanation, render_results_explanation,
};
use wirelab_trial::Kind;
use wirelab_trial::explanation::*;

fn results() -> ResultsExplanation {
    let roofline = serial().roofline;
    let reading = |at: usize| Reading {
        trial: at + 1,
        port: "board".to_owned(),
        bytes: roofline.points[at].bytes,
        bits_per_s: roofline.points[at].bits_per_s,
        frames_per_s: roofline.points[at].bits_per_s / 8.0 / f64::from(roofline.points[at].bytes),
        loss_ratio: Some(0.0),
        cpu_ratio: None,
        kind: Kind::Measured,
        limit: Some(ReadingLimit::PerPacket),
        words: "the cost of each packet: 20 µs".to_owned(),
    };
    ResultsExplanation {
        groups: vec![ReadingGroup {
            title: "node:board: Ethernet, transmit".to_owned(),
            readings: (0..4).map(reading).collect(),
            findings: vec!["Each packet costs 20 µs, whatever its size.".to_owned()],
            open: vec!["The CPU's load is not known.".to_owned()],
            roofline,
        }],
        models: vec![serial()],
        left_out: vec!["trial 9 is void: a frame was bad".to_owned()],
        fast_track: vec![gain(64, Some(1_400_000)), gain(256, None)],
    }
}

fn options(width: usize) -> Options {
    Options {
        width: Some(width),
        ..Options::default()
    }
}

#[test]
fn words_on_a_terminal() {
    insta::assert_snapshot!(render_explanation(&serial(), Format::Terminal, &options(90)).unwrap());
    insta::assert_snapshot!(
        "results",
        render_results_explanation(&results(), Format::Terminal, &options(110)).unwrap()
    );
}

#[test]
fn no_line_of_words_or_picture_is_wider_than_the_terminal() {
    for width in [60, 80, 132] {
        let text = render_explanation(&serial(), Format::Terminal, &options(width)).unwrap();
        let (picture, _) = text.split_once("Packet roofline").unwrap();
        for line in picture.lines().filter(|l| !l.starts_with("[===]")) {
            assert!(line.chars().count() <= width + 8, "{width}: {line}");
        }
    }
}

#[test]
fn words_in_markdown_and_data_in_json() {
    insta::assert_snapshot!(
        render_explanation(&serial(), Format::Markdown, &Options::default()).unwrap()
    );
    let json = render_explanation(&serial(), Format::Json, &Options::default()).unwrap();
    let data: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(data["limit"]["kind"], "in_flight");
    assert_eq!(data["period_ps"], 200e6);
    assert_eq!(
        data["stages"][0]["terms"][0]["parameters"][0]["provenance"],
        "calibrated"
    );
    for format in [Format::Csv, Format::Junit] {
        assert_eq!(
            render_explanation(&serial(), format, &Options::default()),
            Err(NoExplanation(format))
        );
    }
}

fn page(html: &str) -> roxmltree::Document<'_> {
    let allow = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    roxmltree::Document::parse_with_options(html, allow).unwrap_or_else(|e| panic!("{e}\n{html}"))
}

#[test]
fn the_pictures_stand_where_the_figures_say() {
    let html = render_explanation(&serial(), Format::Html, &Options::default()).unwrap();
    let pictures = page::pictures(&html);
    let [timeline, roofline] = &pictures[..] else {
        panic!("{pictures:?}");
    };
    // Two copies and two frames on the wire, each where its time lies in the 400 us.
    let lanes = timeline["lanes"].as_array().unwrap();
    let boxes = lanes
        .iter()
        .flat_map(|lane| lane["boxes"].as_array().unwrap());
    let boxes: Vec<_> = boxes.collect();
    let critical = boxes.iter().filter(|b| b["critical"] == true);
    let places =
        critical.map(|b| ["from_ps", "to_ps"].map(|end| b[end].as_u64().unwrap() / 1_000_000));
    let places: Vec<[u64; 2]> = places.collect();
    assert_eq!(places, [[0, 80], [200, 280], [80, 200], [280, 400]]);
    assert_eq!(boxes.len() - places.len(), 1, "one beside the circuit");
    // The marks of the roofline climb with size.
    let pane = &roofline["panes"][0];
    let points = pane["series"][0]["points"].as_array().unwrap();
    let rates: Vec<f64> = points.iter().map(|p| p["y"].as_f64().unwrap()).collect();
    assert!(rates.len() >= 4 && rates.is_sorted(), "{rates:?}");
    let wire = pane["lines"].as_array().unwrap();
    assert_eq!(
        wire.iter().filter(|line| line["look"] == "limit").count(),
        1
    );
}

/// The serial node with hostile words and figures in it.
fn hostile(word: &str, ps: u64, rate: f64, size: u32) -> Explanation {
    let mut e = serial();
    e.node = word.to_owned();
    e.limit.answer = word.to_owned();
    e.limit.because.push(word.to_owned());
    e.stages[0].name = word.to_owned();
    e.stages[0].terms[0].parameters[0].from = word.to_owned();
    e.timeline.lanes[0].name = word.to_owned();
    e.timeline.lanes[0].boxes[0].stage = word.to_owned();
    e.timeline.lanes[0].boxes[0].end_ps = ps;
    e.timeline.lanes[1].boxes[0].start_ps = ps;
    e.timeline.end_ps = ps;
    e.timeline.period_ps = rate;
    e.period_ps = rate;
    e.roofline.points[0].bits_per_s = rate;
    e.roofline.points[1].bytes = size;
    e.roofline.ceilings[0].curve[0] = (size, rate);
    e.roofline.ceilings[1].cost_ps = rate;
    e
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn hostile_explanations_break_nothing(
        word in ".{0,40}",
        ps in prop_oneof![Just(0u64), Just(u64::MAX), any::<u64>()],
        rate in prop_oneof![Just(f64::NAN), Just(0.0), Just(f64::INFINITY), any::<f64>()],
        size: u32,
        width in 0usize..200,
    ) {
        let e = hostile(&word, ps, rate, size);
        let text = render_explanation(&e, Format::Terminal, &options(width)).unwrap();
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
        let html = render_explanation(&e, Format::Html, &Options::default()).unwrap();
        let page = page(&html);
        let mut ids = std::collections::HashSet::new();
        for node in page.descendants().filter(|n| n.is_element()) {
            prop_assert!(!["link", "img", "iframe", "use"].contains(&node.tag_name().name()));
            for a in node.attributes() {
                prop_assert!(a.name() != "id" || ids.insert(a.value().to_owned()), "id {} twice", a.value());
                let figure = ["x", "y", "width", "height", "x1", "x2", "y1", "y2", "d", "points"].contains(&a.name());
                prop_assert!(!figure || !(a.value().contains("NaN") || a.value().contains("inf")), "{}", a.value());
            }
        }
        prop_assert!(render_explanation(&e, Format::Markdown, &Options::default()).unwrap().ends_with('\n'));
    }
}

#[test]
fn each_figure_of_an_emulated_node_is_marked() {
    let mut of = results();
    of.models.clear();
    of.fast_track.clear();
    for reading in of.groups.iter_mut().flat_map(|g| &mut g.readings) {
        reading.kind = Kind::Emulated;
        reading.cpu_ratio = Some(0.25);
    }
    for point in &mut of.groups[0].roofline.points {
        point.kind = Kind::Emulated;
    }
    let shown = render_results_explanation(&of, Format::Markdown, &options(100)).unwrap();
    assert!(shown.contains("not figures of the hardware"), "{shown}");
    let marked = |line: &str| line.contains("emul");
    let head = shown.lines().find(|l| l.starts_with("| trial |")).unwrap();
    let heads: Vec<&str> = head.trim_matches('|').split('|').collect();
    let [_trial, _size, figures @ .., _words] = &heads[..] else {
        panic!("{head}");
    };
    assert_eq!(figures.len(), 4, "{head}");
    for figure in figures {
        assert!(marked(figure), "{figure} in {head}");
    }
    let lines: Vec<&str> = shown.lines().filter(|l| l.contains("20 µs")).collect();
    assert!(lines.len() > 4, "{shown}");
    for line in lines {
        assert!(marked(line), "{line}");
    }
    for format in [Format::Terminal, Format::Html, Format::Json] {
        let shown = render_results_explanation(&of, format, &options(160)).unwrap();
        let sentence = "Each packet costs 20 µs, whatever its size (emulated).";
        let shown = shown.replace('\u{A0}', " ");
        assert!(shown.contains(sentence), "{format}: {shown}");
    }
}
