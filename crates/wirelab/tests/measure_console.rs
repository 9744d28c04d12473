//! A board measured through its console: a shell of Linux in the namespace of a lab, on a pseudo terminal, with the
//! distribution's iperf 2 and iperf3.

use std::process::{Command, Output};

use crate::common::{fact, scratch, short_plan, skip, stderr, stdout, wirelab};
use wirelab_trial::{Direction, Layer, Observation, ResultsFile, Status};

/// A lab of its own, taken down in the end.
struct Lab(String);

impl Lab {
    fn up(name: &str) -> Option<Lab> {
        let name = format!("{name}{}", std::process::id());
        let up = wirelab(&["lab", "up", &name]);
        if up.status.code() == Some(2) {
            skip("root", stderr(&up).trim());
            return None;
        }
        assert!(up.status.success(), "{}", stderr(&up));
        Some(Lab(name))
    }

    /// Measures the peer on the node's side, by a console there.
    fn measure(&self, peer: &str, console: &str, profile: &str, args: &[&str]) -> Output {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{}-tester", self.0)]);
        command.args([env!("CARGO_BIN_EXE_wirelab"), "measure", peer]);
        command.args(["--console", console, "--profile", profile, "--no-ceiling"]);
        command.args(args).output().expect("ip is installed")
    }

    /// A shell on the node's side.
    fn shell(&self) -> String {
        format!("exec:ip netns exec {}-node bash --norc -i", self.0)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        wirelab(&["lab", "down", &self.0]);
    }
}

fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output();
    let there = found.is_ok_and(|output| output.status.success());
    if !there {
        skip(program, "it is not installed");
    }
    there
}

fn file_of(output: &Output) -> ResultsFile {
    let text = stdout(output);
    ResultsFile::parse(&text).unwrap_or_else(|error| panic!("{error}\n{}", stderr(output)))
}

fn of(file: &ResultsFile, layer: Layer, direction: Direction) -> Vec<&Observation> {
    let all = file.observations.iter();
    all.filter(|o| o.trial.framing.layer == layer && o.trial.direction == direction)
        .collect()
}

/// What the page of a shell has: all rows over TCP and UDP, both directions, and the node's CPU load.
fn check_page(file: &ResultsFile) {
    for (layer, direction) in [
        (Layer::TcpIpv4, Direction::Receive),
        (Layer::TcpIpv4, Direction::Transmit),
        (Layer::TcpIpv4, Direction::Both),
        (Layer::UdpIpv4, Direction::Receive),
        (Layer::UdpIpv4, Direction::Transmit),
    ] {
        let all = of(file, layer, direction);
        let done: Vec<_> = all
            .iter()
            .filter(|o| o.status == Status::Complete)
            .collect();
        // If other work delayed the tester, or the server on the same host, in every attempt, there is a reason in place of figures.
        let busy = ["held up by its own host", "it took nothing for the last"];
        let held_up = |o: &&Observation| matches!(&o.status, Status::Void { why } if busy.iter().any(|b| why.contains(b)));
        if done.is_empty() && all.iter().all(held_up) {
            continue;
        }
        assert!(
            !done.is_empty(),
            "{layer:?} {direction}: {:?}",
            all.iter().map(|o| &o.status).collect::<Vec<_>>()
        );
        let flows = if direction == Direction::Both { 2 } else { 1 };
        for o in &done {
            assert_eq!(o.flows.len(), flows, "{layer:?} {direction}");
            for flow in &o.flows {
                assert!(
                    flow.goodput_bits_per_s
                        .value()
                        .is_some_and(|rate| *rate > 0.0),
                    "{flow:?}"
                );
            }
        }
        // A busy host may answer late, which then is the reason.
        let loaded = done.iter().filter(|o| o.cpu_load.value().is_some()).count();
        let late = done.iter().filter(|o| {
            let why = serde_json::to_string(&o.cpu_load).unwrap();
            why.contains("give a longer --time")
        });
        assert_eq!(loaded + late.count(), done.len(), "{layer:?} {direction}");
    }
    let loads: Vec<_> = file
        .observations
        .iter()
        .filter_map(|o| o.cpu_load.value())
        .collect();
    assert!(!loads.is_empty());
    // Tester and shell share one kernel, as its boot id says.
    assert!(
        loads
            .iter()
            .all(|load| load.shared && (0.0..=1.0).contains(&load.busy_ratio))
    );
    let log = &file.consoles[0];
    assert_eq!((log.profile.as_str(), log.cut_bytes), ("linux", 0));
    assert!(
        log.lines
            .iter()
            .any(|line| line.contains("Server listening on"))
    );
    // Every trial has it, so that a run can be resumed.
    for o in &file.observations {
        let version = o.node.setup.get("console_version");
        assert!(
            version.is_some_and(|text| text.starts_with("Linux ")),
            "{:?}",
            o.node.setup
        );
    }
}

