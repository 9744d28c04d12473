//! What the tester's own socket drops is not a loss of a node, and what the path drops is one, whatever the tester drops.

use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common;
use crate::common::agent::{counts, open, serve};
use crate::common::{MS, NODE_IPV4, NODE_IPV6, PATIENCE, lab, lab_of, on_tester, tool, trial};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_trial::{
    Cancel, Direction, Extent, Layer, Load, Node, Observation, Progress, Size, SizeUnit, Trial,
};

/// The child of this test: the node that it shall ask, and where it writes what it saw.
const ASKED: &str = "WIRELAB_TEST_TESTER_OF";
const SEEN: &str = "WIRELAB_TEST_TESTER_SEEN";
/// Bytes of a datagram, and how many of them one buffer of the socket can hold.
const BYTES: u32 = 512;
const MOST_IN_A_BUFFER: u64 = 65_535 / BYTES as u64;
/// Long enough that on a busy host too more comes than the longest queue holds.
const LONG: Extent = Extent::Time {
    time_ps: 3_000 * MS,
};
/// How long the tester stands still at least.
const HOLD: Duration = Duration::from_millis(300);

fn asked(layer: Layer, load: Load, extent: Extent) -> Trial {
    Trial {
        size: Size::new(SizeUnit::Datagram, BYTES),
        load,
        extent,
        ..trial(layer, Direction::Transmit)
    }
}

fn layer_of(host: &str) -> Layer {
    match host.starts_with('[') {
        true => Layer::UdpIpv6,
        false => Layer::UdpIpv4,
    }
}

fn run(host: &str, asked: &Trial, progress: &dyn Progress) -> Observation {
    let mut node = open(host).unwrap();
    node.run(asked, progress, &Cancel::new())
        .expect("an observation")
}

/// Signals to the parent that the trial is well under way.
struct Begun(String);

impl Progress for Begun {
    fn report(&self, done: u64, total: u64, _: &str) {
        if done >= total / 20 {
            fs::write(&self.0, "").unwrap();
        }
    }
}

/// A trial at full speed by a tester that stands still for a while, so that its queue overflows.
fn stopped(lab: &EphemeralLab, host: &str, before: u64) -> Observation {
    let folder = tempfile::tempdir().unwrap();
    let (begun, seen) = (folder.path().join("seen.begun"), folder.path().join("seen"));
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = "tester_drops::what_the_tester_drops_at_full_speed_is_no_loss_of_the_node";
    command
        .args(["--exact", test])
        .env(ASKED, host)
        .env(SEEN, &seen)
        .stdout(Stdio::null());
    let mut child = lab
        .netns(Side::Tester)
        .unwrap()
        .spawn(&mut command)
        .unwrap();
    let since = Instant::now();
    while !begun.exists() {
        assert!(since.elapsed() < PATIENCE, "the trial does not begin");
        sleep(Duration::from_millis(5));
    }
    let process = Pid::from_raw(child.id() as i32);
    kill(process, Signal::SIGSTOP).unwrap();
    sleep(HOLD);
    while dropped_buffers(lab, layer_of(host)) == before {
        assert!(since.elapsed() < PATIENCE, "the queue holds it all");
        sleep(Duration::from_millis(5));
    }
    kill(process, Signal::SIGCONT).unwrap();
    assert!(child.wait().unwrap().success());
    serde_json::from_slice(&fs::read(seen).unwrap()).unwrap()
}

