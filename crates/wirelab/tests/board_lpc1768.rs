//! The study of AN11053 on the emulated LPC1768, as a user asks for it.

use std::io::Write;

use crate::common::{json, stderr, stdout, wirelab};
use serde_json::Value;

/// Whether the board's image was built; says so in the way the test runner understands if not.
fn has_image() -> bool {
    let boards = json(&["board", "list", "--json"]);
    let all = boards["boards"].as_array().expect("a list of boards");
    let board = all.iter().find(|board| board["name"] == "lpc1768");
    let lacks = &board.expect("it is in the list")["lacks"];
    if lacks.as_array().is_some_and(Vec::is_empty) {
        return true;
    }
    // Directly, because the test harness swallows what is printed otherwise.
    let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP firmware: {lacks}");
    false
}

fn time_of<'a>(figures: &'a Value, row: &str) -> &'a Value {
    let all = figures.as_array().expect("a list of figures");
    let found = all
        .iter()
        .find(|f| f["row"] == row && f["metric"] == "time");
    found.unwrap_or_else(|| panic!("{row} has a time"))
}

#[test]
fn published_predicted_and_measured_stand_side_by_side() {
    if !has_image() {
        return;
    }
    let study = ["study", "run", "nxp-an11053", "--node", "board:lpc1768"];
    let figures = json(&[&study[..], &["--json"]].concat());
    for (row, model, most_percent) in [
        ("scenario 1", "calibrated", 2.0),
        ("scenario 2", "calibrated", 20.0),
        ("scenario 3", "predicted", 3.0),
    ] {
        let time = time_of(&figures, row);
        assert_eq!(time["kind"], "measured", "{time}");
        assert_eq!(time["model"]["kind"], model, "{time}");
        // No constant of the emulator was taken from the document, so the error counts.
        assert_eq!(time["counted"], true, "{time}");
        let error = time["error_percent"].as_f64().unwrap();
        assert!(error.abs() < most_percent, "{row}: {error} %");
    }
    let ahead = time_of(&figures, "copied ahead");
    assert_eq!(ahead["holds"], true, "{ahead}");
    let ideal = time_of(&figures, "scenario 1")["value"].as_f64().unwrap();
    let ahead = ahead["value"].as_f64().unwrap();
    assert!((ahead / ideal - 1.0).abs() < 0.01, "{ahead} and {ideal} ms");
    let text = stdout(&wirelab(&study));
    for word in ["published", "model", "calibrated", "measured", "10.44 ms"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn the_copy_loop_is_shown_with_what_it_took() {
    if !has_image() {
        return;
    }
    let asked = ["board", "disassemble", "lpc1768", "board_copy_halfwords"];
    let text = stdout(&wirelab(&asked));
    let loads = text
        .lines()
        .find(|line| line.contains("ldrh"))
        .expect(&text);
    assert!(loads.ends_with("  37,050           2.00"), "{text}");
    let rows = json(&[&asked[..], &["--json"]].concat());
    let most = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["count"].as_u64().unwrap())
        .max();
    assert_eq!(most, Some(37_050), "741 halfwords of 50 frames");
    let other = wirelab(&["board", "disassemble", "zynq7000", "main"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("QEMU"), "{}", stderr(&other));
}

#[test]
fn options_of_the_board_are_checked() {
    let wrong = wirelab(&[
        "study",
        "run",
        "nxp-an11053",
        "--node",
        "board:lpc1768,colour=red",
    ]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("image=ram"), "{}", stderr(&wrong));
}

#[test]
fn waiting_for_the_next_frame_is_no_stage() {
    if !has_image() {
        return;
    }
    let found = json(&["stages", "board:lpc1768", "--load", "1kpps", "--json"]);
    let rows = found["stages"].as_array().unwrap();
    let sent = rows.iter().filter(|row| row["from"] == "application");
    // A stage and the whole way, at three lengths.
    assert_eq!(sent.count(), 6, "{found:#}");
    for row in rows {
        // As many as the firmware keeps, without a request.
        assert_eq!(row["count"], 42, "{row:#}");
        assert_eq!(row["clock"], "simulated");
        let most_ps = row["max_ticks"].as_u64().unwrap() * row["tick_ps"].as_u64().unwrap();
        // The interval is 1 ms; what is done for a frame of 1,024 bytes takes a twentieth of it.
        assert!(most_ps < 50_000_000, "{row:#}");
    }
}

#[test]
fn what_the_board_cannot_give_stages_of_is_refused() {
    if !has_image() {
        return;
    }
    for (node, args, words) in [
        ("", &["--count", "43"][..], "the records of 1 to 42"),
        ("", &["--count", "99999"], "the records of 1 to 42"),
        ("", &["--count", "0"], "fix: write at least 1"),
        ("", &["--image", "my.elf"], "board:lpc1768,image=my.elf"),
        (",", &[], "nothing follows a comma"),
        (",descriptors=3,descriptors=4", &[], "given before"),
    ] {
        let node = format!("board:lpc1768{node}");
        let output = wirelab(&[&["stages", &node][..], args].concat());
        assert_eq!(output.status.code(), Some(2), "{node} {args:?}");
        let told = stderr(&output);
        assert!(told.contains(words), "{node} {args:?}: {told}");
    }
}

#[test]
fn an_image_that_is_not_there_is_reported_with_its_folder() {
    let here = std::env::current_dir().unwrap();
    let nowhere = here.join("no-such-folder");
    let file = nowhere.join("nope.elf");
    for (image, folder) in [("nope.elf", &here), (file.to_str().unwrap(), &nowhere)] {
        let output = wirelab(&["stages", &format!("board:lpc1768,image={image}")]);
        assert_eq!(output.status.code(), Some(2));
        let words = format!("(searched: {})", folder.display());
        assert!(stderr(&output).contains(&words), "{}", stderr(&output));
    }
}
