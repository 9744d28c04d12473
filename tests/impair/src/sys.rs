//! The system calls of raw sockets (packet(7)).
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::frame::VNET_HEADER;

/// Longest frame that is forwarded, in bytes without FCS: jumbo frames of 9 KiB and more fit.
const LONGEST: usize = 16_384;

/// Space for a VLAN tag that is restored.
const TAG: usize = 4;

/// Bytes of one message: the kernel's header, the frame, a tag.
const SLOT: usize = VNET_HEADER + LONGEST + TAG;

/// Messages taken by one call.
const SLOTS: usize = 32;

/// Words for the control message: its header of 16 bytes and a tpacket_auxdata of 20.
const CONTROL: usize = 8;

/// The kernel's data about one message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Message {
    /// Bytes, with the kernel's header before the frame.
    pub length: usize,
    /// The frame was longer than there is room for.
    pub truncated: bool,
    /// It left the port and did not arrive.
    pub outgoing: bool,
    /// The VLAN tag that the kernel took out.
    pub tag: Option<[u8; 4]>,
}

/// Room for messages.
pub(super) struct Batch {
    bytes: Vec<u8>,
    messages: [Message; SLOTS],
}

impl Batch {
    pub(super) fn new() -> Batch {
        Batch {
            bytes: vec![0; SLOTS * SLOT],
            messages: [Message::default(); SLOTS],
        }
    }

    /// A message, and its bytes with room for a tag behind them.
    pub(super) fn message(&mut self, number: usize) -> (Message, &mut [u8]) {
        let begin = number * SLOT;
        (self.messages[number], &mut self.bytes[begin..begin + SLOT])
    }
}

/// A raw packet socket that receives nothing yet.
pub(super) fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given this number to us and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Everything a receiver needs before it is bound: a large buffer, promiscuous mode, tags and offloads
/// shown, without the frames that leave the port.
pub(super) fn prepare_receiver(socket: &OwnedFd, index: u32, buffer: i32) -> io::Result<()> {
    if set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &buffer).is_err() {
        // Without CAP_NET_ADMIN the kernel gives what its limit allows; losses are counted in any case.
        set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &buffer)?;
    }
    set(socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, &1_i32)?;
    set(socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32)?;
    // Linux before 4.20 does not know it; there the type of each message shows it.
    let _ = set(
        socket,
        libc::SOL_PACKET,
        libc::PACKET_IGNORE_OUTGOING,
        &1_i32,
    );
    let promiscuous = libc::packet_mreq {
        mr_ifindex: signed(index)?,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(
        socket,
        libc::SOL_PACKET,
        libc::PACKET_ADD_MEMBERSHIP,
        &promiscuous,
    )
}

/// Binds to an interface, to receive all that arrives there or only to send.
pub(super) fn bind_to(socket: &OwnedFd, index: u32, receive: bool) -> io::Result<()> {
    // SAFETY: all-zero is a valid sockaddr_ll: integers and bytes.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_ifindex = signed(index)?;
    if receive {
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    }
    // SAFETY: the address is initialised, outlives the call and has the size given.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    check(result)
}

/// Takes as many messages as are there and fit, without waiting.
pub(super) fn receive_batch(socket: &OwnedFd, batch: &mut Batch) -> io::Result<usize> {
    // SAFETY: all-zero is valid for these: integers, bytes and null pointers.
    let (mut headers, mut parts, mut addresses): (
        [libc::mmsghdr; SLOTS],
        [libc::iovec; SLOTS],
        [libc::sockaddr_ll; SLOTS],
    ) = unsafe { (mem::zeroed(), mem::zeroed(), mem::zeroed()) };
    let mut controls = [[0_u64; CONTROL]; SLOTS];
    for (n, slot) in batch.bytes.chunks_exact_mut(SLOT).enumerate().take(SLOTS) {
        parts[n].iov_base = slot.as_mut_ptr().cast();
        parts[n].iov_len = VNET_HEADER + LONGEST;
        let header = &mut headers[n].msg_hdr;
        header.msg_iov = &raw mut parts[n];
        header.msg_iovlen = 1;
        header.msg_name = (&raw mut addresses[n]).cast();
        header.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        header.msg_control = controls[n].as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&controls[n]) as _;
    }
    // SAFETY: every header points to a part, an address and control words of its own, each with its true size,
    // all of which outlive the call; the parts lie inside of `batch`, which is borrowed exclusively.
    let count = unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            SLOTS as libc::c_uint,
            libc::MSG_DONTWAIT as _,
            std::ptr::null_mut(),
        )
    };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    for n in 0..count {
        batch.messages[n] = Message {
            length: (headers[n].msg_len as usize).min(VNET_HEADER + LONGEST),
            truncated: headers[n].msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            outgoing: addresses[n].sll_pkttype == libc::PACKET_OUTGOING,
            tag: tag_of(&headers[n].msg_hdr),
        };
    }
    Ok(count)
}

/// The tag in the auxiliary data of a message that was received.
fn tag_of(header: &libc::msghdr) -> Option<[u8; 4]> {
    // SAFETY: the kernel has filled the control words of this header and set their length; they are alive.
    let control = unsafe { libc::CMSG_FIRSTHDR(header) };
    if control.is_null() {
        return None;
    }
    // SAFETY: a control header that is not null lies whole inside of the control words.
    let (level, kind) = unsafe { ((*control).cmsg_level, (*control).cmsg_type) };
    if (level, kind) != (libc::SOL_PACKET, libc::PACKET_AUXDATA) {
        return None;
    }
    // SAFETY: this kind of message holds a tpacket_auxdata, which is all integers; its place may be unaligned.
    let data: libc::tpacket_auxdata =
        unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(control).cast()) };
    if data.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let kind = if data.tp_status & libc::TP_STATUS_VLAN_TPID_VALID == 0 {
        0x8100
    } else {
        data.tp_vlan_tpid
    };
    let (kind, control) = (kind.to_be_bytes(), data.tp_vlan_tci.to_be_bytes());
    Some([kind[0], kind[1], control[0], control[1]])
}

/// Sends one frame without waiting.
pub(super) fn send(socket: &OwnedFd, frame: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads `frame` within its length only, during the call.
    let sent = unsafe {
        libc::send(
            socket.as_raw_fd(),
            frame.as_ptr().cast(),
            frame.len(),
            libc::MSG_DONTWAIT,
        )
    };
    if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Attaches a filter that takes no frame.
pub(super) fn refuse_frames(socket: &OwnedFd) -> io::Result<()> {
    let mut none = libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: 0,
    };
    let program = libc::sock_fprog {
        len: 1,
        filter: &raw mut none,
    };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// `tp_drops` of PACKET_STATISTICS, which asking sets to 0.
pub(super) fn dropped(socket: &OwnedFd) -> io::Result<u64> {
    let mut statistics = libc::tpacket_stats {
        tp_packets: 0,
        tp_drops: 0,
    };
    let mut size = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes into `statistics`, which outlives the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut size,
        )
    };
    check(result)?;
    Ok(u64::from(statistics.tp_drops))
}

fn set<T>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads `value` within its size only, during the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    check(result)
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn signed(index: u32) -> io::Result<c_int> {
    c_int::try_from(index).map_err(|_| io::ErrorKind::InvalidInput.into())
}
