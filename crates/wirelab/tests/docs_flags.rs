//! Options that pages and messages name exist where they are named, and so do the formats of reports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::common::{scratch, stderr, stdout, wirelab};
use crate::docs_common::{blocks, page, pages, root, spans, words};

/// Commands that a page speaks of without `wirelab` before their names.
const ALSO: &[(&str, &str)] = &[
    ("docs/acceptance.md", "iperf"),
    ("docs/benchmarks.md", "iperf"),
    ("docs/benchmarks.md", "measure"),
    ("docs/exit-status.md", "measure"),
    ("docs/fast-path.md", "measure"),
    ("docs/fast-track.md", "measure"),
    ("docs/nodes/README.md", "predict"),
    ("docs/portable-path.md", "measure"),
    ("docs/studies.md", "predict"),
    ("docs/trust.md", "measure"),
];
/// Options of other programs that a page names alone.
const OF_OTHERS: &[(&str, &str)] = &[
    ("docs/acceptance.md", "--example"),
    ("docs/fast-path.md", "--before"),
    ("docs/firmware-iperf.md", "--bounceback"),
    ("docs/firmware-iperf.md", "--isochronous"),
    ("docs/firmware-iperf.md", "--trip-times"),
    ("docs/iperf.md", "--bounceback"),
    ("docs/iperf.md", "--trip-times"),
    ("docs/iperf.md", "--affinity"),
    ("docs/iperf.md", "--bind-dev"),
    ("docs/iperf.md", "--cntl-ka"),
    ("docs/iperf.md", "--debug"),
    ("docs/iperf.md", "--dont-fragment"),
    ("docs/iperf.md", "--file"),
    ("docs/iperf.md", "--flowlabel"),
    ("docs/iperf.md", "--fq-rate"),
    ("docs/iperf.md", "--gsro"),
    ("docs/iperf.md", "--idle-timeout"),
    ("docs/iperf.md", "--json-stream-full-output"),
    ("docs/iperf.md", "--mptcp"),
    ("docs/iperf.md", "--nstreams"),
    ("docs/iperf.md", "--pacing-timer"),
    ("docs/iperf.md", "--pidfile"),
    ("docs/iperf.md", "--rcv-timeout"),
    ("docs/iperf.md", "--sctp"),
    ("docs/iperf.md", "--server-bitrate-limit"),
    ("docs/iperf.md", "--server-max-duration"),
    ("docs/iperf.md", "--skip-rx-copy"),
    ("docs/iperf.md", "--snd-timeout"),
    ("docs/iperf.md", "--timestamps"),
    ("docs/iperf.md", "--verbose"),
    ("docs/iperf.md", "--xbind"),
    ("docs/latency.md", "--bounceback"),
    ("docs/reference-node.md", "--example"),
    ("docs/flashing.md", "--cfg"),
    ("docs/reference-node.md", "--write"),
];
/// Options of other programs (iperf, lscpu, nsenter, docker) that messages name.
const IN_MESSAGES: &[&str] = &[
    "--bounceback",
    "--online",
    "--net",
    "--device",
    "--preserve-credentials",
    "--user",
    "--target",
];

/// How the heading of such a section ends.
const ABSENT: &str = " flags that are not supported";

/// Each command by its words, and the options that its help lists.
type Commands = BTreeMap<String, BTreeSet<String>>;

fn known() -> Commands {
    let mut all = Commands::new();
    let mut open = vec![Vec::<String>::new()];
    while let Some(command) = open.pop() {
        let mut args: Vec<&str> = command.iter().map(String::as_str).collect();
        args.push("--help");
        let help = stdout(&wirelab(&args));
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        for line in listed.take_while(|line| line.starts_with("  ")) {
            let name = line.split_whitespace().next().expect("a name");
            if name != "help" && !line.starts_with("   ") {
                open.push([&command[..], &[name.to_owned()]].concat());
            }
        }
        all.insert(command.join(" "), options(&help).collect());
    }
    assert!(all.len() > 25, "{:?}", all.keys());
    all
}

