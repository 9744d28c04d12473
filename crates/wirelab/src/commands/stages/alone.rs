//! The observation of a node that was watched alone: what passed its points, in and out, and what its own receiver
//! counted.

use std::collections::BTreeMap;

use wirelab_port::iface::PortName;
use wirelab_socket::serve::Served;
use wirelab_stages::{NODE_NS, Point, Tracer};
use wirelab_trial::stage::{PointTimes, between};
use wirelab_trial::{
    Capabilities, Description, Direction, Extent, Field, FlowObservation, Framing, Layer, Load,
    Observation, Path, Size, SizeUnit, Status, TesterObservation, Trial, Wait, Warning,
    WarningCode, unseen,
};

use super::here::WAYS;
use crate::args::StagesArgs;
use crate::exit::Failure;

/// Why figures of the sender are not there.
const ELSEWHERE: &str = "somebody else sends; what was sent is not known here";

/// What was seen.
pub struct Seen {
    pub port: PortName,
    /// Frames that were asked for.
    pub frames: u64,
    /// How our own receiver waited; `None` where another program read.
    pub wait: Option<Wait>,
    pub tracer: Tracer,
    /// Where the XDP program sat.
    pub xdp: String,
    pub served: Option<Served>,
    /// Bytes of the datagrams that our own receiver had.
    pub bytes: u64,
    pub notes: Vec<String>,
    pub cancelled: bool,
}

/// The observation of it.
pub fn observation(
    args: &StagesArgs,
    seen: &Seen,
    started_unix_ns: u64,
) -> Result<Observation, Failure> {
    let framing = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    let size = Size::new(SizeUnit::Length, length(args, seen, framing)?);
    let sizes = size.resolve_test(framing).map_err(Failure::usage)?;
    let mut notes = seen.notes.clone();
    let flows: Vec<FlowObservation> = WAYS
        .into_iter()
        .filter_map(|way| flow(args.stream, seen, way, &mut notes))
        .collect();
    let mut warnings: Vec<Warning> = notes.into_iter().map(Warning::of_node).collect();
    if flows.is_empty() {
        let text = format!(
            "no test frame of stream {} to UDP port {} passed {}",
            args.stream, args.port, seen.port
        );
        let way_out = "send some meanwhile: wirelab send IFACE --layer udp4 --load 1kpps --to MAC";
        warnings.push(Warning::new(WarningCode::NOTHING_SEEN, text, way_out));
    }
    let unheard = |served: &Served| served.report.counts.received_frames == 0 && !flows.is_empty();
    if seen.served.as_ref().is_some_and(unheard) {
        let text = format!(
            "frames passed {}, and none came to our receiver on UDP port {}",
            seen.port, args.port
        );
        let way_out = "they are for another port or address, or a firewall drops them; 'wirelab send' sends to \
                       198.18.0.2: sudo ip address add 198.18.0.2/24 dev IFACE";
        warnings.push(Warning::new(WarningCode::NONE_RECEIVED, text, way_out));
    }
    let came = flows.iter().map(longest).max().unwrap_or(0);
    let mut counters = counters(seen);
    // What came while the points were being attached was received too, so that only what they say themselves counts.
    for way in ["in", "out"] {
        warnings.extend(unseen::count(&mut counters, way, 0));
    }
    Ok(Observation {
        trial: Trial {
            path: Some(Path::Stack),
            wait: seen.wait,
            probes: Some(args.probes.parse().map_err(Failure::usage)?),
            ..Trial::new(
                framing,
                flows.first().map_or(Direction::Receive, |f| f.direction),
                size,
                Load::Max,
                Extent::Frames {
                    frames: seen.frames,
                },
            )
        },
        sizes,
        node: description(seen),
        status: match came >= seen.frames {
            true => Status::Complete,
            false => Status::Partial {
                why: format!(
                    "{came} of {} frames came {}",
                    seen.frames,
                    if seen.cancelled {
                        "before it was ended"
                    } else {
                        "in the time"
                    }
                ),
            },
        },
        started_unix_ns: Field::measured(started_unix_ns),
        flows,
        cpu_load: Field::absent("not measured of a node that is watched alone"),
        series: Vec::new(),
        counters,
        tester: TesterObservation::new(
            Field::absent("there is no tester"),
            Field::absent("there is no tester"),
        ),
        warnings,
    })
}

fn longest(flow: &FlowObservation) -> u64 {
    let counts = flow.series.iter().map(|s| s.histogram.count);
    counts.max().unwrap_or(0)
}

