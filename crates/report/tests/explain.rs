//! Explanations made by hand: their words, their pictures, and that nothing in them breaks out of a page.

use proptest::prelude::*;
use wirelab_report::{
    Format, NoExplanation, Options, render_explanation, render_results_explanation,
};
use wirelab_trial::explanation::*;
use wirelab_trial::{Direction, Extent, Framing, Kind, Layer, Load, Size, SizeUnit, Trial, Wait};

fn stage_box(stage: &str, frame: u64, start_us: u64, end_us: u64, critical: bool) -> StageBox {
    StageBox {
        stage: stage.to_owned(),
        frame: Some(frame),
        frames: 1,
        start_ps: start_us * 1_000_000,
        end_ps: end_us * 1_000_000,
        critical,
    }
}

fn share(name: &str, resource: &str, us: u64, period_us: f64) -> StageShare {
    StageShare {
        name: name.to_owned(),
        resource: Some(resource.to_owned()),
        cost_ps: us * 1_000_000,
        share_ratio: us as f64 / period_us,
        critical: true,
        may_grow_ps: Some(0),
        waits_ps: None,
        terms: vec![CostTerm {
            law: "constant".to_owned(),
            words: format!("{us} us"),
            cost_ps: us * 1_000_000,
            parameters: vec![UsedParameter {
                name: format!("{name}-time"),
                value: format!("{us} us"),
                provenance: Provenance::Calibrated,
                from: "Table 1".to_owned(),
            }],
        }],
    }
}

fn circuit(words: &str, us: u64) -> Circuit {
    Circuit {
        stages: vec!["copy".to_owned(), "wire".to_owned()],
        cost_ps: us * 1_000_000,
        tokens: 1,
        period_ps: us as f64 * 1e6,
        closed_by: "frames in flight".to_owned(),
        words: words.to_owned(),
    }
}

/// A node that copies for 80 us and sends for 120 us, one after the other.
fn serial() -> Explanation {
    let trial = Trial {
        link_bits_per_s: Some(100_000_000),
        ..Trial::new(
            Framing::default(),
            Direction::Transmit,
            Size::new(SizeUnit::Payload, 1500),
            Load::Max,
            Extent::Frames { frames: 50 },
        )
    };
    let wire = |size: u32| (size, 1e8 * f64::from(size) / f64::from(size + 38));
    let sizes = [46u32, 200, 600, 1500];
    let point = |bytes: u32, bits_per_s| RooflinePoint {
        bytes,
        bits_per_s,
        kind: Kind::Predicted,
        direction: Direction::Transmit,
        limited_by: "frames in flight: 1 frame at a time".to_owned(),
    };
    Explanation {
        node: "example".to_owned(),
        title: "A board with one frame in flight".to_owned(),
        sizes: trial.sizes().unwrap(),
        trial,
        basis: Basis::ClosedForm,
        kind: Kind::Predicted,
        period_ps: 200e6,
        frames_per_s: 5_000.0,
        bits_per_s: 60e6,
        link_use_ratio: Some(0.615_2),
        loss_ratio: 0.0,
        limit: Limit {
            kind: LimitKind::InFlight,
            name: "frames in flight".to_owned(),
            answer: "Each frame waits for the one before it.".to_owned(),
            because: vec![
                "copy takes 80 µs, less than the 120 µs of wire, but the two do not overlap."
                    .to_owned(),
            ],
        },
        circuit: Some(circuit(
            "copy (80 µs, cpu) → wire (120 µs) → back: 200 µs a frame",
            200,
        )),
        next: vec![circuit("wire alone: 120 µs a frame", 120)],
        stages: vec![
            share("copy", "cpu", 80, 200.0),
            share("wire", "wire", 120, 200.0),
        ],
        resources: vec![
            ResourceUse {
                name: "cpu".to_owned(),
                busy_ratio: 0.4,
            },
            ResourceUse {
                name: "wire".to_owned(),
                busy_ratio: 0.6,
            },
        ],
        hidden: Vec::new(),
        notes: vec!["The CPU polls while it waits.".to_owned()],
        timeline: Timeline {
            start_ps: 1_000_000_000,
            end_ps: 1_400_000_000,
            period_ps: 200e6,
            lanes: vec![
                Lane {
                    name: "cpu".to_owned(),
                    boxes: vec![
                        stage_box("copy", 5, 1_000, 1_080, true),
                        stage_box("copy", 6, 1_200, 1_280, true),
                    ],
                },
                Lane {
                    name: "wire".to_owned(),
                    boxes: vec![
                        stage_box("wire", 5, 1_080, 1_200, true),
                        stage_box("status", 5, 1_200, 1_240, false),
                        stage_box("wire", 6, 1_280, 1_400, true),
                    ],
                },
            ],
        },
        roofline: Roofline {
            unit: SizeUnit::Payload,
            ceilings: vec![
                Ceiling {
                    name: "wire".to_owned(),
                    law: CeilingLaw::Wire,
                    cost_ps: 0.0,
                    curve: sizes.map(wire).to_vec(),
                },
                Ceiling {
                    name: "cpu".to_owned(),
                    law: CeilingLaw::PerByte,
                    cost_ps: 53e3,
                    curve: sizes.map(|size| (size, 8e12 / 53e3)).to_vec(),
                },
                Ceiling {
                    name: "cpu".to_owned(),
                    law: CeilingLaw::PerPacket,
                    cost_ps: 20e6,
                    curve: sizes
                        .map(|size| (size, f64::from(size) * 8e12 / 20e6))
                        .to_vec(),
                },
            ],
            points: vec![
                point(46, 12e6),
                point(200, 30e6),
                point(600, 50e6),
                point(1500, 60e6),
            ],
        },
    }
}

