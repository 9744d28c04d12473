//! Builds the net: the stages of each port form chains, joined by places.

use std::collections::BTreeMap;
use std::ops::Range;

use wirelab_trial::Direction;

use super::choose::Choice;
use super::{BuildError, ChainInfo, CpuLoad, LatencySpan, Probe, Setting, StageOrigin, cost};
use crate::file::{Edge, NodeFile, PathDecl, StageDecl, StageEdge};
use wirelab_sim::net::{Chain, Net, OnMissing, Place, Resource, Stage, Trigger};

/// A net under construction.
pub(super) struct Build<'a> {
    pub file: &'a NodeFile,
    pub setting: &'a Setting,
    pub built: Built,
    /// Indices of resources by name and port; shared ones have port 0.
    resources: BTreeMap<(&'a str, u32), usize>,
}

/// The result of a build.
#[derive(Default)]
pub(super) struct Built {
    pub net: Net,
    pub chains: Vec<ChainInfo>,
    pub origins: Vec<StageOrigin>,
    pub rooms: Vec<Option<String>>,
}

/// The stages of one path on one port.
struct Leg<'a> {
    path: &'a PathDecl,
    stages: Range<usize>,
}

impl Leg<'_> {
    /// Index in the net of a stage of the path.
    fn stage(&self, name: &str) -> Result<usize, BuildError> {
        let at = self.path.stages.iter().position(|stage| stage == name);
        at.map(|at| self.stages.start + at).ok_or_else(|| {
            BuildError::Model(format!(
                "the path '{}' has no stage '{name}'",
                self.path.name
            ))
        })
    }

    fn at(&self, at: &StageEdge) -> Result<(usize, Edge), BuildError> {
        Ok((self.stage(&at.stage)?, at.edge))
    }
}

