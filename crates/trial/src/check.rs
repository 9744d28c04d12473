//! What no results can hold: counts that do not add up, shares above 1, figures that contradict each other.
//!
//! One check for both ends: what is written is checked before, and what was read after, so that an impossible figure
//! is refused wherever it comes from, and never shown as a measured one.

mod flow;
mod search;
mod series;

use std::fmt;

use crate::field::Field;
use crate::interval::Stated;
use crate::observation::{Observation, Status, Warning};
use crate::results::{Found, Part, ResultsFile};

/// Most figures that are named; one wrong file may hold millions.
pub const MOST_NAMED: usize = 8;
/// How far two figures that follow from each other may differ, as a share: they were rounded on their own.
const ROUNDING: f64 = 0.01;
/// Characters of a name that are shown.
const NAME: usize = 80;
/// Code of the warning in an observation whose figures were left out because they cannot be.
pub const IMPOSSIBLE: &str = "impossible-figures";

/// A figure that cannot be, and where it stands.
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

/// What is wrong so far, and the place that is looked at.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    place: Vec<String>,
    found: Vec<Impossible>,
}

impl Findings {
    /// Look at what stands inside `place`.
    fn within(&mut self, place: impl Into<String>, look: impl FnOnce(&mut Findings)) {
        // Names come from the file: nothing in them steers a terminal, and none fills it.
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

    /// Say what is wrong with a field here.
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

    /// A share is 0 to 1, as far as rounding goes.
    fn share(&mut self, field: &str, value: f64) {
        self.must((0.0..=1.0 + 1e-9).contains(&value), field, || {
            format!("{value} is not a share from 0 to 1")
        });
    }

    /// An interval has its ends in order, a share as its confidence, and lies around its figure, where there is one.
    fn interval(&mut self, field: &str, interval: &Stated, around: Option<f64>) {
        let (low, high) = (interval.low, interval.high);
        let is_one = high.is_finite() && (0.0..=high).contains(&low);
        self.must(is_one, field, || {
            format!("from {low} to {high} is no interval")
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

    fn is_full(&self) -> bool {
        self.found.len() > MOST_NAMED
    }
}

/// What cannot be in a whole file, at most one more than [`MOST_NAMED`]; empty for a sound one.
pub fn file(file: &ResultsFile) -> Vec<Impossible> {
    let mut findings = Findings::default();
    for (at, one) in file.observations.iter().enumerate() {
        findings.within(format!("observation {}", at + 1), |f| look_at(one, f));
        if findings.is_full() {
            break;
        }
    }
    let total = file.observations.len() as u64;
    for part in &file.parts {
        if findings.is_full() {
            break;
        }
        findings.within(format!("part {}", part.name), |f| {
            place_of(part, total, f);
            part.found.iter().for_each(|of| search::look_at(of, f));
        });
    }
    findings.found.truncate(MOST_NAMED + 1);
    findings.found
}

/// What cannot be in one observation; empty for a sound one.
pub fn observation(one: &Observation) -> Vec<Impossible> {
    let mut findings = Findings::default();
    look_at(one, &mut findings);
    findings.found
}

/// What cannot be in what a search found; empty where it is sound.
pub fn found(found: &Found) -> Vec<Impossible> {
    let mut findings = Findings::default();
    search::look_at(found, &mut findings);
    findings.found
}

/// Several in one sentence, the first [`MOST_NAMED`] by name.
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

/// The observation as it may be kept: where its figures cannot be, it is void, says which, and holds no figure.
#[must_use]
pub fn kept(mut one: Observation) -> Observation {
    let wrong = observation(&one);
    if wrong.is_empty() {
        return one;
    }
    let text = in_words(&wrong);
    one.status = Status::Void {
        why: format!("its figures cannot be: {text}"),
    };
    one.flows.clear();
    one.series.clear();
    one.cpu_load = Field::absent("left out: the figures of this trial contradict each other");
    one.tester.ceiling_frames_per_s = Field::absent("left out with the other figures");
    one.warnings.push(Warning::new(
        IMPOSSIBLE,
        format!(
            "the node or the tester gave figures that cannot be, and they were left out: {text}"
        ),
        "measure again; where it comes again, report it with this text",
    ));
    one
}

fn place_of(part: &Part, total: u64, findings: &mut Findings) {
    let end = part.first.checked_add(part.observations);
    findings.must(end.is_some_and(|end| end <= total), "observations", || {
        format!(
            "it has {} from place {} on, but the file holds {total}",
            part.observations, part.first
        )
    });
}

fn look_at(one: &Observation, findings: &mut Findings) {
    let sizes = &one.sizes;
    // A trial that could not be asked has no frame of that size.
    if !matches!(one.status, Status::Void { .. }) {
        let whole = u64::from(sizes.length) + 4 == u64::from(sizes.frame);
        let holds = u64::from(sizes.payload) + 14 <= u64::from(sizes.length);
        findings.must(whole && holds, "sizes", || {
            format!(
                "a frame of {} bytes has no length of {} and payload of {} bytes",
                sizes.frame, sizes.length, sizes.payload
            )
        });
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
    for one_series in &one.series {
        series::look_at(one_series, findings);
    }
    if let Some(load) = one.cpu_load.value() {
        findings.share("cpu_load.busy_ratio", load.busy_ratio);
        if let Some(idle) = load.idle_baseline_ratio {
            findings.share("cpu_load.idle_baseline_ratio", idle);
        }
    }
    if let Some(ceiling) = one.tester.ceiling_frames_per_s.value() {
        findings.not_negative("tester.ceiling_frames_per_s", *ceiling);
    }
}
