//! Trials on the images of the boards with lwIP, in QEMU over a TAP: every layer in every direction, counts, captures
//! of all points, CPU load, and bad days.

mod common;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use common::{lab, on_tester, until};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_remote::ControlNode;
use wirelab_trial::{
    Cancel, Counts, Direction, Extent, FlowObservation, Layer, Load, Node, Observation, Size,
    SizeUnit, Status, Trial,
};

const BOARD_IP: &str = "10.55.0.2";
/// The last four bytes are the address.
const BOARD_MAC: &str = "02:00:0a:37:00:02";
/// A board, and what QEMU calls its machine.
const BOARDS: [(&str, &[&str]); 2] = [
    ("zynq7000", &["-M", "xilinx-zynq-a9", "-m", "64M"]),
    ("mps2-an385", &["-M", "mps2-an385"]),
];

/// A board that runs beside the tester, in its namespace; ended when dropped.
struct Running {
    qemu: Child,
    console: PathBuf,
}

impl Running {
    /// `None`, and a word for the test runner, where QEMU or the image is not there.
    fn start(lab: &EphemeralLab, name: &str, machine: &[&str]) -> Option<Running> {
        let there = Command::new("qemu-system-arm")
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        if let Err(error) = there {
            let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP qemu: {error}");
            return None;
        }
        let image = image(name)?;
        let tap = "ip tuntap add dev tap0 mode tap && ip addr add 10.55.0.1/24 dev tap0 && ip link set tap0 up";
        common::tool(lab, Side::Tester, "sh", &["-c", tap]);
        let console = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!(
            "console-{name}-{}-{}",
            std::process::id(),
            lab.name()
        ));
        let mut command = Command::new("qemu-system-arm");
        command.args(machine).args([
            "-display",
            "none",
            "-monitor",
            "none",
            "-no-reboot",
            "-kernel",
        ]);
        command
            .arg(image)
            .arg("-serial")
            .arg(format!("file:{}", console.display()));
        command.args([
            "-nic",
            &format!("tap,ifname=tap0,script=no,downscript=no,mac={BOARD_MAC}"),
        ]);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let qemu = lab
            .netns(Side::Tester)
            .unwrap()
            .spawn(&mut command)
            .unwrap();
        let running = Running { qemu, console };
        until("the board is ready", || running.said().contains("READY "));
        Some(running)
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.console).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
        let said = self.said();
        let _ = std::fs::remove_file(&self.console);
        if !std::thread::panicking() {
            assert!(!said.contains("FAULT"), "{said}");
        }
    }
}

/// The image that `make firmware` builds.
fn image(name: &str) -> Option<PathBuf> {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let image = target.parent()?.join(format!("firmware/{name}.elf"));
    if image.exists() {
        return Some(image);
    }
    let missing = image.display();
    let _ = writeln!(
        std::io::stderr(),
        "WIRELAB-SKIP firmware: no {missing}; `make firmware` builds it"
    );
    None
}

/// Do something with each board.
fn each(work: impl Fn(&EphemeralLab, &str)) {
    for (name, machine) in BOARDS {
        let Some(lab) = lab() else { return };
        let Some(board) = Running::start(&lab, name, machine) else {
            return;
        };
        work(&lab, name);
        drop(board);
    }
}

fn all(lab: &EphemeralLab, trials: &[Trial]) -> Vec<Observation> {
    on_tester(lab, || {
        let mut node = ControlNode::open("node:board", BOARD_IP).unwrap();
        let mut one = |t: &Trial| node.run(t, &(), &Cancel::new()).expect("an observation");
        trials.iter().map(&mut one).collect()
    })
}

fn trial(layer: Layer, direction: Direction, frames: u64, load: Load) -> Trial {
    Trial {
        extent: Extent::Frames { frames },
        load,
        size: Size::new(SizeUnit::Length, 256),
        ..common::trial(layer, direction)
    }
}

const PACED: Load = Load::FrameRate {
    frames_per_s: 1000.0,
};
const DIRECTIONS: [Direction; 3] = [Direction::Receive, Direction::Transmit, Direction::Both];

/// What must hold of any flow of test frames; what is lost on a busy machine is counted.
fn assert_clean(flow: &FlowObservation, what: &str) -> Counts {
    let counts = *flow
        .counts
        .value()
        .unwrap_or_else(|| panic!("{what}: {flow:#?}"));
    let sent = *flow.sent_frames.value().unwrap();
    assert_eq!(counts.check_identity(sent), Ok(()), "{what}");
    let but_losses = Counts {
        lost_frames: 0,
        missed_frames: 0,
        ..counts
    };
    assert!(but_losses.is_clean(), "{what}: {counts:?}");
    assert!(counts.good_frames > 0, "{what}: {counts:?}");
    counts
}

