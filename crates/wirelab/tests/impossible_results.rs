//! Every command that reads a results file refuses one with a figure that cannot be, and names its place.

use crate::common::{refused, scratch, stderr, wirelab};

const SOUND: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../spec/examples/ports.json"
);
const PLACE: &str = "observation 1, flow 1";

/// A sound file in which a flow received more than was sent.
fn impossible() -> std::path::PathBuf {
    let text = std::fs::read_to_string(SOUND).unwrap();
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let counts = &mut file["observations"][0]["flows"][0]["counts"]["value"];
    counts["received_frames"] = 1_000_000_000.into();
    let path = scratch("impossible.json");
    std::fs::write(&path, file.to_string()).unwrap();
    path
}

#[test]
fn no_command_takes_a_file_with_a_figure_that_cannot_be() {
    let path = impossible();
    let file = path.to_str().unwrap();
    let out = scratch("made.json");
    let made = out.to_str().unwrap();
    let commands: [&[&str]; 9] = [
        &["report", file],
        &["report", file, "--trials"],
        &["report", file, "--format", "csv"],
        &["report", file, "-o", made],
        &["report", SOUND, file, "--side-by-side"],
        &["explain", file],
        &["fit", file],
        &["stages", "board:zynq7000", "--against", file],
        &["measure", "lab:1", "--resume", file, "-o", made],
    ];
    for command in commands {
        refused(command, PLACE);
    }
    assert!(!out.exists(), "nothing was written");
    // The same file without the edit is taken, so that the edit is what is refused.
    let sound = wirelab(&["report", SOUND]);
    assert_eq!(sound.status.code(), Some(0), "{}", stderr(&sound));
    std::fs::remove_file(&path).unwrap();
}
