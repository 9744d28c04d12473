//! A running machine: QEMU (with the plugin if it counts), its console, its address, and the programs on it.
//!
//! A measured machine is at a TAP, beside the host's kernel, and runs by the wall clock. A counting one is at a wire to
//! the tester's own stack, and runs step by step.

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wirelab_control::transport::Transport;
use wirelab_port::child::{Ending, Home, Liveness, Process};
use wirelab_port::netns::NetNs;

use super::MachineError;
use super::dhcp::Dhcp;
use super::file::{Address, MachineFile};
use super::image::Image;
use super::plan::{CountOptions, Counting, RING_FILE, counting, plan};
use super::ring::{Control, IdleRule, Ring};
use super::steps::Steps;
use super::traffic::Peer;
use crate::connection::{Addresses, Connect, Connection, TAP};
use crate::console::{Console, printable};
use crate::folder::Folder;
use crate::qemu::{Clock, QemuCommand, Wire, comma, files};
use crate::transport::Watched;

/// The plugin, from the build of this program.
pub const PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wirelab.so"));
/// Its file in the folder of a machine, and that of the memory it shares.
const PLUGIN_FILE: &str = "wirelab.so";
/// Time between checks of a machine.
const LOOK: Duration = Duration::from_millis(2);
/// Longest time until the plugin is loaded.
const LOADED: Duration = Duration::from_secs(20);
/// Instructions after which a starting machine accepts frames: one that initialises its memory does not sleep.
const BOOT_IDLE: u32 = 1_000_000;
/// Most stops at points before it rests: a machine may send forever.
const MOST_STOPS: u32 = 256;

/// A machine in QEMU; it ends with this value.
pub struct Machine {
    name: String,
    // Dropped in this order: the emulator before its wire, and that before the folder.
    process: Process,
    pub(super) steps: Option<Steps>,
    dhcp: Option<Dhcp>,
    connection: Connection,
    pub(super) folder: Folder,
    addresses: Addresses,
    pub(super) console: Console,
    pub(super) file: MachineFile,
}

impl Machine {
    /// Starts a machine with an image, and waits until it is up; it counts if requested.
    ///
    /// # Errors
    /// [`MachineError`]
    pub fn start(
        file: &MachineFile,
        image: &Image,
        watch: Option<CountOptions<'_>>,
    ) -> Result<(Machine, Option<Counting>), MachineError> {
        let plan = watch.map(|watch| plan(file, watch.frame_paths, image));
        let plan = plan.transpose()?;
        let folder =
            Folder::make(&folder_name(&file.name)).map_err(MachineError::io("a folder"))?;
        let counting = plan.map(|plan| {
            let kinds = watch.is_some_and(|watch| watch.kinds);
            counting(plan, &folder, kinds)
        });
        let counting = counting.transpose()?;
        let steps = counting
            .as_ref()
            .filter(|_| watch.is_some_and(|watch| watch.is_stepped));
        let control = steps.map(|counting| counting.ring.control());
        let rest = IdleRule {
            sleeps: file.sleeps,
            idle: BOOT_IDLE,
        };
        if let Some(control) = &control {
            control.ask_for_rest(rest);
        }
        let clock = match (&counting, &control) {
            (None, _) => Clock::Wall,
            (_, None) => Clock::Instructions,
            _ => Clock::InstructionsAlone,
        };
        let mut machine = Machine::spawn(file, image, folder, clock)?;
        if let Some(counting) = &counting {
            machine.wait_for_plugin(&counting.ring)?;
        }
        if let Some(control) = control {
            machine.step_from_now(control, rest)?;
        }
        machine.bring_up()?;
        if let Some(steps) = &mut machine.steps {
            steps.rest_by(IdleRule {
                idle: file.idle,
                ..rest
            });
        }
        Ok((machine, counting))
    }

