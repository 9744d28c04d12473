//! Running a trial: checkers, senders, frames in flight, and the observation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wirelab_port::job::{CheckReport, SendReport};
use wirelab_port::packet::{self, CaptureSink, FrameSink, PacketError};
use wirelab_port::xdp::{self, Generator, GeneratorOptions, XdpError};
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::{
    Cancel, Extent, NodeError, Observation, Progress, Warning, WarningCode, format,
};

use crate::checker::{AnyChecker, FramePath, QUIET};
use crate::flow::{FlowPlan, PortsTrial, interface_error};
use crate::observe::{self, RunResult};
use crate::settle;
use crate::shaper::bypassed_shapers;
use crate::watch::PortStates;
use crate::{Path, PortsNode};

/// From this total rate on, one generator for each processor shares the work.
const ONE_GENERATOR_FRAMES_PER_S: f64 = 1_500_000.0;
/// Interval between two readings of each flow's progress: some hundred in the shortest trials of a search.
const LOOK: Duration = Duration::from_millis(2);

pub fn xdp_error(error: XdpError) -> NodeError {
    match error {
        XdpError::Privilege { .. } => NodeError::Privilege(error.to_string()),
        _ => NodeError::Failed(error.to_string()),
    }
}

/// Whether the portable path does not have this failure of the fast path.
pub fn can_fall_back(error: &XdpError) -> bool {
    matches!(
        error,
        XdpError::Unsupported { .. }
            | XdpError::TooLong { .. }
            | XdpError::Privilege { .. }
            | XdpError::NothingLeft { .. }
    )
}

/// Start a checker for each flow, on the requested path or on the first that works.
pub fn start_checkers(
    node: &PortsNode,
    flows: &[FlowPlan],
    warnings: &mut Vec<Warning>,
) -> Result<Vec<AnyChecker>, NodeError> {
    let options = &node.options;
    let since_ns = now_ns();
    node.sent_since_ns.store(since_ns, Ordering::Relaxed);
    let length = flows.iter().map(|f| f.job.sizes.length).max().unwrap_or(0);
    let too_long = length > xdp::MAX_LENGTH;
    if too_long && options.path == Path::Auto {
        let max = xdp::MAX_LENGTH;
        warnings.push(fallback_warning(&XdpError::TooLong { length, max }));
    }
    if options.path != Path::Packet && !(too_long && options.path == Path::Auto) {
        let checker = |flow: &FlowPlan| xdp::CheckerOptions {
            latency: options.latency,
            pass: node.capture.is_some(),
            expected_frames: Some(flow.frames_at_most()),
            sent_since_ns: Some(since_ns),
            ..Default::default()
        };
        let attached: Result<Vec<_>, _> = flows
            .iter()
            .map(|f| xdp::Checker::attach(&f.to, f.check, checker(f)))
            .collect();
        match attached {
            Ok(checkers) => {
                return Ok(checkers.into_iter().map(AnyChecker::Xdp).collect());
            }
            Err(error) if options.path == Path::Auto && can_fall_back(&error) => {
                warnings.push(fallback_warning(&error));
            }
            Err(error) => return Err(xdp_error(error)),
        }
    }
    let cpus = processors();
    flows
        .iter()
        .enumerate()
        .map(|(i, f)| {
            let cpu = (cpus.len() > 1).then(|| cpus[cpus.len() - 1 - i % (cpus.len() / 2)]);
            let sink = sink_for(node, f);
            let options = packet::CheckOptions {
                cpu,
                sink,
                sent_since_ns: Some(since_ns),
                ..Default::default()
            };
            packet::Checker::start(&f.to, &f.check, options)
                .map(AnyChecker::Packet)
                .map_err(NodeError::from)
        })
        .collect()
}

/// The sink of the frames that arrive for this flow, if they are captured.
fn sink_for(node: &PortsNode, flow: &FlowPlan) -> Option<Box<dyn FrameSink>> {
    let pair = node.pairs.iter().position(|p| p.node == flow.port)?;
    let interface = (2 * pair + usize::from(flow.to != node.pairs[pair].node)) as u32;
    let writer = Arc::clone(node.capture.as_ref()?);
    Some(Box::new(CaptureSink {
        writer,
        interface,
        sent_since_ns: Some(node.sent_since_ns.load(Ordering::Relaxed)),
    }))
}

/// Checkers that capture, beside XDP checkers, which see frames before the kernel can copy them.
pub fn start_recorders(
    node: &PortsNode,
    flows: &[FlowPlan],
) -> Result<Vec<packet::Checker>, NodeError> {
    let start = |f: &FlowPlan| {
        let sink = sink_for(node, f)?;
        let options = packet::CheckOptions {
            sink: Some(sink),
            ..Default::default()
        };
        Some(packet::Checker::start(&f.to, &f.check, options).map_err(NodeError::from))
    };
    flows.iter().filter_map(start).collect()
}

