//! Reads a node file, and says of everything wrong where it stands and what to write instead.

use std::collections::BTreeMap;
use std::path::Path;

use wirelab_config::{Entry, FileError, Read, Table, read_text, trial};

use super::check::{self, Problem, Step};
use super::{
    Alternative, ArrivalsDecl, Calibration, NodeFile, Parameter, Provenance, ResourceDecl,
    ToolDecl, Unit, read_path, read_stage,
};

/// Longest node file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 256 * 1024;
/// Most parameters, stages, resources or calibrations of a file, and most paths, alternatives and their changes.
const MAX_NAMED: usize = 500;
const MAX_LISTED: usize = 32;
/// Longest name that others refer to, in characters.
const MAX_NAME: usize = 96;

const TOP_KEYS: [&str; 16] = [
    "name",
    "title",
    "about",
    "source",
    "ports",
    "max_frame",
    "setup",
    "parameter",
    "calibration",
    "link",
    "resource",
    "stage",
    "path",
    "arrivals",
    "tool",
    "alternative",
];
/// What a latency, a time or a load was calibrated from.
const METRICS: [&str; 3] = ["time", "cpu_load", "latency"];

impl NodeFile {
    /// Read the text of a node file; `file` is the name that errors give.
    ///
    /// # Errors
    /// [`FileError::At`] names file, line, column and field, and the fix.
    pub fn parse(text: &str, file: &str) -> Read<NodeFile> {
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(FileError::TooLong {
                file: file.into(),
                kind: "a node file",
                limit_bytes: MAX_FILE_BYTES,
            });
        }
        wirelab_config::read(text, file, |top| {
            let node = node(top)?;
            check::check(&node).map_err(|problem| locate(top, &problem))?;
            Ok(node)
        })
    }

    /// Read a node file.
    ///
    /// # Errors
    /// Where it cannot be read, is too long, or is no node file.
    pub fn load(path: &Path) -> Read<NodeFile> {
        let text = read_text(path, "a node file", MAX_FILE_BYTES)?;
        NodeFile::parse(&text, &path.display().to_string())
    }
}

/// The problem as an error at its place, or at the nearest one around it.
fn locate(top: &Table<'_>, problem: &Problem) -> FileError {
    let what = &problem.what;
    let mut table = top.clone();
    let mut steps = problem.at.iter().peekable();
    while let Some(step) = steps.next() {
        let Step::Key(key) = step else { continue };
        let Some(mut entry) = table.get(key) else {
            return table.error(key, what);
        };
        while let Some(Step::Item(item)) = steps.peek() {
            match entry.entries().into_iter().nth(*item) {
                Some(next) => entry = next,
                None => return entry.error(what),
            }
            steps.next();
        }
        match entry.table() {
            Ok(inner) => table = inner,
            Err(_) => return entry.error(what),
        }
    }
    table.error_here(what)
}

fn node(top: &Table<'_>) -> Read<NodeFile> {
    top.known_keys(&TOP_KEYS)?;
    let path = |table: &Table<'_>| read_path::path(table);
    let paths = sections(top, "path", MAX_LISTED)?;
    if paths.is_empty() {
        return Err(top.error(
            "path",
            "there is none: add a section [[path]] with layer, direction and stages",
        ));
    }
    Ok(NodeFile {
        name: name_of(top, "write name = \"...\"")?,
        title: top
            .need("title", "write in one line what the node is")?
            .text()?,
        about: top.text("about")?,
        source: top
            .need("source", "name the document that describes the node")?
            .text()?,
        ports: top
            .get("ports")
            .map_or(Ok(1), |e| e.whole(1, 64).map(|n| n as u32))?,
        max_frame_bytes: top
            .get("max_frame")
            .map_or(Ok(1518), |e| e.whole(128, 9_216).map(|n| n as u32))?,
        setup: setup(top)?,
        parameters: named(top, "parameter", parameter)?,
        calibrations: named(top, "calibration", calibration)?,
        link: link(top)?,
        resources: named(top, "resource", resource)?,
        stages: named(top, "stage", read_stage::stage)?,
        paths: distinct(
            &paths,
            &paths.iter().map(path).collect::<Read<Vec<_>>>()?,
            |p| &p.name,
        )?,
        arrivals: top
            .section("arrivals")?
            .map_or(Ok(ArrivalsDecl::default()), |t| arrivals(&t))?,
        tool: top
            .section("tool")?
            .map_or(Ok(ToolDecl::default()), |t| tool(&t))?,
        alternatives: {
            let tables = sections(top, "alternative", MAX_LISTED)?;
            distinct(
                &tables,
                &tables.iter().map(alternative).collect::<Read<Vec<_>>>()?,
                |a| &a.name,
            )?
        },
        changes: Vec::new(),
        asked_path: None,
        asked_wait: None,
    })
}