/// All long options in a text.
fn options(text: &str) -> impl Iterator<Item = String> {
    text.match_indices("--").filter_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let name: String = text[at + 2..]
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '-')
            .collect();
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        let inside = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-');
        (begins && !inside).then(|| format!("--{}", name.trim_end_matches('-')))
    })
}

/// A page without its sections on flags of other programs that are not here.
fn without_absent(text: &str) -> String {
    let mut absent = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.starts_with('#') {
            absent = line.ends_with(ABSENT);
        }
        if !absent {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

/// The command that words begin with, if they begin with one.
fn command<'a>(known: &'a Commands, words: &[&str]) -> Option<&'a str> {
    let of = |n: usize| known.get_key_value(&words.get(..n)?.join(" "));
    of(2).or_else(|| of(1)).map(|(name, _)| name.as_str())
}

/// Whether a piece of code calls another program, whose options are its own.
fn is_of_another(first: &str) -> bool {
    first.contains('/')
        || [
            "capsh",
            "cargo",
            "chromium",
            "cmake",
            "nextpnr-ecp5",
            "nsenter",
            "tcpdump",
            "tshark",
        ]
        .contains(&first)
}

/// The commands that a page speaks of.
fn spoken<'a>(
    known: &'a Commands,
    page: &str,
    spans: &[String],
    code: Vec<String>,
) -> BTreeSet<&'a str> {
    let also = ALSO.iter().filter(|(name, _)| *name == page);
    let mut spoken: BTreeSet<&str> = also.map(|(_, command)| *command).collect();
    for piece in spans.iter().cloned().chain(code) {
        let words: Vec<&str> = piece.split_whitespace().collect();
        for at in 0..words.len() {
            if words[at] == "wirelab" {
                spoken.extend(command(known, &words[at + 1..]));
            }
        }
        spoken.extend((words.len() > 1).then(|| command(known, &words)).flatten());
    }
    spoken
}

/// The lines of a page's code blocks.
fn lines(text: &str) -> Vec<String> {
    let blocks = blocks(text).into_iter();
    blocks.flat_map(|block| block.lines).collect()
}

/// The flags that a line of a help defines, short and long, with its aliases.
fn defined(line: &str) -> Vec<String> {
    let named = |word: &&str| word.starts_with('-') && word.len() > 1 && *word != "--";
    let name = |word: &str| {
        let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c)));
        word[..end.unwrap_or(word.len())].to_owned()
    };
    line.split_whitespace()
        .take_while(named)
        .map(name)
        .collect()
}

/// The options of a command, each by its flags.
fn flags_of(command: &str) -> Vec<Vec<String>> {
    let mut args: Vec<&str> = command.split_whitespace().collect();
    args.push("--help");
    let help = stdout(&wirelab(&args));
    let begins = |line: &&str| line.starts_with("  -") || line.starts_with("      --");
    let flags = help.lines().filter(begins).map(defined);
    let is_own = |flags: &Vec<String>| !flags.iter().any(|f| f == "--help" || f == "--version");
    flags.filter(is_own).collect()
}

/// The options of commands that no page names: a page names an option where it speaks of its command too.
fn on_no_page(pages: &[(String, String)]) -> Vec<String> {
    let known = known();
    let read = |(name, text): &(String, String)| {
        let (spans, code) = (spans(text), lines(text));
        let pieces = spans.iter().chain(&code);
        let words =
            pieces.flat_map(|piece| piece.split([' ', '=', ',', ')', '(', '[', ']', '"', '|']));
        let flags: BTreeSet<String> = words
            .filter(|word| word.starts_with('-'))
            .map(|word| word.trim_end_matches([':', '.', ';']).to_owned())
            .collect();
        let spoken = spoken(&known, name, &spans, code);
        let spoken: BTreeSet<String> = spoken.into_iter().map(str::to_owned).collect();
        (spoken, flags)
    };
    let pages: Vec<_> = pages.iter().map(read).collect();
    let is_named = |command: &str, flags: &[String]| {
        let mut pages = pages.iter().filter(|(spoken, _)| spoken.contains(command));
        pages.any(|(_, named)| flags.iter().any(|flag| named.contains(flag)))
    };
    let of = |command: &String| {
        let flags = flags_of(command).into_iter();
        let missing = flags.filter(|flags| !is_named(command, flags));
        let command = command.clone();
        let missing = missing.map(move |flags| format!("{command} {}", flags.join(" ")));
        missing.collect::<Vec<_>>()
    };
    known.keys().flat_map(of).collect()
}