/// End the captures; a warning names what they lack.
pub fn finish_recorders(
    recorders: Vec<packet::Checker>,
    flows: &[FlowPlan],
    warnings: &mut Vec<Warning>,
) -> Result<(), NodeError> {
    for (recorder, flow) in recorders.into_iter().zip(flows) {
        let received = recorder.finish(QUIET)?;
        if let Some(lacks) = what_a_capture_lacks(&received) {
            warnings.push(Warning::new(
                WarningCode::CAPTURE,
                format!("{}: {lacks}", flow.to),
                "lower the load, or capture fewer ports; the counts of the trial are not affected",
            ));
        }
    }
    Ok(())
}

/// A capture takes every frame of the port, so it is unknown whose frames its ring dropped; the note gives a bound.
fn what_a_capture_lacks(received: &CheckReport) -> Option<String> {
    // If the host joined frames there is no bound, and a note says so.
    let bound = match received.missed.at_most {
        0 | u64::MAX => None,
        frames => Some(format!(
            "the capture may lack up to {}",
            format::count(frames, "frame")
        )),
    };
    let notes: Vec<_> = bound.into_iter().chain(received.notes.clone()).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn fallback_warning(error: &XdpError) -> Warning {
    let (code, fix) = match error {
        XdpError::TooLong { .. } => (
            WarningCode::LONG_FRAMES,
            "nothing, if that is intended: --path packet requests it",
        ),
        XdpError::NothingLeft { .. } => (
            WarningCode::SLOW_PATH,
            "let the sending port's other end take XDP frames, or give --path packet",
        ),
        _ => (
            WarningCode::SLOW_PATH,
            "see 'wirelab selftest' for what this host lacks",
        ),
    };
    Warning::new(code, format!("the portable path was taken: {error}"), fix)
}

/// The processors that this process may use.
pub fn processors() -> Vec<usize> {
    let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0));
    let set = set.unwrap_or_default();
    (0..nix::sched::CpuSet::count())
        .filter(|cpu| set.is_set(*cpu).unwrap_or(false))
        .collect()
}

/// Send all flows at once by `send`; one report for each, in order.
fn sending<T>(
    plan: &PortsTrial,
    checkers: &[AnyChecker],
    progress: &dyn Progress,
    send: impl FnOnce() -> T,
) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| show_progress(plan, checkers, progress, &over));
        let reports = send();
        over.store(true, Ordering::Relaxed);
        watch.join().expect("showing progress does not panic");
        reports
    })
}

/// The senders' reports.
struct Sent {
    reports: Vec<SendReport>,
    /// The path's name.
    path: FramePath,
    /// Why the first sender that ended early did.
    broke_off: Option<PacketError>,
}

/// Send on the fast path, or on the portable one if no frame leaves on the fast one and the trial leaves the choice.
fn send(
    node: &PortsNode,
    plan: &PortsTrial,
    checkers: &[AnyChecker],
    warnings: &mut Vec<Warning>,
    cancel: &Cancel,
) -> Result<Sent, NodeError> {
    if checkers.iter().all(|c| matches!(c, AnyChecker::Xdp(_))) {
        match send_fast(plan, cancel) {
            Ok(reports) => {
                return Ok(Sent {
                    reports,
                    path: FramePath::Xdp,
                    broke_off: None,
                });
            }
            Err(error @ XdpError::NothingLeft { .. }) if node.options.path == Path::Auto => {
                warnings.push(fallback_warning(&error));
                // Frames that ports sent meanwhile belong to no trial.
                settle::drain(checkers, cancel);
                checkers.iter().for_each(AnyChecker::reset);
            }
            Err(error) => return Err(xdp_error(error)),
        }
    }
    send_portably(plan, cancel)
}

fn show_progress(
    plan: &PortsTrial,
    checkers: &[AnyChecker],
    progress: &dyn Progress,
    over: &AtomicBool,
) {
    let begun = Instant::now();
    let expected = match plan.resolved.trial.extent {
        Extent::Time { time_ps } => Some(time_ps as f64 / 1e12),
        Extent::Frames { frames } => plan.resolved.frames_per_s.map(|rate| frames as f64 / rate),
    };
    while !over.load(Ordering::Relaxed) {
        if let Some(expected) = expected.filter(|s| *s > 0.5) {
            let done = begun.elapsed().as_secs_f64().min(expected);
            progress.report(
                (done * 1000.0) as u64,
                (expected * 1000.0) as u64,
                "sending",
            );
        }
        checkers.iter().for_each(AnyChecker::look);
        std::thread::sleep(LOOK);
    }
}

