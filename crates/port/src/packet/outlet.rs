//! How frames get into the kernel: in batches of a system call, and through the transmit ring with each type of
//! buffers.

use std::io;
use std::time::Duration;

use wirelab_trial::Cancel;

use super::build::FrameBuilder;
use super::sys::socket::{MOST_FRAMES, PacketSocket};
use super::sys::tx::{Owner, TxRing};
use crate::clock::now_ns;

/// Slots of the ring in which the application builds frames: more than a batch, and few enough for caches.
const IN_PLACE_SLOTS: usize = 256;

/// Frames that are prepared in the ring before the kernel is called.
const RING_BATCH: usize = 32;

/// How long a slot of the kernel is polled before the sender sleeps, in ns.
const WATCH_NS: u64 = 200_000;

/// How long to wait for a full queue.
const NAP: Duration = Duration::from_micros(50);

/// The longest wait for free space. The system reports it late, when half of the memory is free.
const ROOM: Duration = Duration::from_millis(1);

/// A sleep that exceeds its time by this much counts as a pause of the host, in ns.
const LATE_NS: u64 = 1_000_000;

/// How long a path may take no frame before the run ends, in ns: no shaped link needs that long for one.
const STUCK_NS: u64 = 5_000_000_000;

/// How long to wait for the last frame to leave, in ns.
const LAST_FRAME_NS: u64 = 1_000_000_000;

/// Why an outlet stopped.
#[derive(Debug)]
pub(super) enum Stop {
    /// The run was cancelled during a wait.
    Cancelled,
    /// The kernel returned an error.
    Kernel(io::Error),
}

/// How long an outlet waited for space on the path. Each wait counts at most its intended time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waits {
    /// Asleep, in ns.
    pub slept_ns: u64,
    /// Woken later than intended, in ns.
    pub late_ns: u64,
    /// Polling, in ns.
    pub spun_ns: u64,
    /// Whether the path had sent everything before it got more.
    pub ran_dry: bool,
}

impl Waits {
    /// Waits a moment for a full queue.
    fn nap(&mut self) -> u64 {
        self.sleep(NAP, || std::thread::sleep(NAP))
    }

    /// Waits until the socket has space.
    fn room(&mut self, socket: &PacketSocket) -> u64 {
        self.sleep(ROOM, || {
            socket.wait(libc::POLLOUT, ROOM);
        })
    }

    /// How much of a sleep counts as waiting for the path, in ns, without a pause of this host.
    fn sleep(&mut self, most: Duration, sleep: impl FnOnce()) -> u64 {
        let began = now_ns();
        sleep();
        let took_ns = now_ns() - began;
        let slept_ns = took_ns.min(most.as_nanos() as u64 + LATE_NS);
        self.slept_ns += slept_ns;
        self.late_ns += took_ns - slept_ns;
        slept_ns
    }

    /// Time in which the path took no more, in ns. It includes the sender's delay if the path was busy meanwhile.
    pub fn blocked_ns(&self) -> u64 {
        let late_ns = if self.ran_dry { 0 } else { self.late_ns };
        self.slept_ns + self.spun_ns + late_ns
    }

    /// Called before the path gets more frames.
    fn give(&mut self, socket: &PacketSocket) {
        self.ran_dry |= socket.unsent_bytes() == 0;
    }
}

/// A destination for a sender's frames.
pub(super) trait Outlet {
    /// Most frames to commit before a flush.
    fn batch(&self) -> usize;

    /// Memory with a prepared frame, for the next one; `None` if a flush must come first.
    fn frame(&mut self, cancel: &Cancel) -> Result<Option<&mut [u8]>, Stop>;

    /// The frame in that memory is ready and has `length` bytes.
    fn commit(&mut self, length: usize, cancel: &Cancel) -> Result<(), Stop>;

    /// Sends what was committed; returns how many frames the kernel refused for good.
    fn flush(&mut self, cancel: &Cancel) -> Result<u64, Stop>;

    /// Waits until everything has left; returns how many frames never left.
    fn finish(&mut self) -> u64;

    /// How long it waited for space since the last call.
    fn take_waits(&mut self) -> Waits;
}

/// Approximate bytes of frames in a batch: half of a level 1 cache, from which the kernel copies them.
const BATCH_BYTES: usize = 24 * 1024;

/// Fewest frames in a batch, however long they are.
const LEAST_BATCH: usize = 4;

/// Batches of `sendmmsg`: the kernel copies each frame.
pub(super) struct Batches {
    socket: PacketSocket,
    memory: Box<[u8]>,
    stride: usize,
    batch: usize,
    lengths: [usize; MOST_FRAMES],
    filled: usize,
    /// Whether a frame that finds the queue full is retried. A paced one is not, because its time has passed.
    retry: bool,
    waits: Waits,
}

