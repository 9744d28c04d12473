//! A machine that runs: QEMU with the plugin where it counts, its console, its address, and what was started on it.
//!
//! One that is measured is at a TAP, beside the host's kernel, and runs by the wall clock. One that counts is at a wire to
//! the tester's own stack, and goes on step by step.

use std::collections::{BTreeSet, HashMap};
use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wirelab_control::transport::Transport;
use wirelab_port::child::{Ending, Home, Life, Process};
use wirelab_port::netns::NetNs;
use wirelab_trial::images;

use super::MachineError;
use super::attribute::WayPoints;
use super::dhcp::Dhcp;
use super::file::{Address, MachineFile, Way, word};
use super::point::{Spot, symbol};
use super::ring::{Control, Rest, Ring, Spotted, flag};
use super::steps::Steps;
use super::symbols::Symbols;
use super::traffic::Peer;
use super::walk::Walker;
use crate::connection::{Addresses, Connect, Connection, TAP};
use crate::console::{Console, printable};
use crate::folder::Folder;
use crate::qemu::{Wire, comma, files};
use crate::transport::Watched;

/// The plugin, as this program's build made it.
pub const PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wirelab.so"));
/// Its file in the folder of a machine, and that of the memory it shares.
const PLUGIN_FILE: &str = "wirelab.so";
const RING_FILE: &str = "ring";
/// Time between looks at a machine.
const LOOK: Duration = Duration::from_millis(2);
/// Longest time of a console command.
const COMMAND: Duration = Duration::from_secs(20);
/// Largest image in bytes.
const MOST_IMAGE: u64 = 256 << 20;
/// Most bytes of a console that are searched.
const MOST_CONSOLE: u64 = 1 << 20;
/// Instructions after which a machine that comes up lets frames in: one that initialises its memory does not sleep.
const BOOT_IDLE: u32 = 1_000_000;

/// Most stops at points on the way to rest: a machine may send without end.
const MOST_STOPS: u32 = 256;

/// What to watch in a machine that counts.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// The ways whose points are recorded.
    pub ways: &'a [&'a Way],
    /// Whether loads, stores and branches are counted too.
    pub kinds: bool,
    /// Whether it goes on step by step; or else by the wall clock, for what is asked over its serial line.
    pub is_stepped: bool,
}

/// What is counted of a machine.
pub struct Counting {
    /// The records.
    pub ring: Ring,
    /// What they mean.
    pub walker: Walker,
    /// The points of the ways, in the order of the file.
    pub ways: Vec<WayPoints>,
}

/// A machine in QEMU; it ends with this value.
pub struct Machine {
    name: String,
    // Dropped in this order: the emulator before its wire, and that before the folder.
    process: Process,
    steps: Option<Steps>,
    dhcp: Option<Dhcp>,
    connection: Connection,
    folder: Folder,
    addresses: Addresses,
    console: Console,
    file: MachineFile,
}

/// The image of a machine, whole.
pub struct Image {
    /// Its file.
    pub path: PathBuf,
    bytes: Vec<u8>,
}

impl Image {
    /// The requested image, or that of the machine file: beside it, or among wirelab's own.
    ///
    /// # Errors
    /// [`MachineError::NoImage`], [`MachineError::BadImage`].
    pub fn find(file: &MachineFile, asked: Option<&Path>) -> Result<Image, MachineError> {
        let missing = |image: &Path, searched: String| MachineError::NoImage {
            machine: file.name.clone(),
            image: image.display().to_string(),
            searched,
        };
        let path = match (asked, &file.image) {
            (Some(path), _) if path.is_file() => path.to_owned(),
            (Some(path), _) => {
                let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                return Err(missing(path, whole.display().to_string()));
            }
            (None, None) => {
                return Err(MachineError::Other(format!(
                    "{}: it has no image; fix: name one with --image FILE, or write image = \"FILE\" into the machine file",
                    file.name
                )));
            }
            (None, Some(image)) => {
                let beside = file.folder.as_ref().map(|folder| folder.join(image));
                let own = images::installed(image);
                let searched = own.as_ref().err().cloned().unwrap_or_default();
                match beside.clone().filter(|path| path.is_file()) {
                    Some(path) => path,
                    None => own.map_err(|_| {
                        let all = beside.into_iter().chain(searched);
                        let all: Vec<_> = all.map(|path| path.display().to_string()).collect();
                        missing(Path::new(image), all.join(", "))
                    })?,
                }
            }
        };
        let bad = |why: String| MachineError::BadImage {
            path: path.clone(),
            why,
        };
        let path = path.canonicalize().map_err(|e| bad(e.to_string()))?;
        let opened = std::fs::File::open(&path).map_err(|e| bad(e.to_string()))?;
        let mut bytes = Vec::new();
        let read = opened.take(MOST_IMAGE + 1).read_to_end(&mut bytes);
        read.map_err(|e| bad(e.to_string()))?;
        match bytes.len() as u64 > MOST_IMAGE {
            true => Err(bad(format!("it has more than {MOST_IMAGE} bytes"))),
            false => Ok(Image { path, bytes }),
        }
    }
}

