//! The system calls for many messages at once (sendmmsg(2), recvmmsg(2)) and options that the standard library lacks.
//! nix does not reset the length of control messages before each `recvmmsg`, so this does.
#![allow(unsafe_code)]

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// An option of a socket: level and name.
#[derive(Clone, Copy)]
pub(crate) struct SocketOption(libc::c_int, libc::c_int);

pub(crate) const IP_MTU: SocketOption = SocketOption(libc::IPPROTO_IP, libc::IP_MTU);
pub(crate) const IPV6_MTU: SocketOption = SocketOption(libc::IPPROTO_IPV6, libc::IPV6_MTU);
pub(crate) const RECEIVE_QUEUE: SocketOption = SocketOption(libc::SOL_SOCKET, libc::SO_RCVBUF);
/// `RECEIVE_QUEUE` beyond the system's limit, which needs a privilege.
pub(crate) const RECEIVE_QUEUE_FORCE: SocketOption =
    SocketOption(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE);
pub(crate) const UDP_GRO: SocketOption = SocketOption(libc::SOL_UDP, libc::UDP_GRO);

/// Types for which any bytes are a valid value, so that the kernel may write them.
trait Plain: Copy {}
impl Plain for i32 {}
impl Plain for u64 {}
impl Plain for [u32; 9] {}
impl Plain for [u32; INFO_WORDS] {}

/// Read an option; the old value stays where the kernel writes nothing.
fn read<T: Plain>(fd: BorrowedFd<'_>, option: SocketOption, mut value: T) -> io::Result<T> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: value and length are valid for writes of the given size, any bytes are a valid value of that type, and
    // both outlive the call.
    let done = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            option.0,
            option.1,
            ptr::from_mut(&mut value).cast(),
            &raw mut len,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value)
}

/// Read an integer option.
pub(crate) fn option(fd: BorrowedFd<'_>, option: SocketOption) -> io::Result<i32> {
    read(fd, option, 0)
}

