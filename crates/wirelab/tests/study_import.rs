//! `wirelab study import` and `audit` as a user calls them: two commands for a page, questions on a terminal, bad files.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{scratch, stderr, stdout, wirelab};
use nix::pty::openpty;

const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../study/tests/data/import/vendor.html"
);

/// A new folder.
fn folder(name: &str) -> PathBuf {
    let path = scratch(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn a_page_is_audited_with_two_commands() {
    let folder = folder("import");
    let study = folder.join("vendor.toml");
    let output = wirelab(&["study", "import", PAGE, "-o", text(&study)]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(
        said.contains("13 figures in 3 tables\nnext: wirelab audit "),
        "{said}"
    );
    let output = wirelab(&["audit", text(&study)]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.starts_with("impossible (limit) "), "{said}");
    assert!(said.contains("line 57 of the page"), "{said}");
    assert!(said.contains("of 13 figures are checked"), "{said}");
    // The name of the page is taken only where no file has it yet.
    let again = Command::new(env!("CARGO_BIN_EXE_wirelab"))
        .args(["study", "import", PAGE])
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(
        stderr(&again).contains("vendor.toml is there already"),
        "{}",
        stderr(&again)
    );
}

#[test]
fn one_bad_file_hides_no_other() {
    let folder = folder("import-bad");
    let row = |name: &str, published: &str| {
        format!(
            "[[row]]\nname='{name}'\ntrial={{layer='udp4', datagram=1470, load='200M'}}\npublished={{{published}}}\n"
        )
    };
    let top = "title='a'\nsource='b'\nlink='100M'\n";
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let good = write(
        "good.toml",
        format!(
            "{top}{}{}",
            row("bad", "tiem='3 s'"),
            row("fast", "loss='0.0 %'")
        ),
    );
    let bad = write("bad.toml", "title = [".into());
    let output = wirelab(&["audit", text(&bad), text(&good), "/nonexistent.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stdout(&output);
    assert!(said.starts_with("impossible (load) "), "{said}");
    let errors = stderr(&output);
    for wanted in [
        "bad.toml:1:",
        "unknown metric 'tiem'",
        "cannot read /nonexistent.toml",
    ] {
        assert!(errors.contains(wanted), "{wanted}: {errors}");
    }
    let output = wirelab(&["audit", "--json", text(&good)]);
    let all: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(all["findings"][0]["rule"], "load");
    assert_eq!(all["checked"][0]["figures"], 1);
    assert!(all["unread"][0].as_str().unwrap().contains("tiem"));
}

#[test]
fn what_is_wrong_with_a_page_is_said() {
    let folder = folder("import-wrong");
    let empty = folder.join("empty.txt");
    std::fs::write(&empty, "Nothing.\n").unwrap();
    let mapping = folder.join("mapping.toml");
    std::fs::write(
        &mapping,
        "[[table]]\ntake = 'no such words'\ncolumns = ['loss %']\n",
    )
    .unwrap();
    let out = folder.join("out.toml");
    let cases: [(&[&str], &str); 5] = [
        (&["/nonexistent.html"], "cannot read /nonexistent.html"),
        (&[text(&empty)], "it has no table with network figures"),
        (
            &[PAGE, "--link-rate", "fast"],
            "--link-rate: invalid rate 'fast'",
        ),
        (
            &[PAGE, "--core-clock", "4 s"],
            "--core-clock: invalid clock '4 s'",
        ),
        (
            &[PAGE, "--mapping", text(&mapping)],
            "none of the page's 3 tables has these words",
        ),
    ];
    for (args, words) in cases {
        let all = [&["study", "import"], args, &["-o", text(&out)]].concat();
        let output = wirelab(&all);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(words), "{args:?}: {errors}");
    }
    assert!(!out.exists());
}

#[test]
fn what_the_page_does_not_say_is_asked_on_a_terminal() {
    let folder = folder("import-asks");
    let page = folder.join("page.md");
    std::fs::write(&page, "| Datagram size (bytes) | Bandwidth (Mbps) | CPU load (%) |\n|---|---|---|\n| 64 | 12 | 50 |\n").unwrap();
    let study = folder.join("page.toml");
    let terminal = openpty(None, None).unwrap();
    let mut screen = File::from(terminal.master);
    let ours = terminal.slave.try_clone().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_wirelab"))
        .args(["study", "import", text(&page), "-o", text(&study)])
        .stdin(Stdio::from(ours))
        .stderr(Stdio::from(terminal.slave))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Layer, direction, link, clock; the first answer is wrong, so the question is repeated.
    screen
        .write_all(b"ip\nudp4\nreceive\n100M\n80 MHz\n")
        .unwrap();
    let status = child.wait().unwrap();
    drop(child);
    let mut shown = Vec::new();
    let _ = screen.read_to_end(&mut shown);
    let shown = String::from_utf8_lossy(&shown);
    assert!(status.success(), "{shown}");
    assert!(
        shown.contains("choose one of udp4, tcp4, ethernet"),
        "{shown}"
    );
    let text = std::fs::read_to_string(&study).unwrap();
    for wanted in [
        "layer = \"udp4\", direction = \"receive\"",
        "link   = \"100M\" # as answered",
        "clocks = [\"80 MHz\"] # as answered",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}
