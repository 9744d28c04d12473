//! Time stamps of the kernel and of network devices, and their conversion from CLOCK_REALTIME to CLOCK_MONOTONIC.
//!
//! A stamp is used only if it lies between two times that the application recorded around it. Stepping the wall clock
//! so makes stamps unusable, but no figure wrong.

use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, TimestampingFlag, cmsg_space, getsockopt,
    recvmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;
use wirelab_trial::host_clock::WallOffset;

/// How long an offset between the two clocks is used before it is read again, in ns.
const OFFSET_NS: u64 = 50_000_000;

/// Space for the control messages of one stamp: three times, the number of the datagram, an address.
const CONTROL_BYTES: usize = 256;

/// Converts stamps, and refuses those that cannot be right.
#[derive(Debug)]
pub(crate) struct KernelClock {
    offset: WallOffset,
    read_ns: u64,
    /// Stamps that were not between the times around them.
    refused: u64,
    /// Steps of the wall clock.
    steps: u64,
}

impl KernelClock {
    pub(crate) fn new(now_ns: u64) -> KernelClock {
        KernelClock {
            offset: WallOffset::read(),
            read_ns: now_ns,
            refused: 0,
            steps: 0,
        }
    }

    /// The monotonic time of a stamp, if it lies between two monotonic times; otherwise `None`.
    #[inline]
    pub(crate) fn monotonic(&mut self, unix_ns: u64, earliest_ns: u64, now_ns: u64) -> Option<u64> {
        if now_ns.saturating_sub(self.read_ns) > OFFSET_NS {
            self.look_again(WallOffset::read(), now_ns);
        }
        let usable = between(self.offset, unix_ns, earliest_ns, now_ns);
        self.refused += u64::from(usable.is_none());
        usable
    }

    fn look_again(&mut self, offset: WallOffset, now_ns: u64) {
        self.steps += u64::from(self.offset.step_to(offset).is_some());
        (self.offset, self.read_ns) = (offset, now_ns);
    }

    /// A note on the stamps for the reader, if there is one.
    pub(crate) fn note(&self) -> Option<String> {
        (self.refused > 0 || self.steps > 0).then(|| {
            format!(
                "{} time stamps of the kernel did not fit the times around them ({} steps of the wall clock); the application's times are used instead",
                self.refused, self.steps
            )
        })
    }
}

/// The monotonic time of a wall time, if it lies between the two within the uncertainty of the offset.
fn between(offset: WallOffset, unix_ns: u64, earliest_ns: u64, latest_ns: u64) -> Option<u64> {
    let ns = offset.to_monotonic(unix_ns);
    let slack = offset.uncertainty_ns;
    let fits = ns.saturating_add(slack) >= earliest_ns && ns <= latest_ns.saturating_add(slack);
    fits.then(|| ns.clamp(earliest_ns, latest_ns.max(earliest_ns)))
}

/// Stamps of received datagrams by the device; they cost nothing on a device without stamps.
const BY_DEVICE: TimestampingFlag = TimestampingFlag::SOF_TIMESTAMPING_RX_HARDWARE
    .union(TimestampingFlag::SOF_TIMESTAMPING_RAW_HARDWARE);

/// Let the kernel stamp each received datagram, and the device where its stamps are switched on. Without either, there are
/// no stamps.
pub(crate) fn stamp_arrivals(socket: &UdpSocket) {
    let _ = setsockopt(socket, sockopt::ReceiveTimestampns, &true);
    let _one_at_a_time = setting();
    let now = getsockopt(socket, sockopt::Timestamping).unwrap_or(TimestampingFlag::empty());
    let _ = setsockopt(socket, sockopt::Timestamping, &(now | BY_DEVICE));
}

/// A lock for changes of these options: sender and receiver of one socket each add to the stamps that are set.
fn setting() -> MutexGuard<'static, ()> {
    static SETTING: Mutex<()> = Mutex::new(());
    SETTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long an offset between the clocks of device and system is used, in ns: at 50 ppm they drift 5 µs apart meanwhile.
const CARD_NS: u64 = 100_000_000;

/// The time of a device's clock by that of the system.
///
/// The kernel stamps a datagram after the device does, and later by the time of an interrupt and of other work. The smallest
/// difference of the two stamps is nearest to the offset of the clocks, so a datagram that waited for the kernel is not late
/// here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CardClock {
    /// Smallest distances of this window and of the one before, kernel less device, in ns.
    nearest: [Option<i128>; 2],
    since_ns: u64,
    /// Datagrams with a stamp of the device, and others.
    stamped: u64,
    others: u64,
}

