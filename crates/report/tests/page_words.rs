//! What a page says of itself: what is not on it, and whether its run was clean.

use crate::common;
use crate::common::am263x;
use wirelab_report::{Format, Options, render};
use wirelab_trial::search::{Limit, SearchEnded};
use wirelab_trial::{Field, ResultsFile, SearchOutcome, Status, Warning, WarningCode};

fn text(file: &ResultsFile, format: Format) -> String {
    render(file, format, &Options::default())
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
            .position(|p| matches!(p.found, Some(SearchOutcome::Rates(_))))
            .unwrap()
    };
    let at = of_search(&file);
    let name = file.parts[at].name.clone();
    let end = |file: &mut ResultsFile, figures: bool| {
        if let Some(SearchOutcome::Rates(found)) = &mut file.parts[at].found {
            found.ended = SearchEnded::TimeLimit;
            for goal in found.goals.iter_mut().filter(|_| !figures) {
                goal.relevant_lower_bound_frames_per_s = Field::absent("nothing was found");
            }
        }
    };
    end(&mut file, true);
    let page = text(&file, Format::DatasheetMarkdown);
    assert!(!below(&page, "Not on this page").contains(&name), "{page}");
    let (_, noted) = page.split_once("**Searches that did not end**").unwrap();
    assert!(noted.split("##").next().unwrap().contains(&name), "{page}");
    let sections = noted_below(&text(&file, Format::Html));
    let section = sections
        .iter()
        .find(|(_, items)| items.iter().any(|item| item.contains(&name)));
    assert_eq!(
        section.unwrap().0,
        "TCP/IP Performance",
        "beside its figures"
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

#[test]
fn a_verdict_has_at_most_three_lines_and_says_all() {
    let mut file = am263x::page();
    let lines = |file: &ResultsFile| {
        let page = text(file, Format::Html);
        let (_, verdict) = page.split_once("<p class=\"verdict").unwrap();
        let verdict = verdict.split("</p>").next().unwrap();
        verdict
            .split("<br/>")
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(lines(&file).len(), 2);
    file.observations[0].status = Status::Void {
        why: "it failed".to_owned(),
    };
    file.observations[2].tester.was_limit = Field::measured(true);
    file.interrupted = true;
    let lines = lines(&file);
    assert_eq!(lines.len(), 3, "{lines:?}");
    for (at, words) in [
        (0, "1 of the trials failed."),
        (0, "The tester was the limit in 1 of the trials"),
        (1, "The run ended before its plan was done."),
        (2, "rates, "),
    ] {
        assert!(lines[at].contains(words), "{words}: {lines:?}");
    }
}

#[test]
fn a_search_that_the_tester_limited_is_not_called_clean() {
    let mut file = am263x::page();
    let parts = file
        .parts
        .iter()
        .filter(|p| matches!(p.found, Some(SearchOutcome::Rates(_))));
    let mut part = parts.clone().next().unwrap().clone();
    file.observations = part.of(&file.observations).to_vec();
    for o in &mut file.observations {
        o.tester.was_limit = Field::measured(false);
    }
    part.first = 0;
    let limited = |limit: Limit| {
        let (mut file, mut part) = (file.clone(), part.clone());
        if let Some(SearchOutcome::Rates(found)) = &mut part.found {
            for goal in &mut found.goals {
                goal.limited_by = Field::measured(limit);
            }
        }
        file.parts = vec![part];
        file
    };
    let node = text(&limited(Limit::Node), Format::Html);
    assert!(
        node.contains("✓ Clean.") && !node.contains("or loss"),
        "{node}"
    );
    let tester = limited(Limit::Tester);
    let page = text(&tester, Format::Html);
    assert!(!page.contains("✓ Clean.") && page.contains("– Tester limited."));
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let said = "The tester was the limit in 2 of the rates searched";
        assert!(text(&tester, format).contains(said), "{format}");
    }
}

/// The figures at the head of a page, each with the class of its limit and its words.
fn heads(page: &str) -> Vec<(String, String)> {
    let (_, rest) = page.split_once("<ul class=\"heads\">").expect("a head");
    let list = rest.split("</ul>").next().unwrap();
    let items = list.split("<li class=\"").skip(1);
    let item = |item: &str| {
        let (class, rest) = item.split_once('"').unwrap();
        (class.to_owned(), rest.to_owned())
    };
    items.map(item).collect()
}

#[test]
fn each_figure_at_the_head_says_what_limited_it() {
    let mut file = common::lab();
    for o in &mut file.observations {
        o.tester.was_limit = Field::measured(false);
    }
    let page = text(&file, Format::Html);
    let all = heads(&page);
    assert!((3..=4).contains(&all.len()), "{all:?}");
    for (class, words) in &all {
        assert_ne!(class, "tester");
        assert!(words.contains("measured") && words.contains("class=\"limit\""));
    }
    assert!(page.contains("the wire limited"), "{page}");
    for o in &mut file.observations {
        o.tester.was_limit = Field::measured(true);
    }
    let page = text(&file, Format::Html);
    assert!(!page.contains("✓ Clean.") && page.contains("The tester limited"));
    let rates = heads(&page);
    let rates = rates.iter().filter(|(_, words)| words.contains("rate"));
    for (class, words) in rates {
        assert_eq!(class, "tester", "{words}");
        assert!(words.contains("the node may be faster"));
    }
    for o in &mut file.observations {
        o.tester.was_limit = Field::absent("it was not asked");
        o.node.capabilities.link_bits_per_s = None;
        o.trial.link_bits_per_s = None;
    }
    let unknown = heads(&text(&file, Format::Html));
    assert!(
        unknown.iter().all(|(class, _)| class == "unknown"),
        "{unknown:?}"
    );
}

#[test]
fn set_up_keys_stand_behind_the_results() {
    let page = text(&am263x::page(), Format::Html);
    let first = page.find("<table").unwrap();
    let appendix = page.find("class=\"appendix\"").unwrap();
    for key in ["processing core", "EXAMPLES_ENET_LWIP_CPSW", "MSRAM"] {
        let at = page.find(key).unwrap();
        assert!(at > first && at > appendix, "{key}");
    }
}

/// The notices of a page under the heading that they stand below.
fn noted_below(page: &str) -> Vec<(String, Vec<String>)> {
    let of = |part: &str| {
        let head = part.split("</h").next().unwrap_or_default();
        let head = head.split_once('>').map_or("", |(_, head)| head).to_owned();
        let items = part.split("<li id=\"notice-").skip(1);
        let items = items.map(|item| item.split("</li>").next().unwrap().to_owned());
        (head, items.collect())
    };
    page.split("<h2").skip(1).map(of).collect()
}

#[test]
fn notices_stand_folded_beside_what_they_concern_and_mark_it() {
    let mut file = common::lab();
    file.observations
        .iter_mut()
        .for_each(|o| o.warnings.clear());
    let warn = |file: &mut ResultsFile, trial: usize, code| {
        let warning = Warning::new(code, "it happened", "do this");
        file.observations[trial - 1].warnings.push(warning);
    };
    warn(&mut file, 2, WarningCode::SENDER_BELOW_RATE);
    for trial in 1..=file.observations.len() {
        warn(&mut file, trial, WarningCode::SLOW_PATH);
    }
    let page = text(&file, Format::Html);
    let noted = noted_below(&page);
    let of: Vec<_> = noted
        .iter()
        .filter(|(_, items)| !items.is_empty())
        .collect();
    assert_eq!(of.len(), 1, "all its trials stand in one table: {noted:?}");
    assert_eq!((&*of[0].0, of[0].1.len()), ("Results", 2));
    // The mark leads to the notice of its own trial alone; what all trials have marks none.
    let marks = page
        .matches("aria-label=\"1 notice of trial 2\">△</a>")
        .count();
    assert!(marks > 0 && !page.contains("of trial 1\""), "{marks}");
    assert!(page.contains("\"flags\":{\"2\":["), "pictures mark it, too");
    assert!(page.contains("<a href=\"#notice-1\">2 warnings</a>"));
    assert!(page.contains("<details class=\"notices\">\n<summary>Warnings (2)"));
}

#[test]
fn a_datasheet_has_the_notices_of_each_section_in_it() {
    let page = text(&am263x::iperf_page(), Format::Html);
    let noted = noted_below(&page);
    let of = |head: &str| {
        let found = noted.iter().find(|(name, _)| name == head);
        found.map_or(0, |(_, items)| items.len())
    };
    assert_eq!(of("Layer 2 Performance"), 1, "{noted:?}");
    assert_eq!(of("TCP/IP Performance"), 0, "{noted:?}");
    assert_eq!(of("Echo Latency"), 1, "{noted:?}");
}
