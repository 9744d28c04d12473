//! The result of a UDP sender: what it sent, whether it kept the rate, and the other end's report.

use wirelab_socket::mtu::fragments;
use wirelab_trial::{Histogram, Holds};

use super::amount::Rate;
use super::datagram::Generation;
use super::report::ServerReport;

/// How often the final datagram is sent before the sender gives up on the report.
pub const FINAL_TRIES: u32 = 10;

/// A server that took longer by less than this, in µs, plus a twentieth, only read its socket's buffer.
const LEAST_LONGER_US: u64 = 50_000;

/// The result of a sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The requested rate.
    pub rate: Rate,
    /// Bytes of each datagram except the first and the last.
    pub datagram_bytes: u32,
    /// MTU of the path in bytes; `None` where the system does not know it.
    pub mtu_bytes: Option<u32>,
    /// Packets of each datagram: more than 1 means fragmentation.
    pub fragments: u32,
    /// Datagrams of data.
    pub datagrams: u64,
    /// Their application bytes.
    pub bytes: u64,
    /// From the first to the end of the last one's interval, in ns.
    pub duration_ns: u64,
    /// The other end's report; `None` where none arrived.
    pub report: Option<ServerReport>,
    /// The other end's generation, as far as known.
    pub server: Option<Generation>,
    /// Corrections to its report.
    pub mended: Mended,
    /// Answers to final datagrams that are not a report of a known layout.
    pub strange_answers: u32,
    /// Datagrams that the system's buffers did not take: they count as sent, but were not.
    pub refused: u64,
    /// Final datagrams sent.
    pub final_tries: u32,
    /// Whether the system got many datagrams in one piece, which the kernel or the device segments; on a veth pair they
    /// are never segmented.
    pub segmented: bool,
    /// Pauses after which the schedule moved, so the sender fell behind.
    pub slips: u64,
    /// Their total in ns.
    pub slipped_ns: u64,
    /// Most datagrams sent back to back to catch up after a pause; `None` at full rate.
    pub longest_burst: Option<u64>,
    /// Pauses of the sender by its host at full rate, and time of back-pressure.
    pub holds: Holds,
    /// Gaps between the datagrams, in ticks of 1 ns.
    pub gaps: Histogram,
}

/// Known errors in the report of an older server, which are corrected here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// It consumed the first datagram, and counted it as lost.
    pub first_taken: bool,
    /// The reported duration in µs, which began with an earlier flow; the sender's duration replaces it.
    pub lingered_us: Option<u64>,
}

impl Sent {
    /// Corrects the known errors of servers of 2.0.5 to 2.0.13, for a flow in `generation`'s layout.
    #[must_use]
    pub(super) fn mend(mut self, generation: Generation) -> Sent {
        let old = self.server.is_some_and(Generation::takes_first);
        let longer = self.peer_took_longer();
        let own_us = self.duration_ns / 1000;
        let Some(report) = self.report.as_mut().filter(|_| old) else {
            return self;
        };
        if !generation.takes_first() && report.lost > 0 {
            report.lost -= 1;
            self.mended.first_taken = true;
        }
        // For about a second after a flow it times a new one from the first datagram of the old.
        if longer {
            self.mended.lingered_us = Some(report.duration_us);
            report.duration_us = own_us;
        }
        self
    }

    /// Whether the other end counted over more time than this one sent, beyond what its socket may have buffered.
    pub fn peer_took_longer(&self) -> bool {
        let own_us = self.duration_ns / 1000;
        let most_us = own_us + own_us / 20 + LEAST_LONGER_US;
        self.report
            .is_some_and(|report| report.duration_us > most_us)
    }

    /// Losses and arrivals of its datagrams by the server's report. Most servers count the final datagram as one more,
    /// and a server that missed the first final datagrams counts those as losses of data.
    pub fn lost_and_arrived(&self) -> Option<(u64, u64)> {
        let report = self.report.as_ref()?;
        let finals = report.datagrams.saturating_sub(self.datagrams);
        let lost = report.lost.saturating_sub(finals.saturating_sub(1));
        let lost = lost.min(self.datagrams);
        Some((lost, self.datagrams - lost))
    }

    /// The share of the requested rate that was achieved: 1 without pauses.
    pub fn kept_ratio(&self) -> f64 {
        if self.duration_ns == 0 {
            return 1.0;
        }
        1.0 - self.slipped_ns as f64 / self.duration_ns as f64
    }

    /// Whether the requested rate was kept all the time.
    pub const fn kept_rate(&self) -> bool {
        self.slips == 0 && self.refused == 0
    }

    /// Adds the MTU of the path.
    #[must_use]
    pub fn with_mtu(mut self, mtu_bytes: Option<u32>, ipv6: bool) -> Sent {
        self.mtu_bytes = mtu_bytes;
        self.fragments = mtu_bytes.map_or(1, |mtu| fragments(self.datagram_bytes, mtu, ipv6));
        self
    }

    /// Bytes of each datagram that the other end counted, if clearly fewer than were sent.
    fn cut_to_bytes(&self) -> Option<u64> {
        let report = self.report.as_ref()?;
        let missing = report
            .lost
            .checked_add(report.out_of_order)?
            .checked_add(self.refused)?;
        let accounted_bytes = missing
            .checked_mul(u64::from(self.datagram_bytes))?
            .checked_add(report.bytes)?;
        let cut = accounted_bytes < self.bytes / 10 * 9;
        cut.then(|| report.bytes / report.datagrams.saturating_sub(report.lost).max(1))
    }