/// The items, if no two of them have the same name.
fn distinct<T: Clone>(
    tables: &[Table<'_>],
    items: &[T],
    name: impl Fn(&T) -> &String,
) -> Read<Vec<T>> {
    for (index, item) in items.iter().enumerate() {
        if items[..index].iter().any(|other| name(other) == name(item)) {
            let what = format!("'{}' is the name of another one too", name(item));
            return Err(tables[index].at_key("name", what));
        }
    }
    Ok(items.to_vec())
}

/// The tables under `[[key]]`, at most `most`.
pub(super) fn sections<'a>(table: &Table<'a>, key: &str, most: usize) -> Read<Vec<Table<'a>>> {
    let all = table.sections(key)?;
    match all.get(most) {
        Some(over) => {
            Err(over.error_here(format!("this is one too many: at most {most} are read")))
        }
        None => Ok(all),
    }
}

/// The values of a list of at most `most`, or the one value.
pub(super) fn bounded_list<'a, T>(
    entry: &Entry<'a>,
    most: usize,
    read: impl Fn(&Entry<'a>) -> Read<T>,
) -> Read<Vec<T>> {
    let entries = entry.entries();
    match entries.get(most) {
        Some(over) => Err(over.error(format!("this is one too many: at most {most} are read"))),
        None => entries.iter().map(read).collect(),
    }
}

