//! The fast track: frames that match rules go to the application past the stack, through AF_XDP sockets.

mod sys;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use wirelab_port::ebpf::Mode;
use wirelab_port::iface::{Interface, PortName};
use wirelab_port::netns::NetNs;
use wirelab_trial::Wait;
use wirelab_wire::rule::Rules;

use crate::error::StagesError;
use crate::store::Store;
use crate::xdp::{MAX_QUEUES, NodeCounters, NodeOptions, NodeXdp, Xdp};
use sys::{Umem, XskSocket};

/// Default number of frames that a socket of a queue holds: 1 or 2 MiB of memory.
pub const DEFAULT_FRAMES: u32 = 512;
/// Most frames of a queue.
pub const MOST_FRAMES: u32 = 1 << 15;
/// How long a queue may stay busy after its last owner closed it: a worker of the kernel frees it.
const BUSY_PATIENCE: Duration = Duration::from_secs(2);
/// Checks of the rings before a reading of the clock.
const LOOKS: u32 = 256;
/// Most frames of one socket before the next gets its turn.
const BATCH: u32 = 64;

/// Options of a fast track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastTrackOptions {
    /// Where the packet identifier is attached.
    pub xdp: Xdp,
    /// Frames that each queue's socket holds: a power of two from 8 to 32768. Their memory is locked.
    pub frames: u32,
    /// Number of receive queues with a socket, from the first; by default all of the port.
    pub queues: Option<u32>,
    /// Longest wait of [`FastTrack::receive`].
    pub patience: Duration,
}

impl Default for FastTrackOptions {
    fn default() -> Self {
        FastTrackOptions {
            xdp: Xdp::Auto,
            frames: DEFAULT_FRAMES,
            queues: None,
            patience: Duration::from_millis(50),
        }
    }
}

/// The counts of a fast track. Every frame that matches a rule is in exactly one of `no_socket`, `received_frames`,
/// `ring_full_frames`, `dropped_frames`, or still waits in a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastTrackCounters {
    /// The packet identifier's counts.
    pub node: NodeCounters,
    /// Frames given to the application.
    pub received_frames: u64,
    /// Frames lost because the socket's ring was full: the application was too slow.
    pub ring_full_frames: u64,
    /// Frames lost for another reason, mostly because all the socket's memory was in use: the application was too
    /// slow, too.
    pub dropped_frames: u64,
    /// Invalid descriptors of the kernel, which were ignored; never observed.
    pub invalid_descriptors: u64,
}

/// A fast track on a port. It ends with this value, and with the process; then all frames go through the stack again.
///
/// Frames are as on the wire, destination address first and without FCS, and no program has checked the UDP checksum.
/// `docs/fast-track.md` and `examples/fast_track.rs` show how to use it in an application.
pub struct FastTrack {
    // Dropped first, so that no frame is sent to a closed socket.
    node: NodeXdp,
    sockets: Vec<XskSocket>,
    watched: Vec<libc::pollfd>,
    received_frames: u64,
    patience: Duration,
}

impl FastTrack {
    /// Attach the packet identifier to `port`, with a socket on each of its receive queues. It never replaces another
    /// program. With a store it also records the points of the store's flow.
    ///
    /// # Errors
    /// [`StagesError::Refused`] if the driver does not support the requested XDP mode, or a queue belongs to another
    /// AF_XDP socket; [`StagesError::BadOptions`] for options out of range; other variants for what is missing.
    pub fn open(
        port: &PortName,
        rules: &Rules,
        options: &FastTrackOptions,
        store: Option<&Store>,
    ) -> Result<FastTrack, StagesError> {
        let interface = Interface::query(port)?;
        let queues = checked_queues(&interface, rules, options)?;
        // Without rules until the sockets exist, so that no frame counts as one without a socket.
        let node_options = NodeOptions {
            xdp: options.xdp,
            ..NodeOptions::default()
        };
        let node = NodeXdp::attach(port, &node_options, store)?;
        let namespace = port.netns()?;
        let copy = node.mode() == Some(Mode::Generic);
        let mut sockets = Vec::with_capacity(queues as usize);
        for queue in 0..queues {
            let socket = open_socket(&namespace, &interface, options.frames, queue, copy)?;
            node.set_socket(queue, socket.as_fd())?;
            sockets.push(socket);
        }
        node.set_rules(rules);
        Ok(FastTrack {
            node,
            watched: sockets.iter().map(XskSocket::watched).collect(),
            sockets,
            received_frames: 0,
            patience: options.patience,
        })
    }

