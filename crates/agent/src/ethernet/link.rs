//! A packet socket for test frames one by one, with the kernel's time stamps.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, TimestampingFlag, recvmsg,
    send, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeSpec, TimeVal};
use wirelab_port::iface::Interface;
use wirelab_wire::header::ETHERTYPE;

use crate::sys::link;

/// How long a blocking call waits before it checks the trial's flag, in µs.
const PATIENCE_US: i64 = 20_000;
/// Space for the control messages of one stamp.
const CONTROL_BYTES: usize = 256;
/// Where `struct sock_extended_err` (linux/errqueue.h) has the number of the send call.
const NUMBER: std::ops::Range<usize> = 12..16;

/// A socket for frames of the test's EtherType on one interface.
pub struct TestSocket {
    socket: OwnedFd,
}

/// The result of one call.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkEvent {
    /// Bytes of the frame.
    pub len: usize,
    /// When the kernel handled it, CLOCK_REALTIME in ns.
    pub unix_ns: Option<u64>,
    /// The number of the send call, for a sent frame.
    pub number: Option<u32>,
}

impl TestSocket {
    /// Open a socket in the network namespace of the calling thread. It receives frames from now on.
    pub fn open(interface: &Interface) -> io::Result<TestSocket> {
        let socket = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            None,
        )?;
        setsockopt(
            &socket,
            sockopt::ReceiveTimeout,
            &TimeVal::new(0, PATIENCE_US),
        )?;
        setsockopt(&socket, sockopt::SendTimeout, &TimeVal::new(0, PATIENCE_US))?;
        link::bind(&socket, interface.index, ETHERTYPE)?;
        Ok(TestSocket { socket })
    }

    /// Let the kernel timestamp received frames.
    pub fn stamp_arrivals(&self) -> io::Result<()> {
        Ok(setsockopt(
            &self.socket,
            sockopt::ReceiveTimestampns,
            &true,
        )?)
    }

    /// Let the kernel timestamp sent frames when it hands them to the driver, numbered from 0.
    pub fn stamp_departures(&self) -> io::Result<()> {
        use TimestampingFlag as Flag;
        let flags = Flag::SOF_TIMESTAMPING_TX_SOFTWARE
            | Flag::SOF_TIMESTAMPING_SOFTWARE
            | Flag::SOF_TIMESTAMPING_OPT_ID
            | Flag::SOF_TIMESTAMPING_OPT_TSONLY;
        Ok(setsockopt(&self.socket, sockopt::Timestamping, &flags)?)
    }

    /// Send a frame.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        send(self.socket.as_raw_fd(), frame, MsgFlags::empty())?;
        Ok(())
    }

    /// Wait for the next frame; after a short time without one, an error of kind `WouldBlock`.
    pub fn receive(&self, frame: &mut [u8]) -> io::Result<LinkEvent> {
        self.take(frame, MsgFlags::empty())
    }

    /// The next frame if one has arrived, else an error of kind `WouldBlock`.
    pub fn receive_now(&self, frame: &mut [u8]) -> io::Result<LinkEvent> {
        self.take(frame, MsgFlags::MSG_DONTWAIT)
    }

    /// The descriptor to poll for frames.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The stamp of a sent frame, if there is one.
    pub fn departure(&self) -> io::Result<LinkEvent> {
        self.take(
            &mut [0; 64],
            MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT,
        )
    }

    fn take(&self, frame: &mut [u8], flags: MsgFlags) -> io::Result<LinkEvent> {
        let mut control = [0; CONTROL_BYTES];
        let mut parts = [IoSliceMut::new(frame)];
        let message = recvmsg::<()>(
            self.socket.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            flags,
        )?;
        let mut event = LinkEvent {
            len: message.bytes,
            ..LinkEvent::default()
        };
        for control in message.cmsgs()? {
            match control {
                ControlMessageOwned::ScmTimestampns(time) => event.unix_ns = ns(time),
                ControlMessageOwned::ScmTimestampsns(times) => event.unix_ns = ns(times.system),
                ControlMessageOwned::Unknown(other) => {
                    let number = other.data_bytes.get(NUMBER).and_then(|b| b.try_into().ok());
                    event.number = number.map(u32::from_ne_bytes).or(event.number);
                }
                _ => {}
            }
        }
        Ok(event)
    }
}

fn ns(time: TimeSpec) -> Option<u64> {
    let s = u64::try_from(time.tv_sec()).ok()?;
    let ns = s
        .checked_mul(1_000_000_000)?
        .checked_add(u64::try_from(time.tv_nsec()).ok()?)?;
    (ns > 0).then_some(ns)
}

/// Whether a call only timed out.
pub fn is_not_yet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
