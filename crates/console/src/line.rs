//! Opens the line to a board, as a reader and a writer that two threads use.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::termios::SpecialCharacterIndices::{VINTR, VQUIT, VSUSP};
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::{Pid, tcgetpgrp};
use serial2::SerialPort;

use crate::name::ConsoleName;
use crate::sys;
use crate::telnet::Telnet;

/// Longest time that a read waits, so that its thread can end.
const LOOK: Duration = Duration::from_millis(20);
/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest time that a command has to end after its terminal hung up.
const END: Duration = Duration::from_millis(300);

/// Reads with a time limit; `WouldBlock` if no byte arrived.
pub type Reader = Box<dyn FnMut(&mut [u8]) -> io::Result<usize> + Send>;

/// A line that is open.
pub struct OpenLine {
    pub reader: Reader,
    pub writer: Box<dyn Write + Send>,
    /// The command behind it, ended with this value.
    pub process: Option<Process>,
}

/// A command on its terminal, with all that it started there.
pub struct Process {
    child: Child,
    terminal: File,
}

impl Process {
    fn group(&self) -> Pid {
        // A process number fits: the kernel's are below 2^22.
        Pid::from_raw(self.child.id() as i32)
    }

    /// Whether its terminal turns a key into a signal for the command itself, which is not at its prompt yet or has
    /// none. A program that passes keys on to a board switches this off, and a shell hands the terminal to the program
    /// that it runs.
    pub fn is_signalled_by(&self, key: u8) -> bool {
        let own = tcgetpgrp(&self.terminal).is_ok_and(|group| group == self.group());
        own && tcgetattr(&self.terminal).is_ok_and(|terminal| {
            let keys = [VINTR, VQUIT, VSUSP].map(|at| terminal.control_chars[at as usize]);
            terminal.local_flags.contains(LocalFlags::ISIG) && keys.contains(&key)
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let group = self.group();
        let _ = killpg(group, Signal::SIGHUP);
        let begun = Instant::now();
        while begun.elapsed() < END {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Opens the line of a console.
///
/// # Errors
/// A text that names the thing and the fix.
pub fn open(name: &ConsoleName) -> Result<OpenLine, String> {
    match name {
        ConsoleName::Serial { device, baud } => serial(device, *baud),
        ConsoleName::Tcp { address } => tcp(address),
        ConsoleName::Unix { path } => unix(path),
        ConsoleName::Ssh { target } => ssh(target),
        ConsoleName::Exec { command } => {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", command]);
            pty(shell).map_err(|error| {
                format!("cannot run '{command}': {error}; fix: try the command in a shell")
            })
        }
    }
}

fn serial(device: &str, baud: u32) -> Result<OpenLine, String> {
    let failed = |error: io::Error| {
        let fix = match error.kind() {
            ErrorKind::PermissionDenied => {
                "add yourself to the group that owns it (ls -l shows it; often dialout)"
            }
            ErrorKind::NotFound => "plug the adapter in, and name its device: ls /dev/serial/by-id",
            _ => "end other programs that use it (fuser shows them), and check the baud rate",
        };
        format!("cannot open {device} at {baud} baud: {error}; fix: {fix}")
    };
    let mut port = SerialPort::open(device, baud).map_err(failed)?;
    port.set_read_timeout(LOOK).map_err(failed)?;
    port.set_write_timeout(CONNECT).map_err(failed)?;
    let writer = port.try_clone().map_err(failed)?;
    Ok(OpenLine {
        reader: Box::new(move |buffer| port.read(buffer).map_err(timed_out)),
        writer: Box::new(writer),
        process: None,
    })
}

/// A timeout means that there is nothing to read.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::TimedOut => ErrorKind::WouldBlock.into(),
        _ => error,
    }
}

fn tcp(address: &str) -> Result<OpenLine, String> {
    let failed = |error: io::Error| {
        format!(
            "cannot connect to the console {address}: {error}; fix: check the address and port, and that no other client is connected"
        )
    };
    let mut last = io::Error::from(ErrorKind::NotFound);
    let mut stream = None;
    for resolved in address.to_socket_addrs().map_err(failed)? {
        match TcpStream::connect_timeout(&resolved, CONNECT) {
            Ok(open) => stream = Some(open),
            Err(error) => last = error,
        }
        if stream.is_some() {
            break;
        }
    }
    let Some(mut stream) = stream else {
        return Err(failed(last));
    };
    stream.set_read_timeout(Some(LOOK)).map_err(failed)?;
    stream.set_write_timeout(Some(CONNECT)).map_err(failed)?;
    let _ = stream.set_nodelay(true);
    let mut answers = stream.try_clone().map_err(failed)?;
    let writer = stream.try_clone().map_err(failed)?;
    let telnet = Arc::new(Mutex::new(Telnet::default()));
    let escape = Arc::clone(&telnet);
    Ok(OpenLine {
        reader: Box::new(move |buffer| {
            let n = stream.read(buffer).map_err(timed_out)?;
            let (mut data, mut answer) = (Vec::new(), Vec::new());
            let mut telnet = telnet.lock().unwrap_or_else(PoisonError::into_inner);
            telnet.take(&buffer[..n], &mut data, &mut answer);
            answers.write_all(&answer)?;
            if n > 0 && data.is_empty() {
                return Err(ErrorKind::WouldBlock.into());
            }
            // Telnet only removes bytes, so the data fit.
            buffer[..data.len()].copy_from_slice(&data);
            Ok(data.len())
        }),
        writer: Box::new(Escaped {
            stream: writer,
            telnet: escape,
        }),
        process: None,
    })
}

fn unix(path: &str) -> Result<OpenLine, String> {
    let failed = |error: io::Error| {
        format!(
            "cannot connect to the console {path}: {error}; fix: check that its emulator runs, and that no other client is connected"
        )
    };
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    stream.set_read_timeout(Some(LOOK)).map_err(failed)?;
    stream.set_write_timeout(Some(CONNECT)).map_err(failed)?;
    let writer = stream.try_clone().map_err(failed)?;
    Ok(OpenLine {
        reader: Box::new(move |buffer| stream.read(buffer).map_err(timed_out)),
        writer: Box::new(writer),
        process: None,
    })
}

/// Writes as telnet expects it.
struct Escaped {
    stream: TcpStream,
    telnet: Arc<Mutex<Telnet>>,
}

impl Write for Escaped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let telnet = self.telnet.lock().unwrap_or_else(PoisonError::into_inner);
        let escaped = telnet.escape(bytes);
        drop(telnet);
        self.stream.write_all(&escaped)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn ssh(target: &str) -> Result<OpenLine, String> {
    let mut ssh = Command::new("ssh");
    // A terminal on the other host, no escape character, and an end when the board no longer answers.
    ssh.args(["-tt", "-e", "none"]);
    ssh.args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]);
    match target.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => ssh.args(["-p", port, "--", host]),
        _ => ssh.args(["--", target]),
    };
    pty(ssh).map_err(|error| {
        format!("cannot run ssh: {error}; fix: install it (apt install openssh-client)")
    })
}

fn pty(mut command: Command) -> io::Result<OpenLine> {
    // With this, shells print fewer escape sequences.
    command.env("TERM", "dumb");
    let (master, child) = sys::spawn(command)?;
    let mut reader = File::from(master);
    let writer = reader.try_clone()?;
    let terminal = reader.try_clone()?;
    Ok(OpenLine {
        reader: Box::new(move |buffer| {
            let wait = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::ZERO);
            let mut ready = [PollFd::new(reader.as_fd(), PollFlags::POLLIN)];
            if poll(&mut ready, wait)? == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            match reader.read(buffer) {
                // Linux returns this error if the other end is closed.
                Err(error) if error.raw_os_error() == Some(nix::libc::EIO) => Ok(0),
                read => read,
            }
        }),
        writer: Box::new(writer),
        process: Some(Process { child, terminal }),
    })
}
