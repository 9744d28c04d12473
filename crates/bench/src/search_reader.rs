//! Reads the searches of a plan: `[[search]]`, `[[loss_curve]]` and `[[bursts]]`.

use wirelab_config::trial::{DEFAULT_TIME_PS, SHARED_KEYS, shared};
use wirelab_config::{Entry, Read, Table};
use wirelab_trial::Direction;
use wirelab_trial::search::{
    BurstSearch, Goal, LossCurve, MAX_REPEATS, MIN_REPEATS, MIN_WIDTH_RATIO, Search,
};

use crate::plan::{SearchSection, Way};
use crate::reader::{TWICE, framings, sizes};
use crate::search::{MAX_GOALS, MAX_SEARCH_TRIALS};

/// The keys that all searches take.
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
pub const MAX_TRIALS_PER_LOAD: u64 = 1_000;

/// A section `[[search]]`.
pub fn search(table: &Table<'_>, index: usize) -> Read<SearchSection> {
    known_keys(table, &RATE_KEYS)?;
    let time_ps = time(table, "time")?.unwrap_or(DEFAULT_TIME_PS);
    let mut search = rates(table, time_ps)?;
    search.max_time_ps = time(table, "max_time")?.unwrap_or(search.max_time_ps);
    let around = match table.get("around") {
        Some(entry) => entry.list(TWICE, |e| e.percent(1.0, 1_000.0))?,
        None => Vec::new(),
    };
    section(table, ("search", index), Way::Rates { search, around })
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
pub fn loss_curve(table: &Table<'_>, index: usize) -> Read<SearchSection> {
    known_keys(table, &["load", "step"])?;
    let mut curve = LossCurve::new(time(table, "time")?.unwrap_or(DEFAULT_TIME_PS));
    if let Some(entry) = table.get("step") {
        // The product of a share and 100 need not be the number that was written.
        curve.step_percent = (entry.percent(0.1, 10.0)? * 1e8).round() / 1e6;
    }
    curve.max_time_ps = time(table, "max_time")?.unwrap_or(curve.max_time_ps);
    section(table, ("loss curve", index), Way::LossCurve(curve))
}

/// A section `[[bursts]]`.
pub fn bursts(table: &Table<'_>, index: usize) -> Read<SearchSection> {
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
    let way = Way::Bursts { bursts, throughput };
    let section = section(table, ("bursts", index), way)?;
    let sent_by_node = [Direction::Transmit, Direction::Both];
    if section
        .directions
        .iter()
        .any(|way| sent_by_node.contains(way))
    {
        let what = "bursts are sent to the node: write \"receive\" or \"echo\"";
        return Err(table.at_key("direction", what));
    }
    Ok(section)
}

fn known_keys(table: &Table<'_>, own: &[&str]) -> Read<()> {
    table.known_keys(&[&COMMON, &SHARED_KEYS[..], own].concat())
}

/// Goals and limits of a search for rates in trials of `time_ps`.
fn rates(table: &Table<'_>, time_ps: u64) -> Read<Search> {
    let losses = match table.get("loss") {
        Some(entry) => entry.list(TWICE, |e| e.percent(0.0, 99.0))?,
        None => vec![0.0],
    };
    if let (Some(entry), true) = (table.get("loss"), losses.len() > MAX_GOALS) {
        return Err(entry.error(format!("a search has at most {MAX_GOALS} goals")));
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
    let goals = losses.into_iter().map(|loss_ratio| {
        let usual = Goal::at_loss(loss_ratio, time_ps);
        Goal {
            duration_sum_ps: time_ps.saturating_mul(trials),
            exceed_ratio: exceed.unwrap_or(usual.exceed_ratio),
            width_ratio: width.unwrap_or(usual.width_ratio),
            ..usual
        }
    });
    let mut search = Search::new(goals.collect());
    search.preliminary_trial_ps = time(table, "short")?;
    if let (Some(entry), true) = (
        table.get("short"),
        search.preliminary_trial_ps >= Some(time_ps),
    ) {
        return Err(entry.error("short trials are shorter than time: lower it, or leave it out"));
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
            return Err(entry.error("write frames/s, e.g. \"100pps\" or \"2kpps\""));
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
        0 => Err(entry.error("it is above 0: write e.g. \"1s\"")),
        ps => Ok(Some(ps)),
    }
}

/// What all searches have.
fn section(table: &Table<'_>, (kind, index): (&str, usize), way: Way) -> Read<SearchSection> {
    let name = table.text("name")?;
    let name = name.unwrap_or_else(|| format!("{kind} {}", index + 1));
    let framings = framings(table)?;
    if framings.iter().any(|framing| framing.layer.is_tcp()) {
        let what = "TCP sends again what was lost, so no loss ratio tells its rate: \
                    ask a TCP trial at load max in a [[matrix]]";
        return Err(table.at_key("layer", what));
    }
    let mut section = SearchSection::new(name, sizes(table, &framings)?, way);
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
        check_load(&entry, &section)?;
    }
    Ok(section)
}

/// A highest load above the link is refused here where the plan gives the link's rate.
fn check_load(entry: &Entry<'_>, section: &SearchSection) -> Read<()> {
    let Some(link) = section.shared.link() else {
        return Ok(());
    };
    for framing in &section.framings {
        for size in &section.sizes {
            let sizes = size.resolve_test(*framing).map_err(|e| entry.error(e))?;
            let rate = section.load.frames_per_s(&sizes, framing.layer, Some(link));
            rate.map_err(|e| {
                let (unit, bytes) = (size.unit.name(), size.bytes);
                entry.error(format!("at {unit} {bytes}: {e}: lower it, or leave it out"))
            })?;
        }
    }
    Ok(())
}
