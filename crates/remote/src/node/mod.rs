//! A node that speaks the control protocol: `node:HOST[:PORT]`.

mod control;
mod ethernet;
mod flows;
mod observe;
mod place;
mod plan;
mod tcp;
mod udp;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use wirelab_control::PORT;
use wirelab_control::client::ClientError;
use wirelab_control::message::{Identity, Started};
use wirelab_control::refused::of_start;
use wirelab_control::told::Told;
use wirelab_cores::Cores;
use wirelab_trial::{
    Cancel, Capabilities, Description, Layer, Node, NodeError, Observation, Progress, Trial,
};
use wirelab_wire::LineRate;

use crate::clock::unix_ns;
use crate::host::{Addresses, HostPort, no_way};
use crate::route::Route;
use control::Control;
use flows::Sides;
use place::Place;
use plan::Plan;

/// Set-up keys that are kept at most: each observation holds them.
const MOST_KEYS: usize = 256;
/// How often a busy node is asked whether it is free.
const BUSY_LOOK: Duration = Duration::from_millis(500);
/// How long a node may take to end a trial that it gives up.
const LONGEST_END: Duration = Duration::from_secs(2);
/// How long a node's trial without a tester is waited for at most, whatever the node says.
const LONGEST_IDLE: Duration = Duration::from_secs(15);

/// A node somewhere, in an open session.
pub struct ControlNode {
    name: String,
    address: SocketAddr,
    route: Route,
    control: Control,
    identity: Identity,
    setup: BTreeMap<String, String>,
    place: Place,
    /// The last idle baseline that the node told. Trials that follow one another leave it no time for another.
    idle_ratio: Option<f64>,
}

impl ControlNode {
    /// The node `name` on the command line, at `HOST[:PORT]`: says hello and asks for its set-up.
    ///
    /// # Errors
    /// [`NodeError::BadTrial`] where that is no host, [`NodeError::Failed`] where nothing answers there.
    pub fn open(name: &str, host: &str) -> Result<ControlNode, NodeError> {
        let written = HostPort::parse(host, PORT).map_err(NodeError::BadTrial)?;
        let address = Addresses::resolve(&written)?.first();
        let route = Route::to(address)?;
        let mut control = control::open(address)?;
        let identity = control.identity().clone();
        let keys = control.setup().map_err(|e| of_start(&e))?;
        let setup: BTreeMap<String, String> = keys.into_iter().take(MOST_KEYS).collect();
        let key = |name: &str| setup.get(name).map(String::as_str);
        let interface = route.interface.as_ref().map(|i| i.port.interface.as_str());
        let place = Place::beside(key("host"), key("cpus"), interface);
        Ok(ControlNode {
            name: name.to_owned(),
            address,
            route,
            control,
            identity,
            setup,
            place,
            idle_ratio: None,
        })
    }

    /// The cores that the tester keeps to beside a node on the same machine; elsewhere it may use all.
    pub const fn tester_cores(&self) -> Option<&Cores> {
        self.place.cores()
    }

    /// The slower of the two ends' links, as far as they have one.
    fn link(&self) -> Option<LineRate> {
        let theirs = self.setup.get("link_bits_per_s");
        let theirs = theirs.and_then(|text| text.parse().ok());
        let ours = self.route.link().map(LineRate::bits_per_s);
        let slowest = match (ours, theirs) {
            (Some(a), Some(b)) => Some(std::cmp::min::<u64>(a, b)),
            (a, b) => a.or(b),
        };
        slowest.and_then(LineRate::new)
    }

    /// Start a trial; once more in a new session where the node has forgotten this one. A node that is busy is asked
    /// again until it would have given up the trial of a tester that was killed.
    fn start(&mut self, plan: &Plan, cancel: &Cancel) -> Result<Started, NodeError> {
        let idle = Duration::from_millis(u64::from(self.identity.idle_ms));
        let (begun, patience) = (Instant::now(), idle.min(LONGEST_IDLE) + LONGEST_END);
        loop {
            let answer = match self.control.start(plan.start.clone()) {
                Err(ClientError::SessionLost) => {
                    self.control = control::open(self.address)?;
                    self.identity = self.control.identity().clone();
                    self.control.start(plan.start.clone())
                }
                other => other,
            };
            match answer {
                Err(error) if control::is_busy(&error) && begun.elapsed() < patience => {
                    if cancel.is_cancelled() {
                        return Err(of_start(&error));
                    }
                    std::thread::sleep(BUSY_LOOK);
                }
                answer => return answer.map_err(|error| of_start(&error)),
            }
        }
    }