    /// Pass waiting frames to `take`, each in place: at most 64 of each queue, then it returns. `take` owns a frame
    /// until it returns. Returns the number of frames; 0 if none arrived within [`FastTrackOptions::patience`], so
    /// that the caller can do other work.
    ///
    /// # Errors
    /// The error of poll(2) during a sleep; no frame is lost by it. A signal is not an error.
    pub fn receive(&mut self, wait: Wait, mut take: impl FnMut(&[u8])) -> io::Result<usize> {
        let taken = self.receive_now(&mut take);
        if taken > 0 {
            return Ok(taken);
        }
        match wait {
            Wait::Sleep => {
                self.sleep()?;
                Ok(self.receive_now(&mut take))
            }
            Wait::Spin => {
                let began = Instant::now();
                loop {
                    for _ in 0..LOOKS {
                        let taken = self.receive_now(&mut take);
                        if taken > 0 {
                            return Ok(taken);
                        }
                        std::hint::spin_loop();
                    }
                    if began.elapsed() >= self.patience {
                        return Ok(0);
                    }
                }
            }
        }
    }

    /// Like [`FastTrack::receive`] for frames that have already arrived: one look, without waiting.
    #[inline]
    pub fn receive_now(&mut self, mut take: impl FnMut(&[u8])) -> usize {
        let mut taken = 0;
        for socket in &mut self.sockets {
            taken += socket.receive(BATCH, &mut take) as usize;
        }
        self.received_frames += taken as u64;
        taken
    }

    /// The sockets, for poll(2): readable if there are frames. Polling also wakes a sleeping driver.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sockets.iter().map(AsFd::as_fd)
    }

    fn sleep(&mut self) -> io::Result<()> {
        match sys::poll(&mut self.watched, self.patience) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            done => done,
        }
    }

    /// The counts so far, of the kernel and of this value.
    ///
    /// # Errors
    /// The kernel's error when it reads the statistics of a socket.
    pub fn counters(&self) -> io::Result<FastTrackCounters> {
        let mut counters = FastTrackCounters {
            node: self.node.counters(),
            received_frames: self.received_frames,
            ..FastTrackCounters::default()
        };
        for socket in &self.sockets {
            let kernel = socket.statistics()?;
            counters.ring_full_frames += kernel.rx_ring_full;
            counters.dropped_frames += kernel.rx_dropped;
            counters.invalid_descriptors += socket.invalid;
        }
        Ok(counters)
    }

    /// Whether the driver writes frames directly into the sockets' memory; otherwise the kernel copies each once.
    pub fn is_zero_copy(&self) -> bool {
        !self.sockets.is_empty() && self.sockets.iter().all(XskSocket::is_zero_copy)
    }

    /// Receive queues with a socket.
    pub fn queues(&self) -> usize {
        self.sockets.len()
    }

    /// The packet identifier: its mode, its counts, and other rules.
    pub fn node(&self) -> &NodeXdp {
        &self.node
    }
}

fn checked_queues(
    interface: &Interface,
    rules: &Rules,
    options: &FastTrackOptions,
) -> Result<u32, StagesError> {
    let port = &interface.port;
    if rules.0.is_empty() {
        return Err(StagesError::BadOptions(format!(
            "{port}: a fast track needs a rule; fix: give one, such as port=1026"
        )));
    }
    if !options.frames.is_power_of_two() || !(8..=MOST_FRAMES).contains(&options.frames) {
        return Err(StagesError::BadOptions(format!(
            "invalid number of frames a queue {}; fix: give a power of two from 8 to {MOST_FRAMES}",
            options.frames
        )));
    }
    let there = interface.rx_queues.unwrap_or(1).max(1);
    let queues = options.queues.unwrap_or(there).min(there);
    if queues == 0 {
        return Err(StagesError::BadOptions(format!(
            "{port}: a fast track needs a queue; fix: give 1 to {there}"
        )));
    }
    Ok(queues.min(MAX_QUEUES))
}

