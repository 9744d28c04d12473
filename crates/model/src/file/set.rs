//! Changes to a node file by the user: `--set`, and the alternatives that the file names.

use std::collections::BTreeMap;

use super::{
    Alternative, Edge, Kind, NodeFile, PathDecl, Provenance, StageEdge, Unit, check, missing,
};

const FORMS: &str = "write e.g. gpdma-word=4, gpdma-word=4clk/word, stage.copy=x0.5, stage.copy.resource=dma, \
                     path=fast-track, wait=spin or alternative=NAME";
/// Largest factor of a stage's cost.
const MAX_SCALE: f64 = 1e6;

/// Why an assignment was refused; the file is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--set {assignment}: {what}")]
pub struct SetError {
    /// The assignment.
    pub assignment: String,
    /// What is wrong, and the fix.
    pub what: String,
}

/// An example value for the unit; units of counts have no singular, so 1 becomes 2.
fn example(value: f64, unit: Unit) -> f64 {
    let one = matches!(unit.kind, Kind::Count(_)) && (0.5..1.5).contains(&value);
    if one { 2.0 } else { value }
}

impl NodeFile {
    /// Applies one assignment: `PARAMETER=4`, `PARAMETER=4clk/word`, `stage.NAME=x0.5`, `stage.NAME.resource=OTHER`,
    /// `path=PATH`, `wait=WAIT` or `alternative=NAME`.
    ///
    /// # Errors
    /// [`SetError`] where the name does not exist, the value is invalid, or the changed file is no longer a valid node.
    pub fn set(&mut self, assignment: &str) -> Result<(), SetError> {
        let error = |what| SetError {
            assignment: assignment.chars().take(200).collect(),
            what,
        };
        let mut changed = self.assigned(assignment).map_err(error)?;
        check::structure(&changed).map_err(|problem| error(problem.to_string()))?;
        changed.changes.push(assignment.to_owned());
        *self = changed;
        Ok(())
    }

    /// The file with the values of `set`, without those whose parameters it does not have.
    ///
    /// # Errors
    /// [`SetError`] where a value is invalid.
    pub fn with_known(&self, set: &BTreeMap<String, String>) -> Result<NodeFile, SetError> {
        let mut file = self.clone();
        let known = set
            .iter()
            .filter(|(key, _)| self.parameters.contains_key(*key));
        for (key, value) in known {
            file.set(&format!("{key}={value}"))?;
        }
        Ok(file)
    }

    fn assigned(&self, assignment: &str) -> Result<NodeFile, String> {
        let (key, value) = assignment
            .split_once('=')
            .ok_or_else(|| format!("there is no '='; fix: {FORMS}"))?;
        let (key, value) = (key.trim(), value.trim());
        let mut changed = self.clone();
        if key == "alternative" {
            let names: Vec<&String> = self.alternatives.iter().map(|a| &a.name).collect();
            let found = self.alternatives.iter().find(|a| a.name == value);
            let alternative =
                found.ok_or_else(|| missing("alternative", value, names.into_iter()))?;
            return self.apply_alternative(alternative);
        }
        match key.strip_prefix("stage.") {
            Some(stage) => changed.set_stage(stage, value)?,
            None if matches!(key, "path" | "wait") && !self.parameters.contains_key(key) => {
                changed.set_path(key, value)?;
            }
            None => changed.set_parameter(key, value)?,
        }
        Ok(changed)
    }