/// The tables under `[key.NAME]`.
fn named<T>(
    top: &Table<'_>,
    key: &str,
    read: impl Fn(&Table<'_>) -> Read<T>,
) -> Read<BTreeMap<String, T>> {
    let all = top.named(key)?;
    if let Some((_, over)) = all.get(MAX_NAMED) {
        return Err(over.error_here(format!(
            "this is one too many: at most {MAX_NAMED} are read"
        )));
    }
    all.into_iter()
        .map(|(name, table)| {
            plain_name(&name).map_err(|what| table.error_here(what))?;
            Ok((name, read(&table)?))
        })
        .collect()
}

/// Names stand in `--set`, so that they hold no dots, spaces or signs.
fn plain_name(name: &str) -> Result<(), String> {
    let plain = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if plain && (1..=MAX_NAME).contains(&name.len()) {
        Ok(())
    } else {
        Err(format!(
            "a name has 1 to {MAX_NAME} letters, digits, '-' and '_'"
        ))
    }
}

fn name_of(table: &Table<'_>, way_out: &str) -> Read<String> {
    let entry = table.need("name", way_out)?;
    let name = entry.text()?;
    plain_name(&name).map_err(|what| entry.error(what))?;
    Ok(name)
}

fn setup(top: &Table<'_>) -> Read<BTreeMap<String, String>> {
    let Some(table) = top.section("setup")? else {
        return Ok(BTreeMap::new());
    };
    let mut setup = BTreeMap::new();
    for key in table.keys() {
        if let Some(text) = table.text(key)? {
            setup.insert(key.to_owned(), text);
        }
    }
    Ok(setup)
}

/// Where a figure comes from: the one thing that no parameter and no stage goes without.
pub(super) fn provenance(table: &Table<'_>) -> Read<Provenance> {
    match (table.text("source")?, table.get("calibrated_from")) {
        (Some(source), None) => Ok(Provenance::Source(source)),
        (None, Some(entry)) => Ok(Provenance::CalibratedFrom(entry.list("name it once", Entry::text)?)),
        (Some(_), Some(entry)) => {
            Err(entry.error("it also has a source: keep the one that the figure was really taken from"))
        }
        (None, None) => Err(table.error(
            "source",
            "it has neither a source nor calibrated_from: name the document it is from, or the calibration",
        )),
    }
}

fn parameter(table: &Table<'_>) -> Read<Parameter> {
    table.known_keys(&[
        "value",
        "unit",
        "clock",
        "source",
        "calibrated_from",
        "about",
    ])?;
    let unit = table.need(
        "unit",
        "write e.g. unit = \"us\", or \"1\" for a plain number",
    )?;
    Ok(Parameter {
        value: table.need("value", "write a number, e.g. 4.5")?.number()?,
        unit: Unit::parse(&unit.text()?).map_err(|e| unit.error(e))?,
        clock: table.text("clock")?,
        provenance: provenance(table)?,
        about: table.text("about")?,
    })
}

fn calibration(table: &Table<'_>) -> Read<Calibration> {
    table.known_keys(&["what", "cell", "trial", "metric", "point"])?;
    let metric = table.text("metric")?;
    if metric.as_deref().is_some_and(|m| !METRICS.contains(&m)) {
        return Err(table.at_key("metric", format!("choose one of {}", METRICS.join(", "))));
    }
    Ok(Calibration {
        what: table
            .need("what", "say in words which published figure it is")?
            .text()?,
        cell: table.text("cell")?,
        trial: table
            .section("trial")?
            .map(|t| trial::trial(&t, None))
            .transpose()?,
        metric,
        point: table.text("point")?,
    })
}

fn link(top: &Table<'_>) -> Read<Option<String>> {
    let Some(table) = top.section("link")? else {
        return Ok(None);
    };
    table.known_keys(&["rate"])?;
    Ok(Some(
        table
            .need("rate", "name the parameter that is the link's rate")?
            .text()?,
    ))
}

fn resource(table: &Table<'_>) -> Read<ResourceDecl> {
    table.known_keys(&["about", "per_port"])?;
    Ok(ResourceDecl {
        about: table.text("about")?,
        per_port: table.get("per_port").map_or(Ok(false), |e| e.flag())?,
    })
}

fn arrivals(table: &Table<'_>) -> Read<ArrivalsDecl> {
    table.known_keys(&["burst", "lost_before"])?;
    Ok(ArrivalsDecl {
        burst: table.text("burst")?,
        lost_before: table.text("lost_before")?,
    })
}

fn tool(table: &Table<'_>) -> Read<ToolDecl> {
    table.known_keys(&["min_datagram", "first_id", "timestamps", "interval"])?;
    let interval_ps = match table.get("interval") {
        Some(entry) => match entry.duration()? {
            0 => return Err(entry.error("reports of no time: write e.g. \"1s\"")),
            ps => Some(ps),
        },
        None => None,
    };
    Ok(ToolDecl {
        min_datagram: table.text("min_datagram")?,
        first_id: table.text("first_id")?,
        timestamps: table.get("timestamps").map_or(Ok(true), |e| e.flag())?,
        interval_ps,
    })
}

fn alternative(table: &Table<'_>) -> Read<Alternative> {
    table.known_keys(&["name", "what", "replace", "set"])?;
    let mut replace = BTreeMap::new();
    if let Some(stages) = table.section("replace")? {
        for key in stages.keys() {
            let new = match stages.get(key) {
                // An empty text leaves the stage out.
                Some(entry) if entry.word::<String>()?.is_empty() => None,
                Some(entry) => Some(entry.text()?),
                None => None,
            };
            replace.insert(key.to_owned(), new);
        }
    }
    let set = table.get("set").map_or(Ok(Vec::new()), |e| {
        bounded_list(&e, MAX_LISTED, Entry::text)
    })?;
    if replace.is_empty() && set.is_empty() {
        return Err(table.error_here(
            "it changes nothing: add replace = { STAGE = \"OTHER\" } or set = [\"PARAMETER=4\"]",
        ));
    }
    Ok(Alternative {
        name: name_of(table, "write name = \"...\"")?,
        what: table.need("what", "say in words what it is")?.text()?,
        replace,
        set,
    })
}

/// Entry for fuzzing: hostile bytes read as a node file; what is accepted must answer a trial on each of its paths.
///
/// # Panics
/// If an error names a place outside of the text, or a net is not in order.
pub fn fuzz_node_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match NodeFile::parse(text, "fuzz.toml") {
        Ok(node) => check::try_every_path(&node),
        Err(FileError::At { line, column, .. }) => {
            assert!(line >= 1 && line <= text.split('\n').count());
            assert!(column >= 1 && column <= text.chars().count() + 1);
        }
        Err(_) => assert!(text.len() as u64 > MAX_FILE_BYTES),
    }
}
