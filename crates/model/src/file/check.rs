//! Checks a node file beyond its syntax: names exist, units fit, and the tokens of its nets can move.

use std::collections::BTreeMap;
use std::fmt;

use wirelab_trial::{Direction, Extent, Framing, Load, Size, SizeUnit, Trial};

use super::{NodeFile, Provenance, StageDecl, missing};
use crate::build::{check_cost, check_spread};

/// A step on the path to a value in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOrItem {
    /// A key of a table.
    Key(String),
    /// An item of a list.
    Item(usize),
}

/// An error in a node file, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The path to the value, from the top.
    pub at: Vec<KeyOrItem>,
    /// What is wrong, and the fix.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self
            .at
            .iter()
            .filter_map(|step| match step {
                KeyOrItem::Key(key) => Some(key.as_str()),
                KeyOrItem::Item(_) => None,
            })
            .collect();
        write!(f, "{}: {}", keys.join("."), self.what)
    }
}

type Checked = Result<(), Problem>;

/// The path to a value: keys and indices of items.
macro_rules! at {
    ($($step:expr),+ $(,)?) => { vec![$(KeyOrItem::from($step)),+] };
}

// After the macro, because it uses it.
mod path;

impl From<&str> for KeyOrItem {
    fn from(key: &str) -> KeyOrItem {
        KeyOrItem::Key(key.to_owned())
    }
}

impl From<&String> for KeyOrItem {
    fn from(key: &String) -> KeyOrItem {
        KeyOrItem::Key(key.clone())
    }
}

impl From<usize> for KeyOrItem {
    fn from(item: usize) -> KeyOrItem {
        KeyOrItem::Item(item)
    }
}

/// Turns an error text into a problem at a place.
fn found<T>(at: Vec<KeyOrItem>, result: Result<T, String>) -> Result<T, Problem> {
    result.map_err(|what| Problem { at, what })
}

fn exists<T>(kind: &str, name: &str, all: &BTreeMap<String, T>) -> Result<(), String> {
    if all.contains_key(name) {
        Ok(())
    } else {
        Err(missing(kind, name, all.keys()))
    }
}

/// Checks everything, including alternatives.
pub(super) fn check(file: &NodeFile) -> Checked {
    structure(file)?;
    for (index, alternative) in file.alternatives.iter().enumerate() {
        for (old, new) in &alternative.replace {
            found(
                at!["alternative", index, "replace"],
                exists("stage", old, &file.stages),
            )?;
            if let Some(new) = new {
                found(
                    at!["alternative", index, "replace", old],
                    exists("stage", new, &file.stages),
                )?;
            }
        }
        let changed = file.apply_alternative(alternative);
        found(
            at!["alternative", index],
            changed.map(drop).map_err(|e| e.to_string()),
        )?;
    }
    Ok(())
}

/// Checks everything except alternatives.
pub(super) fn structure(file: &NodeFile) -> Checked {
    parameters(file)?;
    if let Some(link) = &file.link {
        found(at!["link", "rate"], file.link_rate(link))?;
    }
    for (name, stage) in &file.stages {
        self::stage(file, name, stage)?;
    }
    arrivals_and_tool(file)?;
    for (index, path) in file.paths.iter().enumerate() {
        path::path(file, index, path)?;
    }
    for (name, calibration) in &file.calibrations {
        if calibration
            .cell
            .as_ref()
            .is_some_and(|cell| cell.split('/').count() < 3)
        {
            let what = "it is not a name of a figure; fix: write STUDY/ROW/METRIC, e.g. \"lpc1768/scenario 1/time\"".to_owned();
            return Err(Problem {
                at: at!["calibration", name, "cell"],
                what,
            });
        }
        if let Some(point) = &calibration.point {
            let points = file.paths.iter().flat_map(|path| &path.points);
            let names: Vec<String> = points.map(|p| p.name.to_string()).collect();
            let known = match names.contains(point) {
                true => Ok(()),
                false => Err(missing("capture point", point, names.iter())),
            };
            found(at!["calibration", name, "point"], known)?;
        }
        if let Some(trial) = &calibration.trial {
            let instance = file.instance_without_set(trial).map_err(|e| e.to_string());
            found(at!["calibration", name, "trial"], instance)?;
        }
    }
    Ok(())
}

