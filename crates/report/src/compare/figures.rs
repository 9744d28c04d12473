//! The figures of a run that can be compared with those of another: one value of each repeat of a trial.

use std::collections::{BTreeSet, HashMap};

use wirelab_statistics::bootstrap::CONFIDENCE;
use wirelab_statistics::shift::Scale;
use wirelab_trial::{
    ClockKind, Direction, Field, Kind, Observation, ResultsFile, SearchOutcome, Series, Status,
    Summary, Trial, TrialOption,
};

use crate::document::escape::{clip, line};
use crate::row::{self, Row};
use crate::search;

/// How figures of a unit change: a share between 0 and 1 may be 0, so it has no ratio.
pub fn scale(unit: &str) -> Scale {
    match unit {
        "ratio" => Scale::Difference,
        _ => Scale::Ratio,
    }
}

/// The fewest samples of a series whose 99th percentile is a figure: ten of them lie above it.
const SAMPLES: u64 = 1000;

/// Longest value of an option that a name has, in characters.
const NAME: usize = 40;

/// The identity of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureName {
    /// Its trial, in words.
    pub trial: String,
    /// Its name.
    pub figure: String,
    /// Its unit; `ratio` for a share between 0 and 1.
    pub unit: &'static str,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// How it changes.
    pub scale: Scale,
    /// Its position on a curve over the payload, if there is one.
    pub on: Option<OnCurve>,
}

/// A position on a curve of figures that differ only in their payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnCurve {
    /// What all figures of the curve have in common, in words.
    pub of: String,
    /// Payload in bytes.
    pub payload_bytes: u32,
}

/// The values of a figure in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// The figure.
    pub what: FigureName,
    /// The kind of the values.
    pub kind: Kind,
    /// Whether every host gives the same value: counts of instructions, simulations and models.
    pub exact: bool,
    /// One value of each repeat.
    pub values: Vec<f64>,
    /// Repeats in which the tester was the limit.
    pub tester_limited: usize,
    /// The values of all other repeats.
    pub of_the_node: Vec<f64>,
}

/// The largest part (1/N) of the repeats that may be left out because the tester was their limit.
const LEFT_OUT: usize = 5;

impl Values {
    /// Median, lowest and highest of the repeats; `None` without one.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.values, CONFIDENCE)
    }

    /// Without the repeats that the tester limited, and how many these were. If too many were limited, the rest would be
    /// a biased selection: then all stay.
    #[must_use]
    pub fn of_node(mut self) -> (Values, usize) {
        let limited = self.tester_limited;
        if limited == 0 || limited * LEFT_OUT > self.values.len() {
            return (self, 0);
        }
        self.values.clone_from(&self.of_the_node);
        self.tester_limited = 0;
        (self, limited)
    }
}

/// All figures of a run in the order of the file, each with the key that pairs it with the other run's figure.
pub fn of(file: &ResultsFile) -> Vec<(String, Values)> {
    let mut all = Figures::default();
    let names: BTreeSet<&str> = file.observations.iter().map(|o| &*o.node.name).collect();
    let several = names.len() > 1;
    let rates = file.observations.iter().map(|o| o.trial.link_bits_per_s);
    let links: BTreeSet<Option<u64>> = rates.collect();
    let several_links = links.len() > 1;
    let mut last_trial = 0;
    for row in row::listed(file, false) {
        let o = row.observation;
        if matches!(o.status, Status::Void { .. }) {
            continue;
        }
        let node = if several { &*o.node.name } else { "" };
        // The link belongs to the set-up, like the node.
        let trial_key = match several_links {
            true => serde_json::to_string(&o.trial),
            false => serde_json::to_string(&Trial {
                link_bits_per_s: None,
                ..o.trial.clone()
            }),
        };
        let trial_key = trial_key.unwrap_or_default();
        let of_row = FigureTrial {
            key: format!("{node} {trial_key} {}", row.direction),
            trial: in_words(&row, node, true),
            on: (!o.trial.framing.layer.is_tcp()).then(|| OnCurve {
                of: in_words(&row, node, false),
                payload_bytes: o.sizes.payload,
            }),
            limited: o.tester.was_limit.value() == Some(&true),
        };
        all.rates(&of_row, &row);
        all.series_of_flows(&of_row, &row);
        if row.trial != last_trial {
            all.of_trial(&of_row, o);
        }
        last_trial = row.trial;
    }
    for part in &file.parts {
        if let Some(SearchOutcome::Rates(result)) = &part.found {
            for goal in &result.goals {
                let allowed = search::allowed(goal.goal.loss_ratio);
                let of_part = FigureTrial {
                    key: part.name.clone(),
                    trial: part.name.clone(),
                    on: None,
                    limited: false,
                };
                let rate = search::rate_of(goal, &goal.conditional_throughput_frames_per_s);
                let name = format!("throughput, loss {allowed}");
                all.push(&of_part, (name, "frames/s", true), rate, false);
            }
        }
    }
    all.list
}

/// The trial of a figure.
struct FigureTrial {
    key: String,
    trial: String,
    on: Option<OnCurve>,
    limited: bool,
}

