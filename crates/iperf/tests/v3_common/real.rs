//! The distribution's iperf3 in both roles.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use wirelab_iperf::v3::{Parameters, Server, TestError, TestOutcome};
use wirelab_trial::Cancel;

use super::ask;

/// Whether the distribution's iperf3 is here; if not, the test says so and is skipped.
pub fn there_is_iperf3() -> bool {
    let there = Command::new("iperf3")
        .arg("-v")
        .stdout(Stdio::null())
        .status()
        .is_ok();
    if !there {
        let _ = writeln!(
            std::io::stderr(),
            "WIRELAB-SKIP iperf3: it is not installed"
        );
    }
    there
}

/// The distribution's server on a port of its own; stopped when dropped.
pub struct RealServer {
    child: Child,
    pub address: SocketAddr,
    listening: mpsc::Receiver<()>,
    first: Cell<bool>,
}

impl RealServer {
    /// Start one and wait until it listens.
    pub fn start() -> RealServer {
        // A port that was free a moment ago: iperf3 cannot choose one by itself.
        for _ in 0..20 {
            let free = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let address = free.local_addr();
            drop(free);
            let mut child = Command::new("iperf3")
                .args(["-s", "--forceflush", "-B", "127.0.0.1", "-p"])
                .arg(address.port().to_string())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let (says, listening) = mpsc::channel();
            thread::spawn(move || {
                for line in lines.map_while(Result::ok) {
                    if line.contains("Server listening") && says.send(()).is_err() {
                        break;
                    }
                }
            });
            // Without an end of its output it listens; one that has ended found its port taken.
            if listening.recv_timeout(Duration::from_secs(20)).is_ok() {
                return RealServer {
                    child,
                    address,
                    listening,
                    first: Cell::new(true),
                };
            }
            child.kill().ok();
            child.wait().unwrap();
        }
        panic!("iperf3 found no port to listen on");
    }

    /// Run one test. The server does not listen between two tests, so a further one waits for its word.
    pub fn ask(&self, parameters: Parameters) -> Result<TestOutcome, TestError> {
        if !self.first.replace(false) {
            self.listening
                .recv_timeout(Duration::from_secs(20))
                .expect("the server listens again");
        }
        ask(self.address, parameters)
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Our server for one test beside the real client; what each of them says.
pub fn serve_real(options: &[&str]) -> (Result<TestOutcome, TestError>, Value) {
    let mut server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = server.local_addr().port().to_string();
    let child = Command::new("iperf3")
        .args(["-c", "127.0.0.1", "-J", "-p", &port])
        .args(options)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let outcome = server.serve_one(&Cancel::new());
    let printed = child.wait_with_output().unwrap().stdout;
    (outcome, serde_json::from_slice(&printed).unwrap())
}

/// The number at a place in what iperf3 printed.
pub fn number(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {path} in {value:#}"))
}
