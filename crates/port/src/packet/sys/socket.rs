//! A packet socket: opened in the port's namespace, bound to its interface.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Frames that one system call takes.
pub(in crate::packet) const MOST_FRAMES: usize = 32;

/// An AF_PACKET socket that sees and sends whole frames.
pub(in crate::packet) struct PacketSocket(OwnedFd);

impl AsRawFd for PacketSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl PacketSocket {
    /// Opens a socket in the namespace of the calling thread, to which it then belongs. It receives nothing until it
    /// is bound.
    pub(in crate::packet) fn open() -> io::Result<PacketSocket> {
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and only this value owns it.
        Ok(PacketSocket(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Binds to an interface, to receive frames of an EtherType on it and to send with that EtherType.
    pub(in crate::packet) fn bind(&self, interface: u32, ethertype: u16) -> io::Result<()> {
        // SAFETY: all zeros is a valid address.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ethertype.to_be();
        address.sll_ifindex = interface as i32;
        // SAFETY: the address outlives the call, and its length is given.
        let result = unsafe {
            libc::bind(
                self.as_raw_fd(),
                (&raw const address).cast(),
                mem::size_of_val(&address) as u32,
            )
        };
        check(result)
    }

    /// Sets a socket option whose C type is `T`.
    pub(in crate::packet) fn set<T: Copy>(
        &self,
        level: i32,
        name: i32,
        value: &T,
    ) -> io::Result<()> {
        // SAFETY: the value outlives the call, and its length is given; the kernel only reads it.
        let result = unsafe {
            libc::setsockopt(
                self.as_raw_fd(),
                level,
                name,
                (&raw const *value).cast(),
                mem::size_of::<T>() as u32,
            )
        };
        check(result)
    }

    /// Drops everything that arrives at this socket, before it is copied.
    pub(in crate::packet) fn hear_nothing(&self) -> io::Result<()> {
        self.hear(&mut [libc::sock_filter {
            code: (libc::BPF_RET | libc::BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: 0,
        }])
    }

    /// Receives only the frames that a program of at most 65,535 instructions passes.
    pub(in crate::packet) fn hear(&self, program: &mut [libc::sock_filter]) -> io::Result<()> {
        let filter = libc::sock_fprog {
            len: program.len() as u16,
            filter: program.as_mut_ptr(),
        };
        self.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)
    }

    /// Receives frames to any address.
    pub(in crate::packet) fn promiscuous(&self, interface: u32) -> io::Result<()> {
        let membership = libc::packet_mreq {
            mr_ifindex: interface as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
    }

    /// Sends frames that lie `stride` bytes apart in `memory`, each with its length, without waiting; returns how
    /// many the kernel took.
    pub(in crate::packet) fn send_frames(
        &self,
        memory: &mut [u8],
        stride: usize,
        lengths: &[usize],
    ) -> io::Result<usize> {
        let count = lengths.len().min(MOST_FRAMES);
        // SAFETY: all zeros is a valid value of both: empty messages.
        let mut parts: [libc::iovec; MOST_FRAMES] = unsafe { mem::zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; MOST_FRAMES] = unsafe { mem::zeroed() };
        for (i, (length, frame)) in lengths
            .iter()
            .zip(memory.chunks_mut(stride))
            .enumerate()
            .take(count)
        {
            parts[i].iov_base = frame[..*length].as_mut_ptr().cast();
            parts[i].iov_len = *length;
            messages[i].msg_hdr.msg_iov = &raw mut parts[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: the first `count` messages point to parts, and these to frames inside `memory`; all outlive the
        // call.
        let sent = unsafe {
            let messages = messages.as_mut_ptr();
            libc::sendmmsg(self.as_raw_fd(), messages, count as u32, libc::MSG_DONTWAIT)
        };
        check(sent).map(|()| sent as usize)
    }

    /// Takes a received frame without waiting; returns its length. A frame longer than `buffer` is cut.
    pub(in crate::packet) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let flags = nix::sys::socket::MsgFlags::MSG_DONTWAIT;
        Ok(nix::sys::socket::recv(self.as_raw_fd(), buffer, flags)?)
    }

    /// Lets the kernel send the ready slots of the transmit ring, without waiting.
    pub(in crate::packet) fn kick(&self) -> io::Result<()> {
        // SAFETY: no data are given.
        let result =
            unsafe { libc::send(self.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        check(result.clamp(-1, 0) as i32)
    }

    /// Memory in bytes of sent frames that have not left yet (SIOCOUTQ, packet(7)); 0 if unknown.
    pub(in crate::packet) fn unsent_bytes(&self) -> usize {
        let mut bytes: i32 = 0;
        // SAFETY: the request writes one int, which outlives the call.
        let result = unsafe { libc::ioctl(self.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
        match result {
            0 => usize::try_from(bytes).unwrap_or(0),
            _ => 0,
        }
    }

    /// Waits for one of `events` (poll(2)) for at most `patience`; returns those that occurred, or 0.
    pub(in crate::packet) fn wait(&self, events: i16, patience: Duration) -> i16 {
        let mut poll = libc::pollfd {
            fd: self.as_raw_fd(),
            events,
            revents: 0,
        };
        // SAFETY: one entry, which outlives the call.
        let found = unsafe { libc::poll(&raw mut poll, 1, patience.as_millis() as i32) };
        if found > 0 { poll.revents } else { 0 }
    }

    /// Takes the pending error of the socket, e.g. that its interface is down.
    pub(in crate::packet) fn take_error(&self) -> Option<io::Error> {
        let mut number: i32 = 0;
        self.get(libc::SOL_SOCKET, libc::SO_ERROR, &mut number)
            .ok()?;
        (number != 0).then(|| io::Error::from_raw_os_error(number))
    }

    /// Frames that arrived and frames that did not fit the ring, since the last call.
    pub(in crate::packet) fn take_statistics(&self) -> io::Result<(u32, u32)> {
        let mut found = libc::tpacket_stats_v3 {
            tp_packets: 0,
            tp_drops: 0,
            tp_freeze_q_cnt: 0,
        };
        self.get(libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut found)?;
        Ok((found.tp_packets, found.tp_drops))
    }

    fn get<T: Copy>(&self, level: i32, name: i32, value: &mut T) -> io::Result<()> {
        let mut length = mem::size_of::<T>() as u32;
        // SAFETY: the kernel writes at most `length` bytes into the value, and every bit pattern is valid for the
        // plain C types used here.
        let result = unsafe {
            libc::getsockopt(
                self.as_raw_fd(),
                level,
                name,
                (&raw mut *value).cast(),
                &raw mut length,
            )
        };
        check(result)
    }
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