#[test]
fn the_page_is_filled_from_a_console_with_iperf_2() {
    let Some(lab) = has("iperf").then(|| Lab::up("cona")).flatten() else {
        return;
    };
    let plan = short_plan("console-2.toml", &[]);
    let output = lab.measure(
        "iperf:198.18.0.1",
        &lab.shell(),
        "linux",
        &["--plan", &plan, "--json"],
    );
    let file = file_of(&output);
    check_page(&file);
    // The console counts what the wire counts, to the byte.
    for o in of(&file, Layer::TcpIpv4, Direction::Receive)
        .into_iter()
        .chain(of(&file, Layer::TcpIpv4, Direction::Transmit))
    {
        let flow = &o.flows[0];
        let count = |name: &str| {
            flow.counters
                .get(name)
                .and_then(|field| field.value())
                .copied()
        };
        let differs = o
            .warnings
            .iter()
            .any(|warning| warning.code == "console-differs");
        assert_eq!(
            count("console_bytes") == count("stream_bytes"),
            !differs,
            "{:?}",
            flow.counters
        );
    }
    let sent = of(&file, Layer::UdpIpv4, Direction::Transmit);
    assert!(
        sent.iter()
            .all(|o| o.flows[0].counters.contains_key("console_bytes"))
    );
}

#[test]
fn the_page_is_filled_from_a_console_with_iperf3() {
    let Some(lab) = has("iperf3").then(|| Lab::up("conb")).flatten() else {
        return;
    };
    let plan = short_plan("console-3.toml", &[]);
    let output = lab.measure(
        "iperf3:198.18.0.1",
        &lab.shell(),
        "linux",
        &["--plan", &plan, "--json"],
    );
    check_page(&file_of(&output));
}

/// A board that is reset in its first trial: it ends the server, and prints the banner of a boot.
const BOARD: &str = r#"
boot() { PS1='# '; echo '[    0.000000] Linux version 6.1 (a board)'; sleep 0.2; }
boot
while printf '%s' "$PS1"; read -r line; do
    eval "$line"
    case "$line" in *"iperf -s"*)
        if [ ! -e "$1" ]; then touch "$1"; printf '%s' "$PS1"; sleep 0.7; pkill -KILL -P $S; boot; fi;;
    esac
done
"#;

#[test]
fn a_trial_in_which_the_board_was_reset_is_repeated() {
    let Some(lab) = has("iperf").then(|| Lab::up("conc")).flatten() else {
        return;
    };
    let (marker, script) = (scratch("console-reset"), scratch("console-board.sh"));
    std::fs::write(&script, BOARD).unwrap();
    let (script, marker) = (script.display(), marker.display());
    let console = format!("exec:ip netns exec {}-node bash {script} {marker}", lab.0);
    let args = [
        "--layer",
        "tcp4",
        "--direction",
        "rx",
        "--time",
        "2s",
        "--json",
    ];
    let output = lab.measure("iperf:198.18.0.1", &console, "linux", &args);
    let file = file_of(&output);
    let [o] = &file.observations[..] else {
        panic!("{}", stderr(&output));
    };
    let log = file.consoles[0].lines.join("\n");
    assert_eq!(o.status, Status::Complete, "{}\n{log}", stderr(&output));
    assert!(
        log.contains("# the trial is repeated: it was reset"),
        "{log}"
    );
    // A trial that the tester's busy host held up is repeated once more, as one in which nothing happened.
    if log.matches("# a trial: ").count() == 2 {
        let mut all = o.warnings.iter();
        let reset = all.find(|warning| warning.code == "console-reset");
        let words = reset.map(|warning| warning.text.contains("it was reset"));
        assert_eq!(words, Some(true), "{:?}\n{log}", o.warnings);
    }
    assert_eq!(
        log.matches("Linux version 6.1 (a board)").count(),
        2,
        "{log}"
    );
    // After the reset its shell is prepared once more, before the server.
    assert_eq!(log.matches("> stty cols 250").count(), 2, "{log}");
}

