//! A lab with a Linux node in it: this program runs again as `wirelab node serve` in the node's namespace. The tester uses it
//! from its own namespace, and watches it. The node always ends with this process.

use std::io::{BufRead, BufReader, ErrorKind, Read, Take};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use wirelab_port::child::{Ending, Home, Process};
use wirelab_port::lab::{EphemeralLab, Lab, LabSpec, Side};
use wirelab_port::netns::NetNs;
use wirelab_trial::node::with_trouble;
use wirelab_trial::system_error::system_fix;
use wirelab_trial::{
    Cancel, CaptureLimits, Description, NameError, Node, NodeError, NodeName, Observation,
    OpenError, Progress, StageSource, Status, TesterCeiling, Trial, Warning, WarningCode,
};

use crate::ControlNode;

/// Longest time until a node is ready. The kernel verifies the programs for most of it, tens of seconds on an emulated or busy
/// machine. A node that ends earlier is noticed immediately.
const READY: Duration = Duration::from_secs(120);
/// How long after the node's last answer the end of its process may be noticed.
const DYING: Duration = Duration::from_millis(500);
/// Exit status of a node that refuses its options.
const USAGE: i32 = 2;
/// Longest ready message of a node, in bytes.
const MOST_SAID: u64 = 1 << 20;
/// Bytes kept of the end of its messages.
const MOST_TAIL: usize = 2048;

/// A Linux node in a lab on this host, with an open session; it ends with this value.
pub struct LabNode {
    // The fields are dropped in this order: the session ends before the node, and the node before its lab.
    node: ControlNode,
    child: Process,
    messages: Messages,
    tester: NetNs,
    /// Its ready message.
    said: Value,
    /// The lab, where it was made for the node.
    _lab: Option<EphemeralLab>,
}

impl LabNode {
    /// A node in the lab that the target of `name` selects: nothing or `1` is a new lab that ends with the node, else an
    /// existing lab. A new lab carries `payload` bytes; `options` are further options of `wirelab node serve`.
    ///
    /// # Errors
    /// [`OpenError`] where there is no such lab, or the node does not start in it.
    pub fn start(name: &NodeName, payload: u32, options: &[String]) -> Result<LabNode, OpenError> {
        let made = match name.target() {
            "" | "1" => {
                let mut spec = LabSpec::unique("stages", 1);
                spec.mtu = spec.mtu.max(payload);
                Some(EphemeralLab::up(&spec)?)
            }
            number if number.parse::<u8>().is_ok() => {
                let why = "a Linux node in a lab has one interface; fix: write lab:1, or lab:NAME for an existing lab";
                return Err(NameError::new(name, why).into());
            }
            _ => None,
        };
        let lab: Lab = match &made {
            Some(lab) => Lab::clone(lab),
            None => Lab::open(name.target())?,
        };
        let (child, said, messages) = serve(&lab, options)?;
        let tester = lab.netns(Side::Tester)?;
        let host = lab.address(0, Side::Node).to_string();
        let opened = tester.run_in(|| ControlNode::open(&name.to_string(), &host));
        let node = opened.map_err(OpenError::usage)?.map_err(|error| {
            match ended(&child, DYING, &messages) {
                Some(why) => OpenError::failed(why),
                None => error.into(),
            }
        })?;
        Ok(LabNode {
            node,
            child,
            messages,
            tester,
            said,
            _lab: made,
        })
    }
}

impl Node for LabNode {
    fn describe(&self) -> Description {
        self.node.describe()
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        if let Some(why) = ended(&self.child, Duration::ZERO, &self.messages) {
            return Err(NodeError::Failed(why));
        }
        let node = &mut self.node;
        let result = self.tester.run_in(|| node.run(trial, progress, cancel));
        let result = result.unwrap_or_else(|error| Err(NodeError::Failed(error.to_string())));
        let well = match &result {
            Ok(observation) => observation.status == Status::Complete,
            Err(error) => !matches!(error, NodeError::Failed(_)),
        };
        let patience = if well { Duration::ZERO } else { DYING };
        let ended = ended(&self.child, patience, &self.messages);
        let has_ended = ended.is_some();
        let mut observation = with_trouble(result, ended)?;
        if has_ended {
            let text = "the node's process ended during the trial";
            let warning = Warning::new(WarningCode::NODE_ENDED, text, "start the command again");
            observation.warnings.push(warning);
        }
        Ok(observation)
    }

    fn overhead_ps(&self) -> u64 {
        self.node.overhead_ps()
    }