/// Buffers that the sockets of the tester's namespace did not take so far.
fn dropped_buffers(lab: &EphemeralLab, layer: Layer) -> u64 {
    let file = match layer {
        Layer::UdpIpv6 => "snmp6",
        _ => "snmp",
    };
    let read = || fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
    let text = lab.netns(Side::Tester).unwrap().run_in(read).unwrap();
    if layer == Layer::UdpIpv6 {
        let line = text.lines().find(|l| l.starts_with("Udp6RcvbufErrors"));
        return line
            .unwrap()
            .split_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
    }
    let mut lines = text.lines().filter(|line| line.starts_with("Udp: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.split(' ').position(|n| n == "RcvbufErrors").unwrap();
    values.split(' ').nth(at).unwrap().parse().unwrap()
}

#[test]
fn what_the_tester_drops_at_full_speed_is_no_loss_of_the_node() {
    if let Ok(host) = std::env::var(ASKED) {
        let seen = std::env::var(SEEN).unwrap();
        let trial = asked(layer_of(&host), Load::Max, LONG);
        let observation = run(&host, &trial, &Begun(format!("{seen}.begun")));
        return fs::write(seen, serde_json::to_vec(&observation).unwrap()).unwrap();
    }
    // With offloads what the node hands over in one piece crosses in one buffer, and is dropped as one.
    for joined in [false, true] {
        let mut spec = LabSpec::unique("remote", 1);
        spec.offloads = joined;
        let Some(lab) = lab_of(spec) else { return };
        for host in [NODE_IPV4.to_owned(), format!("[{NODE_IPV6}]")] {
            let ip = host.trim_matches(['[', ']']).parse().unwrap();
            let _node = serve(&lab, |options| options.listen = SocketAddr::new(ip, 5002));
            overflow(&lab, &host, joined);
        }
    }
}

fn overflow(lab: &EphemeralLab, host: &str, joined: bool) {
    let what = format!("{host} {joined}");
    let before = dropped_buffers(lab, layer_of(host));
    let observation = stopped(lab, host, before);
    let buffers = dropped_buffers(lab, layer_of(host)) - before;
    let flow = &observation.flows[0];
    let (counts, sent) = (counts(flow), *flow.sent_frames.value().unwrap());
    assert_eq!(counts.check_identity(sent), Ok(()), "{what}");
    assert_eq!(counts.lost_frames, 0, "{what}: {counts:?}");
    assert_eq!(flow.loss_ratio.value(), Some(&0.0), "{what}");
    // Each dropped buffer held one datagram at least, and what it held at most is known.
    let (certain, unknown) = (counts.missed_frames, counts.lost_or_missed_frames);
    assert!((1..=buffers).contains(&certain), "{what}: {certain}");
    let most = buffers * if joined { MOST_IN_A_BUFFER } else { 1 };
    assert!(certain + unknown <= most, "{what}: {counts:?}, {buffers}");
    assert_eq!(unknown > 0, joined, "{what}: {counts:?}, {buffers}");
    let at_most = joined.then(|| unknown as f64 / sent as f64);
    assert_eq!(flow.loss_ratio_at_most, at_most, "{what}");
    assert_eq!(observation.tester.was_limit.value(), Some(&true), "{what}");
    let sender = flow.sender.value().unwrap();
    assert!(sender.blocked_ps.value().is_some(), "{what}: {sender:?}");
    let held_up = *flow.checker_held_up_ps.value().unwrap();
    assert!(
        held_up >= HOLD.as_millis() as u64 * MS / 2,
        "{what}: {held_up}"
    );
}

#[test]
fn what_the_path_drops_is_no_doubt_of_the_tester() {
    let Some(lab) = lab() else { return };
    // A bridge between the two, whose queue to the tester is shorter than what comes.
    bridge(&lab);
    shape(&lab, Side::Tester, "v0");
    let _node = serve(&lab, |_| {});
    let observation = beyond_the_shaper(&lab);
    assert_eq!(dropped_buffers(&lab, Layer::UdpIpv4), 0);
    let flow = &observation.flows[0];
    let (counts, sent) = (counts(flow), *flow.sent_frames.value().unwrap());
    assert_eq!(
        counts.lost_frames,
        sent - counts.distinct_sequences,
        "{counts:?}"
    );
    assert!(counts.lost_frames > sent / 4, "{counts:?}");
    assert_eq!(flow.loss_ratio_at_most, None);
}

#[test]
fn what_a_queue_of_the_node_drops_was_never_sent() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    // A queue behind the node's socket that is shorter than what the socket lets wait: it drops silently.
    shape(&lab, Side::Node, "n0");
    let observation = beyond_the_shaper(&lab);
    let flow = &observation.flows[0];
    let (counts, sent) = (counts(flow), *flow.sent_frames.value().unwrap());
    assert_eq!(counts.check_identity(sent), Ok(()), "{counts:?}");
    assert_eq!(counts.lost_frames, 0, "{counts:?}");
    assert!(sent < 3_000 * 3 / 4, "{sent} of 3,000 left");
    assert!(
        common::has_warning(&observation, "driver-refused"),
        "{:#?}",
        observation.warnings
    );
    // No queue of the tester's own had to do with it.
    assert!(!flow.tester_dropped(), "{:?}", flow.counters);
}

/// Twice what the shaper lets through.
fn beyond_the_shaper(lab: &EphemeralLab) -> Observation {
    let load = Load::FrameRate {
        frames_per_s: 2000.0,
    };
    let short = Extent::Frames { frames: 3_000 };
    on_tester(lab, || {
        run(NODE_IPV4, &asked(Layer::UdpIpv4, load, short), &())
    })
}

fn shape(lab: &EphemeralLab, side: Side, interface: &str) {
    let shaper = "root tbf rate 4000000bit burst 4000b limit 6000b";
    let arguments = ["qdisc", "replace", "dev", interface]
        .into_iter()
        .chain(shaper.split(' '));
    tool(lab, side, "tc", &arguments.collect::<Vec<_>>());
}

/// Puts a bridge between the tester's address and its port of the lab.
fn bridge(lab: &EphemeralLab) {
    let address = lab.address(0, Side::Tester);
    let script = format!(
        "ip addr flush dev t0 && ip link add br0 type bridge && ip link add v0 type veth peer name v1 \
         && ip link set t0 master br0 && ip link set v0 master br0 && ip addr add {address}/24 dev v1 \
         && ip link set v0 up && ip link set v1 up && ip link set br0 up"
    );
    tool(lab, Side::Tester, "sh", &["-c", &script]);
}