/// A server that sends no report: its console alone knows what arrived, and counts the final datagrams too.
const SILENT: &str = r#"
PS1='nsh> '
echo 'NuttShell (NSH)'
while printf '%s' "$PS1"; read -r line; do
    case "$line" in
        "ifconfig eth0") echo '	inet addr:198.18.0.1 at RUNNING mtu 1500';;
        "iperf -s -u "*"-t "*) python3 "$1" "${line#*-t }" & ;;
        *) echo "nsh: $line: command not found";;
    esac
done
"#;

/// It counts the bytes that arrive at UDP port 5001 for so many seconds, as NuttX does.
const COUNTER: &str = r#"
import socket, sys, time
seconds = int(sys.argv[1].split()[0])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
s.bind(("", 5001))
print("want recv=16384", flush=True)
s.settimeout(10)
total = len(s.recv(65536))
print("accept: 198.18.0.2:1", flush=True)
start = last = time.monotonic()
before = 0
s.settimeout(0.1)
while time.monotonic() - start < seconds:
    try:
        total += len(s.recv(65536))
    except socket.timeout:
        pass
    now = time.monotonic()
    if now - last >= 1:
        print(f"{last - start:7.2f}-{now - start:7.2f} sec {total - before:10} Bytes {0:7.2f} Mbits/sec", flush=True)
        last, before = now, total
now = time.monotonic()
print(f"{last - start:7.2f}-{now - start:7.2f} sec {total - before:10} Bytes {0:7.2f} Mbits/sec", flush=True)
print(f"{0:7.2f}-{now - start:7.2f} sec {total:10} Bytes {0:7.2f} Mbits/sec", flush=True)
s.settimeout(10)
try:
    s.recv(65536)
except socket.timeout:
    pass
print("iperf exit", flush=True)
"#;

/// The console of a board in a lab that is this script, with a server that counts.
fn silent(lab: &Lab, board: &str) -> String {
    let (script, counter) = (
        scratch(&format!("{}.sh", lab.0)),
        scratch(&format!("{}.py", lab.0)),
    );
    std::fs::write(&script, board).unwrap();
    std::fs::write(&counter, COUNTER).unwrap();
    let (script, counter) = (script.display(), counter.display());
    format!("exec:ip netns exec {}-node bash {script} {counter}", lab.0)
}

/// A trial that it receives, of this time.
fn received(time: &str) -> [&str; 11] {
    [
        "--layer",
        "udp4",
        "--datagram",
        "1000",
        "--direction",
        "rx",
        "--load",
        "100pps",
        "--time",
        time,
        "--json",
    ]
}

#[test]
fn what_a_silent_server_received_is_read_from_its_console() {
    let Some(lab) = Lab::up("cond") else { return };
    let console = silent(&lab, SILENT);
    let output = lab.measure("iperf:198.18.0.1", &console, "nuttx", &received("2s"));
    let file = file_of(&output);
    let o = &file.observations[0];
    let log = file.consoles[0].lines.join("\n");
    assert_eq!(o.status, Status::Complete, "{}\n{log}", stderr(&output));
    let flow = &o.flows[0];
    let count = |name: &str| {
        flow.counters
            .get(name)
            .and_then(|field| field.value())
            .copied()
    };
    let sent = *flow.sent_frames.value().unwrap();
    // Ten final datagrams are in the console's bytes, and in no figure.
    assert_eq!(count("final_datagrams"), Some(10), "{log}");
    assert_eq!(count("console_bytes"), Some((sent + 10) * 1000), "{log}");
    assert_eq!(flow.loss_ratio.value(), Some(&0.0), "{log}");
    assert_eq!(count("reported_datagrams"), Some(sent));
    assert!(flow.goodput_bits_per_s.value().is_some());
    assert!(flow.jitter_ps.value().is_none(), "the console shows none");
    assert!(
        o.warnings
            .iter()
            .any(|warning| warning.code == "console-count")
    );
    let why = serde_json::to_string(&o.cpu_load).unwrap();
    assert!(why.contains("give --time 5s or more"), "{why}");
}

