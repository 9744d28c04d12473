//! Arrived datagrams that this host dropped itself: in a socket's queue, and in the queues before it.

use std::fs;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use wirelab_trial::Counts;
use wirelab_trial::job::{Missed, UDP_MAX_SEGMENTS};

use crate::sys;

/// Most bytes of datagrams that the system joins in one buffer.
const MOST_JOINED_BYTES: u64 = 65_535;

/// Counters of the system at one time.
#[derive(Clone, Copy, Debug)]
pub struct Drops {
    /// Of the socket since it was made: no space in its queue, and wrong checksums.
    all: Option<u32>,
    /// Of all sockets in its network namespace. `None` if that is not this thread's.
    sockets: Option<Sockets>,
    /// Of the queues before the sockets.
    rings: Rings,
}

/// Drops of all sockets in a network namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sockets {
    no_room: u64,
    damaged: u64,
}

/// Buffers that were dropped between two times. The system counts buffers, not the datagrams joined in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// By the socket's queue, certainly.
    at_least: u64,
    /// By the socket's queue, at most.
    at_most: u64,
    /// By the queues before it, at most: they also hold traffic of others.
    rings: u64,
}

impl Drops {
    /// The counts before a socket is made: all its drops are later ones.
    pub fn before_socket() -> Drops {
        Drops {
            all: Some(0),
            sockets: None,
            rings: Rings::now(),
        }
    }

    /// The present counts.
    pub fn of(socket: &UdpSocket) -> Drops {
        Drops {
            all: sys::dropped(socket.as_fd()).ok(),
            sockets: is_of_this_namespace(socket).then(Sockets::now),
            rings: Rings::now(),
        }
    }

    /// The counts of a socket that several flows share: only an upper bound, because it is unknown whose datagrams were
    /// dropped. Reading takes some 0.1 ms, nearly all of it for the queues before the socket.
    pub fn of_shared(socket: &UdpSocket) -> Drops {
        Drops {
            all: sys::dropped(socket.as_fd()).ok(),
            sockets: None,
            rings: Rings::now(),
        }
    }

    /// Datagrams without space since the socket was made for one flow: its queue takes datagrams as soon as it is
    /// bound, and `earlier` was read slightly later.
    pub fn since_made(self, earlier: Drops) -> Dropped {
        let dropped = self.since(earlier);
        let before = u64::from(earlier.all.unwrap_or(0));
        Dropped {
            at_most: dropped.at_most.saturating_add(before),
            ..dropped
        }
    }

    /// Datagrams without space since `earlier`. A damaged datagram is a fault of the path and not of this host, but
    /// the socket counts it among its drops, so the counters of all sockets limit their number.
    pub fn since(self, earlier: Drops) -> Dropped {
        let before = earlier.all.unwrap_or(0);
        let own = self.all.map(|now| u64::from(now.wrapping_sub(before)));
        let others = self.sockets.zip(earlier.sockets).map(|(now, before)| {
            let no_room = now.no_room.saturating_sub(before.no_room);
            (no_room, now.damaged.saturating_sub(before.damaged))
        });
        let (at_least, at_most) = match (own, others) {
            (Some(own), Some((no_room, damaged))) => {
                let most = own.min(no_room);
                (most.min(own.saturating_sub(damaged)), most)
            }
            (Some(own), None) => (0, own),
            (None, others) => (0, others.map_or(0, |(no_room, _)| no_room)),
        };
        Dropped {
            at_least,
            at_most,
            rings: self.rings.since(earlier.rings),
        }
    }
}

impl Dropped {
    /// How many datagrams of a flow with its own socket these were, given what else arrived on it.
    pub(crate) fn of_flow(self, counts: &Counts, datagram_bytes: u32, joined: bool) -> Missed {
        let others = [
            counts.foreign_frames,
            counts.duplicated_frames,
            counts.other_run_frames,
        ];
        let others = others.iter().any(|frames| *frames > 0);
        self.datagrams(datagram_bytes, joined, others)
    }

