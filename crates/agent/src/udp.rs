//! UDP trials: source, sink and echo of test frames, only to and from the peer that requested the trial.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use wirelab_socket::echo;
use wirelab_socket::flow::{Expect, Offer, Reception};
use wirelab_socket::serve::{self, CountingSocket, Inlet, UdpEcho, UdpInlet, Watching};
use wirelab_socket::udp;
use wirelab_trial::{Cancel, Direction, Wait};

use crate::engine::{TrialWork, Work, WorkReport};

/// The delay before the first frame: the peer gets the reply to its request first.
pub const AFTER_REPLY: Duration = Duration::from_millis(20);

/// A requested UDP trial.
#[derive(Debug)]
pub struct UdpTrial {
    pub direction: Direction,
    pub offer: Option<Offer>,
    pub expect: Expect,
    /// The stream of the frames to send back; frames of other streams are foreign. `None` if the peer names none.
    pub echo_stream: Option<u8>,
    pub peer: SocketAddr,
    /// Source ports of the peer in earlier trials.
    pub earlier_ports: Vec<u16>,
    pub expected_frames: Option<u64>,
    /// How to wait for frames that are taken one by one, and a second socket that the same loop serves.
    pub one_by_one: Option<(Wait, Option<CountingSocket>)>,
}

/// Plan the work of a trial on its socket. The socket is ready when this returns, because the peer may send as soon
/// as it has the reply.
pub fn plan(socket: UdpSocket, trial: UdpTrial) -> io::Result<TrialWork> {
    if trial.offer.is_some() {
        // A connected socket sends only to this peer and receives only from it.
        socket.connect(trial.peer)?;
    }
    let socket = Arc::new(socket);
    let wait = trial.one_by_one.as_ref().map(|(wait, _)| *wait);
    let send = trial
        .offer
        .map(|offer| source(Arc::clone(&socket), offer, wait, trial.expect.captures));
    let receive = match (trial.direction, trial.one_by_one) {
        (Direction::Transmit, _) => None,
        (Direction::Echo, None) => {
            let _ = udp::enlarge_queue(&socket);
            Some(reflector(socket, trial.peer.ip(), trial.echo_stream))
        }
        (Direction::Echo, Some((wait, _))) => {
            let inlet =
                UdpInlet::new(socket, Some(trial.peer.ip()), trial.echo_stream, wait, true)?;
            Some(echo_singly(
                UdpEcho::new(inlet, trial.expect.captures),
                wait,
                trial.expect,
            ))
        }
        (_, None) => {
            let from = udp::Source {
                ip: Some(trial.peer.ip()),
                earlier_ports: trial.earlier_ports,
            };
            let ready = udp::prepare(&socket);
            Some(sink(socket, ready, from, trial.expect))
        }
        (_, Some((wait, beside))) => {
            let (from, stream) = (trial.peer.ip(), trial.expect.stream);
            let alone = beside.is_none();
            let inlet = UdpInlet::new(socket, Some(from), Some(stream), wait, alone)?;
            Some(sink_singly(Box::new(inlet), wait, beside, trial.expect))
        }
    };
    Ok(TrialWork {
        send,
        receive,
        expected_frames: trial.expected_frames,
        ..TrialWork::default()
    })
}

fn source(socket: Arc<UdpSocket>, offer: Offer, wait: Option<Wait>, captures: u32) -> Work {
    Box::new(move |live, cancel| {
        self::wait(AFTER_REPLY, cancel);
        let Some(wait) = wait else {
            return Ok(WorkReport::sent(udp::send(&socket, &offer, live, cancel)?));
        };
        let (sent, passed) = serve::send(&socket, &offer, wait, captures, live, cancel)?;
        Ok(WorkReport {
            passed_out: passed,
            ..WorkReport::sent(sent)
        })
    })
}

fn sink(socket: Arc<UdpSocket>, ready: udp::Ready, from: udp::Source, expect: Expect) -> Work {
    Box::new(move |live, cancel| {
        let received = udp::receive_from(&socket, ready, from, &expect, live, cancel)?;
        Ok(WorkReport::received(received))
    })
}

/// Receive frames one by one, from any source.
pub fn sink_singly(
    mut inlet: Box<dyn Inlet + Send>,
    wait: Wait,
    mut beside: Option<CountingSocket>,
    expect: Expect,
) -> Work {
    Box::new(move |live, cancel| {
        let mut watching = Watching::new(expect.captures, live);
        let failure = serve::run(inlet.as_mut(), wait, beside.as_mut(), &mut watching, cancel);
        let mut report = of_served(watching.finish(failure), 0);
        if let Some(beside) = beside {
            report.counters = background(&beside);
        }
        Ok(report)
    })
}