/// The same node as measurements show it.
fn gain(length_bytes: u32, measured_ps: Option<u64>) -> FastTrackGain {
    FastTrackGain {
        node: "node:board".to_owned(),
        layer: Layer::UdpIpv4,
        wait: Wait::Spin,
        length_bytes,
        stack_measured_ps: 3_400_000,
        predicted_ps: 1_200_000,
        measured_ps,
        predicted_gain_ps: 2_150_000,
        measured_gain_ps: measured_ps.map(|ps| 3_400_000 - ps as i64),
        error_percent: measured_ps.map(|ps| 100.0 * (1.2e6 / ps as f64 - 1.0)),
    }
}

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
    let page = page(&html);
    let number = |n: &roxmltree::Node<'_, '_>, name: &str| -> f64 {
        n.attribute(name).unwrap().parse().unwrap()
    };
    let of = |class: &'static str| {
        page.descendants()
            .filter(move |n| n.attribute("class") == Some(class))
    };
    let lane = of("lane").next().unwrap();
    let (left, width) = (number(&lane, "x"), number(&lane, "width"));
    // Two copies and two frames on the wire, each where its time lies in the 400 us.
    let boxes: Vec<(f64, f64)> = of("on")
        .map(|b| (number(&b, "x"), number(&b, "width")))
        .collect();
    let wanted = [(0.0, 80.0), (200.0, 80.0), (80.0, 120.0), (280.0, 120.0)];
    assert_eq!(boxes.len(), wanted.len());
    for ((x, w), (start, took)) in boxes.into_iter().zip(wanted) {
        assert!((x - (left + width * start / 400.0)).abs() < 0.2, "{x}");
        assert!((w - width * took / 400.0).abs() < 0.2, "{w}");
    }
    assert_eq!(of("off").count(), 1);
    // The marks of the roofline: right to left they climb.
    let marks = page.descendants().filter(|n| {
        n.attribute("class")
            .is_some_and(|c| c.starts_with("mark tx"))
    });
    let places: Vec<f64> = marks
        .take(4)
        .map(|m| {
            m.attribute("d").unwrap()[1..]
                .split(' ')
                .next()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    assert!(places.windows(2).all(|w| w[0] < w[1]), "{places:?}");
    assert_eq!(
        of("roof limit c0").count(),
        2,
        "the curve and its line in the legend"
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
            prop_assert!(!["script", "link", "img", "iframe", "use"].contains(&node.tag_name().name()));
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
    assert!(shown.contains("no figures of the hardware"), "{shown}");
    let marked = |line: &str| line.contains("emul");
    let rows = shown
        .lines()
        .filter(|l| l.starts_with("| ") && !l.contains("---"));
    let mut count = 0;
    for row in rows.filter(|row| row.contains("20 µs")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        // Trial and size are what was asked.
        for cell in &cells[2..] {
            assert!(marked(cell), "{cell} in {row}");
        }
        count += 1;
    }
    assert_eq!(count, 4, "{shown}");
    let lines = shown.lines().filter(|l| l.contains("20 µs"));
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
