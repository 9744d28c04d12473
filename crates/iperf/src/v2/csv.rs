//! The lines of `-y C`: the columns that iperf 2.1.8 writes, separated by commas.
//!
//! ```text
//! time, address and port of the sender, of the receiver, number, start-end, bytes, bit/s
//! of datagrams also: jitter in ms, lost, all, lost in percent, out of order
//! ```
//! 2.1.8 has no line for the report of the server, and writes −1 datagrams for a client's whole flow. Here that line
//! has the server's counts, if its report arrived.

use std::fmt::Write as _;
use std::net::SocketAddr;

use wirelab_socket::calendar::LocalTime;

use super::enhanced::EnhancedColumns;
use super::report::ServerReport;
use super::table::{Id, Row};

/// The two ends of a flow, as the printing side sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The local end.
    pub local: SocketAddr,
    /// The remote end.
    pub peer: SocketAddr,
}

/// The time of printing for the first column: in seconds, with `-e` in milliseconds.
pub fn time(now: Option<LocalTime>, enhanced: bool) -> String {
    let LocalTime { parts, ms } = now.unwrap_or(LocalTime {
        parts: [1970, 1, 1, 0, 0, 0],
        ms: 0,
    });
    let [year, month, day, hour, minute, second] = parts;
    let mut out = format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}");
    if enhanced {
        let _ = write!(out, ".{ms:03}");
    }
    out
}

/// The line of an interval.
pub fn line(time: &str, ends: Ends, row: &Row) -> String {
    moved(time, ends, row) + &counted(row)
}

/// The line of a whole flow of datagrams that this end sent; only the other end knows what arrived.
pub fn sent_line(time: &str, ends: Ends, row: &Row, report: Option<&ServerReport>) -> String {
    let arrived = match report {
        Some(report) => counted(&report.row(row.id)),
        // As 2.1.8 writes it.
        None => ",0.000,0,-1,-0.000,0".to_owned(),
    };
    moved(time, ends, row) + &arrived
}

fn moved(time: &str, ends: Ends, row: &Row) -> String {
    let sends = matches!(
        row.more,
        Some(EnhancedColumns::Writes { .. } | EnhancedColumns::Packets { .. })
    );
    let (from, to) = match sends {
        true => (ends.local, ends.peer),
        false => (ends.peer, ends.local),
    };
    let [(from_ip, from_port), (to_ip, to_port)] =
        [from, to].map(|end| (end.ip().to_canonical(), end.port()));
    let number = match row.id {
        Id::Stream(number) | Id::Back(number) => i64::from(number),
        Id::Sum | Id::SumBack => -1,
    };
    let rate = row.per_s(row.bytes as f64 * 8.0);
    let rate = rate.map_or("-".to_owned(), |rate| (rate as u64).to_string());
    let (start, end, bytes) = (row.start_s, row.end_s, row.bytes);
    format!(
        "{time},{from_ip},{from_port},{to_ip},{to_port},{number},{start:.1}-{end:.1},{bytes},{rate}"
    )
}

fn counted(row: &Row) -> String {
    let (jitter, lost, total, late) = match (&row.datagrams, &row.more) {
        (Some(d), _) => (d.jitter_ms, d.lost, d.total, d.out_of_order),
        (None, Some(EnhancedColumns::Packets { writes, .. })) => (0.0, 0, *writes, 0),
        _ => return String::new(),
    };
    let percent = match total {
        0 => "-".to_owned(),
        total => format!("{:.3}", lost as f64 * 100.0 / total as f64),
    };
    format!(",{jitter:.3},{lost},{total},{percent},{late}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v2::enhanced::Reads;
    use crate::v2::table::Datagrams;

    fn ends() -> Ends {
        Ends {
            local: ([127, 0, 0, 1], 53_404).into(),
            peer: ([127, 0, 0, 1], 5001).into(),
        }
    }

    fn row(end_s: f64, bytes: u64, more: EnhancedColumns) -> Row {
        Row {
            bytes,
            more: Some(more),
            ..Row::new(Id::Stream(1), 0.0, end_s)
        }
    }

    // iperf 2.1.8 printed each line, except for the time.
    #[test]
    fn lines_as_the_binary_prints_them() {
        let at = "20261125140904";
        let wrote = EnhancedColumns::Writes {
            writes: 1,
            retransmits: None,
        };
        assert_eq!(
            line(at, ends(), &row(0.5, 63_060, wrote)),
            "20261125140904,127.0.0.1,53404,127.0.0.1,5001,1,0.0-0.5,63060,1008960"
        );
        let read = row(0.5, 62_060, EnhancedColumns::Reads(Reads::default()));
        assert_eq!(
            line(at, ends(), &read),
            "20261125140904,127.0.0.1,5001,127.0.0.1,53404,1,0.0-0.5,62060,992960",
            "the sender comes first"
        );
        let packets = EnhancedColumns::Packets {
            writes: 100,
            errors: 0,
        };
        let sent = row(0.4, 50_000, packets);
        let start = "20261125140904,127.0.0.1,53404,127.0.0.1,5001,1,0.0-0.4,50000,1000000";
        assert_eq!(
            line(at, ends(), &sent),
            format!("{start},0.000,0,100,0.000,0")
        );
        assert_eq!(
            sent_line(at, ends(), &sent, None),
            format!("{start},0.000,0,-1,-0.000,0")
        );
        let report = ServerReport {
            lost: 1,
            out_of_order: 2,
            datagrams: 128,
            jitter_us: 1,
            ..ServerReport::default()
        };
        assert_eq!(
            sent_line(at, ends(), &sent, Some(&report)),
            format!("{start},0.001,1,128,0.781,2")
        );
    }

    #[test]
    fn what_is_not_known_is_no_number() {
        let nothing = Row {
            datagrams: Some(Datagrams {
                jitter_ms: 0.0,
                jitter_ps: None,
                received: 0,
                lost: 0,
                total: 0,
                out_of_order: 0,
            }),
            ..row(0.0, 0, EnhancedColumns::Latency(None))
        };
        let text = line("1", ends(), &nothing);
        assert!(text.ends_with(",1,0.0-0.0,0,-,0.000,0,0,-,0"), "{text}");
    }

    #[test]
    fn times_with_and_without_milliseconds() {
        let now = Some(LocalTime {
            parts: [2026, 1, 2, 3, 4, 5],
            ms: 6,
        });
        assert_eq!(time(now, false), "20260102030405");
        assert_eq!(time(now, true), "20260102030405.006");
        assert_eq!(time(None, false), "19700101000000");
    }
}
