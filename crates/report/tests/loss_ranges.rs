//! A loss that the tester cannot know to the last frame is a range in every format, and what only the tester dropped has a
//! word of its own.

use crate::common;
use crate::common::{am263x, lab, page};
use wirelab_report::{Format, Options, render, summary_line, verdict};
use wirelab_trial::*;

const NOTE: &str = "the tester's own queue dropped an unknown number of frames: at least the first figure was lost, and at most the second";

/// What a person reads of a file's trials.
fn shown(file: &ResultsFile, format: Format) -> String {
    let options = Options {
        width: Some(300),
        each_flow: true,
        ..Options::default()
    };
    let text = render(file, format, &options);
    match format {
        Format::Html => common::page::own(&text),
        _ => text,
    }
}

/// So many sequences of a flow never arrived: some were lost, some the tester dropped, some are one or the other.
fn unseen(flow: &mut FlowObservation, lost: u64, missed: u64, either: u64) {
    let sent = *flow.sent_frames.value().unwrap();
    let arrived = sent - lost - missed - either;
    let counts = Counts {
        received_frames: arrived,
        good_frames: arrived,
        distinct_sequences: arrived,
        lost_frames: lost,
        missed_frames: missed,
        lost_or_missed_frames: either,
        ..Counts::default()
    };
    counts.check_identity(sent).unwrap();
    flow.counts = Field::measured(counts);
    flow.loss_ratio = Field::measured(lost as f64 / sent as f64);
    let at_most = (lost + either) as f64 / sent as f64;
    flow.loss_ratio_at_most = (either > 0).then_some(at_most);
}

/// One trial of one flow, of which 900 datagrams were lost or dropped by the tester.
fn counted() -> ResultsFile {
    let mut file = lab();
    file.observations.drain(..5);
    file.observations.truncate(1);
    unseen(&mut file.observations[0].flows[0], 0, 0, 900);
    file
}

fn csv_cells(text: &str) -> Vec<std::collections::HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn counts_show_both_ends_in_every_format() {
    let file = counted();
    let sent = *file.observations[0].flows[0].sent_frames.value().unwrap();
    for (format, ends) in [
        (Format::Terminal, "0–900["),
        (Format::Markdown, "0–900 \\["),
        (Format::Html, ">0–900<sup>"),
        (
            Format::Html,
            &*format!("0–900 of {}", wirelab_report::format::integer(sent)),
        ),
        (Format::Html, "\"look\":\"perhaps\""),
        (Format::Junit, "0 lost, 900 lost or missed by the tester"),
    ] {
        let text = shown(&file, format);
        assert!(text.contains(ends), "{format:?}: {ends} in\n{text}");
        if format != Format::Junit {
            assert!(
                text.replace("&#39;", "'").contains(NOTE),
                "{format:?}:\n{text}"
            );
        }
    }
    let cells = &csv_cells(&shown(&file, Format::Csv))[0];
    let share: f64 = cells["loss_ratio_at_most"].parse().unwrap();
    assert!((share - 900.0 / sent as f64).abs() < 1e-12);
    let ends = ["lost_frames", "lost_or_missed_frames", "loss_ratio"].map(|name| &*cells[name]);
    assert_eq!(ends, ["0", "900", "0"]);
    let json: serde_json::Value = serde_json::from_str(&shown(&file, Format::Json)).unwrap();
    let flow = &json["observations"][0]["flows"][0];
    assert_eq!(flow["loss_ratio"]["value"], 0.0);
    assert!(flow["loss_ratio_at_most"].as_f64().unwrap() > 0.0);
    let words = "0 lost, 900 lost or missed by the tester";
    let line = summary_line(&file.observations[0]);
    assert!(line.contains(words), "{line}");
    assert!(verdict(&file).contains(words), "{}", verdict(&file));
}

#[test]
fn a_loss_that_is_known_is_no_range() {
    let mut file = counted();
    unseen(&mut file.observations[0].flows[0], 900, 20, 0);
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let text = shown(&file, format);
        assert!(!text.contains("–900") && !text.contains("900–"), "{text}");
        assert!(!text.contains("\"look\":\"perhaps\"") && !text.contains(NOTE));
    }
    assert_eq!(
        csv_cells(&shown(&file, Format::Csv))[0]["loss_ratio_at_most"],
        ""
    );
}

#[test]
fn several_flows_add_up_end_by_end_and_a_certain_loss_stays_an_alarm() {
    let mut file = lab();
    file.observations.truncate(1);
    let flows = &mut file.observations[0].flows;
    unseen(&mut flows[0], 5, 0, 900);
    unseen(&mut flows[1], 2, 0, 0);
    let text = render(&file, Format::Markdown, &Options::default());
    assert!(text.contains("**7–907** \\[1\\]"), "{text}");
}

#[test]
fn a_share_without_counts_shows_both_ends() {
    let mut file = common::kinds();
    file.observations.truncate(1);
    let flow = &mut file.observations[0].flows[0];
    flow.loss_ratio = Field::measured(0.0);
    flow.loss_ratio_at_most = Some(0.72);
    for (format, ends) in [
        (Format::Terminal, "0.00–72.00["),
        (Format::Markdown, "0.00–72.00 \\["),
        (Format::Html, ">0.00–72.00<sup>"),
        (Format::Html, ": 0.00–72.00 %, measured.<"),
    ] {
        let text = shown(&file, format);
        assert!(text.contains(ends), "{format:?}: {ends} in\n{text}");
    }
    assert_eq!(
        csv_cells(&shown(&file, Format::Csv))[0]["loss_ratio_at_most"],
        "0.72"
    );
}

