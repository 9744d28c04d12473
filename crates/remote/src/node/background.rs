//! The tester's part of a background: its socket, and the report on it.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};

use wirelab_socket::flow::{Offer, Sent};
use wirelab_socket::udp::Background as Sender;
use wirelab_trial::{Cancel, Extent, Field, Observation, Status, Warning, WarningCode, format};

use super::node_path::BACKGROUND;
use super::plan::NodeTrial;
use crate::leaving::InterfaceEvents;
use crate::route::connected;

/// A socket to the node's background port; `None` where no background is requested.
pub fn socket(plan: &NodeTrial, node: SocketAddr) -> io::Result<Option<UdpSocket>> {
    let Some(background) = plan.background else {
        return Ok(None);
    };
    connected(SocketAddr::new(node.ip(), background.port)).map(Some)
}

/// The background of a trial that begins now.
pub fn begin<'a>(
    plan: &NodeTrial,
    socket: Option<&'a UdpSocket>,
) -> io::Result<Option<Sender<'a>>> {
    let Some((background, socket)) = plan.background.zip(socket) else {
        return Ok(None);
    };
    let offer = Offer {
        stream: BACKGROUND,
        datagram_bytes: background.sizes.datagram.unwrap_or(0),
        pace: background.pace,
        // It ends with the flow.
        extent: Extent::Frames { frames: u64::MAX },
        with_time: true,
        node_clock: false,
    };
    Sender::new(socket, &offer).map(Some)
}

/// Runs the flow's work while another thread sends the background.
pub fn around<T>(
    plan: &NodeTrial,
    socket: Option<&UdpSocket>,
    work: impl FnOnce() -> io::Result<T>,
) -> io::Result<(T, Option<Sent>)> {
    let Some(mut background) = begin(plan, socket)? else {
        return Ok((work()?, None));
    };
    let over = Cancel::new();
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| {
            background.alone(&over);
            background.finish()
        });
        let did = work();
        over.cancel();
        let background = beside.join();
        let background = background.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((did?, Some(background)))
    })
}

/// Reports what was sent and what arrived of a background of this rate in frames/s; `left` are the events of the tester's
/// interface.
pub fn tell(
    observation: &mut Observation,
    frames_per_s: f64,
    sent: Option<&Sent>,
    counters: &BTreeMap<String, u64>,
    left: &InterfaceEvents,
) {
    let received = counters.get("background_received_frames").copied();
    let mut either = 0;
    let reconciled = sent.map(|sent| {
        let mut report = sent.report.clone();
        if let Some(received) = received {
            let unseen = report.emitted_frames.saturating_sub(received);
            either = left.take_from(&mut report, unseen, sent.segmented);
        }
        report
    });
    let sent = reconciled.as_ref().zip(sent.map(|sent| &sent.failure));
    let mut put = |name: &str, value: Option<u64>, why: &str| {
        let field = Field::measured_or(value, why);
        observation
            .counters
            .insert(format!("background_{name}"), field);
    };
    let frames = sent.map(|(report, _)| report.emitted_frames);
    let untold = "the node does not report it";
    put("sent_frames", frames, "the flow was not sent");
    put("received_frames", received, untold);
    put(
        "received_bytes",
        counters.get("background_received_bytes").copied(),
        untold,
    );
    let lost = frames
        .zip(received)
        .map(|(sent, received)| sent.saturating_sub(received));
    let certain = lost.map(|lost| lost.saturating_sub(either));
    put("lost_frames", certain, untold);
    if either > 0 {
        put("lost_frames_at_most", lost, untold);
    }
    let refused = sent.map(|(report, _)| report.refused_frames);
    if let Some(refused) = refused.filter(|refused| *refused > 0) {
        put("refused_frames", Some(refused), "");
    }
    // The time of the frames at the achieved rate, and the number due in that time: unlike a rate, both can be added
    // over several trials.
    let whole = sent.filter(|(_, failure)| failure.is_none());
    let rate = whole.and_then(|(report, _)| report.frames_per_s());
    let lasted_s = frames.zip(rate).map(|(frames, rate)| frames as f64 / rate);
    let few = "it ended early, or fewer than two frames of it were sent";
    put("lasted_ns", lasted_s.map(|s| (s * 1e9).round() as u64), few);
    let due = lasted_s.map(|s| (s * frames_per_s).round() as u64);
    put("due_frames", due, few);
    let slipped = sent.map(|(report, _)| report.slips);
    put("sender_slips", slipped, "the flow was not sent");
    let mut warn = |code: WarningCode, text: String, fix: &str| {
        observation.warnings.push(Warning::new(code, text, fix));
    };
    if let Some(refused) = refused.filter(|refused| *refused > 0) {
        warn(
            WarningCode::BACKGROUND_REFUSED,
            format!(
                "the queue or the driver of the tester's interface dropped {} of the background",
                format::count(refused, "frame")
            ),
            "they count neither as sent nor as lost; offer less of either",
        );
    }
    if let Some((lost, frames)) = lost.zip(frames).filter(|(lost, _)| *lost > 0) {
        let doubt = match either {
            0 => String::new(),
            n => format!(", of which {n} may not have left the tester's interface"),
        };
        warn(
            WarningCode::BACKGROUND_LOST,
            format!(
                "the node did not receive {lost} of {} of the background{doubt}",
                format::count(frames, "frame")
            ),
            "nothing is wrong if overload was intended; else offer less",
        );
    }
    let Some((report, failure)) = sent else {
        return;
    };
    if let Some(error) = failure {
        warn(
            WarningCode::BACKGROUND_ENDED,
            format!("the background ended early: {error}"),
            "start its receiver: wirelab node serve, or iperf -s -u beside iperf -s for an iperf peer",
        );
        // The measured conditions are then not the requested ones.
        if observation.status == Status::Complete {
            let why = format!("the background ended early: {error}");
            observation.status = Status::Partial { why };
        }
    }
    if report.kept_rate(Some(frames_per_s)) == Some(false) {
        let rate = report.frames_per_s().unwrap_or(0.0);
        let requested = frames_per_s;
        warn(
            WarningCode::BACKGROUND_BELOW_RATE,
            format!(
                "the tester sent the background at {rate:.0} frames/s, not the requested {requested:.0}"
            ),
            "the tester was the limit: offer less of either",
        );
        observation.tester.was_limit = Field::measured(true);
    }
}
