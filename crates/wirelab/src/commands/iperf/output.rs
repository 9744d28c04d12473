//! The destination of the output (`-o`), and a server in the background (`-D`).
//!
//! A server in the background is another process of the same program, so no fork is needed. It reports over a pipe when
//! it listens; only then does this process end, and earlier errors still appear on the terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write, stderr, stdout};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use nix::unistd::{dup2_stderr, dup2_stdout, setsid};
use wirelab_cores::prefer_this_session;

use super::wrong;
use crate::args::IperfArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{complain, say};

/// Set for the background process.
const BACKGROUND: &str = "WIRELAB_IPERF_BACKGROUND";

/// Whether this process is the background process.
pub fn is_background() -> bool {
    std::env::var_os(BACKGROUND).is_some()
}

/// Starts this program again, in the background, and ends when it serves.
pub fn start_background() -> Result {
    let failed = |what: &str, error: std::io::Error| {
        let fix = "start the server without -D";
        Failure::failed(format_args!("cannot {what}: {error}; fix: {fix}"))
    };
    let program = std::env::current_exe().map_err(|error| failed("find this program", error))?;
    let mut server = Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(BACKGROUND, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed("start a process in the background", error))?;
    let mut said = String::new();
    if let Some(mut out) = server.stdout.take() {
        let _ = out.read_to_string(&mut said);
    }
    if !said.is_empty() {
        let pid = server.id();
        say!(
            "{}The server runs in the background as process {pid}; 'kill {pid}' ends it",
            said
        );
        return Ok(Outcome::Done);
    }
    // It has printed why it does not run.
    let code = server.wait().ok().and_then(|status| status.code());
    Ok(Outcome::Code(
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
    ))
}

/// The destination of the output, and the process to notify that the server listens.
pub struct ServerOutput {
    starter: Option<File>,
}

/// Redirects the output as the options say.
pub fn enter(args: &IperfArgs) -> std::result::Result<ServerOutput, Failure> {
    let starter = match is_background() && args.serve.daemon {
        true => Some(stdout().as_fd().try_clone_to_owned().map(File::from)),
        false => None,
    };
    let starter = starter.transpose().map_err(Failure::failed)?;
    if let Some(path) = &args.output {
        let mut how = OpenOptions::new();
        // iperf 2 replaces the file, iperf3 appends to it.
        match args.iperf3 {
            true => how.append(true),
            false => how.write(true).truncate(true),
        };
        let refused = |error: &dyn std::fmt::Display| {
            let why = format_args!(
                "{}: {error}; fix: name a file that can be written",
                path.display()
            );
            wrong("--output", why)
        };
        let file = how
            .create(true)
            .open(path)
            .map_err(|error| refused(&error))?;
        dup2_stdout(&file).map_err(|error| refused(&error))?;
        if starter.is_none() {
            if !args.iperf3 {
                complain(format_args!("the output goes to {}", path.display()));
            }
            dup2_stderr(&file).map_err(|error| refused(&error))?;
        }
    } else if starter.is_some() {
        let nowhere = OpenOptions::new().write(true).open("/dev/null");
        dup2_stdout(nowhere.map_err(Failure::failed)?).map_err(Failure::failed)?;
    }
    Ok(ServerOutput { starter })
}

impl ServerOutput {
    /// Reports that the server listens: a background server lets its starter print `where_it_listens` and end.
    pub fn serves(self, where_it_listens: &str) {
        let Some(mut starter) = self.starter else {
            return;
        };
        // The owner of the terminal must not end the server with it, nor wait for it.
        let _ = setsid();
        // Of the session that it has now; the session ends with the server.
        std::mem::forget(prefer_this_session());
        let _ = std::env::set_current_dir("/");
        let _ = stderr().flush();
        let _ = dup2_stderr(stdout());
        let _ = writeln!(starter, "{where_it_listens}");
    }
}
