//! Plans a test of iperf for a trial, and checks it before anything is sent.

use std::net::SocketAddr;
use std::time::Duration;

use wirelab_iperf::v2::{Amount, ClientConfig, Mode, Protocol, Rate};
use wirelab_trial::{
    Accepts, Direction, Dscp, Extent, Layer, Link, NodeError, Resolved, SizeLimits, Trial,
    TrialField, TrialOption,
};
use wirelab_wire::LineRate;

/// Smallest datagram in bytes: iperf's head with a 64-bit number.
const LEAST_DATAGRAM: u32 = 16;
/// Most bytes that UDP carries over IPv4 and IPv6: 65,535 minus the headers that the length includes (RFC 768, 791,
/// 8200).
const MOST_DATAGRAM: [u32; 2] = [65_507, 65_527];
/// Largest write to TCP in bytes: the tester keeps one block of that size.
pub const MOST_WRITE: u32 = 1 << 20;
/// Rate in bit/s to request from a peer that shall send as fast as it can: iperf's header has no value for that, and no
/// present link carries this.
const AS_FAST_AS_IT_CAN: u64 = 400_000_000_000;
/// Most intervals of a trial, so that its counters fit a page.
const MOST_INTERVALS: u32 = 60;
/// Longest planned time of a trial.
const LONGEST_EXPECTED: Duration = Duration::from_secs(1_000_000);

/// Application bytes of a full TCP segment without options on Ethernet (RFC 6691): IPv4, IPv6.
const FULL_SEGMENT: [u32; 2] = [1460, 1440];

/// A trial, ready to run.
#[derive(Clone, Debug)]
pub struct IperfTrial {
    /// The requested trial; a frame is a datagram or a write.
    pub resolved: Resolved,
    /// Bytes of a datagram or of a write.
    pub datagram: u32,
    /// Expected time of the trial, where known in advance.
    pub expected: Option<Duration>,
    /// The test.
    pub config: ClientConfig,
}

impl IperfTrial {
    /// Whether it uses UDP and not TCP.
    pub fn is_udp(&self) -> bool {
        self.resolved.trial.framing.layer.is_udp()
    }

    /// The same trial with the peer's traffic on the tester's own connection (`-R`), for peers that cannot reach the
    /// tester.
    #[must_use]
    pub fn on_our_connection(&self) -> IperfTrial {
        let mut plan = self.clone();
        plan.config.mode = match plan.resolved.trial.direction {
            Direction::Both => Mode::FullDuplex,
            _ => Mode::Reverse,
        };
        plan
    }
}

/// The fix that names a node with the full control protocol.
macro_rules! ask_a_node {
    ($($why:literal),+) => { concat!($($why,)+ "run 'wirelab node serve' there and use node:HOST") };
}
const ALL_LAYERS: [Layer; 4] = [
    Layer::UdpIpv4,
    Layer::UdpIpv6,
    Layer::TcpIpv4,
    Layer::TcpIpv6,
];
const REASONS: [(TrialField, &str); 6] = [
    (
        TrialField::Layer,
        ask_a_node!("iperf supports only UDP and TCP; for Ethernet "),
    ),
    (
        TrialField::Direction,
        ask_a_node!(
            "iperf returns no datagrams, but blocks of a TCP stream (--bounceback of iperf 2.1.8); fix: use --layer tcp4; for UDP "
        ),
    ),
    (
        TrialField::VlanTags,
        "the stack of this host makes the frames; fix: set up a VLAN interface and use the address behind it",
    ),
    (
        TrialField::Ports,
        "an iperf peer has one port; fix: use --ports 1",
    ),
    (
        TrialField::Option(TrialOption::Buffers),
        "the buffers of an iperf peer cannot be chosen; fix: leave --buffers out",
    ),
    (
        TrialField::Option(TrialOption::Faults),
        "faults cannot be detected in iperf's datagrams; fix: leave --inject out, or use ports",
    ),
];

