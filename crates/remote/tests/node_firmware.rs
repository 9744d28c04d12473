//! Trials on the node application of the firmware, built with sanitizers as a program on sockets, in a lab: every
//! layer in every direction, counts, captures, CPU load, and bad days.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use crate::common;
use crate::common::{NODE_IPV4, assert_clean, lab, on_tester, trial};
use wirelab_control::client::{Client, Patience};
use wirelab_control::transport::TcpTransport;
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_remote::ControlNode;
use wirelab_trial::{
    Cancel, Direction, Extent, Layer, Load, Node, Observation, Size, SizeUnit, Status, Trial,
};

/// The program, built once; `None`, and a word for the test runner, where there is no CMake.
fn program() -> Option<&'static PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).as_ref()
}

fn build() -> Option<PathBuf> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware/glue/sockets");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("wl_node");
    let run = |arguments: &[&str]| Command::new("cmake").args(arguments).output();
    let to = folder.to_str().unwrap();
    let configured = match run(&["-S", source, "-B", to, "-DWL_SANITIZE=ON"]) {
        Ok(output) => output,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP cmake: {error}");
            return None;
        }
    };
    assert!(configured.status.success(), "{configured:?}");
    let built = run(&["--build", to]).unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stdout)
    );
    Some(folder.join("wl_node"))
}

/// The program at work on the node's side; at its end the sanitizers must have found nothing.
struct Serving(Child);

impl Serving {
    fn start(lab: &EphemeralLab) -> Option<Serving> {
        let mut command = Command::new(program()?);
        command
            .args([NODE_IPV4, "5002", "2000"])
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = lab.netns(Side::Node).unwrap().spawn(&mut command).unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.starts_with("READY"), "{line}");
        Some(Serving(child))
    }

    fn ask_to_end(&self) {
        let pid = i32::try_from(self.0.id()).unwrap();
        let signal = nix::sys::signal::Signal::SIGTERM;
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.ask_to_end();
        let ended = self.0.wait().unwrap();
        if !std::thread::panicking() {
            assert!(ended.success(), "the node ended with {ended}");
        }
    }
}

fn all(lab: &EphemeralLab, trials: &[Trial]) -> Vec<Observation> {
    on_tester(lab, || {
        let mut node = ControlNode::open("node:firmware", NODE_IPV4).unwrap();
        let mut one = |t: &Trial| node.run(t, &(), &Cancel::new()).expect("an observation");
        trials.iter().map(&mut one).collect()
    })
}

const DIRECTIONS: [Direction; 3] = [Direction::Receive, Direction::Transmit, Direction::Both];

fn frames(layer: Layer, direction: Direction, frames: u64, load: Load) -> Trial {
    Trial {
        extent: Extent::Frames { frames },
        load,
        ..trial(layer, direction)
    }
}

const PACED: Load = Load::FrameRate {
    frames_per_s: 2000.0,
};

#[test]
fn udp_tcp_and_ethernet_in_every_direction() {
    let Some(lab) = lab() else { return };
    let Some(_node) = Serving::start(&lab) else {
        return;
    };
    let layers = [Layer::UdpIpv4, Layer::TcpIpv4, Layer::Ethernet];
    let mut trials: Vec<Trial> = layers
        .iter()
        .flat_map(|layer| DIRECTIONS.map(|direction| frames(*layer, direction, 400, PACED)))
        .collect();
    for trial in &mut trials {
        if trial.framing.layer == Layer::Ethernet {
            trial.size = Size::new(SizeUnit::Length, 200);
        }
    }
    for observation in all(&lab, &trials) {
        let asked = &observation.trial;
        let what = format!("{:?} {}", asked.framing.layer, asked.direction);
        assert_eq!(observation.status, Status::Complete, "{what}");
        let flows = usize::from(asked.direction == Direction::Both) + 1;
        assert_eq!(observation.flows.len(), flows, "{what}");
        for flow in &observation.flows {
            assert_eq!(flow.sent_frames.value(), Some(&400), "{what}");
            assert_clean(flow, &what);
        }
        assert!(observation.node.setup.contains_key("stack"), "{what}");
        assert!(
            observation.cpu_load.value().is_some(),
            "{what}: {observation:#?}"
        );
    }
}

#[test]
fn trials_by_time_and_at_full_speed() {
    let Some(lab) = lab() else { return };
    let Some(_node) = Serving::start(&lab) else {
        return;
    };
    let by_time = |layer, direction| trial(layer, direction);
    let mut trials = Vec::new();
    for direction in DIRECTIONS {
        trials.push(by_time(Layer::UdpIpv4, direction));
        trials.push(by_time(Layer::TcpIpv4, direction));
        trials.push(frames(Layer::TcpIpv4, direction, 20_000, Load::Max));
    }
    trials.push(frames(
        Layer::UdpIpv4,
        Direction::Transmit,
        20_000,
        Load::Max,
    ));
    for observation in all(&lab, &trials) {
        let asked = &observation.trial;
        let what = format!(
            "{:?} {} {:?}",
            asked.framing.layer, asked.direction, asked.extent
        );
        assert_eq!(observation.status, Status::Complete, "{what}");
        for flow in &observation.flows {
            let counts = assert_clean(flow, &what);
            let sent = *flow.sent_frames.value().unwrap();
            match asked.extent {
                Extent::Frames { frames } => assert_eq!(sent, frames, "{what}"),
                Extent::Time { .. } => assert!((2..=151).contains(&sent), "{what}: {sent}"),
            }
            if asked.framing.layer.is_tcp() {
                assert_eq!(counts.lost_frames, 0, "{what}");
            }
            assert!(flow.goodput_bits_per_s.value().is_some(), "{what}");
        }
    }
}

