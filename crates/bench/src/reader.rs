//! Reads the TOML of a plan. Each error names the place in the file and what to write instead.

use std::path::{Path, PathBuf};

use wirelab_config::trial::{
    DEFAULT_TIME_PS, SHARED_KEYS, SIZE_UNITS, TRIAL_KEYS, extent_of, read_size, shared,
};
use wirelab_config::{Entry, FileError, Read, Table, read, read_text};
use wirelab_trial::search::{
    BurstSearch, Goal, LossCurve, MAX_REPEATS, MIN_REPEATS, MIN_WIDTH_RATIO, Search,
};
use wirelab_trial::{
    Direction, FaultRates, FaultsPer, Framing, Layer, Load, Path as NodePath, Size,
};
use wirelab_wire::LineRate;

use crate::matrix::{MAX_SEARCHES, MAX_TRIALS};
use crate::part::parts;
use crate::plan::{Matrix, Plan, SearchKind, SearchSection, Section};
use crate::search::words::goal;
use crate::search::{MAX_GOALS, MAX_SEARCH_TRIALS};

/// Longest accepted plan file, in bytes.
pub const MAX_PLAN_BYTES: u64 = 256 * 1024;
/// The word for a plan in errors.
const KIND: &str = "a plan";

const PLAN_KEYS: [&str; 7] = [
    "title",
    "node",
    "datasheet",
    "matrix",
    "search",
    "loss_curve",
    "bursts",
];
/// Reads a section of one type; the number is its index among sections of that type.
type ReadSection = fn(&Table<'_>, usize) -> Read<Section>;
const SECTIONS: [(&str, ReadSection); 4] = [
    ("matrix", |table, index| {
        matrix(table, index).map(Section::Matrix)
    }),
    ("search", |table, index| {
        search(table, index).map(Section::Search)
    }),
    ("loss_curve", |table, index| {
        loss_curve(table, index).map(Section::Search)
    }),
    ("bursts", |table, index| {
        bursts(table, index).map(Section::Search)
    }),
];
/// Keys of a matrix that are not keys of its trials.
const BESIDE_TRIALS: [&str; 4] = ["name", "inject", "warmup", "repeat"];
/// The fix for a duplicate value in a list.
const TWICE: &str = "name it once; to run it more often, use repeat";

impl Plan {
    /// Reads a plan's text. `file` is its name in errors.
    ///
    /// # Errors
    /// [`FileError`] names the file, line, column and field, what is wrong, and the fix.
    pub fn parse(text: &str, file: &str) -> Result<Plan, FileError> {
        if text.len() as u64 > MAX_PLAN_BYTES {
            return Err(FileError::TooLong {
                file: PathBuf::from(file),
                kind: KIND,
                limit_bytes: MAX_PLAN_BYTES,
            });
        }
        read(text, file, top)
    }

    /// Reads a plan file.
    ///
    /// # Errors
    /// [`FileError`], as [`Plan::parse`], and where the file cannot be read.
    pub fn load(path: &Path) -> Result<Plan, FileError> {
        let text = read_text(path, KIND, MAX_PLAN_BYTES)?;
        Plan::parse(&text, &path.display().to_string())
    }
}

fn top(top: &Table<'_>) -> Read<Plan> {
    top.known_keys(&PLAN_KEYS)?;
    let mut plan = Plan {
        title: top.text("title")?,
        node: top.text("node")?,
        datasheet: top.get("datasheet").map_or(Ok(false), |e| e.flag())?,
        sections: Vec::new(),
    };
    for (section, index, read) in in_order(top)? {
        let read = read(&section, index)?;
        if plan.sections.iter().any(|s| s.name() == read.name()) {
            let what = format!(
                "'{}' is the name of another section too; fix: choose another",
                read.name()
            );
            return Err(section.at_key("name", what));
        }
        plan.sections.push(read);
        check_number(&plan, &section)?;
    }
    if plan.sections.is_empty() {
        let none = "there is none; fix: add a section [[matrix]] or [[search]] with a size";
        return Err(match top.get("matrix") {
            Some(entry) => entry.error(none),
            None => top.error("matrix", none),
        });
    }
    Ok(plan)
}

/// All sections in the order of the file. TOML groups them by kind, so their positions in the text give the order.
fn in_order<'a>(top: &Table<'a>) -> Read<Vec<(Table<'a>, usize, ReadSection)>> {
    let mut all = Vec::new();
    for (kind, read) in SECTIONS {
        for (index, section) in top.sections(kind)?.into_iter().enumerate() {
            all.push((section, index, read));
        }
    }
    all.sort_by_key(|(section, ..)| section.place());
    Ok(all)
}

