//! What a node's host does beside a trial is told apart from what the node does: it stops the node's sender or receiver,
//! its interface drops what was to be sent, and others use the link.

use std::fs;
use std::io::Read as _;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use crate::common::agent::{counts, open, serve};
use crate::common::{MS, NODE_IPV4, has_warning, lab, on_tester, tool, trial, until};
use crate::over::Over;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wirelab_agent::{Options, Serving};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_trial::{
    Cancel, Direction, Extent, Layer, Load, Node, Observation, Progress, Size, SizeUnit, Trial,
};

/// Marks a child of these tests as the node.
const NODE: &str = "WIRELAB_TEST_NODE";
/// How long the node stands still: far more than a tenth of any trial here.
const HOLD: Duration = Duration::from_millis(1_000);

/// A node in a process of its own; it ends with its standard input.
struct Process(Child);

impl Process {
    fn start(lab: &EphemeralLab, test: &str) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", &format!("node_host::{test}")])
            .env(NODE, "")
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let child = lab.netns(Side::Node).unwrap().spawn(&mut command).unwrap();
        let process = Process(child);
        on_tester(lab, || {
            until("the node listens", || open(NODE_IPV4).is_ok())
        });
        process
    }

    fn stop_for_a_while(&self) {
        let process = Pid::from_raw(self.0.id() as i32);
        kill(process, Signal::SIGSTOP).unwrap();
        sleep(HOLD);
        kill(process, Signal::SIGCONT).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// What the child does: whether this process is it.
fn is_node() -> bool {
    if std::env::var_os(NODE).is_none() {
        return false;
    }
    let listen = SocketAddr::new(NODE_IPV4.parse().unwrap(), 5002);
    let mut options = Options::on(listen);
    options.iperf = false;
    let _node = Serving::start(options).unwrap();
    let _ = std::io::stdin().read(&mut [0]);
    true
}

/// Stops the node once, when the trial is well under way.
struct Stopping<'a>(&'a Process, Mutex<bool>);

impl Progress for Stopping<'_> {
    fn report(&self, done: u64, total: u64, _: &str) {
        let mut stopped = self.1.lock().unwrap();
        if done >= total / 6 && !*stopped {
            *stopped = true;
            self.0.stop_for_a_while();
        }
    }
}

fn asked(layer: Layer, direction: Direction, load: Load) -> Trial {
    Trial {
        size: Size::new(SizeUnit::Datagram, 512),
        load,
        extent: Extent::Time {
            time_ps: 3_000 * MS,
        },
        ..trial(layer, direction)
    }
}

/// A trial of three seconds of which the node stood still for one.
fn stopped(lab: &EphemeralLab, test: &str, asked: &Trial) -> Observation {
    let process = Process::start(lab, test);
    on_tester(lab, || {
        let mut node = open(NODE_IPV4).unwrap();
        let stopping = Stopping(&process, Mutex::new(false));
        node.run(asked, &stopping, &Cancel::new())
            .expect("an observation")
    })
}

fn assert_names_the_hold(observation: &Observation, who: &str) {
    let why = observation.node_held_up();
    let why = why.unwrap_or_else(|| panic!("{who}: {observation:#?}"));
    assert!(why.contains(&format!("held its {who} up")), "{why}");
    let mut warnings = observation.warnings.iter();
    let told = warnings.any(|w| w.code == "node-busy" && w.text.contains(&why));
    assert!(told, "{who}: {:#?}", observation.warnings);
    for warning in &observation.warnings {
        assert!(
            !warning.fix.contains("nothing is wrong with the tester"),
            "{warning:?}"
        );
    }
}

#[test]
fn a_node_whose_host_stopped_its_sender_is_named() {
    if is_node() {
        return;
    }
    let Some(lab) = lab() else { return };
    let test = "a_node_whose_host_stopped_its_sender_is_named";
    let paced = Load::FrameRate {
        frames_per_s: 1_000.0,
    };
    for load in [Load::Max, paced] {
        let asked = asked(Layer::UdpIpv4, Direction::Transmit, load);
        assert_names_the_hold(&stopped(&lab, test, &asked), "sender");
    }
}

#[test]
fn a_node_whose_host_stopped_its_receiver_is_named() {
    if is_node() {
        return;
    }
    let Some(lab) = lab() else { return };
    let test = "a_node_whose_host_stopped_its_receiver_is_named";
    let asked = asked(Layer::TcpIpv4, Direction::Receive, Load::Max);
    assert_names_the_hold(&stopped(&lab, test, &asked), "receiver");
}

/// How many frames the node's interface dropped of those that it was to send.
fn dropped(lab: &EphemeralLab) -> u64 {
    let port = lab.port(0, Side::Node).unwrap();
    let read = || fs::read_to_string("/sys/class/net/n0/statistics/tx_dropped");
    let text = port.netns().unwrap().run_with_sysfs(read).unwrap();
    text.unwrap().trim().parse().unwrap()
}

