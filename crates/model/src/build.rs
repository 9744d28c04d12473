//! Makes an instance of a node file and a trial: the net of that trial, and what is needed to report it.

mod chain;
mod choose;
mod cost;
mod source;

use wirelab_trial::observation::Spans;
use wirelab_trial::{
    Direction, Link, NodeError, Resolved, SeriesName, Sizes, Trial, TrialField, Unsupported,
};
use wirelab_wire::{Size, SizeUnit};

pub(crate) use choose::{Choice, choose};
pub use cost::{CostLine, Law, MAX_COST_PS};
pub(crate) use cost::{check_cost, check_spread};

use crate::file::{Edge, NodeFile};
use wirelab_sim::net::Net;

/// The net of one trial, and where everything in it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Stages, resources and places.
    pub net: Net,
    /// The requested trial, with the sizes of the frames that are really sent and the offered frames/s.
    pub resolved: Resolved,
    /// The requested datagram in bytes, where the tool sends larger ones.
    pub raised_from: Option<u32>,
    /// Facts about each chain of the net, in its order.
    pub chains: Vec<ChainInfo>,
    /// Where each stage of the net comes from, in its order.
    pub origins: Vec<StageOrigin>,
    /// The parameter that gives the tokens of each place of the net, in its order; `None` where frames pass on.
    pub rooms: Vec<Option<String>>,
    /// The behaviour of the test tool.
    pub tool: Tool,
}

/// Facts about a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainInfo {
    /// E.g. `port 1 transmit`.
    pub name: String,
    /// Transmit, receive, or echo: receive, then transmit.
    pub direction: Direction,
    /// Number of the port, counted from 1.
    pub port: u32,
    /// Indices of the paths in the file: one, or two for an echo.
    pub paths: Vec<usize>,
    /// Its stages in the net, first to last, with the source.
    pub stages: Vec<usize>,
    /// The stage where frames come from outside at the load's rate; `None` where the node sends as fast as it can, or
    /// a TCP peer as fast as the node's window lets it.
    pub source: Option<usize>,
    /// The wire stage: on the sending side if the node sends, else on the receiving side.
    pub wire: usize,
    /// The wire on which the frames of an echo arrive.
    pub wire_in: Option<usize>,
    /// What elapsed time spans.
    pub spans: Spans,
    /// Capture points.
    pub points: Vec<LatencySpan>,
    /// Samplers.
    pub probes: Vec<Probe>,
    /// The resource and idle load that its CPU load is computed from.
    pub load: Option<CpuLoad>,
    /// Whether the CPU polls while it waits, so that its load is 100 %.
    pub busy_wait: bool,
    /// Whether the limit of its rate at full speed is unknown.
    pub limit_unknown: bool,
}

/// A latency of each frame: from one instant to a later one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencySpan {
    /// Its name.
    pub name: SeriesName,
    /// A stage of the net, and which end of it.
    pub from: (usize, Edge),
    /// A stage of the net, and which end of it.
    pub to: (usize, Edge),
}

/// A sampler that sees an instant of each frame in whole ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Its name.
    pub name: String,
    /// A stage of the net, and which end of it.
    pub at: (usize, Edge),
    /// Its tick in ps.
    pub tick_ps: f64,
}

/// The resource whose use is the CPU load.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuLoad {
    /// Index in the net.
    pub resource: usize,
    /// Load of an idle node, 0 to 1.
    pub idle_ratio: f64,
    /// The parameter with that load.
    pub idle_parameter: Option<String>,
}

/// Where a stage of the net comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct StageOrigin {
    /// Its name in the file; `None` for a source of frames.
    pub stage: Option<String>,
    /// Number of its port, counted from 1.
    pub port: u32,
    /// The terms of its cost.
    pub costs: Vec<CostLine>,
    /// Factor on its cost, set with `--set`.
    pub scale: f64,
    /// Parameters of its spread, pace and polling.
    pub parameters: Vec<String>,
}

/// The behaviour of a test tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The first identifier it uses.
    pub first_id: u64,
    /// Whether its datagrams carry the time they were sent.
    pub timestamps: bool,
    /// Time between reports of its server, in ps.
    pub interval_ps: Option<u64>,
}

/// Why a trial has no net.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The node cannot do the request.
    #[error("unsupported by this node: {0}")]
    Unsupported(#[from] Unsupported),
    /// The trial contradicts itself or a limit.
    #[error("{0}")]
    BadTrial(String),
    /// The file gives no net for this trial.
    #[error("{0}")]
    Model(String),
}