impl CardClock {
    /// The system's time of a device's stamp; `kernel_ns` is the kernel's stamp of the same datagram.
    pub(crate) fn system_ns(&mut self, device_ns: u64, kernel_ns: u64) -> u64 {
        self.stamped += 1;
        if kernel_ns.saturating_sub(self.since_ns) > CARD_NS {
            self.since_ns = kernel_ns;
            self.nearest = [None, self.nearest[0]];
        }
        let distance = i128::from(kernel_ns) - i128::from(device_ns);
        let here = self.nearest[0].map_or(distance, |known| known.min(distance));
        self.nearest[0] = Some(here);
        let offset = self.nearest[1].map_or(here, |before| before.min(here));
        let ns = i128::from(device_ns) + offset;
        u64::try_from(ns).unwrap_or(0).min(kernel_ns)
    }

    /// A datagram without a stamp of the device.
    pub(crate) fn missed(&mut self) {
        self.others += 1;
    }

    /// Whether the device stamped every datagram so far: stamps that only some datagrams have are not used.
    pub(crate) const fn stamps_all(&self) -> bool {
        self.others == 0
    }

    /// Whether the device stamped every datagram, and there were some.
    pub(crate) const fn stamped_all(&self) -> bool {
        self.stamped > 0 && self.stamps_all()
    }
}

/// The stamps of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StampKinds {
    /// No more; those already made can still be fetched.
    Nothing,
    /// Of sent datagrams, by the kernel.
    Departures,
    /// Of sent and received datagrams, by the kernel and by the device if it supports it.
    Both,
}

/// Set which stamps are made (SO_TIMESTAMPING; Documentation/networking/timestamping.rst).
pub(crate) fn want(socket: &UdpSocket, want: StampKinds) -> io::Result<()> {
    use TimestampingFlag as Flag;
    // Stamps are returned with the number of the send call, without the datagram.
    let report = Flag::SOF_TIMESTAMPING_SOFTWARE
        | Flag::SOF_TIMESTAMPING_OPT_ID
        | Flag::SOF_TIMESTAMPING_OPT_TSONLY;
    let make = match want {
        StampKinds::Nothing => Flag::empty(),
        StampKinds::Departures => Flag::SOF_TIMESTAMPING_TX_SOFTWARE,
        StampKinds::Both => {
            Flag::SOF_TIMESTAMPING_TX_SOFTWARE
                | Flag::SOF_TIMESTAMPING_RX_SOFTWARE
                | Flag::SOF_TIMESTAMPING_TX_HARDWARE
                | Flag::SOF_TIMESTAMPING_RX_HARDWARE
                | Flag::SOF_TIMESTAMPING_RAW_HARDWARE
                // Otherwise the kernel keeps its own stamp to itself if the device stamps (Linux 4.13).
                | Flag::from_bits_retain(libc::SOF_TIMESTAMPING_OPT_TX_SWHW)
        }
    };
    let _one_at_a_time = setting();
    // Arrivals by the device stay as they are.
    let now = getsockopt(socket, sockopt::Timestamping).unwrap_or(Flag::empty());
    let make = make | (now & BY_DEVICE);
    if want != StampKinds::Nothing {
        // Numbers start at 0 when stamps are requested again; leftovers of an earlier run are dropped.
        setsockopt(socket, sockopt::Timestamping, &Flag::empty())?;
        let mut old = Fetcher::new(64);
        while old.departure(socket)?.is_some() {}
    }
    Ok(setsockopt(socket, sockopt::Timestamping, &(report | make))?)
}

/// The stamps of one datagram, each in ns of its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// CLOCK_REALTIME of the kernel.
    pub(crate) kernel_ns: Option<u64>,
    /// The device's own clock.
    pub(crate) device_ns: Option<u64>,
}

fn ns(time: TimeSpec) -> Option<u64> {
    let ns = u64::try_from(time.tv_sec())
        .ok()?
        .checked_mul(1_000_000_000)?;
    ns.checked_add(u64::try_from(time.tv_nsec()).ok()?)
        .filter(|ns| *ns > 0)
}

/// Fetches datagrams one by one with their stamps. It allocates only in [`Fetcher::new`].
pub(crate) struct Fetcher {
    buf: Vec<u8>,
    control: Vec<u8>,
}

/// A received datagram with its stamps.
pub(crate) struct Fetched<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) stamp: Stamp,
}

/// A sent datagram: the number of its send call, counted from the first request for stamps, and its stamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) number: u32,
    pub(crate) stamp: Stamp,
}

