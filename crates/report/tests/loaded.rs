//! Round trips with and without a background side by side, in every format.

use crate::common;
use crate::common::am263x::page;
use crate::common::page::pictures;
use wirelab_report::{Format, Options, render};
use wirelab_trial::{Field, Kind, Observation, ResultsFile};

/// An echo trial without load, and the same beside a background of which the tester kept 9 of 10 and the node lost a
/// quarter.
fn loaded() -> ResultsFile {
    let mut file = page();
    let mut echoes = file
        .observations
        .iter()
        .filter(|o| o.trial.direction == wirelab_trial::Direction::Echo);
    let alone: Observation = echoes.next().unwrap().clone();
    let slow: Observation = echoes.next_back().unwrap().clone();
    let mut beside = Observation {
        trial: wirelab_trial::Trial {
            background: Some("50kpps,length=256".parse().unwrap()),
            ..alone.trial.clone()
        },
        ..alone.clone()
    };
    beside.flows[0].series = slow.flows[0].series.clone();
    for (name, value) in [
        ("sent_frames", 45_000),
        ("received_frames", 33_750),
        ("lost_frames", 11_250),
        ("lasted_ns", 1_000_000_000),
        ("due_frames", 50_000),
    ] {
        let name = format!("background_{name}");
        beside.counters.insert(name, Field::measured(value));
    }
    beside.tester.was_limit = Field::measured(true);
    file.parts.clear();
    file.observations = vec![alone, beside, slow];
    file
}

fn shown(file: &ResultsFile, format: Format) -> String {
    render(file, format, &Options::default())
}

/// The cells of the table's rows, by the lines of a Markdown page.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (_, table) = text
        .split_once("## Latency under load")
        .unwrap_or_else(|| panic!("{text}"));
    let lines = table.lines().skip_while(|line| !line.starts_with('|'));
    let lines = lines.take_while(|line| line.starts_with('|'));
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim_matches('|').split('|');
        inner.map(|cell| cell.trim().to_owned()).collect()
    };
    lines.map(cells).collect()
}

#[test]
fn a_latency_under_load_stands_beside_the_one_without() {
    let file = loaded();
    let rows = rows(&shown(&file, Format::Markdown));
    let at = |name: &str| {
        let at = rows[0].iter().position(|head| head.starts_with(name));
        at.unwrap_or_else(|| panic!("{name}: {:?}", rows[0]))
    };
    // The third trial has another size, and was not asked beside a background.
    assert_eq!(rows.len(), 2 + 2, "{rows:?}");
    let (without, with) = (&rows[2], &rows[3]);
    assert_eq!(without[at("background")], "none");
    assert_eq!(with[at("background")], "50,000 frames/s, length 256 B");
    assert_eq!((&*without[at("sent")], &*with[at("sent")]), ("", "45,000"));
    assert_eq!(with[at("background load")], "50,000");
    assert_eq!(with[at("lost")], "25.0");
    assert_eq!(with[at("tester limited")], "yes");
    assert_eq!(without[at("floor, median")], "21.00");
    for figure in ["median", "p90", "p99", "max"] {
        let [a, b] = [without, with].map(|row| row[at(figure)].parse::<f64>().unwrap());
        assert!(b > a, "{figure}: {a} without, {b} with");
    }
    // 512 probes are too few for this percentile, and it says so.
    assert!(with[at("p99.9")].contains('['), "{with:?}");
    for format in [Format::Terminal, Format::Html] {
        let text = shown(&file, format);
        for words in ["Latency under load", "length 256 B", "45,000"] {
            assert!(text.contains(words), "{format:?}: {words} in\n{text}");
        }
    }
}

