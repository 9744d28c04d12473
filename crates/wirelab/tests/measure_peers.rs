//! The datasheet of a peer across a network: the distribution's iperf, and `wirelab node serve`, in a lab.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{scratch, short_plan, skip, stderr, stdout, wirelab};
use crate::leash::Leashed;
use wirelab_trial::{Direction, Layer, Observation, ResultsFile, SearchOutcome, Status};

/// A lab of its own and the servers in it, ended in the end.
struct Lab {
    name: String,
    servers: Vec<Leashed>,
}

impl Lab {
    fn up(name: &str) -> Option<Lab> {
        let name = format!("{name}{}", std::process::id());
        let up = wirelab(&["lab", "up", &name]);
        if up.status.code() == Some(2) {
            skip("root", stderr(&up).trim());
            return None;
        }
        assert!(up.status.success(), "{}", stderr(&up));
        Some(Lab {
            name,
            servers: Vec::new(),
        })
    }

    fn in_namespace(&self, side: &str, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new("ip");
        let namespace = format!("{}-{side}", self.name);
        command
            .args(["netns", "exec", &namespace, program])
            .args(args);
        command
    }

    /// Start a server on the node's side.
    fn serve(&mut self, program: &str, args: &[&str]) {
        let mut command = self.in_namespace("node", program, args);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = child.spawn().expect("ip is installed");
        self.servers.push(Leashed::new(child));
    }

    fn measure(&self, args: &[&str]) -> std::process::Output {
        let mut command = self.in_namespace("tester", env!("CARGO_BIN_EXE_wirelab"), &["measure"]);
        command.args(args).output().expect("ip is installed")
    }

    /// Ask until the server answers: a busy host starts it late.
    fn measure_when_up(&self, args: &[&str]) -> ResultsFile {
        let begun = Instant::now();
        loop {
            let output = self.measure(args);
            // Four trials find no rate, so that the short page ends with 1.
            let file = ResultsFile::parse(&stdout(&output)).ok();
            // The thread of iperf 2.1.8 for its first connection sometimes waits forever for another one, on a busy host.
            let hangs = |o: &Observation| matches!(&o.status, Status::Void { why } if why.contains("takes connections and does not read"));
            let up = |file: &ResultsFile| {
                let all = &file.observations;
                all.iter().any(|o| o.status == Status::Complete) && !all.iter().any(hangs)
            };
            if let Some(file) = file.filter(up) {
                return file;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "{}",
                stderr(&output)
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.servers.clear();
        wirelab(&["lab", "down", &self.name]);
    }
}

/// Shorter trials than those of the plan.
const SHORTER: &[(&str, &str)] = &[("\"500ms\"", "\"300ms\"")];

/// Whether a trial has a result: if other work delayed the tester in every attempt, it has a reason in place of figures.
fn was_measured(o: &Observation) -> bool {
    let held_up = |why: &str| why.contains("held up by its own host");
    !matches!(&o.status, Status::Void { why } if held_up(why))
}

/// What every page across a network has.
fn check(file: &ResultsFile, node_type: &str) {
    let names: Vec<&str> = file.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Layer 2 latency",
            "Layer 2 throughput",
            "TCP",
            "UDP RX, datagram 64",
            "UDP RX, datagram 64, around",
            "UDP RX, datagram 1470",
            "UDP RX, datagram 1470, around",
            "UDP TX",
            "UDP echo"
        ]
    );
    assert!(!file.interrupted);
    let goodput = |o: &Observation, way: Direction| {
        if !was_measured(o) {
            return f64::INFINITY;
        }
        let flow = o.flows.iter().find(|flow| flow.direction == way);
        let rate = flow.and_then(|flow| flow.goodput_bits_per_s.value());
        rate.copied()
            .unwrap_or_else(|| panic!("{node_type}: {:?}", o.flows))
    };
    let tcp = file.parts[2].of(&file.observations);
    assert!(goodput(&tcp[0], Direction::Receive) > 1e6);
    assert!(goodput(&tcp[1], Direction::Transmit) > 1e6);
    assert!(goodput(&tcp[2], Direction::Receive) > 0.0);
    assert!(goodput(&tcp[2], Direction::Transmit) > 0.0);
    for part in &file.parts {
        for o in part.of(&file.observations) {
            assert_eq!(o.node.node_type, node_type);
            if o.trial.framing.layer == Layer::UdpIpv4 && o.trial.direction == Direction::Receive {
                let loss = o.flows[0].loss_ratio.value();
                assert!(loss.is_some() || !was_measured(o), "{}", part.name);
            }
        }
        if let Some(found) = &part.found {
            let SearchOutcome::Rates(result) = found else {
                panic!("{found:?}");
            };
            let held_up = part.of(&file.observations).iter().any(|o| !was_measured(o));
            assert!(!result.trials.is_empty() || held_up, "{result:?}");
            assert_eq!(result.goals.len(), 2);
        }
    }
    let transmit = file.parts[7].of(&file.observations);
    assert!(
        transmit
            .iter()
            .all(|o| goodput(o, Direction::Transmit) > 0.0)
    );
}