#[derive(Default)]
struct Figures {
    list: Vec<(String, Values)>,
    places: HashMap<String, usize>,
}

impl Figures {
    /// Add a repeat's value, if there is one.
    fn push(
        &mut self,
        of: &FigureTrial,
        (figure, unit, higher_is_better): (String, &'static str, bool),
        field: Field<f64>,
        exact: bool,
    ) {
        let Field::Observed { value, kind } = field else {
            return;
        };
        let key = format!("{} {figure} {unit}", of.key);
        let place = *self.places.entry(key.clone()).or_insert_with(|| {
            let what = FigureName {
                trial: of.trial.clone(),
                figure,
                unit,
                higher_is_better,
                scale: scale(unit),
                on: of.on.clone(),
            };
            let values = Values {
                what,
                kind,
                exact: true,
                values: Vec::new(),
                tester_limited: 0,
                of_the_node: Vec::new(),
            };
            self.list.push((key, values));
            self.list.len() - 1
        });
        let known = &mut self.list[place].1;
        known.values.push(value);
        known.exact &= exact || matches!(kind, Kind::Predicted | Kind::Calibrated);
        match of.limited {
            true => known.tester_limited += 1,
            false => known.of_the_node.push(value),
        }
    }

    fn rates(&mut self, of: &FigureTrial, row: &Row<'_>) {
        let simulated = |flow: &&wirelab_trial::FlowObservation| {
            let clock = flow.elapsed.value().map(|elapsed| elapsed.clock);
            clock == Some(ClockKind::Simulated)
        };
        let exact = row.flows.iter().all(simulated);
        let forwarding = row.sum(|flow| &flow.frames_per_s);
        let goodput = row.sum(|flow| &flow.goodput_bits_per_s);
        let is_stream = forwarding.value().is_none();
        let name = |text: &str| text.to_owned();
        let rate = (name("forwarding rate"), "frames/s", true);
        self.push(of, rate, forwarding, exact);
        if is_stream {
            self.push(of, (name("goodput"), "bit/s", true), goodput, exact);
        }
        let loss = row.loss().map(|loss| f64::midpoint(loss.low, loss.high));
        self.push(of, (name("loss"), "ratio", false), loss, exact);
    }

    fn series_of_flows(&mut self, of: &FigureTrial, row: &Row<'_>) {
        // The delays of several ports are not one series, and their mean would hide the worst.
        if let [flow] = row.flows[..] {
            flow.series
                .iter()
                .for_each(|series| self.series(of, series));
        }
    }

    /// The figures of a whole trial, not of one direction.
    fn of_trial(&mut self, of: &FigureTrial, o: &Observation) {
        let load = o.cpu_load.clone().map(|load| load.busy_ratio);
        let name = "CPU load".to_owned();
        self.push(of, (name, "ratio", false), load, false);
        o.series.iter().for_each(|series| self.series(of, series));
    }

    fn series(&mut self, of: &FigureTrial, series: &Series) {
        let (unit, tick) = match (series.clock.kind, series.clock.tick_ps) {
            (ClockKind::Instructions, _) => ("instructions", 1.0),
            (_, Some(tick)) => ("ps", tick as f64),
            (_, None) => return,
        };
        let exact = series.clock.kind != ClockKind::Wall;
        let enough = series.histogram.count >= SAMPLES;
        let percentiles = [("median", 50.0), ("99th percentile", 99.0)];
        for (name, percent) in percentiles.into_iter().take(1 + usize::from(enough)) {
            if let Some(ticks) = series.percentile(percent) {
                let field = Field::Observed {
                    value: ticks as f64 * tick,
                    kind: series.kind,
                };
                let name = format!("{}, {name}", series.name.to_string().replace('_', " "));
                self.push(of, (name, unit, false), field, exact);
            }
        }
    }
}

/// The request, in the words of the tables, with the node if there are several; with the payload of datagrams and frames
/// if `sized`.
fn in_words(row: &Row<'_>, node: &str, sized: bool) -> String {
    let (o, trial) = (row.observation, &row.observation.trial);
    let mut words = match node.is_empty() {
        true => String::new(),
        false => format!("{node}: "),
    };
    words.push_str(row::layer(trial.framing.layer));
    if sized && !trial.framing.layer.is_tcp() {
        words.push_str(&format!(", payload {} B", o.sizes.payload));
    }
    words.push_str(&format!(", {}", row::load(&trial.load)));
    for (option, value) in trial.options() {
        match option {
            // The link belongs to the set-up, like the node.
            TrialOption::Link => {}
            TrialOption::Buffers | TrialOption::Path | TrialOption::Wait => {
                words.push_str(&format!(", {value}"));
            }
            TrialOption::Dscp => words.push_str(&format!(", DSCP {value}")),
            _ => {
                let value = clip(&line(&value), NAME);
                words.push_str(format!(", {} {value}", option.flag()).trim_end());
            }
        }
    }
    match trial.direction == Direction::Both || trial.direction != row.direction {
        true => format!(
            "{words}, {} of {}",
            row.direction_in_words(),
            trial.direction
        ),
        false => format!("{words}, {}", row.direction_in_words()),
    }
}