    /// Selects another path of the file than the trial does.
    fn set_path(&mut self, key: &str, value: &str) -> Result<(), String> {
        let none = || format!("no path of the file has a '{key}'; fix: leave it out");
        if key == "path" {
            let has_choice = self.paths.iter().any(|p| p.path.is_some());
            self.set_path_to = Some(value.parse()?);
            return has_choice.then_some(()).ok_or_else(none);
        }
        let has_choice = self.paths.iter().any(|p| p.wait.is_some());
        self.set_wait_to = Some(value.parse()?);
        has_choice.then_some(()).ok_or_else(none)
    }

    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), String> {
        let keys = ["alternative", "path", "wait"].map(str::to_owned);
        let names: Vec<String> = self.parameters.keys().cloned().chain(keys).collect();
        let parameter = self
            .parameters
            .get_mut(name)
            .ok_or_else(|| missing("parameter", name, names.iter()))?;
        // A shell needs no quotes around `120MHz`, and a unit begins with no character of a number.
        let of_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        let end = value.find(|c| !of_number(c)).unwrap_or(value.len());
        let (number, unit) = (&value[..end], value[end..].trim_start());
        parameter.value = number
            .parse()
            .ok()
            .filter(|n: &f64| n.is_finite())
            .ok_or_else(|| {
                format!(
                    "invalid number with a unit '{value}'; fix: write e.g. {} {}",
                    example(parameter.value, parameter.unit),
                    parameter.unit
                )
            })?;
        if !unit.is_empty() {
            parameter.unit = Unit::parse(unit)?;
            if !parameter.unit.counts_clocks() {
                parameter.clock = None;
            }
        }
        parameter.provenance = Provenance::Set;
        parameter.chosen_after = None;
        parameter.plus_minus.clear();
        Ok(())
    }

    fn set_stage(&mut self, key: &str, value: &str) -> Result<(), String> {
        let (name, field) = key
            .split_once('.')
            .map_or((key, None), |(name, field)| (name, Some(field)));
        let names: Vec<String> = self.stages.keys().cloned().collect();
        let stage = self
            .stages
            .get_mut(name)
            .ok_or_else(|| missing("stage", name, names.iter()))?;
        match field {
            None => {
                let factor = value.strip_prefix('x').and_then(|n| n.parse::<f64>().ok());
                let factor = factor.filter(|n| (0.0..=MAX_SCALE).contains(n));
                stage.scale *= factor.ok_or_else(|| {
                    format!("invalid factor '{value}' of the stage's cost; fix: write e.g. x0.5")
                })?;
            }
            Some("resource") => stage.resource = Some(value.to_owned()),
            Some(other) => return Err(format!("a stage has no '{other}' to set; fix: {FORMS}")),
        }
        Ok(())
    }

    /// The file with an alternative applied; it must be a valid node again.
    pub(super) fn apply_alternative(&self, alternative: &Alternative) -> Result<NodeFile, String> {
        let mut changed = self.clone();
        let mut hits = 0;
        for path in &mut changed.paths {
            for (old, new) in &alternative.replace {
                hits += usize::from(replace(path, old, new.as_deref())?);
            }
        }
        if hits == 0 && !alternative.replace.is_empty() {
            return Err(
                "no path has a stage that it replaces; fix: name stages that are in a path"
                    .to_owned(),
            );
        }
        for assignment in &alternative.set {
            if assignment.trim_start().starts_with("alternative") {
                return Err(format!(
                    "'{assignment}': an alternative cannot name another; fix: write what that one sets"
                ));
            }
            changed = changed
                .assigned(assignment)
                .map_err(|why| format!("'{assignment}': {why}"))?;
        }
        check::structure(&changed)
            .map_err(|why| format!("with '{}' in force: {why}", alternative.name))?;
        Ok(changed)
    }
}

/// Replaces `old` by `new`, or leaves `old` out; false where the path has no such stage.
fn replace(path: &mut PathDecl, old: &str, new: Option<&str>) -> Result<bool, String> {
    let Some(at) = path.stages.iter().position(|stage| stage == old) else {
        return Ok(false);
    };
    let before = at.checked_sub(1).map(|i| path.stages[i].clone());
    let after = path.stages.get(at + 1).cloned();
    // A point at the end of a stage that is left out moves to the end of the stage before it, or to the start of the
    // stage after it.
    let (from, to): (StageEdge, StageEdge) = match new {
        Some(new) => {
            path.stages[at] = new.to_owned();
            let same = |edge| StageEdge {
                stage: new.to_owned(),
                edge,
            };
            (same(Edge::Start), same(Edge::End))
        }
        None => {
            path.stages.remove(at);
            let next = after.map(|stage| StageEdge {
                stage,
                edge: Edge::Start,
            });
            let last = before.map(|stage| StageEdge {
                stage,
                edge: Edge::End,
            });
            let none = || {
                format!(
                    "'{old}' is the only stage of the path '{}' and cannot be left out; fix: replace it by another stage",
                    path.name
                )
            };
            let from = next.clone().or_else(|| last.clone()).ok_or_else(none)?;
            (from.clone(), last.unwrap_or(from))
        }
    };
    let moved: BTreeMap<Edge, &StageEdge> = [(Edge::Start, &from), (Edge::End, &to)].into();
    let instants = path
        .points
        .iter_mut()
        .flat_map(|point| [&mut point.from, &mut point.to])
        .chain(path.probes.iter_mut().map(|probe| &mut probe.at));
    for instant in instants.filter(|instant| instant.stage == old) {
        *instant = moved[&instant.edge].clone();
    }
    for room in &mut path.rooms {
        if room.from == old {
            room.from.clone_from(&to.stage);
        }
        if room.to == old {
            room.to.clone_from(&from.stage);
        }
    }
    if path.wire == old {
        path.wire = to.stage;
    }
    Ok(true)
}
