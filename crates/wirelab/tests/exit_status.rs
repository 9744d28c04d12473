//! Exit statuses that `docs/exit-status.md` gives to a user's commands: a claim that fails, frames that arrived damaged, and
//! frames that never left.

use std::io::Write as _;
use std::process::Command;

use crate::common::{scratch, stderr, stdout, wirelab};
use wirelab_port::iface::PortName;
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};

#[test]
fn a_claim_of_a_study_that_fails_ends_with_1() {
    let text = include_str!("../../../studies/lpc1768.toml");
    let file = scratch("claim.toml");
    let path = file.to_str().unwrap();
    for (bound, status) in [("< 7.1 ms", 0), ("< 7.1 us", 1)] {
        assert!(text.contains("\"< 7.1 ms\""));
        std::fs::write(&file, text.replace("< 7.1 ms", bound)).unwrap();
        let output = wirelab(&["study", "run", path]);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        assert!(stdout(&output).contains("copied ahead"));
    }
}

/// No command can read them: one is not there, one is a folder, and the others hold something else.
#[test]
fn a_file_that_is_refused_ends_with_2() {
    let folder = scratch("refused-files");
    std::fs::create_dir_all(&folder).unwrap();
    let in_it = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    for (name, text) in [
        ("other.json", "{}"),
        ("other.toml", "other"),
        ("other.pcapng", ""),
    ] {
        std::fs::write(in_it(name), text).unwrap();
    }
    let store = format!("--store={}", in_it("store.db"));
    let study = in_it("study.toml");
    let good = in_it("good.json");
    let predicted = wirelab(&["predict", "am263x", "--frame", "64", "-o", &good]);
    assert!(predicted.status.success(), "{}", stderr(&predicted));
    let commands: [&[&str]; 11] = [
        &["audit"],
        &["study", "run"],
        &["study", "import", "-o", &study],
        &["fit"],
        &["explain"],
        &["report"],
        &["compare", &good],
        &["verify"],
        &["pulse"],
        &["stages"],
        &["results", "import", &store],
    ];
    for command in commands {
        for file in [
            "none.json",
            "none.toml",
            "",
            "other.json",
            "other.toml",
            "other.pcapng",
        ] {
            let file = in_it(file);
            let output = wirelab(&[command, &[&file]].concat());
            let errors = stderr(&output);
            assert_eq!(
                output.status.code(),
                Some(2),
                "{command:?} {file}: {errors}"
            );
            assert!(errors.contains("fix: "), "{command:?} {file}: {errors}");
        }
    }
}

#[test]
fn frames_that_were_damaged_on_their_way_end_with_1() {
    let file = scratch("damaged.pcapng");
    let path = file.to_str().unwrap();
    for (inject, status) in [(&[][..], 0), (&["--inject", "corrupt=0.1,seed=7"], 1)] {
        let _ = std::fs::remove_file(&file);
        let send = ["send", "n0", "--to", "02:00:00:00:00:02", "--frame", "128"];
        let send = [&send[..], &["--frames", "200", "--to-file", path], inject].concat();
        let sent = wirelab(&send);
        assert!(sent.status.success(), "{}", stderr(&sent));
        let output = wirelab(&["verify", path, "--sent", "200"]);
        assert_eq!(output.status.code(), Some(status), "{}", stdout(&output));
    }
}

/// A lab whose node's side has a bridge over both pairs, so that a veth without GRO takes no frames of XDP.
fn bridged() -> Option<EphemeralLab> {
    if let Err(error) = wirelab_port::netns::probe() {
        assert!(error.is_privilege(), "{error}");
        // Directly, because the test harness swallows what is printed otherwise.
        let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP root: {error}");
        return None;
    }
    let lab = EphemeralLab::up(&LabSpec::unique("wlxs", 2)).unwrap();
    let inside = lab.port(0, Side::Node).unwrap();
    in_namespace(&inside, "ip link add br0 type bridge");
    for port in ["n0", "n1"] {
        in_namespace(&inside, &format!("ip link set dev {port} master br0"));
    }
    in_namespace(&inside, "ip link set dev br0 up");
    Some(lab)
}

fn in_namespace(port: &PortName, command: &str) {
    let namespace = port.namespace.as_deref().unwrap();
    let status = Command::new("ip")
        .args(["netns", "exec", namespace])
        .args(command.split(' '))
        .status()
        .unwrap();
    assert!(status.success(), "{command}");
}

#[test]
fn a_sender_of_which_nothing_left_ends_with_1_and_says_so() {
    let Some(lab) = bridged() else { return };
    let port = lab.port(0, Side::Tester).unwrap();
    let send = |path: &str, more: &[&str]| {
        let name = port.to_string();
        let to = [
            "send",
            &name,
            "--to",
            "02:00:00:00:00:02",
            "--frames",
            "1000",
        ];
        wirelab(&[&to[..], &["--path", path], more].concat())
    };
    // The driver takes no frame of XDP.
    let refused = send("xdp", &[]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("1000"), "{}", stderr(&refused));
    assert!(
        !stdout(&refused).contains("1,000  sent"),
        "{}",
        stdout(&refused)
    );
    let fine = send("packet", &[]);
    assert_eq!(fine.status.code(), Some(0), "{}", stderr(&fine));
    assert!(
        stdout(&fine).contains("\n   1,000  sent (sequences 0 to 999); "),
        "{}",
        stdout(&fine)
    );
    // A shaper that lets no frame of this length pass.
    let shut = format!(
        "tc qdisc replace dev {} root tbf rate 1mbit burst 100b limit 10000b",
        port.interface
    );
    in_namespace(&port, &shut);
    let paced = ["--frame", "256", "--load", "2kpps", "--json"];
    let dropped = send("packet", &paced);
    assert_eq!(dropped.status.code(), Some(1), "{}", stdout(&dropped));
    let told: serde_json::Value = serde_json::from_slice(&dropped.stdout).unwrap();
    assert_eq!(told["sent_frames"], 0, "{told}");
    assert_eq!(told["sequences"], 1_000, "{told}");
    assert_eq!(told["refused_frames"], 1_000, "{told}");
    let dropped = stdout(&send("packet", &paced[..4]));
    assert!(
        dropped.contains("\n   1,000  refused by the driver, not sent\n"),
        "{dropped}"
    );
    assert!(!dropped.contains("--sent"), "{dropped}");
}
