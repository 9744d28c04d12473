//! The packet roofline: the most that the link and each resource let through, by the costs of a packet and of a byte.

use wirelab_trial::explanation::{Ceiling, CeilingLaw, Roofline, RooflinePoint};
use wirelab_trial::{Framing, Layer, Load, Size, SizeUnit, Trial};
use wirelab_wire::LineRate;

use super::{ExplainError, brief};
use crate::build::Instance;
use crate::file::NodeFile;

/// Payloads of Ethernet frames on every roofline, from the smallest frame to the largest.
const PAYLOADS: [u32; 7] = [46, 64, 128, 256, 512, 1024, 1500];
/// Datagrams on every roofline. The largest is that of UDP over IPv4; layers with larger headers omit it.
const DATAGRAMS: [u32; 7] = [18, 64, 128, 256, 512, 1024, 1472];
/// Steps of a curve between its smallest and its largest size.
const STEPS: u32 = 32;
/// A size within this factor of the requested one is left out.
const APART: f64 = 1.08;
/// A cost of each byte below this share of a whole frame's cost is rounding, not a law.
const BYTE_SHARE: f64 = 1e-3;

/// Bit/s of a node over all sizes, in the framing, direction and buffers of `trial` at the highest load.
///
/// # Errors
/// [`ExplainError`] where the node cannot run the trial itself; sizes that it cannot run are left out.
pub(super) fn roofline(file: &NodeFile, trial: &Trial) -> Result<Roofline, ExplainError> {
    let own = file.instance(trial)?;
    let unit = unit(trial.framing);
    let own_bytes = bytes(&own.resolved.sizes, unit);
    let usual = match unit {
        SizeUnit::Datagram => DATAGRAMS,
        _ => PAYLOADS,
    };
    let apart = |size: &u32| {
        let factor = f64::from((*size).max(own_bytes)) / f64::from((*size).min(own_bytes).max(1));
        factor > APART
    };
    let mut sizes: Vec<u32> = usual.into_iter().filter(apart).collect();
    sizes.push(own_bytes);
    let mut points: Vec<RooflinePoint> = Vec::new();
    let mut instances: Vec<Instance> = Vec::new();
    for size in sizes {
        let sized = Trial {
            size: Size::new(unit, size),
            load: Load::Max,
            ..trial.clone()
        };
        let Ok(instance) = file.instance(&sized) else {
            continue;
        };
        // A tool that raises small datagrams gives the same frame for several sizes.
        let size = bytes(&instance.resolved.sizes, unit);
        if points.iter().any(|p| p.bytes == size) {
            continue;
        }
        let brief = brief(file, &instance)?;
        points.push(RooflinePoint {
            bytes: size,
            bits_per_s: brief.frames_per_s * 8.0 * f64::from(size),
            kind: brief.kind,
            direction: trial.direction,
            limited_by: brief.limited_by,
        });
        instances.push(instance);
    }
    points.sort_by_key(|p| p.bytes);
    instances.sort_by_key(|i| i.resolved.sizes.frame);
    let grid = grid(points.iter().map(|p| p.bytes));
    let mut ceilings: Vec<Ceiling> = own
        .resolved
        .link
        .map(|link| wire(trial.framing, unit, link, &grid))
        .into_iter()
        .collect();
    if let (Some(small), Some(large)) = (instances.first(), instances.last()) {
        ceilings.extend(resources(small, large, unit, &grid));
    }
    Ok(Roofline {
        unit,
        ceilings,
        points,
    })
}

/// The size that a roofline counts.
pub(super) fn unit(framing: Framing) -> SizeUnit {
    match framing.layer {
        Layer::Ethernet => SizeUnit::Payload,
        _ => SizeUnit::Datagram,
    }
}

/// Bytes of that size.
pub(super) fn bytes(sizes: &wirelab_wire::Sizes, unit: SizeUnit) -> u32 {
    match unit {
        SizeUnit::Datagram => sizes.datagram.unwrap_or(sizes.payload),
        _ => sizes.payload,
    }
}

