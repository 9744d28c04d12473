//! The README's commands are ones that wirelab takes, and its figures of the limits are today's.

use std::process::Command;

fn readme() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"))
        .expect("the README is there")
}

/// Lines of the README that call wirelab.
fn commands(text: &str) -> Vec<Vec<String>> {
    text.lines()
        .filter_map(|line| line.strip_prefix("$ wirelab "))
        .map(|line| {
            line.trim_end_matches(" &")
                .split_whitespace()
                .map(str::to_owned)
                .collect()
        })
        .collect()
}

fn wirelab(args: &[String]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_wirelab"))
        .args(args)
        .output()
        .expect("the binary was built for this test")
}

#[test]
fn every_command_of_the_readme_is_one_that_wirelab_takes() {
    let commands = commands(&readme());
    assert!(commands.len() >= 7, "{commands:?}");
    for mut args in commands {
        // The parser refuses an unknown option before it shows help, so nothing is run.
        args.push("--help".to_owned());
        let output = wirelab(&args);
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let unknown = wirelab(&["measure", "lab:1", "--no-such-option", "--help"].map(str::to_owned));
    assert_eq!(
        unknown.status.code(),
        Some(2),
        "an option that does not exist must be refused here too"
    );
}

#[test]
fn the_limits_of_the_readme_are_what_wirelab_prints() {
    let readme = readme();
    let args = commands(&readme)
        .into_iter()
        .find(|args| args[0] == "limits")
        .expect("the README shows limits");
    let printed = String::from_utf8(wirelab(&args).stdout).expect("plain text");
    assert!(printed.contains("148,809"));
    assert!(
        readme.contains(printed.trim_end()),
        "the README lacks this output:\n{printed}"
    );
}

/// Commands about models and studies need no host: each line that the README shows of their output is one of today's.
#[test]
fn what_models_say_in_the_readme_is_what_they_say_today() {
    let readme = readme();
    let mut compared = 0;
    let mut lines = readme.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ wirelab ") else {
            continue;
        };
        let args: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        if !["explain", "whatif", "study", "audit"].contains(&args[0].as_str()) {
            continue;
        }
        let output = Command::new(env!("CARGO_BIN_EXE_wirelab"))
            .args(&args)
            .env("COLUMNS", "118")
            .output()
            .expect("the binary was built for this test");
        let printed = String::from_utf8(output.stdout).expect("plain text");
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        while let Some(shown) = lines.next_if(|l| !l.starts_with("$ ") && !l.starts_with("```")) {
            assert!(
                shown == "…" || printed.contains(&shown),
                "{command}: {shown}"
            );
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared} lines were compared");
}

#[test]
fn no_output_of_the_readme_was_left_open() {
    assert!(
        !readme().contains("@@"),
        "a place for output was never filled"
    );
}
