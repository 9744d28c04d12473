//! Stages named `A to B`, in the order in which a frame meets them: each has a constant, a part for each byte and a
//! scatter.
//!
//! Each series is the time of one step alone, so nothing is subtracted. Its two points say which CPU works, or that the
//! frame waits.

use std::collections::BTreeMap;

use wirelab_trial::format;
use wirelab_trial::stage::{CapturePoint, StageName};
use wirelab_trial::{SeriesName, Trial, WarningCode};

use super::Fitted;
use super::body::{Body, stderr_of};
use super::figures::{Prefix, Report, sizes_in_words};
use super::gather::{FitPoint, PathKey};
use super::judge::{Quantity, error_of};
use super::reach::Reach;
use super::shape::{Cell, Class, Law, Model, Role, Shape, median};
use super::stages::is_calm;

/// Most stages of one direction.
const MAX_STAGES: usize = 16;
/// Letters of a point's name that names in the node file keep.
const MAX_LETTERS: usize = 12;
/// Relative error of a size that is left out, from which a line is reported as not fitting.
const MISFIT: f64 = 0.05;
/// Share of frames beyond the body from which a tail is reported.
const TAIL: f64 = 0.001;

/// Who works while a stage lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worker {
    /// The CPU that serves the interrupt: driver and stack.
    Driver,
    /// The CPU of the application, in its system call or outside.
    Application,
    /// No CPU: the frame waits for the interrupt or for the application to wake up, or is on the wire.
    Wait,
}

impl Worker {
    /// Who works between two points of a Linux node (`docs/stages.md`). A mixture of wait and work counts as a wait:
    /// holding the resource too long would predict a node that is too slow.
    fn between(receive: bool, from: &str, to: &str) -> Worker {
        let (Some(from), Some(to)) = (CapturePoint::of(from), CapturePoint::of(to)) else {
            return Worker::Wait;
        };
        use CapturePoint as Point;
        match (receive, from, to) {
            (true, Point::INTERRUPT, Point::DRIVER)
            | (true, Point::DRIVER | Point::STACK, Point::STACK | Point::SOCKET) => Worker::Driver,
            (true, Point::COPY | Point::CALL, Point::CALL | Point::APPLICATION) => {
                Worker::Application
            }
            (
                false,
                Point::APPLICATION | Point::CALL | Point::QUEUE,
                Point::CALL | Point::QUEUE | Point::DRIVER,
            ) => Worker::Application,
            _ => Worker::Wait,
        }
    }

    /// The resource in the node file.
    pub(super) fn resource(self) -> Option<&'static str> {
        match self {
            Worker::Driver => Some("cpu-driver"),
            Worker::Application => Some("cpu-application"),
            Worker::Wait => None,
        }
    }

    /// Text for a reader of the node file.
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Worker::Driver => "work of the CPU that serves the interrupt",
            Worker::Application => "work of the application's CPU",
            Worker::Wait => "a wait, or work that looks the same as a wait: it holds no resource",
        }
    }
}

/// A stage between two neighbouring capture points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChainStage {
    pub(super) from: String,
    pub(super) to: String,
    /// Its name in the node file.
    pub(super) key: String,
    pub(super) work: Worker,
    pub(super) packet_ns: f64,
    /// `None` where only one size was measured.
    pub(super) byte_ns: Option<f64>,
    pub(super) sigma_ns: f64,
}

impl ChainStage {
    /// Its time at a size, in ns.
    pub(super) fn at_ns(&self, bytes: f64) -> f64 {
        self.packet_ns + bytes * self.byte_ns.unwrap_or(0.0)
    }
}

/// The stages of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Chain {
    /// In the order in which a frame meets them.
    pub(super) stages: Vec<ChainStage>,
    /// One trial of each fitted size; the model's latency for it is calibrated, not predicted.
    pub(super) trials: Vec<Trial>,
}

impl Chain {
    /// Whether some stage is work of a CPU.
    pub(super) fn works(&self) -> bool {
        self.stages.iter().any(|s| s.work != Worker::Wait)
    }

    /// The stages between driver and application, where the kernel paths differ.
    pub(super) fn inside(&self, receive: bool) -> &[ChainStage] {
        let found = if receive {
            let first = self
                .stages
                .iter()
                .position(|s| s.from == CapturePoint::DRIVER.word());
            first.map(|first| &self.stages[first..])
        } else {
            let last = self
                .stages
                .iter()
                .position(|s| s.to == CapturePoint::DRIVER.word());
            last.map(|last| &self.stages[..=last])
        };
        found.unwrap_or(&self.stages)
    }
}

/// One stage at one size.
struct Sized<'p> {
    trial: &'p Trial,
    bodies: Vec<Body>,
    /// Half of a step of the last digit.
    rounding_ns: f64,
}

