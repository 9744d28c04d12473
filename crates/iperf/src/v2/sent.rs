//! What a UDP sender says at its end: what it sent, whether it kept the rate, and what the other end made of it.

use wirelab_socket::mtu::fragments;
use wirelab_trial::Histogram;

use super::amount::Rate;
use super::report::ServerReport;
use super::send::FINAL_TRIES;

/// What was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The rate that was asked.
    pub rate: Rate,
    /// Bytes of each datagram but the first and the last.
    pub datagram_bytes: u32,
    /// MTU of the path in bytes, as far as the system knows it; `None` where it does not.
    pub mtu_bytes: Option<u32>,
    /// Packets that each datagram became: more than 1 is fragmented on the way.
    pub fragments: u32,
    /// Datagrams of data.
    pub datagrams: u64,
    /// Their application bytes.
    pub bytes: u64,
    /// From the first to the end of the last one's interval, in ns.
    pub duration_ns: u64,
    /// What the other end says; `None` where no report came.
    pub report: Option<ServerReport>,
    /// Answers to final datagrams that are no report of a known layout.
    pub strange_answers: u32,
    /// Datagrams that the system had no room for: they are counted as sent, and never left.
    pub refused: u64,
    /// Final datagrams that it took.
    pub final_tries: u32,
    /// Whether the system got many datagrams in one piece, to be cut late: in the device, or never on a veth pair.
    pub segmented: bool,
    /// Pauses after which the schedule was moved: the rate was not kept there.
    pub slips: u64,
    /// Their time in ns.
    pub slipped_ns: u64,
    /// Gaps between the datagrams, in ticks of 1 ns.
    pub gaps: Histogram,
}

impl Sent {
    /// The share of the rate asked that was kept: 1 where there were no pauses.
    pub fn kept_ratio(&self) -> f64 {
        if self.duration_ns == 0 {
            return 1.0;
        }
        1.0 - self.slipped_ns as f64 / self.duration_ns as f64
    }

    /// Whether the rate that was asked was kept all the time.
    pub const fn kept_rate(&self) -> bool {
        self.slips == 0 && self.refused == 0
    }

    /// The same with the MTU of the path.
    #[must_use]
    pub fn with_mtu(mut self, mtu_bytes: Option<u32>, ipv6: bool) -> Sent {
        self.mtu_bytes = mtu_bytes;
        self.fragments = mtu_bytes.map_or(1, |mtu| fragments(self.datagram_bytes, mtu, ipv6));
        self
    }

    /// What a reader of the figures must know.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.slips > 0 {
            notes.push(format!(
                "the sender did not keep the rate: {} pauses, {:.3} s of {:.3} s in which nothing was offered, are not made up for",
                self.slips,
                self.slipped_ns as f64 / 1e9,
                self.duration_ns as f64 / 1e9
            ));
        }
        if self.segmented {
            notes.push(
                "segmented: the system got many datagrams in one piece, each with its own number, to be cut late; --no-segmentation hands them over one by one"
                    .to_owned(),
            );
        }
        if self.refused > 0 {
            notes.push(format!(
                "{} datagrams never left: this system had no room for them; ask for less, or for a larger window (-w)",
                self.refused
            ));
        }
        if let (Some(mtu), 2..) = (self.mtu_bytes, self.fragments) {
            notes.push(format!(
                "fragmented: each datagram of {} bytes became {} packets on a path with an MTU of {mtu} bytes, and one that is lost loses the datagram; ask for shorter ones (-l)",
                self.datagram_bytes, self.fragments
            ));
        }
        if self.report.is_none() && self.final_tries == FINAL_TRIES {
            notes.push(format!(
                "no report came after {FINAL_TRIES} tries: these are the sender's own figures, and what arrived is not known"
            ));
        }
        if self.strange_answers > 0 && self.report.is_none() {
            notes.push(format!(
                "{} answers were no report of a known layout: the other end may be no iperf 2, or one of an unknown generation",
                self.strange_answers
            ));
        }
        notes
    }
}
