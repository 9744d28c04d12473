//! Runs one server and one client on the two sides of a private veth pair, for `make bench` of iperf and its
//! competitors.
//!
//! ```text
//! speed [--no-offloads] -- SERVER… {server} … -- CLIENT… {server} …
//! ```
//! It runs two commands, the server on core 1 and the client on core 0. It prints one line of JSON with the client's
//! output, the processor time of each, and the peak memory of the server; `{server}` stands for the server's address.

use std::error::Error;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeVal;
use nix::unistd::Pid;
use serde_json::{Value, json};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Longest time until a server listens.
const START: Duration = Duration::from_secs(5);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(found) => println!("{found}"),
        Err(error) => {
            eprintln!("speed: {error}");
            std::process::exit(2);
        }
    }
}

fn run(words: &[String]) -> Result<Value> {
    let mut parts = words.split(|word| word == "--");
    let offloads = !parts
        .next()
        .unwrap_or_default()
        .contains(&"--no-offloads".to_owned());
    let (Some(server), Some(client)) = (parts.next(), parts.next()) else {
        return Err("write the words of a server and of a client, each after --".into());
    };
    let spec = LabSpec {
        offloads,
        ..LabSpec::unique("speed", 1)
    };
    let lab = EphemeralLab::up(&spec)?;
    let address = lab.address(0, Side::Node).to_string();
    let command = |cpu: &str, words: &[String]| {
        let mut command = Command::new("taskset");
        command.args(["-c", cpu]);
        command.args(words.iter().map(|word| word.replace("{server}", &address)));
        command
    };
    let quiet = || Stdio::null();
    let mut serving = lab
        .netns(Side::Node)?
        .spawn(command("1", server).stdout(quiet()).stderr(quiet()))?;
    let listening = wait_for(&mut serving);
    let asked = listening.and_then(|()| {
        let asking = lab.netns(Side::Tester)?.spawn(
            command("0", client)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped()),
        )?;
        Ok(asking.wait_with_output()?)
    });
    let memory = status(serving.id(), "VmHWM:");
    let client_cpu_s = children_cpu_s()?;
    kill(Pid::from_raw(serving.id() as i32), Signal::SIGKILL)?;
    serving.wait()?;
    let server_cpu_s = children_cpu_s()? - client_cpu_s;
    lab.down()?;
    let asked = asked?;
    Ok(json!({
        "ok": asked.status.success(),
        "said": String::from_utf8_lossy(&asked.stdout),
        "complained": String::from_utf8_lossy(&asked.stderr),
        "server_kib": memory,
        "client_cpu_s": client_cpu_s,
        "server_cpu_s": server_cpu_s,
    }))
}

/// Waits until a process listens on any port of its namespace.
fn wait_for(server: &mut Child) -> Result<()> {
    let since = Instant::now();
    let listens = |file: &str, state: &str| {
        let path = format!("/proc/{}/net/{file}", server.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut states = text
            .lines()
            .filter_map(|line| line.split_whitespace().nth(3));
        states.any(|found| found == state)
    };
    while since.elapsed() < START {
        // The states of proc_pid_net(5): 0A listens, 07 is a UDP socket without a peer.
        let files = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];
        if files.iter().any(|(file, state)| listens(file, state)) {
            std::thread::sleep(Duration::from_millis(100));
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("the server does not listen".into())
}

/// CPU time of the processes that have ended so far, in s.
fn children_cpu_s() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// A number of /proc/PID/status, in KiB.
fn status(pid: u32, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}