    /// One trial, on the thread that is in the tester's place.
    fn run_here(
        &mut self,
        mut plan: Plan,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let unpinned = self.place.take();
        let started_unix_ns = unix_ns();
        let layer = plan.trial.framing.layer;
        let node = self.address;
        let (started, ran);
        match layer {
            Layer::Ethernet => {
                let interface = self.route.interface.as_ref();
                let mac = self.setup.get("mac").map(String::as_str);
                let mut asked = plan.start.clone();
                let ready = ethernet::prepare(&plan, interface, mac, &mut asked)?;
                plan.start = asked;
                started = self.start(&plan, cancel)?;
                let sides = ethernet::sides(&plan, &started, ready);
                ran = self.flows(&plan, &started, sides, progress, cancel)?;
            }
            Layer::UdpIpv4 | Layer::UdpIpv6 => {
                let socket = udp::prepare(node, &mut plan.start)?;
                started = self.start(&plan, cancel)?;
                let sides = udp::sides(&plan, node, &started, &socket);
                ran = self.flows(&plan, &started, sides, progress, cancel)?;
            }
            Layer::TcpIpv4 | Layer::TcpIpv6 => {
                started = self.start(&plan, cancel)?;
                let sides = tcp::sides(&plan, node, &started);
                ran = self.flows(&plan, &started, sides, progress, cancel)?;
            }
        }
        let told = match ran.answers {
            true => {
                let captures = plan.start.captures.is_some();
                Told::ask(&mut self.control, started.trial, captures)
            }
            false => Told::nothing("the node did not answer any more"),
        };
        let earlier_idle_ratio = self.idle_ratio;
        let told_idle = told.load.value().and_then(|l| l.idle_baseline_ratio);
        self.idle_ratio = told_idle.or(self.idle_ratio);
        let datagram = plan.sizes.datagram.unwrap_or(0);
        let warnings = crate::path::fragmented(datagram, layer, self.route.mtu());
        Ok(observe::observation(observe::Parts {
            plan: &plan,
            node: self.describe(),
            ran,
            told,
            started_unix_ns,
            earlier_idle_ratio,
            shared: self.place.shared.clone().or(unpinned),
            warnings: warnings.into_iter().collect(),
        }))
    }

    fn flows(
        &mut self,
        plan: &Plan,
        started: &Started,
        sides: std::io::Result<Sides<'_>>,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<flows::Ran, NodeError> {
        let number = started.trial;
        match sides {
            Ok(sides) => Ok(flows::run(
                &mut self.control,
                number,
                plan,
                sides,
                progress,
                cancel,
            )),
            Err(error) => {
                // Nobody shall go on with a trial that has one side.
                let _ = self.control.stop(number);
                let port = started.node_port.unwrap_or_default();
                let to = SocketAddr::new(self.address.ip(), port);
                Err(no_way(to, &error))
            }
        }
    }
}

impl Node for ControlNode {
    fn describe(&self) -> Description {
        let node = &self.identity;
        Description {
            name: self.name.clone(),
            kind: "node".to_owned(),
            capabilities: Capabilities {
                layers: node.layers.clone(),
                directions: node.directions.clone(),
                buffers: node.buffers.clone(),
                ports: 1,
                min_frame_bytes: node.min_frame_bytes,
                max_frame_bytes: node.max_frame_bytes,
                link_bits_per_s: self.link().map(LineRate::bits_per_s),
            },
            setup: self.setup.clone(),
        }
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let plan = plan::plan(trial, &self.identity, self.link())?;
        std::thread::scope(|scope| {
            let ran = scope.spawn(|| self.run_here(plan, progress, cancel)).join();
            ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}
