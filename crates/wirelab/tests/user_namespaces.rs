//! Labs of root of a user namespace, and what one leaves there when it is killed.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{stderr, stdout};
use crate::granted::{Granted, NOBODY, PATIENCE, succeeded, unique};
use wirelab_port::netns::may_test;

#[test]
fn root_of_a_user_namespace_has_labs() {
    if !may_test() {
        return;
    }
    let granted = Granted::new(&[]);
    let name = unique("user");
    let program = granted.program();
    let program = program.to_str().unwrap();
    let script = format!(
        "{program} lab up {name} && {program} lab status && {program} lab exec tester --name {name} ip link show t0 && \
         {program} measure lab:1 --frame 512 --frames 100 --no-ceiling --path packet && {program} lab down {name} && \
         {program} lab status"
    );
    let output = granted
        .command(NOBODY, &["unshare", "-rn", "sh", "-c", &script])
        .output()
        .unwrap();
    succeeded(&output);
    let told = stdout(&output);
    assert!(
        told.contains("   0  tester  up    ") && told.contains("no lab on this host"),
        "{told}"
    );
    // Root itself in one, whose mounts nobody else sees.
    let output = Command::new("unshare")
        .args(["-rn", program, "measure", "lab:1"])
        .args([
            "--frame",
            "512",
            "--frames",
            "100",
            "--no-ceiling",
            "--path",
            "packet",
        ])
        .env("XDG_RUNTIME_DIR", granted.folder.path())
        .output()
        .unwrap();
    succeeded(&output);
}

/// A short run in a lab, as root of a user namespace of its own.
const SHORT: &[&str] = &[
    "--frame",
    "512",
    "--frames",
    "100",
    "--no-ceiling",
    "--path",
    "packet",
];

impl Granted {
    /// What root of a new user namespace does.
    fn unshared(&self, args: &[&str]) -> Command {
        let mut command = self.command(NOBODY, &["unshare", "-rn"]);
        command.arg(self.program()).args(args);
        command
    }

    fn held_namespaces(&self) -> usize {
        let folder = self.runtime().join("wirelab/netns");
        fs::read_dir(folder).map_or(0, Iterator::count)
    }
}

#[test]
fn an_orphan_of_another_user_namespace_is_in_nobodys_way() {
    if !may_test() {
        return;
    }
    let granted = Granted::new(&[]);
    let mut run = granted
        .unshared(&["measure", "lab:1", "--load", "1kpps", "--time", "60s"])
        .args(["--no-ceiling", "--path", "packet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while granted.held_namespaces() < 2 {
        assert!(begun.elapsed() < PATIENCE, "there is no lab");
        std::thread::sleep(Duration::from_millis(20));
    }
    let script = format!("kill -9 $(pgrep -P {} -f wirelab-watchdog)", run.id());
    let watchdog = Command::new("sh").args(["-c", &script]).status().unwrap();
    assert!(watchdog.success(), "the lab has no watchdog");
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(granted.held_namespaces(), 2, "nobody removes it");
    succeeded(
        &granted
            .unshared(&["measure", "lab:1"])
            .args(SHORT)
            .output()
            .unwrap(),
    );
    assert_eq!(granted.held_namespaces(), 0);
}

/// A folder in the place of a namespace, which nothing here removes; records and names are the script's own.
const STUCK: &str = r#"
mount -t tmpfs tmpfs /run
mkdir -p -m 700 /run/wirelab/labs /run/netns/stuck-node
cat >/run/wirelab/labs/stuck <<'end'
name=stuck
pairs=1
mtu=1500
queues=1
offloads=false
threaded=false
owner=4000000
token=none
end
"$0" lab up other && "$0" lab down other && echo made
"$0" lab down stuck 2>&1
rmdir /run/netns/stuck-node
"$0" lab status
"#;

#[test]
fn an_orphan_that_cannot_be_removed_is_in_the_way_of_its_own_name_alone() {
    if !may_test() {
        return;
    }
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", STUCK, env!("CARGO_BIN_EXE_wirelab")])
        .output()
        .unwrap();
    succeeded(&output);
    let told = stdout(&output);
    assert!(told.contains("made\n"), "{told}{}", stderr(&output));
    assert!(told.contains("stuck-node"), "it says why: {told}");
    assert!(!told.contains("is running"), "{told}");
    assert!(
        told.ends_with("no lab on this host; make one with 'wirelab lab up'\n"),
        "{told}"
    );
}

#[test]
fn a_lab_of_another_user_namespace_is_measured_as_the_message_says() {
    if !may_test() {
        return;
    }
    let granted = Granted::new(&[]);
    let name = unique("other");
    let node = format!("lab:{name}");
    let measure = [&["measure", &node], SHORT].concat();
    succeeded(&granted.unshared(&["lab", "up", &name]).output().unwrap());
    let output = granted.unshared(&measure).output().unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains(&format!("{name}-node belongs to another user namespace")),
        "{told}"
    );
    let fix = told.split("write `").nth(1).expect(&told);
    let (enter, _) = fix.split_once(" wirelab …`").expect(&told);
    let mut words: Vec<&str> = enter.split_whitespace().collect();
    let program = granted.program();
    words.push(program.to_str().unwrap());
    let inside = granted
        .command(NOBODY, &[&words[..], &measure].concat())
        .output()
        .unwrap();
    succeeded(&inside);
    // It can be ended from anywhere.
    succeeded(&granted.unshared(&["lab", "down", &name]).output().unwrap());
    assert_eq!(granted.held_namespaces(), 0);
}
