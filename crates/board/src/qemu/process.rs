//! A child process that is watched, and that ends with this one, however this one ends.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use wirelab_port::netns::NetNs;

use super::sys;

/// Most bytes of each file that the process writes: its logs.
const MOST_FILE_BYTES: u64 = 16 << 20;

/// A process; ended when this value is dropped.
#[derive(Debug)]
pub struct Process {
    life: Life,
    keeper: Option<JoinHandle<()>>,
}

/// Whether a process still runs, for whoever depends on it.
#[derive(Clone, Debug)]
pub struct Life(Arc<Mutex<State>>);

#[derive(Debug)]
enum State {
    Runs(Pid),
    Ended(String),
}

impl Life {
    /// How the process ended; `None` while it runs.
    pub fn ended(&self) -> Option<String> {
        match &*self.state() {
            State::Runs(_) => None,
            State::Ended(how) => Some(how.clone()),
        }
    }

    /// Its number while it runs.
    pub fn pid(&self) -> Option<i32> {
        match &*self.state() {
            State::Runs(pid) => Some(pid.as_raw()),
            State::Ended(_) => None,
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Signal it, unless it has ended: its number is not given to another while the state says that it runs.
    fn signal(&self, signal: Signal) {
        if let State::Runs(pid) = &*self.state() {
            let _ = kill(*pid, signal);
        }
    }
}

impl Process {
    /// Start `command` in a namespace, with a descriptor that it inherits.
    ///
    /// # Errors
    /// What starting it gives: [`io::ErrorKind::NotFound`] where there is no such program.
    pub fn start(
        mut command: Command,
        namespace: Option<NetNs>,
        keep: Option<OwnedFd>,
    ) -> io::Result<Process> {
        use std::os::fd::AsRawFd;
        sys::tie(
            &mut command,
            keep.as_ref().map(AsRawFd::as_raw_fd),
            MOST_FILE_BYTES,
        );
        // Ctrl-C goes to the whole foreground group; the board ends when this program has done with it.
        command.process_group(0);
        let (tell, told) = sync_channel(1);
        // The kernel ends the child with the *thread* that started it, so that thread stays as long as the child.
        let keeper = std::thread::Builder::new()
            .name("wirelab-board".to_owned())
            .spawn(move || {
                let work = || match command.spawn() {
                    Ok(child) => {
                        drop(keep);
                        let pid = Pid::from_raw(child.id() as i32);
                        let life = Life(Arc::new(Mutex::new(State::Runs(pid))));
                        let _ = tell.send(Ok(life.clone()));
                        watch(child, &life);
                    }
                    Err(error) => {
                        let _ = tell.send(Err(error));
                    }
                };
                match namespace {
                    None => work(),
                    Some(namespace) => {
                        if let Err(error) = namespace.run_in(work) {
                            let _ = tell.send(Err(io::Error::other(error)));
                        }
                    }
                }
            })?;
        let ended = || io::Error::other("the thread that starts it ended");
        let life = told.recv().unwrap_or_else(|_| Err(ended()))?;
        Ok(Process {
            life,
            keeper: Some(keeper),
        })
    }

    /// Whether it still runs.
    pub fn life(&self) -> &Life {
        &self.life
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An emulator has nothing to save.
        self.life.signal(Signal::SIGKILL);
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

/// Wait for the end, and write down how it was.
fn watch(mut child: Child, life: &Life) {
    let pid = Pid::from_raw(child.id() as i32);
    // Wait without taking the process away, so that its number stays its own until the state is changed.
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while let Err(nix::Error::EINTR) = waitid(Id::Pid(pid), flags) {}
    let mut state = life.state();
    *state = State::Ended(match child.wait() {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn shell(script: &str) -> Process {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        Process::start(command, None, None).unwrap()
    }

    fn end(life: &Life) -> String {
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
        assert!(end(shell("exit 3").life()).contains('3'));
        assert!(end(shell("kill -9 $$").life()).contains("signal: 9"));
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
    fn a_program_that_is_not_there_is_said() {
        let none = Command::new("/nonexistent/program");
        let error = Process::start(none, None, None).unwrap_err();
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
