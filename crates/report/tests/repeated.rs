//! The repeats of a trial taken together: one table in every format, and columns of CSV.

use crate::common;
use wirelab_report::{Format, Options, render};
use wirelab_trial::{Direction, Field, Kind, Part, ResultsFile, Status};

/// A trial in both directions three times, the last of them void, and another one once.
fn repeated() -> ResultsFile {
    let mut file = common::lab();
    file.observations.truncate(2);
    let first = file.observations[0].clone();
    for slower in [0.9, 0.5] {
        let mut again = first.clone();
        for flow in &mut again.flows {
            flow.frames_per_s = flow.frames_per_s.clone().map(|rate| rate * slower);
        }
        file.observations.push(again);
    }
    file.observations[3].status = Status::Void {
        why: "the receiver died".to_owned(),
    };
    file
}

fn shown(file: &ResultsFile, format: Format) -> String {
    render(file, format, &Options::default())
}

/// The section of the table.
fn section(text: &str) -> &str {
    let from = text.find("Repeated trials").expect(text);
    let rest = &text[from..];
    rest.find("\n\n*").map_or(rest, |end| &rest[..end])
}

fn rows(csv: &str) -> Vec<std::collections::HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn each_format_has_the_mean_its_interval_and_the_median_of_repeats() {
    let file = repeated();
    insta::assert_snapshot!(section(&shown(&file, Format::Markdown)));
    let text = shown(&file, Format::Terminal);
    let [table, end] = ["Repeated trials", "frames sent"].map(|of| text.find(of).expect(of));
    assert!(table < end, "the judgement is the last line: {text}");
    assert!(shown(&file, Format::Html).contains("Repeated trials"));

    let sum = |at: usize| -> f64 {
        let flows = file.observations[at].flows.iter();
        let flows = flows.filter(|f| f.direction == Direction::Receive);
        flows.map(|f| f.frames_per_s.value().unwrap()).sum()
    };
    let (mean, half) = ((sum(0) + sum(2)) / 2.0, (sum(0) - sum(2)) / 2.0);
    let all = rows(&shown(&file, Format::Csv));
    let of = |trial: &str| {
        let mut flows = all.iter().filter(|row| row["trial"] == trial);
        flows.find(|row| row["direction"] == "receive").unwrap()
    };
    for trial in ["1", "3", "4"] {
        let row = of(trial);
        assert_eq!((&*row["repeats"], &*row["repeats_complete"]), ("3", "2"));
        let figure = |name: &str| -> f64 { row[name].parse().unwrap() };
        assert!((figure("repeats_mean_frames_per_s") - mean).abs() < 1e-6 * mean);
        assert_eq!(row["repeats_mean_frames_per_s_kind"], "measured");
        // Student's t of two: 12.706 · s/√2, where s is half the distance times √2.
        let [low, high] =
            ["low", "high"].map(|end| figure(&format!("repeats_mean_frames_per_s_{end}")));
        assert!((low - (mean - 12.706 * half)).abs() < 1e-3 * mean, "{low}");
        assert!(
            (high - (mean + 12.706 * half)).abs() < 1e-3 * mean,
            "{high}"
        );
        assert_eq!(figure("repeats_median_frames_per_s"), mean);
    }
    let single = of("2");
    assert_eq!(
        (&*single["repeats"], &*single["repeats_complete"]),
        ("", "")
    );
    assert_eq!(
        single["repeats_median_frames_per_s_kind"],
        "absent: the trial was not repeated"
    );
}

#[test]
fn single_trials_and_those_of_other_parts_or_searches_are_no_repeats() {
    let has = |file: &ResultsFile| shown(file, Format::Markdown).contains("Repeated trials");
    assert!(!has(&common::lab()));
    let mut file = repeated();
    file.observations.remove(1);
    file.observations.truncate(2);
    assert!(has(&file));
    let part = |first| Part {
        first,
        observations: 1,
        name: format!("part {first}"),
        ..serde_json::from_str(r#"{"name": "", "first": 0, "observations": 0}"#).unwrap()
    };
    file.parts = vec![part(0), part(1)];
    assert!(
        !has(&file),
        "a plan that asks a trial in two parts asks two things"
    );
    let mut searched = common::am263x::page();
    let found = |part: &&mut Part| part.found.is_some();
    let search = searched.parts.iter_mut().find(found).unwrap().clone();
    searched.observations = search.of(&searched.observations).to_vec();
    let again = searched.observations[0].clone();
    searched.observations.push(again);
    searched.parts = vec![Part {
        first: 0,
        observations: searched.observations.len() as u64,
        ..search
    }];
    assert!(!has(&searched));
    searched.parts[0].found = None;
    assert!(has(&searched));
}

#[test]
fn a_datasheet_has_the_table_behind_its_own() {
    let mut file = common::short_page();
    let text = shown(&file, Format::DatasheetMarkdown);
    assert!(!text.contains("Repeated trials"), "{text}");
    let last = file
        .parts
        .iter()
        .rposition(|part| part.found.is_none())
        .unwrap();
    let part = &mut file.parts[last];
    let end = (part.first + part.observations) as usize;
    part.observations += 1;
    file.parts[last + 1..]
        .iter_mut()
        .for_each(|part| part.first += 1);
    let again = file.observations[end - 1].clone();
    file.observations.insert(end, again);
    let text = shown(&file, Format::DatasheetMarkdown);
    assert!(section(&text).contains("2 of 2"), "{text}");
}

#[test]
fn a_mean_is_never_one_of_some_repeats_or_of_several_kinds() {
    let mean = |file: &ResultsFile| {
        let all = rows(&shown(file, Format::Csv));
        let kind = |row: &std::collections::HashMap<String, String>| {
            row["repeats_mean_frames_per_s_kind"].clone()
        };
        let first = all.iter().find(|row| row["direction"] == "transmit");
        kind(first.unwrap())
    };
    let mut file = repeated();
    assert_eq!(mean(&file), "measured");
    let way = file.observations[2].flows[0].direction;
    file.observations[2].flows.retain(|f| f.direction != way);
    assert_eq!(
        mean(&file),
        "absent: a repeat has no flow of this direction"
    );
    let mut file = repeated();
    for flow in &mut file.observations[2].flows {
        flow.frames_per_s = Field::Observed {
            value: 1e6,
            kind: Kind::Predicted,
        };
    }
    assert_eq!(mean(&file), "absent: its repeats are of different kinds");
    file.observations[0].status = Status::Void {
        why: "bad".to_owned(),
    };
    assert_eq!(mean(&file), "predicted", "only one of them is complete");
    file.observations[2].flows[1].frames_per_s = Field::absent("it was not timed");
    assert_eq!(mean(&file), "absent: it was not timed");
    file.observations[2].status = file.observations[0].status.clone();
    assert_eq!(mean(&file), "absent: no repeat of it is complete");
}
