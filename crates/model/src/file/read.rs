//! Reads a node file. Every error names its place and the fix.

use std::collections::BTreeMap;
use std::path::Path;

use wirelab_config::{Entry, FileError, Read, Table, read_text, trial};
use wirelab_trial::nearest;
use wirelab_trial::observation::Spans;
use wirelab_trial::{Direction, SeriesName};

use super::check::{KeyOrItem, Problem};
use super::{
    Alternative, ArrivalsDecl, CalibratedMetric, Calibration, Cost, Edge, LoadDecl, NodeFile, OWN,
    Parameter, PathDecl, PointDecl, ProbeDecl, Provenance, ResourceDecl, SizeExpr, SpreadDecl,
    StageDecl, StageEdge, TokenPool, ToolDecl, Unit, check,
};

/// Longest accepted node file, in bytes.
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

impl NodeFile {
    /// Reads the text of a node file; `file` is its name in errors.
    ///
    /// # Errors
    /// [`FileError`] names file, line, column and field, and the fix.
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

    /// Reads a node file.
    ///
    /// # Errors
    /// Where it cannot be read, is too long, or is not a node file.
    pub fn load(path: &Path) -> Read<NodeFile> {
        let text = read_text(path, "a node file", MAX_FILE_BYTES)?;
        NodeFile::parse(&text, &path.display().to_string())
    }
}