/// A driver that receives nothing until its board is booted again: so does the first of these.
#[test]
fn a_board_that_receives_nothing_is_booted_again() {
    let Some(lab) = Lab::up("cone") else { return };
    let (marker, profile) = (scratch("deaf"), scratch("deaf.toml"));
    let deaf = format!(
        "if [ -e {0} ]; then DEAF=; else touch {0}; DEAF=1; fi\n",
        marker.display()
    );
    let board = SILENT.replace(
        "    case \"$line\" in",
        "    case \"$DEAF$line\" in\n        '1iperf -s -u '*) echo 'want recv=16384';;\n        '1iperf -a') echo 'iperf exit';;\n        1*) echo '\tinet addr:198.18.0.1 at RUNNING mtu 1500';;",
    );
    let console = silent(&lab, &(deaf + &board));
    let nuttx = stdout(&wirelab(&["console", "show", "nuttx"]));
    std::fs::write(&profile, nuttx.replace("\"12s\"", "\"4s\"")).unwrap();
    let output = lab.measure(
        "iperf:198.18.0.1",
        &console,
        profile.to_str().unwrap(),
        &received("300ms"),
    );
    let file = file_of(&output);
    let o = &file.observations[0];
    let log = file.consoles[0].lines.join("\n");
    assert_eq!(o.status, Status::Complete, "{}\n{log}", stderr(&output));
    assert!(
        log.contains("its server received nothing, and it was booted again"),
        "{log}"
    );
    assert_eq!(log.matches("< NuttShell (NSH)").count(), 2, "{log}");
    assert_eq!(o.flows[0].loss_ratio.value(), Some(&0.0), "{log}");
}

#[test]
fn what_is_wrong_is_said_with_its_fix() {
    for (args, words) in [
        (
            &[
                "iperf:127.0.0.1",
                "--console",
                "uart:x",
                "--profile",
                "linux",
            ][..],
            "there is no such type",
        ),
        (
            &[
                "iperf:127.0.0.1",
                "--console",
                "exec:sh",
                "--profile",
                "lniux",
            ],
            "unknown profile 'lniux'; did you mean 'linux'? fix: ",
        ),
        (
            &[
                "iperf:127.0.0.1",
                "--console",
                "exec:sh",
                "--profile",
                "linux,speed=1",
            ],
            "'speed=1' sets nothing that it has",
        ),
        (
            &[
                "iperf:127.0.0.1",
                "--console",
                "exec:sh",
                "--profile",
                "linux,bits_kilo=7",
            ],
            "write 1000 or 1024",
        ),
        (&["iperf:127.0.0.1", "--console", "exec:sh"], "--profile"),
        // No prompt is waited for: the command would never give one.
        (
            &[
                "iperf:127.0.0.1",
                "--console",
                "exec:sleep 1000",
                "--profile",
                "freertos",
            ],
            "the profile freertos does not know iperf; fix: measure iperf3:HOST, or add [iperf]",
        ),
        (
            &[
                "iperf3:127.0.0.1",
                "--console",
                "exec:sleep 1000",
                "--profile",
                "u-boot",
            ],
            "the profile u-boot does not know iperf3; fix: choose another profile",
        ),
        (
            &["lab:1", "--console", "exec:sh", "--profile", "linux"],
            "measure iperf:HOST or iperf3:HOST",
        ),
        (
            &[
                "iperf:127.0.0.1",
                "--console",
                "serial:/dev/no-such-line",
                "--profile",
                "linux",
            ],
            "/dev/no-such-line",
        ),
    ] {
        let output = wirelab(&[&["measure"], args].concat());
        let text = stderr(&output);
        assert!(
            !output.status.success() && text.contains(words),
            "{args:?}: {text}"
        );
    }
}