fn parameters(file: &NodeFile) -> Checked {
    for (name, parameter) in &file.parameters {
        if name == "link" {
            let what = "the name stands for the link's rate; fix: choose another".to_owned();
            return Err(Problem {
                at: at!["parameter", name],
                what,
            });
        }
        if !(parameter.value.is_finite() && parameter.value >= 0.0) {
            let what = format!(
                "{} is not a valid value; fix: write a number from 0",
                parameter.value
            );
            return Err(Problem {
                at: at!["parameter", name, "value"],
                what,
            });
        }
        let known =
            |(cause, by): &(&String, &f64)| by.is_finite() && (**by >= 0.0 || !cause.is_empty());
        if let Some((_, by)) = parameter.plus_minus.iter().find(|one| !known(one)) {
            return Err(Problem {
                at: at!["parameter", name, "plus_minus"],
                what: format!(
                    "{by} is not an uncertainty; fix: write half of its 95 % interval, a number from 0"
                ),
            });
        }
        match (&parameter.clock, parameter.unit.counts_clocks()) {
            (Some(clock), true) => found(
                at!["parameter", name, "clock"],
                file.period_ps(clock).map(drop),
            )?,
            (None, true) => found(
                at!["parameter", name, "clock"],
                file.clock_of(name, parameter).map(drop),
            )?,
            (Some(_), false) => {
                let what = format!(
                    "{} counts no clock; fix: leave the clock out, or write clk",
                    parameter.unit
                );
                return Err(Problem {
                    at: at!["parameter", name, "clock"],
                    what,
                });
            }
            (None, false) => {}
        }
        calibrated(file, &parameter.provenance, "parameter", name)?;
    }
    Ok(())
}

fn calibrated(file: &NodeFile, provenance: &Provenance, group: &str, name: &str) -> Checked {
    let Provenance::CalibratedFrom(figures) = provenance else {
        return Ok(());
    };
    for figure in figures {
        found(
            at![group, name, "calibrated_from"],
            exists("calibration", figure, &file.calibrations),
        )?;
    }
    Ok(())
}

fn stage(file: &NodeFile, name: &String, stage: &StageDecl) -> Checked {
    if let Some(resource) = &stage.resource {
        found(
            at!["stage", name, "resource"],
            exists("resource", resource, &file.resources),
        )?;
    }
    for (index, cost) in stage.cost.iter().enumerate() {
        found(at!["stage", name, "cost", index], check_cost(file, cost))?;
    }
    found(at!["stage", name, "spread"], check_spread(file, stage))?;
    for (key, period) in [("paced", &stage.paced), ("polled", &stage.polled)] {
        if let Some(period) = period {
            found(at!["stage", name, key], file.pace_ps(period))?;
        }
    }
    calibrated(file, &stage.provenance, "stage", name)
}

fn arrivals_and_tool(file: &NodeFile) -> Checked {
    if let Some(name) = &file.arrivals.burst {
        let burst = file.count(name).and_then(|n| {
            if n == 0 {
                Err("a burst has at least 1 frame; fix: name a parameter from 1".to_owned())
            } else {
                Ok(n)
            }
        });
        found(at!["arrivals", "burst"], burst)?;
    }
    if let Some(name) = &file.arrivals.lost_before {
        found(at!["arrivals", "lost_before"], file.ratio(name))?;
    }
    if let Some(name) = &file.tool.min_datagram {
        found(at!["tool", "min_datagram"], file.bytes(name))?;
    }
    if let Some(name) = &file.tool.first_id {
        found(at!["tool", "first_id"], file.count(name))?;
    }
    Ok(())
}

/// A trial to try a path with: at full speed, over the node's link or one of 1 Gbit/s.
fn typical(file: &NodeFile, framing: Framing, frame_bytes: u32, direction: Direction) -> Trial {
    Trial {
        link_bits_per_s: file.link.is_none().then_some(1_000_000_000),
        ..Trial::new(
            framing,
            direction,
            Size::new(SizeUnit::Frame, frame_bytes),
            Load::Max,
            Extent::Frames { frames: 1 },
        )
    }
}

/// Builds a trial on each path: it must give a valid net or a clean error.
pub(super) fn try_every_path(file: &NodeFile) {
    for path in &file.paths {
        for layer in &path.layers {
            let framing = Framing {
                layer: *layer,
                vlan_tags: 1,
            };
            let mut trial = typical(file, framing, 300, path.direction);
            trial.ports = file.ports;
            trial.load = Load::LinkShare { percent: 10.0 };
            let Ok(instance) = file.instance(&trial) else {
                continue;
            };
            let net = &instance.net;
            assert_eq!(
                (net.stages.len(), net.places.len()),
                (instance.origins.len(), instance.rooms.len())
            );
            assert!(
                net.places
                    .iter()
                    .all(|p| p.from < net.stages.len() && p.to < net.stages.len())
            );
        }
    }
}
