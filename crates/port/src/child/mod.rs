//! A watched child process, which ends with this one, however this one ends.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::netns::{NetNs, NetNsError};

mod sys;

pub(crate) use sys::end_with_this_thread;

/// How long a process may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(5);
/// Interval between two checks during that time.
const LOOK: Duration = Duration::from_millis(5);

/// How a process ends with this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is killed: it has nothing to restore.
    Killed,
    /// It gets SIGTERM, so that it restores what it changed. If it does not end, it is killed.
    Terminated,
}

impl Ending {
    const fn signal(self) -> Signal {
        match self {
            Ending::Killed => Signal::SIGKILL,
            Ending::Terminated => Signal::SIGTERM,
        }
    }
}

/// Where a process runs, and what it inherits.
#[derive(Debug)]
pub struct Home {
    /// Its network namespace; by default this process's.
    pub namespace: Option<NetNs>,
    /// Whether its `/sys` shows the interfaces of that namespace, see [`NetNs::run_with_sysfs`].
    pub sysfs: bool,
    /// A descriptor that it inherits.
    pub keep: Option<OwnedFd>,
    /// How it ends with this process.
    pub ending: Ending,
}

impl Home {
    /// This process's network namespace, nothing inherited.
    pub const fn here(ending: Ending) -> Home {
        Home {
            namespace: None,
            sysfs: false,
            keep: None,
            ending,
        }
    }
}

/// A process, which ends when this value is dropped.
#[derive(Debug)]
pub struct Process {
    life: Liveness,
    ending: Ending,
    keeper: Option<JoinHandle<()>>,
}

/// Whether a process still runs, for code that depends on it.
#[derive(Clone, Debug)]
pub struct Liveness(Arc<Mutex<State>>);

#[derive(Debug)]
enum State {
    Runs(Pid),
    Ended { how: String, code: Option<i32> },
}

impl Liveness {
    /// How the process ended; `None` while it runs.
    pub fn ended(&self) -> Option<String> {
        match &*self.state() {
            State::Runs(_) => None,
            State::Ended { how, .. } => Some(how.clone()),
        }
    }

    /// Its exit status, once it has ended with one and not by a signal.
    pub fn exit_code(&self) -> Option<i32> {
        match *self.state() {
            State::Runs(_) => None,
            State::Ended { code, .. } => code,
        }
    }