/// Fits the stages that are named after their points; `None` where there are none.
pub(super) fn fit_chain(path: PathKey, points: &[FitPoint], report: &mut Report) -> Option<Chain> {
    let calm: Vec<&FitPoint> = points.iter().filter(|p| is_calm(p, points)).collect();
    let calm = of_one_kind(path, &calm, report);
    let names = names(calm.first()?);
    let mut chain = Chain::default();
    let mut tail: Option<(f64, &SeriesName)> = None;
    for name in names.iter().take(MAX_STAGES) {
        let StageName { from, to } = name.points()?;
        let mut sizes: BTreeMap<u64, Sized<'_>> = BTreeMap::new();
        for point in &calm {
            let found = point.series.iter().find(|c| c.name == *name);
            let Some(body) = found.and_then(|c| c.body) else {
                continue;
            };
            let sized = sizes.entry(point.bytes as u64).or_insert_with(|| Sized {
                trial: &point.trial,
                bodies: Vec::new(),
                rounding_ns: point.rounding.series_ns,
            });
            sized.bodies.push(body);
        }
        if chain.trials.is_empty() {
            chain.trials = sizes.values().map(|s| s.trial.clone()).collect();
        }
        let beyond = tail_ratio(sizes.values().flat_map(|s| &s.bodies));
        if tail.is_none_or(|(most, _)| beyond > most) {
            tail = Some((beyond, name));
        }
        let mut key = format!("{}-to-{}", letters(from), letters(to));
        while chain.stages.iter().any(|s| s.key == key) {
            key.push('x');
        }
        let cells: Vec<(Cell, (f64, usize))> = sizes
            .iter()
            .map(|(b, s)| cell(*b, &s.bodies, s.rounding_ns))
            .collect();
        let sigma_ns = median(
            sizes
                .values()
                .flat_map(|s| &s.bodies)
                .map(|b| b.sigma_ns)
                .collect(),
        );
        chain
            .stages
            .extend(fit_stage(path, (from, to), key, &cells, sigma_ns, report));
    }
    if let Some((ratio, name)) = tail.filter(|(ratio, _)| *ratio >= TAIL) {
        report.notes.push(format!(
            "{}: {:.1} % of the frames of '{name}' lie more than 5 σ above the median: no parameter holds this tail, look at its percentiles",
            path.name(),
            100.0 * ratio
        ));
    }
    (!chain.stages.is_empty()).then_some(chain)
}

/// The names of a point's stages, in the order in which a frame meets them.
fn names(point: &FitPoint) -> Vec<SeriesName> {
    let named = point.series.iter().filter(|c| c.body.is_some());
    let mut left: Vec<SeriesName> = named.map(|c| c.name.clone()).collect();
    left.dedup();
    let mut ordered: Vec<SeriesName> = Vec::new();
    while !left.is_empty() {
        let ends = |name: &SeriesName| name.points().map(|stage| stage.to.to_owned());
        let starts = |name: &SeriesName| name.points().map(|stage| stage.from.to_owned());
        let next = match ordered.last() {
            // The stage that begins at the end of the last one, else one that no other stage leads to.
            Some(last) => left.iter().position(|n| starts(n) == ends(last)),
            None => None,
        };
        let begins = |n: &SeriesName| left.iter().all(|other| ends(other) != starts(n));
        let next = next.or_else(|| left.iter().position(begins)).unwrap_or(0);
        ordered.push(left.remove(next));
    }
    ordered
}

/// The observations with the most frequent list of stages; the others were taken at other points.
fn of_one_kind<'p>(
    path: PathKey,
    points: &[&'p FitPoint],
    report: &mut Report,
) -> Vec<&'p FitPoint> {
    let mut kinds: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let texts =
        |p: &FitPoint| -> Vec<String> { names(p).iter().map(SeriesName::to_string).collect() };
    let with = || points.iter().filter(|p| !names(p).is_empty());
    with().for_each(|p| *kinds.entry(texts(p)).or_default() += 1);
    let most = kinds.iter().max_by_key(|(names, n)| (**n, names.len()));
    let Some((chosen, n)) = most else {
        return Vec::new();
    };
    let others = with().count() - n;
    if others > 0 {
        report.notes.push(format!(
            "{}: {} taken at other capture points than {n} others ({}): left out",
            path.name(),
            format::count(others as u64, "observation"),
            chosen.join(", ")
        ));
    }
    with().filter(|p| texts(p) == *chosen).copied().collect()
}

/// The median of a size with its standard error: from repeats where there are any, else from parts of the one series.
fn cell(bytes: u64, bodies: &[Body], rounding: f64) -> (Cell, (f64, usize)) {
    let middles: Vec<f64> = bodies.iter().map(|b| b.median_ns).collect();
    let value = median(middles.clone());
    let stderr = match bodies {
        [one] => one.stderr.unwrap_or((0.0, 0)),
        _ => stderr_of(&middles, 1.0),
    };
    // A stage shorter than a tick has no meaningful relative error.
    let scale = value.max(1.0);
    let cell = Cell {
        label: format!("{bytes} B"),
        bytes: bytes as f64,
        frames_per_s: 1e9,
        value,
        weight: 1.0 / (scale * scale),
        stddev: None,
        observations: bodies.len(),
        counted: true,
        rounding,
    };
    (cell, stderr)
}