#[test]
fn what_the_ring_before_the_tester_dropped_is_no_loss_of_the_node() {
    let Some(lab) = lab() else { return };
    // A ring that is emptied by a thread of the kernel, which has what the node leaves of its core.
    lab.set_threaded_napi(0, Side::Tester, true).unwrap();
    let node = serve(&lab, |_| {});
    let core = node.started().cores.numbers()[0];
    for thread in lab.pin_napi_threads(0, Side::Tester, core).unwrap() {
        let thread = thread.to_string();
        // Not the idle class: other work on the core would leave it nothing, and the control connection needs it too.
        tool(&lab, Side::Tester, "renice", &["-n", "10", "-p", &thread]);
    }
    // On a busy host more would keep the ring full for longer than the tester waits for the node's answers.
    const FRAMES: u64 = 5_000;
    let asked = Trial {
        size: Size::new(SizeUnit::Datagram, 64),
        extent: Extent::Frames { frames: FRAMES },
        ..asked(Layer::UdpIpv4, Direction::Transmit, Load::Max)
    };
    let run = || {
        let before = dropped(&lab);
        let observation = on_tester(&lab, || {
            let mut node = open(NODE_IPV4).unwrap();
            node.run(&asked, &(), &Cancel::new())
                .expect("an observation")
        });
        (dropped(&lab) - before, observation)
    };
    // A busy host has the ring hold it all, or drop the node's answers too.
    let reported = |run: &(u64, Observation)| run.0 > 0 && run.1.flows[0].counts.value().is_some();
    let (dropped, observation) = (0..10).map(|_| run()).find(reported).expect("drops");
    let flow = &observation.flows[0];
    let (counts, sent) = (counts(flow), *flow.sent_frames.value().unwrap());
    let what = format!("{dropped} dropped, {sent} sent: {counts:?}");
    assert_eq!(counts.check_identity(sent), Ok(()), "{what}");
    assert_eq!(counts.lost_frames, 0, "{what}");
    // Each frame arrived or was dropped, but for what else left by the interface, as the trial's control does.
    let others = dropped / 10 + 50;
    assert!(counts.lost_or_missed_frames <= others, "{what}");
    let left = FRAMES - dropped;
    assert!((left..=left + others).contains(&sent), "{what}");
    assert!(has_warning(&observation, "driver-refused"), "{what}");
    assert!(counts.missed_frames > 0 || !flow.tester_dropped(), "{what}");
}

/// Sends to a port where nobody listens until the work is done.
fn beside<T: Send>(
    lab: &EphemeralLab,
    (from, to): (Side, Side),
    work: impl FnOnce() -> T + Send,
) -> T {
    let over = AtomicBool::new(false);
    let stranger = || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        let address = SocketAddr::new(lab.address(0, to).into(), 9);
        while !over.load(Ordering::Relaxed) {
            for _ in 0..20 {
                // A refusal is returned by the next call.
                let _ = socket.send_to(&[0; 100], address);
            }
            sleep(Duration::from_millis(5));
        }
    };
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| lab.netns(from).unwrap().run_in(stranger).unwrap());
        let ends = Over(&over);
        let done = work();
        drop(ends);
        sending.join().unwrap();
        done
    })
}

#[test]
fn foreign_frames_at_the_receivers_interface_are_reported() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    for (direction, ways) in [
        (Direction::Transmit, (Side::Node, Side::Tester)),
        (Direction::Receive, (Side::Tester, Side::Node)),
    ] {
        let asked = Trial {
            extent: Extent::Time {
                time_ps: 1_000 * MS,
            },
            ..trial(Layer::UdpIpv4, direction)
        };
        let run = || {
            let mut node = open(NODE_IPV4).unwrap();
            node.run(&asked, &(), &Cancel::new())
                .expect("an observation")
        };
        let alone = on_tester(&lab, run);
        let told = |o: &Observation| o.flows[0].counters.get("foreign_frames_per_s").cloned();
        assert_eq!(told(&alone), None, "{direction}");
        assert!(!has_warning(&alone, "foreign-traffic"), "{direction}");
        let crowded = beside(&lab, ways, || on_tester(&lab, run));
        let rate = told(&crowded).unwrap_or_else(|| panic!("{direction}: {crowded:#?}"));
        // Some 4,000/s, of which a busy host makes less.
        assert!(
            rate.value().is_some_and(|rate| (200..6_000).contains(rate)),
            "{direction}: {rate:?}"
        );
        assert!(has_warning(&crowded, "foreign-traffic"), "{direction}");
        assert_eq!(counts(&crowded.flows[0]).foreign_frames, 0, "{direction}");
    }
}
