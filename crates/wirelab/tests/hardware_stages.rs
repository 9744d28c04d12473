//! `wirelab stages hdl:reference` as a user calls it: where slots and DMA are level, and the page with the Zynq document's
//! figures.

use std::io::{Read, Write};

use crate::board_common::{Running, until};
use crate::common::{json, refused, scratch, stderr, stdout, wirelab};
use serde_json::Value;

/// Whether the reference node's program is there; says so in the way the test runner understands if not.
fn has_program() -> bool {
    let program = std::env::current_exe().expect("a test knows where it is");
    let mut folders = program.ancestors().map(|folder| folder.join("firmware"));
    let found = folders.any(|folder| folder.join("reference.elf").is_file());
    if !found {
        // Directly, because the test harness swallows what is printed otherwise.
        let text = "WIRELAB-SKIP firmware: there is no reference.elf: run scripts/firmware.sh";
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    found
}

fn crossover<'a>(all: &'a Value, from: &str, to: &str) -> &'a Value {
    let mut found = all["crossovers"].as_array().expect("a list").iter();
    let is = |c: &&Value| c["from"] == from && c["to"] == to;
    found
        .find(is)
        .unwrap_or_else(|| panic!("{from} to {to}: {all:#}"))
}

#[test]
fn slots_and_dma_are_level_at_some_wait_states_or_at_none() {
    if !has_program() {
        return;
    }
    let results = scratch("sweep.json");
    let path = results.to_str().expect("a path of letters");
    let asked = [
        "stages",
        "hdl:reference",
        "--wait-states",
        "8,10",
        "--wait-states",
        "4,2",
        "--length",
        "256",
        "--count",
        "2",
    ];
    let all = json(&[&asked[..], &["--json", "-o", path]].concat());
    // The document's way from slots to DMA: a copy over a fast bus is sooner in its buffer, one over a slow bus later.
    let copied = crossover(&all, "line", "driver");
    let slots = copied["slots"].as_array().expect("a list");
    let clocks = slots
        .iter()
        .map(|s| (&s["read_clocks"], &s["write_clocks"]));
    assert!(clocks.eq([(&4.into(), &2.into()), (&8.into(), &10.into())]));
    assert_eq!(
        (&slots[0]["ahead"], &slots[1]["ahead"]),
        (&"slots".into(), &"dma".into())
    );
    let change = &copied["changes"][0];
    assert_eq!(
        (&change["after"], &change["then"]),
        (&0.into(), &"dma".into())
    );
    let number = |value: &Value| value.as_f64().expect("a number");
    let [fast, slow, dma] = [
        &slots[0]["mean_ps"],
        &slots[1]["mean_ps"],
        &copied["dma_mean_ps"],
    ]
    .map(number);
    let level = 4.0 + 4.0 * (dma - fast) / (slow - fast);
    assert!(
        (number(&change["level_read_clocks"]) - level).abs() < 1e-9,
        "{copied:#}"
    );
    // Each mean is that of its node's own row.
    let row = all["stages"].as_array().expect("rows").iter().find(|row| {
        row["node"] == "hdl:reference,mac=dma" && row["from"] == "line" && row["to"] == "driver"
    });
    let row = row.expect("DMA is measured as well");
    assert_eq!(number(&row["mean_ticks"]) * number(&row["tick_ps"]), dma);
    // To the line DMA is faster with either bus, and that is reported too.
    let sent = crossover(&all, "driver", "line");
    assert_eq!(sent["changes"], Value::Array(Vec::new()), "{sent:#}");
    assert!(
        sent["slots"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|s| s["ahead"] == "dma")
    );
    // The file has the same again, in words.
    let shown = wirelab(&["stages", path]);
    assert!(shown.status.success(), "{}", stderr(&shown));
    let text = stdout(&shown);
    for words in ["8,10", "slots, DMA from 8,10", "DMA throughout"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn pairs_of_wait_states_that_cannot_be_say_what_can() {
    let asked = |states: &[&str], words: &str| {
        let options = states.iter().flat_map(|state| ["--wait-states", state]);
        let asked = ["stages", "hdl:reference"].into_iter().chain(options);
        refused(&asked.collect::<Vec<_>>(), words);
    };
    asked(&["4,2", "8"], "e.g. 17,18");
    asked(&["4,2", "4,2"], "given twice");
    // Before the first one, which would be measured.
    asked(&["17,18", "3,2"], "write 4 to 250");
}

#[test]
fn an_interrupted_sweep_leaves_what_was_measured() {
    if !has_program() {
        return;
    }
    let results = scratch("interrupted-sweep.json");
    let _ = std::fs::remove_file(&results);
    let path = results.to_str().expect("a path of letters");
    let mut asked = vec!["stages", "hdl:reference", "--count", "20", "-o", path];
    // More than the test waits for.
    let states: Vec<String> = (4..34).map(|clocks| format!("{clocks},90")).collect();
    asked.extend(states.iter().flat_map(|pair| ["--wait-states", pair]));
    let mut running = Running::start(&asked);
    until("the first node's results", || {
        results.exists().then_some(())
    });
    running.signal("-INT");
    let mut said = String::new();
    let out = running.0.stderr.as_mut().expect("it is a pipe");
    out.read_to_string(&mut said).expect("it is text");
    assert_eq!(running.0.wait().expect("it ends").code(), Some(1), "{said}");
    let kept = format!("the finished trials are in {path}");
    assert!(said.contains(&kept) && !said.contains("--resume"), "{said}");
    // The file says that it is not whole, and holds whole nodes' times.
    let all = json(&["stages", path, "--json"]);
    let rows = all["stages"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["count"] == 20), "{all:#}");
    let file: Value =
        serde_json::from_slice(&std::fs::read(&results).expect("a file")).expect("JSON");
    assert_eq!(file["interrupted"], true);
}

/// The mean of a row in µs, as the page writes it.
fn mean(all: &Value, path: &str, length: u64, (from, to): (&str, &str)) -> String {
    let mut rows = all["stages"].as_array().expect("rows").iter();
    let is = |row: &&Value| {
        (&row["from"], &row["to"], &row["path"]) == (&from.into(), &to.into(), &path.into())
            && row["length_bytes"] == length
    };
    let row = rows
        .find(is)
        .unwrap_or_else(|| panic!("{from} to {to}: {all:#}"));
    let number = |key: &str| row[key].as_f64().expect("a number");
    format!("{:.2}", number("mean_ticks") * number("tick_ps") / 1e6)
}

#[test]
fn the_page_has_figures_3_to_9_of_the_zynq_document() {
    if !has_program() {
        return;
    }
    let page = scratch("figures.html");
    let path = page.to_str().expect("a path of letters");
    let all = json(&[
        "stages",
        "hdl:reference",
        "--length",
        "64,256",
        "--count",
        "2",
        "--fast-track",
        "port=1026",
        "--json",
        "-o",
        path,
    ]);
    let page = std::fs::read_to_string(path).expect("it was written");
    // The histograms of one chapter, each with its caption and what it says to who cannot see it.
    let chapter = |heading: &str| {
        let is_it = |part: &&str| {
            let text = part.split_once('>').map(|(_, text)| text);
            text.is_some_and(|text| text.starts_with(heading))
        };
        let found = page.split("<h2").skip(1).find(is_it);
        found.unwrap_or_else(|| panic!("no {heading} in the page"))
    };
    let figure = |chapter: &str, caption: &str| {
        let mut figures = chapter.split("<figure").skip(1);
        let found = figures.find(|figure| figure.contains(&format!("</a> {caption} <small>")));
        found.unwrap_or_else(|| panic!("no {caption}")).to_owned()
    };
    let received = chapter("Received · stack: from the line to each point");
    let sent = chapter("Sent · stack: from each point to the line");
    for (chapter, way) in [
        (received, ("line", "interrupt")),   // Figure 3
        (received, ("line", "driver")),      // Figure 4
        (received, ("line", "application")), // Figure 5
        (sent, ("application", "line")),     // Figure 6
        (sent, ("driver", "line")),          // Figure 7
        (sent, ("mac", "line")),             // Figure 8
    ] {
        let figure = figure(chapter, &format!("{} to {}", way.0, way.1));
        // The program of the page draws it.
        assert!(figure.starts_with(" id=\"figure-"), "{figure}");
        assert!(page.contains("\"type\":\"delays\""));
        assert!(figure.contains("measured, simulated time"), "{figure}");
        for length in [64, 256] {
            let words = format!("{length} B: mean {}", mean(&all, "stack", length, way));
            assert!(figure.contains(&words), "{words}: {figure}");
        }
    }
    // Figure 9.
    let against = chapter("Received: fast track against stack");
    for length in [64, 256] {
        let figure = figure(against, &format!("line to application, length {length} B"));
        for (path, name) in [("stack", "stack"), ("fast-track", "fast track")] {
            let words = format!(
                "{name}: mean {}",
                mean(&all, path, length, ("line", "application"))
            );
            assert!(figure.contains(&words), "{words}: {figure}");
        }
    }
}

#[test]
fn what_the_model_predicts_stands_beside_what_was_measured() {
    if !has_program() {
        return;
    }
    let asked = [
        "stages",
        "hdl:reference",
        "--length",
        "256",
        "--count",
        "2",
        "--predicted",
        "--json",
    ];
    let all = json(&asked);
    let rows = all["stages"].as_array().expect("rows");
    for way in [
        ("line", "interrupt"),
        ("line", "driver"),
        ("line", "application"),
        ("application", "line"),
        ("driver", "line"),
        ("mac", "line"),
    ] {
        let of = |kind: &str, node: &str| {
            let mut rows = rows.iter().filter(|row| row["kind"] == kind);
            let is = |row: &&Value| (&row["from"], &row["to"]) == (&way.0.into(), &way.1.into());
            let row = rows
                .find(is)
                .unwrap_or_else(|| panic!("{way:?}, {kind}: {all:#}"));
            assert_eq!(row["node"], node);
            let number = |key: &str| row[key].as_f64().expect("a number");
            number("mean_ticks") * number("tick_ps") / 1e6
        };
        let measured_us = of("measured", "hdl:reference");
        let predicted_us = of("predicted", "model:reference-lite-device");
        // As near as `reference_model` holds them at 256 bytes.
        let apart_us = (predicted_us - measured_us).abs();
        assert!(
            apart_us < 0.05 * measured_us || measured_us < 1.0 && apart_us < 0.05,
            "{way:?}: {measured_us} {predicted_us}"
        );
    }
    for (option, words) in [
        (["--wait-states", "7,6"], "leave --wait-states out"),
        (["--fast-track", "port=1026"], "leave --fast-track out"),
    ] {
        refused(&[&asked[..], &option].concat(), words);
    }
    refused(&["stages", "lab:", "--predicted"], "--predicted");
}