impl Batches {
    pub(super) fn new(socket: PacketSocket, builder: &FrameBuilder, retry: bool) -> Batches {
        let stride = builder.length().next_multiple_of(64);
        let batch = (BATCH_BYTES / stride).clamp(LEAST_BATCH, MOST_FRAMES);
        let mut memory = vec![0; stride * batch].into_boxed_slice();
        memory
            .chunks_mut(stride)
            .for_each(|frame| builder.lay_out(frame));
        Batches {
            socket,
            memory,
            stride,
            batch,
            lengths: [0; MOST_FRAMES],
            filled: 0,
            retry,
            waits: Waits::default(),
        }
    }
}

impl Outlet for Batches {
    fn batch(&self) -> usize {
        self.batch
    }

    #[inline]
    fn frame(&mut self, _: &Cancel) -> Result<Option<&mut [u8]>, Stop> {
        let start = self.filled * self.stride;
        Ok(Some(&mut self.memory[start..start + self.stride]))
    }

    #[inline]
    fn commit(&mut self, length: usize, _: &Cancel) -> Result<(), Stop> {
        self.lengths[self.filled] = length;
        self.filled += 1;
        Ok(())
    }

    fn flush(&mut self, cancel: &Cancel) -> Result<u64, Stop> {
        let (mut sent, mut refused, mut stuck_ns) = (0, 0, 0);
        let filled = std::mem::take(&mut self.filled);
        while sent < filled {
            let memory = &mut self.memory[sent * self.stride..];
            let lengths = &self.lengths[sent..filled];
            self.waits.give(&self.socket);
            let error = match self.socket.send_frames(memory, self.stride, lengths) {
                Ok(taken) => {
                    sent += taken;
                    stuck_ns = 0;
                    continue;
                }
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(libc::ENOBUFS) if !self.retry => {
                    sent += 1;
                    refused += 1;
                }
                Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR) if cancel.is_cancelled() => {
                    return Ok(refused + (filled - sent) as u64);
                }
                // All memory of the socket is in use by frames on their path.
                Some(libc::EAGAIN) if stuck_ns < STUCK_NS => {
                    stuck_ns += self.waits.room(&self.socket);
                }
                // The queue is full.
                Some(libc::ENOBUFS | libc::EINTR) if stuck_ns < STUCK_NS => {
                    stuck_ns += self.waits.nap();
                }
                _ => {
                    self.filled = filled - sent + refused as usize;
                    return Err(Stop::Kernel(error));
                }
            }
        }
        Ok(refused)
    }

    fn finish(&mut self) -> u64 {
        // Only an error leaves frames behind; the frames of the system call have left or are in the queue.
        self.filled as u64
    }

    fn take_waits(&mut self) -> Waits {
        std::mem::take(&mut self.waits)
    }
}

/// How frames get into the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    /// They are already in it.
    Prefilled {
        /// Number of slots with a frame.
        slots: usize,
    },
    /// Built there.
    InPlace,
    /// Built there, and copied by the kernel when it takes them.
    Whole,
    /// Copied from the application's memory; the next copy waits until the frame has left.
    Copied,
    /// Copied while the previous frame is being sent.
    CopiedAhead,
}

/// The transmit ring: the kernel takes frames from shared memory.
pub(super) struct Ring {
    socket: PacketSocket,
    ring: TxRing,
    filling: Filling,
    /// The application's own frame, if it is copied.
    own: Box<[u8]>,
    next: usize,
    filled: usize,
    waits: Waits,
}

impl Ring {
    pub(super) fn new(
        socket: PacketSocket,
        filling: Filling,
        builder: &FrameBuilder,
    ) -> io::Result<Ring> {
        let slots = match filling {
            Filling::Prefilled { slots } => slots,
            Filling::InPlace | Filling::Whole => IN_PLACE_SLOTS,
            Filling::Copied => 1,
            Filling::CopiedAhead => 2,
        };
        let ring = TxRing::new(&socket, slots, builder.length(), filling == Filling::Whole)?;
        let own = vec![0; builder.length()].into_boxed_slice();
        let mut made = Ring {
            socket,
            ring,
            filling,
            own,
            next: 0,
            filled: 0,
            waits: Waits::default(),
        };
        made.lay_out(builder);
        Ok(made)
    }