impl Fetcher {
    /// With a buffer for a datagram of `bytes`.
    pub(crate) fn new(bytes: usize) -> Fetcher {
        Fetcher {
            buf: vec![0; bytes],
            control: vec![0; CONTROL_BYTES.max(cmsg_space::<[u64; 16]>())],
        }
    }

    /// The next received datagram, within the socket's timeout or at once.
    ///
    /// # Errors
    /// The kernel's error; none in time is [`io::ErrorKind::WouldBlock`].
    pub(crate) fn arrival(&mut self, socket: &UdpSocket, wait: bool) -> io::Result<Fetched<'_>> {
        let flags = match wait {
            true => MsgFlags::empty(),
            false => MsgFlags::MSG_DONTWAIT,
        };
        let (len, stamp, _) = self.fetch(socket, flags)?;
        Ok(Fetched {
            bytes: &self.buf[..len],
            stamp,
        })
    }

    /// The next stamp of a sent datagram; `None` if none is there yet.
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn departure(&mut self, socket: &UdpSocket) -> io::Result<Option<Departure>> {
        loop {
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            match self.fetch(socket, flags) {
                Ok((_, stamp, Some(number))) => return Ok(Some(Departure { number, stamp })),
                // Another type of error message, e.g. of ICMP.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn fetch(
        &mut self,
        socket: &UdpSocket,
        flags: MsgFlags,
    ) -> io::Result<(usize, Stamp, Option<u32>)> {
        let mut room = [IoSliceMut::new(&mut self.buf)];
        let control = Some(&mut self.control[..]);
        let message = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut room, control, flags)?;
        let (stamp, number) = read(message.cmsgs()?);
        Ok((message.bytes, stamp, number))
    }
}

