//! The text that iperf3 prints: its table of intervals and its last lines, in the format of 3.12.
//!
//! The congestion window is not measured, so that column is missing; `Retr` is present where the peer reported it.

use std::fmt::Write as _;

use super::parameters::Parameters;
use super::report::directions;
use super::results::StreamResult;
use super::test::{Ends, Interval, StreamCounts, TestOutcome};
use super::test::{both_sides, jitter_of, sum_of};
use crate::v2::table::{Format, general};

/// The line between the intervals and the result.
pub const RULER: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -";

/// Prints the lines of one test.
#[derive(Clone, Debug)]
pub struct Table {
    format: Format,
    client: bool,
    parameters: Parameters,
    streams: Vec<Ends>,
}

/// Columns of a line after bytes and rate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ExtraColumns {
    Nothing,
    Retransmits(u64),
    Sent(u64),
    Received {
        /// `None` where it is unknown.
        jitter_ms: Option<f64>,
        lost: u64,
        packets: u64,
    },
}

/// The text in the brackets: a stream, or the sum of those in one direction.
type Id = Option<u32>;

impl Table {
    /// The table of a test between this end, a client or a server, and a peer.
    pub fn new(format: Format, client: bool, parameters: Parameters, streams: Vec<Ends>) -> Table {
        Table {
            format,
            client,
            parameters,
            streams,
        }
    }

    /// The streams, in the order of their numbers.
    pub fn streams(&self) -> &[Ends] {
        &self.streams
    }

    /// The heading of the intervals.
    pub fn heading(&self) -> String {
        let sends = self.streams.iter().any(|ends| ends.sender);
        let receives = self.streams.iter().any(|ends| !ends.sender);
        let more = match (self.parameters.udp, sends && !receives) {
            (false, _) => "",
            (true, true) => "         Total Datagrams",
            (true, false) => "         Jitter    Lost/Total Datagrams",
        };
        self.head(more)
    }

    fn head(&self, more: &str) -> String {
        let role = match self.parameters.bidirectional {
            true => "[Role]",
            false => "",
        };
        format!("[ ID]{role} Interval           Transfer     Bitrate{more}")
    }

    /// The lines of an interval, with a sum where one direction has several streams.
    pub fn interval(&self, interval: &Interval) -> Vec<String> {
        let omitted = if interval.omitted { "(omitted)" } else { "" };
        let span = (interval.start_ns as f64 / 1e9, interval.end_ns as f64 / 1e9);
        let line = |id: Id, sender: bool, pairs: &[(StreamCounts, StreamCounts)]| {
            let added = |get: fn(&StreamCounts) -> u64| {
                let each = pairs
                    .iter()
                    .map(|(was, is)| get(is).saturating_sub(get(was)));
                each.sum::<u64>()
            };
            let jitter_s = jitter_of(pairs, interval, self.parameters.omit_seconds);
            let more = match (self.parameters.udp, sender) {
                (false, _) => ExtraColumns::Nothing,
                (true, true) => ExtraColumns::Sent(added(|c| c.packets)),
                (true, false) => ExtraColumns::Received {
                    jitter_ms: jitter_s.map(|s| s * 1e3),
                    lost: added(|c| c.received.shown_lost()),
                    packets: added(|c| c.packets),
                },
            };
            self.line(id, sender, span, added(|c| c.bytes), more, omitted)
        };
        let streams: Vec<_> = self.streams.iter().zip(&interval.streams).collect();
        let mut lines: Vec<String> = streams
            .iter()
            .map(|(ends, pair)| line(Some(ends.id), ends.sender, &[**pair]))
            .collect();
        if self.parameters.streams > 1 {
            for (_, sender) in directions(self.client, &self.parameters) {
                let of_direction = streams.iter().filter(|(ends, _)| ends.sender == sender);
                let pairs: Vec<_> = of_direction.map(|(_, pair)| **pair).collect();
                lines.push(line(None, sender, &pairs));
            }
        }
        lines
    }

    /// The last lines: each stream as its sender and its receiver counted it, as far as known.
    pub fn total(&self, outcome: &TestOutcome) -> Vec<String> {
        let udp = self.parameters.udp;
        let streams = both_sides(outcome);
        let again = streams
            .iter()
            .any(|s| s.sent.as_ref().is_some_and(|r| r.retransmits.is_some()));
        let mut lines = vec![self.head(match (udp, again) {
            (true, _) => "         Jitter    Lost/Total Datagrams",
            (false, true) => "         Retr",
            (false, false) => "",
        })];
        for stream in &streams {
            let sides = [
                (stream.sent.as_ref(), true),
                (stream.received.as_ref(), false),
            ];
            for (result, sent) in sides {
                lines.extend(result.map(|r| self.end(Some(stream.id), stream.sender, r, sent)));
            }
        }
        if self.parameters.streams > 1 {
            for (_, sender) in directions(self.client, &self.parameters) {
                let of_direction: Vec<_> = streams.iter().filter(|s| s.sender == sender).collect();
                for sent in [true, false] {
                    // A side without any data has no sum either.
                    let known = of_direction.iter().all(|s| match sent {
                        true => s.sent.is_some(),
                        false => s.received.is_some(),
                    });
                    let line =
                        known.then(|| self.end(None, sender, &sum_of(&of_direction, sent), sent));
                    lines.extend(line);
                }
            }
        }
        lines
    }

