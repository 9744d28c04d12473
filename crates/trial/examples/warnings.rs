//! Prints the page of all warnings: `cargo run -p wirelab-trial --example warnings > docs/warnings.md`.

use std::io::Write;
use std::path::{Path, PathBuf};

use wirelab_trial::WarningCode;

const HEAD: &str = "# Warnings

A warning says what a reader of a trial must know. In a terminal it is below the table, in JSON in `warnings` of the
observation, or of the report of a fit, with `code`, `text` and `way_out`, which says what to do. Scripts compare the code:
texts may change, codes do not.

The last column names the crates that emit it; [the map](architecture.md) says what each of them is.

| code | what it means | emitted by |
|---|---|---|
";

/// The page, of the table of codes and of the sources below `crates`.
pub fn page(crates: &Path) -> std::io::Result<String> {
    let sources = sources(crates)?;
    let mut page = HEAD.to_owned();
    for code in WarningCode::ALL {
        let by: Vec<&str> = sources
            .iter()
            .filter(|(_, text)| emits(text, code.name()))
            .map(|(name, _)| name.as_str())
            .collect();
        let (word, meaning) = (code.word(), code.meaning());
        page.push_str(&format!("| `{word}` | {meaning} | {} |\n", by.join(", ")));
    }
    Ok(page)
}

/// Whether a source uses a code for more than to look for it.
fn emits(text: &str, name: &str) -> bool {
    let used = format!("WarningCode::{name}");
    let ends = |rest: &str| !rest.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric());
    text.match_indices(&used).any(|(at, _)| {
        let looks = [".is(", ".warned("];
        ends(&text[at + used.len()..]) && !looks.iter().any(|look| text[..at].ends_with(look))
    })
}

/// Each crate and the text of its sources, in the order of names; tests inside of a file are left out.
fn sources(crates: &Path) -> std::io::Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(crates)? {
        let entry = entry?;
        let mut text = String::new();
        read(&entry.path().join("src"), &mut text)?;
        all.push((entry.file_name().to_string_lossy().into_owned(), text));
    }
    all.sort();
    Ok(all)
}

fn read(folder: &Path, text: &mut String) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if path.is_dir() {
            read(&path, text)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            let source = std::fs::read_to_string(&path)?;
            text.push_str(
                source
                    .split("#[cfg(test)]\nmod ")
                    .next()
                    .unwrap_or_default(),
            );
        }
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::io::stdout().write_all(page(&crates)?.as_bytes())
}