#[test]
fn echoes_of_udp_and_ethernet_come_back() {
    let Some(lab) = lab() else { return };
    let Some(_node) = Serving::start(&lab) else {
        return;
    };
    let trials = [Layer::UdpIpv4, Layer::Ethernet].map(|layer| Trial {
        size: Size::new(SizeUnit::Length, 256),
        ..frames(layer, Direction::Echo, 512, PACED)
    });
    for observation in all(&lab, &trials) {
        let what = format!("{:?}", observation.trial.framing.layer);
        assert_eq!(observation.status, Status::Complete, "{what}");
        let flow = common::flow(&observation, Direction::Echo);
        let counts = assert_clean(flow, &what);
        assert_eq!(flow.sent_frames.value(), Some(&512), "{what}");
        let reflected = common::counter(flow, "node_sent_frames");
        assert!(reflected >= counts.good_frames, "{what}");
        assert!(flow.series.iter().any(|s| s.name == "round trip"), "{what}");
    }
}

#[test]
fn a_paced_trial_has_the_nodes_captures() {
    let Some(lab) = lab() else { return };
    let Some(_node) = Serving::start(&lab) else {
        return;
    };
    let observation = all(
        &lab,
        &[frames(Layer::UdpIpv4, Direction::Receive, 600, PACED)],
    )
    .remove(0);
    let flow = &observation.flows[0];
    let series = flow
        .series
        .iter()
        .find(|s| s.name == "driver to application");
    let series = series.unwrap_or_else(|| panic!("{observation:#?}"));
    assert!(series.histogram.count > 0);
    assert!(series.histogram.count <= 512);
}

#[test]
fn a_node_that_is_asked_what_it_cannot_do_says_so() {
    let Some(lab) = lab() else { return };
    let Some(_node) = Serving::start(&lab) else {
        return;
    };
    let refused = |trial: Trial| {
        on_tester(&lab, || {
            let mut node = ControlNode::open("node:firmware", NODE_IPV4).unwrap();
            node.run(&trial, &(), &Cancel::new())
                .unwrap_err()
                .to_string()
        })
    };
    let error = refused(trial(Layer::UdpIpv6, Direction::Receive));
    assert!(error.contains("udp4"), "{error}");
    let error = refused(trial(Layer::TcpIpv4, Direction::Echo));
    assert!(error.contains("echo"), "{error}");
}

#[test]
fn the_trial_of_a_tester_that_has_gone_is_given_up() {
    let Some(lab) = lab() else { return };
    let Some(_node) = Serving::start(&lab) else {
        return;
    };
    let observation = on_tester(&lab, || {
        common::killed_tester(NODE_IPV4);
        let mut node = ControlNode::open("node:firmware", NODE_IPV4).unwrap();
        let trial = trial(Layer::UdpIpv4, Direction::Receive);
        node.run(&trial, &(), &Cancel::new()).unwrap()
    });
    assert_eq!(observation.status, Status::Complete);
    assert_clean(&observation.flows[0], "after a tester that was killed");
}

/// Everything that is sent to the node's port is from an unknown sender: 100 % loss, reported as such.
#[test]
fn a_flow_of_which_nothing_arrives_is_all_lost() {
    let Some(lab) = lab() else { return };
    let Some(_node) = Serving::start(&lab) else {
        return;
    };
    // The datagrams of the trial alone go to a station that nobody is.
    let astray = "ip neigh add 198.18.0.77 lladdr 02:00:00:00:00:77 dev t0 nud permanent \
        && ip route add 198.18.0.1 via 198.18.0.77 dev t0 onlink table 77 \
        && ip rule add to 198.18.0.1 ipproto udp dport 5003 lookup 77 pref 10";
    common::tool(&lab, Side::Tester, "sh", &["-c", astray]);
    let observation = all(
        &lab,
        &[frames(Layer::UdpIpv4, Direction::Receive, 200, PACED)],
    )
    .remove(0);
    let flow = &observation.flows[0];
    let counts = *flow
        .counts
        .value()
        .unwrap_or_else(|| panic!("{observation:#?}"));
    assert_eq!((counts.received_frames, counts.lost_frames), (0, 200));
    assert_eq!(flow.loss_ratio.value(), Some(&1.0));
}

#[test]
fn control_over_tcp_is_the_same_as_over_udp() {
    let Some(lab) = lab() else { return };
    let Some(_node) = Serving::start(&lab) else {
        return;
    };
    on_tester(&lab, || {
        let to = SocketAddr::new(NODE_IPV4.parse().unwrap(), 5002);
        let open =
            || Client::open(TcpTransport::connect(to).unwrap(), Patience::default()).unwrap();
        // More than the node keeps at a time: each is served, and the first connection is gone.
        let mut clients: Vec<_> = (0..6).map(|_| open()).collect();
        let keys = clients[5].setup().unwrap();
        assert!(keys.iter().any(|(key, _)| key == "stack"), "{keys:?}");
        let status = clients[5].status(None).unwrap();
        assert_eq!(status.state, wirelab_control::value::State::Idle);
        let mut raw = TcpStream::connect(to).unwrap();
        raw.set_read_timeout(Some(common::PATIENCE)).unwrap();
        let long = [b"?".as_slice(), &[b'x'; 600], b"\n?0.5 hello version=1\n"].concat();
        raw.write_all(&long).unwrap();
        let mut lines = BufReader::new(raw).lines();
        let mut next = || lines.next().unwrap().unwrap();
        assert!(next().starts_with("!0.0 too-long limit=512"));
        assert!(next().starts_with("=0.5 hello version=1"));
    });
}