impl<'a> Build<'a> {
    pub fn new(file: &'a NodeFile, setting: &'a Setting) -> Build<'a> {
        Build {
            file,
            setting,
            built: Built::default(),
            resources: BTreeMap::new(),
        }
    }

    /// The chains of one port.
    pub fn port(&mut self, port: u32, choice: &Choice) -> Result<(), BuildError> {
        match *choice {
            Choice::One(path) => self.chain(port, self.path(path)?.direction, &[path], false),
            Choice::Both { transmit, receive } => {
                self.chain(port, Direction::Transmit, &[transmit], true)?;
                self.chain(port, Direction::Receive, &[receive], true)
            }
            Choice::Echo { transmit, receive } => {
                self.chain(port, Direction::Echo, &[receive, transmit], true)
            }
        }
    }

    /// The net, if tokens can move in it.
    pub fn finish(self) -> Result<Built, BuildError> {
        let checked = self.built.net.check();
        checked.map_err(|e| BuildError::Model(e.to_string()))?;
        Ok(self.built)
    }

    fn path(&self, index: usize) -> Result<&'a PathDecl, BuildError> {
        let gone = || BuildError::Model(format!("the file has no path {index}"));
        self.file.paths.get(index).ok_or_else(gone)
    }

    fn chain(
        &mut self,
        port: u32,
        direction: Direction,
        paths: &[usize],
        both: bool,
    ) -> Result<(), BuildError> {
        let name = format!("port {port} {direction}");
        let source = self.source(port, direction, paths)?;
        let mut stages: Vec<usize> = source.into_iter().collect();
        let legs = self.legs(port, paths, both)?;
        stages.extend(legs.iter().flat_map(|leg| leg.stages.clone()));
        self.places(&stages, &legs)?;
        if source.is_none() && !self.takes_time(&legs)? {
            return Err(BuildError::Model(
                "no stage that holds frames back takes any time, so the node would send without end; fix: give one a cost"
                    .to_owned(),
            ));
        }
        let (Some(first), Some(last)) = (legs.first(), legs.last()) else {
            return Err(BuildError::Model(format!("the chain {name} has no path")));
        };
        let wire_in = if legs.len() > 1 {
            Some(first.stage(&first.path.wire)?)
        } else {
            None
        };
        let (points, probes) = self.points_and_probes(&legs)?;
        let info = ChainInfo {
            name: name.clone(),
            direction,
            port,
            paths: paths.to_vec(),
            stages: stages.clone(),
            source,
            wire: last.stage(&last.path.wire)?,
            wire_in,
            spans: last.path.spans,
            points,
            probes,
            load: self.load(port, &legs)?,
            busy_wait: legs.iter().any(|leg| leg.path.busy_wait),
            limit_unknown: legs.iter().any(|leg| leg.path.limit_unknown),
        };
        self.built.net.chains.push(Chain { name, stages });
        self.built.chains.push(info);
        Ok(())
    }

    /// The stages of each path.
    fn legs(&mut self, port: u32, paths: &[usize], both: bool) -> Result<Vec<Leg<'a>>, BuildError> {
        let mut legs = Vec::new();
        for index in paths {
            let path = self.path(*index)?;
            let start = self.built.net.stages.len();
            for stage in &path.stages {
                self.stage(port, stage, both.then_some(path.direction))?;
            }
            let stages = start..self.built.net.stages.len();
            legs.push(Leg { path, stages });
        }
        Ok(legs)
    }

    /// Places of frames come first, because a paced or polled stage takes what waits in its first input.
    fn places(&mut self, stages: &[usize], legs: &[Leg<'a>]) -> Result<(), BuildError> {
        for pair in stages.windows(2) {
            self.place("frames", (pair[0], pair[1]), None, true)?;
        }
        for leg in legs {
            for room in &leg.path.rooms {
                let ends = (leg.stage(&room.from)?, leg.stage(&room.to)?);
                self.place(&room.name, ends, Some(&room.tokens), false)?;
            }
        }
        Ok(())
    }

    /// Whether something limits the flow of frames: a stage with a cost that others wait for, by a resource or a room.
    fn takes_time(&self, legs: &[Leg<'a>]) -> Result<bool, BuildError> {
        for leg in legs {
            let mut held: Vec<usize> = leg.stages.clone().collect();
            held.retain(|stage| self.built.net.stages[*stage].resource.is_some());
            for room in &leg.path.rooms {
                held.extend(leg.stage(&room.to)?..=leg.stage(&room.from)?);
            }
            let mut stages = held.iter().map(|stage| &self.built.net.stages[*stage]);
            if stages.any(|stage| stage.cost_ps > 0 || stage.trigger != Trigger::Tokens) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Capture points and samplers of the legs.
    fn points_and_probes(
        &self,
        legs: &[Leg<'a>],
    ) -> Result<(Vec<LatencySpan>, Vec<Probe>), BuildError> {
        let (mut points, mut probes) = (Vec::new(), Vec::new());
        for leg in legs {
            for point in &leg.path.points {
                points.push(LatencySpan {
                    name: point.name.clone(),
                    from: leg.at(&point.from)?,
                    to: leg.at(&point.to)?,
                });
            }
            for probe in &leg.path.probes {
                let tick_ps = self.file.period_ps(&probe.clock);
                probes.push(Probe {
                    name: probe.name.clone(),
                    at: leg.at(&probe.at)?,
                    tick_ps: tick_ps.map_err(BuildError::Model)?,
                });
            }
        }
        Ok((points, probes))
    }

    fn load(&mut self, port: u32, legs: &[Leg<'a>]) -> Result<Option<CpuLoad>, BuildError> {
        let Some(load) = legs.iter().find_map(|leg| leg.path.load.as_ref()) else {
            return Ok(None);
        };
        let idle_ratio = match &load.idle {
            Some(name) => self.file.ratio(name).map_err(BuildError::Model)?,
            None => 0.0,
        };
        let resource = self.resource(port, &load.resource)?;
        Ok(Some(CpuLoad {
            resource,
            idle_ratio,
            idle_parameter: load.idle.clone(),
        }))
    }

    fn stage(
        &mut self,
        port: u32,
        name: &'a str,
        side: Option<Direction>,
    ) -> Result<(), BuildError> {
        let file = self.file;
        let gone = || BuildError::Model(format!("the file has no stage '{name}'"));
        let decl = file.stages.get(name).ok_or_else(gone)?;
        let in_stage = |why: String| BuildError::Model(format!("stage '{name}': {why}"));
        let costs =
            cost::lines(file, self.setting, &decl.cost, decl.scale).map_err(|e| match e {
                BuildError::Model(why) => in_stage(why),
                other => other,
            })?;
        let cost_ps = costs.iter().map(|line| line.ps).sum();
        let resource = decl
            .resource
            .as_deref()
            .map(|resource| self.resource(port, resource))
            .transpose()?;
        // A stage of both directions appears twice in the net, so its name gets the direction.
        let shown = match side {
            Some(side) if self.is_in_other_direction(name, side) => format!("{name} ({side})"),
            _ => name.to_owned(),
        };
        self.built.net.stages.push(Stage {
            name: self.named(&shown, port),
            resource,
            priority: decl.priority,
            cost_ps,
            spread: cost::spread(file, decl.spread.as_ref()).map_err(in_stage)?,
            trigger: trigger(file, decl).map_err(in_stage)?,
            on_missing: if decl.drops {
                OnMissing::Drop
            } else {
                OnMissing::Wait
            },
        });
        let parameters = decl.timing_parameters().cloned().collect();
        self.built.origins.push(StageOrigin {
            stage: Some(name.to_owned()),
            port,
            costs,
            scale: decl.scale,
            parameters,
        });
        Ok(())
    }

    fn is_in_other_direction(&self, name: &str, side: Direction) -> bool {
        self.file
            .paths
            .iter()
            .any(|path| path.direction != side && path.stages.iter().any(|stage| stage == name))
    }

    /// `name`, with the port where the trial has several.
    pub fn named(&self, name: &str, port: u32) -> String {
        if self.setting.resolved.trial.ports > 1 {
            format!("{name}#{port}")
        } else {
            name.to_owned()
        }
    }

    fn resource(&mut self, port: u32, name: &'a str) -> Result<usize, BuildError> {
        let file = self.file;
        let gone = || BuildError::Model(format!("the file has no resource '{name}'"));
        let per_port = file.resources.get(name).ok_or_else(gone)?.per_port;
        let key = (name, if per_port { port } else { 0 });
        if let Some(index) = self.resources.get(&key) {
            return Ok(*index);
        }
        let shown = if per_port {
            self.named(name, port)
        } else {
            name.to_owned()
        };
        self.built.net.resources.push(Resource { name: shown });
        let index = self.built.net.resources.len() - 1;
        self.resources.insert(key, index);
        Ok(index)
    }

    fn place(
        &mut self,
        name: &str,
        ends: (usize, usize),
        tokens: Option<&String>,
        carries_frames: bool,
    ) -> Result<(), BuildError> {
        let count = match tokens {
            Some(name) => self.file.count(name).map_err(BuildError::Model)?,
            None => 0,
        };
        let (from, to) = ends;
        self.built.net.places.push(Place {
            name: name.to_owned(),
            from,
            to,
            tokens: count,
            carries_frames,
        });
        self.built.rooms.push(tokens.cloned());
        Ok(())
    }
}

impl StageDecl {
    /// The parameters of its spread, pace and polling.
    pub(crate) fn timing_parameters(&self) -> impl Iterator<Item = &String> {
        use crate::file::SpreadDecl::{Normal, Uniform};
        let spread = self
            .spread
            .as_ref()
            .map(|(Normal(name) | Uniform(name))| name);
        spread.into_iter().chain(&self.paced).chain(&self.polled)
    }
}

fn trigger(file: &NodeFile, decl: &StageDecl) -> Result<Trigger, String> {
    let period = |name: &String| {
        let ps = file.pace_ps(name)?;
        cost::whole_ps(ps).ok_or_else(|| format!("'{name}' is beyond 1000 s; fix: lower it"))
    };
    Ok(match (&decl.paced, &decl.polled) {
        (Some(name), _) => Trigger::Paced {
            period_ps: period(name)?,
        },
        (None, Some(name)) => Trigger::Polled {
            period_ps: period(name)?,
        },
        (None, None) => Trigger::Tokens,
    })
}