/// What to watch in an image, before a machine starts.
struct Plan {
    symbols: Symbols,
    watched: Vec<Spotted>,
    returns: Vec<(u64, u8)>,
    interrupts: BTreeSet<u64>,
    apart: BTreeSet<u64>,
    ways: Vec<WayPoints>,
}

fn plan(file: &MachineFile, ways_asked: &[&Way], image: &Image) -> Result<Plan, MachineError> {
    let bad = |why: String| MachineError::BadImage {
        path: image.path.clone(),
        why: format!("{why}; fix: take an ELF image with symbols, as the linker makes it"),
    };
    let mut symbols = Symbols::read(&image.bytes).map_err(bad)?;
    let named = |key: &str, names: &[String]| {
        let each = names.iter().map(|name| symbol(&symbols, name));
        let all = each.collect::<Result<BTreeSet<u64>, String>>();
        all.map_err(|why| MachineError::Other(format!("{}: {key}: {why}", file.name)))
    };
    let interrupts = match &file.interrupts {
        None => symbols.interrupts().iter().copied().collect(),
        Some(names) => named("interrupts", names)?,
    };
    let apart = named("apart", &file.apart)?;
    let kicks = named("kicks", &file.kicks)?;
    for entry in &interrupts {
        symbols.split_at(*entry);
    }
    let (mut watched, mut returns, mut ways) = (Vec::new(), Vec::new(), Vec::new());
    let unrecorded = |at, flags| Spotted {
        at,
        number: UNRECORDED,
        flags,
    };
    let mut next = 0u8;
    for (w, way) in ways_asked.iter().enumerate() {
        let mut numbers = Vec::new();
        for (n, point) in way.points.iter().enumerate() {
            // Steps are recorded from the first point of all to the last of all.
            let begins = w == 0 && n == 0;
            let ends = w + 1 == ways_asked.len() && n + 1 == way.points.len();
            let flags = [(begins, flag::BEGINS), (ends, flag::ENDS | flag::STANDS)];
            let flags = flags
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, flag)| flag)
                .sum();
            let number = next;
            next += 1;
            let spot = point
                .place
                .find(&symbols)
                .map_err(|why| MachineError::BadPoint {
                    machine: file.name.clone(),
                    point: point.name.clone(),
                    way: word(way.direction),
                    why,
                })?;
            match spot {
                Spot::At(at) => watched.push(Spotted { at, number, flags }),
                Spot::ReturnOf(function) => {
                    returns.push((function, number));
                    watched.extend(ends.then(|| unrecorded(function, flag::STANDS_BEHIND)));
                }
            }
            numbers.push(number);
        }
        ways.push(WayPoints {
            names: way.points.iter().map(|p| p.name.clone()).collect(),
            numbers,
            takes: way.points.iter().map(|p| p.take).collect(),
        });
    }
    // A way that begins behind a return is watched from the function's start on.
    let first = returns.iter().find(|(_, number)| *number == 0);
    watched.extend(first.map(|(function, _)| Spotted {
        number: HIDDEN,
        ..unrecorded(*function, flag::BEGINS)
    }));
    let kick = flag::STANDS_BEHIND | flag::KICKS;
    watched.extend(kicks.into_iter().map(|at| unrecorded(at, kick)));
    let sleeps = symbols.sleeps();
    watched.extend(sleeps.into_iter().map(|at| unrecorded(at, flag::SLEEPS)));
    Ok(Plan {
        symbols,
        watched,
        returns,
        interrupts,
        apart,
        ways,
    })
}

