//! An audit as a reader sees it.

use wirelab_report::{Options, audit};
use wirelab_study::audit::audit as findings_of;
use wirelab_study::table::Study;

/// The names are hostile: a file may come from anywhere.
const TABLE: &str = "title = \"t\"\nsource = \"s\"\nnode = \"n\"\nlink = \"100M\"\n\
    [defaults]\ntrial = { layer = \"ethernet\", payload = 66, frames = 50 }\n\
    [[row]]\nname = \"too \\u001b[31m fast\"\npublished = { throughput = \"65.2 Mbit/s\" }\n\
    [[row]]\nname = \"slip\"\npublished = { data = \"3300 bit\" }\n";

fn shown(width: Option<usize>, colour: bool) -> String {
    let study = Study::parse(TABLE, "table.toml").unwrap();
    let options = Options {
        width,
        colour,
        ..Options::default()
    };
    audit::terminal(&findings_of(&study), &options)
}

#[test]
fn findings_say_cell_rule_arithmetic_and_how_sure() {
    insta::assert_snapshot!(shown(None, false));
}

#[test]
fn lines_are_as_wide_as_the_terminal() {
    let text = shown(Some(60), false);
    assert!(
        text.lines().all(|line| line.chars().count() <= 60),
        "{text}"
    );
    // No word is lost or changed by it.
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(&text), words(&shown(None, false)));
    assert!(!shown(Some(3), false).is_empty());
}

#[test]
fn only_the_severity_is_coloured_and_nothing_else_steers_the_terminal() {
    let text = shown(Some(80), true);
    assert_eq!(text.matches('\u{1b}').count(), 4, "{text:?}");
    assert!(text.starts_with("\u{1b}[1;31mimpossible\u{1b}[0m (limit) table.toml:7\n"));
    assert!(!shown(None, false).contains('\u{1b}'));
}

#[test]
fn nothing_found() {
    assert_eq!(audit::terminal(&[], &Options::default()), "nothing found\n");
}
