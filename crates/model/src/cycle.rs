//! The shortest cycle of a fieldbus of identical nodes: with individual frames, and with one summation frame that each
//! node forwards. The minimum cycle time is a performance indicator of IEC 61784-2.
//!
//! With individual frames (as PROFINET RT) the controller's link carries one frame to each node, and at the same time
//! one from each: `T = N (max(64, d + headers) + 20) 8 / R`. A summation frame (as EtherCAT) carries the data of all:
//! `T = Σ (max(64, 18 + 2 + 12 + Σ d) + 20) 8 / R + N t_forward`. The sum is over as many frames as are needed, each of
//! at most 1518 bytes. Both include the node's time to receive and to send once: nodes work at the same time, and the
//! cycle waits for the last.

use wirelab_trial::cycle::{CycleTerm, CycleTime, CycleTimes, NodeDelay};
use wirelab_trial::{Direction, Extent, Field, Kind, Load, Trial, format};
use wirelab_wire::{Framing, Layer, LineRate, Overhead, Size, SizeUnit, Sizes};

use crate::build::BuildError;
use crate::file::{ArrivalsDecl, NodeFile};
use crate::whatif::{Delay, delay};

/// Bytes of a summation frame beside the cyclic data: Ethernet header and FCS 18, EtherCAT header 2, datagram header
/// and working counter 12 (IEC 61158-4-12).
pub const SUMMATION_HEADERS: u32 = 18 + 2 + 12;
/// Largest frame without tags, in bytes with FCS (IEEE 802.3).
const LARGEST_FRAME: u32 = 1518;
/// Most nodes of a cycle: the 16-bit addresses of a segment.
pub const MAX_NODES: u32 = 65_535;
/// Longest time to forward a frame: 1 s.
const MAX_FORWARD_PS: u64 = 1_000_000_000_000;

/// Why there is no cycle time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CycleError {
    /// Not a number of nodes.
    #[error("a cycle of {0} nodes; fix: ask for 1 to {MAX_NODES}")]
    Nodes(u32),
    /// Data that do not fit a frame.
    #[error("{bytes} bytes of data for each node do not fit; fix: write 1 to {most}")]
    Data {
        /// The requested bytes.
        bytes: u32,
        /// The largest that fits.
        most: u32,
    },
    /// An implausible time to forward a frame.
    #[error("a node that forwards a frame in {forward_ps} ps; fix: write at most 1 s")]
    Forward {
        /// The requested time in ps.
        forward_ps: u64,
    },
    /// The layer is TCP, which has no cyclic frames.
    #[error(
        "cyclic data go in Ethernet frames or UDP datagrams; fix: choose the layer ethernet, udp4 or udp6"
    )]
    Layer,
    /// Neither the trial nor the node file has a link rate.
    #[error("this node has no link rate of its own; fix: give it with --rate, e.g. --rate 100M")]
    NoLinkRate,
    /// The node file gives no net.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The shortest cycles of `nodes` nodes like `file`, each with `data_bytes` of cyclic data in each direction; each
/// forwards a summation frame in `forward_ps`. `trial` gives the layer, the VLAN tags, the buffers and the link's rate.
///
/// # Errors
/// [`CycleError`] names the impossible value and what is possible.
pub fn minimum_cycle(
    file: &NodeFile,
    trial: &Trial,
    nodes: u32,
    data_bytes: u32,
    forward_ps: u64,
) -> Result<CycleTimes, CycleError> {
    if nodes == 0 || nodes > MAX_NODES {
        return Err(CycleError::Nodes(nodes));
    }
    if forward_ps > MAX_FORWARD_PS {
        return Err(CycleError::Forward { forward_ps });
    }
    let link = link(file, trial)?;
    let sizes = individual_sizes(trial.framing, data_bytes)?;
    let (receive, transmit) = delays(file, trial, &sizes)?;
    let of_node = match (receive.mean_ps.value(), transmit.mean_ps.value()) {
        (Some(receive), Some(transmit)) => Field::Observed {
            value: receive.saturating_add(*transmit),
            kind: Kind::Predicted,
        },
        _ => Field::absent("the model has only one direction of the node"),
    };
    let data = u64::from(nodes) * u64::from(data_bytes);
    let with_node = |frames, link_bytes, terms: Vec<CycleTerm>| {
        let cycle_ps = terms.iter().map(|term| term.time_ps).sum();
        CycleTime {
            frames,
            link_bytes,
            efficiency_ratio: data as f64 / link_bytes as f64,
            terms,
            cycle_ps,
            cycle_with_node_ps: of_node.clone().map(|ps| cycle_ps + ps),
        }
    };
    let (frames, link_bytes, terms) = individual(&sizes, link, nodes);
    let individual = with_node(frames, link_bytes, terms);
    let (frames, link_bytes, mut terms) = summation(link, nodes, data_bytes)?;
    terms.push(CycleTerm {
        what: format!(
            "{} x {} to forward it",
            format::count(nodes.into(), "node"),
            format::time(forward_ps)
        ),
        time_ps: u64::from(nodes) * forward_ps,
    });
    let summation = with_node(frames, link_bytes, terms);
    let notes = notes(&receive, &transmit, link, forward_ps);
    Ok(CycleTimes {
        node: file.name.clone(),
        title: file.title.clone(),
        nodes,
        data_bytes,
        framing: trial.framing,
        frame_bytes: sizes.frame,
        link_bits_per_s: link.bits_per_s(),
        forward_ps,
        receive,
        transmit,
        individual,
        summation,
        notes,
    })
}

