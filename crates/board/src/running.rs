//! A board in QEMU: start, watch, control and stop.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use wirelab_control::PORT;
use wirelab_control::transport::{Transport, UdpTransport};
use wirelab_port::child::{Ending, Home};
use wirelab_port::iface::Mac;
use wirelab_port::netns::NetNs;
use wirelab_port::wire::FrameWire;

use crate::catalogue::{self, BoardInfo};
use crate::connection::{Addresses, Connect, Connection};
use crate::console::{Console, printable};
use crate::folder::{BoardEntry, Folder};
use crate::image::Image;
use crate::qemu::{self, Clock, Liveness, Process, QemuCommand, Qmp, Wire, files};
use crate::transport::Watched;
use crate::{BoardError, connection};

/// Time between checks whether a board is up.
const LOOK: Duration = Duration::from_millis(1);

/// How to start a board.
#[derive(Clone, Debug)]
pub struct Options {
    /// The firmware; by default the board's own where it was built or installed.
    pub image: Option<PathBuf>,
    /// Its connection.
    pub connect: Connect,
    /// Whether virtual time counts instructions (a *count* run), not the host's clock (a *wall* run).
    pub counts: bool,
    /// Longest time until the board is up.
    pub patience: Duration,
    /// The program of QEMU, if not the one in PATH.
    pub qemu: Option<PathBuf>,
}

impl Default for Options {
    /// Default image, a TAP where that is allowed, a wall run, 20 s until it is up.
    fn default() -> Options {
        Options {
            image: None,
            connect: Connect::Auto,
            counts: false,
            patience: Duration::from_secs(20),
            qemu: None,
        }
    }
}

/// A running board; it ends with this value or with this process.
#[derive(Debug)]
pub struct Board {
    info: &'static BoardInfo,
    image: PathBuf,
    // The fields are dropped in this order: the emulator before its wire, and that before the folder.
    process: Process,
    connection: Connection,
    folder: Folder,
    addresses: Addresses,
    console: Console,
    boot: Duration,
}

impl Board {
    /// Starts the board called `name`, and waits until it is ready.
    ///
    /// # Errors
    /// [`BoardError`]: no such board, no image or a bad one, no QEMU, or a board that ends or never starts.
    pub fn start(name: &str, options: &Options) -> Result<Board, BoardError> {
        let info = catalogue::find(name)?;
        let Some(file) = info.machine() else {
            return Err(BoardError::NotQemu {
                name: name.to_owned(),
            });
        };
        let image = Image::find(info, options.image.as_deref())?.path;
        let system = |what: &str| {
            let what = format!("{what} of board {name}");
            move |source| BoardError::Io { what, source }
        };
        let image = image.canonicalize().map_err(system("the image"))?;
        let folder = Folder::make(name).map_err(system("the folder"))?;
        let addresses = Addresses::next();
        let mut connection = Connection::make(options.connect, name, &addresses, &folder)?;
        let keep = match &mut connection {
            Connection::Tap { fd, .. } => fd.take(),
            _ => None,
        };
        let (own, other) = (
            folder.join(files::BOARD_WIRE),
            folder.join(files::TESTER_WIRE),
        );
        let wire = match (&connection, &keep) {
            (Connection::Unix { .. }, _) => Wire::Unix(&own, &other),
            (_, Some(fd)) => Wire::Tap(std::os::fd::AsRawFd::as_raw_fd(fd)),
            _ => Wire::Open,
        };
        let line = QemuCommand {
            file: &file,
            program: options.qemu.as_deref(),
            image: &image,
            folder: folder.path(),
            mac: &addresses.mac.to_string(),
            wire,
            clock: match options.counts {
                true => Clock::Instructions,
                false => Clock::Wall,
            },
        };
        let command = line.command().map_err(system("the log"))?;
        let begun = Instant::now();
        let home = Home {
            namespace: connection.namespace()?,
            sysfs: false,
            keep,
            // An emulator has nothing to save.
            ending: Ending::Killed,
        };
        let process =
            Process::start(command, home).map_err(|source| no_start(line.program(), source))?;
        let console = Console::new(folder.join(files::LOG));
        let mut board = Board {
            info,
            image,
            process,
            connection,
            folder,
            addresses,
            console,
            boot: Duration::ZERO,
        };
        board.wait_until_up(begun, options.patience)?;
        board
            .folder
            .describe(&board.about())
            .map_err(system("the description"))?;
        Ok(board)
    }