fn check_number(plan: &Plan, section: &Table<'_>) -> Read<()> {
    let trials = plan.trials();
    if trials > MAX_TRIALS {
        return Err(section.error_here(format!(
            "with this one the plan has {trials} trials, and the maximum is {MAX_TRIALS}; \
             fix: shorten its lists, or split the plan into several files"
        )));
    }
    let searches: u64 = plan.searches().map(SearchSection::searches).sum();
    if searches > MAX_SEARCHES {
        return Err(section.error_here(format!(
            "with this one the plan has {searches} searches, and the maximum is {MAX_SEARCHES}; \
             fix: shorten its lists, or split the plan into several files"
        )));
    }
    Ok(())
}

fn matrix(table: &Table<'_>, index: usize) -> Read<Matrix> {
    let (name, others) = BESIDE_TRIALS.split_at(1);
    table.known_keys(&[name, &TRIAL_KEYS, others].concat())?;
    let name = table
        .text("name")?
        .unwrap_or_else(|| format!("matrix {}", index + 1));
    let mut matrix = Matrix::new(name, Vec::new());
    matrix.framings = framings(table)?;
    matrix.sizes = sizes(table, &matrix.framings)?;
    if let Some(extent) = extent_of(table)? {
        matrix.shared.extent = extent;
    }
    shared(|key| table.get(key), &mut matrix.shared)?;
    if let Some(entry) = table.get("direction") {
        matrix.directions = entry.list(TWICE, Entry::word)?;
    }
    if let Some(entry) = table.get("ports") {
        matrix.ports = entry.list(TWICE, |e| e.whole(1, 256).map(|n| n as u32))?;
    }
    if let Some(entry) = table.get("buffers") {
        matrix.buffers = entry.list(TWICE, |e| e.word().map(Some))?;
    }
    paths_and_waits(table, &mut matrix)?;
    if let Some(entry) = table.get("inject") {
        matrix.shared.faults = faults(entry)?;
    }
    if let Some(entry) = table.get("warmup") {
        matrix.warmup_ps = entry.duration()?;
    }
    if let Some(entry) = table.get("repeat") {
        matrix.repeats = entry.whole(1, MAX_TRIALS)? as u32;
    }
    if let Some(entry) = table.get("load") {
        matrix.loads = entry.list(TWICE, Entry::word)?;
        let link = matrix.shared.link();
        // Too many trials are refused for their number; checking each combination would take long.
        if let Some(link) = link.filter(|_| matrix.trials() <= MAX_TRIALS) {
            let cases = (&matrix.framings[..], &matrix.sizes[..]);
            check_loads(
                &entry,
                &matrix.loads,
                cases,
                link,
                "give a share such as 95%",
            )?;
        }
    }
    Ok(matrix)
}