    /// How many datagrams of `datagram_bytes` of a flow these were. A socket that takes datagrams `joined` loses all
    /// of a buffer at once. With `others` on the socket (foreign datagrams, duplicates) possibly none was the flow's.
    pub fn datagrams(self, datagram_bytes: u32, joined: bool, others: bool) -> Missed {
        let bytes = u64::from(datagram_bytes).max(1);
        let most = (MOST_JOINED_BYTES / bytes).clamp(1, UDP_MAX_SEGMENTS);
        let queue = self.at_most.saturating_mul(if joined { most } else { 1 });
        Missed {
            at_least: if others { 0 } else { self.at_least },
            at_most: queue.saturating_add(self.rings.saturating_mul(most)),
        }
    }
}

/// Datagrams that were dropped before they reached a socket.
#[derive(Clone, Copy, Debug, Default)]
struct Rings {
    /// By the queues of the processors, for all interfaces of the host.
    backlog: u64,
    /// By the rings of the interfaces.
    overruns: u64,
}

impl Rings {
    fn now() -> Rings {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let fifo = of_dev(&text("/proc/thread-self/net/dev"));
        let folders = fs::read_dir("/sys/class/net").into_iter().flatten();
        let missed = folders.flatten().map(|folder| {
            let path = folder.path().join("statistics/rx_missed_errors");
            fs::read_to_string(path).unwrap_or_default()
        });
        Rings {
            backlog: of_softnet(&text("/proc/net/softnet_stat")),
            overruns: sum(missed.collect::<Vec<_>>().iter().map(|text| text.trim()))
                .saturating_add(fifo),
        }
    }

    fn since(self, earlier: Rings) -> u64 {
        let backlog = self.backlog.saturating_sub(earlier.backlog);
        let overruns = self.overruns.saturating_sub(earlier.overruns);
        backlog.saturating_add(overruns)
    }
}

/// The second number of each processor's line, in hexadecimal.
fn of_softnet(text: &str) -> u64 {
    let second = text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1));
    let numbers = second.filter_map(|number| u64::from_str_radix(number, 16).ok());
    numbers.fold(0, u64::saturating_add)
}

/// Received frames that did not fit a ring, of all interfaces.
fn of_dev(text: &str) -> u64 {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    sum(lines.filter_map(|(_, numbers)| numbers.split_whitespace().nth(4)))
}

/// Whether the counters that this thread reads are those of the socket's namespace. A thread outside a lab may read a
/// node's socket inside, and outside other programs fill their queues. Systems before Linux 5.14 do not report it;
/// there it is taken for this thread's.
fn is_of_this_namespace(socket: &UdpSocket) -> bool {
    let Ok(own) = UdpSocket::bind("127.0.0.1:0").or_else(|_| UdpSocket::bind("[::1]:0")) else {
        return false;
    };
    let cookie = |socket: &UdpSocket| sys::netns_cookie(socket.as_fd()).ok();
    cookie(&own) == cookie(socket)
}

impl Sockets {
    /// Datagrams without space in a queue or in memory, over IPv4 and IPv6 (snmp_counter.rst of the kernel), and
    /// those with a wrong checksum.
    fn now() -> Sockets {
        let snmp = fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
        let snmp6 = fs::read_to_string("/proc/thread-self/net/snmp6").unwrap_or_default();
        let of = |v4: &[&str], v6: &[&str]| of_snmp(&snmp, v4).saturating_add(of_snmp6(&snmp6, v6));
        Sockets {
            no_room: of(
                &["RcvbufErrors", "MemErrors"],
                &["Udp6RcvbufErrors", "Udp6MemErrors"],
            ),
            damaged: of(&["InCsumErrors"], &["Udp6InCsumErrors"]),
        }
    }
}

/// A line of names and a line of numbers for each protocol.
fn of_snmp(text: &str, wanted: &[&str]) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (Some(names), Some(numbers)) = (lines.next(), lines.next()) else {
        return 0;
    };
    let both = names.split_whitespace().zip(numbers.split_whitespace());
    let found = both.filter(|(name, _)| wanted.contains(name));
    sum(found.map(|(_, number)| number))
}

