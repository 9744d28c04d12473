//! Echo by an iperf 2 peer: blocks of a TCP stream that its server returns (`--bounceback`), with a UDP stream of the
//! same client as background.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wirelab_iperf::v2::client::bounce::{LEAST_BLOCK, bounceback};
use wirelab_iperf::v2::{Amount, ClientConfig, Leg, Outcome, Protocol, Rate, Sent};
use wirelab_socket::echo::EchoReport;
use wirelab_socket::flow;
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::job::{self, FlowRequest};
use wirelab_trial::{
    Cancel, Description, Direction, Field, Link, NodeError, Observation, Resolved, Status,
    TesterObservation, Trial,
};
use wirelab_wire::LineRate;

use super::flow::send_report;
use super::observe::{NO_LOAD, failure};
use super::plan::{MOST_WRITE, accepts};
use crate::leaving::{InterfaceEvents, Leaving};
use crate::node::background::tell;
use crate::node::node_path::{self, Background};

/// Longest background: it ends with the trial.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// An echo trial, ready to run.
pub struct Echo {
    resolved: Resolved,
    offer: flow::Offer,
    background: Option<Background>,
}

/// Checks the trial and plans it.
///
/// # Errors
/// [`NodeError::BadTrial`] for an impossible size or load.
pub fn plan(trial: &Trial, carrier: Option<LineRate>) -> Result<Echo, NodeError> {
    let resolved = Resolved::new(trial, &accepts(trial), Link::Carrier(carrier))?;
    let bytes = resolved.sizes.datagram.unwrap_or(0);
    if !(LEAST_BLOCK..=MOST_WRITE).contains(&bytes) {
        return Err(NodeError::BadTrial(format!(
            "a block of {bytes} bytes: iperf returns blocks of {LEAST_BLOCK} to {MOST_WRITE}; fix: give --datagram in that range"
        )));
    }
    let resolved = resolved.with_echo_rate()?;
    let background = node_path::background(&resolved)?;
    Ok(Echo {
        offer: flow::Offer {
            stream: 0,
            datagram_bytes: bytes,
            pace: resolved.pace(),
            extent: trial.extent,
            with_time: true,
            node_clock: false,
        },
        resolved,
        background,
    })
}

impl Echo {
    /// Runs the trial against the server, with the background. `leaving` watches the interface by which frames leave.
    ///
    /// # Errors
    /// [`NodeError`] where nothing was measured at all.
    pub fn run(
        self,
        server: SocketAddr,
        node: Description,
        leaving: &Leaving,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let started_unix_ns = unix_ns();
        let over = &AtomicBool::new(false);
        let config = self.background.map(|background| load(server, &background));
        // On its own thread: the probe's frames must not wait for those of the background.
        let (report, beside) = std::thread::scope(|scope| {
            let beside = config.map(|config| scope.spawn(move || send(config, over)));
            let report = bounceback(server, &self.offer, cancel);
            over.store(true, Ordering::Relaxed);
            let beside = beside.map(|thread| thread.join());
            let panicked = |panic| std::panic::resume_unwind(panic);
            (report, beside.map(|beside| beside.unwrap_or_else(panicked)))
        });
        let left = leaving.end(0);
        let observation = report.map_err(|trouble| failure(&trouble)).map(|report| {
            let observation = self.observation(report, node, started_unix_ns, cancel);
            self.with_background(observation, beside, &left)
        });
        left.judge(observation)
    }

    fn observation(
        &self,
        report: EchoReport,
        node: Description,
        started_unix_ns: u64,
        cancel: &Cancel,
    ) -> Observation {
        let request = FlowRequest {
            port: node.name.clone(),
            direction: Direction::Echo,
            stream: 0,
            layer: self.resolved.trial.framing.layer,
            sizes: self.resolved.sizes,
            link: self.resolved.link,
            frames_per_s: self.resolved.frames_per_s,
            from: "tester".to_owned(),
            to: "tester".to_owned(),
            sender_path: "iperf".to_owned(),
            receiver_path: "iperf, its server returns the blocks".to_owned(),
            ledger: None,
        };
        let series = report.series();
        let mut warnings = job::flow_warnings(&request, &report.sent, &report.received);
        let sent = std::slice::from_ref(&report.sent);
        warnings.extend(job::below_rate(self.resolved.frames_per_s, sent));
        let mut flow = job::flow_observation(&request, &report.sent, report.received);
        flow.series.splice(0..0, series);
        let slow = flow.sender_was_slow();
        Observation {
            trial: self.resolved.trial.clone(),
            sizes: self.resolved.sizes,
            node,
            status: match report.failure {
                _ if cancel.is_cancelled() => Status::cancelled(),
                Some(error) => Status::Partial {
                    why: format!("the stream ended early: {error}"),
                },
                None => Status::Complete,
            },
            started_unix_ns: Field::measured(started_unix_ns),
            flows: vec![flow],
            cpu_load: Field::absent(NO_LOAD),
            busy_over_time: Vec::new(),
            series: Vec::new(),
            counters: BTreeMap::new(),
            tester: TesterObservation::of_trial(true, slow),
            warnings,
        }
    }

    /// Adds the result of the background.
    fn with_background(
        &self,
        mut observation: Observation,
        result: Option<Outcome>,
        left: &InterfaceEvents,
    ) -> Observation {
        let (Some(background), Some(result)) = (self.background, result) else {
            return observation;
        };
        let sent = result.legs.iter().find_map(|(_, leg)| match leg {
            Leg::UdpSent(sent) => Some(&**sent),
            _ => None,
        });
        let mut received = BTreeMap::new();
        if let Some((_, frames)) = sent.and_then(Sent::lost_and_arrived) {
            received.insert("background_received_frames".to_owned(), frames);
        }
        let failure = result.trouble.map(std::io::Error::other);
        let sent = match (sent, failure) {
            (None, None) => None,
            (sent, failure) => Some(flow::Sent {
                report: sent.map(send_report).unwrap_or_default(),
                failure,
                ..flow::Sent::default()
            }),
        };
        tell(
            &mut observation,
            background.frames_per_s,
            sent.as_ref(),
            &received,
            left,
        );
        observation
    }
}

/// The test that generates the background.
fn load(server: SocketAddr, background: &Background) -> ClientConfig {
    let mut config = ClientConfig::new(server, Protocol::Udp);
    let bytes = background.sizes.datagram.unwrap_or(0);
    let bits = background.frames_per_s * 8.0 * f64::from(bytes);
    config.length_bytes = Some(bytes);
    config.rate = Rate::BitsPerS(bits.round().max(1.0) as u64);
    config.amount = Amount::time(LONGEST);
    config
}

fn send(config: ClientConfig, over: &AtomicBool) -> Outcome {
    config.run(over, &|_| {})
}
