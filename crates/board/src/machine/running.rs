//! A machine that runs: QEMU with the plugin where it counts, its console, its address, and what was started on it.

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
use super::ring::{Ring, Spotted};
use super::symbols::Symbols;
use super::walk::Walker;
use crate::connection::{Addresses, Connect, Connection, TAP};
use crate::console::{Console, printable};
use crate::folder::Folder;
use crate::qemu::{comma, files};
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
    for entry in &interrupts {
        symbols.split_at(*entry);
    }
    let (mut watched, mut returns, mut ways) = (Vec::new(), Vec::new(), Vec::new());
    for (w, way) in ways_asked.iter().enumerate() {
        let mut numbers = Vec::new();
        for (n, point) in way.points.iter().enumerate() {
            // Steps are recorded from the first point of all to the last of all.
            let begins = w == 0 && n == 0;
            let ends = w + 1 == ways_asked.len() && n + 1 == way.points.len();
            let number = (watched.len() + returns.len()) as u8;
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
                Spot::At(at) => watched.push(Spotted {
                    at,
                    number,
                    begins,
                    ends,
                }),
                Spot::ReturnOf(function) => returns.push((function, number)),
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
        at: *function,
        number: HIDDEN,
        begins: true,
        ends: false,
    }));
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

impl Machine {
    /// Starts a machine with an image, and waits until it is up; it counts where that is asked for.
    ///
    /// # Errors
    /// [`MachineError`]
    pub fn start(
        file: &MachineFile,
        image: &Image,
        counts: Option<(&[&Way], bool)>,
    ) -> Result<(Machine, Option<Counting>), MachineError> {
        let plan = counts
            .map(|(ways, _)| plan(file, ways, image))
            .transpose()?;
        let folder =
            Folder::make(&folder_name(&file.name)).map_err(MachineError::io("a folder"))?;
        let addresses = match file.address {
            Address::Fixed { node, tester } => Addresses {
                ip: node,
                tester_ip: tester,
                ..Addresses::next()
            },
            _ => Addresses::next(),
        };
        let mut connection = Connection::make(Connect::Tap, "machine", &addresses, &folder)
            .map_err(|error| from_board(&file.name, error))?;
        let keep = match &mut connection {
            Connection::Tap { fd, .. } => fd.take(),
            _ => None,
        };
        let fd = keep.as_ref().map_or(-1, |fd| fd.as_raw_fd());
        let counting = plan
            .map(|plan| counting(plan, &folder, counts.is_some_and(|(_, kinds)| kinds)))
            .transpose()?;
        let mut command = command(file, image, &folder, &addresses, fd)?;
        if counting.is_some() {
            let (plugin, ring) = (folder.join(PLUGIN_FILE), folder.join(RING_FILE));
            std::fs::write(&plugin, PLUGIN).map_err(MachineError::io("the plugin"))?;
            command
                .arg("-plugin")
                .arg(format!("{},shm={}", comma(&plugin), comma(&ring)));
            if let Some(shift) = file.icount {
                command.args(["-icount", &format!("shift={shift},align=off,sleep=on")]);
            }
        }
        let home = Home {
            namespace: connection
                .namespace()
                .map_err(|e| from_board(&file.name, e))?,
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
        let console = Console::new(folder.join(files::LOG));
        let mut machine = Machine {
            name: file.name.clone(),
            process,
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
        machine.bring_up()?;
        Ok((machine, counting))
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
        let namespace = self.namespace()?;
        let quiet = namespace.run_in(|| {
            // The kernel would ask for the machine's Ethernet address again while frames are counted.
            let of = format!("/proc/sys/net/ipv4/neigh/{TAP}/base_reachable_time_ms");
            std::fs::write(of, "86400000")
        });
        quiet
            .map_err(|e| MachineError::Other(e.to_string()))?
            .map_err(MachineError::io("the time of neighbours"))?;
        if self.file.address == Address::Dhcp {
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
        if let Some(dhcp) = &self.dhcp {
            let begun = Instant::now();
            while !dhcp.has_given() {
                self.check()?;
                if begun.elapsed() > patience {
                    let fix =
                        "does its image ask for an address by DHCP, and does its driver receive?";
                    return Err(self.silent("it took no address by DHCP", patience, fix));
                }
                std::thread::sleep(LOOK);
            }
        }
        Ok(())
    }

    /// Types commands at the console, each after the prompt; places in braces are filled, `more` beside the usual ones.
    ///
    /// # Errors
    /// [`MachineError::Silent`] where no prompt follows, [`MachineError::Ended`].
    pub fn commands(
        &self,
        commands: &[&String],
        more: &[(&str, String)],
    ) -> Result<(), MachineError> {
        let Some(prompt) = self
            .file
            .console
            .prompt
            .as_ref()
            .filter(|_| !commands.is_empty())
        else {
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
                printable(prompt),
                printable(command)
            );
            self.drained(&mut stream, from, prompt, &what)?;
        }
        Ok(())
    }

    fn type_in(&self, stream: &mut UnixStream, mut bytes: &[u8]) -> Result<(), MachineError> {
        let begun = Instant::now();
        while !bytes.is_empty() {
            match stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                    drain(stream);
                    std::thread::sleep(LOOK);
                }
                Err(source) => {
                    return Err(MachineError::Io {
                        what: "the console".to_owned(),
                        source,
                    });
                }
            }
            self.check()?;
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
        &self,
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
            self.check()?;
            if begun.elapsed() > COMMAND {
                return Err(self.silent(
                    what,
                    COMMAND,
                    "does the prompt of the machine file look like that of the console?",
                ));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn wait_for(
        &self,
        from: u64,
        text: &str,
        patience: Duration,
        what: &str,
    ) -> Result<(), MachineError> {
        let begun = Instant::now();
        while !self.printed_since(from, text) {
            self.check()?;
            if begun.elapsed() > patience {
                let what = format!("{what} (its console did not print '{}')", printable(text));
                let fix = "does the machine file have the right console, and patience enough?";
                return Err(self.silent(&what, patience, fix));
            }
            std::thread::sleep(LOOK);
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

/// The command line: what the file says, then console and network.
fn command(
    file: &MachineFile,
    image: &Image,
    folder: &Folder,
    addresses: &Addresses,
    fd: i32,
) -> Result<Command, MachineError> {
    let errors = std::fs::File::create(folder.join(files::ERRORS));
    let errors = errors.map_err(MachineError::io("a log"))?;
    let has_image = file.arguments.iter().any(|word| word.contains("{image}"));
    let kernel = ["-kernel", "{image}"].map(str::to_owned);
    let image = image.path.to_string_lossy().into_owned();
    let fill = |word: &String| {
        word.replace("{image}", &image)
            .replace("{netdev}", &format!("tap,id=n0,fd={fd}"))
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
