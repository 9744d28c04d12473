//! Detects impossible results: counts that do not add up, shares above 1, figures that contradict each other.
//!
//! The same check runs before writing and after reading, so that an impossible figure is refused whatever its source,
//! and never shown as measured.

mod counts;
mod flow;
mod search;
mod sender;
mod series;

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use wirelab_wire::{Framing, Size, SizeUnit, Sizes};

use crate::faults::FaultsPer;
use crate::field::{Field, Kind};
use crate::interval::{IntervalBasis, Stated};
use crate::observation::{Observation, Status, TesterObservation, Warning};
use crate::over_time::BusyOverTime;
use crate::results::{Part, ResultsFile, SearchOutcome};
use crate::slices::MOST_SLICES;
use crate::warning_code::WarningCode;
use wirelab_statistics::bootstrap::FEWEST_PARTS;

/// Most figures that are named; a wrong file may hold millions.
pub const MOST_NAMED: usize = 8;
/// Allowed relative difference of two figures that follow from each other: they were rounded separately.
const ROUNDING: f64 = 0.01;
/// No host handles more frames/s: with 64 bytes they would need seven Tbit/s.
const MOST_FRAMES_PER_S: f64 = 1e10;
/// Characters of a name that are shown.
const NAME: usize = 80;
/// Most causes of uncertainty of a model.
const MOST_CAUSES: usize = 32;

/// An impossible figure, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// Its place, from the outside to the inside, e.g. `observation 3, flow 1 (transmit on n0), counts`.
    pub place: String,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// The errors so far, and the present place.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    place: Vec<String>,
    found: Vec<Impossible>,
}

impl Findings {
    /// Checks what is inside `place`.
    fn within(&mut self, place: impl Into<String>, look: impl FnOnce(&mut Findings)) {
        // Names come from the file, so they must not control or flood a terminal.
        let place: String = place.into();
        let place = place
            .chars()
            .take(NAME)
            .flat_map(char::escape_debug)
            .collect();
        self.place.push(place);
        look(self);
        self.place.pop();
    }

    /// Records an error of a field here.
    fn say(&mut self, field: &str, what: impl Into<String>) {
        let mut place = self.place.join(", ");
        if !place.is_empty() && !field.is_empty() {
            place.push_str(", ");
        }
        self.found.push(Impossible {
            place: format!("{place}{field}"),
            what: what.into(),
        });
    }

    fn must(&mut self, holds: bool, field: &str, what: impl FnOnce() -> String) {
        if !holds {
            self.say(field, what());
        }
    }

    /// A rate or a time is a number of at least 0.
    fn not_negative(&mut self, field: &str, value: f64) {
        self.must(value.is_finite() && value >= 0.0, field, || {
            format!("{value} is not a number of at least 0")
        });
    }

    /// A share is 0 to 1, within rounding.
    fn share(&mut self, field: &str, value: f64) {
        self.must((0.0..=1.0 + 1e-9).contains(&value), field, || {
            format!("{value} is not a share from 0 to 1")
        });
    }

    /// The ends of an interval are in order, its confidence is a share, and it contains its figure, if any.
    fn interval(&mut self, field: &str, interval: &Stated, around: Option<f64>) {
        let (low, high) = (interval.low, interval.high);
        let is_one = high.is_finite() && (0.0..=high).contains(&low);
        self.must(is_one, field, || {
            format!("from {low} to {high} is not an interval")
        });
        self.share(field, interval.confidence);
        let Some(value) = around else { return };
        let margin = value.abs() * 1e-9;
        self.must(
            (low - margin..=high + margin).contains(&value),
            field,
            || format!("from {low} to {high}, but the figure is {value}"),
        );
    }

    /// An interval within one run: its number of sub-intervals is possible in a run.
    fn within_run(&mut self, field: &str, interval: &Stated, around: Option<f64>) {
        self.interval(field, interval, around);
        let is_one = interval.over != IntervalBasis::Repeats && interval.confidence > 0.0;
        let parts = match interval.over {
            IntervalBasis::Parameters => 1..=MOST_CAUSES,
            _ => FEWEST_PARTS..=MOST_SLICES,
        };
        self.must(
            is_one && parts.contains(&(interval.parts as usize)),
            field,
            || {
                format!(
                    "{} % over {} parts ({}), but there are {} to {} of them",
                    interval.confidence * 100.0,
                    interval.parts,
                    interval.over.words(),
                    parts.start(),
                    parts.end()
                )
            },
        );
    }

    fn is_full(&self) -> bool {
        self.found.len() > MOST_NAMED
    }
}