/// Turns a problem into an error at its place, or at the nearest place around it.
fn locate(top: &Table<'_>, problem: &Problem) -> FileError {
    let what = &problem.what;
    let mut table = top.clone();
    let mut steps = problem.at.iter().peekable();
    while let Some(step) = steps.next() {
        let KeyOrItem::Key(key) = step else { continue };
        let Some(mut entry) = table.get(key) else {
            return table.error(key, what);
        };
        while let Some(KeyOrItem::Item(item)) = steps.peek() {
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
    let path = |table: &Table<'_>| path(table);
    let paths = sections(top, "path", MAX_LISTED)?;
    if paths.is_empty() {
        return Err(top.error(
            "path",
            "there is none; fix: add a section [[path]] with layer, direction and stages",
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
        stages: named(top, "stage", stage)?,
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
        set_path_to: None,
        set_wait_to: None,
    })
}

/// The items, if their names are distinct.
fn distinct<T: Clone>(
    tables: &[Table<'_>],
    items: &[T],
    name: impl Fn(&T) -> &String,
) -> Read<Vec<T>> {
    for (index, item) in items.iter().enumerate() {
        if items[..index].iter().any(|other| name(other) == name(item)) {
            let what = format!(
                "the name '{}' is used twice; fix: choose another",
                name(item)
            );
            return Err(tables[index].at_key("name", what));
        }
    }
    Ok(items.to_vec())
}

fn too_many(most: usize) -> String {
    format!("this is one too many; fix: write at most {most}")
}

/// The tables under `[[key]]`, at most `most`.
pub(super) fn sections<'a>(table: &Table<'a>, key: &str, most: usize) -> Read<Vec<Table<'a>>> {
    let all = table.sections(key)?;
    match all.get(most) {
        Some(over) => Err(over.error_here(too_many(most))),
        None => Ok(all),
    }
}

/// The items of a list of at most `most`, or the one value.
pub(super) fn bounded_list<'a, T>(
    entry: &Entry<'a>,
    most: usize,
    read: impl Fn(&Entry<'a>) -> Read<T>,
) -> Read<Vec<T>> {
    let entries = entry.entries();
    match entries.get(most) {
        Some(over) => Err(over.error(too_many(most))),
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
        return Err(over.error_here(too_many(MAX_NAMED)));
    }
    all.into_iter()
        .map(|(name, table)| {
            plain_name(&name).map_err(|what| table.error_here(what))?;
            Ok((name, read(&table)?))
        })
        .collect()
}

/// Names appear in `--set`, so they must not hold dots, spaces or signs.
fn plain_name(name: &str) -> Result<(), String> {
    let plain = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if plain && (1..=MAX_NAME).contains(&name.len()) {
        Ok(())
    } else {
        Err(format!(
            "such a name cannot be in --set; fix: write 1 to {MAX_NAME} letters, digits, '-' and '_'"
        ))
    }
}

fn name_of(table: &Table<'_>, fix: &str) -> Read<String> {
    let entry = table.need("name", fix)?;
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

/// The source of a figure: every parameter and every stage must have one.
pub(super) fn provenance(table: &Table<'_>) -> Read<Provenance> {
    match (table.text("source")?, table.get("calibrated_from")) {
        (Some(source), None) => Ok(Provenance::Source(source)),
        (None, Some(entry)) => Ok(Provenance::CalibratedFrom(entry.list("name it once", Entry::text)?)),
        (Some(_), Some(entry)) => {
            Err(entry.error("it also has a source; fix: keep the one that the figure is from"))
        }
        (None, None) => Err(table.error(
            "source",
            "it has neither a source nor calibrated_from; fix: name the document it is from, or the calibration",
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
        "chosen_after",
        "plus_minus",
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
        chosen_after: table.text("chosen_after")?,
        plus_minus: table
            .get("plus_minus")
            .map_or(Ok(BTreeMap::new()), |e| plus_minus(&e))?,
        about: table.text("about")?,
    })
}

/// A number, or how far each cause moves the parameter.
fn plus_minus(entry: &Entry<'_>) -> Read<BTreeMap<String, f64>> {
    if let Ok(by) = entry.number() {
        return Ok(BTreeMap::from([(OWN.to_owned(), by)]));
    }
    let table = entry.table().map_err(|_| {
        entry.invalid("write half of its 95 % interval, or { CAUSE = SHIFT, … } for causes that move other parameters too")
    })?;
    let each = table.keys().map(|cause| {
        let by = table.need(cause, "write how far it moves the parameter")?;
        Ok((cause.to_owned(), by.number()?))
    });
    each.collect()
}

fn calibration(table: &Table<'_>) -> Read<Calibration> {
    table.known_keys(&["what", "cell", "trial", "metric", "point"])?;
    let metrics = CalibratedMetric::ALL;
    let metric = table.text("metric")?.map(|word| {
        let found = metrics.into_iter().find(|metric| metric.word() == word);
        let unknown = || nearest::unknown("metric", &word, metrics.map(CalibratedMetric::word));
        found.ok_or_else(|| table.at_key("metric", unknown()))
    });
    Ok(Calibration {
        what: table
            .need("what", "say in words which published figure it is")?
            .text()?,
        cell: table.text("cell")?,
        trial: table
            .section("trial")?
            .map(|t| trial::trial(&t, None))
            .transpose()?,
        metric: metric.transpose()?,
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
            0 => return Err(entry.error("a report interval of 0; fix: write e.g. \"1s\"")),
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
            "it changes nothing; fix: add replace = { STAGE = \"OTHER\" } or set = [\"PARAMETER=4\"]",
        ));
    }
    Ok(Alternative {
        name: name_of(table, "write name = \"...\"")?,
        what: table.need("what", "say in words what it is")?.text()?,
        replace,
        set,
    })
}

/// Entry for fuzzing: reads hostile bytes as a node file. An accepted file must answer a trial on each of its paths.
///
/// # Panics
/// If an error names a place outside the text, or a net is invalid.
pub fn fuzz_node_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match NodeFile::parse(text, "fuzz.toml") {
        Ok(node) => check::try_every_path(&node),
        Err(FileError::At {
            line, column, what, ..
        }) => {
            assert!(what.contains("fix: "), "{what}");
            assert!(line >= 1 && line <= text.split('\n').count());
            assert!(column >= 1 && column <= text.chars().count() + 1);
        }
        Err(_) => assert!(text.len() as u64 > MAX_FILE_BYTES),
    }
}

const PATH_KEYS: [&str; 17] = [
    "name",
    "layer",
    "direction",
    "buffers",
    "path",
    "wait",
    "up_to",
    "default",
    "stages",
    "wire",
    "spans",
    "load",
    "busy_wait",
    "limit",
    "room",
    "point",
    "probe",
];
/// Most stages, rooms, points or probes of a path.
const MAX_ITEMS: usize = 64;
const ONCE: &str = "name it once";

pub(super) fn path(table: &Table<'_>) -> Read<PathDecl> {
    table.known_keys(&PATH_KEYS)?;
    let stages = match table.get("stages") {
        Some(entry) => bounded_list(&entry, MAX_ITEMS, Entry::text)?,
        None => Vec::new(),
    };
    let (Some(first), Some(last)) = (stages.first(), stages.last()) else {
        return Err(table.at_key(
            "stages",
            "a path has at least one stage; fix: write stages = [\"NAME\", ...]",
        ));
    };
    let direction = table.need("direction", "write \"transmit\" or \"receive\"")?;
    let direction = match direction.word()? {
        Direction::Transmit => Direction::Transmit,
        Direction::Receive => Direction::Receive,
        other => {
            return Err(direction.error(format!(
                "a trial with {other} uses a path of each direction; fix: write \"transmit\" or \"receive\""
            )));
        }
    };
    let wire = if direction == Direction::Transmit {
        last
    } else {
        first
    }
    .clone();
    Ok(PathDecl {
        name: table.need("name", "write name = \"...\"")?.text()?,
        layers: table
            .need("layer", "write e.g. layer = [\"ethernet\", \"udp4\"]")?
            .list(ONCE, Entry::layer)?,
        direction,
        buffers: table
            .get("buffers")
            .map_or(Ok(Vec::new()), |e| e.list(ONCE, Entry::word))?,
        path: table.get("path").map(|e| e.word()).transpose()?,
        wait: table.get("wait").map(|e| e.word()).transpose()?,
        up_to_bytes: table
            .get("up_to")
            .map(|e| e.whole(1, 65_535).map(|n| n as u32))
            .transpose()?,
        default: table.get("default").map_or(Ok(false), |e| e.flag())?,
        wire: table.text("wire")?.unwrap_or(wire),
        spans: table.get("spans").map_or(Ok(Spans::Wire), |e| spans(&e))?,
        load: table.section("load")?.map(|t| load(&t)).transpose()?,
        busy_wait: table.get("busy_wait").map_or(Ok(false), |e| e.flag())?,
        limit_unknown: table.get("limit").map_or(Ok(false), |e| unknown(&e))?,
        rooms: sections(table, "room", MAX_ITEMS)?
            .iter()
            .map(room)
            .collect::<Read<_>>()?,
        points: sections(table, "point", MAX_ITEMS)?
            .iter()
            .map(point)
            .collect::<Read<_>>()?,
        probes: sections(table, "probe", MAX_ITEMS)?
            .iter()
            .map(probe)
            .collect::<Read<_>>()?,
        stages,
    })
}

fn unknown(entry: &Entry<'_>) -> Read<bool> {
    entry.one_of("rate", &[("unknown", true)])
}

fn spans(entry: &Entry<'_>) -> Read<Spans> {
    let known = [
        ("wire", Spans::Wire),
        ("pin", Spans::Pin),
        ("call", Spans::Call),
    ];
    entry.one_of("span", &known)
}

fn load(table: &Table<'_>) -> Read<LoadDecl> {
    table.known_keys(&["resource", "idle"])?;
    Ok(LoadDecl {
        resource: table
            .need("resource", "name the resource whose use is the load")?
            .text()?,
        idle: table.text("idle")?,
    })
}

fn room(table: &Table<'_>) -> Read<TokenPool> {
    table.known_keys(&["name", "from", "to", "tokens"])?;
    Ok(TokenPool {
        name: table.text("name")?.unwrap_or_else(|| "room".to_owned()),
        from: table
            .need("from", "name the stage that gives a token back")?
            .text()?,
        to: table
            .need("to", "name the stage that takes a token")?
            .text()?,
        tokens: table
            .need("tokens", "name the parameter with their number")?
            .text()?,
    })
}

fn point(table: &Table<'_>) -> Read<PointDecl> {
    table.known_keys(&["name", "between", "from", "to"])?;
    let forms = "write \"STAGE start\" or \"STAGE end\"";
    Ok(PointDecl {
        name: point_name(table)?,
        from: at(&table.need("from", forms)?)?,
        to: at(&table.need("to", forms)?)?,
    })
}

/// The name of a capture point: a text, or the two points of a stage.
fn point_name(table: &Table<'_>) -> Read<SeriesName> {
    let Some(between) = table.get("between") else {
        let name = table.need(
            "name",
            "write name = \"...\", or between = [\"...\", \"...\"]",
        )?;
        let name = name.text()?;
        return Ok(SeriesName::parse(&name).unwrap_or(SeriesName::Other(name)));
    };
    if let Some(name) = table.get("name") {
        return Err(name.error("'between' gives the name already; fix: leave one of them out"));
    }
    match &between.list("write two different points", Entry::text)?[..] {
        [from, to] => Ok(SeriesName::stage(from.as_str(), to.as_str())),
        _ => Err(between.invalid("write the two points of a stage, e.g. [\"driver\", \"stack\"]")),
    }
}

fn probe(table: &Table<'_>) -> Read<ProbeDecl> {
    table.known_keys(&["name", "at", "clock"])?;
    Ok(ProbeDecl {
        name: table.need("name", "write name = \"...\"")?.text()?,
        at: at(&table.need("at", "write \"STAGE start\" or \"STAGE end\"")?)?,
        clock: table
            .need("clock", "name the parameter that is its clock")?
            .text()?,
    })
}

fn at(entry: &Entry<'_>) -> Read<StageEdge> {
    let text = entry.text()?;
    let (stage, edge) = text.trim().rsplit_once(' ').unwrap_or_default();
    let edge = match edge {
        "start" => Edge::Start,
        "end" => Edge::End,
        _ => {
            let meant = nearest::did_you_mean(edge, ["start", "end"].into_iter());
            return Err(entry.error(format!(
                "it is not an edge of a stage; {meant}fix: write \"STAGE start\" or \"STAGE end\""
            )));
        }
    };
    Ok(StageEdge {
        stage: stage.trim().to_owned(),
        edge,
    })
}

const STAGE_KEYS: [&str; 10] = [
    "resource",
    "priority",
    "source",
    "calibrated_from",
    "about",
    "cost",
    "spread",
    "paced",
    "polled",
    "on_missing",
];
const COST_FORMS: &str = "write one of { constant = PARAMETER }, { bytes = SIZE, at = PARAMETER }, \
                          { accesses = SIZE, of = PARAMETER } and { bytes = \"link\", at = \"link\" }";
/// Most terms of a cost.
const MAX_COSTS: usize = 64;

pub(super) fn stage(table: &Table<'_>) -> Read<StageDecl> {
    table.known_keys(&STAGE_KEYS)?;
    if let (Some(_), Some(polled)) = (table.get("paced"), table.get("polled")) {
        return Err(polled.error("the stage is also paced; fix: keep one of the two"));
    }
    Ok(StageDecl {
        resource: table.text("resource")?,
        priority: table
            .get("priority")
            .map_or(Ok(1), |e| e.whole(0, 255).map(|n| n as u8))?,
        provenance: provenance(table)?,
        about: table.text("about")?,
        cost: match table.get("cost") {
            Some(entry) => bounded_list(&entry, MAX_COSTS, cost)?,
            None => Vec::new(),
        },
        scale: 1.0,
        spread: table.get("spread").map(|e| spread(&e)).transpose()?,
        paced: table.text("paced")?,
        polled: table.text("polled")?,
        drops: match table.get("on_missing") {
            None => false,
            Some(entry) => entry.one_of("choice", &[("wait", false), ("drop", true)])?,
        },
    })
}

fn cost(entry: &Entry<'_>) -> Read<Cost> {
    if !entry.is_table() {
        return Err(entry.invalid(COST_FORMS));
    }
    let table = entry.table()?;
    table.known_keys(&["constant", "bytes", "at", "accesses", "of"])?;
    let keys: Vec<&str> = table.keys().collect();
    Ok(match keys[..] {
        ["constant"] => Cost::Constant {
            parameter: table.need("constant", COST_FORMS)?.text()?,
        },
        ["at", "bytes"] => {
            let bytes = size(&table.need("bytes", COST_FORMS)?)?;
            match table.need("at", COST_FORMS)?.text()? {
                link if link == "link" => Cost::Link { bytes },
                rate => Cost::Bytes { bytes, rate },
            }
        }
        ["accesses", "of"] => Cost::Accesses {
            accesses: size(&table.need("accesses", COST_FORMS)?)?,
            latency: table.need("of", COST_FORMS)?.text()?,
        },
        _ => {
            let what = format!("no cost has these keys; fix: {COST_FORMS}");
            return Err(table.error_here(what));
        }
    })
}

/// An expression in quotes, or a plain number.
fn size(entry: &Entry<'_>) -> Read<SizeExpr> {
    if entry.is_text() {
        return SizeExpr::parse(&entry.text()?).map_err(|e| entry.error(e));
    }
    let number = entry.number()?;
    if !(0.0..=1e9).contains(&number) {
        return Err(entry.invalid("write a number from 0 to 1000000000"));
    }
    Ok(SizeExpr::number(number))
}

fn spread(entry: &Entry<'_>) -> Read<SpreadDecl> {
    let forms = "write { normal = PARAMETER } with its sigma, or { uniform = PARAMETER } with its whole width";
    if !entry.is_table() {
        return Err(entry.invalid(forms));
    }
    let table = entry.table()?;
    table.known_keys(&["normal", "uniform"])?;
    match (table.text("normal")?, table.text("uniform")?) {
        (Some(name), None) => Ok(SpreadDecl::Normal(name)),
        (None, Some(name)) => Ok(SpreadDecl::Uniform(name)),
        _ => Err(table.error_here(format!("it needs one of its two keys; fix: {forms}"))),
    }
}
