//! `hdl:N`: ports of hardware in simulation, as a node.
//!
//! Generator, MAC and checker of `rtl/` send and judge the frames; this crate writes and reads their registers over
//! AXI4-Lite, as a CPU would. Time is simulated: it does not depend on the host, and two runs give the same figures.

mod fault;
mod island;
mod joined;
mod observe;
mod options;
mod plan;
mod probe;
mod read;
mod record;
mod run;

use std::collections::BTreeMap;
use std::sync::PoisonError;

use wirelab_port::pcapng::{InterfaceSpec, SharedCapture, end_of_node, start_of_node};
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::{
    Cancel, Capabilities, Description, Direction, Layer, Node, NodeError, Observation, Progress,
    Trial,
};
use wirelab_wire::Framing;

use crate::bench::BenchError;
use crate::facts;
use crate::{CLOCK_PS, registers as reg};
use island::Island;
pub use joined::{JoinError, JoinRequest, Joined, JoinedPort, RunLimits};
pub use options::{HdlOptions, MOST_PORTS};
pub use record::JoinedRecord;

/// The ports, started and joined.
pub struct HdlNode {
    name: String,
    options: HdlOptions,
    islands: Vec<Island>,
    registers: u32,
    capture: Option<SharedCapture>,
}

impl HdlNode {
    /// Start the ports; `name` is the node's name in the request.
    ///
    /// # Errors
    /// [`BenchError`] if a port does not answer.
    pub fn start(name: &str, options: HdlOptions) -> Result<HdlNode, BenchError> {
        let cables = options.cables().into_iter();
        let islands: Result<Vec<Island>, BenchError> =
            cables.map(|(one, other)| Island::new(one, other)).collect();
        let mut islands = islands?;
        let id = match islands.first_mut() {
            Some(island) => island.bench().read(0, reg::ID)?,
            None => 0,
        };
        Ok(HdlNode {
            name: name.to_owned(),
            options,
            islands,
            registers: reg::ID_VERSION.from(id),
            capture: None,
        })
    }

    /// Write every intact frame that arrives at a port, with its FCS, into `capture` from now on. Its time is the
    /// simulated time at which its preamble began, counted from the reset of the ports. The interfaces are
    /// [`HdlNode::capture_interfaces`]; the caller finishes the capture.
    pub fn capture_into(&mut self, capture: SharedCapture) {
        self.capture = Some(capture);
    }

    /// The interfaces in a capture of this node: one for each port.
    #[must_use]
    pub fn capture_interfaces(&self) -> Vec<InterfaceSpec> {
        let of = |port| InterfaceSpec {
            link_rate_bits_per_s: Some(plan::LINK_BITS_PER_S),
            // The FCS that the hardware computed is also judged.
            fcs_bytes: 4,
            ..InterfaceSpec::named(format!("port {port}"))
        };
        (0..self.options.ports).map(of).collect()
    }

    /// Runs `work` with the island of a port and its index there.
    fn at<T>(
        &mut self,
        port: usize,
        work: impl FnOnce(&mut Island, usize) -> Result<T, BenchError>,
    ) -> Result<T, BenchError> {
        let found = self
            .islands
            .iter_mut()
            .find_map(|island| island.index_of(port).map(|index| (island, index)));
        match found {
            Some((island, index)) => work(island, index),
            None => Err(BenchError::NoPort {
                port,
                ports: self.options.ports,
            }),
        }
    }

    /// Writes the frames that have arrived into the capture, if there is one, in the order of time.
    fn keep(&mut self) -> Result<(), NodeError> {
        let Some(capture) = &self.capture else {
            return Ok(());
        };
        let mut arrived: Vec<_> = self
            .islands
            .iter_mut()
            .flat_map(|island| island.arrived.drain(..))
            .collect();
        arrived.sort_by_key(|(port, frame)| (frame.start_clock, *port));
        let mut writer = capture.lock().unwrap_or_else(PoisonError::into_inner);
        for (port, frame) in &arrived {
            if frame.intact().is_some() {
                let time_ns = frame.start_clock * CLOCK_PS / 1000;
                writer
                    .write_frame(*port as u32, time_ns, &frame.bytes)
                    .map_err(|error| NodeError::Failed(error.to_string()))?;
            }
        }
        Ok(())
    }

    fn setup(&self) -> BTreeMap<String, String> {
        let cables = self.options.cables();
        let cables = cables.iter().map(|(one, other)| format!("{one}–{other}"));
        [
            ("clock", "125 MHz, a byte of line a clock".to_owned()),
            ("interface", "GMII, 1 Gbit/s".to_owned()),
            ("cables", cables.collect::<Vec<_>>().join(", ")),
            (
                "core",
                "none: generator and checker in VHDL (rtl/), registers over AXI4-Lite".to_owned(),
            ),
            ("registers", format!("version {}", self.registers)),
            (
                "simulator",
                "GHDL's translation, compiled by Verilator; simulated time".to_owned(),
            ),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
    }
}

impl std::fmt::Debug for HdlNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("HdlNode");
        shown
            .field("name", &self.name)
            .field("options", &self.options);
        shown.finish_non_exhaustive()
    }
}

impl Node for HdlNode {
    fn describe(&self) -> Description {
        let framing = Framing::default();
        Description {
            name: self.name.clone(),
            kind: facts::KIND.to_owned(),
            capabilities: Capabilities {
                layers: vec![Layer::Ethernet, Layer::UdpIpv4],
                directions: vec![Direction::Transmit, Direction::Receive, Direction::Both],
                buffers: Vec::new(),
                paths: Vec::new(),
                ports: self.options.ports as u32,
                min_frame_bytes: framing.min_test_frame(),
                max_frame_bytes: framing.max_test_frame(),
                link_bits_per_s: Some(plan::LINK_BITS_PER_S),
            },
            setup: self.setup(),
            facts: Some(facts::facts()),
        }
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let plan = plan::plan(trial, &self.options)?;
        let started_unix_ns = unix_ns();
        let result = run::run(self, &plan, progress, cancel)?;
        Ok(observe::observation(
            &plan,
            self.describe(),
            result,
            started_unix_ns,
        ))
    }

    fn start_capture(&mut self, file: &std::path::Path) -> Result<(), NodeError> {
        self.capture = Some(start_of_node(file, &self.capture_interfaces())?);
        Ok(())
    }

    fn end_capture(&mut self) -> Result<Option<u64>, NodeError> {
        end_of_node(self.capture.take())
    }
}
