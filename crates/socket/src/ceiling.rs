//! The rate of this host's own source into its own sink: the tester's ceiling for flows over sockets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};

use wirelab_trial::job::{CheckReport, Pace};
use wirelab_trial::{Cancel, Direction, Extent, Field, Layer, Trial};

use crate::flow::{Expect, FlowProgress, Offer};
use crate::{tcp, udp};

/// Long enough for a steady rate, short enough to run before each new kind of trial.
const TIME_PS: u64 = 100_000_000_000;

/// Arriving frames/s of one flow of the trial's layer and size at maximum load over loopback, all verified.
pub fn frames_per_s(trial: &Trial) -> Field<f64> {
    if trial.direction == Direction::Echo {
        return Field::absent("an echo has a floor, not a ceiling: see the tester's floor");
    }
    let datagram = match trial.sizes() {
        Ok(sizes) => sizes.datagram,
        Err(error) => return Field::absent(error.to_string()),
    };
    let (Some(bytes), Some(ip)) = (datagram, loopback(trial.framing.layer)) else {
        return Field::absent("frames of Ethernet do not go through sockets");
    };
    let measured = match trial.framing.layer {
        Layer::TcpIpv4 | Layer::TcpIpv6 => over_tcp(ip, bytes),
        _ => over_udp(ip, bytes),
    };
    match measured {
        Ok(report) => Field::measured_or(report.frames_per_s(), "too few frames arrived"),
        Err(error) => Field::absent(format!(
            "loopback could not be used ({error}); fix: bring lo up in this network namespace"
        )),
    }
}

fn loopback(layer: Layer) -> Option<IpAddr> {
    match layer {
        Layer::Ethernet => None,
        Layer::UdpIpv4 | Layer::TcpIpv4 => Some(Ipv4Addr::LOCALHOST.into()),
        Layer::UdpIpv6 | Layer::TcpIpv6 => Some(Ipv6Addr::LOCALHOST.into()),
    }
}

const fn offer(datagram_bytes: u32) -> Offer {
    Offer {
        stream: 0,
        datagram_bytes,
        pace: Pace::Max,
        extent: Extent::Time { time_ps: TIME_PS },
        with_time: false,
        node_clock: false,
    }
}

const fn expect(datagram_bytes: u32) -> Expect {
    Expect {
        stream: 0,
        datagram_bytes,
        captures: 0,
    }
}

fn over_udp(ip: IpAddr, bytes: u32) -> io::Result<CheckReport> {
    let (source, sink) = (UdpSocket::bind((ip, 0))?, UdpSocket::bind((ip, 0))?);
    source.connect(sink.local_addr()?)?;
    let ready = udp::prepare(&sink);
    let over = Cancel::new();
    let (live, expect) = (FlowProgress::default(), expect(bytes));
    std::thread::scope(|scope| {
        let receiver =
            scope.spawn(|| udp::receive_from(&sink, ready, Some(ip).into(), &expect, &live, &over));
        let sent = udp::send(
            &source,
            &offer(bytes),
            &FlowProgress::default(),
            &Cancel::new(),
        );
        over.cancel();
        let received = receiver
            .join()
            .map_err(|_| io::Error::other("the sink died"))?;
        if let Some(failure) = sent?.failure {
            return Err(failure);
        }
        Ok(received?.report)
    })
}

fn over_tcp(ip: IpAddr, bytes: u32) -> io::Result<CheckReport> {
    let listener = TcpListener::bind((ip, 0))?;
    let source = TcpStream::connect(listener.local_addr()?)?;
    let (sink, _) = listener.accept()?;
    let over = Cancel::new();
    let (live, expect) = (FlowProgress::default(), expect(bytes));
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| tcp::receive(&sink, &expect, &live, &over));
        let sent = tcp::send(
            &source,
            &offer(bytes),
            &FlowProgress::default(),
            &Cancel::new(),
        );
        over.cancel();
        let received = receiver
            .join()
            .map_err(|_| io::Error::other("the sink died"))?;
        if let Some(failure) = sent?.failure {
            return Err(failure);
        }
        Ok(received?.report)
    })
}