/// What the report makes of it.
fn page(file: &ResultsFile, name: &str) -> String {
    let path = scratch(name);
    std::fs::write(&path, file.to_json()).expect("a scratch folder");
    let path = path.to_str().expect("plain text");
    let output = wirelab(&["report", path, "--format", "datasheet"]);
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn the_distributions_iperf_fills_the_page() {
    if Command::new("iperf").arg("-v").output().is_err() {
        skip("iperf", "it is not installed");
        return;
    }
    let Some(mut lab) = Lab::up("pi") else { return };
    lab.serve("iperf", &["-s"]);
    lab.serve("iperf", &["-s", "-u"]);
    let plan = short_plan("iperf.toml", SHORTER);
    let file = lab.measure_when_up(&["iperf:198.18.0.1", "--plan", &plan, "--json"]);
    check(&file, "iperf");
    // An iperf cannot do the first and the last rows, and reports no CPU load.
    let unsupported = |at: usize| {
        let mut all = file.parts[at].of(&file.observations).iter();
        all.all(|o| o.warnings.iter().any(|w| w.code == "unsupported"))
    };
    assert!(unsupported(0) && unsupported(1) && unsupported(8));
    assert!(
        file.observations
            .iter()
            .all(|o| o.cpu_load.value().is_none())
    );
    let page = page(&file, "iperf.json");
    for row in [
        "TCP RX",
        "TCP TX",
        "TCP Bidirectional",
        "UDP RX",
        "UDP TX (Max)",
    ] {
        assert!(page.contains(row), "{row} is missing in\n{page}");
    }
}

#[test]
fn a_linux_node_fills_the_page_with_its_cpu_load() {
    let Some(mut lab) = Lab::up("pn") else { return };
    let serve = ["node", "serve", "--listen", "198.18.0.1", "--no-iperf"];
    lab.serve(env!("CARGO_BIN_EXE_wirelab"), &serve);
    let plan = short_plan("node.toml", SHORTER);
    let file = lab.measure_when_up(&["node:198.18.0.1", "--plan", &plan, "--json"]);
    check(&file, "node");
    let tcp = file.parts[2].of(&file.observations);
    assert!(
        tcp.iter()
            .any(|o| o.cpu_load.value().is_some() || !was_measured(o)),
        "{:?}",
        tcp[0].cpu_load
    );
    let echo = file.parts[8].of(&file.observations);
    assert!(
        echo.iter()
            .all(|o| !was_measured(o) || o.flows.iter().any(|flow| !flow.series.is_empty()))
    );
    let page = page(&file, "node.json");
    for row in ["TCP RX", "UDP RX", "UDP TX (Max)", "Echo Latency"] {
        assert!(page.contains(row), "{row} is missing in\n{page}");
    }
}