/// Sizes of a curve: those of the points, and even factors between.
pub(super) fn grid(points: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut sizes: Vec<u32> = points.collect();
    let (Some(least), Some(most)) = (sizes.iter().min().copied(), sizes.iter().max().copied())
    else {
        return sizes;
    };
    let factor = f64::from(most) / f64::from(least.max(1));
    let between = |n: u32| f64::from(least) * factor.powf(f64::from(n) / f64::from(STEPS));
    sizes.extend((1..STEPS).map(|n| between(n).round() as u32));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The rate of data that the link carries at each size.
pub(super) fn wire(framing: Framing, unit: SizeUnit, link: LineRate, grid: &[u32]) -> Ceiling {
    let curve = grid.iter().filter_map(|size| {
        let sizes = Size::new(unit, *size).resolve(framing).ok()?;
        Some((*size, link.frames_per_s(&sizes) * 8.0 * f64::from(*size)))
    });
    Ceiling {
        name: "wire".to_owned(),
        law: CeilingLaw::Wire,
        cost_ps: 0.0,
        curve: curve.collect(),
    }
}

/// The ceiling of a cost of each packet.
pub(super) fn per_packet(name: &str, cost_ps: f64, grid: &[u32]) -> Ceiling {
    let curve = grid
        .iter()
        .map(|size| (*size, f64::from(*size) * 8e12 / cost_ps));
    Ceiling {
        name: name.to_owned(),
        law: CeilingLaw::PerPacket,
        cost_ps,
        curve: curve.collect(),
    }
}

/// The ceiling of a cost of each byte.
pub(super) fn per_byte(name: &str, cost_ps: f64, grid: &[u32]) -> Ceiling {
    let curve = grid.iter().map(|size| (*size, 8e12 / cost_ps));
    Ceiling {
        name: name.to_owned(),
        law: CeilingLaw::PerByte,
        cost_ps,
        curve: curve.collect(),
    }
}

/// Ceilings of the resources that the first flow uses. The smallest and the largest size give the cost of a frame and
/// of each byte.
fn resources(small: &Instance, large: &Instance, unit: SizeUnit, grid: &[u32]) -> Vec<Ceiling> {
    let (s, l) = (
        bytes(&small.resolved.sizes, unit),
        bytes(&large.resolved.sizes, unit),
    );
    let mut out = Vec::new();
    for resource in used(large) {
        let (least, most) = (cost(small, resource), cost(large, resource));
        let mut each = if l > s {
            (most - least) / f64::from(l - s)
        } else {
            0.0
        };
        if each * f64::from(l) < BYTE_SHARE * most {
            each = 0.0;
        }
        let constant = least - each * f64::from(s);
        let name = &large.net.resources[resource].name;
        if constant > BYTE_SHARE * most {
            out.push(per_packet(name, constant, grid));
        }
        if each > 0.0 {
            out.push(per_byte(name, each, grid));
        }
    }
    out
}

/// Resources of the first flow except wires, in the order of its stages.
fn used(instance: &Instance) -> Vec<usize> {
    let mut out = Vec::new();
    let Some(chain) = instance.chains.first() else {
        return out;
    };
    let wires: Vec<usize> = [Some(chain.wire), chain.wire_in]
        .into_iter()
        .flatten()
        .collect();
    for stage in chain.stages.iter().filter(|stage| !wires.contains(stage)) {
        if let Some(resource) = instance.net.stages[*stage].resource {
            if !out.contains(&resource) && cost(instance, resource) > 0.0 {
                out.push(resource);
            }
        }
    }
    out
}

/// What one frame of every flow costs a resource, in ps.
fn cost(instance: &Instance, resource: usize) -> f64 {
    let stages = instance
        .net
        .stages
        .iter()
        .filter(|stage| stage.resource == Some(resource));
    stages.map(|stage| stage.cost_ps as f64).sum()
}
