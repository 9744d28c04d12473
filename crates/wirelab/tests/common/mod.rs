//! Calls the program as a user does.

use std::path::PathBuf;
use std::process::{Command, Output};

/// A prediction that takes no time, for tests that need any results.
pub const PREDICT: [&str; 6] = [
    "predict",
    "lpc1768",
    "--length",
    "1514",
    "--buffers",
    "copied",
];

/// What a call gave.
pub fn wirelab(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wirelab"))
        .args(args)
        .output()
        .expect("the binary was built for this test")
}

/// Its standard output.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Its standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a list of names says of one of them; empty without it.
pub fn fact<'a>(text: &'a str, name: &str) -> &'a str {
    let named = |line: &'a str| line.trim_start().strip_prefix(name)?.strip_prefix("  ");
    text.lines().find_map(named).map_or("", str::trim_start)
}

/// A call that is bad usage, and says these words.
pub fn refused(args: &[&str], words: &str) {
    let output = wirelab(args);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
    assert!(told.contains(words), "{args:?}: {told}");
}

/// The JSON that a call printed.
pub fn json(args: &[&str]) -> serde_json::Value {
    let output = wirelab(args);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

/// A path in a folder that cargo keeps for this test.
pub fn scratch(name: &str) -> PathBuf {
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// Reports to the test runner that a test was left out.
pub fn skip(feature: &str, why: &str) {
    use std::io::Write;
    // Past the test harness, which would swallow it.
    let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP {feature}: {why}");
}

/// The built-in quick plan with two of its sizes, few trials in a search and these changes.
pub fn short_plan(name: &str, changes: &[(&str, &str)]) -> String {
    let mut plan = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../plans/datasheet-quick.toml"
    ))
    .to_owned();
    let always = [
        ("[64, 256, 512, 1470]", "[64, 1470]"),
        ("[64, 256, 1024]", "[64]"),
        ("max_trials = 13", "max_trials = 4"),
    ];
    for (from, to) in always.iter().chain(changes) {
        plan = plan.replace(from, to);
    }
    let path = scratch(name);
    std::fs::write(&path, plan).expect("a scratch folder");
    path.to_str().expect("plain text").to_owned()
}
