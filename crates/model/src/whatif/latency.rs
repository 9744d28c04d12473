//! Mean latency at capture points, of one frame at a time or at the trial's load.

use wirelab_trial::{Direction, Load, Trial};

use crate::build::{BuildError, ChainInfo, Instance, Point};
use crate::file::{Edge, NodeFile};
use crate::net::{Net, Spread, Trigger};
use crate::predict::latency::alone;
use crate::sim::{Ask, Watch, simulate};

use super::solve::SEED;

/// Frames whose latency is taken where it scatters, as the Zynq document does.
const SAMPLES: u64 = 512;
/// Frames where one is like the other.
const ALIKE: u64 = 2;

/// A mean time, and between which instants.
pub(crate) struct Delay {
    pub mean_ps: f64,
    pub span: String,
}

/// The mean at each capture point of `instance`, by name; points of several ports count as one.
pub fn points(
    file: &NodeFile,
    trial: &Trial,
    instance: &Instance,
) -> Result<Vec<(String, f64)>, BuildError> {
    if instance.chains.iter().all(|chain| chain.points.is_empty()) {
        return Ok(Vec::new());
    }
    let alone = alone(file, trial, instance, SAMPLES)?;
    let instance = alone.as_ref().unwrap_or(instance);
    let points: Vec<&Point> = instance.chains.iter().flat_map(|c| &c.points).collect();
    let ends = points.iter().map(|point| (point.from, point.to));
    let means = means(instance, ends.collect(), trial)?;
    let mut out: Vec<(String, f64)> = Vec::new();
    for (point, mean) in points.iter().zip(means) {
        if out.iter().all(|(name, _)| *name != point.name) {
            out.extend(mean.map(|mean| (point.name.clone(), mean)));
        }
    }
    Ok(out)
}

/// What the node itself takes for one frame at a time: the longest of the capture points that leave the wire out, else
/// all stages behind the wire (receive) or before it (transmit).
///
/// # Errors
/// As [`NodeFile::instance`].
pub(crate) fn delay(file: &NodeFile, trial: &Trial) -> Result<Delay, BuildError> {
    let instance = file.instance(trial)?;
    let instance = alone(file, trial, &instance, SAMPLES)?.unwrap_or(instance);
    let Some(chain) = instance.chains.first() else {
        return Err(BuildError::Model("the net has no chain".to_owned()));
    };
    let mut spans: Vec<_> = chain
        .points
        .iter()
        .filter(|point| leaves_wire_out(chain, point))
        .map(|point| {
            (
                format!("capture point {}", point.name),
                point.from,
                point.to,
            )
        })
        .collect();
    if spans.is_empty() {
        let own: Vec<usize> = chain
            .stages
            .iter()
            .copied()
            .filter(|stage| Some(*stage) != chain.source)
            .collect();
        let name = |stage: usize| &instance.net.stages[stage].name;
        let (first, last) = (own[0], own[own.len() - 1]);
        spans.push(if trial.direction == Direction::Transmit {
            (
                format!("{} start to {} start", name(first), name(chain.wire)),
                (first, Edge::Start),
                (chain.wire, Edge::Start),
            )
        } else {
            (
                format!("{} end to {} end", name(chain.wire), name(last)),
                (chain.wire, Edge::End),
                (last, Edge::End),
            )
        });
    }
    let means = means(
        &instance,
        spans.iter().map(|(_, from, to)| (*from, *to)).collect(),
        trial,
    )?;
    let found = spans.into_iter().zip(means);
    let longest = found
        .filter_map(|((span, ..), mean)| {
            Some(Delay {
                mean_ps: mean?,
                span,
            })
        })
        .max_by(|a, b| a.mean_ps.total_cmp(&b.mean_ps));
    longest.ok_or_else(|| BuildError::Model("no frame got through the model".to_owned()))
}

/// Whether the time of a point has no wire in it.
fn leaves_wire_out(chain: &ChainInfo, point: &Point) -> bool {
    let position = |(stage, edge): (usize, Edge)| {
        let at = chain.stages.iter().position(|s| *s == stage).unwrap_or(0);
        2 * at + usize::from(edge == Edge::End)
    };
    let wire = (
        position((chain.wire, Edge::Start)),
        position((chain.wire, Edge::End)),
    );
    position(point.to) <= wire.0 || position(point.from) >= wire.1
}

type Ends = ((usize, Edge), (usize, Edge));

fn means(
    instance: &Instance,
    spans: Vec<Ends>,
    trial: &Trial,
) -> Result<Vec<Option<f64>>, BuildError> {
    let alike = trial.load == Load::Max && all_alike(&instance.net);
    let ask = Ask {
        seed: SEED,
        watches: spans
            .into_iter()
            .map(|(from, to)| Watch { from, to })
            .collect(),
        ..Ask::frames(&instance.net, if alike { ALIKE } else { SAMPLES })
    };
    let run =
        simulate(&instance.net, &ask).map_err(|error| BuildError::Model(error.to_string()))?;
    let mean = |kept: &Vec<u64>| {
        let sum: f64 = kept.iter().map(|ps| *ps as f64).sum();
        (!kept.is_empty()).then(|| sum / kept.len() as f64)
    };
    Ok(run.samples.iter().map(|s| mean(&s.kept_ps)).collect())
}

/// Whether a frame that is alone takes as long as the next one.
fn all_alike(net: &Net) -> bool {
    net.stages.iter().all(|stage| {
        stage.spread == Spread::None
            && !matches!(
                stage.trigger,
                Trigger::Paced { .. } | Trigger::Polled { .. }
            )
    })
}