/// Set an integer option.
pub(crate) fn set_option(fd: BorrowedFd<'_>, option: SocketOption, value: i32) -> io::Result<()> {
    // SAFETY: the value is valid for reads of the given size, and outlives the call.
    let done = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            option.0,
            option.1,
            ptr::from_ref(&value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Datagrams that did not fit the socket's queue so far, modulo 2³² (SO_MEMINFO, Linux 4.12).
pub(crate) fn dropped(fd: BorrowedFd<'_>) -> io::Result<u32> {
    // SK_MEMINFO_DROPS of linux/sock_diag.h is the last of nine numbers.
    let info = read(fd, SocketOption(libc::SOL_SOCKET, libc::SO_MEMINFO), [0; 9])?;
    Ok(info[8])
}

/// Words of a connection's state up to the retransmissions: struct tcp_info of linux/tcp.h, whose first two words are
/// eight single bytes.
pub(crate) const INFO_WORDS: usize = 26;

/// The system's state of a TCP connection (TCP_INFO, tcp(7)).
pub(crate) fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<[u32; INFO_WORDS]> {
    let option = SocketOption(libc::IPPROTO_TCP, libc::TCP_INFO);
    read(fd, option, [0; INFO_WORDS])
}

/// Bytes that were written into a TCP stream and are not acknowledged (SIOCOUTQ, tcp(7)).
pub(crate) fn unacked_bytes(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes one int, which outlives the call.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// Year, month, day, hour, minute and second in this host's time zone, of a time in s since 1970 (localtime_r(3));
/// `None` if the system does not support the year.
pub(crate) fn local_time(unix_s: i64) -> Option<[i32; 6]> {
    // SAFETY: zeros are valid for this structure of numbers and a pointer, which is not followed here.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the call, which writes one structure.
    let done = unsafe { libc::localtime_r(&raw const unix_s, &raw mut parts) };
    (!done.is_null()).then_some([
        parts.tm_year + 1900,
        parts.tm_mon + 1,
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec,
    ])
}

/// The network namespace of a socket as a number that is unique until the next boot (SO_NETNS_COOKIE, Linux 5.14).
pub(crate) fn netns_cookie(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let option = SocketOption(libc::SOL_SOCKET, libc::SO_NETNS_COOKIE);
    read(fd, option, 0)
}

/// Let the sleeps of this thread end within this many ns of their time (prctl(2), PR_SET_TIMERSLACK).
pub(crate) fn set_timer_slack(ns: u32) {
    // SAFETY: the call gets a number and no memory. It can only fail for a number out of range.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, libc::c_ulong::from(ns)) };
}

/// Words of control messages for one message: a segment size and two types of time stamps, with some to spare.
const CONTROL_WORDS: usize = 24;

/// A part of a buffer that is one message.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) start: usize,
    pub(crate) len: usize,
}

/// The destination, and the length of the datagrams into which the system segments a message.
#[derive(Clone, Copy)]
pub(crate) struct Destination {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) segment: Option<u16>,
}

/// The data received with a message.
#[derive(Clone, Copy)]
pub(crate) struct Arrived {
    pub(crate) len: usize,
    pub(crate) from: SocketAddr,
    /// Length of each datagram but the last, if the system joined several.
    pub(crate) segment: Option<usize>,
    /// The system's time, CLOCK_REALTIME in ns.
    pub(crate) kernel_ns: Option<u64>,
    /// When the device received it, by its own clock, if the socket has this option.
    pub(crate) device_ns: Option<u64>,
    /// Whether it was longer than its buffer.
    pub(crate) truncated: bool,
}

/// Headers for this many messages, allocated once. Their pointers are not used after the call that set them.
pub(crate) struct Messages {
    headers: Box<[libc::mmsghdr]>,
    pieces: Box<[libc::iovec]>,
    names: Box<[libc::sockaddr_storage]>,
    control: Box<[[u64; CONTROL_WORDS]]>,
}

// SAFETY: the pointers in it are set before each call and not followed between calls.
unsafe impl Send for Messages {}

impl Messages {
    pub(crate) fn new(most: usize) -> Messages {
        // SAFETY: all of these are plain C structures for which zeros are valid.
        let (header, name) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let piece = libc::iovec {
            iov_base: ptr::null_mut(),
            iov_len: 0,
        };
        Messages {
            headers: vec![header; most].into_boxed_slice(),
            pieces: vec![piece; most].into_boxed_slice(),
            names: vec![name; most].into_boxed_slice(),
            control: vec![[0; CONTROL_WORDS]; most].into_boxed_slice(),
        }
    }

    /// Send parts of a buffer, each as one message, as many as there are headers; returns how many were sent.
    pub(crate) fn send(
        &mut self,
        fd: BorrowedFd<'_>,
        buf: &[u8],
        pieces: impl Iterator<Item = Piece>,
        to: Destination,
        wait: bool,
    ) -> io::Result<usize> {
        let name_len = to
            .address
            .map_or(0, |to| write_name(&mut self.names[0], to));
        let control_len = to
            .segment
            .map_or(0, |bytes| write_segment(&mut self.control[0], bytes));
        let mut count = 0;
        for (piece, (iov, header)) in pieces.zip(self.pieces.iter_mut().zip(&mut self.headers)) {
            let bytes = &buf[piece.start..piece.start + piece.len];
            // sendmmsg only reads the data.
            iov.iov_base = bytes.as_ptr().cast_mut().cast();
            iov.iov_len = bytes.len();
            let header = &mut header.msg_hdr;
            header.msg_iov = iov;
            header.msg_iovlen = 1;
            header.msg_namelen = name_len;
            header.msg_name = match name_len {
                0 => ptr::null_mut(),
                _ => ptr::from_mut(&mut self.names[0]).cast(),
            };
            header.msg_controllen = control_len as _;
            header.msg_control = match control_len {
                0 => ptr::null_mut(),
                _ => self.control[0].as_mut_ptr().cast(),
            };
            count += 1;
        }
        let flags = match wait {
            true => libc::MSG_NOSIGNAL,
            false => libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
        };
        // SAFETY: the first `count` headers point to one part each, inside `buf`, and to name and control message of
        // `self`, with their lengths. All are borrowed for the whole call, which only reads them.
        let sent =
            unsafe { libc::sendmmsg(fd.as_raw_fd(), self.headers.as_mut_ptr(), count, flags as _) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(sent as usize)
    }

    /// Receive at least one message, and all others that wait, each into its own part of a buffer: the first `room`
    /// bytes of every `stride`. Returns their number.
    pub(crate) fn receive(
        &mut self,
        fd: BorrowedFd<'_>,
        buf: &mut [u8],
        room: usize,
        stride: usize,
        wait: bool,
    ) -> io::Result<usize> {
        let mut count = 0;
        let parts = self
            .pieces
            .iter_mut()
            .zip(&mut self.names)
            .zip(&mut self.control);
        for ((header, bytes), ((iov, name), control)) in self
            .headers
            .iter_mut()
            .zip(buf.chunks_exact_mut(stride))
            .zip(parts)
        {
            let bytes = &mut bytes[..room];
            iov.iov_base = bytes.as_mut_ptr().cast();
            iov.iov_len = bytes.len();
            let header = &mut header.msg_hdr;
            header.msg_iov = iov;
            header.msg_iovlen = 1;
            header.msg_name = ptr::from_mut(name).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = size_of_val(control) as _;
            header.msg_flags = 0;
            count += 1;
        }
        let flags = match wait {
            true => libc::MSG_WAITFORONE,
            false => libc::MSG_DONTWAIT,
        };
        // SAFETY: the first `count` headers point to one part each, a name and a control buffer, none of which
        // overlap, with their lengths. All are borrowed exclusively for the whole call.
        let arrived = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count,
                flags as _,
                ptr::null_mut(),
            )
        };
        if arrived < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(arrived as usize)
    }

    /// The data received with a message of the last [`Messages::receive`]; `None` if its sender's address family is
    /// unknown.
    pub(crate) fn arrived(&self, at: usize) -> Option<Arrived> {
        let (header, control) = (self.headers.get(at)?, &self.control[at]);
        let mut arrived = Arrived {
            len: header.msg_len as usize,
            from: read_name(&self.names[at], header.msg_hdr.msg_namelen)?,
            segment: None,
            kernel_ns: None,
            device_ns: None,
            truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
        };
        read_control(control, header.msg_hdr.msg_controllen as _, &mut arrived);
        Some(arrived)
    }
}