/// The length of the frames: what our own receiver had, or the one that was written.
fn length(args: &StagesArgs, seen: &Seen, framing: Framing) -> Result<u32, Failure> {
    let written = match &args.length[..] {
        [one] => Some(*one),
        _ => None,
    };
    let frames = seen
        .served
        .as_ref()
        .map_or(0, |s| s.report.counts.received_frames);
    let around = framing.layer.header_bytes();
    let had = seen
        .bytes
        .checked_div(frames)
        .and_then(|bytes| u32::try_from(bytes).ok());
    let had = had.filter(|bytes| u64::from(*bytes) * frames == seen.bytes);
    // An Ethernet header of 14 bytes is before what the layer's headers are.
    let had = had.map(|bytes| bytes + around + 14);
    match (written, had, frames) {
        (Some(length), ..) => Ok(length),
        (None, Some(length), _) => Ok(length.max(60)),
        (None, None, 0) if seen.served.is_some() => Ok(64),
        _ => Err(Failure::usage(
            "the frames' length is not known: give it with --length, one only, as the sender has it",
        )),
    }
}

fn description(seen: &Seen) -> Description {
    let mut setup = BTreeMap::new();
    setup.insert("probes".to_owned(), seen.tracer.set().to_string());
    setup.insert("xdp".to_owned(), seen.xdp.clone());
    setup.insert("interface".to_owned(), seen.port.to_string());
    let application = match seen.wait {
        Some(_) => "wirelab stages here:",
        None => "another program",
    };
    setup.insert("application".to_owned(), application.to_owned());
    for info in seen.tracer.points() {
        let key = format!("function.{}", info.point.key());
        let function = match info.point {
            Point::InDriver => format!("{} ({})", info.function, seen.xdp),
            _ => info.function.to_owned(),
        };
        setup.insert(key, function);
    }
    Description {
        name: format!("here:{}", seen.port),
        kind: "node".to_owned(),
        capabilities: Capabilities::default(),
        setup,
    }
}

fn counters(seen: &Seen) -> BTreeMap<String, Field<u64>> {
    let all = seen.tracer.counters().into_iter();
    all.map(|(name, value)| (name, Field::measured(value)))
        .collect()
}

/// The flow of one way; `None` where no frame passed two points of it.
fn flow(
    stream: u8,
    seen: &Seen,
    direction: Direction,
    notes: &mut Vec<String>,
) -> Option<FlowObservation> {
    let mut points = seen.tracer.times_of(direction);
    // The sender's clock is another one, unless it is this host.
    points.retain(|p| p.name != Point::InWire.name() && p.stream == stream);
    if let (Direction::Receive, Some(served)) = (direction, &seen.served) {
        let times = served.passed.iter().map(|p| (p.sequence, p.application_ns));
        points.push(PointTimes {
            name: "application".to_owned(),
            stream,
            clock: NODE_NS,
            times: times.collect(),
        });
    }
    let series: Vec<_> = between(&points, notes)
        .into_iter()
        .map(|(_, s)| s)
        .collect();
    if series.is_empty() {
        return None;
    }
    if direction == Direction::Receive && seen.served.is_none() {
        notes.push("application: no point, another program reads the frames; the last one is that its system call returned".to_owned());
    }
    let absent = || Field::absent(ELSEWHERE);
    let mut counters = BTreeMap::new();
    if let Some(served) = seen
        .served
        .as_ref()
        .filter(|_| direction == Direction::Receive)
    {
        let counts = &served.report.counts;
        for (name, value) in [
            ("received_frames", counts.received_frames),
            ("good_frames", counts.good_frames),
            ("distinct_sequences", counts.distinct_sequences),
            ("duplicated_frames", counts.duplicated_frames),
            ("reordered_frames", counts.reordered_frames),
        ] {
            counters.insert(name.to_owned(), Field::measured(value));
        }
    }
    Some(FlowObservation {
        port: seen.port.to_string(),
        direction,
        stream,
        sent_frames: absent(),
        counts: Field::absent(format!("{ELSEWHERE}, so nobody can say what was lost")),
        elapsed: Field::absent(ELSEWHERE),
        frames_per_s: Field::absent(ELSEWHERE),
        payload_bits_per_s: Field::absent(ELSEWHERE),
        link_bits_per_s: Field::absent(ELSEWHERE),
        efficiency: Field::absent(ELSEWHERE),
        goodput_bits_per_s: Field::absent(ELSEWHERE),
        loss_ratio: Field::absent(ELSEWHERE),
        loss_ratio_at_most: None,
        intervals: wirelab_trial::FlowIntervals::default(),
        checker_held_up_ps: Field::absent("not measured"),
        jitter_ps: absent(),
        sender: Field::absent(ELSEWHERE),
        receiver_path: "stack".to_owned(),
        series,
        counters,
    })
}
