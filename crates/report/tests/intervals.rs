//! Every format shows the interval of a figure, and what it was taken over.

use crate::common;
use crate::common::am263x;
use serde_json::Value;
use wirelab_report::datasheet::compare;
use wirelab_report::{Format, Options, format, render};
use wirelab_trial::{FlowIntervals, FlowObservation, IntervalBasis, ResultsFile, Stated};

fn text(file: &ResultsFile, format: Format) -> String {
    render(file, format, &Options::default())
}

fn around(value: f64, share: f64) -> Stated {
    Stated {
        low: value * (1.0 - share),
        high: value * (1.0 + share),
        confidence: 0.95,
        over: IntervalBasis::WithinRun,
        parts: 64,
    }
}

/// Give a flow intervals of 3 % on either side, and an upper end to its loss.
fn with_intervals(flow: &mut FlowObservation) {
    let of = |field: &wirelab_trial::Field<f64>| field.value().map(|v| around(*v, 0.03));
    flow.intervals = FlowIntervals {
        frames_per_s: of(&flow.frames_per_s),
        payload_bits_per_s: of(&flow.payload_bits_per_s),
        link_bits_per_s: of(&flow.link_bits_per_s),
        goodput_bits_per_s: of(&flow.goodput_bits_per_s),
        loss_ratio: flow.loss_ratio.value().map(|loss| Stated {
            low: *loss,
            high: loss + 0.012_3,
            ..around(0.0, 0.0)
        }),
    };
}