fn fit_stage(
    path: PathKey,
    (from, to): (&str, &str),
    key: String,
    cells: &[(Cell, (f64, usize))],
    sigma_ns: f64,
    report: &mut Report,
) -> Option<ChainStage> {
    let only: Vec<Cell> = cells.iter().map(|(c, _)| c.clone()).collect();
    let shape = |law| Shape {
        idle: false,
        classes: vec![Class::all(law)],
        batches_per_s: None,
    };
    let (name, figure) = (path.name(), format!("{} '{from} to {to}'", path.name()));
    let line = Model::fit(shape(Law::Line), &only);
    let model = line.or_else(|| Model::fit(shape(Law::Constant), &only))?;
    let roles = model.shape.roles();
    let byte_ns = roles
        .contains(&Role::Byte(0))
        .then(|| model.parameter(Role::Byte(0)));
    let sure = MedianUncertainty::of(&model, cells);
    let prefix = Prefix {
        path: &name,
        part: &key,
        figure: &figure,
    };
    let how = format!(
        "least squares of the median of series '{from} to {to}' over {}",
        sizes_in_words(cells.len())
    );
    report.parameters_within(&model, &prefix, &how, sure.reach);
    report.leave_one_out_of(&figure, Quantity::Period, &model, &[]);
    if let Some(error) = error_of(&model).filter(|e| sure.bent && *e > MISFIT) {
        report.warn(
            WarningCode::LINE_DOES_NOT_FIT,
            format!(
                "{figure}: a line does not fit: a size that is left out is missed by {:.1} % (root mean square)",
                100.0 * error
            ),
            "measure more sizes; do not trust predictions between those measured",
        );
    }
    if sigma_ns > 0.0 {
        report.parameters.push(Fitted {
            name: format!("{name}-{key}-sigma"),
            value: sigma_ns,
            unit: "ns".to_owned(),
            how: "from the median down to the 15.87 % point of its series".to_owned(),
            ..Fitted::default()
        });
    }
    Some(ChainStage {
        from: from.to_owned(),
        to: to.to_owned(),
        key,
        work: Worker::between(path.receive, from, to),
        packet_ns: model.parameter(Role::Packet(0)),
        byte_ns,
        sigma_ns,
    })
}

/// The uncertainty of the medians.
struct MedianUncertainty {
    /// The scatter of a cell of weight 1; `None` where nothing determines it.
    reach: Option<Reach>,
    /// Whether the sizes lie further off the line than their own scatter explains.
    bent: bool,
}

impl MedianUncertainty {
    /// If the scatter of the medians explains the deviation from the line (F test at 5 %), both are pooled; else only
    /// the deviation counts (N. Draper, H. Smith: Applied Regression Analysis, 3rd ed., 2.1).
    fn of(model: &Model, cells: &[(Cell, (f64, usize))]) -> MedianUncertainty {
        let lack_freedom = cells.len().saturating_sub(model.solution.free);
        let lack = model.solution.squares;
        let known = cells.iter().filter(|(_, (_, freedom))| *freedom > 0);
        let (pure, pure_freedom) = known.fold((0.0, 0), |(sum, n), (cell, (stderr, freedom))| {
            let variance = cell.weighted(*stderr).powi(2);
            (sum + variance * *freedom as f64, n + freedom)
        });
        let bent = lack_freedom > 0
            && pure_freedom > 0
            && f_is_large(
                (lack / lack_freedom as f64) / (pure / pure_freedom as f64).max(f64::MIN_POSITIVE),
                lack_freedom as f64,
                pure_freedom as f64,
            );
        let (squares, freedom) = if bent {
            (lack, lack_freedom)
        } else {
            (lack + pure, lack_freedom + pure_freedom)
        };
        let reach = (freedom > 0).then(|| Reach {
            sigma: (squares / freedom as f64).max(model.rounding()).sqrt(),
            freedom,
        });
        MedianUncertainty { reach, bent }
    }
}

/// Whether a ratio of variances is above its 5 % critical value (E.
fn f_is_large(f: f64, above: f64, below: f64) -> bool {
    let (a, b) = (2.0 / (9.0 * above), 2.0 / (9.0 * below));
    let root = f.cbrt();
    let normal = ((1.0 - b) * root - (1.0 - a)) / (a + b * root * root).sqrt();
    normal > 1.645
}

fn tail_ratio<'b>(bodies: impl Iterator<Item = &'b Body>) -> f64 {
    let (tail, kept) = bodies.fold((0, 0), |(t, k), b| (t + b.tail, k + b.kept));
    tail as f64 / kept.max(1) as f64
}

/// A point's name, reduced to the characters of names in the node file.
fn letters(name: &str) -> String {
    let letter = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_lowercase(),
        false => '-',
    };
    name.chars().take(MAX_LETTERS).map(letter).collect()
}
