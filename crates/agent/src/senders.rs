//! Source ports of earlier trials. Each trial has its own socket, so a late frame shows which trial sent it.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// Number of trials that are kept. Frames arrive later than that only rarely.
const MOST: usize = 16;

/// The source ports that testers named in the last trials.
#[derive(Debug, Default)]
pub(crate) struct Senders(VecDeque<SocketAddr>);

impl Senders {
    /// Begin a trial of a tester; `port` is its source port, if it names one. Returns the ports of its earlier
    /// trials; none if the tester names no port, because it may send from any.
    pub(crate) fn begin(&mut self, ip: IpAddr, port: Option<u16>) -> Vec<u16> {
        let Some(port) = port else {
            return Vec::new();
        };
        let now = SocketAddr::new(ip.to_canonical(), port);
        self.0.retain(|earlier| *earlier != now);
        let own = self.0.iter().filter(|earlier| earlier.ip() == now.ip());
        let earlier = own.map(SocketAddr::port).collect();
        self.0.truncate(MOST - 1);
        self.0.push_front(now);
        earlier
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_earlier_trials_of_the_same_tester_are_known() {
        let [one, other] = [[192, 0, 2, 1], [192, 0, 2, 2]].map(IpAddr::from);
        let mut senders = Senders::default();
        assert!(senders.begin(one, Some(1)).is_empty());
        assert!(senders.begin(other, Some(2)).is_empty());
        assert_eq!(senders.begin(one, Some(3)), [1]);
        assert!(senders.begin(one, None).is_empty(), "it may send from any");
        assert_eq!(
            senders.begin(one, Some(1)),
            [3],
            "a port that is used again"
        );
        for port in 100..200 {
            senders.begin(one, Some(port));
        }
        let known = senders.begin(one, Some(200));
        assert_eq!((known.len(), known[0]), (MOST, 199));
    }
}