/// Work during which a second thread receives the background.
pub fn with_background(work: Work, mut beside: CountingSocket) -> Work {
    Box::new(move |live, cancel| {
        let over = Cancel::new();
        std::thread::scope(|scope| {
            let sink = scope.spawn(|| {
                while !over.is_cancelled() {
                    serve::sleep([beside.fd()]);
                    beside.take();
                }
                // Datagrams that arrived before the end count.
                while beside.take() > 0 {}
                background(&beside)
            });
            let report = work(live, cancel);
            over.cancel();
            let counted = sink.join();
            let counted = counted.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let mut report = report?;
            report.counters.extend(counted);
            Ok(report)
        })
    })
}

/// What a background's socket counted.
pub fn background(beside: &CountingSocket) -> Vec<(&'static str, u64)> {
    let counted = beside.counted();
    vec![
        ("background_received_frames", counted.frames),
        ("background_received_bytes", counted.bytes),
    ]
}

/// The report of frames that were taken one by one.
pub fn of_served(served: serve::Served, sent_back_frames: u64) -> WorkReport {
    let received = Reception {
        report: served.report,
        sent_back_frames,
        failure: served.failure,
        ..Reception::default()
    };
    WorkReport {
        passed_in: served.passed,
        ..WorkReport::received(received)
    }
}

fn reflector(socket: Arc<UdpSocket>, peer: IpAddr, stream: Option<u8>) -> Work {
    Box::new(move |live, cancel| {
        let received = echo::reflect(&socket, Some(peer), stream, Wait::Sleep, live, cancel)?;
        Ok(WorkReport::echoed(received))
    })
}

fn echo_singly(mut echo: UdpEcho, wait: Wait, expect: Expect) -> Work {
    Box::new(move |live, cancel| {
        let mut watching = Watching::new(expect.captures, live);
        let failure = serve::run(&mut echo, wait, None, &mut watching, cancel);
        let report = of_served(watching.finish(failure), echo.sent_back_frames);
        Ok(WorkReport {
            echoed: Some(echo.sent_back_frames),
            passed_out: echo.sent,
            ..report
        })
    })
}

/// Bind the requested port, or a free one if it is in use.
pub fn bind(local: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(local).or_else(|error| match error.kind() {
        io::ErrorKind::AddrInUse => UdpSocket::bind((local.ip(), 0)),
        _ => Err(error),
    })
}

/// Wait, unless the trial is cancelled.
pub fn wait(time: Duration, cancel: &Cancel) {
    if !cancel.is_cancelled() {
        std::thread::sleep(time);
    }
}

#[cfg(test)]
mod tests {
    use wirelab_socket::flow::FlowProgress;
    use wirelab_trial::Extent;
    use wirelab_trial::job::Pace;

    use super::*;

    /// More than a socket's default queue takes (`net.core.rmem_default`).
    const SENT: u64 = 4_000;

    #[test]
    fn what_comes_before_the_work_has_a_core_is_received_or_told() {
        let socket = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let from = UdpSocket::bind("127.0.0.1:0").unwrap();
        from.connect(socket.local_addr().unwrap()).unwrap();
        let expect = Expect {
            stream: 0,
            datagram_bytes: 512,
            captures: 0,
        };
        let trial = UdpTrial {
            direction: Direction::Receive,
            offer: None,
            expect,
            echo_stream: None,
            peer: from.local_addr().unwrap(),
            earlier_ports: Vec::new(),
            expected_frames: None,
            one_by_one: None,
        };
        let work = plan(socket, trial).unwrap().receive.unwrap();
        let offer = Offer {
            stream: 0,
            datagram_bytes: expect.datagram_bytes,
            pace: Pace::Max,
            extent: Extent::Frames { frames: SENT },
            with_time: false,
            node_clock: false,
        };
        let sent = udp::send(&from, &offer, &FlowProgress::default(), &Cancel::new()).unwrap();
        assert_eq!(sent.report.emitted_frames, SENT);
        let over = Cancel::new();
        over.cancel();
        let received = work(&FlowProgress::default(), &over)
            .unwrap()
            .received
            .unwrap();
        let counts = &received.report.counts;
        assert_eq!(
            counts.distinct_sequences + received.report.missed.at_least,
            SENT,
            "{counts:?} {:?}",
            received.report.missed
        );
    }
}
