//! `wirelab node serve` as a process in a lab: what it says, the distribution's iperf against it, and how it ends.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::common::{skip, stderr, wirelab};
use crate::leash::Leashed;
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};

const ADDRESS: &str = "198.18.0.1";

fn lab() -> Option<EphemeralLab> {
    match wirelab_port::netns::probe() {
        Ok(()) => Some(EphemeralLab::up(&LabSpec::unique("wln", 1)).unwrap()),
        Err(error) if error.is_privilege() => {
            skip("root", &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A node as a process; it is ended with the test.
struct Node(Leashed);

/// Starts a node in the lab and waits for what it says when it is ready.
fn serve(lab: &EphemeralLab, options: &[&str]) -> (Node, serde_json::Value) {
    serve_by(lab, Command::new(env!("CARGO_BIN_EXE_wirelab")), options)
}

/// The same by a command that ends in this program.
fn serve_by(
    lab: &EphemeralLab,
    mut command: Command,
    options: &[&str],
) -> (Node, serde_json::Value) {
    command
        .args(["node", "serve", "--listen", ADDRESS, "--json"])
        .args(options);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = lab.netns(Side::Node).unwrap().spawn(&mut command).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let said = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
    (Node(Leashed::new(child)), said)
}

fn on_tester(lab: &EphemeralLab, program: &str, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = lab
        .netns(Side::Tester)
        .unwrap()
        .spawn(&mut command)
        .unwrap();
    child.wait_with_output().unwrap()
}

/// Which cores do the receive work of the node's interface; empty for nobody in particular.
fn steered(lab: &EphemeralLab) -> String {
    let read = || std::fs::read_to_string("/sys/class/net/n0/queues/rx-0/rps_cpus").unwrap();
    let mask = lab.netns(Side::Node).unwrap().run_with_sysfs(read).unwrap();
    mask.trim().trim_matches(['0', ',']).to_owned()
}

#[test]
fn a_node_says_what_it_is_and_puts_everything_back_when_it_is_terminated() {
    let Some(lab) = lab() else { return };
    let set = [
        "--set",
        "phy=DP83869HM",
        "--set",
        "stack=my own",
        "--name",
        "dut",
        "--no-iperf",
    ];
    let (mut node, said) = serve(&lab, &set);
    assert_eq!(said["name"], "dut");
    assert_eq!(said["control"], "198.18.0.1:5002");
    assert_eq!(said["interface"], "n0");
    assert_eq!(said["setup"]["phy"], "DP83869HM");
    assert_eq!(said["setup"]["stack"], "my own", "the user knows better");
    assert_eq!(said["setup"]["ip"], ADDRESS);
    assert!(
        said["setup"]["mac"]
            .as_str()
            .unwrap()
            .starts_with("02:57:4c:")
    );
    assert_eq!(said["iperf2"], serde_json::Value::Null);
    let alone = said["cores"].as_array().unwrap().len();
    let all = std::thread::available_parallelism().unwrap().get();
    assert_eq!(alone, 1);
    assert_eq!(steered(&lab).is_empty(), all == 1);

    // A second one cannot have the port, and says what to do.
    let mut second = Command::new(env!("CARGO_BIN_EXE_wirelab"));
    second
        .args(["node", "serve", "--listen", ADDRESS])
        .stderr(Stdio::piped());
    let second = lab.netns(Side::Node).unwrap().spawn(&mut second).unwrap();
    let refused = second.wait_with_output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("--listen ADDRESS:PORT"),
        "{}",
        stderr(&refused)
    );

    let pid = node.0.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(node.0.wait().unwrap().code(), Some(0));
    assert_eq!(steered(&lab), "", "the cores of receive work are restored");
    let name = lab.spec().namespace(Side::Node);
    let left = Command::new("ip")
        .args(["netns", "pids", &name])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&left.stdout),
        "",
        "no process is left"
    );
}

#[test]
fn the_distributions_iperf_and_iperf3_are_served_beside() {
    let tools =
        ["iperf", "iperf3"].map(|tool| (tool, Command::new(tool).arg("-v").output().is_ok()));
    if let Some((tool, _)) = tools.iter().find(|(_, there)| !there) {
        return skip(tool, "the binary is not there");
    }
    let Some(lab) = lab() else { return };
    let (_node, said) = serve(&lab, &[]);
    assert_eq!(said["iperf2"], "198.18.0.1:5001");
    assert_eq!(said["iperf3"], "198.18.0.1:5201");
    let two = on_tester(&lab, "iperf", &["-c", ADDRESS, "-u", "-b", "5M", "-t", "1"]);
    let text = String::from_utf8_lossy(&two.stdout);
    assert!(
        two.status.success() && text.contains("Server Report"),
        "{text}"
    );
    let tcp = on_tester(&lab, "iperf", &["-c", ADDRESS, "-n", "1M"]);
    assert!(tcp.status.success(), "{}", stderr(&tcp));
    let three = on_tester(&lab, "iperf3", &["-c", ADDRESS, "-n", "1M", "-J"]);
    let text = String::from_utf8_lossy(&three.stdout);
    assert!(three.status.success(), "{text}");
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(
        answer["end"]["sum_received"]["bytes"].as_u64().unwrap() >= 1 << 20,
        "{text}"
    );
}

#[test]
fn hosts_that_are_not_allowed_are_served_by_no_port() {
    let Some(lab) = lab() else { return };
    let node = format!("node:{ADDRESS}");
    let trial = "--layer udp4 --direction tx --datagram 200 --load 1kpps --frames 50";
    let measure: Vec<&str> = ["measure", &node]
        .into_iter()
        .chain(trial.split(' '))
        .collect();
    let asked: [&[&str]; 3] = [
        &measure,
        &["iperf", "-c", ADDRESS, "-n", "10K"],
        &["iperf", "-3", "-c", ADDRESS, "-n", "10K"],
    ];
    for (prefix, allowed) in [("203.0.113.0/24", false), ("198.18.0.0/24", true)] {
        let _node = serve(&lab, &["--allow", prefix]);
        for arguments in asked {
            let output = on_tester(&lab, env!("CARGO_BIN_EXE_wirelab"), arguments);
            let said = stderr(&output);
            assert_eq!(output.status.success(), allowed, "{arguments:?}: {said}");
            assert!(
                allowed || said.contains("fix: ") && said.contains("--allow"),
                "{arguments:?}: {said}"
            );
        }
    }
}

#[test]
fn what_cannot_be_served_is_named_with_the_fix() {
    let said = |arguments: &[&str], part: &str| {
        let mut all = vec!["node", "serve"];
        all.extend(arguments);
        let output = wirelab(&all);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            stderr(&output).contains(part),
            "{arguments:?}: {}",
            stderr(&output)
        );
    };
    said(&["--listen", "0.0.0.0"], "one address");
    said(&["--listen", "192.0.2.77"], "ip -brief address");
    said(&["--listen", "nonsense"], "10.0.0.1:6002");
    said(&["--set", "PHY=x"], "KEY=VALUE");
    said(&["--cpus", "none"], "list of cores");
    said(&["--cpus", "1023"], "lscpu --online");
    said(&["--interface", "nosuch0"], "nosuch0");
    said(&["--name", "Bad Name"], "Bad Name");
    said(&["--max-rate", "fast"], "--max-rate");
    said(&["--allow-mac", "x"], "--allow-mac");
}