    /// Starts QEMU: by the wall clock at a TAP, or with the plugin at a wire of Unix sockets.
    fn spawn(
        file: &MachineFile,
        image: &Image,
        folder: Folder,
        clock: Clock,
    ) -> Result<Machine, MachineError> {
        let board = |error| from_board(&file.name, error);
        let counts = clock != Clock::Wall;
        let addresses = addresses(file, counts);
        let connect = if counts { Connect::Unix } else { Connect::Tap };
        let mut connection =
            Connection::make(connect, "machine", &addresses, &folder).map_err(board)?;
        let keep = match &mut connection {
            Connection::Tap { fd, .. } => fd.take(),
            _ => None,
        };
        let ends = [files::BOARD_WIRE, files::TESTER_WIRE].map(|name| folder.join(name));
        let line = QemuCommand {
            file,
            program: None,
            image: &image.path,
            folder: folder.path(),
            mac: &addresses.mac.to_string(),
            wire: match &keep {
                Some(fd) => Wire::Tap(fd.as_raw_fd()),
                None => Wire::Unix(&ends[0], &ends[1]),
            },
            clock,
        };
        let mut command = line.command().map_err(MachineError::io("a log"))?;
        if counts {
            let (plugin, ring) = (folder.join(PLUGIN_FILE), folder.join(RING_FILE));
            std::fs::write(&plugin, PLUGIN).map_err(MachineError::io("the plugin"))?;
            let plugin = format!("{},shm={}", comma(&plugin), comma(&ring));
            command.arg("-plugin").arg(plugin);
        }
        let home = Home {
            namespace: connection.namespace().map_err(board)?,
            sysfs: false,
            keep,
            ending: Ending::Killed,
        };
        let process = Process::start(command, home).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => {
                MachineError::NoQemu(crate::qemu::missing(&file.program))
            }
            _ => MachineError::Io {
                what: format!("to start {}", file.program),
                source,
            },
        })?;
        Ok(Machine {
            name: file.name.clone(),
            process,
            steps: None,
            dhcp: None,
            connection,
            console: Console::new(folder.join(files::LOG)),
            folder,
            addresses,
            file: file.clone(),
        })
    }

    fn step_from_now(&mut self, control: Control, rest: IdleRule) -> Result<(), MachineError> {
        let wire = match &mut self.connection {
            Connection::Unix { wire, .. } => wire.take(),
            _ => None,
        };
        let wire = wire.ok_or_else(|| {
            MachineError::Other(format!(
                "{}: it has no wire to count frames on; fix: start it again",
                self.name
            ))
        })?;
        let peer = Peer::new(wire, &self.addresses, self.file.address == Address::Dhcp);
        let qmp = self.folder.join(files::QMP);
        let steps = Steps::begin(control, &qmp, peer, rest, self.life());
        // If QEMU has ended, its own message is the error.
        self.check()?;
        self.steps = Some(steps.map_err(MachineError::io("QEMU's control socket"))?);
        Ok(())
    }

    /// The control of a machine that counts, after a check that its emulator runs.
    ///
    /// # Errors
    /// [`MachineError::Ended`]; [`MachineError::Other`] if it runs by the wall clock.
    pub fn steps(&mut self) -> Result<&mut Steps, MachineError> {
        self.check()?;
        let name = &self.name;
        let none = || {
            MachineError::Other(format!(
                "{name}: it runs by the wall clock; fix: start it again to count"
            ))
        };
        self.steps.as_mut().ok_or_else(none)
    }

    /// Resumes a counting machine until it stops again; a running one is not affected.
    ///
    /// # Errors
    /// [`MachineError::Ended`], or that QEMU does not answer.
    pub fn step(&mut self) -> Result<(), MachineError> {
        let life = self.life().clone();
        match &mut self.steps {
            None => std::thread::sleep(LOOK),
            Some(steps) => {
                let stepped = steps.step(&life);
                self.check()?;
                stepped.map_err(MachineError::io("QEMU's control socket"))?;
            }
        }
        self.check()
    }

    /// Resumes a counting machine until it rests, and takes the frames that it sends meanwhile.
    ///
    /// # Errors
    /// As [`Machine::step`].
    pub fn settle(&mut self) -> Result<(), MachineError> {
        self.steps()?.rest_anew();
        self.step()?;
        let mut stops = 0;
        while !self.steps()?.is_at_rest() && stops < MOST_STOPS {
            self.step()?;
            stops += 1;
        }
        Ok(())
    }

    fn wait_for_plugin(&self, ring: &Ring) -> Result<(), MachineError> {
        let begun = Instant::now();
        while ring.interface().is_none() {
            if self.life().ended().is_some() {
                let said = self.qemu_says();
                return Err(match said.to_lowercase().contains("plugin") {
                    true => MachineError::NoPlugins {
                        program: self.file.program.clone(),
                        said,
                    },
                    false => self.ended(),
                });
            }
            if begun.elapsed() > LOADED {
                return Err(MachineError::NoPlugins {
                    program: self.file.program.clone(),
                    said: "it did not load one".to_owned(),
                });
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn bring_up(&mut self) -> Result<(), MachineError> {
        if self.steps.is_none() && self.file.address == Address::Dhcp {
            let namespace = self.namespace()?;
            let dhcp = Dhcp::serve(&namespace, TAP, self.addresses.tester_ip, self.addresses.ip);
            self.dhcp = Some(dhcp.map_err(MachineError::io("the DHCP server"))?);
        }
        let patience = Duration::from_nanos(self.file.patience_ps / 1000);
        let console = self.file.console.clone();
        if let Some(awaited) = console.ready.as_ref().or(console.prompt.as_ref()) {
            self.wait_for(0, awaited, patience, "it did not come up")?;
        }
        let commands: Vec<&String> = console.commands.iter().collect();
        self.commands(&commands, &[])?;
        let begun = Instant::now();
        while !self.has_address() {
            self.step()?;
            if begun.elapsed() > patience {
                let fix = "does its image ask for an address by DHCP, and does its driver receive?";
                return Err(self.silent("it took no address by DHCP", patience, fix));
            }
        }
        Ok(())
    }

    fn has_address(&mut self) -> bool {
        let by_peer = self
            .steps
            .as_mut()
            .is_none_or(|s| s.peer().has_given_address());
        by_peer && self.dhcp.as_ref().is_none_or(Dhcp::has_given)
    }

    /// Its console as a Unix socket, which takes one client at a time.
    pub fn console_socket(&self) -> PathBuf {
        self.folder.join(files::UART)
    }

    /// Its serial line, for machines that answer the control protocol there; it takes one client at a time.
    ///
    /// # Errors
    /// The error of connecting to it.
    pub fn serial(&self) -> std::io::Result<impl Transport + Send + use<>> {
        Watched::uart(&self.console_socket(), self.life().clone())
    }

    /// A text with its places filled.
    pub fn filled(&self, text: &str, more: &[(&str, String)]) -> String {
        let own = [
            ("ip", self.addresses.ip.to_string()),
            ("mask", "255.255.255.0".to_owned()),
            ("tester", self.addresses.tester_ip.to_string()),
            ("mac", self.addresses.mac.to_string()),
        ];
        let mut text = text.to_owned();
        for (name, value) in own.iter().chain(more) {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }

    /// Its address.
    pub const fn ip(&self) -> Ipv4Addr {
        self.addresses.ip
    }

    /// The tester's address.
    pub const fn tester_ip(&self) -> Ipv4Addr {
        self.addresses.tester_ip
    }

    /// The namespace that leads to it.
    ///
    /// # Errors
    /// [`MachineError`] if it is gone.
    pub fn namespace(&self) -> Result<NetNs, MachineError> {
        let namespace = self.connection.namespace();
        let namespace = namespace.map_err(|e| from_board(&self.name, e))?;
        namespace.ok_or_else(|| {
            MachineError::Other(format!(
                "{}: its network is gone; fix: start it again",
                self.name
            ))
        })
    }

    /// Whether its emulator runs.
    pub fn life(&self) -> &Liveness {
        self.process.life()
    }

    /// Whether it is alive.
    ///
    /// # Errors
    /// [`MachineError::Ended`]
    pub fn check(&self) -> Result<(), MachineError> {
        match self.life().ended() {
            None => Ok(()),
            Some(_) => Err(self.ended()),
        }
    }

    fn ended(&self) -> MachineError {
        let said = self.qemu_says();
        let said = match said.is_empty() {
            true => String::new(),
            false => format!("\nQEMU says: {said}"),
        };
        MachineError::Ended {
            machine: self.name.clone(),
            how: self.life().ended().unwrap_or_default(),
            console: format!("{}{said}", self.console.tail()),
        }
    }

    /// The error that it did not do something in time.
    pub fn silent(&self, what: &str, patience: Duration, fix: &str) -> MachineError {
        MachineError::Silent {
            machine: self.name.clone(),
            what: what.to_owned(),
            seconds: patience.as_secs_f64(),
            console: self.console.tail(),
            fix: fix.to_owned(),
        }
    }

    fn qemu_says(&self) -> String {
        let said = std::fs::read(self.folder.join(files::ERRORS)).unwrap_or_default();
        let said = String::from_utf8_lossy(&said[..said.len().min(2_000)]).into_owned();
        let lines = said.lines().filter(|line| !line.contains("has no peer"));
        lines.map(printable).collect::<Vec<_>>().join("; ")
    }
}

fn from_board(machine: &str, error: crate::BoardError) -> MachineError {
    match error {
        crate::BoardError::Lab(error) => error.into(),
        crate::BoardError::Tap(error) => error.into(),
        why => MachineError::Other(format!("{machine}: {why}")),
    }
}

/// The addresses of both ends.
fn addresses(file: &MachineFile, counts: bool) -> Addresses {
    let usual = match counts {
        // The same in each run, because some stacks add up headers with branches. No other machine is on its wire.
        true => Addresses::of(0),
        false => Addresses::next(),
    };
    match file.address {
        Address::Fixed { node, tester } => Addresses {
            ip: node,
            tester_ip: tester,
            ..usual
        },
        _ => usual,
    }
}

/// A machine's name as a part of the name of a folder.
fn folder_name(name: &str) -> String {
    let stem = Path::new(name).file_stem().unwrap_or_default();
    let word = stem.to_string_lossy();
    let kept = word
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-');
    format!("qemu-{}", kept.take(40).collect::<String>())
}