/// Impossible figures of a whole file, at most one more than [`MOST_NAMED`]; empty for a valid one.
pub fn file(file: &ResultsFile) -> Vec<Impossible> {
    let mut findings = Findings::default();
    for (at, one) in file.observations.iter().enumerate() {
        findings.within(format!("observation {}", at + 1), |f| look_at(one, f));
        if findings.is_full() {
            break;
        }
    }
    let total = file.observations.len() as u64;
    let mut free = 0;
    for part in &file.parts {
        if findings.is_full() {
            break;
        }
        findings.within(format!("part {}", part.name), |f| {
            place_of(part, (free, total), f);
            free = free.max(part.first.saturating_add(part.observations));
            part.found.iter().for_each(|of| search::look_at(of, f));
        });
    }
    findings.found.truncate(MOST_NAMED + 1);
    findings.found
}

/// Impossible figures of one observation; empty for a valid one.
pub fn observation(one: &Observation) -> Vec<Impossible> {
    let mut findings = Findings::default();
    look_at(one, &mut findings);
    findings.found
}

/// Impossible figures of a search result; empty for a valid one.
pub fn found(found: &SearchOutcome) -> Vec<Impossible> {
    let mut findings = Findings::default();
    search::look_at(found, &mut findings);
    findings.found
}

/// Several errors in one sentence, the first [`MOST_NAMED`] by name.
pub fn in_words(all: &[Impossible]) -> String {
    let named: Vec<String> = all
        .iter()
        .take(MOST_NAMED)
        .map(Impossible::to_string)
        .collect();
    let more = match all.len() > MOST_NAMED {
        true => "; and more of them",
        false => "",
    };
    format!("{}{more}", named.join("; "))
}

/// The observation to keep: if its figures are impossible, it is void, names them, and holds no figure.
#[must_use]
pub fn kept(mut one: Observation) -> Observation {
    let wrong = observation(&one);
    if wrong.is_empty() {
        return one;
    }
    let text = in_words(&wrong);
    one.status = Status::Void {
        why: format!("its figures are impossible: {text}"),
    };
    one.flows.clear();
    one.series.clear();
    one.busy_over_time.clear();
    one.cpu_load = Field::absent("left out: the figures of this trial contradict each other");
    let why = "left out with the other figures";
    one.tester = TesterObservation::new(Field::absent(why), one.tester.was_limit);
    one.warnings.push(Warning::new(
        WarningCode::IMPOSSIBLE_FIGURES,
        format!("the node or the tester gave impossible figures, which were left out: {text}"),
        "measure again; if it happens again, report it with this text",
    ));
    one
}

/// The observations of a part are in the file, after those of the previous part.
fn place_of(part: &Part, (free, total): (u64, u64), findings: &mut Findings) {
    let end = part.first.checked_add(part.observations);
    findings.must(end.is_some_and(|end| end <= total), "observations", || {
        format!(
            "it has {} from place {} on, but the file holds {total}",
            part.observations, part.first
        )
    });
    // A search that another command ran has no observations here.
    let is_behind = part.observations == 0 || part.first >= free;
    findings.must(is_behind, "first", || {
        format!(
            "it begins at place {}, but the part before it ends at {free}",
            part.first
        )
    });
}

fn look_at(one: &Observation, findings: &mut Findings) {
    // An impossible trial has no frame of that size, and no figure.
    if !matches!(one.status, Status::Void { .. }) {
        request(one, findings);
        counters(one, findings);
    }
    for (at, one_flow) in one.flows.iter().enumerate() {
        let place = format!(
            "flow {} ({} on {})",
            at + 1,
            one_flow.direction,
            one_flow.port
        );
        findings.within(place, |f| flow::look_at(one, one_flow, f));
    }
    flows(one, findings);
    for one_series in &one.series {
        series::look_at(one_series, findings);
    }
    if let Some(load) = one.cpu_load.value() {
        findings.share("cpu_load.busy_ratio", load.busy_ratio);
        if let Some(idle) = load.idle_baseline_ratio {
            findings.share("cpu_load.idle_baseline_ratio", idle);
        }
        if let Some(interval) = &load.interval {
            findings.within_run("cpu_load.interval", interval, Some(load.busy_ratio));
            findings.share("cpu_load.interval", interval.high);
        }
    }
    for busy in &one.busy_over_time {
        findings.within("busy_over_time", |f| busy_over_time(busy, f));
    }
    findings.within("tester", |f| tester(one, f));
}

/// Cores work no longer than time passes.
fn busy_over_time(busy: &BusyOverTime, findings: &mut Findings) {
    let (slices, loads) = (busy.slice_ns.len(), busy.busy_ns.len());
    findings.must(slices == loads, "busy_ns", || {
        format!("{slices} slices, but {loads} loads")
    });
    let mut pairs = busy.slice_ns.iter().zip(busy.busy_ns.iter());
    let wrong = pairs.find(|(ns, busy_ns)| busy_ns > ns);
    findings.must(wrong.is_none(), "busy_ns", || {
        let (ns, busy_ns) = wrong.unwrap_or((&0, &0));
        format!("{busy_ns} ns of work in {ns} ns")
    });
}