#[test]
fn each_option_of_each_command_is_on_a_page_that_speaks_of_it() {
    let text = |name: String| {
        let text = page(&name);
        (name, text)
    };
    let mut all: Vec<_> = pages().into_iter().map(text).collect();
    let missing = on_no_page(&all);
    assert!(
        missing.is_empty(),
        "no page in docs/ names:\n{}",
        missing.join("\n")
    );
    // A page that loses an option is seen.
    for (_, text) in &mut all {
        *text = text
            .replace("--back-only", "")
            .replace("--preamble", "--gap");
    }
    assert_eq!(on_no_page(&all), ["iperf --back-only", "limits --preamble"]);
}

#[test]
fn each_option_that_a_page_names_is_one_of_its_commands() {
    let known = known();
    let mut looked_at = 0;
    for name in pages() {
        let text = without_absent(&page(&name));
        let spans = spans(&text);
        let code = lines(&text);
        let spoken = spoken(&known, &name, &spans, code);
        for span in &spans {
            let mut words: Vec<&str> = span.split_whitespace().collect();
            words.retain(|word| !["sudo", "time", "wirelab", "INSTA_UPDATE=always"].contains(word));
            if words.is_empty() || is_of_another(words[0]) {
                continue;
            }
            for option in options(span) {
                looked_at += 1;
                let of_another = OF_OTHERS.contains(&(name.as_str(), option.as_str()));
                match command(&known, &words) {
                    Some(own) => assert!(
                        known[own].contains(&option),
                        "{name}: `{span}`: wirelab {own} has no {option}"
                    ),
                    None => assert!(
                        of_another || spoken.iter().any(|c| known[*c].contains(&option)),
                        "{name}: `{span}`: none of {spoken:?} has {option}"
                    ),
                }
            }
        }
    }
    assert!(looked_at > 150, "{looked_at} options were looked at");
}

/// All files of a folder that end so.
fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn each_option_that_a_message_names_exists() {
    let all: BTreeSet<String> = known().into_values().flatten().collect();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    let mut looked_at = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().expect("a part");
        for line in code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
        {
            for option in options(line) {
                looked_at += 1;
                let exists = all.contains(&option) || IN_MESSAGES.contains(&option.as_str());
                assert!(exists, "{}: {line}: there is no {option}", file.display());
            }
        }
    }
    assert!(looked_at > 200, "{looked_at} options were looked at");
}

