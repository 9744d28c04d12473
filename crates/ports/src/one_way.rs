//! One direction alone: a sender without a receiver, or a receiver without a sender, also across machines.

use std::time::{Duration, Instant};

use wirelab_port::iface::{Interface, PortLock, PortName};
use wirelab_port::job::{CheckJob, CheckReport, Pace, SendJob, SendReport};
use wirelab_port::packet::{self, FrameSink};
use wirelab_port::xdp::{self, Generator, GeneratorOptions};
use wirelab_trial::resolved::check_mark;
use wirelab_trial::{Cancel, NodeError, Trial};
use wirelab_wire::LineRate;

use crate::Path;
use crate::checker::{AnyChecker, FramePath};
use crate::flow::{self, interface_error};
use crate::run::xdp_error;
use crate::watch::PortStates;

/// Send the trial from `port` to the MAC address `to`. [`Path::Auto`] is the portable path: whether a driver takes
/// frames of XDP depends on the other end, which is not visible here.
///
/// # Errors
/// [`NodeError`] names what is wrong with port, trial or privilege.
pub fn send(
    port: &PortName,
    to: [u8; 6],
    stream: u8,
    trial: &Trial,
    path: Path,
    cancel: &Cancel,
) -> Result<SendReport, NodeError> {
    let _lock = PortLock::acquire(port).map_err(interface_error)?;
    let interface = Interface::query(port).map_err(interface_error)?;
    interface.require_carrier().map_err(interface_error)?;
    let link = trial.link().or(interface.link_rate.and_then(LineRate::new));
    let job = one_way_job(trial, interface.mac.0, to, stream, link)?;
    interface
        .require_length(job.sizes.length, trial.framing.vlan_tags > 0)
        .map_err(interface_error)?;
    let watch = PortStates::start(&[port]).map_err(interface_error)?;
    let mut report = if path == Path::Xdp {
        let generator = Generator::load(&[(port.clone(), job)], GeneratorOptions::default());
        let mut reports = generator.and_then(|g| g.run(cancel)).map_err(xdp_error)?;
        reports.remove(0)
    } else {
        packet::send(port, &job, &packet::SendOptions::default(), cancel)?
    };
    if let Some(fault) = watch.fault() {
        return Err(NodeError::Failed(fault));
    }
    if path != Path::Xdp {
        // Without a receiver all frames are in question, so those that may have left count as sent.
        let _ = watch.reconcile(port, &mut report, u64::MAX);
    }
    Ok(report)
}

/// The job of a sender with the address `source`.
///
/// # Errors
/// [`NodeError::BadTrial`] names the limit that the trial breaks, [`NodeError::Unsupported`] a code point without a header.
pub fn one_way_job(
    trial: &Trial,
    source: [u8; 6],
    to: [u8; 6],
    stream: u8,
    link: Option<LineRate>,
) -> Result<SendJob, NodeError> {
    let bad = |e: &dyn std::fmt::Display| NodeError::BadTrial(e.to_string());
    check_mark(trial)?;
    let sizes = trial.sizes().map_err(|e| bad(&e))?;
    let rate = trial
        .load
        .frames_per_s(&sizes, trial.framing.layer, link)
        .map_err(|e| bad(&e))?;
    Ok(SendJob {
        frame: flow::frame_spec(trial, source, to, stream),
        sizes,
        stream,
        with_time: true,
        pace: Pace::of(rate).strict(trial.strict_gaps),
        extent: trial.extent,
        faults: flow::schedule_for(trial, &sizes, rate, 0)?,
        buffers: trial.buffers,
    })
}

/// When a receiver ends.
#[derive(Clone, Copy, Debug)]
pub struct EndCondition {
    /// After this long, if given.
    pub time: Option<Duration>,
    /// After this long without a frame, once one has arrived.
    pub idle: Duration,
}

/// The result of a receiver alone.
#[derive(Debug)]
pub struct Received {
    /// The checker's report.
    pub report: CheckReport,
    /// The path that it took; a note of the report says why, if it is the slower one.
    pub path: FramePath,
    /// What happened to the link since it was first up, in words; `None` for nothing.
    pub link_fault: Option<String>,
}

impl Received {
    /// Whether every frame arrived once, in order and intact, as far as known. If the sender's number is known, the
    /// counts include every frame that was dropped or lost on the link.
    pub fn is_clean(&self, sent_frames: Option<u64>) -> bool {
        let nothing_unseen = self.report.missed.at_most == 0 && self.link_fault.is_none();
        self.report.counts.is_clean()
            && self.report.counts.received_frames > 0
            && (sent_frames.is_some() || nothing_unseen)
    }
}

/// Check the frames that arrive on `port`. A `sink` gets every frame too, which needs the portable path.
///
/// # Errors
/// [`NodeError`] names what is wrong with port or privilege.
pub fn receive(
    port: &PortName,
    job: CheckJob,
    path: Path,
    sink: Option<Box<dyn FrameSink>>,
    until: EndCondition,
    cancel: &Cancel,
) -> Result<Received, NodeError> {
    let _lock = PortLock::acquire(port).map_err(interface_error)?;
    let mut note = None;
    let checker = start(port, job, path, sink, &mut note)?;
    let begun = Instant::now();
    let (mut last, mut since) = (0, Instant::now());
    // A receiver may begin before the other end is up.
    let mut watch = None;
    while !cancel.is_cancelled() && until.time.is_none_or(|t| begun.elapsed() < t) {
        checker.look();
        watch = watch.or_else(|| PortStates::once_up(port));
        let now = checker.received();
        if now != last {
            (last, since) = (now, Instant::now());
        } else if now > 0 && since.elapsed() >= until.idle {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let link_fault = watch.and_then(|watch| watch.fault());
    let path = checker.path();
    let mut report = checker.finish()?;
    report.notes.extend(note);
    Ok(Received {
        report,
        path,
        link_fault,
    })
}

fn start(
    port: &PortName,
    job: CheckJob,
    path: Path,
    sink: Option<Box<dyn FrameSink>>,
    note: &mut Option<String>,
) -> Result<AnyChecker, NodeError> {
    if sink.is_some() && path == Path::Xdp {
        let text = "a capture needs the portable path; fix: leave --path xdp out";
        return Err(NodeError::BadTrial(text.to_owned()));
    }
    if path != Path::Packet && sink.is_none() {
        match xdp::Checker::attach(port, job, xdp::CheckerOptions::default()) {
            Ok(checker) => return Ok(AnyChecker::Xdp(checker)),
            Err(error) if path == Path::Xdp || !crate::run::can_fall_back(&error) => {
                return Err(xdp_error(error));
            }
            Err(error) => *note = Some(format!("the portable path was taken: {error}")),
        }
    }
    let options = packet::CheckOptions {
        sink,
        ..Default::default()
    };
    Ok(AnyChecker::Packet(packet::Checker::start(
        port, &job, options,
    )?))
}
