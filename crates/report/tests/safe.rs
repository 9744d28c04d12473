//! What arrives in a results file is hostile: nothing panics, nothing breaks out, every page is well-formed.

use crate::common;
use proptest::prelude::*;
use wirelab_report::datasheet::compare;
use wirelab_report::{Format, Options, render, render_stages, summary_line, verdict};
use wirelab_trial::ResultsFile;

const SCRIPT: (&str, &str) = ("http://www.w3.org/1999/xhtml", "script");
const FIGURE: (&str, &str) = ("http://www.w3.org/1999/xhtml", "figure");

/// Everything that can be made of a file, and the checks that hold for any.
fn render_all(file: &ResultsFile) {
    for each_flow in [false, true] {
        for width in [None, Some(0), Some(80)] {
            let options = Options {
                each_flow,
                width,
                ..Options::default()
            };
            let text = render(file, Format::Terminal, &options);
            assert!(
                !text.chars().any(|c| c.is_control() && c != '\n'),
                "{text:?}"
            );
        }
    }
    let options = Options::default();
    for format in [Format::Markdown, Format::Csv, Format::Json] {
        assert!(render(file, format, &options).ends_with('\n'));
    }
    for format in [
        Format::DatasheetMarkdown,
        Format::DatasheetJson,
        Format::DatasheetCsv,
    ] {
        assert!(render(file, format, &options).ends_with('\n'));
    }
    for width in [None, Some(0), Some(80)] {
        let options = Options {
            width,
            ..Options::default()
        };
        let text = render(file, Format::Datasheet, &options);
        assert!(
            !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
    }
    let trials = Options {
        trials: true,
        ..Options::default()
    };
    check_html(&render(file, Format::Html, &trials));
    check_html(&render(file, Format::DatasheetHtml, &options));
    render_all_stages(file);
    let names = ["a", "b"].map(|name| (name.to_owned(), file.clone()));
    if let Ok(html) = compare(&names, Format::DatasheetHtml, &options) {
        check_html(&html);
    }
    let junit = render(file, Format::Junit, &options);
    roxmltree::Document::parse(&junit).unwrap_or_else(|e| panic!("{e}\n{junit}"));
    for o in &file.observations {
        assert!(!summary_line(o).contains(|c: char| c.is_control()));
    }
    assert!(!verdict(file).is_empty());
}

/// The stages of a file in every format that has a place for them.
fn render_all_stages(file: &ResultsFile) {
    for format in [
        Format::Terminal,
        Format::Markdown,
        Format::Csv,
        Format::Html,
    ] {
        let options = Options {
            width: Some(80),
            ..Options::default()
        };
        let text = render_stages(file, None, format, &options).unwrap();
        match format {
            Format::Html => check_html(&text),
            Format::Terminal => {
                assert!(
                    !text.contains(|c: char| c.is_control() && c != '\n'),
                    "{text:?}"
                );
            }
            _ => assert!(text.ends_with('\n')),
        }
    }
}

/// A page is well-formed, and holds to [`check_page`].
fn check_html(html: &str) {
    let allow = roxmltree::ParsingOptions {
        allow_dtd: true,
        nodes_limit: u32::MAX,
        ..Default::default()
    };
    let page = roxmltree::Document::parse_with_options(html, allow);
    let page = page.unwrap_or_else(|e| panic!("{e}\n{html}"));
    check_page(&page);
}

/// The page's own script alone, data that is JSON, nothing from elsewhere, unique ids, and links that lead somewhere.
fn check_page(page: &roxmltree::Document<'_>) {
    let mut ids = std::collections::HashSet::new();
    let scripts = page.descendants().filter(|n| n.has_tag_name(SCRIPT));
    let scripts: Vec<_> = scripts.collect();
    assert_eq!(scripts.len(), 2, "data and program");
    let text = scripts[0].text().unwrap();
    let data: serde_json::Value = serde_json::from_str(text).unwrap();
    let pictures = data["pictures"].as_array().unwrap();
    let figures = page.descendants().filter(|n| n.has_tag_name(FIGURE));
    assert_eq!(
        figures.count(),
        pictures.len(),
        "each picture has its place"
    );
    pictures.iter().for_each(check_numbers);
    for node in page.descendants().filter(|n| n.is_element()) {
        let name = node.tag_name().name();
        assert!(!["link", "img", "iframe", "object", "form", "image", "use"].contains(&name));
        for a in node.attributes() {
            assert!(!a.name().starts_with("on") && a.name() != "style" && a.name() != "src");
            if a.name() == "id" {
                assert!(ids.insert(a.value().to_owned()), "id {} twice", a.value());
            }
        }
    }
    for node in page.descendants() {
        if let Some(link) = node.attribute("href") {
            let id = link.strip_prefix('#').expect("links stay in the page");
            assert!(ids.contains(id), "{link}");
        }
    }
}

/// What is no number has no place in a picture: serde writes it as null.
fn check_numbers(value: &serde_json::Value) {
    match value {
        serde_json::Value::Array(all) => {
            assert!(!all.iter().any(serde_json::Value::is_null), "{value}");
            all.iter().for_each(check_numbers);
        }
        serde_json::Value::Object(all) => {
            for (name, value) in all {
                let optional = ["direction", "kind", "ps"].contains(&name.as_str());
                assert!(optional || !value.is_null(), "{name}");
                check_numbers(value);
            }
        }
        _ => {}
    }
}

#[test]
fn every_worked_result_in_every_format() {
    for file in [
        common::lab(),
        common::faulty(),
        common::kinds(),
        common::hostile(),
        common::file(vec![]),
        common::am263x::page(),
        common::linux::ways(),
        common::linux::counted(),
        common::am263x::iperf_page(),
        common::hostile_page(),
    ] {
        render_all(&file);
    }
}

#[test]
fn every_example_of_the_specification_in_every_format() {
    for (_, file) in common::examples() {
        render_all(&file);
    }
}

#[test]
fn the_fuzz_corpus_is_shown() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus");
    let mut shown = 0;
    for target in ["results", "report"] {
        for entry in std::fs::read_dir(format!("{folder}/{target}")).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            wirelab_report::fuzz_report(&bytes);
            let text = std::str::from_utf8(&bytes).ok();
            if let Some(file) = text.and_then(|text| ResultsFile::parse_unchecked(text).ok()) {
                render_all(&file);
                shown += 1;
            }
        }
    }
    assert!(shown >= 4, "{shown} files of the corpus are results files");
}