    fn end(&self, id: Id, sender: bool, result: &StreamResult, sent: bool) -> String {
        let more = match (self.parameters.udp, sent) {
            (true, true) => ExtraColumns::Received {
                jitter_ms: Some(0.0),
                lost: 0,
                packets: result.counted_packets(),
            },
            (true, false) => ExtraColumns::Received {
                jitter_ms: result.jitter_within(f64::MAX).map(|s| s * 1e3),
                lost: result.counted_errors(),
                packets: result.counted_packets(),
            },
            (false, _) => match result.retransmits.filter(|_| sent) {
                Some(again) => ExtraColumns::Retransmits(again),
                None => ExtraColumns::Nothing,
            },
        };
        let who = if sent { "sender" } else { "receiver" };
        self.line(id, sender, (0.0, result.end_s), result.bytes, more, who)
    }

    fn line(
        &self,
        id: Id,
        sender: bool,
        (start_s, end_s): (f64, f64),
        bytes: u64,
        more: ExtraColumns,
        last: &str,
    ) -> String {
        let seconds = end_s - start_s;
        let rate = if seconds > 0.0 {
            bytes as f64 / seconds
        } else {
            0.0
        };
        let (transfer, rate) = (
            transfer(self.format, bytes as f64),
            bit_rate(self.format, rate),
        );
        let id = id.map_or("[SUM]".to_owned(), |id| format!("[{id:3}]"));
        let role = self.role(sender);
        let mut line = format!("{id}{role} {start_s:6.2}-{end_s:<6.2} sec  {transfer}  {rate}  ");
        let _ = match more {
            ExtraColumns::Nothing => write!(line, "                {last}"),
            ExtraColumns::Retransmits(again) => write!(line, "{again:3}             {last}"),
            // With both directions the columns of the receiver's lines stay free.
            ExtraColumns::Sent(packets) if self.parameters.bidirectional => {
                write!(line, "          {packets}  {last}")
            }
            ExtraColumns::Sent(packets) => write!(line, "{packets}  {last}"),
            ExtraColumns::Received {
                jitter_ms,
                lost,
                packets,
            } => {
                let percent = match packets {
                    0 => "0".to_owned(),
                    packets => general(lost as f64 * 100.0 / packets as f64),
                };
                let jitter = jitter_ms.map_or("    ?".to_owned(), |ms| format!("{ms:5.3}"));
                write!(line, "{jitter} ms  {lost}/{packets} ({percent}%)  {last}")
            }
        };
        line
    }

    const fn role(&self, sender: bool) -> &'static str {
        match (self.parameters.bidirectional, sender, self.client) {
            (false, ..) => "",
            (true, true, true) => "[TX-C]",
            (true, false, true) => "[RX-C]",
            (true, true, false) => "[TX-S]",
            (true, false, false) => "[RX-S]",
        }
    }
}

fn transfer(format: Format, bytes: f64) -> String {
    let power = match format {
        Format::AutoBits | Format::AutoBytes => None,
        Format::Bits(power) | Format::Bytes(power) => Some(power),
    };
    scaled(bytes, 1024.0, power, "Bytes")
}

fn bit_rate(format: Format, bytes_per_s: f64) -> String {
    match format {
        Format::AutoBits => scaled(bytes_per_s * 8.0, 1000.0, None, "bits/sec"),
        Format::Bits(power) => scaled(bytes_per_s * 8.0, 1000.0, Some(power), "bits/sec"),
        Format::AutoBytes => scaled(bytes_per_s, 1024.0, None, "Bytes/sec"),
        Format::Bytes(power) => scaled(bytes_per_s, 1024.0, Some(power), "Bytes/sec"),
    }
}