/// An `ssh` of our own says how it was called, and is then the board.
#[test]
fn ssh_is_the_one_of_this_host() {
    use std::os::unix::fs::PermissionsExt;
    let folder = scratch("ssh");
    std::fs::create_dir_all(&folder).unwrap();
    let ssh = folder.join("ssh");
    std::fs::write(
        &ssh,
        "#!/bin/sh\necho called with \"$@\"\nexec bash --norc -i\n",
    )
    .unwrap();
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let profile = scratch("no-servers.toml");
    let linux = stdout(&wirelab(&["console", "show", "linux"]));
    std::fs::write(&profile, linux.split("[iperf]").next().unwrap()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_wirelab"))
        .args([
            "console",
            "check",
            "--console",
            "ssh:root@board:2222",
            "--profile",
        ])
        .arg(&profile)
        .env("PATH", path)
        .output()
        .unwrap();
    let text = stdout(&output);
    assert!(output.status.success(), "{text}{}", stderr(&output));
    for (name, begin, end) in [
        ("prompt", "reached after ", " s (measured)"),
        ("version", "Linux ", ""),
        ("CPU load", "", " % (measured)"),
    ] {
        let told = fact(&text, name);
        let whole = told.starts_with(begin) && told.ends_with(end) && !told.is_empty();
        assert!(whole, "{name}: {text}");
    }
}

/// A profile that does not fit the board is found before the first trial.
#[test]
fn an_answer_that_the_profile_does_not_read_is_an_error() {
    let linux = stdout(&wirelab(&["console", "show", "linux"]));
    let linux = linux.split("[iperf]").next().unwrap();
    let check = |name: &str, from: &str, to: &str| {
        assert!(linux.contains(from), "{linux}");
        let path = scratch(name);
        std::fs::write(&path, linux.replace(from, to)).unwrap();
        let path = path.display().to_string();
        let shell = "exec:bash --norc -i";
        wirelab(&["console", "check", "--console", shell, "--profile", &path])
    };
    for (name, from, to, told) in [
        (
            "reads-no-version.toml",
            "(?P<value>Linux .*)",
            "(?P<value>NuttX .*)",
            "reads-no-version does not read the answer to 'uname -srm': 'Linux ",
        ),
        (
            "reads-no-load.toml",
            "head -n 1 /proc/stat",
            "echo no figures",
            "reads-no-load does not read the answer to 'echo no figures': 'no figures'",
        ),
    ] {
        let output = check(name, from, to);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(
            text.contains(told) && text.contains("; fix: change "),
            "{text}"
        );
        assert!(stderr(&output).contains("what went over the console:"));
    }
    // What this board lacks is not an error: it says so, or prints nothing.
    let missing = "cat /sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq";
    for (name, to, told) in [
        (
            "lacks-a-clock.toml",
            "cat /nowhere",
            "this board has none (cat: /nowhere: No such file or directory)",
        ),
        (
            "says-nothing.toml",
            "true",
            "the board printed nothing to 'true'",
        ),
    ] {
        let output = check(name, missing, to);
        let text = stdout(&output);
        assert!(output.status.success(), "{text}{}", stderr(&output));
        assert_eq!(fact(&text, "core_clock"), told, "{text}");
    }
}

#[test]
fn the_profiles_are_listed_and_shown_and_a_silent_board_shows_its_console() {
    let list = stdout(&wirelab(&["console", "list"]));
    for name in [
        "nuttx", "zephyr", "esp-idf", "freertos", "lwip", "linux", "u-boot",
    ] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
    }
    assert!(
        stderr(&wirelab(&["console", "show", "nutx"]))
            .contains("unknown profile 'nutx'; did you mean 'nuttx'? fix: ")
    );
    let alone = wirelab(&["measure", "iperf:127.0.0.1", "--console", "exec:true"]);
    assert_eq!(alone.status.code(), Some(2));
    let text = stderr(&alone);
    assert!(
        text.contains("--console without --profile; fix: name "),
        "{text}"
    );
    let own = [
        "console",
        "check",
        "--console",
        "exec:true",
        "--profile",
        "./none.toml",
    ];
    let text = stderr(&wirelab(&own));
    assert!(
        text.contains("cannot read ./none.toml: ") && text.contains("; fix: "),
        "{text}"
    );
    let nothing = wirelab(&[
        "console",
        "check",
        "--console",
        "exec:echo not a board; sleep 1",
        "--profile",
        "u-boot",
    ]);
    let text = stderr(&nothing);
    assert_eq!(nothing.status.code(), Some(1), "{text}");
    assert!(
        text.contains("< not a board") && text.contains("fix: "),
        "{text}"
    );
}