fn paths_and_waits(table: &Table<'_>, matrix: &mut Matrix) -> Read<()> {
    if let Some(entry) = table.get("path") {
        matrix.paths = entry.list(TWICE, |e| e.word().map(Some))?;
    }
    if let Some(entry) = table.get("wait") {
        matrix.waits = entry.list(TWICE, |e| e.word().map(Some))?;
    }
    if let Some(entry) = table.get("background") {
        matrix.backgrounds = entry.list(TWICE, Entry::background)?;
    }
    if let Some(entry) = table.get("probes") {
        matrix.probes = entry.list(TWICE, |e| e.word().map(Some))?;
    }
    if let Some(entry) = table.get("rule") {
        matrix.shared.rule = Some(entry.text()?);
        if !matrix.paths.contains(&Some(NodePath::FastTrack)) {
            return Err(entry.error(
                "a rule selects frames for the fast track; fix: add path = \"fast-track\"",
            ));
        }
    }
    Ok(())
}

/// Refuses loads above the link where the plan gives the link's rate; otherwise only the node knows it.
fn check_loads(
    entry: &Entry<'_>,
    loads: &[Load],
    (framings, sizes): (&[Framing], &[Size]),
    link: LineRate,
    instead: &str,
) -> Read<()> {
    for (load, entry) in loads.iter().zip(entry.entries()) {
        for framing in framings {
            for size in sizes {
                let sizes = size.resolve_test(*framing).map_err(|e| entry.error(e))?;
                let rate = load.frames_per_s(&sizes, framing.layer, Some(link));
                rate.map_err(|e| {
                    let (unit, bytes) = (size.unit.name(), size.bytes);
                    entry.error(format!("at {unit} {bytes}: {e}, or {instead}"))
                })?;
            }
        }
    }
    Ok(())
}

fn framings(table: &Table<'_>) -> Read<Vec<Framing>> {
    let layers = match table.get("layer") {
        Some(entry) => entry.list(TWICE, Entry::layer)?,
        None => vec![Layer::Ethernet],
    };
    let tags = match table.get("vlan") {
        Some(entry) => entry.list(TWICE, |e| e.whole(0, 2).map(|n| n as u8))?,
        None => vec![0],
    };
    let all = layers.iter().flat_map(|layer| {
        tags.iter().map(|vlan_tags| Framing {
            layer: *layer,
            vlan_tags: *vlan_tags,
        })
    });
    Ok(all.collect())
}

fn sizes(table: &Table<'_>, framings: &[Framing]) -> Read<Vec<Size>> {
    let mut sizes = Vec::new();
    for unit in SIZE_UNITS {
        if let Some(entry) = table.get(unit.name()) {
            sizes.extend(entry.list(TWICE, |e| read_size(e, unit, framings))?);
        }
    }
    if sizes.is_empty() {
        return Err(table.error_here(
            "it has no size; fix: write frame = [64, 1518], or length, payload or datagram",
        ));
    }
    Ok(sizes)
}

fn faults(entry: Entry<'_>) -> Read<FaultRates> {
    let example = "write the faults with their probabilities, e.g. { drop = 1e-5, seed = 7 }";
    let table = entry.table().map_err(|_| entry.invalid(example))?;
    let mut rates = FaultRates::default();
    let mut keys: Vec<&str> = rates.named().iter().map(|(name, _)| *name).collect();
    keys.push("seed");
    table.known_keys(&keys)?;
    for key in keys {
        let Some(entry) = table.get(key) else {
            continue;
        };
        match entry.text() {
            _ if key == "seed" => rates.seed = entry.whole(0, u64::MAX)?,
            Ok(times) => rates.set(key, &times).map_err(|e| entry.error(e))?,
            Err(_) => rates
                .set_rate(key, entry.probability()?, FaultsPer::Frame)
                .map_err(|e| entry.error(e))?,
        }
    }
    Ok(rates)
}

/// The common keys of all searches.
const COMMON: [&str; 11] = [
    "name",
    "layer",
    "vlan",
    "frame",
    "length",
    "payload",
    "datagram",
    "direction",
    "ports",
    "time",
    "max_time",
];
/// Most full trials of one load.
const MAX_TRIALS_PER_LOAD: u64 = 1_000;

