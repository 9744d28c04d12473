//! Shared by the tests of pairs of ports: a node in its own lab, trials, and checks that hold for any flow.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wirelab_port::iface::PortName;
use wirelab_port::job::CheckJob;
use wirelab_port::lab::LabSpec;
use wirelab_port::packet::{CheckOptions, Checker, FrameSink};
use wirelab_ports::{Path, PortsNode, PortsOptions};
use wirelab_trial::{
    Cancel, Counts, Direction, Extent, FaultRates, FlowObservation, Framing, Load, Node,
    Observation, SenderObservation, Size, SizeUnit, Trial,
};
use wirelab_wire::Flow;

/// Far longer than any step here takes; only a failure waits that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs one after the other: two at once would compete for CPU time.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn options(path: Path) -> PortsOptions {
    PortsOptions {
        path,
        buffer_runs: 3,
        ..PortsOptions::default()
    }
}

/// A node in its own lab; `None` if namespaces cannot be made.
pub fn node(pairs: u8, path: Path) -> Option<PortsNode> {
    node_of(&LabSpec::unique("wln", pairs), path)
}

pub fn node_of(spec: &LabSpec, path: Path) -> Option<PortsNode> {
    wirelab_port::netns::may_test().then(|| PortsNode::in_lab(spec, options(path)).unwrap())
}

/// This many frames of 64 bytes as fast as possible from the node's side of the first pair.
pub fn trial(frames: u64) -> Trial {
    Trial::new(
        Framing::default(),
        Direction::Transmit,
        Size::new(SizeUnit::Frame, 64),
        Load::Max,
        Extent::Frames { frames },
    )
}

pub fn rates(faults: &[(&str, f64)], seed: u64) -> FaultRates {
    let mut rates = FaultRates {
        seed,
        ..FaultRates::default()
    };
    for (fault, rate) in faults {
        *rates.rate_mut(fault).unwrap() = *rate;
    }
    rates
}

pub fn run(node: &mut PortsNode, trial: &Trial) -> Observation {
    node.run(trial, &(), &Cancel::new()).unwrap()
}

pub fn counts(flow: &FlowObservation) -> Counts {
    *flow.counts.value().unwrap()
}

pub fn sent(flow: &FlowObservation) -> u64 {
    *flow.sent_frames.value().unwrap()
}

pub fn sender(flow: &FlowObservation) -> &SenderObservation {
    flow.sender.value().unwrap()
}

pub fn has_warning(observation: &Observation, code: &str) -> bool {
    observation.warnings.iter().any(|w| w.code == code)
}

/// Every flow is clean, and the sums add up.
pub fn assert_clean(observation: &Observation, what: &str) {
    assert!(observation.passed(), "{what}: {observation:#?}");
    for flow in &observation.flows {
        let counts = counts(flow);
        assert!(
            counts.is_clean() && counts.good_frames > 0,
            "{what}: {counts:?}"
        );
        assert_eq!(counts.check_identity(sent(flow)), Ok(()), "{what}");
    }
    assert!(!has_warning(observation, "identity") && !has_warning(observation, "ledger"));
}

/// The counts equal the injected faults, and the sums add up.
pub fn assert_as_injected(observation: &Observation, what: &str) {
    for flow in &observation.flows {
        let ledger = sender(flow).ledger.expect("faults were requested");
        let counts = counts(flow);
        assert_eq!(ledger.differences(&counts), [], "{what}: {counts:?}");
        assert_eq!(counts.check_identity(sent(flow)), Ok(()), "{what}");
        assert_eq!(ledger.sent_frames, sent(flow), "{what}");
        assert!(!counts.is_clean(), "{what}: {counts:?}");
    }
    assert!(!has_warning(observation, "identity"), "{what}");
    assert!(!has_warning(observation, "ledger"), "{what}");
}

/// A sender that did not keep the rate says so; one that did was never faster than requested.
pub fn assert_honest(observation: &Observation, what: &str) {
    for flow in &observation.flows {
        let sender = sender(flow);
        let kept = *sender.kept_rate.value().expect("a rate was requested");
        assert!(
            kept || has_warning(observation, "sender-below-rate"),
            "{what}: {sender:?}"
        );
        let asked = *sender.asked_frames_per_s.value().unwrap();
        let achieved = *sender.achieved_frames_per_s.value().unwrap();
        // A frame may be late by up to ten intervals (at least 20 µs) and the following ones on time again.
        let held = (10.0 / asked).max(20e-6) * asked;
        let most = asked * sent(flow) as f64 / (sent(flow) as f64 - 1.0 - held).max(1.0);
        assert!(achieved <= most, "{what}: {achieved} of {asked} frames/s");
    }
}

pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(
            Instant::now() < deadline,
            "waited {PATIENCE:?}, but: {what}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Frames that a port's driver has received.
pub fn received(port: &PortName) -> u64 {
    let file = format!("/sys/class/net/{}/statistics/rx_packets", port.interface);
    let read = || std::fs::read_to_string(&file).unwrap_or_default();
    let text = port.netns().map(|ns| ns.run_with_sysfs(read));
    match text {
        Ok(Ok(text)) => text.trim().parse().unwrap_or(0),
        _ => 0,
    }
}

/// `ip` in the port's namespace.
pub fn ip(port: &PortName, arguments: &[&str]) {
    let namespace = port.namespace.as_deref().unwrap();
    let status = std::process::Command::new("ip")
        .args(["-n", namespace])
        .args(arguments)
        .status()
        .unwrap();
    assert!(status.success(), "ip -n {namespace} {arguments:?}");
}

/// Connects both pairs of a lab by a bridge on the side of `inside`, its first port.
pub fn bridge(inside: &PortName) {
    ip(inside, &["link", "add", "br0", "type", "bridge"]);
    for port in ["n0", "n1"] {
        ip(inside, &["link", "set", "dev", port, "master", "br0"]);
    }
    ip(inside, &["link", "set", "dev", "br0", "up"]);
}

/// Limits a port to this many link bits/s, frames of 64 bytes counted as 84; the rest waits in its queue.
pub fn shape(port: &PortName, bits_per_s: u64) {
    tc(
        port,
        &format!(
            "qdisc replace dev {} root handle 8001: tbf rate {bits_per_s}bit burst 3200b limit 1000000b mpu 84 overhead 24",
            port.interface
        ),
    );
}

/// `tc` in the port's namespace.
pub fn tc(port: &PortName, arguments: &str) {
    let namespace = port.namespace.as_deref().unwrap();
    let status = std::process::Command::new("ip")
        .args(["netns", "exec", namespace, "tc"])
        .args(arguments.split(' '))
        .status()
        .unwrap();
    assert!(status.success(), "tc {arguments}");
}

/// Frames that a tap has seen, in order.
pub type Frames = Arc<Mutex<Vec<Vec<u8>>>>;

struct Memory(Frames);

impl FrameSink for Memory {
    fn frame(&mut self, _: u64, frame: &[u8]) -> std::io::Result<()> {
        self.0.lock().unwrap().push(frame.to_vec());
        Ok(())
    }
}

/// A separate tap on a port, which keeps the frames of a flow until it is finished.
pub fn tap(port: &PortName, flow: Flow) -> (Checker, Frames) {
    let frames = Frames::default();
    let check = CheckJob {
        flow,
        slots: None,
        time_every: 1,
    };
    let options = CheckOptions {
        sink: Some(Box::new(Memory(Arc::clone(&frames)))),
        ..CheckOptions::default()
    };
    (Checker::start(port, &check, options).unwrap(), frames)
}