    /// Whether it is unknown what arrived.
    pub const fn is_unheard(&self) -> bool {
        self.report.is_none() && self.final_tries == FINAL_TRIES
    }

    /// Notes for the reader of the figures.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.slips > 0 {
            notes.push(not_kept(self.slips, self.slipped_ns, self.duration_ns));
        }
        if self.segmented {
            notes.push(
                "segmented: the system got many datagrams in one piece, each with its own number, and the kernel or the device segments it; --no-segmentation hands them over one by one"
                    .to_owned(),
            );
        }
        if self.refused > 0 {
            notes.push(format!(
                "{} datagrams never left: this system's buffers did not take them; fix: ask for less, or for a larger window (-w)",
                self.refused
            ));
        }
        if let (Some(mtu), 2..) = (self.mtu_bytes, self.fragments) {
            notes.push(format!(
                "fragmented: each datagram of {} bytes became {} packets on a path with an MTU of {mtu} bytes, and one that is lost loses the datagram; fix: ask for shorter ones (-l)",
                self.datagram_bytes, self.fragments
            ));
        }
        if self.is_unheard() {
            notes.push(format!(
                "no report came after {FINAL_TRIES} tries: these are the sender's own figures, and what arrived is unknown"
            ));
        }
        notes.extend(self.mended.notes());
        if let Some(bytes) = self.cut_to_bytes() {
            notes.push(format!(
                "the other end read {bytes} bytes of each datagram of {}: its own -l is shorter (1470 where none is given), so its transfer and bandwidth are too low; fix: give it -l {}",
                self.datagram_bytes, self.datagram_bytes
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

impl Mended {
    /// Notes for the reader of the figures.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.first_taken {
            notes.push(
                "the server takes the first datagram of a flow for itself, as iperf 2.0.5 to 2.0.13 do; that one is not counted as lost here"
                    .to_owned(),
            );
        }
        if let Some(reported_us) = self.lingered_us {
            notes.push(format!(
                "the server reported {:.3} s: it still timed the flow before, as iperf 2.0.5 to 2.0.13 do for about a second; the sender's own time counts here",
                reported_us as f64 / 1e6
            ));
        }
        notes
    }
}

/// The warning about a sender that did not keep the rate.
pub(super) fn not_kept(slips: u64, slipped_ns: u64, duration_ns: u64) -> String {
    format!(
        "the sender did not keep the rate: {slips} {}, {:.3} s of {:.3} s in which nothing was offered, {} not caught up with",
        if slips == 1 { "pause" } else { "pauses" },
        slipped_ns as f64 / 1e9,
        duration_ns as f64 / 1e9,
        if slips == 1 { "is" } else { "are" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(bytes: u64, report: ServerReport) -> Sent {
        Sent {
            rate: Rate::UDP_DEFAULT,
            datagram_bytes: 3000,
            mtu_bytes: None,
            fragments: 1,
            datagrams: bytes / 3000,
            bytes,
            duration_ns: 1,
            report: Some(report),
            server: None,
            mended: Mended::default(),
            strange_answers: 0,
            refused: 0,
            final_tries: 1,
            segmented: false,
            slips: 0,
            slipped_ns: 0,
            longest_burst: Some(1),
            holds: Holds::default(),
            gaps: Histogram::default(),
        }
    }

    #[test]
    fn the_final_datagrams_are_no_losses() {
        let counts_of = |datagrams, lost| {
            let report = ServerReport {
                datagrams,
                lost,
                ..ServerReport::default()
            };
            sent(300_000, report).lost_and_arrived().unwrap()
        };
        assert_eq!(counts_of(101, 0), (0, 100));
        assert_eq!(counts_of(101, 7), (7, 93));
        // Two final datagrams were lost; a client of 2.1.8 increments the number with each.
        assert_eq!(counts_of(103, 9), (7, 93));
        // A server that does not count the final datagram.
        assert_eq!(counts_of(100, 7), (7, 93));
        let (lost, arrived) = counts_of(u64::MAX, u64::MAX);
        assert_eq!(lost + arrived, 100, "hostile");
        assert_eq!(counts_of(0, u64::MAX), (100, 0));
    }

    #[test]
    fn a_server_that_reads_less_of_each_datagram_is_reported() {
        // iperf 2.1.8 counted 14 datagrams of 3000 bytes and the final one as follows.
        let cut = ServerReport {
            bytes: 15 * 1470,
            datagrams: 15,
            ..ServerReport::default()
        };
        let notes = sent(42_000, cut).notes();
        assert_eq!(notes.len(), 1);
        assert!(
            notes[0].contains("read 1470 bytes of each datagram of 3000"),
            "{notes:?}"
        );
        for report in [
            ServerReport {
                bytes: 45_000,
                datagrams: 15,
                ..cut
            },
            ServerReport {
                bytes: 15_000,
                datagrams: 15,
                lost: 10,
                ..cut
            },
            ServerReport {
                bytes: 1,
                lost: u64::MAX,
                ..cut
            },
        ] {
            assert!(sent(42_000, report).notes().is_empty(), "{report:?}");
        }
    }
}