#[test]
fn csv_and_the_datasheet_tell_the_figures_with_their_kinds() {
    let file = loaded();
    let text = shown(&file, Format::Csv);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let cell = |row: usize, name: &str| {
        let at = heads.iter().position(|head| head == name).expect(name);
        records[row][at].to_owned()
    };
    assert_eq!(cell(1, "background_frames_per_s"), "45000");
    assert_eq!(cell(1, "background_asked_frames_per_s"), "50000");
    assert_eq!(cell(1, "background_loss_ratio"), "0.25");
    assert_eq!(cell(1, "background_loss_ratio_kind"), "measured");
    assert_eq!(
        cell(0, "background_loss_ratio_kind"),
        "absent: no background was requested"
    );
    let p99 = |row| cell(row, "round_trip_p99_ps").parse::<u64>().unwrap();
    assert!(p99(1) > p99(0));
    let sheet: serde_json::Value =
        serde_json::from_str(&shown(&file, Format::DatasheetJson)).unwrap();
    let echo = &sheet["sheets"][0]["echo"];
    assert_eq!(echo[0]["background"], serde_json::Value::Null);
    assert_eq!(echo[1]["background"], "50000pps,length=256");
    assert_eq!(echo[1]["background_frames_per_s"]["value"], 45_000.0);
    let figures = shown(&file, Format::DatasheetCsv);
    assert!(
        figures.contains("round_trip_of_datagram_beside_50000pps"),
        "{figures}"
    );
    assert!(shown(&file, Format::DatasheetMarkdown).contains("beside 50000pps"));
}

#[test]
fn repeats_of_a_pair_are_two_rows_and_a_file_without_a_background_has_no_table() {
    let mut file = loaded();
    let again: Vec<Observation> = file.observations[..2].to_vec();
    file.observations.extend(again);
    let rows = rows(&shown(&file, Format::Markdown));
    assert_eq!(rows.len(), 2 + 2, "{rows:?}");
    assert_eq!((&*rows[2][0], &*rows[3][0]), ("1, 4", "2, 5"));
    let busy = rows[0].iter().position(|head| head.starts_with("CPU load"));
    assert_eq!(rows[2][busy.unwrap()], "3.4", "the mean of the repeats");
    file.observations.retain(|o| o.trial.background.is_none());
    assert!(!shown(&file, Format::Markdown).contains("Latency under load"));
    let kinds = file.observations.iter().map(|o| o.cpu_load.kind());
    assert!(kinds.into_iter().all(|kind| kind == Some(Kind::Measured)));
}

#[test]
fn latency_at_several_loads_is_one_picture_in_which_a_reader_chooses_the_load() {
    let of = |file: &ResultsFile| -> Vec<(String, Vec<String>)> {
        let pictures = pictures(&shown(file, Format::Html)).into_iter();
        let pictures = pictures.filter(|of| of["type"] == "samples" && of["name"] == "time");
        let names = |of: &serde_json::Value| -> Vec<String> {
            let series = of["series"].as_array().unwrap().iter();
            series
                .map(|s| s["name"].as_str().unwrap().to_owned())
                .collect()
        };
        pictures
            .map(|of| (of["by"].as_str().unwrap().to_owned(), names(&of)))
            .collect()
    };
    let rising = |n: [u32; 3]| {
        let load = ["1,000", "20,000", "50,000"];
        let name = |at: usize| format!("{} frames/s · trial {}", load[at], n[at]);
        (0..3).map(name).collect::<Vec<_>>()
    };
    assert_eq!(
        of(&common::loads()),
        [("load".to_owned(), rising([2, 3, 1]))]
    );
    // Loads of several sizes are a picture each, and what differs in more than the load is chosen by trial.
    let mut sizes = common::loads();
    let mut other = common::loads();
    for o in &mut other.observations {
        o.trial.size.bytes += 64;
    }
    sizes.append(other);
    let all = of(&sizes);
    assert_eq!(all.len(), 2);
    assert_eq!(all[1], ("load".to_owned(), rising([5, 6, 4])));
    sizes.observations.truncate(4);
    sizes.observations.drain(..2);
    let all = of(&sizes);
    assert_eq!((all.len(), &*all[0].0, all[0].1.len()), (1, "trial", 2));
    // The background is the load of an echo.
    let echoes = of(&loaded());
    let names = &echoes.iter().find(|(by, _)| by == "load").expect("one").1;
    assert!(names[1].contains("beside 50,000 frames/s"), "{names:?}");
}
