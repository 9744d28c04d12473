//! What the reports of a file have in common: when it was made and how, its nodes and its tester, and what went wrong.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use wirelab_trial::description::CHOSEN_AFTER;
use wirelab_trial::{Description, Field, Kind, ResultsFile, Warning};

use crate::document::escape::clip;
use crate::document::{Block, Document, KINDS, Notice, Notices};
use crate::row::kind;
use crate::{finding, format, headline, repeat, search};

/// Most facts of a node's set-up on a page.
const SETUP: usize = 100;

/// A report of a file without its parts: when it was made, by which command, and what its words mean.
pub fn of_file(file: &ResultsFile) -> Document<'_> {
    let mut begun = file.observations.iter();
    let begun = begun.find_map(|o| o.started_unix_ns.value().copied());
    let mut legend = vec![
        (
            "Sizes",
            "frame: destination address through FCS; length: the same without FCS; payload: what follows the Ethernet \
             header and its tags; datagram: UDP or TCP data."
                .to_owned(),
        ),
        (
            "Figures",
            format!(
                "{KINDS} efficiency: payload bits over the link's bits. bad: damaged header, truncated, stale or corrupted."
            ),
        ),
    ];
    legend.extend(begun.map(|ns| ("First trial", format!("It began {}.", format::utc(ns)))));
    Document {
        stamp: Some((file.created_unix_ns, file.wirelab_version.clone())),
        legend,
        command: Some(file.command.join(" ")),
        commands: repeat::commands(file),
        headlines: headline::of(file),
        limits: headline::limits(file),
        hosts: hosts(file),
        ..Document::default()
    }
}

/// The board of the first node that reports one, else its chip, and the tester's host.
pub fn hosts(file: &ResultsFile) -> Vec<String> {
    let setups = file.observations.iter().map(|o| &o.node.setup);
    let names = setups.flat_map(|of| ["board", "soc", "cpu"].map(|key| of.get(key)));
    let board = names.flatten().next().map(|name| clip(name, 80));
    let e = &file.environment;
    let host = [&e.cpu, &e.kernel].map(|field| field.value().map(|name| clip(name, 80)));
    let virtual_machine = e.virtual_machine.value() == Some(&true);
    let host = host.into_iter().flatten();
    let host: Vec<String> = host
        .chain(virtual_machine.then(|| "virtual machine".to_owned()))
        .collect();
    let tester = (!host.is_empty()).then(|| format!("tester: {}", host.join(", ")));
    board.into_iter().chain(tester).collect()
}

/// The notices of a file: why searches did not end, faults of trials, and warnings.
pub fn notices(file: &ResultsFile) -> Notices {
    let troubles = search::troubles(file).into_iter().map(Notice::search);
    let findings = finding::all(file).into_iter();
    let findings = findings.map(|f| Notice::finding(f.trial, f.text));
    let all = troubles.chain(findings).chain(warnings(file));
    Notices::new(all.collect(), file.observations.len())
}

/// Warnings of a file with the trials that each belongs to; the same warning of several trials is one.
fn warnings(file: &ResultsFile) -> Vec<Notice> {
    let key = |w: &Warning| (w.code.clone(), w.text.clone(), w.fix.clone());
    let found = alike(file, |_| true, key).into_iter();
    let total = file.observations.len();
    found
        .map(|(trials, texts)| warned(texts[0], &texts[0].text).of_trials(trials, total))
        .collect()
}

/// Warnings of some trials of a file, each code and fix once: the text of the first, and how many are similar.
pub fn warnings_once(file: &ResultsFile, is_one: impl Fn(usize) -> bool) -> Vec<Notice> {
    let key = |w: &Warning| (w.code.clone(), w.fix.clone());
    let found = alike(file, is_one, key).into_iter();
    let total = file.observations.len();
    let each = found.map(|(trials, texts)| {
        let more = match texts.len() {
            1 => String::new(),
            n => format!(" (and {} more like it)", n - 1),
        };
        warned(texts[0], &format!("{}{more}", texts[0].text)).of_trials(trials, total)
    });
    each.collect()
}

fn warned(warning: &Warning, text: &str) -> Notice {
    Notice::warning(&warning.code, String::new(), text, &warning.fix)
}