/// What an iperf 2 peer supports of a trial, and the fix for everything else.
pub fn accepts(trial: &Trial) -> Accepts<'static> {
    const DIRECTIONS: [Direction; 4] = [
        Direction::Transmit,
        Direction::Receive,
        Direction::Both,
        Direction::Echo,
    ];
    // Only an echo has a second stream to send, over UDP; its own connection is not marked.
    const OF_ECHO: [TrialOption; 3] = [
        TrialOption::Link,
        TrialOption::StrictGaps,
        TrialOption::Background,
    ];
    const OPTIONS: [TrialOption; 3] = [
        TrialOption::Link,
        TrialOption::StrictGaps,
        TrialOption::Dscp,
    ];
    Accepts {
        layers: &ALL_LAYERS,
        directions: match trial.framing.layer.is_tcp() {
            true => &DIRECTIONS,
            false => &DIRECTIONS[..3],
        },
        vlan_tags: 0,
        ports: 1,
        buffers: &[],
        paths: &[],
        options: match trial.direction {
            Direction::Echo => &OF_ECHO,
            _ => &OPTIONS,
        },
        sizes: SizeLimits::Any,
        reasons: &REASONS,
        otherwise: ask_a_node!("an iperf peer does not support this; fix: leave it out, or "),
    }
}

/// Checks the rest of the trial, and plans the test.
pub fn plan(
    trial: &Trial,
    server: SocketAddr,
    carrier: Option<LineRate>,
) -> Result<IperfTrial, NodeError> {
    let resolved = Resolved::new(trial, &accepts(trial), Link::Carrier(carrier))?;
    let (layer, frames_per_s) = (trial.framing.layer, resolved.frames_per_s);
    let datagram = resolved.sizes.datagram.unwrap_or(0);
    check_size(datagram, layer)?;
    let protocol = match layer.is_udp() {
        true => Protocol::Udp,
        false => Protocol::Tcp,
    };
    let mut config = ClientConfig::new(server, protocol);
    config.mode = match trial.direction {
        Direction::Both => Mode::Dual,
        Direction::Transmit => Mode::Tradeoff,
        Direction::Receive | Direction::Echo => Mode::Forward,
    };
    config.length_bytes = length_bytes(datagram, layer, frames_per_s);
    config.rate = rate(trial, datagram, frames_per_s);
    config.sending.strict_gaps = trial.strict_gaps;
    config.options.tos = trial.dscp.map(Dscp::tos);
    config.amount = amount(trial, datagram, frames_per_s)?;
    // Only the peer's traffic is wanted: the tester's own leg only starts the test.
    config.own_amount = (trial.direction == Direction::Transmit).then_some(Amount::Bytes(1));
    let expected = resolved.expected_ps();
    let expected = expected.map(|ps| Duration::from_nanos(ps / 1000).min(LONGEST_EXPECTED));
    config.interval = interval(expected);
    Ok(IperfTrial {
        resolved,
        datagram,
        expected,
        config,
    })
}

/// Bytes of a datagram or a write; `None` for iperf's default. At full rate TCP sends full segments whatever the size
/// of the writes, and full segments are what is requested. Writes of 1460 bytes would measure the cost of system calls.
/// With TCP time stamps (RFC 7323) a segment holds 12 bytes less, so each write would leave a short segment.
pub(crate) fn length_bytes(datagram: u32, layer: Layer, frames_per_s: Option<f64>) -> Option<u32> {
    let full = match layer {
        Layer::TcpIpv4 => FULL_SEGMENT[0],
        Layer::TcpIpv6 => FULL_SEGMENT[1],
        _ => return Some(datagram),
    };
    (datagram != full || frames_per_s.is_some()).then_some(datagram)
}

fn check_size(datagram: u32, layer: Layer) -> Result<(), NodeError> {
    let (least, most) = match layer {
        Layer::UdpIpv4 => (LEAST_DATAGRAM, MOST_DATAGRAM[0]),
        Layer::UdpIpv6 => (LEAST_DATAGRAM, MOST_DATAGRAM[1]),
        _ => (1, MOST_WRITE),
    };
    let what = if layer.is_udp() { "datagram" } else { "write" };
    if (least..=most).contains(&datagram) {
        return Ok(());
    }
    Err(NodeError::bad(format!(
        "iperf has no {what} of {datagram} bytes; fix: choose {least} to {most}"
    )))
}

fn rate(trial: &Trial, datagram: u32, frames_per_s: Option<f64>) -> Rate {
    let bits = |rate: f64| (rate * 8.0 * f64::from(datagram)).round().max(1.0) as u64;
    match frames_per_s {
        Some(rate) => Rate::BitsPerS(bits(rate)),
        None if trial.framing.layer.is_udp() && trial.direction != Direction::Receive => {
            Rate::BitsPerS(AS_FAST_AS_IT_CAN)
        }
        None => Rate::Max,
    }
}

