//! Runs iproute2's `ip` and `tc`, which make namespaces, veth pairs and shapers.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::error::ToolError;
use super::privilege::{Privilege, PrivilegedWork};
use crate::child::end_with_this_thread;

/// A program of iproute2.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tool {
    Ip,
    Tc,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Ip => "ip",
            Tool::Tc => "tc",
        }
    }

    /// The name or path to start it by. PATH of a plain user often lacks the sbin directories.
    pub(crate) fn program(self) -> String {
        ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
            .iter()
            .map(|directory| format!("{directory}/{}", self.name()))
            .find(|path| Path::new(path).exists())
            .unwrap_or_else(|| self.name().to_owned())
    }

    /// Runs it and returns its output.
    pub(crate) fn run(self, arguments: &[&str]) -> Result<String, ToolError> {
        self.run_with_input(arguments, "")
    }

    /// Runs it with `input` on its standard input (`-batch -`) and returns its output.
    pub(crate) fn run_with_input(
        self,
        arguments: &[&str],
        input: &str,
    ) -> Result<String, ToolError> {
        let command = format!("{} {}", self.name(), arguments.join(" "));
        let output = self.output(arguments, input).map_err(|source| {
            if source.kind() == std::io::ErrorKind::NotFound {
                ToolError::Missing { tool: self.name() }
            } else {
                ToolError::Io {
                    command: command.clone(),
                    source,
                }
            }
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr)
            .trim()
            .replace('\n', "; ");
        if ["Operation not permitted", "Permission denied"]
            .iter()
            .any(|s| said.contains(s))
        {
            let what = format!("to run `{command}` ({said})");
            return Err(Privilege::new(what, PrivilegedWork::Lab).into());
        }
        Err(ToolError::Failed { command, said })
    }

    fn output(self, arguments: &[&str], input: &str) -> std::io::Result<Output> {
        let mut command = Command::new(self.program());
        // If this process is killed, the tool must not go on making objects that no record lists.
        end_with_this_thread(&mut command);
        let mut child = command
            .args(arguments)
            // It may have capabilities that the owner of the environment lacks.
            .env_clear()
            .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C signals the whole foreground group; a lab must not be left half made or half removed.
            .process_group(0)
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A tool that stops reading has failed, and its exit status is a better error than a broken pipe.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output()
    }
}