fn assert_complete(observation: &Observation, frames: u64, board: &str) {
    let asked = &observation.trial;
    let what = format!(
        "{board} {:?} {} {:?}",
        asked.framing.layer, asked.direction, asked.load
    );
    assert_eq!(observation.status, Status::Complete, "{what}");
    for flow in &observation.flows {
        assert_eq!(flow.sent_frames.value(), Some(&frames), "{what}");
        let counts = assert_clean(flow, &what);
        if asked.framing.layer.is_tcp() {
            assert_eq!(counts.lost_frames, 0, "{what}");
        }
    }
}

#[test]
fn udp_tcp_and_ethernet_in_every_direction_on_each_board() {
    each(|lab, board| {
        let layers = [Layer::UdpIpv4, Layer::TcpIpv4, Layer::Ethernet];
        let trials: Vec<Trial> = layers
            .iter()
            .flat_map(|layer| DIRECTIONS.map(|direction| trial(*layer, direction, 300, PACED)))
            .collect();
        for observation in all(lab, &trials) {
            assert_complete(&observation, 300, board);
            let load = observation.cpu_load.value();
            let load = load.unwrap_or_else(|| panic!("{observation:#?}"));
            assert!((0.0..=1.0).contains(&load.busy_ratio), "{load:?}");
            for key in [
                "core",
                "core_clock_hz",
                "stack",
                "interface",
                "mac",
                "rx_descriptors",
            ] {
                assert!(observation.node.setup.contains_key(key), "{board} {key}");
            }
        }
    });
}

#[test]
fn streams_at_full_speed_on_each_board() {
    each(|lab, board| {
        let trials = DIRECTIONS.map(|direction| Trial {
            size: Size::new(SizeUnit::Datagram, 1460),
            ..trial(Layer::TcpIpv4, direction, 3000, Load::Max)
        });
        for observation in all(lab, &trials) {
            assert_complete(&observation, 3000, board);
        }
        let fast = trial(Layer::UdpIpv4, Direction::Transmit, 3000, Load::Max);
        assert_complete(&all(lab, &[fast])[0], 3000, board);
    });
}

#[test]
fn echoes_come_back_from_each_board() {
    each(|lab, board| {
        let trials = [Layer::UdpIpv4, Layer::Ethernet]
            .map(|layer| trial(layer, Direction::Echo, 512, PACED));
        for observation in all(lab, &trials) {
            assert_complete(&observation, 512, board);
            let flow = common::flow(&observation, Direction::Echo);
            assert!(
                flow.series.iter().any(|s| s.name == "round trip"),
                "{board}"
            );
        }
    });
}

#[test]
fn every_stage_has_its_captures_on_each_board() {
    each(|lab, board| {
        for layer in [Layer::UdpIpv4, Layer::Ethernet] {
            let observation = all(lab, &[trial(layer, Direction::Both, 600, PACED)]).remove(0);
            for (direction, stages) in [
                (
                    Direction::Receive,
                    ["interrupt to driver", "driver to application"],
                ),
                (
                    Direction::Transmit,
                    ["application to driver", "driver to mac"],
                ),
            ] {
                let flow = common::flow(&observation, direction);
                for stage in stages {
                    let series = flow.series.iter().find(|s| s.name == stage);
                    let series =
                        series.unwrap_or_else(|| panic!("{board}: no {stage}: {observation:#?}"));
                    let least = if stage.starts_with("interrupt") {
                        100
                    } else {
                        500
                    };
                    assert!(
                        (least..=512).contains(&series.histogram.count),
                        "{board} {layer:?} {stage}: {}",
                        series.histogram.count
                    );
                }
            }
        }
    });
}

#[test]
fn a_tester_that_has_gone_and_a_link_that_swallows_all_are_no_end_of_a_board() {
    each(|lab, board| {
        let astray = "ip neigh add 10.55.0.77 lladdr 02:00:00:00:00:77 dev tap0 nud permanent \
            && ip route add 10.55.0.2 via 10.55.0.77 dev tap0 onlink table 77 \
            && ip rule add to 10.55.0.2 ipproto udp dport 5003 lookup 77 pref 10";
        common::tool(lab, Side::Tester, "sh", &["-c", astray]);
        let lost = all(
            lab,
            &[trial(Layer::UdpIpv4, Direction::Receive, 100, PACED)],
        )
        .remove(0);
        let counts = *lost.flows[0].counts.value().unwrap();
        assert_eq!(
            (counts.received_frames, counts.lost_frames),
            (0, 100),
            "{board}"
        );
        common::tool(lab, Side::Tester, "ip", &["rule", "del", "pref", "10"]);
        let observation = on_tester(lab, || {
            common::killed_tester(BOARD_IP);
            let mut node = ControlNode::open("node:board", BOARD_IP).unwrap();
            let trial = trial(Layer::UdpIpv4, Direction::Receive, 100, PACED);
            node.run(&trial, &(), &Cancel::new()).unwrap()
        });
        assert_complete(&observation, 100, board);
    });
}