    fn tester_ceiling(&self) -> TesterCeiling {
        self.node.tester_ceiling()
    }

    fn capture_limits(&self) -> CaptureLimits {
        self.node.capture_limits()
    }

    fn stages(&self) -> StageSource {
        self.node.stages()
    }

    /// What the node cannot do in this environment, in its own words.
    fn notices(&self) -> Vec<String> {
        let notices = self.said["notices"].as_array().into_iter().flatten();
        let notices = notices.filter_map(Value::as_str);
        notices.map(str::to_owned).collect()
    }
}

/// Starts the node in its namespace, and waits until it is ready.
fn serve(lab: &Lab, options: &[String]) -> Result<(Process, Value, Messages), OpenError> {
    let program =
        std::env::current_exe().map_err(|e| failed_at("find the path of this program", &e))?;
    let pair = || UnixStream::pair().map_err(|e| failed_at("make a socket pair", &e));
    let ((said, says), (heard, complains)) = (pair()?, pair()?);
    let address = IpAddr::V4(lab.address(0, Side::Node)).to_string();
    let mut command = Command::new(program);
    command
        .args([
            "node",
            "serve",
            "--json",
            "--no-iperf",
            "--max-time",
            "600s",
            "--listen",
        ])
        .args([&address, "--name", "lab-node"])
        .args(options)
        .stdin(Stdio::null())
        .stdout(OwnedFd::from(says))
        .stderr(OwnedFd::from(complains));
    let home = Home {
        namespace: Some(lab.netns(Side::Node)?),
        sysfs: true,
        keep: None,
        // On a normal end it restores where receive work runs, also in a lab that stays.
        ending: Ending::Terminated,
    };
    let child =
        Process::start(command, home).map_err(|e| failed_at("start the node in the lab", &e))?;
    let messages = Messages::keep(heard);
    let failed = |why: &str| match ended(&child, DYING, &messages) {
        // A usage error of the node is one of this command; any other end is a failure.
        Some(ended) if child.life().exit_code() == Some(USAGE) => OpenError::usage(ended),
        Some(ended) => OpenError::failed(ended),
        None => OpenError::failed(format!("the node in the lab{}; {why}", messages.tail())),
    };
    let line = first_line(said).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => failed(&format!(
            "it was not ready within {} s; fix: try again when this machine is less busy",
            READY.as_secs()
        )),
        _ => failed(&format!(
            "it does not respond: {error}; fix: {}",
            system_fix(&error)
        )),
    })?;
    let said = serde_json::from_str(&line)
        .map_err(|_| failed("it sent no ready message; fix: try again"))?;
    Ok((child, said, messages))
}

fn failed_at(what: &str, error: &std::io::Error) -> OpenError {
    OpenError::failed(format!(
        "cannot {what}: {error}; fix: {}",
        system_fix(error)
    ))
}

/// The ready message of a node.
fn first_line(said: UnixStream) -> std::io::Result<String> {
    said.set_read_timeout(Some(READY))?;
    let mut line = String::new();
    let mut said: BufReader<Take<UnixStream>> = BufReader::new(said.take(MOST_SAID));
    said.read_line(&mut line)?;
    Ok(line)
}

/// How the node ended and its last message, if it ends within this time.
fn ended(child: &Process, patience: Duration, messages: &Messages) -> Option<String> {
    let since = Instant::now();
    loop {
        if let Some(how) = child.life().ended() {
            let tail = messages.tail();
            return Some(format!("the node in the lab has ended ({how}){tail}"));
        }
        if since.elapsed() >= patience {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The end of a node's standard error.
#[derive(Clone)]
struct Messages(Arc<Mutex<Vec<u8>>>);

impl Messages {
    /// Read by its own thread, so that the node never blocks on its messages; the thread ends with the node.
    fn keep(mut from: UnixStream) -> Messages {
        let messages = Messages(Arc::default());
        let kept = messages.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 512];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                let mut tail = kept.0.lock().unwrap_or_else(|e| e.into_inner());
                tail.extend_from_slice(&buffer[..length]);
                let over = tail.len().saturating_sub(MOST_TAIL);
                tail.drain(..over);
            }
        });
        messages
    }

    /// The last message, as the end of a sentence.
    fn tail(&self) -> String {
        let tail = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let text = String::from_utf8_lossy(&tail);
        let text = text.trim().strip_prefix("wirelab: ").unwrap_or(text.trim());
        match text {
            "" => String::new(),
            text => format!(": {text}"),
        }
    }
}