/// A section `[[search]]`.
fn search(table: &Table<'_>, index: usize) -> Read<SearchSection> {
    known_keys(table, &RATE_KEYS)?;
    let time_ps = time(table, "time")?.unwrap_or(DEFAULT_TIME_PS);
    let mut search = rates(table, time_ps)?;
    search.max_time_ps = time(table, "max_time")?.unwrap_or(search.max_time_ps);
    let around = match table.get("around") {
        Some(entry) => entry.list(TWICE, |e| e.percent(1.0, 1_000.0))?,
        None => Vec::new(),
    };
    section(
        table,
        ("search", index),
        SearchKind::Rates { search, around },
    )
}

const RATE_KEYS: [&str; 10] = [
    "load",
    "loss",
    "trials",
    "exceed",
    "width",
    "short",
    "min_load",
    "warmup",
    "max_trials",
    "around",
];

/// A section `[[loss_curve]]`.
fn loss_curve(table: &Table<'_>, index: usize) -> Read<SearchSection> {
    known_keys(table, &["load", "step"])?;
    let mut curve = LossCurve::new(time(table, "time")?.unwrap_or(DEFAULT_TIME_PS));
    if let Some(entry) = table.get("step") {
        // The product of a share and 100 need not equal the written number.
        curve.step_percent = (entry.percent(0.1, 10.0)? * 1e8).round() / 1e6;
    }
    curve.max_time_ps = time(table, "max_time")?.unwrap_or(curve.max_time_ps);
    section(table, ("loss curve", index), SearchKind::LossCurve(curve))
}

/// A section `[[bursts]]`.
fn bursts(table: &Table<'_>, index: usize) -> Read<SearchSection> {
    known_keys(table, &["repeats", "longest", "resolution", "max_trials"])?;
    let mut bursts = BurstSearch::rfc9004();
    if let Some(entry) = table.get("repeats") {
        bursts.repeats = entry.whole(u64::from(MIN_REPEATS), u64::from(MAX_REPEATS))? as u32;
    }
    if let Some(entry) = table.get("resolution") {
        bursts.resolution_frames = entry.whole(1, 1_000_000)?;
    }
    if let Some(entry) = table.get("max_trials") {
        bursts.max_trials = entry.whole(1, MAX_SEARCH_TRIALS)?;
    }
    bursts.longest_ps = time(table, "longest")?.unwrap_or(bursts.longest_ps);
    bursts.max_time_ps = time(table, "max_time")?.unwrap_or(bursts.max_time_ps);
    let time_ps = time(table, "time")?.unwrap_or(DEFAULT_TIME_PS);
    let throughput = Search::new(vec![Goal::no_loss(time_ps)]);
    let kind = SearchKind::Bursts { bursts, throughput };
    let section = section(table, ("bursts", index), kind)?;
    let sent_by_node = [Direction::Transmit, Direction::Both];
    if section
        .directions
        .iter()
        .any(|direction| sent_by_node.contains(direction))
    {
        let what = "the tester sends bursts to the node; fix: write \"receive\" or \"echo\"";
        return Err(table.at_key("direction", what));
    }
    Ok(section)
}

fn known_keys(table: &Table<'_>, own: &[&str]) -> Read<()> {
    table.known_keys(&[&COMMON, &SHARED_KEYS[..], own].concat())
}