/// A name and a number in each line.
fn of_snmp6(text: &str, wanted: &[&str]) -> u64 {
    let found = text.lines().filter_map(|line| line.split_once(' '));
    let found = found.filter(|(name, _)| wanted.contains(name));
    sum(found.map(|(_, number)| number.trim()))
}

fn sum<'a>(numbers: impl Iterator<Item = &'a str>) -> u64 {
    let numbers = numbers.filter_map(|number| number.parse().ok());
    numbers.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(all: Option<u32>, no_room: u64, damaged: u64) -> Drops {
        Drops {
            all,
            sockets: Some(Sockets { no_room, damaged }),
            rings: Rings::default(),
        }
    }

    fn missed(now: Drops, earlier: Drops) -> (u64, u64) {
        let missed = now.since_made(earlier).datagrams(1000, false, false);
        (missed.at_least, missed.at_most)
    }

    #[test]
    fn damaged_datagrams_are_no_drops_of_the_queue() {
        let no_room = ["RcvbufErrors", "MemErrors"];
        let text = "Udp: InDatagrams RcvbufErrors InCsumErrors MemErrors\nUdp: 7 2 3 1\nUdpLite: RcvbufErrors\n";
        assert_eq!(of_snmp(text, &no_room), 3);
        let text = "Ip6InReceives 4\nUdp6RcvbufErrors   \t5\nUdp6InCsumErrors 9\n";
        let text = text.replace('\t', " ");
        assert_eq!(of_snmp6(&text, &["Udp6RcvbufErrors"]), 5);
        assert_eq!((of_snmp("", &no_room), of_snmp6("", &[])), (0, 0));
        assert_eq!(missed(at(Some(2), 13, 0), at(Some(0), 11, 0)), (2, 2));
        assert_eq!(missed(at(Some(2), 9, 2), at(Some(0), 9, 0)), (0, 0));
        // Either other sockets had no space while ours got damaged datagrams, or the other way round: unknown.
        assert_eq!(missed(at(Some(3), 19, 2), at(Some(0), 11, 0)), (1, 3));
    }

    #[test]
    fn what_cannot_be_known_is_a_range() {
        // Before the receiver began, drops of its queue may be an earlier flow's.
        assert_eq!(missed(at(Some(5), 3, 0), at(Some(2), 0, 0)), (3, 5));
        let elsewhere = |all| Drops {
            sockets: None,
            ..at(all, 0, 0)
        };
        assert_eq!(missed(elsewhere(Some(2)), elsewhere(Some(0))), (0, 2));
        assert_eq!(missed(at(None, 4, 0), at(None, 1, 0)), (0, 3));
        let dropped = at(Some(2), 2, 0).since(at(Some(0), 0, 0));
        let joined = dropped.datagrams(1000, true, false);
        assert_eq!((joined.at_least, joined.at_most), (2, 2 * 65));
        let short = dropped.datagrams(18, true, true);
        assert_eq!((short.at_least, short.at_most), (0, 2 * 128));
    }

    #[test]
    fn queues_before_the_socket_drop_too() {
        let softnet = "00a3b5 00000002 00000000 0\n00000001 0000000f 00000000 0\n";
        assert_eq!(of_softnet(softnet), 17);
        let dev = "Inter-|   Receive |  Transmit\n face |bytes packets errs drop fifo frame|bytes\n  \
                   lo: 1 2 3 4 5 6 7 8 9\n eth0:1 2 3 40 50 6 7 8 9\n";
        assert_eq!(of_dev(dev), 55);
        let rings = |backlog, overruns| Rings { backlog, overruns };
        let drops = |rings| Drops {
            rings,
            ..at(Some(0), 0, 0)
        };
        let dropped = drops(rings(5, 1)).since(drops(rings(2, 0)));
        let missed = dropped.datagrams(1000, false, false);
        assert_eq!((missed.at_least, missed.at_most), (0, 4 * 65));
    }
}
