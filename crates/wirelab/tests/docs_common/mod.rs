//! What the tests of the pages share: the pages of the project, and the commands that their code blocks show.

pub mod how;
pub mod ran;
pub mod shown;
pub mod site;
pub mod table;

use std::path::{Path, PathBuf};

/// The head of the table of docs/iperf.md with the rows of a vendor's page.
pub const VENDORS_ROWS: &str = "| row of the page | `wirelab iperf` on the host PC | the distribution's `iperf` there | one \
                                figure by `wirelab measure` |";

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a page.
pub fn page(name: &str) -> String {
    let path = root().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of all pages with commands to type, from the root of the repository.
pub fn pages() -> Vec<String> {
    let mut found: Vec<String> = ["README.md", "CONTRIBUTING.md"].map(str::to_owned).into();
    let mut folders = ["docs", "rtl", "firmware"].map(PathBuf::from).to_vec();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(root().join(&folder)).expect("a folder of pages");
        for entry in entries.map(|entry| entry.expect("an entry")) {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path.to_str().expect("a plain path").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// A piece of code of a page: a fence, or lines that are indented by four.
#[derive(Debug)]
pub struct Block {
    /// The line that its first line has in the page, from 1.
    pub line: usize,
    pub lines: Vec<String>,
}

/// All pieces of code of a page, in their order.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut fence: Option<usize> = None;
    let mut indented = false;
    for (number, line) in text.lines().enumerate() {
        let marked = line.trim_start().strip_prefix("```");
        if let Some(indent) = fence {
            match marked {
                Some(_) => fence = None,
                None => {
                    let inner = line.get(indent..).unwrap_or_default();
                    let block = found.last_mut().expect("a fence has begun one");
                    block.lines.push(inner.to_owned());
                }
            }
            continue;
        }
        if marked.is_some() {
            fence = Some(line.len() - line.trim_start().len());
            found.push(Block {
                line: number + 2,
                lines: Vec::new(),
            });
            indented = false;
        } else if let Some(inner) = line.strip_prefix("    ") {
            if !indented {
                found.push(Block {
                    line: number + 1,
                    lines: Vec::new(),
                });
            }
            indented = true;
            let block = found.last_mut().expect("begun above");
            block.lines.push(inner.to_owned());
        } else {
            indented = false;
        }
    }
    found
}

/// What stands between backticks in a page's prose; it may go over the end of a line.
pub fn spans(text: &str) -> Vec<String> {
    let mut fenced = false;
    let prose = text.lines().filter(|line| {
        let mark = line.trim_start().starts_with("```");
        fenced ^= mark;
        !fenced && !mark
    });
    let prose = prose.collect::<Vec<_>>().join("\n");
    let quoted = prose.split('`').skip(1).step_by(2);
    quoted
        .map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// A command that a page shows, and what it shows of its output.
#[derive(Clone, Debug)]
pub struct Shown {
    pub page: String,
    pub line: usize,
    /// Without prompt, `sudo` and remark.
    pub command: String,
    pub output: Vec<String>,
}

impl Shown {
    pub fn place(&self) -> String {
        format!("{}:{}: {}", self.page, self.line, self.command)
    }
}

/// A line without what is no part of a command.
fn bare(line: &str) -> &str {
    let line = line.split(" #").next().unwrap_or_default().trim();
    line.strip_prefix("sudo ").unwrap_or(line)
}

/// Whether a line calls wirelab, also at the end of a pipe.
fn calls(command: &str) -> bool {
    command.split(" | ").any(|part| {
        let part = part.trim_start();
        part == "wirelab" || part.starts_with("wirelab ")
    })
}

/// The commands of wirelab that a page shows, in their order. In a block with prompts they stand behind one.
pub fn commands(name: &str) -> Vec<Shown> {
    let mut found = Vec::new();
    for block in blocks(&page(name)) {
        let prompts = block.lines.iter().any(|line| line.starts_with("$ "));
        let mut open = false;
        for (number, line) in block.lines.iter().enumerate() {
            let typed: Vec<&str> = match (prompts, line.strip_prefix("$ ")) {
                // Two terminals may stand side by side.
                (true, Some(typed)) => typed.split("  $ ").collect(),
                (true, None) => Vec::new(),
                (false, _) => vec![line],
            };
            if typed.is_empty() && open {
                let last: &mut Shown = found.last_mut().expect("a command before its output");
                last.output.push(line.clone());
            }
            if !typed.is_empty() {
                open = false;
            }
            for command in typed.into_iter().map(bare).filter(|c| calls(c)) {
                open = prompts;
                found.push(Shown {
                    page: name.to_owned(),
                    line: block.line + number,
                    command: command.to_owned(),
                    output: Vec::new(),
                });
            }
        }
    }
    found
}

/// The words of each call of wirelab in a command, without the program's name, as a shell parts them.
pub fn calls_of(command: &str) -> Vec<Vec<String>> {
    let parts = command.split(" | ").filter(|part| calls(part));
    parts.map(|part| words(part)[1..].to_vec()).collect()
}

/// The words of a command up to where it is sent into the background or its output elsewhere.
pub fn words(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in command.chars().chain([' ']) {
        match (quote, c) {
            (Some(mark), _) if c == mark => quote = None,
            (Some(_), _) => word.push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') if !word.is_empty() => found.push(std::mem::take(&mut word)),
            (None, ' ') => {}
            (None, _) => word.push(c),
        }
    }
    let end = found.iter().position(|w| w == ">" || w == "&");
    found.truncate(end.unwrap_or(found.len()));
    found
}

/// Whether an image of `make firmware` is there; says so in the way the test runner understands if not.
pub fn has_image(name: &str) -> bool {
    use std::io::Write;
    let program = std::env::current_exe().expect("a test knows where it is");
    let mut folders = program.ancestors().map(|folder| folder.join("firmware"));
    let found = folders.any(|folder| folder.join(name).is_file());
    if !found {
        // Directly, because the test harness swallows what is printed otherwise.
        let text = format!("WIRELAB-SKIP firmware: there is no {name}: run scripts/firmware.sh");
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    found
}
