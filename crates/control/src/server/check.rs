//! Checks a trial before its start: the node's capabilities, its limits, and the allowed destinations.

use wirelab_trial::Direction;
use wirelab_wire::{Framing, Layer, SizeError, SizeUnit};

use super::Peer;
use crate::message::{Identity, Start};
use crate::refusal::Refusal;
use crate::value::{Extent, Load, Path, Traffic};

/// Checks a start and returns the latest end of the trial in picoseconds after its start.
///
/// # Errors
/// [`Refusal`] names the field, and the limit, if any.
pub fn check_start(start: &Start, node: &Identity, peer: Peer) -> Result<u64, Refusal> {
    capabilities(start, node)?;
    sizes(start, node)?;
    amounts(start, node)?;
    destination(start, peer)?;
    let requested_ps = match start.extent {
        Extent::TimePs(time) => time,
        Extent::Frames(_) => node.max_time_ps,
    };
    Ok(start.limit_ps.unwrap_or(requested_ps).min(node.max_time_ps))
}

fn among<T: PartialEq>(field: &str, wanted: &T, can: &[T]) -> Result<(), Refusal> {
    if can.contains(wanted) {
        Ok(())
    } else {
        Err(Refusal::unsupported(
            field,
            "see hello for what can be requested",
        ))
    }
}

fn capabilities(start: &Start, node: &Identity) -> Result<(), Refusal> {
    among("direction", &start.direction, &node.directions)?;
    among("layer", &start.layer, &node.layers)?;
    among("traffic", &start.traffic.unwrap_or_default(), &node.traffic)?;
    among("path", &start.path.unwrap_or_default(), &node.paths)?;
    if let Some(buffers) = &start.buffers {
        among("buffers", buffers, &node.buffers)?;
    }
    if start.capture_unit.is_some() {
        let why = "this node has no capture unit in hardware";
        return Err(Refusal::unsupported("capture_unit", why));
    }
    if start.traffic == Some(Traffic::Iperf2) && start.layer == Layer::Ethernet {
        return Err(Refusal::unsupported("traffic", "iperf needs UDP or TCP"));
    }
    Ok(())
}

fn sizes(start: &Start, node: &Identity) -> Result<(), Refusal> {
    let vlan_tags = start.vlan_tags.unwrap_or(0);
    if vlan_tags > 2 {
        return Err(Refusal::limit("vlan_tags", 2));
    }
    let Some(size) = start.size else {
        return match sends_unasked(start.direction) {
            true => Err(Refusal::missing("frame_bytes")),
            false => Ok(()),
        };
    };
    // A write to a TCP connection has no frame of its own.
    if start.layer.is_tcp() && size.unit == SizeUnit::Datagram {
        return Ok(());
    }
    let framing = Framing {
        layer: start.layer,
        vlan_tags,
    };
    let resolved = match start.traffic.unwrap_or_default() {
        Traffic::Test => size.resolve_test(framing),
        Traffic::Iperf2 => size.resolve(framing),
    };
    let field = format!("{}_bytes", size.unit.name());
    let frame = match resolved {
        Ok(sizes) => sizes.frame,
        Err(SizeError::TooSmall { min, .. }) => return Err(Refusal::limit(&field, u64::from(min))),
        Err(SizeError::TooLarge { max, .. }) => return Err(Refusal::limit(&field, u64::from(max))),
        Err(other) => return Err(Refusal::unsupported(&field, &other.to_string())),
    };
    let bound = frame.clamp(
        node.min_frame_bytes,
        node.max_frame_bytes.max(node.min_frame_bytes),
    );
    if bound != frame {
        return Err(Refusal::limit(
            &field,
            (u64::from(size.bytes) + u64::from(bound)).saturating_sub(u64::from(frame)),
        ));
    }
    Ok(())
}

/// Whether the node sends without receiving.
const fn sends_unasked(direction: Direction) -> bool {
    matches!(direction, Direction::Transmit | Direction::Both)
}

fn at_most(field: &str, value: u64, limit: u64) -> Result<(), Refusal> {
    if (1..=limit).contains(&value) {
        return Ok(());
    }
    Err(Refusal::limit(field, if value == 0 { 1 } else { limit }))
}

fn amounts(start: &Start, node: &Identity) -> Result<(), Refusal> {
    match start.extent {
        Extent::Frames(frames) => at_most("frames", frames, node.max_frames)?,
        Extent::TimePs(time) => at_most("time_ps", time, node.max_time_ps)?,
    }
    if let Some(limit) = start.limit_ps {
        at_most("limit_ps", limit, node.max_time_ps)?;
    }
    at_most(
        "ports",
        u64::from(start.ports.unwrap_or(1)),
        u64::from(node.ports),
    )?;
    if start.captures.is_some_and(|n| n > node.max_captures) {
        return Err(Refusal::limit("captures", u64::from(node.max_captures)));
    }
    match start.load {
        None if sends_unasked(start.direction) => Err(Refusal::missing("load")),
        Some(Load::LinkPpm(ppm)) => at_most("load_ppm", u64::from(ppm), 1_000_000),
        Some(Load::MilliframesPerS(n)) => at_most("load_milliframes_per_s", n, u64::MAX),
        Some(Load::BitsPerS(n)) => at_most("load_bits_per_s", n, u64::MAX),
        None | Some(Load::Max | Load::GapBytes(_)) => Ok(()),
    }
}

/// Generated traffic goes only to the requesting peer.
fn destination(start: &Start, peer: Peer) -> Result<(), Refusal> {
    if start.path == Some(Path::Loopback) {
        return Ok(());
    }
    if start.peer_mac.is_some_and(|mac| !mac.is_individual()) {
        return Err(Refusal::peer(
            "peer_mac",
            "must be the address of one station",
        ));
    }
    match peer {
        Peer::Host(host)
            if start
                .peer_ip
                .is_some_and(|ip| ip.to_canonical() != host.to_canonical()) =>
        {
            Err(Refusal::peer(
                "peer_ip",
                "traffic goes only to the requesting address",
            ))
        }
        Peer::Host(_) => Ok(()),
        Peer::Serial(_) if start.direction == Direction::Receive => Ok(()),
        Peer::Serial(_) if start.layer == Layer::Ethernet => {
            if start.peer_mac.is_some() {
                Ok(())
            } else {
                Err(Refusal::missing("peer_mac"))
            }
        }
        Peer::Serial(_) => match start.peer_ip {
            None => Err(Refusal::missing("peer_ip")),
            Some(ip) if ip.is_multicast() || ip.is_unspecified() || is_broadcast(ip) => {
                Err(Refusal::peer("peer_ip", "must be the address of one host"))
            }
            Some(_) => Ok(()),
        },
    }
}

const fn is_broadcast(ip: std::net::IpAddr) -> bool {
    matches!(ip, std::net::IpAddr::V4(v4) if v4.is_broadcast())
}
