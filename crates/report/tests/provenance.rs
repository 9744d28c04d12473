//! Each figure says where it comes from in every format: a sum is of the weakest kind of its parts and names them, and
//! figures of an emulated node are marked, said at the top of the page, and never stand beside measured ones.

mod common;

use common::am263x;
use wirelab_report::datasheet::compare;
use wirelab_report::{Format, Options, render};
use wirelab_trial::search::SearchEnded;
use wirelab_trial::{Field, Found, Kind, ResultsFile};

const SUM: &str = "measured + published (PHY DP83869HM datasheet)";

fn text(file: &ResultsFile, format: Format) -> String {
    render(file, format, &Options::default())
}

fn emulated() -> ResultsFile {
    let mut file = am263x::page();
    for o in &mut file.observations {
        o.mark_emulated();
    }
    // As a search of such a node finds them.
    let found = file.parts.iter_mut().filter_map(|p| p.found.as_mut());
    for part in found {
        if let Found::Rates(result) = part {
            for goal in &mut result.goals {
                if let Field::Observed { kind, .. } = &mut goal.width_ratio {
                    *kind = Kind::Emulated;
                }
            }
        }
    }
    file
}

#[test]
fn a_sum_of_measured_and_published_names_its_parts() {
    let file = am263x::page();
    for format in [
        Format::Datasheet,
        Format::DatasheetHtml,
        Format::DatasheetCsv,
    ] {
        assert!(text(&file, format).contains(SUM), "{format}");
    }
    let csv = text(&file, Format::DatasheetCsv);
    let kind_of = |figure: &str| {
        let row = csv.lines().find(|l| l.contains(&format!(",{figure},")));
        let row = row.unwrap_or_else(|| panic!("{figure}: {csv}"));
        row.split(',').nth(6).unwrap().to_owned()
    };
    assert_eq!(kind_of("node_ps"), "measured");
    assert_eq!(kind_of("phy_ps"), "published");
    assert_eq!(kind_of("total_ps"), SUM);
    let json: serde_json::Value =
        serde_json::from_str(&text(&file, Format::DatasheetJson)).unwrap();
    let total = &json["sheets"][0]["layer2_latency"][0]["total"];
    assert_eq!(
        (&total["kind"], &total["parts"]),
        (&"published".into(), &SUM.into())
    );
    let files = [
        ("a.json".to_owned(), file.clone()),
        ("b.json".to_owned(), file),
    ];
    let beside = compare(&files, Format::Datasheet, &Options::default()).unwrap();
    let row = beside.lines().find(|l| l.contains(" total ")).unwrap();
    assert!(row.contains('[') && beside.contains(SUM), "{beside}");
}

#[test]
fn an_emulated_page_says_so_at_its_top_and_beside_each_figure() {
    let file = emulated();
    for format in [
        Format::Datasheet,
        Format::DatasheetMarkdown,
        Format::DatasheetHtml,
    ] {
        let page = text(&file, format);
        let body = page.find("Setup Details").unwrap();
        let top = &page[..body];
        assert!(
            top.contains("Emulated:") && top.contains("no figures of the hardware"),
            "{top}"
        );
        assert!(!page.contains("All figures measured"), "{format}: {page}");
        assert!(page.contains("All figures emulated"), "{format}");
    }
    for row in text(&file, Format::DatasheetCsv).lines().skip(1) {
        let of_the_tester = row.contains(",tester_") || row.contains(",floor_");
        let measured = row.split(',').nth(6) == Some("measured");
        // What was offered is what the tester itself sent.
        assert!(
            !measured || of_the_tester || row.contains(",offered_"),
            "{row}"
        );
    }
    let trials = Options {
        trials: true,
        ..Options::default()
    };
    for format in [
        Format::Terminal,
        Format::Markdown,
        Format::Html,
        Format::Csv,
        Format::Junit,
    ] {
        let page = render(&file, format, &trials);
        let (emulated, measured) = (
            page.matches("emulated").count(),
            page.matches("measured").count(),
        );
        assert!(
            emulated > 0 && emulated >= measured,
            "{format}: {emulated} and {measured}\n{page}"
        );
    }
    let file: ResultsFile = serde_json::from_str(&serde_json::to_string(&file).unwrap()).unwrap();
    assert!(
        file.observations
            .iter()
            .all(wirelab_trial::Observation::is_emulated)
    );
}

#[test]
fn emulated_and_measured_results_do_not_stand_side_by_side() {
    let files = [
        ("chip.json".to_owned(), am263x::page()),
        ("emulated.json".to_owned(), emulated()),
    ];
    for format in [
        Format::Datasheet,
        Format::DatasheetMarkdown,
        Format::DatasheetHtml,
    ] {
        let error = compare(&files, format, &Options::default())
            .unwrap_err()
            .to_string();
        for word in ["emulated.json", "chip.json", "not compared", "fix:"] {
            assert!(error.contains(word), "{error}");
        }
    }
    let alone = [files[1].clone(), files[1].clone()];
    let shown = compare(&alone, Format::Datasheet, &Options::default()).unwrap();
    assert!(shown.contains("emulated"), "{shown}");
}

/// What stands below a heading of the page in Markdown.
fn below(page: &str, heading: &str) -> String {
    let rest = page.split_once(&format!("## {heading}\n"));
    let rest = rest.map_or("", |(_, rest)| rest);
    rest.split("\n## ").next().unwrap_or_default().to_owned()
}

#[test]
fn what_is_said_to_be_missing_is_not_on_the_page() {
    let mut file = am263x::page();
    let of_search = |file: &ResultsFile| {
        let mut parts = file.parts.iter();
        parts
            .position(|p| matches!(p.found, Some(Found::Rates(_))))
            .unwrap()
    };
    let at = of_search(&file);
    let name = file.parts[at].name.clone();
    let end = |file: &mut ResultsFile, figures: bool| {
        if let Some(Found::Rates(found)) = &mut file.parts[at].found {
            found.ended = SearchEnded::TimeLimit;
            for goal in found.goals.iter_mut().filter(|_| !figures) {
                goal.relevant_lower_bound_frames_per_s = Field::absent("nothing was found");
            }
        }
    };
    end(&mut file, true);
    let page = text(&file, Format::DatasheetMarkdown);
    assert!(!below(&page, "Not on this page").contains(&name), "{page}");
    assert!(
        below(&page, "Searches that did not end").contains(&name),
        "{page}"
    );
    end(&mut file, false);
    let page = text(&file, Format::DatasheetMarkdown);
    assert!(below(&page, "Not on this page").contains(&name), "{page}");
    for section in ["TCP", "UDP", "Echo latency", "Layer 2 latency"] {
        assert!(
            !below(&page, "Not on this page").contains(&format!("- {section}:")),
            "{page}"
        );
    }
}

#[test]
fn a_run_that_the_tester_limited_is_not_called_clean() {
    let mut file = common::lab();
    for o in &mut file.observations {
        o.tester.was_limit = Field::measured(false);
    }
    let clean = text(&file, Format::Html);
    assert!(clean.contains("Clean.") && !clean.contains("Tester limited"));
    file.observations[0].tester.was_limit = Field::measured(true);
    let limited = text(&file, Format::Html);
    assert!(!limited.contains("Clean.") && limited.contains("Tester limited."));
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let page = text(&file, format);
        assert!(
            page.contains("The tester was the limit in 1 of the trials"),
            "{format}: {page}"
        );
    }
}