/// Four characters, the prefix and the unit: 9.99, 99.9, 9999, and unlike iperf 2 two decimals below one.
fn scaled(value: f64, step: f64, power: Option<u8>, unit: &str) -> String {
    const PREFIXES: [&str; 5] = ["", "K", "M", "G", "T"];
    let (mut value, mut at) = (value, 0);
    while at + 1 < PREFIXES.len() && power.map_or(value >= step, |power| at < usize::from(power)) {
        value /= step;
        at += 1;
    }
    let places = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:4.places$} {}{unit}", PREFIXES[at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v3::receive::Received;

    fn table(parameters: Parameters, senders: &[bool]) -> Table {
        let ends = senders.iter().zip([5, 7, 9]).map(|(sender, id)| Ends {
            id,
            sender: *sender,
            local: ([127, 0, 0, 1], 1).into(),
            remote: ([127, 0, 0, 1], 2).into(),
        });
        Table::new(Format::AutoBits, true, parameters, ends.collect())
    }

    fn counted(
        bytes: u64,
        packets: u64,
        lost: u64,
        jitter_ns: u64,
    ) -> (StreamCounts, StreamCounts) {
        let received = Received {
            peer_lost: lost,
            jitter_ns,
            ..Received::default()
        };
        let now = StreamCounts {
            bytes,
            packets,
            received,
        };
        (StreamCounts::default(), now)
    }

    fn interval(omitted: bool, streams: Vec<(StreamCounts, StreamCounts)>) -> Interval {
        Interval {
            start_ns: 0,
            end_ns: 1_000_000_000,
            omitted,
            streams,
        }
    }

    // iperf3 3.12 printed every line below.
    #[test]
    fn intervals_as_the_binary_prints_them() {
        let received = table(Parameters::udp(), &[false]);
        let line = received.interval(&interval(true, vec![counted(250_500, 501, 0, 4_000)]));
        assert_eq!(
            line,
            [
                "[  5]   0.00-1.00   sec   245 KBytes  2.00 Mbits/sec  0.004 ms  0/501 (0%)  (omitted)"
            ]
        );
        let sent = table(Parameters::udp(), &[true]);
        let line = sent.interval(&interval(false, vec![counted(250_000, 500, 0, 0)]));
        assert_eq!(
            line,
            ["[  5]   0.00-1.00   sec   244 KBytes  2.00 Mbits/sec  500  "]
        );
        let both = Parameters {
            bidirectional: true,
            ..Parameters::udp()
        };
        let both = table(both, &[true, false]);
        let pairs = vec![counted(131_072, 4, 0, 0), counted(131_072, 4, 0, 2_000)];
        assert_eq!(
            both.interval(&interval(false, pairs)),
            [
                "[  5][TX-C]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec            4  ",
                "[  7][RX-C]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  0.002 ms  0/4 (0%)  "
            ]
        );
        let two = Parameters {
            streams: 2,
            reverse: true,
            ..Parameters::default()
        };
        let two = table(two, &[false, false]);
        let pairs = vec![counted(454_033_408, 0, 0, 0), counted(444_596_224, 0, 0, 0)];
        assert_eq!(
            two.interval(&interval(false, pairs)),
            [
                "[  5]   0.00-1.00   sec   433 MBytes  3.63 Gbits/sec                  ",
                "[  7]   0.00-1.00   sec   424 MBytes  3.56 Gbits/sec                  ",
                "[SUM]   0.00-1.00   sec   857 MBytes  7.19 Gbits/sec                  "
            ]
        );
    }

    #[test]
    fn last_lines_as_the_binary_prints_them() {
        let tcp = table(Parameters::default(), &[true]);
        let result = StreamResult {
            bytes: 2_780_000_000,
            retransmits: Some(3),
            end_s: 2.0,
            ..StreamResult::default()
        };
        assert_eq!(
            tcp.end(Some(5), true, &result, true),
            "[  5]   0.00-2.00   sec  2.59 GBytes  11.1 Gbits/sec    3             sender"
        );
        assert_eq!(
            tcp.end(Some(5), true, &result, false),
            "[  5]   0.00-2.00   sec  2.59 GBytes  11.1 Gbits/sec                  receiver"
        );
        let udp = table(Parameters::udp(), &[true]);
        let result = StreamResult {
            bytes: 500_000,
            jitter_s: 13e-6,
            packets: 1000,
            end_s: 2.0,
            ..StreamResult::default()
        };
        assert_eq!(
            udp.end(Some(5), true, &result, false),
            "[  5]   0.00-2.00   sec   488 KBytes  2.00 Mbits/sec  0.013 ms  0/1000 (0%)  receiver"
        );
    }

    #[test]
    fn nothing_is_no_division() {
        let udp = table(Parameters::udp(), &[false]);
        let line = udp.line(Some(5), false, (1.0, 1.0), 0, ExtraColumns::Nothing, "");
        assert_eq!(
            line.trim_end(),
            "[  5]   1.00-1.00   sec  0.00 Bytes  0.00 bits/sec"
        );
        assert_eq!(
            udp.heading(),
            "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams"
        );
    }
}