fn records(text: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn each_format_shows_the_intervals_of_single_runs() {
    let mut file = common::lab();
    let at = file.observations.iter().position(|o| o.flows.len() == 1);
    let at = at.expect("a trial of one flow");
    file.observations = vec![file.observations[at].clone()];
    with_intervals(&mut file.observations[0].flows[0]);
    let flow = file.observations[0].flows[0].clone();
    let rate = flow.intervals.frames_per_s.unwrap();
    let ends = format!(
        "{}–{}",
        format::frame_rate(rate.low),
        format::frame_rate(rate.high)
    );
    let loss = format!("0.00–{}", format::percent(0.012_3));
    for form in [Format::Terminal, Format::Markdown, Format::Html] {
        let shown = text(&file, form);
        for part in [&*ends, &*loss, "95 % interval within one run"] {
            assert!(shown.contains(part), "{form:?} has no {part}:\n{shown}");
        }
    }
    let junit = text(&file, Format::Junit);
    assert!(
        junit.contains(&format!("({ends} within one run)")),
        "{junit}"
    );
    assert!(
        junit.contains(&format!("loss 0.00 % ({loss} within one run; measured)")),
        "{junit}"
    );
    let again = ResultsFile::parse_unchecked(&text(&file, Format::Json)).unwrap();
    assert_eq!(again.observations[0].flows[0].intervals, flow.intervals);
    let csv = records(&text(&file, Format::Csv));
    assert_eq!(csv[0]["frames_per_s_low"].parse(), Ok(rate.low));
    assert_eq!(csv[0]["frames_per_s_high"].parse(), Ok(rate.high));
    assert_eq!(csv[0]["loss_ratio_high"].parse(), Ok(0.012_3));
    assert_eq!(csv[0]["intervals_over"], "within_run");
    assert_eq!(csv[0]["round_trip_p50_ps_low"], "", "it is not an echo");
}

#[test]
fn results_side_by_side_show_the_intervals_of_each() {
    let mut with = am263x::page();
    for flow in with.observations.iter_mut().flat_map(|o| &mut o.flows) {
        with_intervals(flow);
    }
    let page: Value = serde_json::from_str(&text(&with, Format::DatasheetJson)).unwrap();
    let tcp = &page["sheets"][0]["tcp"][0];
    let bits = tcp["bits_per_s"]["value"].as_f64().unwrap();
    let mbit = |bits: f64| format::decimal(bits / 1e6, usize::from(bits < 99.95e6));
    let ends = format!("({}–{})", mbit(bits * 0.97), mbit(bits * 1.03));
    let files = [
        ("with".to_owned(), with),
        ("without".to_owned(), am263x::page()),
    ];
    for form in [
        Format::Datasheet,
        Format::DatasheetMarkdown,
        Format::DatasheetHtml,
    ] {
        let shown = compare(&files, form, &Options::default()).unwrap();
        for part in [&*ends, "95 % interval within one run"] {
            assert!(shown.contains(part), "{form:?} has no {part}:\n{shown}");
        }
    }
}

#[test]
fn flows_are_added_up_end_by_end() {
    let mut file = common::lab();
    let at = file.observations.iter().position(|o| o.flows.len() > 1);
    file.observations = vec![file.observations[at.expect("several flows")].clone()];
    let flows = &mut file.observations[0].flows;
    flows.iter_mut().for_each(with_intervals);
    let first = flows[0].direction;
    flows.retain(|flow| flow.direction == first);
    let low: f64 = flows
        .iter()
        .map(|f| f.intervals.frames_per_s.unwrap().low)
        .sum();
    let shown = text(&file, Format::Markdown);
    assert!(
        shown.contains(&format!("{}–", format::frame_rate(low))),
        "{shown}"
    );
    file.observations[0].flows[0].intervals = FlowIntervals::default();
    let shown = text(&file, Format::Markdown);
    assert!(
        !shown.contains(&format!("{}–", format::frame_rate(low))),
        "one flow has none"
    );
}

#[test]
fn a_datasheet_shows_intervals_within_one_run_and_over_repeats() {
    let mut file = am263x::page();
    for flow in file.observations.iter_mut().flat_map(|o| &mut o.flows) {
        with_intervals(flow);
    }
    let sheet = |file: &ResultsFile| -> Value {
        let page: Value = serde_json::from_str(&text(file, Format::DatasheetJson)).unwrap();
        page["sheets"][0].clone()
    };
    let tcp = sheet(&file)["tcp"][0].clone();
    let bits = tcp["bits_per_s"]["value"].as_f64().unwrap();
    let interval = &tcp["intervals"]["bits_per_s"];
    assert_eq!(interval["over"], "within_run");
    assert!((interval["low"].as_f64().unwrap() - bits * 0.97).abs() < 1.0);
    for form in [
        Format::Datasheet,
        Format::DatasheetMarkdown,
        Format::DatasheetHtml,
    ] {
        let shown = text(&file, form);
        let said = shown.contains("95 % interval within one run");
        assert!(said && shown.contains("95 % interval"), "{form:?}");
    }
    let csv = records(&text(&file, Format::DatasheetCsv));
    let row = csv
        .iter()
        .find(|r| r["section"] == "tcp" && r["figure"] == "bits_per_s");
    let row = row.unwrap();
    assert_eq!(row["over"], "within_run");
    assert!(row["low"].parse::<f64>().unwrap() < row["value"].parse().unwrap());

    let trial = tcp["trials"][0].as_u64().unwrap() as usize - 1;
    for slower in [0.9, 0.95] {
        let mut again = file.observations[trial].clone();
        for flow in &mut again.flows {
            flow.goodput_bits_per_s = flow.goodput_bits_per_s.clone().map(|b| b * slower);
            flow.intervals.goodput_bits_per_s = None;
        }
        file.observations.push(again);
    }
    let tcp = sheet(&file)["tcp"][0].clone();
    let interval = &tcp["intervals"]["bits_per_s"];
    assert_eq!(
        (&interval["over"], &interval["parts"]),
        (&"repeats".into(), &3.into())
    );
    // Student's t of three: 4.303 · s/√3 around the mean, s = 5 % of the first.
    let half = 4.303 * 0.05 * bits / 3f64.sqrt();
    let low = interval["low"].as_f64().unwrap();
    assert!((low - (0.95 * bits - half)).abs() < 1e-3 * bits, "{low}");
    let shown = text(&file, Format::Datasheet);
    assert!(shown.contains("95 % interval over repeats (3)"), "{shown}");
}

#[test]
fn junit_has_the_percentiles_of_round_trips_and_their_intervals() {
    let mut file = am263x::page();
    let echo = |o: &wirelab_trial::Observation| o.trial.direction == wirelab_trial::Direction::Echo;
    file.observations.retain(echo);
    file.observations.truncate(1);
    file.parts.clear();
    let sheet = wirelab_report::datasheet::datasheet(&file);
    let times = &sheet.sheets[0].echo[0];
    let of = times.intervals["p50_ps"];
    let median = format::time(*times.p50_ps.value().unwrap());
    // Both ends look alike, so one is enough.
    let ends = format::time(of.low as u64);
    assert_eq!(ends, format::time(of.high as u64));
    let junit = text(&file, Format::Junit);
    for part in [
        format!("round trip median {median} ({ends} within one run)"),
        format!("longest {}", format::time(*times.max_ps.value().unwrap())),
    ] {
        assert!(junit.contains(&part), "{part}: {junit}");
    }
}