#[test]
fn what_only_the_tester_dropped_has_a_word_of_its_own() {
    let word = |lost, missed, either| -> String {
        let mut file = lab();
        file.observations.drain(..5);
        unseen(&mut file.observations[0].flows[0], lost, missed, either);
        let text = shown(&file, Format::Markdown);
        let row = text.lines().find(|l| l.starts_with("| 1 |"));
        let row = row.unwrap_or_else(|| panic!("{text}")).to_owned();
        let cell = row.trim_end_matches(" |").rsplit("| ").next();
        cell.unwrap().to_owned()
    };
    let mut of_tester = counted();
    let words =
        "1 of 1 trial with a fault or loss, 1 of them only by drops of the tester's own queue";
    assert!(verdict(&of_tester).starts_with(words), "{of_tester:?}");
    unseen(&mut of_tester.observations[0].flows[0], 3, 0, 900);
    assert!(!verdict(&of_tester).contains("of them"));
    assert_eq!(word(0, 0, 900), "TESTER");
    assert_eq!(word(0, 7, 0), "TESTER");
    assert_eq!(word(3, 0, 900), "LOSS");
    let mut file = lab();
    file.observations.drain(..5);
    let flow = &mut file.observations[0].flows[0];
    unseen(flow, 0, 7, 0);
    if let Field::Observed { value, .. } = &mut flow.counts {
        value.reordered_frames = 1;
    }
    let text = shown(&file, Format::Markdown);
    assert!(
        text.contains("FAULTY") && !text.contains("TESTER"),
        "{text}"
    );
}

/// A datasheet in which one trial's loss is a range: what a node sends at maximum load, of the first size.
fn sheet() -> ResultsFile {
    let mut file = am263x::page();
    let ranged = |o: &&mut Observation| {
        let udp = o.trial.framing.layer == Layer::UdpIpv4;
        udp && o.trial.direction == Direction::Transmit && o.trial.load == Load::Max
    };
    let o = file.observations.iter_mut().find(ranged).unwrap();
    let sent = *o.flows[0].sent_frames.value().unwrap();
    unseen(&mut o.flows[0], 0, 0, sent * 18 / 25);
    // As every trial has it whose receiver missed frames.
    o.warnings.push(Warning {
        code: "checker-missed".to_owned(),
        text: "frames went by unseen".to_owned(),
        fix: "offer less".to_owned(),
    });
    file
}

#[test]
fn a_datasheet_shows_both_ends_in_every_format() {
    let file = sheet();
    let udp = page::rows(&page::text(&file, Format::Markdown), "### UDP Throughput");
    assert!(udp[5][3].starts_with("0.0–72.0 ["), "{udp:?}");
    for format in [
        Format::Datasheet,
        Format::DatasheetMarkdown,
        Format::DatasheetHtml,
    ] {
        let text = shown(&file, format);
        assert!(text.contains("0.0–72.0"), "{format:?}:\n{text}");
        assert!(
            text.replace("&#39;", "'").contains(NOTE),
            "{format:?}:\n{text}"
        );
        assert!(!text.contains("not in this loss"), "{format:?}:\n{text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&shown(&file, Format::DatasheetJson)).unwrap();
    let udp = &json["sheets"][0]["udp"][0];
    assert_eq!(udp["transmit_max"]["loss_ratio"]["value"], 0.0);
    let at_most = udp["transmit_max"]["loss_ratio_at_most"].as_f64().unwrap();
    assert!((at_most - 0.72).abs() < 1e-4, "{at_most}");
    assert_eq!(udp["receive"][0].get("loss_ratio_at_most"), None);
    let cells = csv_cells(&shown(&file, Format::DatasheetCsv));
    let of = |figure: &str| {
        let own = |c: &&std::collections::HashMap<String, String>| {
            c["row"] == "transmit_max" && c["figure"] == figure
        };
        let cell = cells.iter().find(own).map(|c| c["value"].clone());
        cell.unwrap_or_else(|| panic!("{figure}"))
    };
    assert_eq!(of("loss_ratio"), "0");
    assert_eq!(of("loss_ratio_at_most").parse(), Ok(at_most));
}

#[test]
fn echoes_show_both_ends() {
    let mut file = am263x::page();
    let echo = |o: &&mut Observation| o.trial.direction == Direction::Echo;
    let o = file.observations.iter_mut().find(echo).unwrap();
    o.flows[0].loss_ratio = Field::measured(0.0);
    o.flows[0].loss_ratio_at_most = Some(0.72);
    let rows = page::rows(&page::text(&file, Format::Markdown), "## Echo Latency");
    let shown = rows
        .iter()
        .flatten()
        .any(|cell| cell.starts_with("0.0–72.0"));
    assert!(shown, "{rows:?}");
    let text = page::text(&file, Format::DatasheetJson);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["sheets"][0]["echo"][0]["loss_ratio_at_most"], 0.72);
}

#[test]
fn frames_of_stages_show_both_ends() {
    let mut file = common::linux::ways();
    let flow = |o: &mut Observation| unseen(&mut o.flows[0], 0, 0, 30);
    file.observations.iter_mut().take(1).for_each(flow);
    let options = Options::default();
    let text = wirelab_report::render_stages(&file, None, Format::Markdown, &options).unwrap();
    assert!(text.contains("| 0–30 |") && text.contains(NOTE), "{text}");
}