/// Frames become bytes where the header can express them, else a time.
fn amount(trial: &Trial, datagram: u32, frames_per_s: Option<f64>) -> Result<Amount, NodeError> {
    let frames = match trial.extent {
        Extent::Time { time_ps } => {
            return Ok(Amount::time(Duration::from_nanos(time_ps.div_ceil(1000))));
        }
        Extent::Frames { frames: 0 } => {
            return Err(NodeError::bad(
                "a trial of 0 frames shows nothing; fix: give at least 1",
            ));
        }
        Extent::Frames { frames } => frames,
    };
    let udp = trial.framing.layer.is_udp();
    // The tester's first datagram is at least as long as iperf's header, whatever the size of the others.
    let first = if udp {
        datagram.max(FIRST_DATAGRAM)
    } else {
        datagram
    };
    let bytes = (frames - 1)
        .saturating_mul(u64::from(datagram))
        .saturating_add(u64::from(first));
    if trial.direction == Direction::Receive || bytes <= i32::MAX as u64 {
        return Ok(Amount::Bytes(bytes));
    }
    match frames_per_s {
        Some(rate) => Ok(Amount::time(Duration::from_secs_f64(
            (frames as f64 / rate).min(1e6),
        ))),
        None => Err(NodeError::unsupported(
            TrialField::Extent,
            "iperf's header requests at most 2 GiB; fix: give a time instead of frames",
        )),
    }
}

/// Smallest first datagram in bytes: head and header of iperf 2.1.
const FIRST_DATAGRAM: u32 = 76;

