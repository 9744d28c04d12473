//! QEMU: its command line for a board, its process, and its control socket.

mod qmp;

use std::path::Path;
use std::process::{Command, Stdio};

use crate::catalogue::Machine;

pub use qmp::Qmp;
pub use wirelab_port::child::{Life, Process};

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

/// The command line of a board.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The program; usually [`PROGRAM`].
    pub program: &'a Path,
    /// The machine.
    pub machine: &'a Machine,
    /// The firmware.
    pub image: &'a Path,
    /// The folder of its sockets and logs.
    pub folder: &'a Path,
    /// Its Ethernet address.
    pub mac: &'a str,
    /// Its wire.
    pub wire: Wire<'a>,
    /// Whether virtual time counts instructions.
    pub counts: bool,
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

impl Line<'_> {
    /// All arguments. On-board controllers need `-net nic`; only the log keeps output from before a client connects.
    pub fn arguments(&self) -> Vec<String> {
        let at = |name: &str| comma(&self.folder.join(name));
        let mut all: Vec<String> = Vec::new();
        let mut put = |words: &[&str]| all.extend(words.iter().map(|w| (*w).to_owned()));
        put(&["-M", self.machine.name]);
        if let Some(mib) = self.machine.memory_mib {
            put(&["-m", &format!("{mib}M")]);
        }
        put(&[
            "-display",
            "none",
            "-monitor",
            "none",
            "-kernel",
            &self.image.to_string_lossy(),
        ]);
        let (uart, log) = (at(files::UART), at(files::LOG));
        let chardev = format!("socket,id=u0,path={uart},server=on,wait=off,logfile={log}");
        put(&["-chardev", &chardev, "-serial", "chardev:u0"]);
        put(&[
            "-qmp",
            &format!("unix:{},server=on,wait=off", at(files::QMP)),
        ]);
        if self.counts {
            // With sleep=off idle time would jump from timer to timer.
            let shift = self.machine.icount_shift;
            put(&["-icount", &format!("shift={shift},align=off,sleep=on")]);
        }
        let nic = format!("nic,netdev=n0,macaddr={}", self.mac);
        put(&["-netdev", &self.wire.netdev(), "-net", &nic]);
        all
    }

    /// The command, which writes its errors to the folder.
    ///
    /// # Errors
    /// The error of making the file for errors.
    pub fn command(&self) -> std::io::Result<Command> {
        let errors = std::fs::File::create(self.folder.join(files::ERRORS))?;
        let mut command = Command::new(self.program);
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
    use crate::{Emulator, catalogue};

    fn line(board: &str, wire: Wire<'_>, counts: bool) -> String {
        let Emulator::Qemu(machine) = catalogue::find(board).unwrap().emulator else {
            panic!("{board}");
        };
        let line = Line {
            program: Path::new(PROGRAM),
            machine,
            image: Path::new("/f/x.elf"),
            folder: Path::new("/run/a,b"),
            mac: "02:00:0a:37:00:02",
            wire,
            counts,
        };
        line.arguments().join(" ")
    }

    #[test]
    fn the_lines_of_both_boards() {
        assert_eq!(
            line("zynq7000", Wire::Tap(9), false),
            "-M xilinx-zynq-a9 -m 64M -display none -monitor none -kernel /f/x.elf \
             -chardev socket,id=u0,path=/run/a,,b/uart.sock,server=on,wait=off,logfile=/run/a,,b/uart.log \
             -serial chardev:u0 -qmp unix:/run/a,,b/qmp.sock,server=on,wait=off \
             -netdev tap,id=n0,fd=9 -net nic,netdev=n0,macaddr=02:00:0a:37:00:02"
        );
        let counting = line("mps2-an385", Wire::Open, true);
        assert!(counting.starts_with("-M mps2-an385 -display"), "{counting}");
        assert!(
            counting.contains("-icount shift=8,align=off,sleep=on"),
            "{counting}"
        );
        let unix = line(
            "zynq7000",
            Wire::Unix(Path::new("/w/b"), Path::new("/w/t")),
            false,
        );
        assert!(
            unix.contains("local.path=/w/b,remote.type=unix,remote.path=/w/t"),
            "{unix}"
        );
    }
}