/// The goals and limits of a rate search in trials of `time_ps`.
fn rates(table: &Table<'_>, time_ps: u64) -> Read<Search> {
    let losses = match table.get("loss") {
        Some(entry) => entry.list(TWICE, |e| e.percent(0.0, 99.0))?,
        None => vec![0.0],
    };
    if let (Some(entry), true) = (table.get("loss"), losses.len() > MAX_GOALS) {
        return Err(entry.error(format!(
            "{} goals are too many; fix: write at most {MAX_GOALS}",
            losses.len()
        )));
    }
    let trials = match table.get("trials") {
        Some(entry) => entry.whole(1, MAX_TRIALS_PER_LOAD)?,
        None => 1,
    };
    let exceed = table
        .get("exceed")
        .map(|e| e.percent(0.0, 99.0))
        .transpose()?;
    let least_width = MIN_WIDTH_RATIO * 100.0;
    let width = table
        .get("width")
        .map(|e| e.percent(least_width, 50.0))
        .transpose()?;
    let goals = losses.into_iter();
    let goals = goals.map(|loss| goal((loss, exceed, width), time_ps, trials));
    let mut search = Search::new(goals.collect());
    search.preliminary_trial_ps = time(table, "short")?;
    if let (Some(entry), true) = (
        table.get("short"),
        search.preliminary_trial_ps >= Some(time_ps),
    ) {
        return Err(
            entry.error("short trials are shorter than time; fix: lower it, or leave it out")
        );
    }
    if let Some(entry) = table.get("warmup") {
        search.warmup_ps = entry.duration()?;
    }
    if let Some(entry) = table.get("max_trials") {
        search.max_trials = entry.whole(1, MAX_SEARCH_TRIALS)?;
    }
    if let Some(entry) = table.get("min_load") {
        let load: wirelab_trial::Load = entry.word()?;
        let wirelab_trial::Load::FrameRate { frames_per_s } = load else {
            return Err(entry.invalid("write frames/s, e.g. \"100pps\" or \"2kpps\""));
        };
        search.min_load_frames_per_s = Some(frames_per_s);
    }
    Ok(search)
}

/// A duration above 0 under a key.
fn time(table: &Table<'_>, key: &str) -> Read<Option<u64>> {
    let Some(entry) = table.get(key) else {
        return Ok(None);
    };
    match entry.duration()? {
        0 => Err(entry.error("it must be above 0; fix: write e.g. \"1s\"")),
        ps => Ok(Some(ps)),
    }
}

/// The common parts of all searches.
fn section(
    table: &Table<'_>,
    (prefix, index): (&str, usize),
    kind: SearchKind,
) -> Read<SearchSection> {
    let name = table.text("name")?;
    let name = name.unwrap_or_else(|| format!("{prefix} {}", index + 1));
    let framings = framings(table)?;
    if framings.iter().any(|framing| framing.layer.is_tcp()) {
        let what = "TCP retransmits lost data, so a loss ratio does not show its rate; fix: use a TCP trial at load max in a [[matrix]]";
        return Err(table.at_key("layer", what));
    }
    let mut section = SearchSection::new(name, sizes(table, &framings)?, kind);
    section.framings = framings;
    if let Some(entry) = table.get("direction") {
        section.directions = entry.list(TWICE, Entry::word)?;
    }
    if let Some(entry) = table.get("ports") {
        section.ports = Some(entry.whole(1, 256)? as u32);
    }
    shared(|key| table.get(key), &mut section.shared)?;
    if let Some(entry) = table.get("load") {
        section.load = entry.word()?;
        if let Some(link) = section.shared.link() {
            let cases = (&section.framings[..], &section.sizes[..]);
            check_loads(&entry, &[section.load], cases, link, "leave it out")?;
        }
    }
    Ok(section)
}

/// Entry for fuzzing: reads hostile bytes as a plan; an accepted plan must expand.
///
/// # Panics
/// If an accepted plan cannot be expanded, or an error names a place outside the text.
pub fn fuzz_plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Plan::parse(text, "fuzz.toml") {
        Ok(plan) => {
            let parts = parts(&plan, 4).expect("an accepted plan expands");
            let listed = parts.iter().map(|part| part.steps().len() as u64);
            assert_eq!(listed.sum::<u64>(), plan.trials());
            let _ = crate::plan_estimate_ps(&plan, &Default::default(), 0);
        }
        Err(FileError::At {
            line, column, what, ..
        }) => {
            assert!(what.contains("fix: "), "{what}");
            assert!(line >= 1 && line <= text.split('\n').count());
            assert!(column >= 1 && column <= text.chars().count() + 1);
        }
        Err(_) => assert!(text.len() as u64 > MAX_PLAN_BYTES),
    }
}