/// Bytes from one control message to the next (cmsg(3)).
const fn aligned(bytes: usize) -> usize {
    bytes.next_multiple_of(size_of::<usize>())
}

const HEADER: usize = aligned(size_of::<libc::cmsghdr>());

fn write_segment(control: &mut [u64; CONTROL_WORDS], bytes: u16) -> usize {
    // SAFETY: a plain C structure for which zeros are valid.
    let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
    header.cmsg_len = (HEADER + size_of::<u16>()) as _;
    header.cmsg_level = libc::SOL_UDP;
    header.cmsg_type = libc::UDP_SEGMENT;
    let start = control.as_mut_ptr().cast::<u8>();
    // SAFETY: the buffer has 192 bytes at an alignment of 8, which is enough for a header and a u16 after it.
    unsafe {
        start.cast::<libc::cmsghdr>().write(header);
        start.add(HEADER).cast::<u16>().write(bytes);
    }
    HEADER + aligned(size_of::<u16>())
}

fn read_control(control: &[u64; CONTROL_WORDS], len: usize, arrived: &mut Arrived) {
    let len = len.min(size_of_val(control));
    let start = control.as_ptr().cast::<u8>();
    let mut at = 0;
    while at + HEADER <= len {
        // SAFETY: inside the buffer, and aligned: `at` is a multiple of 8, as is the start of the buffer.
        let header = unsafe { start.add(at).cast::<libc::cmsghdr>().read() };
        let bytes: usize = header.cmsg_len as _;
        if bytes < HEADER || at + bytes > len {
            return;
        }
        let data = bytes - HEADER;
        // SAFETY: the data lie inside the buffer, since `at + bytes` does.
        let pointer = unsafe { start.add(at + HEADER) };
        match (header.cmsg_level, header.cmsg_type) {
            (libc::SOL_UDP, libc::UDP_GRO) if data >= size_of::<libc::c_int>() => {
                // SAFETY: this many bytes are there, in any alignment.
                let segment = unsafe { pointer.cast::<libc::c_int>().read_unaligned() };
                arrived.segment = usize::try_from(segment).ok().filter(|bytes| *bytes > 0);
            }
            // SO_TIMESTAMPING has three times: the first by the system's clock, the last by the device's.
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS | libc::SCM_TIMESTAMPING) => {
                let times = data / size_of::<libc::timespec>();
                let time = |n: usize| {
                    // SAFETY: this many bytes are there, in any alignment.
                    let read =
                        || unsafe { pointer.cast::<libc::timespec>().add(n).read_unaligned() };
                    (n < times).then(read).and_then(time_ns)
                };
                arrived.kernel_ns = time(0).or(arrived.kernel_ns);
                arrived.device_ns = time(2).or(arrived.device_ns);
            }
            _ => {}
        }
        at += aligned(bytes);
    }
}

/// A time in ns; `None` for a negative one or 0, which stands for no time.
fn time_ns(time: libc::timespec) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let ns = seconds
        .checked_mul(1_000_000_000)?
        .checked_add(u64::try_from(time.tv_nsec).ok()?)?;
    Some(ns).filter(|ns| *ns > 0)
}