/// In a frame of 2048 bytes the kernel leaves 256 in front (XDP_PACKET_HEADROOM).
fn chunk_bytes(interface: &Interface) -> u32 {
    const HEADROOM: u32 = 256;
    match interface.greatest_length(true) + HEADROOM {
        0..=2048 => 2048,
        _ => 4096,
    }
}

fn open_socket(
    namespace: &NetNs,
    interface: &Interface,
    frames: u32,
    queue: u32,
    copy: bool,
) -> Result<XskSocket, StagesError> {
    let what = || format!("an AF_XDP socket on queue {queue} of {}", interface.port);
    let chunk = chunk_bytes(interface);
    let opened = namespace.run_in(|| {
        let mut socket = XskSocket::new(Umem::new(frames, chunk)?)?;
        bind(&mut socket, interface.index, queue, copy)?;
        Ok(socket)
    })?;
    opened.map_err(|error: io::Error| match error.raw_os_error() {
        Some(libc::EBUSY) => StagesError::Refused {
            what: what(),
            why: "another AF_XDP socket uses that queue".to_owned(),
            fix: "end its owner, or use fewer queues",
        },
        Some(libc::ENOBUFS | libc::ENOMEM) => StagesError::Refused {
            what: what(),
            why: format!(
                "{} KiB of memory could not be locked ({error})",
                u64::from(frames) * u64::from(chunk) / 1024
            ),
            fix: "use fewer frames a queue or fewer queues, or raise the limit (ulimit -l)",
        },
        Some(libc::EAFNOSUPPORT) => StagesError::Refused {
            what: what(),
            why: "this kernel was built without CONFIG_XDP_SOCKETS".to_owned(),
            fix: "leave it out; frames then reach the application through the stack",
        },
        Some(libc::EPERM | libc::EACCES) => StagesError::Privilege {
            what: format!("{} (CAP_NET_RAW)", what()),
        },
        _ => StagesError::kernel(what(), error),
    })
}

/// A queue stays busy for a moment after its owner has closed it.
fn bind(socket: &mut XskSocket, ifindex: u32, queue: u32, copy: bool) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match socket.bind(ifindex, queue, copy) {
            Err(error)
                if error.raw_os_error() == Some(libc::EBUSY) && began.elapsed() < BUSY_PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {

    use wirelab_port::lab::{EphemeralLab, LabSpec, Side};

    use super::*;

    fn is_send<T: Send>() {}

    #[test]
    fn a_queue_that_another_socket_keeps_is_refused_in_words() {
        if !wirelab_port::netns::may_test() {
            return;
        }
        let lab = EphemeralLab::up(&LabSpec::unique("wlf", 1)).unwrap();
        let port = lab.port(0, Side::Node).unwrap();
        let interface = Interface::query(&port).unwrap();
        let _other = open_socket(&port.netns().unwrap(), &interface, 8, 0, true).unwrap();
        let rules = "port=1026".parse().unwrap();
        let refused = FastTrack::open(&port, &rules, &FastTrackOptions::default(), None);
        let said = refused.err().unwrap().to_string();
        assert!(
            said.contains("queue 0 of") && said.contains("another AF_XDP socket"),
            "{said}"
        );
        assert_eq!(wirelab_port::ebpf::program_on(&port).unwrap(), None);
    }

    #[test]
    fn what_serves_a_flow_may_move_to_the_thread_that_does() {
        is_send::<super::FastTrack>();
        is_send::<crate::NodeXdp>();
        is_send::<crate::Reflector>();
    }
}
