//! The impairer: a forwarder in user space between two ports that drops, duplicates, swaps, delays and damages
//! frames on purpose, by a seed, and keeps a ledger of everything it did.
//!
//! Every decision follows from the seed, the direction and the number of the frame alone, so the same frames
//! with the same seed meet the same fate, whatever the timing was. What the impairer loses by itself (its
//! receive buffer overflowed, a port went away) is counted separately, as its own, in [`OwnLoss`].
//!
//! A frame's number counts the frames of one direction that are subject to impairment, from 0. On one frame the
//! impairments act in this order: drop (and nothing else), bit error, duplicate, swap, delay.
//!
//! Tests alone use it: those of `port`, `socket` and `iperf`. Start reading at [`Impairer::start`].

mod dice;
mod engine;
mod error;
mod frame;
mod ledger;
mod socket;
mod spec;
mod sys;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use wirelab_port::iface::{Interface, PortLock, PortName};

pub use error::ImpairError;
pub use frame::fuzz_frame;
pub use ledger::{Action, DirectionReport, Event, ImpairReport, MOST_EVENTS, OwnLoss};
pub use spec::{BitErrors, Delay, DirectionSpec, FramesHit, ImpairSpec};

/// Forwards between two ports until it is stopped.
#[derive(Debug)]
pub struct Impairer;

impl Impairer {
    /// Starts to forward between port `a` and port `b`, in both directions, and returns when it is ready: a frame that
    /// arrives after this is forwarded. Both ports are locked and promiscuous while it runs. Frames that leave
    /// its ports, its own among them, are not forwarded back.
    ///
    /// # Errors
    /// [`ImpairError::Spec`] for a probability outside 0 to 1 and the like; a port that is unknown, down,
    /// without carrier or in use; a missing CAP_NET_RAW, named with the fix.
    pub fn start(
        a: &PortName,
        b: &PortName,
        spec: ImpairSpec,
    ) -> Result<ImpairHandle, ImpairError> {
        spec.check()?;
        if a == b {
            return Err(ImpairError::Spec {
                field: "ports",
                why: format!("frames are forwarded between two ports, and {a} is one"),
            });
        }
        let locks = [PortLock::acquire(a)?, PortLock::acquire(b)?];
        for port in [a, b] {
            Interface::query(port)?.require_carrier()?;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let taken = <[Arc<AtomicU64>; 2]>::default();
        let directions = [
            ("forward", 0, a, b, spec.forward),
            ("backward", 1, b, a, spec.backward),
        ];
        // All sockets are open before the first thread runs, so that an error leaves nothing running.
        let mut engines = Vec::new();
        for (name, number, from, to, direction) in directions {
            let receiver = socket::Receiver::open(from, spec.common.receive_bytes)?;
            let sender = socket::Sender::open(to)?;
            let dice = dice::Dice::new(spec.seed, number as u64);
            let line = engine::Line::new(sender, dice, direction, &spec.common);
            let count = taken[number].clone();
            engines.push((
                name,
                engine::Engine::new(receiver, line, stop.clone(), count),
            ));
        }
        let mut threads = Vec::new();
        for (name, engine) in engines {
            let thread = std::thread::Builder::new()
                .name(format!("impair-{name}"))
                .spawn(move || engine.run())
                .map_err(ImpairError::Thread);
            match thread {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(ImpairHandle {
            stop,
            taken,
            threads,
            _locks: locks,
        })
    }
}

/// An impairer that runs. Dropping it stops it.
#[derive(Debug)]
pub struct ImpairHandle {
    stop: Arc<AtomicBool>,
    taken: [Arc<AtomicU64>; 2],
    threads: Vec<JoinHandle<DirectionReport>>,
    _locks: [PortLock; 2],
}

impl ImpairHandle {
    /// Forwards what has arrived so far, held and delayed frames at once, then ends and returns the ledger.
    pub fn stop(mut self) -> ImpairReport {
        let mut reports = self.finish().into_iter();
        ImpairReport {
            forward: reports.next().unwrap_or_default(),
            backward: reports.next().unwrap_or_default(),
        }
    }

    /// Frames received so far that are subject to impairment, forward and backward.
    pub fn received_frames(&self) -> [u64; 2] {
        [0, 1].map(|way| self.taken[way].load(Ordering::Relaxed))
    }

    fn finish(&mut self) -> Vec<DirectionReport> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads
            .drain(..)
            .map(|thread| {
                thread.join().unwrap_or_else(|_| DirectionReport {
                    failure: Some("the forwarder ended by a fault of its own".to_owned()),
                    ..DirectionReport::default()
                })
            })
            .collect()
    }
}

impl Drop for ImpairHandle {
    fn drop(&mut self) {
        self.finish();
    }
}