/// The stamps in control messages, and the number of their send call.
fn read(controls: impl Iterator<Item = ControlMessageOwned>) -> (Stamp, Option<u32>) {
    let (mut stamp, mut number) = (Stamp::default(), None);
    for control in controls {
        match control {
            ControlMessageOwned::ScmTimestampsns(times) => {
                // One message has the kernel's time or the device's, not always both.
                stamp.kernel_ns = ns(times.system).or(stamp.kernel_ns);
                stamp.device_ns = ns(times.hw_raw).or(stamp.device_ns);
            }
            ControlMessageOwned::ScmTimestampns(time) => {
                stamp.kernel_ns = ns(time).or(stamp.kernel_ns);
            }
            ControlMessageOwned::Ipv4RecvErr(error, _)
                if error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING =>
            {
                number = Some(error.ee_data);
            }
            ControlMessageOwned::Ipv6RecvErr(error, _)
                if error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING =>
            {
                number = Some(error.ee_data);
            }
            _ => {}
        }
    }
    (stamp, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::Timestamps;
    use wirelab_trial::host_clock::now_ns;

    #[test]
    fn control_messages_have_the_kernels_time_the_devices_and_a_number() {
        let time = |s, ns| TimeSpec::new(s, ns);
        let (none, error) = (time(0, 0), |origin| libc::sock_extended_err {
            ee_errno: libc::ENOMSG as u32,
            ee_origin: origin,
            ee_type: 0,
            ee_code: 0,
            ee_pad: 0,
            ee_info: 0,
            ee_data: 41,
        });
        let stamps = |system, hw_raw| {
            ControlMessageOwned::ScmTimestampsns(Timestamps {
                system,
                hw_trans: time(9, 9),
                hw_raw,
            })
        };
        let of_stamps =
            ControlMessageOwned::Ipv4RecvErr(error(libc::SO_EE_ORIGIN_TIMESTAMPING), None);
        let of_icmp = ControlMessageOwned::Ipv4RecvErr(error(libc::SO_EE_ORIGIN_ICMP), None);
        let both = [
            ControlMessageOwned::ScmTimestampns(time(1, 5)),
            stamps(none, time(2, 7)),
            of_stamps,
        ];
        let (stamp, number) = read(both.into_iter());
        assert_eq!(
            (stamp.kernel_ns, stamp.device_ns),
            (Some(1_000_000_005), Some(2_000_000_007))
        );
        assert_eq!(number, Some(41));
        let (stamp, number) = read([stamps(time(3, 0), none), of_icmp].into_iter());
        assert_eq!(
            (stamp.kernel_ns, stamp.device_ns),
            (Some(3_000_000_000), None)
        );
        assert_eq!(number, None, "an error of the network is not a stamp");
        let (stamp, _) = read([stamps(time(-1, 0), time(0, -5))].into_iter());
        assert_eq!(stamp, Stamp::default());
    }

    #[test]
    fn a_cards_clock_leaves_out_how_late_the_kernel_was() {
        let mut card = CardClock::default();
        assert!(!card.stamped_all());
        // The card's clock is an hour behind, and the kernel 2 to 40 µs later than the card.
        let hour = 3_600_000_000_000;
        for (device, late) in [(1_000, 2_000), (51_000, 40_000), (101_000, 3_000)] {
            let kernel = hour + device + late;
            assert_eq!(
                card.system_ns(device, kernel),
                hour + device + 2_000,
                "{late}"
            );
        }
        assert!(card.stamped_all());
        // It drifts by 1 µs in each of three windows, whose offsets follow.
        let mut drifted = 0;
        for window in 1..=4u64 {
            drifted = window * 1_000;
            let device = window * 150_000_000;
            let kernel = hour + device + drifted + 2_000;
            assert!(card.system_ns(device, kernel) <= kernel);
        }
        let device = 601_000_000;
        let ns = card.system_ns(device, hour + device + drifted + 90_000);
        assert!(
            ns.abs_diff(hour + device + drifted + 2_000) <= 1_000,
            "{ns}"
        );
        card.missed();
        assert!(!card.stamped_all());
    }

    #[test]
    fn a_stamp_must_lie_between_the_times_around_it() {
        let offset = WallOffset::of(1_000_000_000_000, 30);
        let stamp = |ns: u64| 1_000_000_000_000 + ns;
        assert_eq!(between(offset, stamp(500), 400, 600), Some(500));
        // Outside by the uncertainty of the offset: the nearest possible time.
        assert_eq!(between(offset, stamp(380), 400, 600), Some(400));
        assert_eq!(between(offset, stamp(620), 400, 600), Some(600));
        // The wall clock was stepped, forward and back.
        assert_eq!(between(offset, stamp(1_000_000), 400, 600), None);
        assert_eq!(between(offset, stamp(0) - 1_000_000, 400, 600), None);
    }

    #[test]
    fn a_step_of_the_wall_clock_is_reported_and_its_stamps_are_refused() {
        let before = WallOffset::of(1_000_000_000_000, 30);
        let mut clock = KernelClock {
            offset: before,
            read_ns: 0,
            refused: 0,
            steps: 0,
        };
        assert_eq!(clock.monotonic(1_000_000_000_500, 400, 600), Some(500));
        assert_eq!(clock.note(), None);
        // An hour forward: the kernel's stamps do not fit until the offset is read again.
        let stepped = 3_601_000_000_000;
        assert_eq!(clock.monotonic(1_000_000_000_500 + stepped, 400, 600), None);
        clock.look_again(WallOffset::of(1_000_000_000_000 + stepped, 30), 700);
        assert_eq!(
            clock.monotonic(1_000_000_000_800 + stepped, 700, 900),
            Some(800)
        );
        let note = clock.note().unwrap();
        assert!(
            note.starts_with("1 time stamps") && note.contains("1 steps"),
            "{note}"
        );
    }

    #[test]
    fn the_kernel_stamps_what_leaves_and_what_comes() {
        let [a, b] = [0; 2].map(|_: i32| UdpSocket::bind("127.0.0.1:0").unwrap());
        a.connect(b.local_addr().unwrap()).unwrap();
        b.set_read_timeout(Some(std::time::Duration::from_secs(10)))
            .unwrap();
        stamp_arrivals(&b);
        want(&a, StampKinds::Departures).unwrap();
        // Its receiver may begin after its sender.
        stamp_arrivals(&a);
        let before = now_ns();
        a.send(b"one").unwrap();
        want(&a, StampKinds::Nothing).unwrap();
        a.send(b"two").unwrap();
        let mut fetcher = Fetcher::new(100);
        let arrival = fetcher.arrival(&b, true).unwrap();
        assert_eq!(arrival.bytes, b"one");
        let arrived = arrival.stamp.kernel_ns;
        let now = now_ns();
        let mut clock = KernelClock::new(now);
        let arrived = clock.monotonic(arrived.unwrap(), before, now).unwrap();
        let left = fetcher.departure(&a).unwrap().unwrap();
        assert_eq!(left.number, 0);
        let left = clock.monotonic(left.stamp.kernel_ns.unwrap(), before, now);
        assert!(left.unwrap() <= arrived);
        assert!(
            fetcher.departure(&a).unwrap().is_none(),
            "the second was not requested"
        );
    }
}
