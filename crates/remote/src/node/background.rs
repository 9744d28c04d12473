//! The tester's part of a background: its socket, and the report on it.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};

use wirelab_socket::flow::{Offer, Sent};
use wirelab_socket::udp::Background as Sender;
use wirelab_trial::job::SendReport;
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

/// What is known of a background when its trial has ended.
struct BackgroundEnd<'a> {
    /// The sender's report, without what did not leave the tester's interface.
    report: Option<SendReport>,
    /// Why its sender ended early.
    failure: Option<&'a io::Error>,
    received: Option<u64>,
    /// Frames of which it is unknown whether they left the tester's interface.
    either: u64,
    /// The requested rate.
    frames_per_s: f64,
}

impl BackgroundEnd<'_> {
    fn sent(&self) -> Option<u64> {
        self.report.as_ref().map(|report| report.emitted_frames)
    }

    /// The most that may have been lost.
    fn lost(&self) -> Option<u64> {
        let both = self.sent().zip(self.received);
        both.map(|(sent, received)| sent.saturating_sub(received))
    }

    /// Frames that the queue or the driver of the tester's interface dropped.
    fn refused(&self) -> Option<u64> {
        let refused = self.report.as_ref().map(|report| report.refused_frames);
        refused.filter(|refused| *refused > 0)
    }

    fn put_counters(&self, received_bytes: Option<u64>, into: &mut BTreeMap<String, Field<u64>>) {
        let mut put = |name: &str, value: Option<u64>, why: &str| {
            let field = Field::measured_or(value, why);
            into.insert(format!("background_{name}"), field);
        };
        let untold = "the node does not report it";
        put("sent_frames", self.sent(), "the flow was not sent");
        put("received_frames", self.received, untold);
        put("received_bytes", received_bytes, untold);
        let certain = self.lost().map(|lost| lost.saturating_sub(self.either));
        put("lost_frames", certain, untold);
        if self.either > 0 {
            put("lost_frames_at_most", self.lost(), untold);
        }
        if let Some(refused) = self.refused() {
            put("refused_frames", Some(refused), "");
        }
        // The time of the frames at the achieved rate, and the number due in that time: unlike a rate, both can be added
        // over several trials.
        let whole = self.report.as_ref().filter(|_| self.failure.is_none());
        let rate = whole.and_then(SendReport::frames_per_s);
        let lasted_s = self.sent().zip(rate).map(|(sent, rate)| sent as f64 / rate);
        let few = "it ended early, or fewer than two frames of it were sent";
        put("lasted_ns", lasted_s.map(|s| (s * 1e9).round() as u64), few);
        let due = lasted_s.map(|s| (s * self.frames_per_s).round() as u64);
        put("due_frames", due, few);
        let slipped = self.report.as_ref().map(|report| report.slips);
        put("sender_slips", slipped, "the flow was not sent");
    }

    /// What was lost, at either end of the link.
    fn losses(&self) -> Vec<Warning> {
        let refused = self.refused().map(|refused| {
            Warning::new(
                WarningCode::BACKGROUND_REFUSED,
                format!(
                    "the queue or the driver of the tester's interface dropped {} of the background",
                    format::count(refused, "frame")
                ),
                "they count neither as sent nor as lost; offer less of either",
            )
        });
        let lost = self.lost().zip(self.sent()).filter(|(lost, _)| *lost > 0);
        let lost = lost.map(|(lost, sent)| {
            let doubt = match self.either {
                0 => String::new(),
                n => format!(", of which {n} may not have left the tester's interface"),
            };
            Warning::new(
                WarningCode::BACKGROUND_LOST,
                format!(
                    "the node did not receive {lost} of {} of the background{doubt}",
                    format::count(sent, "frame")
                ),
                "nothing is wrong if overload was intended; else offer less",
            )
        });
        refused.into_iter().chain(lost).collect()
    }

    /// Marks a trial whose background was not the requested one.
    fn judge(&self, observation: &mut Observation) {
        if let Some(error) = self.failure {
            let why = format!("the background ended early: {error}");
            observation.warnings.push(Warning::new(
                WarningCode::BACKGROUND_ENDED,
                why.clone(),
                "start its receiver: wirelab node serve, or iperf -s -u beside iperf -s for an iperf peer",
            ));
            // The measured conditions are then not the requested ones.
            if observation.status == Status::Complete {
                observation.status = Status::Partial { why };
            }
        }
        let requested = self.frames_per_s;
        let report = self.report.as_ref();
        if let Some(report) = report.filter(|r| r.kept_rate(Some(requested)) == Some(false)) {
            let rate = report.frames_per_s().unwrap_or(0.0);
            observation.warnings.push(Warning::new(
                WarningCode::BACKGROUND_BELOW_RATE,
                format!(
                    "the tester sent the background at {rate:.0} frames/s, not the requested {requested:.0}"
                ),
                "the tester was the limit: offer less of either",
            ));
            observation.tester.was_limit = Field::measured(true);
        }
    }
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
    let counter = |name: &str| counters.get(name).copied();
    let received = counter("background_received_frames");
    let mut either = 0;
    let report = sent.map(|sent| {
        let mut report = sent.report.clone();
        if let Some(received) = received {
            let unseen = report.emitted_frames.saturating_sub(received);
            either = left.take_from(&mut report, unseen, sent.segmented);
        }
        report
    });
    let end = BackgroundEnd {
        report,
        failure: sent.and_then(|sent| sent.failure.as_ref()),
        received,
        either,
        frames_per_s,
    };
    let received_bytes = counter("background_received_bytes");
    end.put_counters(received_bytes, &mut observation.counters);
    observation.warnings.extend(end.losses());
    end.judge(observation);
}