fn write_name(name: &mut libc::sockaddr_storage, to: SocketAddr) -> libc::socklen_t {
    let pointer = ptr::from_mut(name);
    match to {
        SocketAddr::V4(to) => {
            let v4 = libc::sockaddr_in {
                sin_family: libc::AF_INET as _,
                sin_port: to.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(to.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: sockaddr_storage has space and alignment for any address.
            unsafe { pointer.cast::<libc::sockaddr_in>().write(v4) };
            size_of::<libc::sockaddr_in>() as _
        }
        SocketAddr::V6(to) => {
            let v6 = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as _,
                sin6_port: to.port().to_be(),
                sin6_flowinfo: to.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: to.ip().octets(),
                },
                sin6_scope_id: to.scope_id(),
            };
            // SAFETY: as above.
            unsafe { pointer.cast::<libc::sockaddr_in6>().write(v6) };
            size_of::<libc::sockaddr_in6>() as _
        }
    }
}

fn read_name(name: &libc::sockaddr_storage, len: libc::socklen_t) -> Option<SocketAddr> {
    let (len, pointer) = (len as usize, ptr::from_ref(name));
    match i32::from(name.ss_family) {
        libc::AF_INET if len >= size_of::<libc::sockaddr_in>() => {
            // SAFETY: sockaddr_storage has space and alignment for any address, and the family identifies it.
            let v4 = unsafe { pointer.cast::<libc::sockaddr_in>().read() };
            let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 if len >= size_of::<libc::sockaddr_in6>() => {
            // SAFETY: as above.
            let v6 = unsafe { pointer.cast::<libc::sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A buffer of control messages, each with these bytes, and its length.
    fn control(messages: &[(i32, i32, Vec<u8>)]) -> ([u64; CONTROL_WORDS], usize) {
        let mut bytes = Vec::new();
        for (level, kind, data) in messages {
            let length = HEADER + data.len();
            bytes.extend(length.to_ne_bytes());
            bytes.extend(level.to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(data);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        let mut words = [0; CONTROL_WORDS];
        for (word, eight) in words.iter_mut().zip(bytes.chunks(8)) {
            *word = u64::from_ne_bytes(eight.try_into().unwrap());
        }
        (words, bytes.len())
    }

    fn nothing() -> Arrived {
        Arrived {
            len: 0,
            from: SocketAddr::from(([0, 0, 0, 0], 0)),
            segment: None,
            kernel_ns: None,
            device_ns: None,
            truncated: false,
        }
    }

    fn times(all: &[(i64, i64)]) -> Vec<u8> {
        let each = all
            .iter()
            .flat_map(|(s, ns)| [s.to_ne_bytes(), ns.to_ne_bytes()]);
        each.flatten().collect()
    }

    fn arrived(messages: &[(i32, i32, Vec<u8>)]) -> Arrived {
        let (words, len) = control(messages);
        let mut arrived = nothing();
        read_control(&words, len, &mut arrived);
        arrived
    }

    #[test]
    fn times_of_kernel_and_device_are_read_from_their_places() {
        let (level, kernel, all) = (
            libc::SOL_SOCKET,
            libc::SCM_TIMESTAMPNS,
            libc::SCM_TIMESTAMPING,
        );
        let both = arrived(&[
            (level, kernel, times(&[(1, 5)])),
            (level, all, times(&[(0, 0), (9, 9), (2, 7)])),
        ]);
        assert_eq!(
            (both.kernel_ns, both.device_ns),
            (Some(1_000_000_005), Some(2_000_000_007))
        );
        let system = arrived(&[(level, all, times(&[(3, 1), (0, 0), (0, 0)]))]);
        assert_eq!(
            (system.kernel_ns, system.device_ns),
            (Some(3_000_000_001), None)
        );
        let cut = arrived(&[(level, all, times(&[(3, 1), (0, 0)]))]);
        assert_eq!((cut.kernel_ns, cut.device_ns), (Some(3_000_000_001), None));
        let wrong = arrived(&[(level, all, times(&[(-1, 1), (0, 0), (i64::MAX, 0)]))]);
        assert_eq!((wrong.kernel_ns, wrong.device_ns), (None, None));
        let joined = arrived(&[
            (libc::SOL_UDP, libc::UDP_GRO, 1470i32.to_ne_bytes().to_vec()),
            (level, all, times(&[(0, 0), (0, 0), (0, 8)])),
        ]);
        assert_eq!((joined.segment, joined.device_ns), (Some(1470), Some(8)));
    }

    proptest! {
        #[test]
        fn no_control_message_makes_it_panic(words in prop::array::uniform24(any::<u64>()), len in 0usize..400, kind in 0i32..70) {
            let mut arrived = nothing();
            read_control(&words, len, &mut arrived);
            let mut message = words;
            message[0] = words[0] % 200;
            message[1] = u64::from(kind.unsigned_abs()) << 32 | libc::SOL_SOCKET as u64;
            read_control(&message, len, &mut arrived);
        }
    }
}
