//! A machine that is measured over its network, by the control protocol or iperf.

use std::path::Path;

use wirelab_control::transport::{Transport, UdpTransport};
use wirelab_remote::{ControlNode, IperfNode};
use wirelab_trial::node::with_trouble;
use wirelab_trial::open::{ConsoleOptions, PortsOptions};
use wirelab_trial::{
    Cancel, CaptureLimits, Description, Node, NodeError, Observation, OpenError, Progress,
    TesterCeiling, Trial,
};

use super::file::{MachineFile, Measured};
use super::image::Image;
use super::running::Machine;
use crate::facts::hosted;
use crate::node::within;
use crate::transport::Watched;

/// A machine in QEMU with what measures it; it ends with this value.
pub struct MeasuredNode {
    // Dropped first: its session ends before the machine does.
    node: Box<dyn Node + Send>,
    machine: Machine,
    name: String,
    known: Vec<(String, String)>,
}

impl MeasuredNode {
    /// Starts the machine of a file, which is `name` on the command line, and opens what measures it.
    ///
    /// # Errors
    /// [`OpenError`]: it does not start, or nothing answers.
    pub fn start(
        name: &str,
        file: &MachineFile,
        image: Option<&Path>,
        ports: PortsOptions,
    ) -> Result<MeasuredNode, OpenError> {
        let Some(measure) = &file.measure else {
            let why = format!(
                "{}: it does not name what answers; fix: add [measure] with by = \"iperf\", or count it: wirelab stages {name}",
                file.name
            );
            return Err(OpenError::Usage(why));
        };
        let image = Image::find(file, image)?;
        let (mut machine, _) = Machine::start(file, &image, None)?;
        machine.commands(&measure.start.iter().collect::<Vec<_>>(), &[])?;
        let console = measure.profile.as_ref().map(|profile| ConsoleOptions {
            console: format!("unix:{}", machine.console_socket().display()),
            profile: profile.clone(),
        });
        let (ip, life) = (machine.ip(), machine.life().clone());
        let namespace = machine.namespace()?;
        let open = || -> Result<Box<dyn Node + Send>, OpenError> {
            Ok(match measure.by {
                Measured::Control => {
                    let to = (ip, wirelab_control::PORT).into();
                    let connect = move || {
                        let transport = Watched::new(UdpTransport::connect(to)?, life.clone());
                        Ok(Box::new(transport) as Box<dyn Transport + Send>)
                    };
                    let node = ControlNode::board(name, hosted(), ip.into(), Box::new(connect))?;
                    Box::new(node.with_ports(ports))
                }
                Measured::Iperf => at(IperfNode::open(name, &ip.to_string())?, console)?,
                Measured::Iperf3 => at(IperfNode::open_three(name, &ip.to_string())?, console)?,
            })
        };
        // A refusal of the system is also an error of opening.
        let opened = within(Some(&namespace), || Ok(open()))?;
        let node = opened.map_err(|error| match machine.check() {
            Err(dead) => OpenError::from(dead),
            Ok(()) => error,
        })?;
        let image = image.path.file_name().unwrap_or_default();
        let emulator = crate::qemu::version_of(&file.program);
        let known = [
            ("emulator", emulator.unwrap_or_else(|| "QEMU".to_owned())),
            ("image", image.to_string_lossy().into_owned()),
            ("machine", file.name.clone()),
        ];
        Ok(MeasuredNode {
            node,
            machine,
            name: name.to_owned(),
            known: known.map(|(key, value)| (key.to_owned(), value)).into(),
        })
    }
}

/// An iperf that a console starts and reads, where there is one: many servers of embedded systems never answer.
fn at(node: IperfNode, console: Option<ConsoleOptions>) -> Result<Box<dyn Node + Send>, OpenError> {
    Ok(match console {
        Some(console) => Box::new(node.without_probe().with_console(&console)?),
        None => Box::new(node),
    })
}

impl Node for MeasuredNode {
    fn describe(&self) -> Description {
        let mut description = self.node.describe();
        description.setup.extend(self.known.iter().cloned());
        // Its name contains a file, which is not a target of a client.
        if let Some(facts) = &mut description.facts {
            facts.answers_iperf = false;
        }
        description
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        self.machine.check()?;
        let namespace = self.machine.namespace()?;
        let node = &mut self.node;
        let observed = within(Some(&namespace), || node.run(trial, progress, cancel));
        let dead = self.machine.check().err().map(|dead| dead.to_string());
        let mut observation = with_trouble(observed, dead)?;
        observation.node.setup.extend(self.known.iter().cloned());
        observation.tell_emulated(
            "the machine is emulated, so rates and times are those of the emulation on this host, not of the hardware",
            format!("use counts of instructions, which do not depend on the host: wirelab stages {}", self.name),
        );
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
}
