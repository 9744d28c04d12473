//! Latency under load: the round trips of a trial with and without a background side by side, and how much of the
//! background arrived.

use wirelab_trial::{
    Background, CpuLoad, Direction, Field, Kind, Observation, ResultsFile, Status, Trial, pooled,
};

use crate::datasheet::{echo, sheet::Echo, show};
use crate::document::escape::{clip, line};
use crate::document::table::{Cell, Head, Shown, Table};
use crate::format;
use crate::interval;
use crate::repeated::{self, Repeats};
use crate::row;

/// Longest name that a cell shows, in characters.
const NAME: usize = 40;

/// The table of the echo trials with a background, each after the same trial without; `None` where
/// there are none.
pub fn table(file: &ResultsFile) -> Option<Table> {
    let is_echo = |o: &Observation| o.trial.direction == Direction::Echo;
    let is_loaded = |o: &Observation| is_echo(o) && o.trial.background.is_some();
    // Most files have none, and the comparison below takes quadratic time in the number of trials.
    if !file.observations.iter().any(is_loaded) {
        return None;
    }
    let mut all = repeated::of(file);
    all.retain(|of| is_echo(of.observations[0]));
    let pairs = |of: &&Repeats<'_>| {
        let with = |other: &Repeats<'_>| is_loaded(other.observations[0]) && is_pair(of, other);
        is_loaded(of.observations[0]) || all.iter().any(with)
    };
    let rows = all.iter().filter(pairs);
    let rows: Vec<Vec<Cell>> = rows.map(cells).collect();
    Some(Table::new("Latency under load", heads(), rows))
}

/// Whether two trials differ only in the background.
fn is_pair(without: &Repeats<'_>, with: &Repeats<'_>) -> bool {
    let same_part = without.part == with.part;
    let (without, with) = (without.observations[0], with.observations[0]);
    let bare = Trial {
        background: None,
        ..with.trial.clone()
    };
    same_part && without.node.name == with.node.name && without.trial == bare
}

fn heads() -> Vec<Head> {
    use Shown::{Always, IfObserved, IfVaries};
    vec![
        Head::figures("#", "", Always, 0),
        Head::words("node", IfVaries, 9),
        Head::words("layer", IfVaries, 9),
        Head::words("size", IfVaries, 9),
        Head::words("load", IfVaries, 9),
        Head::words("background", Always, 0),
        Head::figures("probes", "", Always, 3),
        Head::figures("median", "µs", Always, 0),
        Head::figures("median, 95 % interval", "µs", IfObserved, 2),
        Head::figures("p90", "µs", Always, 0),
        Head::figures("p99", "µs", Always, 0),
        Head::figures("p99, 95 % interval", "µs", IfObserved, 1),
        Head::figures("p99.9", "µs", Always, 0),
        Head::figures("max", "µs", Always, 0),
        Head::figures("probes lost", "%", Always, 0),
        Head::figures("background load", "frames/s", Always, 0),
        Head::figures("sent", "frames/s", Always, 0),
        Head::figures("lost", "%", Always, 0),
        Head::figures("floor, median", "µs", Always, 0),
        Head::figures("floor, p99", "µs", Always, 0),
        Head::figures("CPU load", "%", IfObserved, 4),
        Head::words("tester limited", IfObserved, 0),
    ]
}

fn cells(repeated: &Repeats<'_>) -> Vec<Cell> {
    let each: Vec<Observation> = repeated.observations.iter().map(|o| (*o).clone()).collect();
    // A repeated trial counts once.
    let whole = pooled(&each).into_iter().next();
    let whole = whole.unwrap_or_else(|| each[0].clone());
    let trial = &each[0].trial;
    let e = echo(repeated.numbers[0], &whole);
    let words = |text: &str| Cell::Text(clip(&line(text), NAME));
    let us = |field: &Field<u64>| Cell::of(field.clone(), |ps| show::us(ps as f64));
    let between = |name: &str, field: &Field<u64>| {
        let of = e.intervals.get(name).copied();
        interval::cell(of, field.kind(), show::us)
    };
    let mut cells = vec![
        Cell::Trials(repeated.numbers.clone()),
        words(&whole.node.name),
        words(row::layer(trial.framing.layer)),
        Cell::Text(format!("{} {} B", trial.size.unit.name(), trial.size.bytes)),
        Cell::Text(row::load(&trial.load)),
        Cell::Text(background(trial.background) + unfinished(&each)),
        Cell::Text(format::integer(e.samples)),
        us(&e.p50_ps),
        between("p50_ps", &e.p50_ps),
        us(&e.p90_ps),
        show::percentile(&e.p99_ps, 0.99, e.samples),
        between("p99_ps", &e.p99_ps),
        show::percentile(&e.p99_9_ps, 0.999, e.samples),
        us(&e.max_ps),
        show::loss_range(&e.loss_ratio, e.loss_ratio_at_most),
    ];
    cells.extend(beside(&e));
    cells.push(us(&e.floor_p50_ps));
    cells.push(us(&e.floor_p99_ps));
    cells.push(Cell::of(busy(&each), show::load));
    let limited = each.iter().find_map(|o| {
        let field = &o.tester.was_limit;
        (field.value() == Some(&true)).then(|| field.clone())
    });
    let limited = limited.unwrap_or_else(|| each[0].tester.was_limit.clone());
    cells.push(Cell::of(limited, |limited| {
        if limited { "yes" } else { "no" }.to_owned()
    }));
    cells
}

/// The load, sent rate and loss of the background, empty if there was none.
fn beside(e: &Echo) -> [Cell; 3] {
    if e.background.is_none() {
        return std::array::from_fn(|_| Cell::Text(String::new()));
    }
    let rate = |field: &Field<f64>| Cell::of(field.clone(), format::frame_rate);
    [
        rate(&e.background_asked_frames_per_s),
        rate(&e.background_frames_per_s),
        Cell::of(e.background_loss_ratio.clone(), show::loss),
    ]
}

/// Round trips of a trial that ended early, or whose background did, are not those that were requested.
fn unfinished(each: &[Observation]) -> &'static str {
    let complete = each.iter().all(|o| o.status == Status::Complete);
    if complete { "" } else { " (ended early)" }
}

fn background(background: Option<Background>) -> String {
    let words = |b: Background| {
        let (load, unit) = (row::load(&b.load), b.size.unit.name());
        format!("{load}, {unit} {} B", b.size.bytes)
    };
    background.map_or_else(|| "none".to_owned(), words)
}

/// The mean load of the CPU over the repeats, if each reports it.
fn busy(each: &[Observation]) -> Field<f64> {
    let busy = |load: &CpuLoad| load.busy_ratio;
    let mut sum = 0.0;
    for o in each {
        match &o.cpu_load {
            Field::Observed { value, .. } => sum += busy(value),
            Field::Absent { absent } => return Field::absent(absent.clone()),
        }
    }
    Field::Observed {
        value: sum / each.len() as f64,
        kind: each[0].cpu_load.kind().unwrap_or(Kind::Measured),
    }
}
