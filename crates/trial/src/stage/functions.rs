//! Instructions by function: of a stage, of a path, and against another run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::trial::Direction;

/// The separator of the functions of a path, the first caller first, as tools for flame graphs read it.
pub const BETWEEN: char = ';';

/// The instructions of a stage by the paths of calls in which they ran, all frames together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallPaths {
    /// Direction from the node's side.
    pub direction: Direction,
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// Point where the stage begins.
    pub from: String,
    /// Point where it ends.
    pub to: String,
    /// Frames.
    pub frames: u64,
    /// Instructions by path: functions with `;` between them, the first caller first.
    pub instructions: BTreeMap<String, u64>,
}

impl CallPaths {
    /// Whether both are of the same stage, direction and length.
    pub fn is_of_the_stage(&self, other: &CallPaths) -> bool {
        let key = |of: &CallPaths| (of.direction, of.length_bytes);
        key(self) == key(other) && (&self.from, &self.to) == (&other.from, &other.to)
    }

    /// Adds the frames of another run, and their instructions.
    pub fn add(&mut self, other: CallPaths) {
        self.frames = self.frames.saturating_add(other.frames);
        for (path, more) in other.instructions {
            let own = self.instructions.entry(path).or_default();
            *own = own.saturating_add(more);
        }
    }
}

/// The cost of a function for a frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FunctionCost {
    /// Its name.
    pub function: String,
    /// Its own instructions for each frame, without those of functions that it calls.
    pub per_frame: f64,
}

/// A function whose cost for a frame changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FunctionChange {
    /// Direction from the node's side.
    pub direction: Direction,
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// Point where the stage begins.
    pub from: String,
    /// Point where it ends.
    pub to: String,
    /// The function's name.
    pub function: String,
    /// Its own instructions for each frame before; 0 where it did not run.
    pub before: f64,
    /// The same now.
    pub now: f64,
}

impl FunctionChange {
    /// Instructions for each frame by which it grew; negative where it shrank.
    pub fn grew_by(&self) -> f64 {
        self.now - self.before
    }
}

/// The last function of a path.
pub fn function_of(path: &str) -> &str {
    path.rsplit_once(BETWEEN).map_or(path, |(_, last)| last)
}

/// The cost of each function for a frame over some stages, the most expensive first.
pub fn costs<'a>(stages: impl IntoIterator<Item = &'a CallPaths>) -> Vec<FunctionCost> {
    let mut all: BTreeMap<&str, f64> = BTreeMap::new();
    for stage in stages {
        for (function, per_frame) in by_function(stage) {
            *all.entry(function).or_default() += per_frame;
        }
    }
    let mut costs: Vec<FunctionCost> = all
        .into_iter()
        .map(|(function, per_frame)| FunctionCost {
            function: function.to_owned(),
            per_frame,
        })
        .collect();
    costs.sort_by(|a, b| b.per_frame.total_cmp(&a.per_frame));
    costs
}

fn by_function(stage: &CallPaths) -> BTreeMap<&str, f64> {
    let mut all: BTreeMap<&str, f64> = BTreeMap::new();
    for (path, instructions) in &stage.instructions {
        let per_frame = *instructions as f64 / stage.frames.max(1) as f64;
        *all.entry(function_of(path)).or_default() += per_frame;
    }
    all
}

/// The functions that cost a frame more or less than before in a stage that both runs have, the largest change first.
pub fn changed(before: &[CallPaths], now: &[CallPaths]) -> Vec<FunctionChange> {
    let mut all = Vec::new();
    for stage in now {
        let Some(old) = before.iter().find(|old| old.is_of_the_stage(stage)) else {
            continue;
        };
        let (old, new) = (by_function(old), by_function(stage));
        let mut names: Vec<&str> = old.keys().chain(new.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        for function in names {
            let of = |all: &BTreeMap<&str, f64>| all.get(function).copied().unwrap_or(0.0);
            let (before, now) = (of(&old), of(&new));
            if before != now {
                all.push(FunctionChange {
                    direction: stage.direction,
                    length_bytes: stage.length_bytes,
                    from: stage.from.clone(),
                    to: stage.to.clone(),
                    function: function.to_owned(),
                    before,
                    now,
                });
            }
        }
    }
    all.sort_by(|a, b| b.grew_by().abs().total_cmp(&a.grew_by().abs()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(to: &str, paths: &[(&str, u64)]) -> CallPaths {
        CallPaths {
            direction: Direction::Receive,
            length_bytes: 64,
            from: "a".to_owned(),
            to: to.to_owned(),
            frames: 2,
            instructions: paths
                .iter()
                .map(|(path, n)| ((*path).to_owned(), *n))
                .collect(),
        }
    }

    #[test]
    fn a_function_has_what_it_ran_itself_on_all_its_paths() {
        let stages = [
            stage(
                "b",
                &[("main;input", 20), ("main;input;copy", 6), ("main", 2)],
            ),
            stage("c", &[("main;output;copy", 8)]),
        ];
        let costs = costs(&stages);
        let shown: Vec<_> = costs
            .iter()
            .map(|c| (c.function.as_str(), c.per_frame))
            .collect();
        assert_eq!(shown, [("input", 10.0), ("copy", 7.0), ("main", 1.0)]);
    }

    #[test]
    fn what_changed_is_named_with_its_stage_the_largest_first() {
        let before = [stage("b", &[("m;f", 20), ("m;gone", 4), ("m", 6)])];
        let now = [
            stage("b", &[("m;f", 40), ("m;g;new", 2), ("m", 6)]),
            stage("unknown", &[("m", 1)]),
        ];
        let changes = changed(&before, &now);
        let shown: Vec<_> = changes
            .iter()
            .map(|c| (c.function.as_str(), c.grew_by()))
            .collect();
        assert_eq!(shown, [("f", 10.0), ("gone", -2.0), ("new", 1.0)]);
    }
}
