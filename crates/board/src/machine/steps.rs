//! A machine that runs step by step: it runs until it stops, and all frames are exchanged before it continues.
//!
//! Virtual time advances only with instructions, so a frame meets the machine at the same instruction in each run,
//! however busy the host is.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::ring::{Control, IdleRule};
use super::traffic::Peer;
use crate::qemu::{Liveness, Qmp};

/// Time between checks of a running machine.
const LOOK: Duration = Duration::from_micros(50);
/// A machine that runs no instruction for this long sleeps, and no timer wakes it.
const ASLEEP: Duration = Duration::from_millis(3);
/// Most rounds of frames at a stop: a machine that does not stop may send forever.
const MOST_ROUNDS: u32 = 256;
/// Consecutive checks at which all its threads wait: one may wait for another, which waits a moment later.
const WAITING: u32 = 20;
/// Longest run until it rests.
const LONGEST: Duration = Duration::from_secs(5);
/// Longest time until QEMU's control socket is there.
const CONNECT: Duration = Duration::from_secs(10);

/// Stops and releases a machine, and exchanges frames with it meanwhile.
pub struct Steps {
    control: Control,
    qmp: Qmp,
    peer: Peer,
    rest: IdleRule,
}

impl Steps {
    /// Takes a machine that was requested to rest, and waits until it does.
    ///
    /// # Errors
    /// The system's error.
    pub fn begin(
        control: Control,
        qmp: &Path,
        peer: Peer,
        rest: IdleRule,
        life: &Liveness,
    ) -> io::Result<Steps> {
        control.stop_at_points();
        let begun = Instant::now();
        let qmp = loop {
            match Qmp::connect(qmp) {
                Err(e) if life.ended().is_some() || begun.elapsed() > CONNECT => return Err(e),
                Err(_) => std::thread::sleep(LOOK),
                Ok(qmp) => break qmp,
            }
        };
        let steps = Steps {
            control,
            qmp,
            peer,
            rest,
        };
        steps.wait(life);
        Ok(steps)
    }

    /// The tester's stack.
    pub const fn peer(&mut self) -> &mut Peer {
        &mut self.peer
    }

    /// Sets the rule for rest, and restarts its count.
    pub fn rest_by(&mut self, rest: IdleRule) {
        self.rest = rest;
        self.control.ask_for_rest(rest);
    }

    /// Whether it is stopped at rest, or sleeps forever.
    pub fn is_at_rest(&self) -> bool {
        !self.control.stands() || self.control.has_rested()
    }

    /// Restarts the count for rest.
    pub fn rest_anew(&self) {
        self.control.ask_for_rest(self.rest);
    }

    /// Exchanges frames until there are no more, then resumes the machine until it stops.
    ///
    /// # Errors
    /// QEMU does not answer.
    pub fn step(&mut self, life: &Liveness) -> io::Result<()> {
        self.exchange()?;
        if self.is_at_rest() {
            self.rest_anew();
        }
        if self.control.stands() {
            self.control.release();
        }
        self.wait(life);
        Ok(())
    }

    /// The answer to a sent frame arrives after the code that gave the frame to the device.
    fn exchange(&mut self) -> io::Result<()> {
        let is_for_device = self.control.waits_for_device();
        for _ in 0..MOST_ROUNDS {
            // Devices work in QEMU's main loop, which answers afterwards: two answers come from two rounds of the loop.
            for _ in 0..2 {
                self.qmp.execute("query-name", json!({}))?;
            }
            if is_for_device || !self.peer.exchange() {
                break;
            }
        }
        Ok(())
    }

    /// Waits until the machine stops, sleeps forever or has ended.
    fn wait(&self, life: &Liveness) {
        let begun = Instant::now();
        let (mut last, mut since) = (self.control.now(), begun);
        let mut waiting = 0;
        while !self.control.stands() && life.ended().is_none() {
            let now = self.control.now();
            if now != last {
                (last, since) = (now, Instant::now());
            }
            // Before its first instruction it does not sleep.
            let is_still = now > 0 && since.elapsed() > ASLEEP;
            waiting = match is_still && life.pid().is_none_or(waits) {
                true => waiting + 1,
                false => 0,
            };
            if waiting > WAITING || begun.elapsed() > LONGEST {
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Whether all threads of a process wait; a thread that a busy host does not run is not waiting.
fn waits(pid: i32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return true;
    };
    let state = |stat: &str| {
        stat.rsplit_once(") ")
            .map(|(_, rest)| rest.starts_with('R'))
    };
    let mut all = threads.flatten().map(|thread| thread.path().join("stat"));
    all.all(|stat| std::fs::read_to_string(stat).is_ok_and(|stat| state(&stat) != Some(true)))
}
