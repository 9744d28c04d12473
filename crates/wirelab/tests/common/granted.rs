//! The program as a user starts it who is not root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use wirelab_port::lab::LabSpec;

use crate::common::{stderr, stdout};

/// Far longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The user "nobody", who has no rights.
pub const NOBODY: u32 = 65_534;

/// A copy of the program with these capabilities and no others, and a runtime folder of a user without rights.
pub struct Granted {
    pub folder: tempfile::TempDir,
}

impl Granted {
    pub fn new(capabilities: &[&str]) -> Granted {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let granted = Granted { folder };
        fs::copy(env!("CARGO_BIN_EXE_wirelab"), granted.program()).unwrap();
        fs::create_dir(granted.runtime()).unwrap();
        std::os::unix::fs::chown(granted.runtime(), Some(NOBODY), Some(NOBODY)).unwrap();
        if !capabilities.is_empty() {
            let list = capabilities.join(",").to_lowercase() + "+ep";
            let set = Command::new("/usr/sbin/setcap")
                .arg(list)
                .arg(granted.program())
                .status()
                .unwrap();
            assert!(set.success());
        }
        granted
    }

    pub fn program(&self) -> PathBuf {
        self.folder.path().join("wirelab")
    }

    pub fn runtime(&self) -> PathBuf {
        self.folder.path().join("runtime")
    }

    /// The program as started by a user without rights, with these words before it.
    pub fn command(&self, user: u32, front: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        command
            .arg(format!("--reuid={user}"))
            .args(["--regid=65534", "--clear-groups", "--"])
            .args(front)
            .current_dir(self.folder.path())
            .env("XDG_RUNTIME_DIR", self.runtime())
            .stdin(Stdio::null());
        if front.is_empty() {
            command.arg(self.program());
        }
        command
    }

    pub fn call(&self, args: &[&str]) -> Output {
        self.call_as(NOBODY, args)
    }

    pub fn call_as(&self, user: u32, args: &[&str]) -> Output {
        self.command(user, &[]).args(args).output().unwrap()
    }
}

pub fn succeeded(output: &Output) {
    assert!(
        output.status.success(),
        "{}{}",
        stdout(output),
        stderr(output)
    );
}

pub fn unique(prefix: &str) -> String {
    LabSpec::unique(prefix, 1).name
}