impl From<BuildError> for NodeError {
    fn from(error: BuildError) -> NodeError {
        match error {
            BuildError::Unsupported(why) => NodeError::Unsupported(why),
            BuildError::BadTrial(why) => NodeError::BadTrial(why),
            BuildError::Model(why) => NodeError::Failed(why),
        }
    }
}

impl From<NodeError> for BuildError {
    fn from(error: NodeError) -> BuildError {
        match error {
            NodeError::Unsupported(why) => BuildError::Unsupported(why),
            NodeError::BadTrial(why) => BuildError::BadTrial(why),
            NodeError::Privilege(why) | NodeError::Failed(why) => BuildError::Model(why),
        }
    }
}

pub(crate) fn unsupported(
    field: impl Into<Option<TrialField>>,
    why: impl Into<String>,
) -> BuildError {
    BuildError::Unsupported(Unsupported::of(field, why))
}

/// How this node interprets a trial, before any stage is considered.
pub(crate) struct Setting {
    pub resolved: Resolved,
    pub raised_from: Option<u32>,
    pub link_parameter: Option<String>,
}

impl NodeFile {
    /// The net of `trial` on this node.
    ///
    /// # Errors
    /// [`BuildError::Unsupported`] names the field of the trial that the node cannot do and what can be requested;
    /// [`BuildError::BadTrial`] an impossible size or load; [`BuildError::Model`] an error in the file.
    pub fn instance(&self, trial: &Trial) -> Result<Instance, BuildError> {
        let choice = choose(self, &self.with_set(trial))?;
        self.instance_of(trial, &choice)
    }

    /// As [`NodeFile::instance`], for the trial as it was requested, without the changes of `--set`.
    pub(crate) fn instance_without_set(&self, trial: &Trial) -> Result<Instance, BuildError> {
        self.instance_of(trial, &choose(self, trial)?)
    }

    /// The net of `trial` through the paths of `choice`.
    pub(crate) fn instance_of(
        &self,
        trial: &Trial,
        choice: &Choice,
    ) -> Result<Instance, BuildError> {
        let setting = self.setting(trial)?;
        let mut build = chain::Build::new(self, &setting);
        for port in 1..=trial.ports {
            build.port(port, choice)?;
        }
        let tool = self.tool()?;
        let chain::Built {
            net,
            chains,
            origins,
            rooms,
        } = build.finish()?;
        let Setting {
            resolved,
            raised_from,
            ..
        } = setting;
        Ok(Instance {
            net,
            resolved,
            raised_from,
            chains,
            origins,
            rooms,
            tool,
        })
    }

    fn setting(&self, trial: &Trial) -> Result<Setting, BuildError> {
        let sizes = trial
            .sizes()
            .map_err(|e| BuildError::BadTrial(e.to_string()))?;
        let (sizes, raised_from) = self.raise(trial, sizes)?;
        let largest = self.max_frame_bytes + 4 * u32::from(trial.framing.vlan_tags);
        if sizes.frame > largest {
            return Err(unsupported(
                TrialField::Size,
                format!(
                    "this is a frame of {} bytes with FCS, and the node's largest has {largest}; fix: request a smaller size",
                    sizes.frame
                ),
            ));
        }
        let (link, link_parameter) = match (trial.link(), &self.link) {
            (None, Some(name)) => (
                Some(self.link_rate(name).map_err(BuildError::Model)?),
                Some(name.clone()),
            ),
            _ => (None, None),
        };
        Ok(Setting {
            resolved: Resolved::of_sizes(trial, sizes, Link::Modelled(link))?,
            raised_from,
            link_parameter,
        })
    }

    /// The sizes that the tool sends, and the requested datagram where that is smaller.
    fn raise(&self, trial: &Trial, sizes: Sizes) -> Result<(Sizes, Option<u32>), BuildError> {
        use wirelab_trial::Layer::{UdpIpv4, UdpIpv6};
        let (Some(name), UdpIpv4 | UdpIpv6, Some(datagram)) =
            (&self.tool.min_datagram, trial.framing.layer, sizes.datagram)
        else {
            return Ok((sizes, None));
        };
        let least = self.bytes(name).map_err(BuildError::Model)?;
        if datagram >= least {
            return Ok((sizes, None));
        }
        let raised = Size::new(SizeUnit::Datagram, least)
            .resolve_test(trial.framing)
            .map_err(|e| BuildError::BadTrial(e.to_string()))?;
        Ok((raised, Some(datagram)))
    }

    fn tool(&self) -> Result<Tool, BuildError> {
        let first_id = match &self.tool.first_id {
            Some(name) => self.count(name).map_err(BuildError::Model)?,
            None => 0,
        };
        Ok(Tool {
            first_id: first_id.into(),
            timestamps: self.tool.timestamps,
            interval_ps: self.tool.interval_ps,
        })
    }
}
