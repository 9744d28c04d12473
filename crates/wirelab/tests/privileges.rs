//! What the program does with exactly the capabilities that it asks for, without root, in a user namespace, and what
//! it leaves when it is killed.

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{stderr, stdout};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::{NetNs, Work, may_test};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// The user "nobody", who has no rights.
const NOBODY: u32 = 65_534;

/// A copy of the program with these capabilities and no others, and a runtime folder of a user without rights.
struct Granted {
    folder: tempfile::TempDir,
}

impl Granted {
    fn new(capabilities: &[&str]) -> Granted {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let granted = Granted { folder };
        fs::copy(env!("CARGO_BIN_EXE_wirelab"), granted.program()).unwrap();
        fs::create_dir(granted.runtime()).unwrap();
        std::os::unix::fs::chown(granted.runtime(), Some(NOBODY), Some(NOBODY)).unwrap();
        if !capabilities.is_empty() {
            let list = capabilities.join(",").to_lowercase() + "+ep";
            let set = Command::new("/usr/sbin/setcap")
                .arg(list)
                .arg(granted.program())
                .status()
                .unwrap();
            assert!(set.success());
        }
        granted
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("wirelab")
    }

    fn runtime(&self) -> PathBuf {
        self.folder.path().join("runtime")
    }

    /// The program as started by a user without rights, with these words before it.
    fn command(&self, user: u32, front: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        command
            .arg(format!("--reuid={user}"))
            .args(["--regid=65534", "--clear-groups", "--"])
            .args(front)
            .current_dir(self.folder.path())
            .env("XDG_RUNTIME_DIR", self.runtime())
            .stdin(Stdio::null());
        if front.is_empty() {
            command.arg(self.program());
        }
        command
    }

    fn call(&self, args: &[&str]) -> Output {
        self.call_as(NOBODY, args)
    }

    fn call_as(&self, user: u32, args: &[&str]) -> Output {
        self.command(user, &[]).args(args).output().unwrap()
    }
}

fn succeeded(output: &Output) {
    assert!(
        output.status.success(),
        "{}{}",
        stdout(output),
        stderr(output)
    );
}

fn unique(prefix: &str) -> String {
    LabSpec::unique(prefix, 1).name
}

#[test]
fn a_user_with_the_granted_capabilities_makes_uses_and_removes_a_lab() {
    if !may_test() {
        return;
    }
    let granted = Granted::new(&[Work::Lab.capabilities(), Work::Packet.capabilities()].concat());
    let name = unique("cap");
    succeeded(&granted.call(&["lab", "up", &name, "--pairs", "2", "--rate", "100M"]));
    let status = granted.call(&["lab", "status"]);
    assert!(
        stdout(&status).contains("pair 1 tester  up"),
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
    for (path, work) in [("packet", Work::Packet), ("xdp", Work::Xdp)] {
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
            Work::Xdp,
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
            Work::Stages,
            &["stages", "lab:", "--length", "256", "--count", "16"],
        ),
    ] {
        let granted = Granted::new(&[work.capabilities(), Work::Lab.capabilities()].concat());
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
    let raw = Work::Packet.capabilities();
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
fn sorted(work: Work) -> String {
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
        told.contains("pair 0 tester  up") && told.contains("no lab on this host"),
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

/// The capabilities are held, and it is a folder that is in the way.
#[test]
fn a_folder_of_somebody_else_is_named_as_the_cause() {
    if !may_test() {
        return;
    }
    let granted = Granted::new(Work::Lab.capabilities());
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
        "way out: set XDG_RUNTIME_DIR",
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
    let granted = Granted::new(Work::Lab.capabilities());
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
            told.contains("frames of the fast path (XDP) do not pass"),
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
