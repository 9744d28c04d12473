//! One server and one client on the two sides of a private veth pair: the measuring subject of `make bench` for
//! iperf, ours and others'.
//!
//! ```text
//! speed lab [--no-offloads] -- SERVER… {server} … -- CLIENT… {server} …
//! speed serve 2|3 ADDRESS
//! speed ask 2|3 ADDRESS tcp|udp BYTES SECONDS [--no-segmentation]
//! ```
//! `lab` runs two commands, the server on core 1 and the client on core 0, and prints one line of JSON with what the
//! client said; `{server}` stands for the server's address. `serve` and `ask` are both ends of ours.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeVal;
use nix::unistd::Pid;
use serde_json::{Value, json};
use wirelab_iperf::v2::{self, Amount, ClientConfig, Leg, Protocol, Rate, ServerConfig};
use wirelab_iperf::v3;
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_trial::Cancel;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(5);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.first().map(String::as_str) {
        Some("lab") => lab(&words[1..]),
        Some("serve") => serve(&words[1..]),
        Some("ask") => ask(&words[1..]),
        _ => Err("the first word must be lab, serve or ask".into()),
    };
    match result {
        Ok(found) => println!("{found}"),
        Err(error) => {
            eprintln!("speed: {error}");
            std::process::exit(2);
        }
    }
}

fn lab(words: &[String]) -> Result<Value> {
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

/// Wait until a process listens on any port of its namespace.
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

/// What the processes that have ended until now took, and what was done in their place.
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

fn address(words: &[String]) -> Result<SocketAddr> {
    let generation = words.first().ok_or("write 2 or 3")?;
    let ip: IpAddr = words.get(1).ok_or("an address is missing")?.parse()?;
    let port = if generation == "2" { 5001 } else { 5201 };
    Ok(SocketAddr::new(ip, port))
}

fn serve(words: &[String]) -> Result<Value> {
    let address = address(words)?;
    if words[0] == "2" {
        let handler = Arc::new(|_| {});
        let _server = v2::Server::start(address, ServerConfig::default(), handler)?;
        loop {
            std::thread::sleep(START);
        }
    }
    let mut server = v3::Server::bind(address)?;
    loop {
        if let Err(error) = server.serve_one(&Cancel::new()) {
            eprintln!("speed: {error}");
        }
    }
}

fn ask(words: &[String]) -> Result<Value> {
    let server = address(words)?;
    let [udp, bytes, seconds] = words.get(2..5).unwrap_or_default() else {
        return Err("write tcp or udp, the bytes of a write, and seconds".into());
    };
    let (udp, bytes, seconds) = (udp == "udp", bytes.parse()?, seconds.parse()?);
    let segmentation = !words.contains(&"--no-segmentation".to_owned());
    if words[0] == "2" {
        ask_2(server, udp, bytes, seconds, segmentation)
    } else {
        ask_3(server, udp, bytes, seconds, segmentation)
    }
}

fn ask_2(server: SocketAddr, udp: bool, bytes: u32, seconds: u64, cut: bool) -> Result<Value> {
    let protocol = if udp { Protocol::Udp } else { Protocol::Tcp };
    let config = ClientConfig {
        rate: Rate::Max,
        length_bytes: Some(bytes),
        amount: Amount::time(Duration::from_secs(seconds)),
        segmentation: cut,
        ..ClientConfig::new(server, protocol)
    };
    let outcome = config.run(&AtomicBool::new(false), &|_| {});
    if let Some(trouble) = outcome.trouble {
        return Err(trouble.into());
    }
    let (_, leg) = outcome.legs.first().ok_or("there is no leg")?;
    Ok(match leg {
        Leg::UdpSent(sent) => {
            let report = sent.report.ok_or("no report came")?;
            let seconds = report.duration_us as f64 / 1e6;
            json!({
                "segmented": sent.segmented,
                "sent": sent.datagrams,
                "lost": report.lost,
                "arrived_per_s": (report.datagrams - report.lost) as f64 / seconds,
            })
        }
        Leg::TcpSent { span, bytes, .. } => {
            json!({ "bit_per_s": *bytes as f64 * 8.0 / span.seconds() })
        }
        other => return Err(format!("an unexpected leg: {other}").into()),
    })
}

fn ask_3(server: SocketAddr, udp: bool, bytes: u32, seconds: u64, cut: bool) -> Result<Value> {
    let parameters = v3::Parameters {
        udp,
        length_bytes: bytes,
        seconds,
        rate_bit_s: 0,
        counters_64: true,
        ..v3::Parameters::udp()
    };
    let client = v3::Client {
        server,
        parameters,
        interval: Duration::ZERO,
        segmentation: cut,
    };
    let outcome = client.run(&Cancel::new())?;
    if let Some(failure) = outcome.failure {
        return Err(failure.into());
    }
    let peer = outcome.peer_results.ok_or("no results of the peer")?;
    let theirs = peer.streams.first().ok_or("the peer had no stream")?;
    let ours = &outcome.streams[0];
    let seconds = ours.end_ns as f64 / 1e9;
    Ok(if udp {
        json!({
            "segmented": ours.segmented,
            "sent": ours.counted.packets,
            "lost": theirs.errors,
            "arrived_per_s": theirs.bytes as f64 / f64::from(bytes) / seconds,
        })
    } else {
        json!({ "bit_per_s": theirs.bytes as f64 * 8.0 / seconds })
    })
}
