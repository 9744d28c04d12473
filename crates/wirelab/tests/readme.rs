//! The commands of the README and of the pages on peers are ones that wirelab takes, and the README's figures of the
//! limits are today's.

use std::process::Command;

fn page(name: &str) -> String {
    let path = format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn readme() -> String {
    page("README.md")
}

fn words(line: &str) -> Vec<String> {
    let command = line.split(" #").next().unwrap_or_default();
    command
        .trim_end_matches(" &")
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Lines of a page that call wirelab.
fn commands(text: &str) -> Vec<Vec<String>> {
    text.lines()
        .filter_map(|line| {
            line.strip_prefix("$ wirelab ")
                .or_else(|| line.strip_prefix("$ sudo wirelab "))
        })
        .map(words)
        .collect()
}

/// What the parser says of a command; it refuses an unknown option before it shows help, so nothing is run.
fn taken(mut args: Vec<String>) {
    let help = match args.iter().position(|word| word == "--") {
        Some(at) => at,
        None => args.len(),
    };
    args.insert(help, "--help".to_owned());
    let output = wirelab(&args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
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
    commands.into_iter().for_each(taken);
    let unknown = wirelab(&["measure", "lab:1", "--no-such-option", "--help"].map(str::to_owned));
    assert_eq!(
        unknown.status.code(),
        Some(2),
        "an option that does not exist must be refused here too"
    );
}

#[test]
fn every_command_of_the_pages_on_peers_is_one_that_wirelab_takes() {
    for name in ["iperf", "node", "datasheet"] {
        let commands = commands(&page(&format!("docs/{name}.md")));
        assert!(!commands.is_empty(), "docs/{name}.md shows no command");
        commands.into_iter().for_each(taken);
    }
}

/// Each row of the vendor's page has its command in docs/iperf.md.
#[test]
fn every_row_of_the_vendors_page_has_commands_that_wirelab_takes() {
    let page = page("docs/iperf.md");
    let table = page
        .lines()
        .skip_while(|line| !line.starts_with("| row of the page |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut rows = Vec::new();
    for line in table {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        rows.push(cells[0].to_owned());
        // The third column is the distribution's iperf.
        for (cell, command) in [(cells[1], "iperf"), (cells[3], "measure")] {
            let quoted = cell.split('`').skip(1).step_by(2);
            for quoted in quoted.filter(|words| words.contains("HOST")) {
                taken([vec![command.to_owned()], words(quoted)].concat());
            }
        }
    }
    for row in [
        "Layer 2 latency, RX and TX",
        "Layer 2 transmission",
        "TCP RX",
        "TCP TX",
        "TCP bidirectional",
        "UDP RX, 64 B",
        "UDP RX, 256 B",
        "UDP RX, 512 B",
        "UDP RX, 1470 B",
        "UDP RX (Max)",
        "UDP TX (Max)",
    ] {
        assert!(rows.iter().any(|r| r.starts_with(row)), "{row}: {rows:?}");
    }
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
