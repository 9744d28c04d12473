//! A wire of whole frames to one node: receives its frames, and answers as a host's stack would.
//!
//! A thread takes every frame as long as the wire exists, so that nothing queues between trials. It answers ARP for the
//! tester's address, and passes everything else to the running trial, if any.

mod arp;
pub mod ceiling;
mod line;

use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use wirelab_port::wire::{FrameWire, MOST_BYTES};
use wirelab_trial::host_clock::now_ns;

pub use line::WireHandle;

/// The name of the frames' path in observations.
pub const PATH: &str = "wire";
/// Longest wait of the thread before it checks whether to end.
const LOOK: Duration = Duration::from_millis(20);

/// The addresses of both ends of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The node's Ethernet address.
    pub node_mac: [u8; 6],
    /// The node's IPv4 address.
    pub node_ip: Ipv4Addr,
    /// The tester's Ethernet address.
    pub tester_mac: [u8; 6],
    /// The tester's IPv4 address.
    pub tester_ip: Ipv4Addr,
}

/// Takes the frames of a trial, with the arrival time of each in ns.
type Taker = Box<dyn FnMut(&[u8], u64) + Send>;

/// State that the thread and its owner share.
pub(super) struct SharedWire {
    frames: Box<dyn FrameWire>,
    taker: Mutex<Option<Taker>>,
    over: AtomicBool,
}

impl SharedWire {
    fn taker(&self) -> MutexGuard<'_, Option<Taker>> {
        self.taker.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// A wire, served until this value is dropped.
pub struct Wire {
    shared: Arc<SharedWire>,
    ends: Ends,
    thread: Option<JoinHandle<()>>,
}

impl Wire {
    /// Serves `frames`.
    ///
    /// # Errors
    /// The error of starting a thread.
    pub fn new(frames: Box<dyn FrameWire>, ends: Ends) -> io::Result<Wire> {
        let shared = Arc::new(SharedWire {
            frames,
            taker: Mutex::new(None),
            over: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("wirelab-wire".to_owned())
            .spawn(move || take(&of_thread, &ends))?;
        Ok(Wire {
            shared,
            ends,
            thread: Some(thread),
        })
    }

    /// A handle for a trial.
    pub fn line(&self) -> WireHandle {
        WireHandle::new(Arc::clone(&self.shared), self.ends)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn take(shared: &SharedWire, ends: &Ends) {
    let mut buffer = vec![0; MOST_BYTES];
    while !shared.over.load(Ordering::Relaxed) {
        match shared.frames.receive(&mut buffer, LOOK) {
            Ok(None) => {}
            Ok(Some(length)) => {
                let (frame, arrival_ns) = (&buffer[..length.min(MOST_BYTES)], now_ns());
                if let Some(answer) = arp::answer(frame, ends) {
                    // Without room the answer is lost, and the node asks again.
                    let _ = shared.frames.send(&answer);
                } else if let Some(taker) = &mut *shared.taker() {
                    taker(frame, arrival_ns);
                }
            }
            // The other end is gone, and may come back.
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;
    use wirelab_port::wire::UnixWire;

    const ENDS: Ends = Ends {
        node_mac: [2, 0, 10, 55, 0, 2],
        node_ip: Ipv4Addr::new(10, 55, 0, 2),
        tester_mac: [2, 0x57, 0x4C, 55, 0, 1],
        tester_ip: Ipv4Addr::new(10, 55, 0, 1),
    };

    #[test]
    fn questions_are_answered_and_the_rest_goes_to_the_trial_or_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let node = UnixWire::bind(&b, &a).unwrap();
        let wire = Wire::new(Box::new(UnixWire::bind(&a, &b).unwrap()), ENDS).unwrap();
        // No trial takes it, and it does no harm.
        assert!(node.send(&[1; 60]).unwrap());
        let theirs = Ends {
            node_mac: ENDS.tester_mac,
            node_ip: ENDS.tester_ip,
            tester_mac: ENDS.node_mac,
            tester_ip: ENDS.node_ip,
        };
        assert!(node.send(&arp::request(&theirs)).unwrap());
        let mut answer = [0; 64];
        let long = Duration::from_secs(30);
        assert_eq!(node.receive(&mut answer, long).unwrap(), Some(60));
        assert_eq!(answer[28..32], [10, 55, 0, 1]);
        let taken = Arc::new(Mutex::new(Vec::new()));
        let of_taker = Arc::clone(&taken);
        *wire.shared.taker() = Some(Box::new(move |frame, _| {
            of_taker.lock().unwrap().push(frame.to_vec());
        }));
        assert!(node.send(&[2; 80]).unwrap());
        let begun = Instant::now();
        while taken.lock().unwrap().is_empty() && begun.elapsed() < long {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(*taken.lock().unwrap(), [vec![2; 80]]);
    }
}
