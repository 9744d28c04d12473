//! The single changes that can be tried on a node in one trial.

use std::collections::BTreeSet;

use wirelab_trial::whatif::ChangeKind;

use crate::build::Instance;
use crate::file::{Alternative, CountedThing, Kind, NodeFile, Parameter, PathDecl, SetError};

/// Tried factor on a clock: plus 20 %.
const CLOCK_FACTOR: f64 = 1.2;
/// Tried factor on the time of a stage: half.
const STAGE_FACTOR: &str = "x0.5";

/// A change.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub kind: ChangeKind,
    pub what: String,
    pub set: Vec<String>,
    /// What it changes: two changes of the same thing exclude each other.
    pub touches: BTreeSet<String>,
}

impl Candidate {
    /// The file with the change applied.
    pub fn apply(&self, file: &NodeFile) -> Result<NodeFile, SetError> {
        let mut file = file.clone();
        for assignment in &self.set {
            file.set(assignment)?;
        }
        Ok(file)
    }

    /// Both changes at once; `None` where they exclude each other.
    pub fn with(&self, other: &Candidate) -> Option<Candidate> {
        if !self.touches.is_disjoint(&other.touches) {
            return None;
        }
        Some(Candidate {
            kind: ChangeKind::Pair,
            what: format!("{}, and {}", self.what, other.what),
            set: self.set.iter().chain(&other.set).cloned().collect(),
            touches: self.touches.union(&other.touches).cloned().collect(),
        })
    }
}

/// Every single change that is relevant to the trial: tokens, alternatives, clocks, stages, and the user's.
pub fn all(file: &NodeFile, instance: &Instance, own: &[String]) -> Vec<Candidate> {
    let mut out = tokens(file, instance);
    out.extend(file.alternatives.iter().map(alternative));
    out.extend(paths(file, instance));
    out.extend(clocks(file, instance));
    out.extend(stages(file, instance));
    let own: Vec<String> = own.iter().map(|one| one_word(one)).collect();
    out.retain(|candidate| candidate.set.len() != 1 || !own.contains(&candidate.set[0]));
    out.extend(own.into_iter().map(|assignment| Candidate {
        kind: ChangeKind::Own,
        what: format!("--set {assignment}"),
        touches: touched(file, &assignment).collect(),
        set: vec![assignment],
    }));
    out
}

fn tokens(file: &NodeFile, instance: &Instance) -> Vec<Candidate> {
    let names: BTreeSet<&String> = instance.rooms.iter().flatten().collect();
    let with_value = names
        .into_iter()
        .filter_map(|name| Some((name, file.parameters.get(name)?)));
    with_value
        .map(|(name, parameter)| {
            let (now, then) = (parameter.value, parameter.value + 1.0);
            let one = token(instance, name, parameter.unit.kind);
            let more = if now == 1.0 { "a second" } else { "one more" };
            let what = format!("{more} {one} ({name} {now} → {then})");
            one_assignment(ChangeKind::Token, what, name, &format!("{then}"))
        })
        .collect()
}

/// The name of one token of a parameter.
fn token(instance: &Instance, parameter: &str, unit: Kind) -> String {
    let of = |room: &Option<String>| room.as_deref() == Some(parameter);
    let place = instance
        .rooms
        .iter()
        .position(of)
        .map(|at| &instance.net.places[at]);
    let counted = match unit {
        Kind::Count(counted) => counted,
        _ => CountedThing::Others,
    };
    match place.filter(|_| counted == CountedThing::Frames) {
        // A place that leads back to the start of a chain limits all frames in flight.
        Some(place) if instance.chains.iter().any(|c| c.stages[0] == place.to) => {
            "frame in flight".to_owned()
        }
        Some(place) => format!("frame at {}", place.name),
        None => counted.token().to_owned(),
    }
}

fn alternative(alternative: &Alternative) -> Candidate {
    let replaced = alternative
        .replace
        .keys()
        .map(|stage| format!("stage.{stage}"));
    let set = alternative.set.iter().filter_map(|a| key(a));
    Candidate {
        kind: ChangeKind::Alternative,
        what: format!("{}: {}", alternative.name, alternative.what),
        set: vec![format!("alternative={}", alternative.name)],
        touches: replaced.chain(set).collect(),
    }
}

