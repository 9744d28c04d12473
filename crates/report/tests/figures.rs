//! The figures of a run out of the house: OpenMetrics, JSON lines and the badge.

use std::collections::{BTreeMap, HashSet};

use crate::common;
use wirelab_report::badge::{BadgeError, badge};
use wirelab_report::{Format, Options, render};
use wirelab_trial::ResultsFile;

fn text(file: &ResultsFile, format: Format) -> String {
    render(file, format, &Options::default())
}

fn json_lines(file: &ResultsFile) -> Vec<serde_json::Value> {
    let text = text(file, Format::JsonLines);
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON")
}

/// The labels and the value of a sample of OpenMetrics text.
fn sample(line: &str) -> (BTreeMap<String, String>, f64) {
    let (mut rest, value) = line.split_once('{').unwrap().1.rsplit_once("} ").unwrap();
    let mut labels = BTreeMap::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").unwrap();
        let mut text = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next().expect("an end") {
                (_, '\\') => text.push(chars.next().unwrap().1),
                (at, '"') => break at,
                (_, c) => text.push(c),
            }
        };
        assert!(labels.insert(name.to_owned(), text).is_none(), "{line}");
        rest = after[end + 1..].trim_start_matches(',');
    }
    (labels, value.parse().unwrap())
}

#[test]
fn openmetrics_has_each_figure_of_the_json_lines_in_base_units() {
    for file in [common::lab(), common::faulty()] {
        let text = text(&file, Format::OpenMetrics);
        assert!(text.ends_with("\n# EOF\n"), "{text}");
        let mut unique = HashSet::new();
        let medians: Vec<_> = text
            .lines()
            .filter(|line| !line.starts_with('#') && line.contains("value=\"median\""))
            .map(|line| {
                assert!(unique.insert(line.rsplit_once(' ').unwrap().0), "{line}");
                sample(line)
            })
            .collect();
        let records = json_lines(&file);
        assert!(!records.is_empty());
        assert_eq!(medians.len(), records.len(), "{text}");
        for record in records {
            let divisor = if record["unit"] == "ps" { 1e12 } else { 1.0 };
            let expected = record["median"].as_f64().unwrap() / divisor;
            let is_it = |(labels, value): &&(BTreeMap<String, String>, f64)| {
                let label = |name: &str| labels.get(name).map(String::as_str);
                ["node", "trial", "figure", "kind"]
                    .iter()
                    .all(|name| label(name) == record[name].as_str())
                    && *value == expected
            };
            assert!(medians.iter().any(|m| is_it(&m)), "{record}\n{text}");
        }
    }
}

#[test]
fn a_family_of_metrics_stands_in_one_piece() {
    let text = text(&common::lab(), Format::OpenMetrics);
    let mut families = HashSet::new();
    let mut now = String::new();
    for line in text.lines().filter(|line| *line != "# EOF") {
        match line.strip_prefix("# TYPE ") {
            Some(head) => {
                now = head.split(' ').next().unwrap().to_owned();
                assert!(families.insert(now.clone()), "{now} twice");
            }
            None => assert!(
                line.trim_start_matches("# HELP ").starts_with(&now),
                "{line}"
            ),
        }
    }
}

#[test]
fn hostile_names_stay_text() {
    let mut file = common::lab();
    let name = "a\"} 1\n# EOF\\\u{202e}<script>";
    for observation in &mut file.observations {
        name.clone_into(&mut observation.node.name);
    }
    let metrics = text(&file, Format::OpenMetrics);
    assert_eq!(metrics.matches("\n# EOF").count(), 1, "{metrics}");
    let first = metrics.lines().find(|line| !line.starts_with('#')).unwrap();
    assert_eq!(sample(first).0["node"], "a\"} 1 # EOF\\\u{fffd}<script>");
    assert!(
        json_lines(&file)
            .iter()
            .all(|record| record["node"] == name)
    );
    let Err(BadgeError::Several { there, .. }) = badge(&file, "") else {
        panic!("several figures");
    };
    assert!(there.contains("forwarding rate"), "{there}");
}

#[test]
fn a_badge_shows_the_figure_that_its_words_name() {
    let file = common::lab();
    let record = json_lines(&file).remove(0);
    let words = format!(
        "{} {}",
        record["trial"].as_str().unwrap(),
        "forwarding rate"
    );
    insta::assert_snapshot!(badge(&file, &words).unwrap());
    let none = badge(&file, "no such figure").unwrap_err().to_string();
    assert!(
        none.contains("forwarding rate") && none.contains("fix:"),
        "{none}"
    );
    let empty = ResultsFile {
        observations: Vec::new(),
        ..file
    };
    assert_eq!(badge(&empty, "rate"), Err(BadgeError::Nothing));
    assert!(text(&empty, Format::OpenMetrics).ends_with("# EOF\n"));
}

#[test]
fn a_figure_of_the_tester_says_so_on_its_badge() {
    let file = common::lab();
    let limited = json_lines(&file)
        .into_iter()
        .find(|record| record["tester_limited_repeats"] != 0)
        .expect("a limited trial");
    let words = format!(
        "{} {}",
        limited["trial"].as_str().unwrap(),
        limited["figure"].as_str().unwrap()
    );
    let shown = badge(&file, &words).unwrap();
    assert!(shown.contains(", tester limited"), "{shown}");
}
