//! What the tests of emulated boards share: what they need of this host, a board as a process, and its emulator.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use wirelab_board::{catalogue, image, qemu};

/// Whether this host has QEMU and the image of a board; says so in the way the test runner understands if not.
pub fn can_run(board: &str) -> bool {
    if qemu::version().is_none() {
        skip("qemu", &qemu::missing(qemu::PROGRAM));
        return false;
    }
    let info = catalogue::find(board).unwrap();
    let found = image::installed(info, info.images[0]);
    if let Err(error) = &found {
        skip("firmware", &error.to_string());
    }
    found.is_ok()
}

/// Whether TAP devices in namespaces are available.
pub fn can_tap() -> bool {
    if let Err(error) = wirelab_port::netns::probe() {
        assert!(error.is_privilege(), "{error}");
        skip("root", &error.to_string());
        return false;
    }
    if !std::path::Path::new("/dev/net/tun").exists() {
        skip("tun", "there is no /dev/net/tun");
        return false;
    }
    true
}

/// Call as a user without privilege.
pub fn as_nobody(args: &[&str]) -> Option<Output> {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(env!("CARGO_BIN_EXE_wirelab"))
        .args(args)
        .env_remove("XDG_RUNTIME_DIR")
        .env("TMPDIR", "/tmp");
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (!text.contains("setpriv:")).then_some(output)
}

pub fn skip(feature: &str, why: &str) {
    // Directly, because the test harness swallows what is printed otherwise.
    let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP {feature}: {why}");
}

/// `wirelab` as a process, ended with the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    pub fn start(args: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
        command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Running(command.spawn().unwrap())
    }

    /// `wirelab board run`, and what it says when the board is up.
    pub fn board(board: &str) -> (Running, serde_json::Value) {
        let mut running = Running::start(&["board", "run", board, "--json", "--patience", "60s"]);
        let mut line = String::new();
        let output = running.0.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let about = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        (running, about)
    }

    pub fn signal(&self, signal: &str) {
        let pid = self.0.id().to_string();
        let done = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(done.success());
    }

    /// Its emulator, once it has one.
    pub fn emulator(&self) -> u32 {
        until("QEMU runs", || child_of(self.0.id(), "qemu-system-arm"))
    }
}

/// The child process of that name, as /proc shows it.
fn child_of(parent: u32, name: &str) -> Option<u32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .find_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let (head, tail) = stat.rsplit_once(')')?;
            let mut fields = tail.split_whitespace();
            let (state, of) = (fields.next()?, fields.next()?);
            // The kernel keeps 15 characters of a name.
            let own = head.split_once('(')?.1;
            let same = name.starts_with(own) && state != "Z" && of.parse() == Ok(parent);
            same.then_some(pid)
        })
}

/// Whether a process lives; one that nobody has waited for is dead.
pub fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Wait for something that comes when it comes.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "{what}: not within two minutes"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}
