//! Stages of a Linux node and of a board: the tables in each format, the page, and that all frames are in its pictures.

use crate::common;
use crate::common::linux;
use crate::common::page::{pictures, text};
use wirelab_report::{Against, Format, NoExplanation, Options, paths_of, render, render_stages};
use wirelab_trial::{
    Background, Direction, Field, Load, Part, ResultsFile, stage, stage::PointTimes,
};

fn shown(file: &ResultsFile, format: Format, width: usize) -> String {
    let options = Options {
        width: Some(width),
        ..Options::default()
    };
    render_stages(file, None, format, &options).unwrap()
}

/// The longest line; what did not fit is named in full, however narrow the terminal.
fn longest(text: &str) -> usize {
    let lines = text.lines().filter(|l| !l.starts_with("no room for"));
    lines.map(|l| l.chars().count()).max().unwrap_or(0)
}

#[test]
fn one_way_on_a_terminal_of_eighty_columns() {
    let text = shown(&linux::stack(), Format::Terminal, 80);
    assert!(longest(&text) <= 80, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn ways_side_by_side_on_a_terminal() {
    let file = linux::ways();
    for width in [80, 120] {
        let text = shown(&file, Format::Terminal, width);
        assert!(longest(&text) <= width, "{text}");
        if width == 120 {
            insta::assert_snapshot!(text);
        }
    }
}

#[test]
fn counted_stages_on_a_terminal_and_in_markdown() {
    let file = linux::counted();
    insta::assert_snapshot!(shown(&file, Format::Terminal, 120));
    let text = shown(&file, Format::Markdown, 120);
    for unit in [" ns", " µs"] {
        assert!(!text.contains(unit), "instructions are not time: {text}");
    }
    insta::assert_snapshot!("counted_in_markdown", text);
}

#[test]
fn one_way_in_markdown() {
    insta::assert_snapshot!(shown(&linux::stack(), Format::Markdown, 120));
}

#[test]
fn csv_has_every_row_with_raw_numbers() {
    let file = linux::ways();
    let text = shown(&file, Format::Csv, 80);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|h| h == name).unwrap();
    let rows = stage::table(&file);
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), rows.len());
    for (record, row) in records.iter().zip(&rows) {
        assert_eq!(
            (&record[at("from")], &record[at("to")]),
            (&*row.from, &*row.to)
        );
        assert_eq!(record[at("mean_ticks")].parse(), Ok(row.mean_ticks));
        // A tick of this clock is a nanosecond.
        assert_eq!(
            record[at("three_sigma_ns")].parse(),
            Ok(3.0 * row.stddev_ticks)
        );
        assert_eq!(record[at("p999_ns")].parse(), Ok(row.p999_ticks));
        assert_eq!(record[at("cpu_time")].parse(), Ok(row.cpu_time));
        let path = row.path.map(|p| p.to_string()).unwrap_or_default();
        assert_eq!(record[at("path")], path);
    }
    let beside = records.iter().filter(|r| !r[at("background")].is_empty());
    assert!(beside.count() > 20);
    // Instructions are not time.
    let text = shown(&linux::counted(), Format::Csv, 80);
    assert!(
        text.lines().skip(1).all(|line| line.ends_with(",,,,,,,,")),
        "{text}"
    );
}