/// Other paths and wait methods of the file for the same frames.
fn paths(file: &NodeFile, instance: &Instance) -> Vec<Candidate> {
    let taken = instance.chains.iter().flat_map(|c| &c.paths);
    let taken: Vec<&PathDecl> = taken.filter_map(|at| file.paths.get(*at)).collect();
    let mut out: Vec<Candidate> = Vec::new();
    for now in &taken {
        let same = |p: &&PathDecl| {
            p.direction == now.direction && p.layers.iter().any(|l| now.layers.contains(l))
        };
        for other in file.paths.iter().filter(same) {
            let path = other.path.filter(|p| now.path.is_some_and(|now| now != *p));
            let wait = other.wait.filter(|w| now.wait.is_some_and(|now| now != *w));
            let choices = [
                (
                    "path",
                    "the path through the node",
                    path.map(|p| p.to_string()),
                ),
                ("wait", "the wait method", wait.map(|w| w.to_string())),
            ];
            for (key, what, word) in choices {
                let Some(word) = word else { continue };
                let what = format!("{what}: {word}");
                let one = one_assignment(ChangeKind::Alternative, what, key, &word);
                if out.iter().all(|c| c.set != one.set) {
                    out.push(one);
                }
            }
        }
    }
    out
}

/// Clocks that costs, spreads and paces on the trial's path count.
fn clocks(file: &NodeFile, instance: &Instance) -> Vec<Candidate> {
    let used = instance.origins.iter().flat_map(|origin| {
        let costs = origin.costs.iter().flat_map(|line| &line.parameters);
        costs.chain(&origin.parameters)
    });
    let clocks: BTreeSet<&String> = used
        .filter_map(|name| file.parameters.get(name))
        .filter(|parameter| parameter.unit.counts_clocks())
        .filter_map(|parameter| parameter.clock.as_ref())
        .collect();
    let with_value = clocks
        .into_iter()
        .filter_map(|name| Some((name, file.parameters.get(name)?)));
    with_value
        .map(|(name, clock)| {
            let value = faster(clock);
            let unit = &clock.unit;
            let what = format!(
                "clock {name} 20 % faster ({} → {value} {unit})",
                clock.value
            );
            one_assignment(ChangeKind::Clock, what, name, &format!("{value}{unit}"))
        })
        .collect()
}

/// A clock's value plus 20 %, to six digits for readability.
fn faster(clock: &Parameter) -> f64 {
    let value = match clock.unit.kind {
        Kind::Time => clock.value / CLOCK_FACTOR,
        _ => clock.value * CLOCK_FACTOR,
    };
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn stages(file: &NodeFile, instance: &Instance) -> Vec<Candidate> {
    let mut names: Vec<&String> = Vec::new();
    for (origin, stage) in instance.origins.iter().zip(&instance.net.stages) {
        // A stage without a cost cannot be faster.
        match &origin.stage {
            Some(name) if stage.cost_ps > 0 && !names.contains(&name) => names.push(name),
            _ => {}
        }
    }
    let is_wire = |name: &String| {
        let paths = instance.chains.iter().flat_map(|c| &c.paths);
        let mut paths = paths.filter_map(|path| file.paths.get(*path));
        paths.any(|path| path.wire == *name)
    };
    names
        .into_iter()
        .map(|name| {
            let what = if is_wire(name) {
                format!("{name} twice as fast (a link of twice the rate)")
            } else {
                format!("{name} twice as fast")
            };
            one_assignment(
                ChangeKind::Stage,
                what,
                &format!("stage.{name}"),
                STAGE_FACTOR,
            )
        })
        .collect()
}

fn one_assignment(kind: ChangeKind, what: String, key: &str, value: &str) -> Candidate {
    Candidate {
        kind,
        what,
        set: vec![format!("{key}={value}")],
        touches: [key.to_owned()].into(),
    }
}

/// An assignment without its spaces: one word, which a shell takes without quotes. The unit `1` needs its space.
fn one_word(assignment: &str) -> String {
    let words: Vec<&str> = assignment.split_whitespace().collect();
    match words.last() {
        Some(&"1") if words.len() > 1 && !words[words.len() - 2].ends_with('=') => {
            assignment.to_owned()
        }
        _ => words.concat(),
    }
}

/// What an assignment by hand changes.
fn touched(file: &NodeFile, assignment: &str) -> impl Iterator<Item = String> {
    let named = assignment
        .split_once('=')
        .filter(|(key, _)| key.trim() == "alternative")
        .and_then(|(_, name)| file.alternatives.iter().find(|a| a.name == name.trim()));
    let touches = match named {
        Some(found) => alternative(found).touches,
        None => key(assignment).into_iter().collect(),
    };
    touches.into_iter()
}

/// The left side of an assignment, or the stage of a stage's field.
fn key(assignment: &str) -> Option<String> {
    let (key, _) = assignment.split_once('=')?;
    let key = key.trim();
    let parts: Vec<&str> = key.split('.').take(2).collect();
    Some(parts.join("."))
}