/// The requested trial is possible, and its frames have the requested sizes.
fn request(one: &Observation, findings: &mut Findings) {
    let (trial, sizes) = (&one.trial, &one.sizes);
    let follows = trial.size.resolve(trial.framing).is_ok_and(|these| {
        // A model's protocol may add data of its own.
        let is_longer = one.node.is_computed() && these.frame <= sizes.frame;
        these == *sizes || (is_longer && is_whole(sizes, trial.framing))
    });
    findings.must(follows && trial.size.bytes > 0, "sizes", || {
        format!(
            "a frame of {} bytes with a length of {} and a payload of {} bytes is not a {} of {} bytes",
            sizes.frame,
            sizes.length,
            sizes.payload,
            trial.size.unit.name(),
            trial.size.bytes
        )
    });
    findings.must(
        trial.link_bits_per_s != Some(0),
        "trial.link_bits_per_s",
        || "a link of 0 bit/s carries nothing".to_owned(),
    );
    if trial.faults.per == FaultsPer::Frame {
        for (name, rate) in trial.faults.named() {
            findings.share(&format!("trial.faults, {name}"), rate);
        }
    }
    // A node that was never reached reports nothing about itself.
    let has = one.node.capabilities.ports;
    findings.must(has == 0 || trial.ports <= has, "trial.ports", || {
        format!("{}, but the node has {has}", trial.ports)
    });
}

/// Whether the four sizes belong to one frame.
fn is_whole(sizes: &Sizes, framing: Framing) -> bool {
    let again = Size::new(SizeUnit::Payload, sizes.payload).resolve(framing);
    again.is_ok_and(|again| {
        Sizes {
            datagram: sizes.datagram,
            ..again
        } == *sizes
    })
}

/// A port has at most one flow in each direction.
fn flows(one: &Observation, findings: &mut Findings) {
    let ports = u64::from(one.trial.ports);
    let most = ports.saturating_mul(2);
    let number = one.flows.len();
    findings.must(number as u64 <= most, "flows", || {
        format!("{number}, but the trial has {ports} ports")
    });
    let mut known = HashSet::new();
    for (at, flow) in one.flows.iter().enumerate() {
        let is_new = known.insert((&flow.port, flow.direction, flow.stream));
        findings.must(is_new, "flows", || {
            format!("flow {} is there twice", at + 1)
        });
    }
}

fn counter(counters: &BTreeMap<String, Field<u64>>, name: &str) -> Option<u64> {
    counters.get(name)?.value().copied()
}

/// Whether two figures that follow from each other differ by no more than this share.
fn near(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() <= share * a.abs().max(b.abs()) + f64::MIN_POSITIVE
}

/// A frame may arrive twice (RFC 5560), and late frames of the earlier run count with those of a background.
fn counters(one: &Observation, findings: &mut Findings) {
    const LATE: u64 = 1_000;
    if let (Some(sent), Some(received)) = (
        counter(&one.counters, "background_sent_frames"),
        counter(&one.counters, "background_received_frames"),
    ) {
        let most = sent.saturating_mul(2).saturating_add(LATE);
        findings.must(received <= most, "background_received_frames", || {
            format!("{received}, but {sent} were sent")
        });
    }
}

/// The ceiling is a bound, and its uncertainty is a share.
fn tester(one: &Observation, findings: &mut Findings) {
    let tester = &one.tester;
    for (field, share) in [
        ("ceiling_spread_ratio", &tester.ceiling_spread_ratio),
        ("ceiling_margin_ratio", &tester.ceiling_margin_ratio),
    ] {
        if let Some(share) = share.value() {
            findings.share(field, *share);
        }
    }
    let Some(ceiling) = tester.ceiling_frames_per_s.value() else {
        return;
    };
    findings.not_negative("ceiling_frames_per_s", *ceiling);
    let is_one = *ceiling <= MOST_FRAMES_PER_S;
    findings.must(is_one, "ceiling_frames_per_s", || {
        format!("{ceiling} is faster than any host: at most {MOST_FRAMES_PER_S}")
    });
    let rates = one.flows.iter().map(|flow| &flow.frames_per_s);
    let measured = rates.filter(|rate| rate.kind() == Some(Kind::Measured));
    let fastest = measured.filter_map(|rate| rate.value().copied());
    if let Some(fastest) = fastest.reduce(f64::max) {
        findings.must(
            *ceiling >= fastest * (1.0 - ROUNDING),
            "ceiling_frames_per_s",
            || format!("{ceiling}, but a flow reached {fastest}"),
        );
    }
}
