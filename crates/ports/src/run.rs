//! Running a trial: checkers first, then senders, then what is still on its way, then the observation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wirelab_port::job::{CheckReport, SendReport};
use wirelab_port::packet::{self, CaptureSink, FrameSink, PacketError};
use wirelab_port::xdp::{self, Generator, GeneratorOptions, XdpError};
use wirelab_trial::counter::ATTEMPTS;
use wirelab_trial::{
    Cancel, Extent, Field, FlowObservation, NodeError, Observation, Progress, Warning,
};

use crate::flow::{FlowPlan, Plan};
use crate::observe::{self, Ran};
use crate::{Path, PortsNode};

/// No frame for so long after the senders ended means that all have arrived.
const QUIET: Duration = Duration::from_millis(30);
/// Longest wait for frames that are still on their way (RFC 2544, 23: two seconds).
const LONGEST_DRAIN: Duration = Duration::from_secs(2);
/// From this total rate on, one generator a processor shares the work.
const ONE_GENERATOR_FRAMES_PER_S: f64 = 1_500_000.0;

/// A checker at work on either path.
pub enum AnyChecker {
    Xdp(xdp::Checker),
    Packet(packet::Checker),
}

impl AnyChecker {
    /// The path's word in observations.
    pub fn path(&self) -> &'static str {
        match self {
            AnyChecker::Xdp(_) => "xdp",
            AnyChecker::Packet(_) => "packet",
        }
    }

    pub fn received(&self) -> u64 {
        match self {
            AnyChecker::Xdp(checker) => checker.received(),
            AnyChecker::Packet(checker) => checker.received_frames(),
        }
    }

    pub fn finish(self) -> Result<CheckReport, NodeError> {
        match self {
            AnyChecker::Xdp(checker) => Ok(checker.report()),
            AnyChecker::Packet(checker) => Ok(checker.finish(QUIET)?),
        }
    }
}

pub fn xdp_error(error: XdpError) -> NodeError {
    match error {
        XdpError::Privilege { .. } => NodeError::Privilege(error.to_string()),
        _ => NodeError::Failed(error.to_string()),
    }
}

/// Whether a failure of the fast path is one that the portable path does not have.
pub fn can_fall_back(error: &XdpError) -> bool {
    matches!(
        error,
        XdpError::Unsupported { .. } | XdpError::TooLong { .. } | XdpError::Privilege { .. }
    )
}

/// Start a checker for each flow, on the path asked or on the first that works.
pub fn start_checkers(
    node: &PortsNode,
    flows: &[FlowPlan],
    warnings: &mut Vec<Warning>,
) -> Result<Vec<AnyChecker>, NodeError> {
    let options = &node.options;
    let length = flows.iter().map(|f| f.job.sizes.length).max().unwrap_or(0);
    let too_long = length > xdp::MAX_LENGTH;
    if too_long && options.path == Path::Auto {
        let max = xdp::MAX_LENGTH;
        warnings.push(fallback_warning(&XdpError::TooLong { length, max }));
    }
    if options.path != Path::Packet && !(too_long && options.path == Path::Auto) {
        let checker = xdp::CheckerOptions {
            latency: options.latency,
            pass: node.capture.is_some(),
            ..Default::default()
        };
        let attached: Result<Vec<_>, _> = flows
            .iter()
            .map(|f| xdp::Checker::attach(&f.to, f.check, checker))
            .collect();
        match attached {
            Ok(checkers) => return Ok(checkers.into_iter().map(AnyChecker::Xdp).collect()),
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
                ..Default::default()
            };
            packet::Checker::start(&f.to, &f.check, options)
                .map(AnyChecker::Packet)
                .map_err(NodeError::from)
        })
        .collect()
}

/// Where frames that arrive for this flow are captured, if they are.
fn sink_for(node: &PortsNode, flow: &FlowPlan) -> Option<Box<dyn FrameSink>> {
    let pair = node.pairs.iter().position(|p| p.node == flow.port)?;
    let interface = (2 * pair + usize::from(flow.to != node.pairs[pair].node)) as u32;
    let writer = Arc::clone(node.capture.as_ref()?);
    Some(Box::new(CaptureSink { writer, interface }))
}

/// Beside XDP checkers, which see frames before the kernel has a copy to give away: those that capture.
fn start_recorders(
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

/// End the captures; what they could not keep is said.
fn finish_recorders(
    recorders: Vec<packet::Checker>,
    flows: &[FlowPlan],
    warnings: &mut Vec<Warning>,
) -> Result<(), NodeError> {
    for (recorder, flow) in recorders.into_iter().zip(flows) {
        let seen = recorder.finish(QUIET)?;
        if seen.missed_frames > 0 || !seen.notes.is_empty() {
            warnings.push(Warning::new(
                "capture",
                format!(
                    "{}: the capture lacks {} frames {}",
                    flow.to,
                    seen.missed_frames,
                    seen.notes.join("; ")
                ),
                "offer less, or capture fewer ports; the counts of the trial are not touched",
            ));
        }
    }
    Ok(())
}

fn fallback_warning(error: &XdpError) -> Warning {
    let long = matches!(error, XdpError::TooLong { .. });
    let (code, way_out) = if long {
        (
            "long-frames",
            "nothing is wrong; --path packet asks for it on purpose",
        )
    } else {
        (
            "slow-path",
            "run 'wirelab selftest' to see what this host lacks",
        )
    };
    Warning::new(
        code,
        format!("the portable path was taken: {error}"),
        way_out,
    )
}

/// The processors this process may run on.
pub fn processors() -> Vec<usize> {
    let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0));
    let set = set.unwrap_or_default();
    (0..nix::sched::CpuSet::count())
        .filter(|cpu| set.is_set(*cpu).unwrap_or(false))
        .collect()
}