    /// Its process id while it runs.
    pub fn pid(&self) -> Option<i32> {
        match &*self.state() {
            State::Runs(pid) => Some(pid.as_raw()),
            State::Ended { .. } => None,
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Signal it unless it has ended. While the state says that it runs, no other process gets its id.
    fn signal(&self, signal: Signal) {
        if let State::Runs(pid) = &*self.state() {
            let _ = kill(*pid, signal);
        }
    }
}

impl Process {
    /// Start `command` in its home.
    ///
    /// # Errors
    /// Errors of starting it: [`io::ErrorKind::NotFound`] if there is no such program.
    pub fn start(mut command: Command, home: Home) -> io::Result<Process> {
        use std::os::fd::AsRawFd;
        let Home {
            namespace,
            sysfs,
            keep,
            ending,
        } = home;
        sys::tie(
            &mut command,
            ending.signal(),
            keep.as_ref().map(AsRawFd::as_raw_fd),
        );
        // Ctrl-C signals the whole foreground group. In its own group, the process ends when this one no longer needs
        // it.
        command.process_group(0);
        let (tell, ready) = sync_channel(1);
        // The kernel ends the child with the *thread* that started it, so that thread lasts as long as the child.
        let keeper = std::thread::Builder::new()
            .name("wirelab-child".to_owned())
            .spawn(move || {
                let work = || match command.spawn() {
                    Ok(child) => {
                        drop((keep, command));
                        let pid = Pid::from_raw(child.id() as i32);
                        let life = Liveness(Arc::new(Mutex::new(State::Runs(pid))));
                        let _ = tell.send(Ok(life.clone()));
                        watch(child, &life);
                    }
                    Err(error) => {
                        let _ = tell.send(Err(error));
                    }
                };
                if let Err(error) = within(namespace, sysfs, work) {
                    let _ = tell.send(Err(io::Error::other(error)));
                }
            })?;
        let ended = || io::Error::other("the thread that starts it ended");
        let life = ready.recv().unwrap_or_else(|_| Err(ended()))?;
        Ok(Process {
            life,
            ending,
            keeper: Some(keeper),
        })
    }

    /// Whether it still runs.
    pub fn life(&self) -> &Liveness {
        &self.life
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.life.signal(self.ending.signal());
        let since = Instant::now();
        while self.life.pid().is_some() && since.elapsed() < PATIENCE {
            std::thread::sleep(LOOK);
        }
        self.life.signal(Signal::SIGKILL);
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

/// Run `work` in the child's namespace, on a thread that lasts as long as the child.
fn within(
    namespace: Option<NetNs>,
    sysfs: bool,
    work: impl FnOnce() + Send,
) -> Result<(), NetNsError> {
    match namespace {
        None => work(),
        Some(namespace) if sysfs => namespace.run_with_sysfs(work)?,
        Some(namespace) => namespace.run_in(work)?,
    }
    Ok(())
}

/// Wait for the end, and record it.
fn watch(mut child: Child, life: &Liveness) {
    let pid = Pid::from_raw(child.id() as i32);
    // Wait without reaping the process, so that its id is not reused before the state is changed.
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while let Err(nix::Error::EINTR) = waitid(Id::Pid(pid), flags) {}
    let mut state = life.state();
    let ended = child.wait();
    let code = ended.as_ref().ok().and_then(ExitStatus::code);
    let how = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
    *state = State::Ended { how, code };
}

#[cfg(test)]
mod tests {
    use super::sys::MOST_FILE_BYTES;
    use super::*;
    use std::time::{Duration, Instant};

    fn shell(script: &str) -> Process {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        Process::start(command, Home::here(Ending::Killed)).unwrap()
    }

    fn end(life: &Liveness) -> String {
        let patience = Instant::now() + Duration::from_secs(60);
        loop {
            match life.ended() {
                Some(how) => return how,
                None => assert!(Instant::now() < patience, "it does not end"),
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn an_end_is_seen_with_its_reason() {
        for (script, how, code) in [
            ("exit 3", "exit status: 3", Some(3)),
            ("kill -9 $$", "signal: 9", None),
        ] {
            let process = shell(script);
            assert!(end(process.life()).contains(how));
            assert_eq!(process.life().exit_code(), code);
        }
    }

    #[test]
    fn a_process_is_ended_with_its_value() {
        let process = shell("exec sleep 1000");
        let life = process.life().clone();
        assert!(life.pid().is_some() && life.ended().is_none());
        drop(process);
        assert!(end(&life).contains("signal: 9"));
    }

    #[test]
    fn one_that_is_asked_to_end_can_put_things_back() {
        use std::io::{BufRead, BufReader};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("back");
        let script = format!(
            "trap 'echo back > {}; exit 0' TERM; echo ready; while :; do sleep 0.01; done",
            file.display()
        );
        let (read, write) = nix::unistd::pipe().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script]).stdout(write);
        let process = Process::start(command, Home::here(Ending::Terminated)).unwrap();
        let mut line = String::new();
        BufReader::new(std::fs::File::from(read))
            .read_line(&mut line)
            .unwrap();
        drop(process);
        assert_eq!(std::fs::read_to_string(file).unwrap(), "back\n");
    }

    #[test]
    fn a_program_that_is_not_there_is_said() {
        let none = Command::new("/nonexistent/program");
        let error = Process::start(none, Home::here(Ending::Killed)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn files_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let script = format!(
            "head -c 40000000 /dev/zero > {} 2> /dev/null; exit 0",
            file.display()
        );
        end(shell(&script).life());
        assert_eq!(std::fs::metadata(file).unwrap().len(), MOST_FILE_BYTES);
    }
}