/// Marks a number that is of no point of the file.
const HIDDEN: u8 = 0x80;
/// Marks one that no record has.
const UNRECORDED: u8 = 0x81;

impl Machine {
    /// Starts a machine with an image, and waits until it is up; it counts where that is asked for.
    ///
    /// # Errors
    /// [`MachineError`]
    pub fn start(
        file: &MachineFile,
        image: &Image,
        watch: Option<Watch<'_>>,
    ) -> Result<(Machine, Option<Counting>), MachineError> {
        let plan = watch
            .map(|watch| plan(file, watch.ways, image))
            .transpose()?;
        let folder =
            Folder::make(&folder_name(&file.name)).map_err(MachineError::io("a folder"))?;
        let addresses = match file.address {
            Address::Fixed { node, tester } => Addresses {
                ip: node,
                tester_ip: tester,
                ..Addresses::next()
            },
            // The same in each run, whose headers some stacks sum up by branches.
            _ if watch.is_some() => Addresses::of(0),
            _ => Addresses::next(),
        };
        let connect = match watch {
            None => Connect::Tap,
            Some(_) => Connect::Unix,
        };
        let mut connection = Connection::make(connect, "machine", &addresses, &folder)
            .map_err(|error| from_board(&file.name, error))?;
        let keep = match &mut connection {
            Connection::Tap { fd, .. } => fd.take(),
            _ => None,
        };
        let netdev = match &keep {
            Some(fd) => Wire::Tap(fd.as_raw_fd()).netdev(),
            None => Wire::Unix(
                &folder.join(files::BOARD_WIRE),
                &folder.join(files::TESTER_WIRE),
            )
            .netdev(),
        };
        let counting = plan
            .map(|plan| counting(plan, &folder, watch.is_some_and(|watch| watch.kinds)))
            .transpose()?;
        let mut command = command(file, image, &folder, &addresses, &netdev)?;
        if let Some(watch) = watch {
            count_by(&mut command, file, &folder, watch)?;
        }
        let home = Home {
            namespace: connection
                .namespace()
                .map_err(|e| from_board(&file.name, e))?,
            sysfs: false,
            keep,
            ending: Ending::Killed,
        };
        let rest = Rest {
            sleeps: file.sleeps,
            idle: BOOT_IDLE,
        };
        let stepped = watch.is_some_and(|watch| watch.is_stepped);
        let control = counting.as_ref().filter(|_| stepped);
        let control = control.map(|counting| counting.ring.control());
        if let Some(control) = &control {
            control.ask_for_rest(rest);
        }
        let process = Process::start(command, home).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => {
                MachineError::NoQemu(crate::qemu::missing(&file.program))
            }
            _ => MachineError::Io {
                what: format!("to start {}", file.program),
                source,
            },
        })?;
        let console = Console::new(folder.join(files::LOG));
        let mut machine = Machine {
            name: file.name.clone(),
            process,
            steps: None,
            dhcp: None,
            connection,
            folder,
            addresses,
            console,
            file: file.clone(),
        };
        if let Some(counting) = &counting {
            machine.wait_for_plugin(&counting.ring)?;
        }
        if let Some(control) = control {
            machine.step_from_now(control, rest)?;
        }
        machine.bring_up()?;
        if let Some(steps) = &mut machine.steps {
            steps.rest_by(Rest {
                idle: file.idle,
                ..rest
            });
        }
        Ok((machine, counting))
    }

    fn step_from_now(&mut self, control: Control, rest: Rest) -> Result<(), MachineError> {
        let wire = match &mut self.connection {
            Connection::Unix { wire, .. } => wire.take(),
            _ => None,
        };
        let wire =
            wire.ok_or_else(|| MachineError::Other(format!("{}: it has no wire", self.name)))?;
        let peer = Peer::new(wire, &self.addresses, self.file.address == Address::Dhcp);
        let qmp = self.folder.join(files::QMP);
        let steps = Steps::begin(control, &qmp, peer, rest, self.life());
        // What is wrong is what QEMU says, where it has ended.
        self.check()?;
        self.steps = Some(steps.map_err(MachineError::io("QEMU's control socket"))?);
        Ok(())
    }

    /// The steps of a machine that counts, and whether it lives.
    ///
    /// # Errors
    /// [`MachineError::Ended`]; that it does not go on step by step.
    pub fn steps(&mut self) -> Result<&mut Steps, MachineError> {
        self.check()?;
        let name = &self.name;
        let none = || MachineError::Other(format!("{name}: it runs by the wall clock"));
        self.steps.as_mut().ok_or_else(none)
    }

    /// Lets a machine that counts go on until it stands again; one that runs goes on anyway.
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

    /// Lets a machine that counts go on until it rests, with what it sends meanwhile.
    ///
    /// # Errors
    /// As [`Machine::step`].
    pub fn come_to_rest(&mut self) -> Result<(), MachineError> {
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
            if begun.elapsed() > COMMAND {
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

    /// Types commands at the console, each after the prompt; places in braces are filled, `more` beside the usual ones.
    ///
    /// # Errors
    /// [`MachineError::Silent`] where no prompt follows, [`MachineError::Ended`].
    pub fn commands(
        &mut self,
        commands: &[&String],
        more: &[(&str, String)],
    ) -> Result<(), MachineError> {
        let prompt = self.file.console.prompt.clone();
        let Some(prompt) = prompt.filter(|_| !commands.is_empty()) else {
            return Ok(());
        };
        let socket = self.folder.join(files::UART);
        let mut stream = UnixStream::connect(socket).map_err(MachineError::io("the console"))?;
        stream
            .set_nonblocking(true)
            .map_err(MachineError::io("the console"))?;
        for command in commands {
            let line = self.filled(command, more) + &self.file.console.enter;
            let from = std::fs::metadata(self.console.log()).map_or(0, |m| m.len());
            self.type_in(&mut stream, line.as_bytes())?;
            let what = format!(
                "no prompt '{}' followed '{}'",
                printable(&prompt),
                printable(command)
            );
            self.drained(&mut stream, from, &prompt, &what)?;
        }
        Ok(())
    }

    /// Types bytes: to a machine that counts one in each step, so that each comes at the same instruction in each run.
    fn type_in(&mut self, stream: &mut UnixStream, bytes: &[u8]) -> Result<(), MachineError> {
        let most = if self.steps.is_some() { 1 } else { bytes.len() };
        let begun = Instant::now();
        let mut rest = bytes;
        while !rest.is_empty() {
            match stream.write(&rest[..most.min(rest.len())]) {
                Ok(count) => rest = &rest[count..],
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(source) => {
                    return Err(MachineError::Io {
                        what: "the console".to_owned(),
                        source,
                    });
                }
            }
            drain(stream);
            self.step()?;
            if begun.elapsed() > COMMAND {
                return Err(self.silent(
                    "the console took no more characters",
                    COMMAND,
                    "does its image read its UART?",
                ));
            }
        }
        Ok(())
    }

    /// Waits for a text in the log, and reads the socket empty meanwhile: QEMU waits for its reader.
    fn drained(
        &mut self,
        stream: &mut UnixStream,
        from: u64,
        text: &str,
        what: &str,
    ) -> Result<(), MachineError> {
        let begun = Instant::now();
        loop {
            drain(stream);
            if self.printed_since(from, text) {
                return Ok(());
            }
            self.step()?;
            if begun.elapsed() > COMMAND {
                return Err(self.silent(
                    what,
                    COMMAND,
                    "does the prompt of the machine file look like that of the console?",
                ));
            }
        }
    }

    fn wait_for(
        &mut self,
        from: u64,
        text: &str,
        patience: Duration,
        what: &str,
    ) -> Result<(), MachineError> {
        let begun = Instant::now();
        while !self.printed_since(from, text) {
            self.step()?;
            if begun.elapsed() > patience {
                let what = format!("{what} (its console did not print '{}')", printable(text));
                let fix = "does the machine file have the right console, and patience enough?";
                return Err(self.silent(&what, patience, fix));
            }
        }
        Ok(())
    }

    /// Whether the console printed a text since a place of the log.
    fn printed_since(&self, from: u64, text: &str) -> bool {
        use std::io::{Seek as _, SeekFrom};
        let Ok(mut log) = std::fs::File::open(self.console.log()) else {
            return false;
        };
        let length = log.metadata().map_or(0, |m| m.len());
        // Of a console that prints without end only the last part is looked at.
        let from = from.max(length.saturating_sub(MOST_CONSOLE));
        let mut bytes = Vec::new();
        let read = log
            .seek(SeekFrom::Start(from))
            .and_then(|_| log.take(MOST_CONSOLE).read_to_end(&mut bytes));
        read.is_ok()
            && bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes())
    }

    /// Its serial line, for machines that answer the control protocol there; it takes one client at a time.
    ///
    /// # Errors
    /// The error of connecting to it.
    pub fn serial(&self) -> std::io::Result<impl Transport + Send + use<>> {
        Watched::uart(&self.folder.join(files::UART), self.life().clone())
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
        namespace.ok_or_else(|| MachineError::Other(format!("{}: its network is gone", self.name)))
    }

    /// Whether its emulator runs.
    pub fn life(&self) -> &Life {
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

fn drain(stream: &mut UnixStream) {
    let mut bytes = [0; 4096];
    while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
}

fn from_board(machine: &str, error: crate::BoardError) -> MachineError {
    match error {
        crate::BoardError::Lab(error) => error.into(),
        crate::BoardError::Tap(error) => error.into(),
        other => MachineError::Other(format!("{machine}: {other}")),
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

fn counting(plan: Plan, folder: &Folder, with_kinds: bool) -> Result<Counting, MachineError> {
    let functions: Vec<_> = plan
        .symbols
        .functions()
        .iter()
        .map(|f| (f.start, f.end))
        .collect();
    let ring = Ring::make(
        &folder.join(RING_FILE),
        &plan.watched,
        &functions,
        with_kinds,
    );
    let points: HashMap<u8, u64> = plan.watched.iter().map(|w| (w.number, w.at)).collect();
    Ok(Counting {
        ring: ring.map_err(MachineError::io("the memory for the plugin"))?,
        walker: Walker::new(
            plan.symbols,
            plan.interrupts,
            &plan.apart,
            points,
            &plan.returns,
        ),
        ways: plan.ways,
    })
}

/// Adds the plugin, the socket by which steps are made, and the clock.
fn count_by(
    command: &mut Command,
    file: &MachineFile,
    folder: &Folder,
    watch: Watch<'_>,
) -> Result<(), MachineError> {
    let (plugin, ring) = (folder.join(PLUGIN_FILE), folder.join(RING_FILE));
    std::fs::write(&plugin, PLUGIN).map_err(MachineError::io("the plugin"))?;
    let plugin = format!("{},shm={}", comma(&plugin), comma(&ring));
    command.arg("-plugin").arg(plugin);
    let qmp = comma(&folder.join(files::QMP));
    let qmp = format!("unix:{qmp},server=on,wait=off");
    command.arg("-qmp").arg(qmp);
    if let Some(shift) = file.icount {
        // The same date and the same random numbers in each run.
        command.args(["-rtc", "base=2026-01-01,clock=vm", "-seed", "1"]);
        // With sleep=off a machine that sleeps is at its next timer at once, by virtual time: it must be kept from running away.
        let sleep = if watch.is_stepped { "off" } else { "on" };
        command.args(["-icount", &format!("shift={shift},align=off,sleep={sleep}")]);
    }
    Ok(())
}

/// The command line: what the file says, then console and network.
fn command(
    file: &MachineFile,
    image: &Image,
    folder: &Folder,
    addresses: &Addresses,
    netdev: &str,
) -> Result<Command, MachineError> {
    let errors = std::fs::File::create(folder.join(files::ERRORS));
    let errors = errors.map_err(MachineError::io("a log"))?;
    let has_image = file.arguments.iter().any(|word| word.contains("{image}"));
    let kernel = ["-kernel", "{image}"].map(str::to_owned);
    let image = image.path.to_string_lossy().into_owned();
    let fill = |word: &String| {
        word.replace("{image}", &image)
            .replace("{netdev}", netdev)
            .replace("{mac}", &addresses.mac.to_string())
    };
    let (uart, log) = (folder.join(files::UART), folder.join(files::LOG));
    let console = format!(
        "socket,id=console,path={},server=on,wait=off,logfile={}",
        comma(&uart),
        comma(&log)
    );
    let mut command = Command::new(&file.program);
    command
        .args(file.arguments.iter().map(fill))
        .args(kernel.iter().filter(|_| !has_image).map(fill))
        .args(file.network.iter().map(fill))
        .args(["-display", "none", "-monitor", "none", "-chardev", &console])
        .args(["-serial", "chardev:console"])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors);
    Ok(command)
}
