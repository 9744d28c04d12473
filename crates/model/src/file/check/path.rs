//! Checks a path: its stages exist, its rooms bound it, and a net can be built of it.

use wirelab_trial::{Direction, Framing};

use super::super::{Edge, NodeFile, PathDecl, StageDecl, StageEdge, missing};
use super::{Checked, KeyOrItem, Problem, exists, found, typical};
use crate::build::{BuildError, Choice};

/// Checks the path with this index.
pub(super) fn path(file: &NodeFile, index: usize, path: &PathDecl) -> Checked {
    for (item, stage) in path.stages.iter().enumerate() {
        found(
            at!["path", index, "stages", item],
            exists("stage", stage, &file.stages),
        )?;
        if path.stages[..item].contains(stage) {
            let what = format!(
                "the path names '{stage}' twice; fix: declare another stage for the second"
            );
            return Err(Problem {
                at: at!["path", index, "stages", item],
                what,
            });
        }
    }
    found(at!["path", index, "wire"], of_path(path, &path.wire))?;
    if let Some(load) = &path.load {
        found(
            at!["path", index, "load", "resource"],
            exists("resource", &load.resource, &file.resources),
        )?;
        if let Some(idle) = &load.idle {
            found(at!["path", index, "load", "idle"], file.ratio(idle))?;
        }
    }
    for (item, room) in path.rooms.iter().enumerate() {
        found(
            at!["path", index, "room", item, "from"],
            of_path(path, &room.from),
        )?;
        found(
            at!["path", index, "room", item, "to"],
            of_path(path, &room.to),
        )?;
        found(
            at!["path", index, "room", item, "tokens"],
            file.count(&room.tokens),
        )?;
    }
    for (item, point) in path.points.iter().enumerate() {
        let from = found(
            at!["path", index, "point", item, "from"],
            instant(path, &point.from),
        )?;
        let to = found(
            at!["path", index, "point", item, "to"],
            instant(path, &point.to),
        )?;
        if to <= from {
            let what = "it is not after 'from' on the path; fix: swap the two".to_owned();
            return Err(Problem {
                at: at!["path", index, "point", item, "to"],
                what,
            });
        }
    }
    for (item, probe) in path.probes.iter().enumerate() {
        found(
            at!["path", index, "probe", item, "at"],
            instant(path, &probe.at),
        )?;
        found(
            at!["path", index, "probe", item, "clock"],
            file.period_ps(&probe.clock),
        )?;
    }
    bounded(file, index, path)?;
    instances(file, index, path)
}

fn of_path(path: &PathDecl, stage: &str) -> Result<(), String> {
    if path.stages.iter().any(|s| s == stage) {
        Ok(())
    } else {
        Err(missing("stage of this path", stage, path.stages.iter()))
    }
}

fn instant(path: &PathDecl, at: &StageEdge) -> Result<(usize, Edge), String> {
    of_path(path, &at.stage)?;
    Ok((
        path.stages.iter().position(|s| *s == at.stage).unwrap_or(0),
        at.edge,
    ))
}

/// Something must limit a node that sends as fast as it can, or frames pile up before the wire.
fn bounded(file: &NodeFile, index: usize, path: &PathDecl) -> Checked {
    if path.direction != Direction::Transmit {
        return Ok(());
    }
    let position = |name: &str| path.stages.iter().position(|s| s == name).unwrap_or(0);
    let wire = position(&path.wire);
    // Frames lead from a stage to every later one, rooms lead back. The first stage that the wire holds back:
    let mut first = wire;
    loop {
        let reached = path
            .rooms
            .iter()
            .filter(|room| position(&room.from) >= first)
            .map(|room| position(&room.to))
            .min();
        match reached {
            Some(to) if to < first => first = to,
            _ => break,
        }
    }
    let Some(start) = path.stages.first() else {
        let what = "a path has at least one stage; fix: write stages = [\"NAME\", ...]".to_owned();
        return Err(Problem {
            at: at!["path", index, "stages"],
            what,
        });
    };
    // A wire that is the first stage is limited by its own resource or by a room.
    let held = |stage: &StageDecl| {
        stage.resource.is_some() || path.rooms.iter().any(|room| room.to == *start)
    };
    if first == 0 && (wire > 0 || file.stages.get(start).is_some_and(held)) {
        return Ok(());
    }
    let wire = &path.wire;
    let what = format!(
        "in '{}' nothing holds '{start}' back while '{wire}' is busy, so frames pile up between them; fix: add a [[path.room]] \
         that leads from '{wire}' to '{start}' with the descriptors or buffers there are",
        path.name
    );
    Err(Problem {
        at: at!["path", index],
        what,
    })
}

/// Each path must give a net for its layers at a small and a large frame, so that errors appear when the file is read.
fn instances(file: &NodeFile, index: usize, path: &PathDecl) -> Checked {
    for layer in &path.layers {
        let framing = Framing {
            layer: *layer,
            vlan_tags: 0,
        };
        for frame_bytes in [framing.min_test_frame(), file.max_frame_bytes] {
            let trial = typical(file, framing, frame_bytes, path.direction);
            match file.instance_of(&trial, &Choice::One(index)) {
                Ok(_) => {}
                Err(BuildError::Model(what)) => {
                    let what = format!("in '{}': {what}", path.name);
                    return Err(Problem {
                        at: at!["path", index],
                        what,
                    });
                }
                Err(other) => {
                    let (name, size) = (&path.name, trial.size.bytes);
                    let what = format!("in '{name}', with frames of {size} bytes: {other}");
                    return Err(Problem {
                        at: at!["path", index],
                        what,
                    });
                }
            }
        }
    }
    Ok(())
}
