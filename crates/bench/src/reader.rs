//! Reads a plan's TOML, and says of everything wrong where it stands and what to write instead.

use wirelab_config::trial::{SIZE_UNITS, TRIAL_KEYS, extent_of, read_size, shared};
use wirelab_config::{Entry, Read, Table, read};
use wirelab_trial::{FaultRates, FaultsPer, Framing, Layer, Path as NodePath, Size};

use crate::matrix::MAX_TRIALS;
use crate::part::MAX_SEARCHES;
use crate::plan::{Matrix, Plan, SearchSection, Section};
use crate::search_reader::{bursts, loss_curve, search};

const PLAN_KEYS: [&str; 7] = [
    "title",
    "node",
    "datasheet",
    "matrix",
    "search",
    "loss_curve",
    "bursts",
];
/// How a section of each kind is read; the number is its place among those of its kind.
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
/// What a matrix has beside the keys of its trials.
const BESIDE_TRIALS: [&str; 4] = ["name", "inject", "warmup", "repeat"];
/// What to do where a value stands in a list twice.
pub(crate) const TWICE: &str = "to run it more often, use repeat";

pub fn plan(text: &str, file: &str) -> Read<Plan> {
    read(text, file, top)
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
            let what = format!("'{}' is the name of another section too", read.name());
            return Err(section.at_key("name", what));
        }
        plan.sections.push(read);
        check_number(&plan, &section)?;
    }
    if plan.sections.is_empty() {
        let none = "there is none: add a section [[matrix]] or [[search]] with a size";
        return Err(match top.get("matrix") {
            Some(entry) => entry.error(none),
            None => top.error("matrix", none),
        });
    }
    Ok(plan)
}

/// All sections in the order of the file. TOML keeps each kind apart, so the places in the text tell.
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
            "with this one the plan has {trials} trials, and at most {MAX_TRIALS} are run: \
             shorten its lists, or split the plan into several files"
        )));
    }
    let searches: u64 = plan.searches().map(SearchSection::searches).sum();
    if searches > MAX_SEARCHES {
        return Err(section.error_here(format!(
            "with this one the plan has {searches} searches, and at most {MAX_SEARCHES} are run: \
             shorten its lists, or split the plan into several files"
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
    ways(table, &mut matrix)?;
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
        check_loads(&entry, &matrix)?;
    }
    Ok(matrix)
}

fn ways(table: &Table<'_>, matrix: &mut Matrix) -> Read<()> {
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
            return Err(
                entry.error("a rule says what takes the fast track: add path = \"fast-track\"")
            );
        }
    }
    Ok(())
}

/// A load above the link is refused here where the plan gives the link's rate; otherwise only the node knows.
fn check_loads(entry: &Entry<'_>, matrix: &Matrix) -> Read<()> {
    let link = matrix.shared.link();
    // Too many trials are refused as such; their product would take long to check.
    if link.is_none() || matrix.trials() > MAX_TRIALS {
        return Ok(());
    }
    for (load, entry) in matrix.loads.iter().zip(entry.entries()) {
        for framing in &matrix.framings {
            for size in &matrix.sizes {
                let sizes = size.resolve_test(*framing).map_err(|e| entry.error(e))?;
                load.frames_per_s(&sizes, framing.layer, link)
                    .map_err(|e| {
                        let (unit, bytes) = (size.unit.name(), size.bytes);
                        entry.error(format!(
                            "at {unit} {bytes}: {e}: lower it, or give a share such as 95%"
                        ))
                    })?;
            }
        }
    }
    Ok(())
}

pub(crate) fn framings(table: &Table<'_>) -> Read<Vec<Framing>> {
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

pub(crate) fn sizes(table: &Table<'_>, framings: &[Framing]) -> Read<Vec<Size>> {
    let mut sizes = Vec::new();
    for unit in SIZE_UNITS {
        if let Some(entry) = table.get(unit.name()) {
            sizes.extend(entry.list(TWICE, |e| read_size(e, unit, framings))?);
        }
    }
    if sizes.is_empty() {
        return Err(table.error_here(
            "it has no size: write frame = [64, 1518], or length, payload or datagram",
        ));
    }
    Ok(sizes)
}

fn faults(entry: Entry<'_>) -> Read<FaultRates> {
    let example = "write the faults with their probabilities, e.g. { drop = 1e-5, seed = 7 }";
    let table = entry.table().map_err(|_| entry.error(example))?;
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
