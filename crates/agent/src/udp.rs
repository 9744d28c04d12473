//! UDP trials: source, sink and echo of test frames, to and from the peer that asked alone.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use wirelab_socket::echo;
use wirelab_socket::flow::{Expect, Offer, Seen};
use wirelab_socket::serve::{self, Beside, Inlet, UdpEcho, UdpInlet, Watching};
use wirelab_socket::udp;
use wirelab_trial::{Cancel, Direction, Wait};

use crate::engine::{Plan, Told, Work};

/// A peer gets the reply to its request before the first frame.
pub const AFTER_REPLY: Duration = Duration::from_millis(20);

/// A UDP trial as it was asked.
#[derive(Debug)]
pub struct UdpTrial {
    pub direction: Direction,
    pub offer: Option<Offer>,
    pub expect: Expect,
    pub peer: SocketAddr,
    pub expected_frames: Option<u64>,
    /// Frames are taken one by one, in this way to wait, and this socket is served beside.
    pub one_by_one: Option<(Wait, Option<Beside>)>,
}

/// Plan the work of a trial on its socket.
pub fn plan(socket: UdpSocket, trial: UdpTrial) -> io::Result<Plan> {
    if trial.offer.is_some() {
        // Nothing can be sent elsewhere, and nothing from elsewhere is heard.
        socket.connect(trial.peer)?;
    }
    let socket = Arc::new(socket);
    let wait = trial.one_by_one.as_ref().map(|(wait, _)| *wait);
    let send = trial
        .offer
        .map(|offer| source(Arc::clone(&socket), offer, wait, trial.expect.captures));
    let receive = match (trial.direction, trial.one_by_one) {
        (Direction::Transmit, _) => None,
        (Direction::Echo, None) => Some(reflector(socket, trial.peer.ip())),
        (Direction::Echo, Some((wait, _))) => {
            let inlet = UdpInlet::new(socket, Some(trial.peer.ip()), None, wait, true)?;
            Some(echo_singly(
                UdpEcho::new(inlet, trial.expect.captures),
                wait,
                trial.expect,
            ))
        }
        (_, None) => Some(sink(socket, trial.peer.ip(), trial.expect)),
        (_, Some((wait, beside))) => {
            let (from, stream) = (trial.peer.ip(), trial.expect.stream);
            let alone = beside.is_none();
            let inlet = UdpInlet::new(socket, Some(from), Some(stream), wait, alone)?;
            Some(sink_singly(Box::new(inlet), wait, beside, trial.expect))
        }
    };
    Ok(Plan {
        send,
        receive,
        expected_frames: trial.expected_frames,
        ..Plan::default()
    })
}

fn source(socket: Arc<UdpSocket>, offer: Offer, wait: Option<Wait>, captures: u32) -> Work {
    Box::new(move |live, cancel| {
        self::wait(AFTER_REPLY, cancel);
        let Some(wait) = wait else {
            return Ok(Told::sent(udp::send(&socket, &offer, live, cancel)?));
        };
        let (sent, passed) = serve::send(&socket, &offer, wait, captures, live, cancel)?;
        Ok(Told {
            passed_out: passed,
            ..Told::sent(sent)
        })
    })
}

fn sink(socket: Arc<UdpSocket>, from: IpAddr, expect: Expect) -> Work {
    Box::new(move |live, cancel| {
        let seen = udp::receive(&socket, Some(from), &expect, live, cancel)?;
        Ok(Told::seen(seen))
    })
}

/// Frames one by one, from wherever they come.
pub fn sink_singly(
    mut inlet: Box<dyn Inlet + Send>,
    wait: Wait,
    mut beside: Option<Beside>,
    expect: Expect,
) -> Work {
    Box::new(move |live, cancel| {
        let mut watching = Watching::new(expect.captures, live);
        let failure = serve::run(inlet.as_mut(), wait, beside.as_mut(), &mut watching, cancel);
        let mut told = of_served(watching.finish(failure), 0);
        if let Some(beside) = beside {
            told.counters = background(&beside);
        }
        Ok(told)
    })
}

/// What a background's socket counted.
pub fn background(beside: &Beside) -> Vec<(&'static str, u64)> {
    let counted = beside.counted();
    vec![
        ("background_received_frames", counted.frames),
        ("background_received_bytes", counted.bytes),
    ]
}

/// What frames taken one by one tell.
pub fn of_served(served: serve::Served, sent_back_frames: u64) -> Told {
    let seen = Seen {
        report: served.report,
        sent_back_frames,
        failure: served.failure,
        ..Seen::default()
    };
    Told {
        passed_in: served.passed,
        ..Told::seen(seen)
    }
}

fn reflector(socket: Arc<UdpSocket>, peer: IpAddr) -> Work {
    Box::new(move |live, cancel| {
        let seen = echo::reflect(&socket, Some(peer), Wait::Sleep, live, cancel)?;
        Ok(Told::echoed(seen))
    })
}

fn echo_singly(mut echo: UdpEcho, wait: Wait, expect: Expect) -> Work {
    Box::new(move |live, cancel| {
        let mut watching = Watching::new(expect.captures, live);
        let failure = serve::run(&mut echo, wait, None, &mut watching, cancel);
        let told = of_served(watching.finish(failure), echo.sent_back_frames);
        Ok(Told {
            echoed: Some(echo.sent_back_frames),
            passed_out: echo.sent,
            ..told
        })
    })
}

/// The port that was asked, or a free one where it is in use.
pub fn bind(local: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(local).or_else(|error| match error.kind() {
        io::ErrorKind::AddrInUse => UdpSocket::bind((local.ip(), 0)),
        _ => Err(error),
    })
}

/// Wait, unless the trial is over.
pub fn wait(time: Duration, cancel: &Cancel) {
    if !cancel.is_cancelled() {
        std::thread::sleep(time);
    }
}