/// A message that sends people to an option is wrong where that option is refused.
#[test]
fn where_a_link_rate_is_missing_the_way_to_it_is_one_that_is_taken() {
    assert!(!known()["study run"].contains("--rate"));
    if !wirelab_port::netns::may_test() {
        return;
    }
    let (plan, results, study) = (
        scratch("rate-p.toml"),
        scratch("rate.json"),
        scratch("rate-s.toml"),
    );
    let [plan_file, results_file, study_file] =
        [&plan, &results, &study].map(|p| p.to_str().unwrap());
    let says = |args: &[&str], status: i32, words: &str| {
        let output = wirelab(args);
        let said = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    };
    let text = "[[matrix]]\npayload = 100\nload = \"50%\"\nframes = 10\n";
    std::fs::write(&plan, text).unwrap();
    let asked = ["measure", "lab:1", "--no-ceiling", "--plan", plan_file];
    says(
        &[&asked[..], &["--rate", "1G"]].concat(),
        2,
        "cannot be used with",
    );
    let output = wirelab(&asked);
    let said = stdout(&output) + &stderr(&output);
    assert!(said.contains("the key rate in a plan"), "{said}");
    std::fs::write(&plan, format!("{text}rate = \"100M\"\n")).unwrap();
    says(&asked, 0, "0 lost");

    let bare = [
        "measure",
        "lab:1",
        "--no-ceiling",
        "--frame",
        "64,512",
        "--frames",
        "500",
    ];
    says(
        &[&bare[..], &["-o", results_file]].concat(),
        0,
        "the key rate in a plan or study",
    );
    says(&["explain", results_file], 0, "measure again with --rate");
    says(
        &["explain", results_file, "--rate", "1G"],
        0,
        "link 1 Gbit/s",
    );
    says(
        &[&bare[..], &["--rate", "1G", "-o", results_file]].concat(),
        0,
        "1 Gbit/s",
    );

    let text = "title = \"a table\"\nsource = \"a page\"\nnode = \"lab:1\"\n[[row]]\nname = \"one\"\n\
                published = { share_of_limit = \"90 %\", efficiency = \"90 %\" }\n";
    let trial = "trial = { payload = 1000, frames = 100, load = \"1kpps\" }\n";
    std::fs::write(&study, format!("{text}{trial}")).unwrap();
    let asked = ["study", "run", study_file];
    says(&asked, 0, "in the row's trial");
    let rated = trial.replace("load", "rate = \"1G\", load");
    std::fs::write(&study, format!("{text}{rated}")).unwrap();
    let output = wirelab(&asked);
    let said = stdout(&output) + &stderr(&output);
    assert!(!said.contains("no link rate"), "{said}");
}

#[test]
fn each_format_and_each_end_of_a_file_that_the_page_and_the_help_name_is_made() {
    let results = scratch("formats.json");
    let file = results.to_str().unwrap();
    let made = wirelab(&["measure", "am263x", "--quick", "-o", file]);
    assert!(made.status.success(), "{}", stderr(&made));
    let help = stdout(&wirelab(&["report", "--help"]));
    // Up to the next option.
    let after = |words: &str| {
        let text = help.split(words).nth(1).expect("what is listed");
        let listed = text
            .split([',', ' ', '\n', '('])
            .filter(|word| !word.is_empty());
        let listed = listed.take_while(|word| !word.starts_with('-'));
        listed.map(str::to_owned).collect::<Vec<_>>()
    };
    let listed = after("without --output:");
    assert!(listed.len() > 9, "{listed:?}");
    let page = page("docs/report.md");
    let spans = spans(&page);
    let on_page = spans.iter().filter_map(|span| {
        let after = span.split_once("--format ")?.1;
        after.split_whitespace().next()
    });
    for format in listed.iter().map(String::as_str).chain(on_page) {
        let output = wirelab(&["report", file, "--format", format]);
        assert!(output.status.success(), "{format}: {}", stderr(&output));
        assert!(!output.stdout.is_empty(), "{format}");
    }
    let mut ends = after("the extension selects the format:");
    ends.retain(|word| word.starts_with('.'));
    assert!(ends.len() > 7, "{ends:?}");
    for end in ends {
        let to = scratch(&format!("written{end}"));
        let output = wirelab(&["report", file, "-o", to.to_str().unwrap()]);
        assert!(output.status.success(), "{end}: {}", stderr(&output));
        assert!(std::fs::metadata(&to).unwrap().len() > 0, "{end}");
    }
}

#[test]
fn an_option_that_is_gone_would_be_seen() {
    let text = "`--flows` and `wirelab\nreport a.json --each-flow`, not --this\n```\n--that\n```\n";
    let found = spans(text);
    assert_eq!(found, ["--flows", "wirelab report a.json --each-flow"]);
    let named: Vec<String> = found.iter().flat_map(|span| options(span)).collect();
    assert_eq!(named, ["--flows", "--each-flow"]);
    let known = known();
    assert!(known["report"].contains("--each-flow") && !known["report"].contains("--flows"));
    let asked = words("report a.json --each-flow");
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    assert_eq!(command(&known, &asked), Some("report"));
}