fn link(file: &NodeFile, trial: &Trial) -> Result<LineRate, CycleError> {
    match (trial.link(), &file.link) {
        (Some(link), _) => Ok(link),
        (None, Some(name)) => file
            .link_rate(name)
            .map_err(|why| CycleError::Build(BuildError::Model(why))),
        (None, None) => Err(CycleError::NoLinkRate),
    }
}

/// The frame with the data of one node.
fn individual_sizes(framing: Framing, data_bytes: u32) -> Result<Sizes, CycleError> {
    let unit = match framing.layer {
        Layer::Ethernet => SizeUnit::Payload,
        Layer::UdpIpv4 | Layer::UdpIpv6 => SizeUnit::Datagram,
        Layer::TcpIpv4 | Layer::TcpIpv6 => return Err(CycleError::Layer),
    };
    // 1500 bytes of payload, with or without tags.
    let most = 1500 - framing.layer.header_bytes();
    if data_bytes == 0 || data_bytes > most {
        return Err(CycleError::Data {
            bytes: data_bytes,
            most,
        });
    }
    Size::new(unit, data_bytes)
        .resolve(framing)
        .map_err(|_| CycleError::Layer)
}

/// Frames, bytes on the link, and their time.
fn individual(sizes: &Sizes, link: LineRate, nodes: u32) -> (u64, u64, Vec<CycleTerm>) {
    let frames = u64::from(nodes);
    let each = link.overhead.link_bytes(sizes);
    let term = CycleTerm {
        what: format!(
            "{} of {} B, {each} B of the link each",
            format::count(nodes.into(), "frame"),
            sizes.frame
        ),
        time_ps: link.bytes_time_ps(frames * each),
    };
    (frames, frames * each, vec![term])
}

/// Frames, bytes on the link, and their time: each frame holds the data of as many whole nodes as fit.
fn summation(
    link: LineRate,
    nodes: u32,
    data_bytes: u32,
) -> Result<(u64, u64, Vec<CycleTerm>), CycleError> {
    let room = LARGEST_FRAME - SUMMATION_HEADERS;
    if data_bytes > room {
        return Err(CycleError::Data {
            bytes: data_bytes,
            most: room,
        });
    }
    let each = room / data_bytes;
    let overhead = u64::from(Overhead::default().preamble + Overhead::default().gap);
    let frame = |nodes: u32| u64::from((SUMMATION_HEADERS + nodes * data_bytes).max(64));
    let (full, rest) = (nodes / each, nodes % each);
    let mut terms = Vec::new();
    let mut link_bytes = 0;
    for (frames, nodes) in [(full, each), (u32::from(rest > 0), rest)] {
        if frames == 0 {
            continue;
        }
        let one = frame(nodes) + overhead;
        terms.push(CycleTerm {
            what: format!(
                "{} of {} B for {}, {one} B of the link each",
                format::count(frames.into(), "frame"),
                frame(nodes),
                format::count(nodes.into(), "node")
            ),
            time_ps: link.bytes_time_ps(u64::from(frames) * one),
        });
        link_bytes += u64::from(frames) * one;
    }
    Ok((u64::from(full) + u64::from(rest > 0), link_bytes, terms))
}

/// The node's time for a frame of this size in each direction, one frame at a time.
fn delays(
    file: &NodeFile,
    trial: &Trial,
    sizes: &Sizes,
) -> Result<(NodeDelay, NodeDelay), CycleError> {
    // A controller sends exactly its data: no tool raises its datagrams, and no frame is lost.
    let mut file = file.clone();
    file.tool.min_datagram = None;
    file.arrivals = ArrivalsDecl::default();
    let of = |direction| {
        let trial = Trial {
            direction,
            size: Size::new(SizeUnit::Frame, sizes.frame),
            load: Load::Max,
            extent: Extent::Frames { frames: 1 },
            ports: 1,
            ..trial.clone()
        };
        match delay(&file, &trial) {
            Ok(Delay { mean_ps, span }) => Ok(NodeDelay {
                mean_ps: Field::Observed {
                    value: mean_ps.round() as u64,
                    kind: Kind::Predicted,
                },
                span,
            }),
            // A node that only sends still has cycles: the delay is named as missing.
            Err(BuildError::Unsupported(why)) => Ok(NodeDelay {
                mean_ps: Field::absent(why.to_string()),
                span: String::new(),
            }),
            Err(error) => Err(CycleError::Build(error)),
        }
    };
    Ok((of(Direction::Receive)?, of(Direction::Transmit)?))
}

fn notes(
    receive: &NodeDelay,
    transmit: &NodeDelay,
    link: LineRate,
    forward_ps: u64,
) -> Vec<String> {
    let mut notes = vec![
        format!(
            "t_forward of {} is given, not predicted: hardware forwards a frame while it arrives.",
            format::time(forward_ps)
        ),
        "Links are full duplex; cables (about 5 ns/m), switches, jitter of the controller and a share kept free for \
         other traffic come on top."
            .to_owned(),
    ];
    if let (Some(receive), Some(transmit)) = (receive.mean_ps.value(), transmit.mean_ps.value()) {
        let software = receive + transmit + link.bytes_time_ps(84);
        notes.push(format!(
            "If this node's software forwarded it instead, a smallest frame would take {} or more at each node.",
            format::time(software)
        ));
    }
    notes
}