    /// Fills the slots for a run, beginning at the slot that the kernel reads next.
    pub(super) fn lay_out(&mut self, builder: &FrameBuilder) {
        let slots = self.ring.slots();
        for n in 0..slots {
            let frame = self.ring.frame((self.next + n) % slots);
            builder.lay_out(frame);
            if matches!(self.filling, Filling::Prefilled { .. }) {
                builder.write_content(frame, n as u32);
                builder.write_header(frame, n as u32, 0);
            }
        }
        builder.lay_out(&mut self.own);
    }

    /// Whether the kernel has done with all slots, so that another run may begin.
    pub(super) fn is_free(&self) -> bool {
        let mut owners = (0..self.ring.slots()).map(|slot| self.ring.owner(slot));
        owners.all(|owner| owner == Owner::Application)
    }

    fn copies(&self) -> bool {
        matches!(self.filling, Filling::Copied | Filling::CopiedAhead)
    }

    /// Calls the kernel. A full queue is not an error, because the slots stay ready.
    fn kick(&mut self) -> Result<(), Stop> {
        self.waits.give(&self.socket);
        match self.socket.kick() {
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Ok(()),
                _ => Err(Stop::Kernel(error)),
            },
            Ok(()) => Ok(()),
        }
    }

    /// Waits until the application owns a slot.
    fn wait_for(&mut self, slot: usize, cancel: &Cancel) -> Result<(), Stop> {
        let (mut began, mut last, mut stuck_ns) = (None, None::<u64>, 0);
        loop {
            match self.ring.owner(slot) {
                Owner::Application => return Ok(()),
                Owner::Waiting => self.kick()?,
                Owner::Refused => {
                    return Err(Stop::Kernel(io::Error::from_raw_os_error(libc::EMSGSIZE)));
                }
                Owner::Kernel => std::hint::spin_loop(),
            }
            let now = now_ns();
            if let Some(last) = last {
                self.waits.spun_ns += (now - last).min(LATE_NS);
            }
            last = Some(now);
            if now - *began.get_or_insert(now) > WATCH_NS {
                if cancel.is_cancelled() {
                    return Err(Stop::Cancelled);
                }
                if stuck_ns >= STUCK_NS {
                    return Err(Stop::Kernel(io::Error::from_raw_os_error(libc::ENOBUFS)));
                }
                stuck_ns += self.waits.nap();
                last = None;
            }
        }
    }
}

impl Outlet for Ring {
    fn batch(&self) -> usize {
        match self.filling {
            Filling::Prefilled { slots } => RING_BATCH.min(slots.div_ceil(2)),
            Filling::InPlace | Filling::Whole => RING_BATCH,
            Filling::Copied | Filling::CopiedAhead => 1,
        }
    }

    #[inline]
    fn frame(&mut self, cancel: &Cancel) -> Result<Option<&mut [u8]>, Stop> {
        if self.copies() {
            return Ok(Some(&mut self.own));
        }
        if self.ring.owner(self.next) != Owner::Application {
            if self.filled > 0 {
                return Ok(None);
            }
            self.wait_for(self.next, cancel)?;
        }
        Ok(Some(self.ring.frame(self.next)))
    }

    #[inline]
    fn commit(&mut self, length: usize, cancel: &Cancel) -> Result<(), Stop> {
        if self.copies() {
            self.wait_for(self.next, cancel)?;
            self.ring.frame(self.next)[..length].copy_from_slice(&self.own[..length]);
        }
        self.ring.ready(self.next, length);
        self.next = (self.next + 1) % self.ring.slots();
        self.filled += 1;
        Ok(())
    }

    fn flush(&mut self, cancel: &Cancel) -> Result<u64, Stop> {
        if std::mem::take(&mut self.filled) > 0 {
            self.kick()?;
            if self.filling == Filling::Copied {
                self.wait_for(0, cancel)?;
            }
        }
        Ok(0)
    }

    fn finish(&mut self) -> u64 {
        let deadline = now_ns() + LAST_FRAME_NS;
        loop {
            let owners = (0..self.ring.slots()).map(|slot| self.ring.owner(slot));
            let (waiting, away) = owners.fold((0, false), |(waiting, away), owner| match owner {
                Owner::Waiting => (waiting + 1, true),
                Owner::Refused => (waiting + 1, away),
                Owner::Kernel => (waiting, true),
                Owner::Application => (waiting, away),
            });
            // What the kernel has taken will be sent, even if that takes longer than this wait.
            if !away || now_ns() > deadline || self.kick().is_err() {
                return waiting;
            }
            std::thread::sleep(NAP);
        }
    }

    fn take_waits(&mut self) -> Waits {
        std::mem::take(&mut self.waits)
    }
}