/// Warnings of some trials in groups of one key: for each the numbers of its trials, and the warnings whose text differs from
/// the one before.
fn alike<K: Eq + Hash>(
    file: &ResultsFile,
    is_one: impl Fn(usize) -> bool,
    key: impl Fn(&Warning) -> K,
) -> Vec<(Vec<usize>, Vec<&Warning>)> {
    let mut found: Vec<(Vec<usize>, Vec<&Warning>)> = Vec::new();
    let mut known: HashMap<K, usize> = HashMap::new();
    let each = file.observations.iter().enumerate();
    for (at, o) in each.filter(|(at, _)| is_one(at + 1)) {
        for warning in &o.warnings {
            let place = *known.entry(key(warning)).or_insert_with(|| {
                found.push((Vec::new(), Vec::new()));
                found.len() - 1
            });
            let (trials, texts) = &mut found[place];
            if trials.last() != Some(&(at + 1)) {
                trials.push(at + 1);
            }
            if texts.last().is_none_or(|last| last.text != warning.text) {
                texts.push(warning);
            }
        }
    }
    found
}

/// Each node that was tested, once, as it described itself, and the host the tester ran on; for pages alone.
pub fn nodes_and_tester(file: &ResultsFile) -> Block<'static> {
    let mut listed = BTreeSet::new();
    let mut nodes = vec![Block::Heading(3, "The node".to_owned())];
    for o in &file.observations {
        let d = &o.node;
        if listed.insert((&d.name, &d.node_type, &d.setup)) {
            nodes.push(Block::Heading(4, d.name.clone()));
            nodes.push(Block::Facts(node(d)));
        }
    }
    let e = &file.environment;
    let yes = |v: &bool| if *v { "yes" } else { "no" }.to_owned();
    let tester = [
        ("kernel", words(&e.kernel, String::clone)),
        ("CPU", words(&e.cpu, String::clone)),
        ("processors used", words(&e.cpus, ToString::to_string)),
        ("memory", words(&e.memory_bytes, |b| format::memory(*b))),
        ("virtual machine", words(&e.virtual_machine, yes)),
        ("wirelab", file.wirelab_version.clone()),
    ];
    let tester = tester.map(|(name, text)| (name.to_owned(), text));
    let tester = vec![
        Block::Heading(3, "The tester".to_owned()),
        Block::Facts(tester.into()),
    ];
    let both = vec![Block::Beside(vec![nodes, tester])];
    Block::Appendix(2, "Node and tester".to_owned(), both)
}

/// A field of words with its kind, or why it is absent.
fn words<T>(field: &Field<T>, show: impl Fn(&T) -> String) -> String {
    match field {
        Field::Observed { value, kind: k } if *k == Kind::Measured => show(value),
        Field::Observed { value, kind: k } => format!("{} ({})", show(value), kind(*k)),
        Field::Absent { absent } => format!("– ({absent})"),
    }
}

/// A key of a node's set-up in words, with its unit behind a comma.
pub fn setup_key(key: &str) -> String {
    if key == CHOSEN_AFTER {
        return "parameters chosen after figures were seen".to_owned();
    }
    let unit = [("_hz", "Hz"), ("_ps", "ps"), ("_bytes", "B")];
    let unit = unit
        .iter()
        .find_map(|(end, unit)| Some((key.strip_suffix(end)?, unit)));
    match unit {
        Some((name, unit)) => format!("{}, {unit}", name.replace('_', " ")),
        None => key.replace('_', " "),
    }
}

fn node(d: &Description) -> Vec<(String, String)> {
    let c = &d.capabilities;
    let rate = c.link_bits_per_s.map(|r| format::si(r as f64, "bit/s"));
    let sizes = [c.min_frame_bytes, c.max_frame_bytes].map(|bytes| format::integer(bytes.into()));
    let facts = [
        ("node type", d.node_type.clone()),
        ("ports", c.ports.to_string()),
        ("frame sizes", format!("{} to {} B", sizes[0], sizes[1])),
        (
            "link rate",
            rate.unwrap_or_else(|| "– (the carrier has none)".to_owned()),
        ),
    ];
    let setup = d.setup.iter().take(SETUP);
    let setup = setup.map(|(key, value)| (clip(&setup_key(key), 80), value.clone()));
    let facts = facts.map(|(name, text)| (name.to_owned(), text));
    facts.into_iter().chain(setup).collect()
}
