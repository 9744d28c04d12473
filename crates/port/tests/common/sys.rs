//! A plain AF_PACKET socket on a port, for tests that send and receive single frames.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use wirelab_port::iface::{Interface, PortName};

/// Sends and receives whole frames (without FCS) of one EtherType.
pub struct RawSocket(OwnedFd);

impl AsFd for RawSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl RawSocket {
    /// Receives only frames of `ethertype`; 3 (`ETH_P_ALL`) receives all.
    pub fn open(port: &PortName, ethertype: u16) -> RawSocket {
        let index = Interface::query(port).unwrap().index;
        let namespace = port.netns().unwrap();
        // SAFETY: no pointers; a failure is -1, which is checked.
        let fd = namespace
            .run_in(|| unsafe {
                libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0)
            })
            .unwrap();
        assert!(fd >= 0, "{}", io::Error::last_os_error());
        // SAFETY: the socket was just opened and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        set(&fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 64 << 20);
        set(&fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1);
        // SAFETY: all-zero is a valid sockaddr_ll.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ethertype.to_be();
        address.sll_ifindex = index as i32;
        // SAFETY: the address is initialised, outlives the call, and its size is the one given.
        let result = unsafe {
            libc::bind(
                fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            )
        };
        assert_eq!(result, 0, "{}", io::Error::last_os_error());
        RawSocket(fd)
    }

    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: the kernel reads only within `frame`.
        match unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// The next frame with its VLAN tag control information; `None` if none arrives within `wait`.
    pub fn receive(&self, wait: Duration) -> Option<(Vec<u8>, Option<u16>)> {
        set(&self.0, libc::SOL_PACKET, libc::PACKET_AUXDATA, 1);
        let mut poll = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one initialised pollfd that outlives the call.
        if unsafe { libc::poll(&raw mut poll, 1, wait.as_millis() as i32) } != 1 {
            return None;
        }
        let mut frame = vec![0u8; 65_536];
        let mut control = [0u64; 16];
        let mut part = libc::iovec {
            iov_base: frame.as_mut_ptr().cast(),
            iov_len: frame.len(),
        };
        // SAFETY: all-zero is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: the message points to buffers that outlive the call, with their true sizes.
        let size = unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut message, 0) };
        if size < 0 {
            return None;
        }
        frame.truncate(size as usize);
        // SAFETY: the kernel has filled the control buffer, and the walk stays inside it.
        let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
        let mut tag = None;
        if !header.is_null() {
            // SAFETY: the only requested control message is PACKET_AUXDATA, which contains a tpacket_auxdata.
            let aux: libc::tpacket_auxdata =
                unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(header).cast()) };
            if aux.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
                tag = Some(aux.tp_vlan_tci);
            }
        }
        Some((frame, tag))
    }
}

fn set(fd: &OwnedFd, level: i32, option: i32, value: i32) {
    // SAFETY: the value is an int that outlives the call, as these options want.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as u32,
        )
    };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
}

/// Takes a processor from all ordinary threads until it is dropped, for at most 800 ms: real-time priority, and no
/// sleep.
pub struct Hog {
    over: std::sync::Arc<std::sync::atomic::AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Hog {
    pub fn start(cpu: usize) -> Hog {
        use std::sync::atomic::Ordering;
        let over = std::sync::Arc::<std::sync::atomic::AtomicBool>::default();
        let flag = std::sync::Arc::clone(&over);
        let (ready, started) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::spawn(move || {
            take(cpu);
            ready.send(()).unwrap();
            let begun = std::time::Instant::now();
            while !flag.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_millis(800) {
                std::hint::spin_loop();
            }
        });
        started.recv().unwrap();
        Hog {
            over,
            thread: Some(thread),
        }
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.over.store(true, std::sync::atomic::Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Moves the calling thread to a processor, with priority over all ordinary threads.
fn take(cpu: usize) {
    // SAFETY: an all-zero set is empty, and the macro writes inside it. Both values outlive the calls, which read
    // them within the given lengths. 0 is the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        assert_eq!(
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set),
            0
        );
        let parameter = libc::sched_param { sched_priority: 10 };
        let result = libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter);
        assert_eq!(result, 0, "{}", io::Error::last_os_error());
    }
}