#[test]
fn hostile_text_stays_text() {
    let file = common::hostile();
    let options = Options::default();
    let html = render(&file, Format::Html, &options);
    assert_eq!(html.matches("<script").count(), 2, "data and program");
    assert!(html.contains("&lt;script&gt;"), "it is shown, not dropped");
    assert!(html.contains("\\u003cscript\\u003e"), "in pictures, too");
    let csv = render(&file, Format::Csv, &options);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    for record in reader.records() {
        for cell in &record.unwrap() {
            assert!(!cell.starts_with(['=', '@', '+']), "{cell}");
        }
    }
    let markdown = render(&file, Format::Markdown, &options);
    assert!(!markdown.contains("<script") && !markdown.contains("!["));
    let file = common::hostile_page();
    for format in [Format::DatasheetHtml, Format::DatasheetMarkdown] {
        let page = render(&file, format, &options);
        let scripts = page.matches("<script").count();
        assert_eq!(
            scripts,
            if format == Format::DatasheetHtml {
                2
            } else {
                0
            }
        );
        assert!(page.contains("&lt;script&gt;"));
        // A command that a reader may copy never holds what a shell would run.
        assert!(page.contains("measure NODE"), "{page}");
    }
    let csv = render(&file, Format::DatasheetCsv, &options);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    for record in reader.records() {
        for cell in &record.unwrap() {
            assert!(!cell.starts_with(['=', '@', '+']), "{cell}");
        }
    }
}

#[test]
fn a_broken_page_is_found() {
    // The check itself must be able to fail.
    let html = render(&common::lab(), Format::Html, &Options::default());
    let broken = html.replacen("</td>", "", 1);
    let allow = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    assert!(roxmltree::Document::parse_with_options(&broken, allow).is_err());
}

/// Numbers at the ends of their ranges, as JSON can hold them.
fn extreme() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        Just(serde_json::json!(0)),
        Just(serde_json::json!(1)),
        Just(serde_json::json!(u64::MAX)),
        Just(serde_json::json!(u32::MAX)),
        Just(serde_json::json!(-1.5)),
        Just(serde_json::json!(1e308)),
        Just(serde_json::json!(5e-324)),
        Just(serde_json::json!(null)),
        Just(serde_json::json!("")),
        Just(serde_json::json!([])),
        any::<u64>().prop_map(|n| serde_json::json!(n)),
        any::<f64>().prop_map(|n| serde_json::json!(n)),
        ".{0,40}".prop_map(|s| serde_json::json!(s)),
    ]
}

/// All places of a JSON value that hold no other values.
fn leaves(value: &serde_json::Value, path: String, out: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, v) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(v, format!("{path}/{key}"), out);
            }
        }
        serde_json::Value::Array(list) => {
            for (at, v) in list.iter().enumerate() {
                leaves(v, format!("{path}/{at}"), out);
            }
        }
        _ => out.push(path),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_parses_is_shown(
        which in 0..5usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), extreme()), 1..6),
    ) {
        let mut file = match which {
            0 => common::faulty(),
            1 => common::kinds(),
            2 => common::lab(),
            3 => common::linux::counted(),
            _ => common::short_page(),
        };
        if which < 4 {
            file.observations.truncate(4);
        }
        for o in &mut file.observations {
            o.flows.truncate(2);
        }
        let mut value = serde_json::to_value(&file).unwrap();
        let mut places = Vec::new();
        leaves(&value, String::new(), &mut places);
        for (index, new) in changes {
            // One change at a time, kept only where the file still parses.
            let mut changed = value.clone();
            *changed.pointer_mut(index.get(&places).as_str()).unwrap() = new;
            if ResultsFile::parse_unchecked(&changed.to_string()).is_ok() {
                value = changed;
            }
        }
        render_all(&ResultsFile::parse_unchecked(&value.to_string()).unwrap());
    }
}