    fn wait_until_up(&mut self, begun: Instant, patience: Duration) -> Result<(), BoardError> {
        while self.console.ready().is_none() {
            // A board that ended may have printed a last message.
            if let Some(how) = self.life().ended() {
                return Err(self.death(&how));
            }
            if begun.elapsed() > patience {
                return Err(self.never_up(patience));
            }
            std::thread::sleep(LOOK);
        }
        self.boot = begun.elapsed();
        Ok(())
    }

    fn never_up(&self, patience: Duration) -> BoardError {
        BoardError::NeverUp {
            board: self.info.name.to_owned(),
            seconds: patience.as_secs_f64(),
            image: self.image.clone(),
            console: self.last_words(),
        }
    }

    /// What others need to reach it: addresses, namespace, sockets.
    pub fn about(&self) -> BoardEntry {
        BoardEntry {
            board: self.info.name.to_owned(),
            process: std::process::id(),
            image: self.image.clone(),
            ip: self.ip(),
            mac: self.mac().to_string(),
            namespace: self.namespace_name(),
            uart: self.uart_socket(),
            log: self.console.log().to_owned(),
        }
    }

    /// Its description.
    pub const fn info(&self) -> &'static BoardInfo {
        self.info
    }

    /// The running firmware.
    pub fn image(&self) -> &Path {
        &self.image
    }

    /// From the start of the emulator to the board's ready message.
    pub const fn boot_time(&self) -> Duration {
        self.boot
    }

    /// Its IPv4 address, if it has one.
    pub fn ip(&self) -> Option<Ipv4Addr> {
        matches!(self.connection, Connection::Tap { .. }).then_some(self.addresses.ip)
    }

    /// Both ends' addresses.
    pub const fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Its Ethernet address.
    pub const fn mac(&self) -> Mac {
        self.addresses.mac
    }

    /// The namespace that leads to it, if there is one: threads enter it, and their child processes inherit it.
    ///
    /// # Errors
    /// [`BoardError::Lab`] if it is gone.
    pub fn namespace(&self) -> Result<Option<NetNs>, BoardError> {
        self.connection.namespace()
    }

    /// The name of that namespace, as `ip netns` shows it.
    pub fn namespace_name(&self) -> Option<String> {
        let namespace = self.namespace().ok()??;
        namespace.name().map(str::to_owned)
    }

    /// Why it is not connected by a TAP, where that was tried.
    pub fn without_tap(&self) -> Option<&str> {
        match &self.connection {
            Connection::Unix { instead, .. } => instead.as_deref(),
            _ => None,
        }
    }

    /// Frames dropped before it since its start, because its emulator did not take them in time; `None` where they are
    /// not counted.
    pub fn dropped_frames(&self) -> Option<u64> {
        self.connection.dropped_frames()
    }

    /// What it printed.
    pub const fn console(&self) -> &Console {
        &self.console
    }

    /// Whether its emulator still runs.
    pub fn life(&self) -> &Liveness {
        self.process.life()
    }

    /// The socket of its UART; it takes one client at a time.
    pub fn uart_socket(&self) -> PathBuf {
        self.folder.join(files::UART)
    }

    /// The control protocol over its UART.
    ///
    /// # Errors
    /// The error of connecting to it.
    pub fn control(&self) -> io::Result<Box<dyn Transport + Send>> {
        uart(&self.uart_socket(), self.life().clone())
    }

    /// Makes transports to its control protocol: over UDP where it has an address (call it in its namespace), else over
    /// its UART.
    pub fn connector(&self) -> Box<dyn Fn() -> io::Result<Box<dyn Transport + Send>> + Send> {
        let life = self.life().clone();
        match self.ip() {
            Some(ip) => Box::new(move || {
                let to = SocketAddr::from((ip, PORT));
                let transport = Watched::new(UdpTransport::connect(to)?, life.clone());
                Ok(Box::new(transport))
            }),
            None => {
                let socket = self.uart_socket();
                Box::new(move || uart(&socket, life.clone()))
            }
        }
    }

    /// The tester's end of a wire without an interface; only once.
    pub fn frames(&mut self) -> Option<Box<dyn FrameWire>> {
        match &mut self.connection {
            Connection::Unix { wire, .. } => Some(Box::new(wire.take()?)),
            _ => None,
        }
    }

    /// A connection to QEMU's own control.
    ///
    /// # Errors
    /// [`BoardError::Io`]
    pub fn qmp(&self) -> Result<Qmp, BoardError> {
        Qmp::connect(&self.folder.join(files::QMP)).map_err(|source| self.qemu(source))
    }

    /// Plugs or unplugs its cable.
    ///
    /// # Errors
    /// [`BoardError::Io`] with QEMU's error.
    pub fn set_link(&self, up: bool) -> Result<(), BoardError> {
        let arguments = json!({ "name": "n0", "up": up });
        let done = self.qmp()?.execute("set_link", arguments);
        done.map(drop).map_err(|source| self.qemu(source))
    }

    /// Presses its reset button, and waits until it is up again.
    ///
    /// # Errors
    /// [`BoardError::Io`] with QEMU's error, [`BoardError::NeverUp`], [`BoardError::Died`].
    pub fn reset(&self, patience: Duration) -> Result<(), BoardError> {
        let before = self.starts();
        let done = self.qmp()?.execute("system_reset", json!({}));
        done.map_err(|source| self.qemu(source))?;
        let begun = Instant::now();
        while self.starts() == before {
            self.check()?;
            if begun.elapsed() > patience {
                return Err(self.never_up(patience));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// How often it has started: after more than once it was reset or crashed.
    pub fn starts(&self) -> usize {
        self.console.ready().map_or(0, |(_, times)| times)
    }

    /// Whether it is alive.
    ///
    /// # Errors
    /// [`BoardError::Died`], with the last lines of its console.
    pub fn check(&self) -> Result<(), BoardError> {
        match self.life().ended() {
            None => Ok(()),
            Some(how) => Err(self.death(&how)),
        }
    }

    /// Waits until its emulator has ended, but not longer than `patience`.
    pub fn wait_for_end(&self, patience: Duration) {
        let begun = Instant::now();
        while self.life().ended().is_none() && begun.elapsed() < patience {
            std::thread::sleep(LOOK);
        }
    }

    /// Ends it now. Dropping the board does the same.
    pub fn stop(self) {}

    fn qemu(&self, source: io::Error) -> BoardError {
        BoardError::Io {
            what: format!("the control socket of {}'s QEMU", self.info.name),
            source,
        }
    }

    fn death(&self, how: &str) -> BoardError {
        BoardError::Died {
            board: self.info.name.to_owned(),
            how: how.to_owned(),
            console: self.last_words(),
        }
    }

    /// The end of the console, and the messages of QEMU.
    fn last_words(&self) -> String {
        let console = self.console.tail();
        let said = std::fs::read(self.folder.join(files::ERRORS)).unwrap_or_default();
        let said = String::from_utf8_lossy(&said[..said.len().min(2_000)]).into_owned();
        let mut lines = said.lines().filter(|l| !l.contains("has no peer"));
        match lines.by_ref().map(printable).collect::<Vec<_>>() {
            lines if lines.is_empty() => console,
            lines => format!("{console}\nQEMU says: {}", lines.join("; ")),
        }
    }
}

fn uart(socket: &Path, life: Liveness) -> io::Result<Box<dyn Transport + Send>> {
    Ok(Box::new(Watched::uart(socket, life)?))
}

fn no_start(program: &Path, source: io::Error) -> BoardError {
    match source.kind() {
        io::ErrorKind::NotFound => {
            BoardError::NoQemu(qemu::missing(&program.display().to_string()))
        }
        _ => BoardError::Io {
            what: format!("to start {}", program.display()),
            source,
        },
    }
}

/// The interface that leads to a board, in its namespace.
pub const INTERFACE: &str = connection::TAP;
