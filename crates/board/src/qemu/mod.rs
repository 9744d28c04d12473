//! QEMU: its command line for a board, its process, and its control socket.

mod qmp;

use std::path::Path;
use std::process::{Command, Stdio};

use crate::machine::file::MachineFile;

pub use qmp::Qmp;
pub use wirelab_port::child::{Liveness, Process};

/// The program.
pub const PROGRAM: &str = "qemu-system-arm";
/// The package that it comes with.
pub const PACKAGE: &str = "qemu-system-arm";

/// The connection of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire<'a> {
    /// A TAP device by its open descriptor.
    Tap(i32),
    /// Two Unix datagram sockets: QEMU's own, and the other end's.
    Unix(&'a Path, &'a Path),
    /// Not connected.
    Open,
}

impl Wire<'_> {
    /// The value of `-netdev`.
    pub fn netdev(self) -> String {
        match self {
            Wire::Tap(fd) => format!("tap,id=n0,fd={fd}"),
            Wire::Unix(own, other) => format!(
                "dgram,id=n0,local.type=unix,local.path={},remote.type=unix,remote.path={}",
                comma(own),
                comma(other)
            ),
            Wire::Open => "hubport,id=n0,hubid=0".to_owned(),
        }
    }
}

/// What advances virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The host's clock.
    Wall,
    /// Instructions, and the host's clock while it sleeps.
    Instructions,
    /// Only instructions: a sleeping machine jumps to its next timer at once, so it must be held back. Its date and its
    /// random numbers are the same in each run.
    InstructionsAlone,
}

/// The command line of a machine.
#[derive(Clone, Copy, Debug)]
pub struct QemuCommand<'a> {
    /// The machine.
    pub file: &'a MachineFile,
    /// QEMU's program, if not that of the file.
    pub program: Option<&'a Path>,
    /// The firmware.
    pub image: &'a Path,
    /// The folder of its sockets and logs.
    pub folder: &'a Path,
    /// Its Ethernet address.
    pub mac: &'a str,
    /// Its wire.
    pub wire: Wire<'a>,
    /// Its clock, where the file says how long an instruction takes.
    pub clock: Clock,
}

/// Names of the files in the folder of a board.
pub mod files {
    /// The UART as a Unix stream socket; one client at a time.
    pub const UART: &str = "uart.sock";
    /// Everything that the board printed on it.
    pub const LOG: &str = "uart.log";
    /// QMP.
    pub const QMP: &str = "qmp.sock";
    /// The messages of QEMU itself.
    pub const ERRORS: &str = "qemu.err";
    /// The board's end of a Unix datagram wire.
    pub const BOARD_WIRE: &str = "wire-board.sock";
    /// The tester's end of it.
    pub const TESTER_WIRE: &str = "wire-tester.sock";
}

impl QemuCommand<'_> {
    /// QEMU's program.
    pub fn program(&self) -> &Path {
        self.program.unwrap_or(Path::new(&self.file.program))
    }

    /// All arguments: what the file says, then console, control socket and clock. Only the log keeps output from before a
    /// client connects.
    pub fn arguments(&self) -> Vec<String> {
        let at = |name: &str| comma(&self.folder.join(name));
        let netdev = self.wire.netdev();
        let fill = |word: &String| {
            word.replace("{image}", &self.image.to_string_lossy())
                .replace("{netdev}", &netdev)
                .replace("{mac}", self.mac)
        };
        let has_image = self.file.arguments.iter().any(|w| w.contains("{image}"));
        let kernel = ["-kernel", "{image}"].map(str::to_owned);
        let kernel = kernel.iter().filter(|_| !has_image);
        let own = self.file.arguments.iter().chain(kernel);
        let mut all: Vec<String> = own.chain(&self.file.network).map(fill).collect();
        let mut put = |words: &[&str]| all.extend(words.iter().map(|w| (*w).to_owned()));
        put(&["-display", "none", "-monitor", "none"]);
        let (uart, log) = (at(files::UART), at(files::LOG));
        let chardev = format!("socket,id=console,path={uart},server=on,wait=off,logfile={log}");
        put(&["-chardev", &chardev, "-serial", "chardev:console"]);
        let qmp = format!("unix:{},server=on,wait=off", at(files::QMP));
        put(&["-qmp", &qmp]);
        let Some(shift) = self.file.icount else {
            return all;
        };
        match self.clock {
            Clock::Wall => {}
            Clock::Instructions => {
                put(&["-icount", &format!("shift={shift},align=off,sleep=on")]);
            }
            Clock::InstructionsAlone => {
                put(&["-rtc", "base=2026-01-01,clock=vm", "-seed", "1"]);
                put(&["-icount", &format!("shift={shift},align=off,sleep=off")]);
            }
        }
        all
    }

    /// The command, which writes its errors to the folder.
    ///
    /// # Errors
    /// The error of making the file for errors.
    pub fn command(&self) -> std::io::Result<Command> {
        let errors = std::fs::File::create(self.folder.join(files::ERRORS))?;
        let mut command = Command::new(self.program());
        command
            .args(self.arguments())
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors);
        Ok(command)
    }
}

/// The version of the QEMU in PATH, for the record of a run; `None` where it is unknown.
pub fn version() -> Option<String> {
    version_of(PROGRAM)
}

/// The version of a program of QEMU.
pub fn version_of(program: &str) -> Option<String> {
    let said = Command::new(program).arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let number = said.split("version ").nth(1)?.split_whitespace().next()?;
    Some(format!("QEMU {number}"))
}

/// The message that a program of QEMU is not installed, with the fix.
pub fn missing(program: &str) -> String {
    format!(
        "{program} is not installed; it comes with the package {PACKAGE} (`sudo apt-get install {PACKAGE}`)"
    )
}

/// A path as QEMU's options take it: a comma is doubled.
pub(crate) fn comma(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(board: &str, wire: Wire<'_>, clock: Clock) -> String {
        let file = MachineFile::find(board).unwrap();
        let line = QemuCommand {
            file: &file,
            program: None,
            image: Path::new("/f/x.elf"),
            folder: Path::new("/run/a,b"),
            mac: "02:00:0a:37:00:02",
            wire,
            clock,
        };
        line.arguments().join(" ")
    }

    #[test]
    fn the_lines_of_both_boards() {
        assert_eq!(
            line("zynq7000", Wire::Tap(9), Clock::Wall),
            "-M xilinx-zynq-a9 -m 64M -kernel /f/x.elf \
             -netdev tap,id=n0,fd=9 -net nic,netdev=n0,macaddr=02:00:0a:37:00:02 \
             -display none -monitor none \
             -chardev socket,id=console,path=/run/a,,b/uart.sock,server=on,wait=off,logfile=/run/a,,b/uart.log \
             -serial chardev:console -qmp unix:/run/a,,b/qmp.sock,server=on,wait=off"
        );
        let counting = line("mps2-an385", Wire::Open, Clock::Instructions);
        assert!(counting.starts_with("-M mps2-an385 -kernel"), "{counting}");
        assert!(
            counting.contains("-icount shift=8,align=off,sleep=on"),
            "{counting}"
        );
        let unix = line(
            "zynq7000",
            Wire::Unix(Path::new("/w/b"), Path::new("/w/t")),
            Clock::InstructionsAlone,
        );
        assert!(
            unix.contains("local.path=/w/b,remote.type=unix,remote.path=/w/t"),
            "{unix}"
        );
        assert!(
            unix.ends_with("clock=vm -seed 1 -icount shift=7,align=off,sleep=off"),
            "{unix}"
        );
    }
}