fn send_fast(plan: &PortsTrial, cancel: &Cancel) -> Result<Vec<SendReport>, XdpError> {
    let cpus = processors();
    let busy = plan
        .total_frames_per_s()
        .is_none_or(|rate| rate > ONE_GENERATOR_FRAMES_PER_S);
    let needed = if busy { cpus.len().max(1) } else { 1 };
    let groups = needed
        .min(plan.flows.len())
        .max(plan.flows.len().div_ceil(xdp::MAX_PORTS));
    let mut generators = Vec::new();
    for group in 0..groups {
        let jobs: Vec<_> = plan
            .flows
            .iter()
            .skip(group)
            .step_by(groups)
            .map(|f| (f.from.clone(), f.job.clone()))
            .collect();
        // The scheduler chooses an idle processor for a single generator.
        let cpu = (groups > 1)
            .then(|| cpus.get(group % cpus.len().max(1)).copied())
            .flatten();
        let options = GeneratorOptions {
            cpu,
            ..GeneratorOptions::default()
        };
        generators.push(Generator::load(&jobs, options)?);
    }
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = generators
            .iter()
            .map(|g| scope.spawn(|| g.run(cancel)))
            .collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("a generator does not panic"))
            .collect()
    });
    let mut groups_of_reports: Vec<_> = Vec::new();
    for result in results {
        groups_of_reports.push(result?.into_iter());
    }
    // Flow i was job i / groups of group i % groups.
    let next = |i: usize| {
        groups_of_reports[i % groups]
            .next()
            .expect("one report a job")
    };
    Ok((0..plan.flows.len()).map(next).collect())
}

fn send_portably(plan: &PortsTrial, cancel: &Cancel) -> Result<Sent, NodeError> {
    let cpus = processors();
    let results: Vec<_> = std::thread::scope(|scope| {
        let send = |(i, f): (usize, &FlowPlan)| {
            let cpu = (!cpus.is_empty()).then(|| cpus[i % cpus.len().div_ceil(2)]);
            let options = packet::SendOptions { cpu };
            let (from, job) = (f.from.clone(), f.job.clone());
            scope.spawn(move || packet::send(&from, &job, &options, cancel))
        };
        let threads: Vec<_> = plan.flows.iter().enumerate().map(send).collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("a sender does not panic"))
            .collect()
    });
    let (mut reports, mut broke_off) = (Vec::new(), None);
    for result in results {
        let report = match result {
            // The frames until then count, and a note says why it ended.
            Err(PacketError::Broken { ref partial, .. }) => (**partial).clone(),
            Err(error) => return Err(error.into()),
            Ok(ref report) => report.clone(),
        };
        reports.push(report);
        broke_off = broke_off.or(result.err());
    }
    Ok(Sent {
        reports,
        path: FramePath::Packet,
        broke_off,
    })
}

/// Wait until `expected` frames have arrived, or none for a while.
pub fn drain_short(checker: &AnyChecker, expected: u64) {
    let begun = Instant::now();
    while checker.received() < expected && begun.elapsed() < QUIET {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Run a trial without buffers.
pub fn run(
    node: &PortsNode,
    plan: &PortsTrial,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Observation, NodeError> {
    let mut warnings = Vec::new();
    settle::announce(&plan.flows);
    let _neighbours = settle::resolve(&plan.flows, cancel);
    let checkers = start_checkers(node, &plan.flows, &mut warnings)?;
    let restless = &node.restless;
    let still = settle::wait_for_others(&checkers, restless.load(Ordering::Relaxed), cancel);
    warnings.extend(still);
    let fast = checkers.iter().all(|c| matches!(c, AnyChecker::Xdp(_)));
    let recorders = if fast {
        start_recorders(node, &plan.flows)?
    } else {
        Vec::new()
    };
    let watch = PortStates::of_flows(&plan.flows).map_err(interface_error)?;
    // The loss of a port causes many errors, none of which names the cause.
    let because = |error: NodeError| match watch.fault() {
        Some(why) => NodeError::Failed(format!("{why}: {error}")),
        None => error,
    };
    let started = wirelab_trial::host_clock::unix_ns();
    let Sent {
        reports: mut sent,
        path: sender_path,
        broke_off,
    } = sending(plan, &checkers, progress, || {
        send(node, plan, &checkers, &mut warnings, cancel)
    })
    .map_err(because)?;
    if sender_path == FramePath::Xdp {
        let from = plan.flows.iter().map(|f| &f.from);
        warnings.extend(bypassed_shapers(from, Path::Xdp));
    }
    let late = settle::wait_for_own(&checkers, &sent, cancel);
    restless.store(late.is_some(), Ordering::Relaxed);
    warnings.extend(late);
    if !recorders.is_empty() {
        settle::wait_for_captures(&recorders, &checkers, cancel);
    }
    finish_recorders(recorders, &plan.flows, &mut warnings).map_err(because)?;
    let receiver_path = checkers.first().map(AnyChecker::path);
    let received = checkers
        .into_iter()
        .map(AnyChecker::stop)
        .collect::<Result<Vec<_>, _>>()
        .map_err(because)?;
    let fault = watch.fault();
    let mut undeparted = vec![0; sent.len()];
    if sender_path == FramePath::Packet && fault.is_none() {
        for (i, flow) in plan.flows.iter().enumerate() {
            let unseen = sent[i].unseen(&received[i]);
            undeparted[i] = watch.reconcile(&flow.from, &mut sent[i], unseen);
        }
    }
    let result = RunResult {
        started,
        sent,
        received,
        undeparted,
        broke_off: broke_off.map(|error| error.to_string()),
        sender_path,
        receiver_path,
    };
    let mut observation = observe::observation(node, plan, result, cancel.is_cancelled(), warnings);
    if let Some(why) = fault {
        observation.make_void(&why);
    }
    Ok(observation)
}
