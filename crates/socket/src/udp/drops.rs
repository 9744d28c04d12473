//! What a socket's own queue dropped of what had arrived.

use std::fs;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use crate::sys;

/// Counters of the system at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drops {
    /// Of the socket: no room in its queue, and wrong checksums.
    all: Option<u32>,
    /// Of all sockets of its network namespace: no room. `None` where the socket's is not this thread's.
    no_room: Option<u64>,
}

impl Drops {
    /// As they stand now.
    pub(crate) fn of(socket: &UdpSocket) -> Drops {
        Drops {
            all: sys::dropped(socket.as_fd()).ok(),
            no_room: is_of_this_namespace(socket).then(no_room),
        }
    }

    /// Datagrams for which there was no room since `earlier`. What came damaged is a fault of the way and none of this
    /// host, so that both counters must tell it; where one of them cannot be read nothing is told.
    pub(crate) fn since(self, earlier: Drops) -> u64 {
        let all = self.all.zip(earlier.all);
        let no_room = self.no_room.zip(earlier.no_room);
        let (Some((now, before)), Some((no_room, earlier))) = (all, no_room) else {
            return 0;
        };
        u64::from(now.wrapping_sub(before)).min(no_room.saturating_sub(earlier))
    }
}

/// Whether the counters that this thread reads are those of the socket's namespace: a node's socket in a lab may be
/// read by a thread outside, where other programs fill their queues. Systems before Linux 5.14 do not say; there it is
/// taken for this thread's.
fn is_of_this_namespace(socket: &UdpSocket) -> bool {
    let Ok(own) = UdpSocket::bind("127.0.0.1:0").or_else(|_| UdpSocket::bind("[::1]:0")) else {
        return false;
    };
    let cookie = |socket: &UdpSocket| sys::netns_cookie(socket.as_fd()).ok();
    cookie(&own) == cookie(socket)
}

/// Datagrams without room in a queue or in memory, over IPv4 and IPv6 (snmp_counter.rst of the kernel).
fn no_room() -> u64 {
    let snmp = fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
    let snmp6 = fs::read_to_string("/proc/thread-self/net/snmp6").unwrap_or_default();
    of_snmp(&snmp).saturating_add(of_snmp6(&snmp6))
}

/// A line of names and a line of numbers for each protocol.
fn of_snmp(text: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (Some(names), Some(numbers)) = (lines.next(), lines.next()) else {
        return 0;
    };
    let both = names.split_whitespace().zip(numbers.split_whitespace());
    let found = both.filter(|(name, _)| ["RcvbufErrors", "MemErrors"].contains(name));
    sum(found.map(|(_, number)| number))
}

/// A name and a number in each line.
fn of_snmp6(text: &str) -> u64 {
    let names = ["Udp6RcvbufErrors", "Udp6MemErrors"];
    let found = text.lines().filter_map(|line| line.split_once(' '));
    let found = found.filter(|(name, _)| names.contains(name));
    sum(found.map(|(_, number)| number.trim()))
}

fn sum<'a>(numbers: impl Iterator<Item = &'a str>) -> u64 {
    let numbers = numbers.filter_map(|number| number.parse().ok());
    numbers.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_datagrams_are_no_drops_of_the_queue() {
        let text = "Udp: InDatagrams RcvbufErrors InCsumErrors MemErrors\nUdp: 7 2 3 1\nUdpLite: RcvbufErrors\n";
        assert_eq!(of_snmp(text), 3);
        let text = "Ip6InReceives 4\nUdp6RcvbufErrors   \t5\nUdp6InCsumErrors 9\n";
        assert_eq!(of_snmp6(&text.replace('\t', " ")), 5);
        assert_eq!((of_snmp(""), of_snmp6("")), (0, 0));
        let at = |all, no_room| Drops {
            all,
            no_room: Some(no_room),
        };
        assert_eq!(at(Some(2), 13).since(at(Some(u32::MAX), 11)), 2);
        assert_eq!(at(Some(2), 19).since(at(Some(0), 11)), 2);
        assert_eq!(at(Some(2), 9).since(at(Some(0), 9)), 0);
        assert_eq!(at(Some(2), 9).since(at(None, 0)), 0);
        let elsewhere = |all| Drops { all, no_room: None };
        assert_eq!(elsewhere(Some(2)).since(elsewhere(Some(0))), 0);
    }
}