/// One second, or more where there would be too many intervals; zero where the trial is not longer than one.
fn interval(expected: Option<Duration>) -> Duration {
    const SECOND: Duration = Duration::from_secs(1);
    match expected {
        Some(time) if time <= SECOND => Duration::ZERO,
        Some(time) => Duration::from_secs((time / MOST_INTERVALS).as_secs() + 1),
        None => SECOND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::{Buffers, FaultRates, Framing, Load, Size, SizeUnit};

    fn trial(layer: Layer, direction: Direction) -> Trial {
        Trial::new(
            Framing {
                layer,
                vlan_tags: 0,
            },
            direction,
            Size::new(SizeUnit::Datagram, 1000),
            Load::Max,
            Extent::Time {
                time_ps: 2_000_000_000_000,
            },
        )
    }

    fn laid_out(trial: &Trial) -> IperfTrial {
        plan(trial, SocketAddr::from(([192, 0, 2, 1], 5001)), None).unwrap()
    }

    #[test]
    fn what_iperf_cannot_do_says_what_can() {
        let base = trial(Layer::UdpIpv4, Direction::Receive);
        let mut tagged = base.clone();
        tagged.framing.vlan_tags = 1;
        let cases = [
            (
                trial(Layer::Ethernet, Direction::Receive),
                "layer",
                "wirelab node serve",
            ),
            (
                trial(Layer::UdpIpv4, Direction::Echo),
                "direction",
                "wirelab node serve",
            ),
            (tagged, "vlan_tags", "VLAN interface"),
            (
                Trial {
                    ports: 2,
                    ..base.clone()
                },
                "ports",
                "one port",
            ),
            (
                Trial {
                    buffers: Some(Buffers::Copied),
                    ..base.clone()
                },
                "buffers",
                "leave",
            ),
            (
                Trial {
                    faults: FaultRates {
                        drop: 0.1,
                        ..FaultRates::default()
                    },
                    ..base.clone()
                },
                "faults",
                "leave",
            ),
        ];
        let named = REASONS.map(|(field, _)| field.name());
        let others = base.with_each_but(accepts(&base).options);
        let others = others.filter(|(field, _)| !named.contains(field));
        let others = others.map(|(field, trial)| (trial, field, "wirelab node serve"));
        for (trial, field, words) in cases.into_iter().chain(others) {
            let Err(NodeError::Unsupported(unsupported)) = accepts(&trial).check(&trial) else {
                panic!("{field} was accepted");
            };
            assert_eq!(unsupported.field.map(TrialField::name), Some(field));
            assert!(unsupported.why.contains(words), "{unsupported}");
        }
    }

    #[test]
    fn directions_and_rates_become_options_of_iperf() {
        let receive = laid_out(&trial(Layer::UdpIpv4, Direction::Receive)).config;
        assert_eq!((receive.mode, receive.rate), (Mode::Forward, Rate::Max));
        let transmit = laid_out(&trial(Layer::UdpIpv4, Direction::Transmit)).config;
        let fast = Rate::BitsPerS(AS_FAST_AS_IT_CAN);
        assert_eq!((transmit.mode, transmit.rate), (Mode::Tradeoff, fast));
        let both = laid_out(&trial(Layer::TcpIpv4, Direction::Both)).config;
        assert_eq!((both.mode, both.rate), (Mode::Dual, Rate::Max));
        let paced = Trial {
            load: Load::FrameRate {
                frames_per_s: 125.0,
            },
            ..trial(Layer::UdpIpv4, Direction::Transmit)
        };
        assert_eq!(laid_out(&paced).config.rate, Rate::BitsPerS(1_000_000));
        let again = laid_out(&paced).on_our_connection();
        assert_eq!(again.config.mode, Mode::Reverse);
    }

    #[test]
    fn full_segments_at_full_rate_are_written_as_iperf_writes() {
        let of = |layer, bytes, load| {
            let size = Size::new(SizeUnit::Datagram, bytes);
            let trial = Trial {
                size,
                load,
                ..trial(layer, Direction::Receive)
            };
            laid_out(&trial).config.length_bytes
        };
        assert_eq!(of(Layer::TcpIpv4, 1460, Load::Max), None);
        assert_eq!(of(Layer::TcpIpv6, 1440, Load::Max), None);
        assert_eq!(of(Layer::TcpIpv4, 1440, Load::Max), Some(1440));
        assert_eq!(of(Layer::UdpIpv4, 1460, Load::Max), Some(1460));
        let paced = Load::FrameRate { frames_per_s: 10.0 };
        assert_eq!(of(Layer::TcpIpv4, 1460, paced), Some(1460));
    }

    #[test]
    fn a_link_that_is_given_holds_datagrams_back_and_leaves_streams_alone() {
        let on_link = |layer| Trial {
            link_bits_per_s: Some(10_000_000),
            ..trial(layer, Direction::Receive)
        };
        // 1000 + 28 + 38 bytes of the link for each datagram.
        let Rate::BitsPerS(bits) = laid_out(&on_link(Layer::UdpIpv4)).config.rate else {
            panic!("the rate has no limit");
        };
        assert_eq!(bits, 9_380_863);
        assert_eq!(laid_out(&on_link(Layer::TcpIpv4)).config.rate, Rate::Max);
    }

    #[test]
    fn frames_become_bytes_as_far_as_the_header_goes() {
        let with = |direction, frames, load| Trial {
            extent: Extent::Frames { frames },
            load,
            ..trial(Layer::UdpIpv4, direction)
        };
        let amount = |trial: &Trial| laid_out(trial).config.amount;
        let few = with(Direction::Transmit, 10, Load::Max);
        assert_eq!(amount(&few), Amount::Bytes(10_000));
        let many = with(
            Direction::Transmit,
            10_000_000,
            Load::FrameRate { frames_per_s: 1e6 },
        );
        assert_eq!(amount(&many), Amount::Time { centiseconds: 1000 });
        let ours = with(Direction::Receive, 10_000_000, Load::Max);
        assert_eq!(amount(&ours), Amount::Bytes(10_000_000_000));
        let endless = with(Direction::Transmit, 10_000_000, Load::Max);
        let error = plan(&endless, SocketAddr::from(([192, 0, 2, 1], 1)), None).unwrap_err();
        assert!(error.to_string().contains("give a time"), "{error}");
        let short = Trial {
            size: Size::new(SizeUnit::Datagram, 64),
            ..few
        };
        assert_eq!(amount(&short), Amount::Bytes(9 * 64 + 76));
    }

    #[test]
    fn sizes_that_iperf_has_not() {
        for (layer, bytes) in [
            (Layer::UdpIpv4, 15),
            (Layer::UdpIpv4, 65_508),
            (Layer::TcpIpv4, 0),
            (Layer::TcpIpv4, MOST_WRITE + 1),
        ] {
            let mut trial = trial(layer, Direction::Receive);
            trial.size.bytes = bytes;
            let error = plan(&trial, SocketAddr::from(([192, 0, 2, 1], 1)), None).unwrap_err();
            assert!(
                error.to_string().contains(&format!("{bytes} bytes")),
                "{error}"
            );
        }
    }

    #[test]
    fn intervals_are_of_seconds_and_not_too_many() {
        let of = |seconds| interval(Some(Duration::from_secs(seconds)));
        assert_eq!(of(1), Duration::ZERO);
        assert_eq!(of(10), Duration::from_secs(1));
        assert_eq!(of(3600), Duration::from_secs(61));
        assert_eq!(interval(None), Duration::from_secs(1));
    }
}
