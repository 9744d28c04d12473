//! Calls the program as a user does.

use std::path::PathBuf;
use std::process::{Command, Output};

/// A prediction that takes no time, for tests that need any results.
#[allow(dead_code, reason = "not every test predicts")]
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
#[allow(dead_code, reason = "not every test looks at it")]
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Its standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A call that is bad usage, and says these words.
#[allow(dead_code, reason = "not every test refuses")]
pub fn refused(args: &[&str], words: &str) {
    let output = wirelab(args);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
    assert!(told.contains(words), "{args:?}: {told}");
}

/// The JSON that a call printed.
#[allow(dead_code, reason = "not every test looks at it")]
pub fn json(args: &[&str]) -> serde_json::Value {
    let output = wirelab(args);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

/// A path in a folder that cargo keeps for this test.
#[allow(dead_code, reason = "not every test writes a file")]
pub fn scratch(name: &str) -> PathBuf {
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}