#[test]
fn the_page_has_a_histogram_of_each_delay_of_the_document() {
    let html = shown(&linux::ways(), Format::Html, 0);
    let pictures = common::page::pictures(&html);
    let titles: Vec<&str> = pictures
        .iter()
        .filter_map(|p| p["title"].as_str())
        .collect();
    // Figures 3 to 5, 6 to 8, and 9.
    for title in [
        "wire to driver",
        "wire to socket",
        "wire to application",
        "application to wire",
        "queue to wire",
        "driver to wire",
        "driver to application, length 64 B",
        "wire to application, length 1,024 B",
    ] {
        assert!(titles.contains(&title), "{title}: {titles:?}");
    }
    // Every picture is described in words: each series with its mean and the samples beyond.
    for words in html.split("<p class=\"instead\">").skip(1) {
        let words = words.split("</p>").next().unwrap();
        assert!(words.contains("mean") && words.contains("3σ"), "{words}");
    }
    let beyond = |p: &serde_json::Value| {
        let mut curves = p["curves"].as_array().into_iter().flatten();
        curves.any(|curve| curve["binned"]["beyond"].as_u64() > Some(0))
    };
    assert!(pictures.iter().any(beyond) && html.contains("the largest"));
    for part in [
        "fast track against stack",
        "fentry: refused by this host",
        "What each capture point costs",
        "0.47 (−0.12 to 0.98)",
        "frames that a rule matched</td>",
        "CPU time: interrupt to application",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn the_page_of_any_report_has_the_stages() {
    let report = render(&linux::ways(), Format::Html, &Options::default());
    for part in [
        "fast track against stack",
        "CPU time: application to driver",
        "stage by stage",
    ] {
        assert!(report.contains(part), "{part}");
    }
    // They stand there once: not again among latency and other series.
    assert!(!report.contains("Latency and other series"));
    let plain = render(&common::lab(), Format::Html, &Options::default());
    assert!(!plain.contains("from point to point") && !plain.contains("class=\"groups\""));
}

#[test]
fn what_has_no_place_for_stages_says_so() {
    for format in [Format::Junit, Format::Datasheet, Format::DatasheetCsv] {
        let refused = render_stages(&linux::stack(), None, format, &Options::default());
        assert_eq!(refused, Err(NoExplanation(format)));
    }
    let json = shown(&linux::stack(), Format::Json, 80);
    assert_eq!(ResultsFile::parse_unchecked(&json).unwrap(), linux::stack());
}

/// One way of which a part of the frames, `seen`, was seen at the point `copy`.
fn partly_seen(seen: usize) -> ResultsFile {
    let mut file = linux::stack();
    let flows = file.observations.iter_mut().flat_map(|o| &mut o.flows);
    for flow in flows.filter(|f| f.direction == Direction::Receive) {
        let steps = &flow.series;
        let names = steps.iter().map(|s| s.points().unwrap());
        let names = ["wire"].into_iter().chain(names.map(|stage| stage.to));
        let mut at = vec![0u64; steps[0].raw_ticks.len()];
        let mut points = Vec::new();
        for (place, name) in names.enumerate() {
            if let Some(step) = place.checked_sub(1) {
                let ticks = at.iter_mut().zip(&steps[step].raw_ticks);
                ticks.for_each(|(at, ticks)| *at += ticks);
            }
            let frames = if name == "copy" { seen } else { at.len() };
            let times = at.iter().take(frames).enumerate();
            points.push(PointTimes {
                name: name.to_owned(),
                stream: 0,
                clock: steps[0].clock,
                times: times.map(|(n, at)| (n as u32, *at)).collect(),
            });
        }
        let stages = stage::between(&points, &mut Vec::new());
        flow.series = stages.into_iter().map(|(_, series)| series).collect();
    }
    file
}

#[test]
fn a_row_over_fewer_frames_says_so_in_the_first_table() {
    let file = partly_seen(400);
    let text = shown(&file, Format::Terminal, 100);
    let (first, _) = text.split_once("Sent: ").unwrap();
    let row = |name: &str| {
        let found = first.lines().find(|l| l.starts_with(name));
        found.unwrap_or_else(|| panic!("no {name}: {first}"))
    };
    assert!(row("delay").ends_with("frames"), "{first}");
    assert!(row("wire to copy").ends_with(" 400"), "{first}");
    assert!(row("wire to driver").ends_with(" 512"), "{first}");
    assert!(first.contains("'frames' says otherwise"), "{first}");
    // Where all rows are over as many there is no such column.
    let sent = text.split_once("Sent: ").unwrap().1;
    let head = sent.lines().find(|l| l.starts_with("delay")).unwrap();
    assert!(!head.contains("frames"), "{sent}");
    // The table of all figures has it however narrow the terminal.
    let narrow = shown(&file, Format::Terminal, 80);
    let all = narrow.split_once("all figures").unwrap().1;
    assert!(
        all.lines()
            .any(|l| l.starts_with("stage") && l.contains("frames"))
    );
    for format in [Format::Markdown, Format::Html] {
        let text = shown(&file, format, 100);
        assert!(text.contains("frames") && text.contains("400"), "{text}");
    }
}

#[test]
fn a_point_that_few_frames_were_seen_at_is_left_out_in_words() {
    let text = shown(&partly_seen(20), Format::Terminal, 100);
    assert!(
        text.contains("- the point copy is left out: only 20 of 512 frames"),
        "{text}"
    );
    assert!(text.contains("socket to call"), "{text}");
    for gone in ["wire to copy", "socket to copy", "copy to call"] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
}

#[test]
fn frames_that_passed_a_point_unseen_have_a_column_and_a_sentence() {
    let mut file = linux::stack();
    let whole = shown(&file, Format::Terminal, 120);
    assert!(!whole.contains("unseen"), "{whole}");
    let unseen = [("probe_unseen.in.driver", 7), ("unseen_frames", 7)];
    let o = &mut file.observations[0];
    for (name, frames) in unseen {
        o.counters.insert(name.to_owned(), Field::measured(frames));
    }
    let text = shown(&file, Format::Terminal, 120);
    let (_, points) = text.split_once("What each capture point saw").unwrap();
    let mut lines = points.lines().filter(|line| !line.is_empty());
    let heads = lines.next().unwrap();
    let column = heads.find("unseen").unwrap_or_else(|| panic!("{heads}"));
    let row = lines.find(|line| line.contains("driver")).unwrap();
    assert_eq!(
        row[..column + "unseen".len()].trim_end().rsplit(' ').next(),
        Some("7"),
        "{points}"
    );
    let flowing = text.replace("\n  ", " ");
    assert!(
        flowing.contains(
            "7  frames that passed a capture point without a record (the point with the most)"
        ),
        "{text}"
    );
}

#[test]
fn more_ways_than_colours_are_all_drawn() {
    let mut file = linux::stack();
    let like = file.observations.remove(0);
    file.observations.clear();
    for kpps in 1..=8 {
        let mut way = like.clone();
        way.trial.background = Some(Background {
            load: Load::FrameRate {
                frames_per_s: f64::from(kpps) * 1e3,
            },
            size: Background::SIZE,
        });
        file.observations.push(way);
    }
    let html = shown(&file, Format::Html, 100);
    for part in ["(1 of 2)", "(2 of 2)"] {
        assert!(html.contains(&format!("length 64 B {part}")), "{part}");
    }
    for kpps in 1..=8 {
        assert!(
            html.contains(&format!("beside {kpps} kpps: mean")),
            "{kpps}"
        );
    }
}

#[test]
fn the_fast_track_is_drawn_beside_the_stack_under_like_conditions() {
    let html = shown(&linux::ways(), Format::Html, 0);
    let pictures: Vec<&str> = html
        .split("<p class=\"instead\">")
        .skip(1)
        .filter_map(|rest| rest.split("</p>").next())
        .filter(|words| words.contains("fast track") && words.contains("stack"))
        // The bars of all lengths and paths stand in one picture.
        .filter(|words| !words.contains(" B · "))
        .collect();
    assert!(pictures.len() >= 6, "{pictures:?}");
    for words in pictures {
        let (beside, free) = (words.contains("beside"), words.contains("unloaded"));
        assert!(beside != free, "conditions are mixed: {words}");
    }
}

#[test]
fn a_second_run_stands_alone() {
    let mut both = linux::stack();
    both.parts = vec![Part {
        name: "stages".to_owned(),
        first: 0,
        observations: both.observations.len() as u64,
        found: None,
        refused: None,
    }];
    both.append(both.clone());
    let text = shown(&both, Format::Terminal, 120);
    assert!(
        text.contains("run 2") && text.contains("several runs"),
        "{text}"
    );
    assert!(text.contains("512 frames of each length."), "{text}");
    assert!(!shown(&linux::stack(), Format::Terminal, 120).contains("several runs"));
}

#[test]
fn paths_of_calls_are_a_flame_graph_of_every_page_of_them() {
    let file = linux::called();
    let alone = render_stages(&file, None, Format::Html, &Options::default()).unwrap();
    let mut joined = linux::called();
    joined.append(linux::called());
    for html in [
        &alone,
        &text(&file, Format::Html),
        &text(&joined, Format::Html),
    ] {
        let pictures = pictures(html);
        let flame = pictures.iter().find(|of| of["type"] == "flame");
        let flame = flame.expect("a flame graph");
        // A frame costs as much in two runs as in one.
        assert_eq!(flame["whole"], 1200.0);
        let bar = |name: &str| {
            let bars = flame["bars"].as_array().unwrap();
            let bar = bars.iter().find(|bar| bar["name"] == name).expect(name);
            (bar["depth"].clone(), bar["now"].clone())
        };
        assert_eq!(
            bar("irq"),
            (3.into(), 1000.0.into()),
            "all, way, stage, irq"
        );
        assert_eq!(bar("copy"), (5.into(), 600.0.into()));
        assert!(html.contains("<figcaption>") && html.contains("Instructions of a frame by paths"));
    }
    let mut slower = linux::called();
    let paths = &mut slower.measuring.as_mut().unwrap().call_paths;
    *paths[0].instructions.get_mut("irq;rx;copy").unwrap() += 10_000;
    let against = Against {
        before: &[],
        changes: Vec::new(),
        paths: paths_of(&file),
        gate: None,
    };
    let page = render_stages(&slower, Some(&against), Format::Html, &Options::default()).unwrap();
    let pictures = pictures(&page);
    let flame = pictures.iter().find(|of| of["type"] == "flame").unwrap();
    assert_eq!(flame["is_difference"], true);
    let bars = flame["bars"].as_array().unwrap();
    let copy = bars.iter().find(|bar| bar["name"] == "copy").unwrap();
    assert_eq!(
        (&copy["before"], &copy["now"]),
        (&600.0.into(), &700.0.into())
    );
}
