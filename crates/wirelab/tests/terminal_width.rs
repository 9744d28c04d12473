//! A report is as wide as the terminal that it is printed on, which nobody has to say.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};

/// What a report prints on a terminal of so many columns, where the environment may say another width.
fn printed(columns: u16, said: Option<&str>) -> String {
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let terminal = openpty(Some(&size), None).expect("a terminal");
    let results = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../spec/examples/ports.json"
    );
    let mut report = Command::new(env!("CARGO_BIN_EXE_wirelab"));
    report.args(["report", results]).env("NO_COLOR", "1");
    match said {
        Some(said) => report.env("COLUMNS", said),
        None => report.env_remove("COLUMNS"),
    };
    let mut child = report
        .stdin(Stdio::null())
        .stdout(terminal.slave)
        .spawn()
        .expect("wirelab starts");
    drop(report);
    let mut shown = Vec::new();
    // Linux ends the read with EIO where the last writer has gone.
    let _ = File::from(terminal.master).read_to_end(&mut shown);
    assert!(child.wait().expect("it ends").success());
    String::from_utf8(shown).expect("UTF-8").replace('\r', "")
}

/// Characters of the widest line of the first table.
fn widest(shown: &str) -> usize {
    let table = shown.lines().skip_while(|line| !line.contains("direction"));
    let table = table.take_while(|line| !line.is_empty());
    table
        .map(|line| line.chars().count())
        .max()
        .expect("a table")
}

#[test]
fn a_table_is_as_wide_as_the_terminal() {
    let [narrow, usual, wide, wider] = [40, 80, 120, 240].map(|columns| printed(columns, None));
    for (columns, shown) in [(40, &narrow), (80, &usual), (120, &wide), (240, &wider)] {
        assert!(widest(shown) <= columns, "{columns}: {shown}");
        assert!(shown.contains("tester limited"), "{columns}: {shown}");
    }
    for shown in [&narrow, &usual] {
        assert!(shown.contains("no room for: "), "{shown}");
    }
    assert!(!wider.contains("no room for: "), "{wider}");
    assert!(widest(&usual) > 40 && widest(&wide) > 80, "{usual}{wide}");
}

#[test]
fn what_the_environment_says_wins() {
    assert_eq!(printed(40, Some("240")), printed(240, None));
    assert_eq!(printed(80, Some("no number")), printed(80, None));
}
