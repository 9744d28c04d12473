//! What the program does with exactly the capabilities that it asks for, without root, and what it leaves when it is
//! killed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common;
use crate::common::{stderr, stdout};
use crate::granted::{Granted, NOBODY, PATIENCE, succeeded, unique};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::{NetNs, PrivilegedWork, may_test};

#[test]
fn a_user_with_the_granted_capabilities_makes_uses_and_removes_a_lab() {
    if !may_test() {
        return;
    }
    let granted = Granted::new(
        &[
            PrivilegedWork::Lab.capabilities(),
            PrivilegedWork::Packet.capabilities(),
        ]
        .concat(),
    );
    let name = unique("cap");
    succeeded(&granted.call(&["lab", "up", &name, "--pairs", "2", "--rate", "100M"]));
    let status = granted.call(&["lab", "status"]);
    assert!(
        stdout(&status).contains("   1  tester  up    "),
        "{}",
        stdout(&status)
    );
    assert!(
        !NetNs::list().unwrap().iter().any(|n| n.starts_with(&name)),
        "a name of its own"
    );
    let inside = granted.call(&[
        "lab",
        "exec",
        "node",
        "--name",
        &name,
        "ls",
        "/sys/class/net",
    ]);
    assert!(stdout(&inside).contains("n1"), "{}", stderr(&inside));
    let node = format!("lab:{name}");
    succeeded(&granted.call(&[
        "measure",
        &node,
        "--path",
        "packet",
        "--frame",
        "512",
        "--frames",
        "100",
        "--no-ceiling",
    ]));
    // One side goes by itself, as after a kill of what holds it.
    let link = fs::read_link(granted.runtime().join(format!("wirelab/netns/{name}-node"))).unwrap();
    let holder = link.iter().nth(2).unwrap();
    assert!(
        Command::new("kill")
            .arg("-9")
            .arg(holder)
            .status()
            .unwrap()
            .success()
    );
    succeeded(&granted.call(&["lab", "down", &name]));
    assert!(stdout(&granted.call(&["lab", "status"])).contains("no lab"));
    let left = fs::read_dir(granted.runtime().join("wirelab/netns")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn each_path_works_with_the_capabilities_of_its_row_and_no_others() {
    if !may_test() {
        return;
    }
    let lab = EphemeralLab::up(&LabSpec::unique("cap", 1)).unwrap();
    // A veth takes frames of XDP only if its other end has NAPI.
    lab.set_threaded_napi(0, Side::Node, true).unwrap();
    let inside = lab.netns(Side::Tester).unwrap();
    let to = lab.mac(0, Side::Node).to_string();
    for (path, work) in [
        ("packet", PrivilegedWork::Packet),
        ("xdp", PrivilegedWork::Xdp),
    ] {
        let send = [
            "send", "t0", "--to", &to, "--frames", "100", "--load", "10kpps", "--path", path,
        ];
        let granted = Granted::new(work.capabilities());
        let output = inside.run_in(|| granted.call(&send)).unwrap();
        succeeded(&output);
        for lacking in work.capabilities() {
            let others: Vec<&str> = work
                .capabilities()
                .iter()
                .copied()
                .filter(|c| c != lacking)
                .collect();
            let output = inside.run_in(|| Granted::new(&others).call(&send)).unwrap();
            let told = stderr(&output);
            assert_eq!(
                output.status.code(),
                Some(2),
                "{path} without {lacking}: {told}"
            );
            assert!(told.contains(&format!("missing {lacking},")), "{told}");
            let command = format!("sudo setcap {}+ep", sorted(work));
            assert!(told.contains(&command), "{told}");
        }
    }
}

/// A lab's own ports lie in other namespaces, which the row of labs covers.
#[test]
fn frames_and_stages_in_a_lab_need_its_row_and_their_own() {
    if !may_test() {
        return;
    }
    for (work, args) in [
        (
            PrivilegedWork::Xdp,
            &[
                "measure",
                "lab:1",
                "--path",
                "xdp",
                "--frame",
                "512",
                "--frames",
                "100",
                "--no-ceiling",
            ][..],
        ),
        (
            PrivilegedWork::Stages,
            &["stages", "lab:", "--length", "256", "--count", "16"],
        ),
    ] {
        let granted =
            Granted::new(&[work.capabilities(), PrivilegedWork::Lab.capabilities()].concat());
        succeeded(&granted.call(args));
    }
}

#[test]
fn a_node_needs_nothing_and_asks_for_no_more_than_what_it_lacks() {
    if !may_test() {
        return;
    }
    let lab = EphemeralLab::up(&LabSpec::unique("cap", 1)).unwrap();
    let inside = lab.netns(Side::Node).unwrap();
    let address = lab.address(0, Side::Node).to_string();
    let raw = PrivilegedWork::Packet.capabilities();
    for (capabilities, asks) in [(&[][..], true), (raw, false)] {
        let granted = Granted::new(capabilities);
        let mut command = granted.command(NOBODY, &[]);
        command
            .args([
                "node",
                "serve",
                "--json",
                "--no-iperf",
                "--listen",
                &address,
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut node = inside.run_in(|| command.spawn()).unwrap().unwrap();
        let mut said = String::new();
        BufReader::new(node.stdout.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        node.kill().unwrap();
        node.wait().unwrap();
        assert!(said.contains("notices"), "it is ready: {said}");
        assert_eq!(said.contains("setcap cap_net_raw+ep"), asks, "{said}");
        assert!(!said.contains("cap_sys_admin"), "{said}");
    }
}

/// In the order of the command that grants them.
fn sorted(work: PrivilegedWork) -> String {
    let command = wirelab_port::netns::grant(work);
    let list = command.split_whitespace().nth(2).unwrap();
    list.trim_end_matches("+ep").to_owned()
}

#[test]
fn a_lab_without_capabilities_asks_for_those_of_labs_alone() {
    if !may_test() {
        return;
    }
    let output = Granted::new(&[]).call(&["lab", "up", &unique("cap")]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("missing CAP_NET_ADMIN and CAP_SYS_ADMIN"),
        "{told}"
    );
    assert!(
        told.contains("setcap cap_net_admin,cap_sys_admin+ep"),
        "{told}"
    );
}

/// The capabilities are held, and it is a folder that is in the way.
#[test]
fn a_folder_of_another_program_is_named_as_the_cause() {
    if !may_test() {
        return;
    }
    let granted = Granted::new(PrivilegedWork::Lab.capabilities());
    fs::create_dir(granted.runtime().join("wirelab")).unwrap();
    let name = unique("cap");
    // There is another place, of which a user is free to have one.
    let user = 1_000_000 + std::process::id();
    let other = PathBuf::from(format!("/tmp/wirelab-{user}"));
    let up = || granted.call_as(user, &["lab", "up", &name]);
    succeeded(&up());
    succeeded(&granted.call_as(user, &["lab", "down", &name]));
    fs::remove_dir_all(&other).unwrap();
    fs::create_dir(&other).unwrap();
    let output = up();
    fs::remove_dir(&other).unwrap();
    let told = stderr(&output);
    assert!(!output.status.success());
    for part in [
        &format!("{}: it belongs to another user", other.display()),
        "fix: set XDG_RUNTIME_DIR",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("missing"), "{told}");
}

/// A link that leads into a folder of root's is not followed.
#[test]
fn a_link_in_the_place_of_the_folder_is_refused() {
    if !may_test() {
        return;
    }
    let granted = Granted::new(PrivilegedWork::Lab.capabilities());
    let elsewhere = granted.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, granted.runtime().join("wirelab")).unwrap();
    let user = 2_000_000 + std::process::id();
    succeeded(&granted.call_as(user, &["lab", "status"]));
    fs::remove_dir_all(format!("/tmp/wirelab-{user}")).unwrap();
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

fn is_gone(name: &str) -> bool {
    let record = PathBuf::from(wirelab_port::runtime::SYSTEM)
        .join("labs")
        .join(name);
    let names = NetNs::list().unwrap();
    !record.exists()
        && !names
            .iter()
            .any(|found| found.starts_with(&format!("{name}-")))
}

#[test]
fn a_lab_up_that_is_ended_in_the_middle_leaves_nothing() {
    if !may_test() {
        return;
    }
    for (turn, signal) in ["INT", "TERM", "KILL"]
        .into_iter()
        .cycle()
        .take(9)
        .enumerate()
    {
        let name = unique("cut");
        let mut child = Command::new(env!("CARGO_BIN_EXE_wirelab"))
            .args(["lab", "up", &name, "--pairs", "40", "--rate", "100M"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 * turn as u64));
        let pid = child.id().to_string();
        Command::new("kill")
            .args(["-s", signal, &pid])
            .status()
            .unwrap();
        let status = child.wait().unwrap();
        if status.success() {
            // It was faster, and the lab is whole.
            succeeded(&common::wirelab(&["lab", "down", &name]));
        }
        let begun = Instant::now();
        while !is_gone(&name) {
            assert!(
                begun.elapsed() < PATIENCE,
                "{name} is left after SIG{signal}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn the_runtime_folder_is_roots_alone() {
    if !may_test() {
        return;
    }
    succeeded(&common::wirelab(&["lab", "status"]));
    let mode = fs::metadata(wirelab_port::runtime::SYSTEM)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    let lock = format!("{}/lock", wirelab_port::runtime::SYSTEM);
    let stranger = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .args(["flock", "--nonblock", &lock, "true"])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(!stranger.success(), "a user took root's lock");
}

#[test]
fn a_shaper_that_the_fast_path_does_not_pass_is_named_before_it_starts() {
    if !may_test() {
        return;
    }
    let name = unique("shaped");
    succeeded(&common::wirelab(&["lab", "up", &name, "--rate", "50M"]));
    let node = format!("lab:{name}");
    let port = format!("{name}-tester/t0");
    let send = |path: &str| {
        let to = "02:57:4c:00:00:01";
        stderr(&common::wirelab(&[
            "send", &port, "--to", to, "--frames", "10", "--path", path,
        ]))
    };
    let sent = [send("xdp"), send("packet")];
    let measure = |path: &str| {
        common::wirelab(&[
            "measure",
            &node,
            "--frame",
            "512",
            "--frames",
            "100",
            "--no-ceiling",
            "--json",
            "--path",
            path,
        ])
    };
    let measured = [measure("xdp"), measure("packet")];
    succeeded(&common::wirelab(&["lab", "down", &name]));
    for told in [&sent[0], &stderr(&measured[0])] {
        assert!(
            told.contains("frames of the fast path (XDP) bypass"),
            "{told}"
        );
        assert!(told.contains("--path packet"), "{told}");
    }
    assert!(
        stdout(&measured[0]).contains("shaper-bypassed"),
        "{}",
        stdout(&measured[0])
    );
    for told in [&sent[1], &stderr(&measured[1]), &stdout(&measured[1])] {
        assert!(!told.contains("fast path"), "{told}");
    }
}