/// Send all flows at once; one report for each, in order.
fn send(
    plan: &Plan,
    fast: bool,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Vec<SendReport>, NodeError> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| show_progress(plan, progress, &over));
        let reports = if fast {
            send_fast(plan, cancel)
        } else {
            send_portably(plan, cancel)
        };
        over.store(true, Ordering::Relaxed);
        watch.join().expect("showing progress does not panic");
        reports
    })
}

fn show_progress(plan: &Plan, progress: &dyn Progress, over: &AtomicBool) {
    let begun = Instant::now();
    let expected = match plan.trial.extent {
        Extent::Time { time_ps } => Some(time_ps as f64 / 1e12),
        Extent::Frames { frames } => plan.frames_per_s.map(|rate| frames as f64 / rate),
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
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn send_fast(plan: &Plan, cancel: &Cancel) -> Result<Vec<SendReport>, NodeError> {
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
        // A single generator starts wherever the scheduler finds an idle processor.
        let cpu = (groups > 1)
            .then(|| cpus.get(group % cpus.len().max(1)).copied())
            .flatten();
        let options = GeneratorOptions {
            cpu,
            ..GeneratorOptions::default()
        };
        generators.push(Generator::load(&jobs, options).map_err(xdp_error)?);
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
        groups_of_reports.push(result.map_err(xdp_error)?.into_iter());
    }
    // Flow i was job i / groups of group i % groups.
    let next = |i: usize| {
        groups_of_reports[i % groups]
            .next()
            .expect("one report a job")
    };
    Ok((0..plan.flows.len()).map(next).collect())
}

fn send_portably(plan: &Plan, cancel: &Cancel) -> Result<Vec<SendReport>, NodeError> {
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
    results
        .into_iter()
        .map(|r| r.or_else(keep_partial))
        .collect()
}

/// A run that broke off half-way still counts what it did; the observation shows that it is not whole.
fn keep_partial(error: PacketError) -> Result<SendReport, NodeError> {
    match error {
        PacketError::Broken { partial, .. } => Ok(*partial),
        error => Err(error.into()),
    }
}

/// Wait until nothing has arrived for a while.
fn drain(checkers: &[AnyChecker]) {
    let total = || checkers.iter().map(AnyChecker::received).sum::<u64>();
    let begun = Instant::now();
    let (mut last, mut quiet_since) = (total(), Instant::now());
    while quiet_since.elapsed() < QUIET && begun.elapsed() < LONGEST_DRAIN {
        std::thread::sleep(Duration::from_millis(2));
        let now = total();
        if now != last {
            (last, quiet_since) = (now, Instant::now());
        }
    }
}

/// Wait until `expected` frames have arrived, or nothing has for a while.
pub fn drain_short(checker: &AnyChecker, expected: u64) {
    let begun = Instant::now();
    while checker.received() < expected && begun.elapsed() < QUIET {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Run a trial without buffers. A run that the tester spoilt, because its sender was held up by other work on the
/// host, says nothing of the node and is made again; the observation says how often.
pub fn run(
    node: &PortsNode,
    plan: &Plan,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Observation, NodeError> {
    let mut attempt = 1;
    loop {
        let mut observation = attempt_once(node, plan, progress, cancel)?;
        // A run with a finding is kept: what it found must not be thrown away with it.
        let slow = observation.flows.iter().any(below_rate) && observation.passed();
        let spoilt = slow && !cancel.is_cancelled();
        if !spoilt || attempt >= node.options.attempts {
            if attempt > 1 {
                let attempts = Field::measured(u64::from(attempt));
                observation.counters.insert(ATTEMPTS.to_owned(), attempts);
            }
            return Ok(observation);
        }
        attempt += 1;
    }
}

fn below_rate(flow: &FlowObservation) -> bool {
    flow.sender
        .value()
        .is_some_and(|s| s.kept_rate.value() == Some(&false))
}

fn attempt_once(
    node: &PortsNode,
    plan: &Plan,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Observation, NodeError> {
    let mut warnings = Vec::new();
    let checkers = start_checkers(node, &plan.flows, &mut warnings)?;
    let fast = checkers.iter().all(|c| matches!(c, AnyChecker::Xdp(_)));
    let recorders = if fast {
        start_recorders(node, &plan.flows)?
    } else {
        Vec::new()
    };
    let started = wirelab_trial::host_clock::unix_ns();
    let sent = send(plan, fast, progress, cancel)?;
    drain(&checkers);
    finish_recorders(recorders, &plan.flows, &mut warnings)?;
    let receiver_path = checkers.first().map_or("none", AnyChecker::path);
    let seen = checkers
        .into_iter()
        .map(AnyChecker::finish)
        .collect::<Result<Vec<_>, _>>()?;
    let ran = Ran {
        started,
        sent,
        seen,
        sender_path: if fast { "xdp" } else { "packet" },
        receiver_path,
    };
    Ok(observe::observation(
        node,
        plan,
        ran,
        cancel.is_cancelled(),
        warnings,
    ))
}
