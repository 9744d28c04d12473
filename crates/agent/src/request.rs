//! A request for a trial, with the values that all layers derive from it.

use std::net::IpAddr;

use wirelab_control::Refusal;
use wirelab_control::message::Start;
use wirelab_control::value::{self, Extent, Load};
use wirelab_socket::flow::{Expect, LEAST_BYTES, MOST_BYTES, Offer};
use wirelab_trial::job::Pace;
use wirelab_trial::{Direction, Probes};
use wirelab_wire::{Framing, Layer, LineRate, Overhead, Size, SizeUnit, Sizes};

use crate::limits::Limits;
use crate::path_options::PathOptions;

/// What a peer requests.
pub struct Request<'a> {
    pub start: &'a Start,
    pub peer: IpAddr,
    /// All sizes of a frame, if one was requested.
    pub sizes: Option<Sizes>,
    /// What the node sends on its own, not as an echo.
    pub offer: Option<Offer>,
    /// What it receives.
    pub expect: Expect,
    /// Received frames after which the receiver is done.
    pub expected_frames: Option<u64>,
    /// The path of the frames, and how the node waits for them and traces them.
    pub options: PathOptions,
}

impl Request<'_> {
    /// Interpret a request that the protocol's server has checked against the identity.
    ///
    /// # Errors
    /// [`Refusal`] names the field that this node does not support.
    pub fn new<'a>(
        start: &'a Start,
        peer: IpAddr,
        link: Option<LineRate>,
        limits: &Limits,
    ) -> Result<Request<'a>, Refusal> {
        refuse_unknown(start)?;
        let options = PathOptions::of(start)?;
        let sizes = sizes(start)?;
        let sends = matches!(start.direction, Direction::Transmit | Direction::Both);
        if start.layer.is_tcp() && sizes.is_none() {
            // A stream has no message boundaries: its frames are separated by their length.
            return Err(Refusal::missing("datagram_bytes"));
        }
        let offer = match (sends, sizes) {
            (true, Some(sizes)) => Some(offer(start, &sizes, link, limits)?),
            (true, None) => return Err(Refusal::missing("frame_bytes")),
            (false, _) => None,
        };
        let datagram_bytes = sizes.and_then(|s| s.datagram).unwrap_or(MOST_BYTES);
        Ok(Request {
            start,
            peer,
            sizes,
            offer,
            expect: Expect {
                stream: start.rx_stream.unwrap_or(0),
                datagram_bytes,
                captures: start.captures.unwrap_or(0),
            },
            expected_frames: match start.extent {
                Extent::Frames(frames) => Some(frames),
                Extent::TimePs(_) => None,
            },
            options,
        })
    }
}

fn offer(
    start: &Start,
    sizes: &Sizes,
    link: Option<LineRate>,
    limits: &Limits,
) -> Result<Offer, Refusal> {
    let load = start.load.ok_or_else(|| Refusal::missing("load"))?;
    let rate = trial_load(load)
        .frames_per_s(sizes, start.layer, link)
        .map_err(|error| Refusal::unsupported(load_field(load), &error.to_string()))?;
    let bytes = match (start.layer, sizes.datagram) {
        (Layer::Ethernet, _) | (_, None) => Overhead::default().link_bytes(sizes),
        (_, Some(datagram)) => u64::from(datagram),
    };
    limits.check_rate(start, rate, 8.0 * bytes as f64)?;
    Ok(Offer {
        stream: start.tx_stream.unwrap_or(0),
        datagram_bytes: sizes.datagram.unwrap_or(0),
        pace: Pace::of(rate).strict(start.strict_gaps == Some(true)),
        extent: match start.extent {
            Extent::Frames(frames) => wirelab_trial::Extent::Frames { frames },
            Extent::TimePs(time_ps) => wirelab_trial::Extent::Time { time_ps },
        },
        with_time: rate.is_some(),
        node_clock: true,
    })
}

/// Requests that this node refuses on every layer.
fn refuse_unknown(start: &Start) -> Result<(), Refusal> {
    let sends = start.direction != Direction::Receive;
    if start.vlan_tags.is_some_and(|tags| tags > 0) && (sends || start.layer != Layer::Ethernet) {
        return Err(Refusal::unsupported(
            "vlan_tags",
            "this node receives tagged frames of Ethernet trials, and sends without tags",
        ));
    }
    if start.descriptors.is_some() {
        return Err(Refusal::unsupported(
            "descriptors",
            "not on this host: its driver sets the descriptors",
        ));
    }
    if start.buffers.is_some() && start.layer != Layer::Ethernet {
        return Err(Refusal::unsupported(
            "buffers",
            "the stack decides how it copies; request layer=ethernet",
        ));
    }
    let captures = start.captures.is_some_and(|captures| captures > 0);
    let ethernet_echo = start.direction == Direction::Echo && start.layer == Layer::Ethernet;
    if captures && (ethernet_echo || start.layer.is_tcp()) {
        return Err(Refusal::unsupported(
            "captures",
            "only of UDP, and of Ethernet except its echo",
        ));
    }
    if captures && start.direction == Direction::Echo && start.probes == Some(Probes::Off) {
        return Err(Refusal::unsupported(
            "probes",
            "an echo has capture points only with probes",
        ));
    }
    if start.direction == Direction::Echo && start.layer.is_tcp() {
        return Err(Refusal::unsupported(
            "direction",
            "TCP has no echo; request udp or ethernet",
        ));
    }
    Ok(())
}

/// All sizes of a frame of the trial, if one was requested. The protocol's server has checked them, except for TCP,
/// for which a datagram is one write.
fn sizes(start: &Start) -> Result<Option<Sizes>, Refusal> {
    let Some(size) = start.size else {
        return Ok(None);
    };
    let framing = Framing {
        layer: start.layer,
        vlan_tags: start.vlan_tags.unwrap_or(0),
    };
    let sizes = size
        .resolve(framing)
        .map_err(|error| Refusal::unsupported("frame_bytes", &error.to_string()))?;
    if let Some(datagram) = sizes.datagram.filter(|_| start.layer.is_tcp()) {
        let limit = datagram.clamp(LEAST_BYTES, MOST_BYTES);
        if limit != datagram {
            return Err(Refusal::limit(field_of(size), u64::from(limit)));
        }
    }
    Ok(Some(sizes))
}

const fn field_of(size: Size) -> &'static str {
    match size.unit {
        SizeUnit::Frame => "frame_bytes",
        SizeUnit::Length => "length_bytes",
        SizeUnit::Payload => "payload_bytes",
        SizeUnit::Datagram => "datagram_bytes",
    }
}

const fn load_field(load: Load) -> &'static str {
    match load {
        Load::Max => "load",
        Load::LinkPpm(_) => "load_ppm",
        Load::MilliframesPerS(_) => "load_milliframes_per_s",
        Load::BitsPerS(_) => "load_bits_per_s",
        Load::GapBytes(_) => "load_gap_bytes",
    }
}

fn trial_load(load: value::Load) -> wirelab_trial::Load {
    use wirelab_trial::Load as TrialLoad;
    match load {
        Load::Max => TrialLoad::Max,
        Load::LinkPpm(ppm) => TrialLoad::LinkShare {
            percent: f64::from(ppm) / 1e4,
        },
        Load::MilliframesPerS(n) => TrialLoad::FrameRate {
            frames_per_s: n as f64 / 1e3,
        },
        Load::BitsPerS(n) => TrialLoad::BitRate {
            bits_per_s: n as f64,
        },
        Load::GapBytes(gap_bytes) => TrialLoad::Gap { gap_bytes },
    }
}