/// `wirelab stages` of the node, asked in the tester's namespace: its status, rows and what it complained of.
fn stages(lab: &EphemeralLab, options: &[&str]) -> (Option<i32>, Vec<String>, String) {
    let host = format!("node:{ADDRESS}");
    let asked = ["stages", &host, "--length", "64", "--count", "32", "--json"];
    let output = on_tester(
        lab,
        env!("CARGO_BIN_EXE_wirelab"),
        &[&asked[..], options].concat(),
    );
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let rows = all["stages"].as_array().cloned().unwrap_or_default();
    let name = |row: &serde_json::Value| {
        let word = |name: &str| row[name].as_str().unwrap().to_owned();
        format!("{}, {} to {}", word("direction"), word("from"), word("to"))
    };
    let rows = rows.iter().map(name).collect();
    (output.status.code(), rows, stderr(&output))
}

#[test]
fn the_stages_of_a_node_are_asked_from_elsewhere_and_without_privilege_it_has_those_of_its_sockets()
{
    let Some(lab) = lab() else { return };
    let (node, said) = serve(&lab, &["--no-iperf"]);
    if said["setup"]["probes"] != "none" {
        let (status, rows, told) = stages(&lab, &[]);
        // A loss is a finding and ends with 1.
        assert!([Some(0), Some(1)].contains(&status), "{told}");
        for wanted in ["receive, wire to application", "transmit, queue to driver"] {
            assert!(
                rows.iter().any(|row| row == wanted),
                "{wanted}: {rows:?} {told}"
            );
        }
    }
    drop(node);
    let mut without = Command::new("setpriv");
    without
        .arg("--bounding-set=-bpf,-perfmon,-sys_admin,-net_admin,-net_raw")
        .arg(env!("CARGO_BIN_EXE_wirelab"));
    let (_node, said) = serve_by(&lab, without, &["--no-iperf"]);
    assert_eq!(said["setup"]["probes"], "none", "{said:#}");
    let (status, rows, told) = stages(&lab, &[]);
    assert!([Some(0), Some(1)].contains(&status), "{told}");
    assert!(
        rows.contains(&"receive, driver to application".to_owned()),
        "{rows:?}"
    );
    let (status, rows, told) = stages(&lab, &["--fast-track", "port=1026"]);
    assert_eq!((status, rows.len()), (Some(2), 0), "{told}");
    assert!(
        told.contains("no path fast-track") && told.contains("CAP_BPF"),
        "{told}"
    );
}
