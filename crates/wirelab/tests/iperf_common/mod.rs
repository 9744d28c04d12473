//! Servers and clients of iperf as processes: ours, and the distribution's in both roles.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longest wait for anything.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Whether a binary of the distribution is here; if not, the test says so and is skipped.
pub fn has(binary: &str) -> bool {
    let found = Command::new(binary)
        .arg("-v")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if let Err(error) = &found {
        let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP {binary}: {error}");
    }
    found.is_ok()
}

/// A server of ours as a process, with its first lines read; killed at the end.
pub struct Ours {
    child: Child,
    lines: mpsc::Receiver<String>,
    /// Its port for TCP, or for both.
    pub tcp: String,
    /// Its port for UDP.
    pub udp: String,
}

impl Ours {
    /// `wirelab iperf -s` on a port of its own.
    pub fn start(more: &[&str]) -> Ours {
        let mut child = Command::new(env!("CARGO_BIN_EXE_wirelab"))
            .args(["iperf", "-s", "-p", "0", "-B", "127.0.0.1"])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in out.map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        let mut server = Ours {
            child,
            lines,
            tcp: String::new(),
            udp: String::new(),
        };
        let port_of = |line: &str| line.split(' ').next_back().unwrap_or_default().to_owned();
        while server.udp.is_empty() {
            let line = server.line();
            if let Ok(json) = serde_json::from_str::<Value>(&line) {
                let port = |key: &str| {
                    let address = json["listening"][key].as_str().unwrap();
                    address.rsplit(':').next().unwrap().to_owned()
                };
                (server.tcp, server.udp) = (port("tcp"), port("udp"));
            } else if let Some(rest) = line.strip_prefix("Server listening on ") {
                match rest.split(' ').next().unwrap() {
                    "TCP" => server.tcp = port_of(rest),
                    "UDP" => server.udp = port_of(rest),
                    port => {
                        server.tcp = port.to_owned();
                        server.udp = port.to_owned();
                    }
                }
            }
        }
        server
    }

    /// The port for what the options of a client ask.
    pub fn tcp_or_udp(&self, options: &str) -> String {
        match options.contains("-u") {
            true => self.udp.clone(),
            false => self.tcp.clone(),
        }
    }

    /// The next line that it prints.
    pub fn line(&self) -> String {
        self.lines.recv_timeout(LIMIT).expect("a line in time")
    }

    /// Its lines until one has `text`.
    pub fn until(&self, text: &str) -> String {
        loop {
            let line = self.line();
            if line.contains(text) {
                return line;
            }
        }
    }

    /// All that it still prints, and its exit status.
    pub fn end(mut self) -> (Vec<String>, i32) {
        let status = self.child.wait().unwrap();
        let lines = self.lines.iter().collect();
        (lines, status.code().unwrap_or(-1))
    }

    /// End it as Ctrl-C does.
    pub fn interrupt(&self) {
        interrupt(&self.child);
    }

    /// Kill it.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server in the background by its process id, ended with the test.
pub struct Background(pub String);

impl Background {
    /// The one that the process which started it names.
    pub fn of(said: &str) -> Background {
        let pid = said.split("as process ").nth(1).expect(said);
        Background(pid.split(';').next().unwrap().to_owned())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(&self.0).status();
    }
}

/// Send the signal of Ctrl-C.
pub fn interrupt(child: &Child) {
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// A client of ours against this machine, to its end.
pub fn test(port: &str, args: &str) -> Output {
    start(port, args).wait_with_output().unwrap()
}

/// A client of ours that runs.
pub fn start(port: &str, args: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_wirelab"))
        .args(["iperf", "-c", "127.0.0.1", "-p", port])
        .args(args.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a client prints until it has so many lines of an interval; the rest stays to be read.
pub fn until_rows(client: &mut Child, rows: usize) -> String {
    let (mut text, mut byte) = (String::new(), [0]);
    while text.lines().filter(|line| line.contains(" sec ")).count() < rows || byte != *b"\n" {
        let count = client.stdout.as_mut().unwrap().read(&mut byte).unwrap();
        assert_eq!(count, 1, "{text}");
        text.push(char::from(byte[0]));
    }
    text
}

/// The distribution's client against this machine: what it printed.
pub fn real_client(binary: &str, port: &str, args: &str) -> String {
    let output = Command::new(binary)
        .args(["-c", "127.0.0.1", "-p", port])
        .args(args.split_whitespace())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A port that was free a moment ago, for UDP and TCP.
pub fn free_port() -> u16 {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The distribution's server, killed at the end.
pub struct Real {
    child: Child,
    /// Its port.
    pub port: String,
}

impl Real {
    /// Start it, and wait until it listens.
    pub fn start(binary: &str, args: &str) -> Real {
        Real::start_to(Stdio::null, binary, args)
    }

    /// The same, with what it prints to be read.
    pub fn start_telling(binary: &str, args: &str) -> Real {
        Real::start_to(Stdio::piped, binary, args)
    }

    /// Its lines until one has `text`; what follows is lost.
    pub fn until(&mut self, text: &str) -> String {
        let out = self.child.stdout.take().unwrap();
        let mut lines = BufReader::new(out).lines().map_while(Result::ok);
        lines.find(|line| line.contains(text)).expect(text)
    }

    fn start_to(out: fn() -> Stdio, binary: &str, args: &str) -> Real {
        loop {
            let port = free_port();
            let child = Command::new(binary)
                .args(["-s", "-B", "127.0.0.1", "-p", &port.to_string()])
                .args(args.split_whitespace())
                .stdout(out())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut real = Real {
                child,
                port: port.to_string(),
            };
            let udp = args.split_whitespace().any(|option| option == "-u");
            let since = Instant::now();
            while since.elapsed() < LIMIT && real.child.try_wait().unwrap().is_none() {
                if listens(port, udp) {
                    return real;
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Wait until something listens on a port of this machine for TCP.
pub fn wait_until_listens(port: u16) {
    let since = Instant::now();
    while !listens(port, false) {
        assert!(since.elapsed() < LIMIT, "nothing listens on {port}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Whether something listens, without sending it anything.
pub fn listens(port: u16, udp: bool) -> bool {
    let table = if udp { "udp" } else { "tcp" };
    let text = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap();
    text.contains(&format!("0100007F:{port:04X} 00000000:0000"))
}

/// The places of all members of an object, a line each; what is in a list counts once.
pub fn shape(value: &Value) -> String {
    let mut places = BTreeSet::new();
    list(value, "", &mut places);
    places.into_iter().collect::<Vec<_>>().join("\n")
}

fn list(value: &Value, place: &str, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                list(value, &format!("{place}/{key}"), out);
            }
        }
        Value::Array(all) if all.iter().any(Value::is_object) => {
            all.iter()
                .for_each(|value| list(value, &format!("{place}[]"), out));
        }
        _ => {
            out.insert(place.to_owned());
        }
    }
}
