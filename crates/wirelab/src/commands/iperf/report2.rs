//! What is printed of an iperf 2 test: iperf's own table on standard output, what it leaves out on standard error.

use std::sync::atomic::{AtomicBool, Ordering};

use wirelab_iperf::v2::send::Sent;
use wirelab_iperf::v2::table::{Format, HEADING, HEADING_UDP, Id, Row};
use wirelab_iperf::v2::{ClientConfig, Leg, Protocol, Rate};
use wirelab_report::format;

use crate::args::IperfArgs;
use crate::exit::Failure;
use crate::terminal::{complain, say};

/// The line that iperf draws.
pub const RULER: &str = "------------------------------------------------------------";
/// Where a sender stays more than this below its rate, that is said; `measure` judges alike.
const KEPT: f64 = 0.995;

/// Prints the lines of a test; a heading before the first of its kind.
pub struct Printer {
    format: Format,
    enhanced: bool,
    plain: AtomicBool,
    udp: AtomicBool,
}

impl Printer {
    pub fn new(args: &IperfArgs) -> Result<Printer, Failure> {
        Ok(Printer {
            format: super::format(args)?,
            enhanced: args.enhanced,
            plain: AtomicBool::new(false),
            udp: AtomicBool::new(false),
        })
    }

    /// What iperf says before a test.
    pub fn greeting(&self, config: &ClientConfig) {
        let (ip, port) = (config.server.ip(), config.server.port());
        if config.protocol == Protocol::Tcp {
            say!("{RULER}\nClient connecting to {ip}, TCP port {port}\n{RULER}");
            return;
        }
        let length = super::json2::length_bytes(config);
        let gap = match config.rate.interval_ps(length) {
            Some(ps) => format!(", IPG target: {:.2} us", ps as f64 / 1e6),
            None => String::new(),
        };
        say!(
            "{RULER}\nClient connecting to {ip}, UDP port {port}\nSending {length} byte datagrams{gap}\n{RULER}"
        );
    }

    /// One line of the table.
    pub fn row(&self, row: &Row) {
        let (printed, heading) = match row.datagrams {
            Some(_) => (&self.udp, HEADING_UDP),
            None => (&self.plain, HEADING),
        };
        let line = row.line(self.format);
        if printed.swap(true, Ordering::Relaxed) {
            say!("{line}");
        } else {
            say!("{heading}\n{line}");
        }
    }

    /// The lines of a leg that is over.
    pub fn leg(&self, id: Id, leg: &Leg) {
        self.row(&leg.row(id));
        let Leg::UdpSent(sent) = leg else {
            return;
        };
        say!("{id} Sent {} datagrams", sent.datagrams);
        if let Some(report) = &sent.report {
            let line = report.row(id).line(self.format);
            say!("{id} Server Report:\n{HEADING_UDP}\n{line}");
        }
    }

    /// What iperf does not say of a leg.
    pub fn notes(&self, id: Id, leg: &Leg, peer: &str) {
        match leg {
            Leg::UdpSent(sent) => self.sent(id, sent, peer),
            Leg::UdpReceived(seen) => {
                for note in seen.notes() {
                    complain(format_args!("{id} note: {note}"));
                }
                if self.enhanced {
                    let kind = seen.generation;
                    complain(format_args!("{id} the sender is of the kind {kind:?}"));
                }
            }
            Leg::TcpSent { .. } | Leg::TcpReceived { .. } => {}
        }
    }

    fn sent(&self, id: Id, sent: &Sent, peer: &str) {
        if sent.report.is_none() && sent.final_tries > 0 {
            let tries = sent.final_tries;
            complain(format_args!(
                "{id} warning: no report came from {peer} in {tries} tries: the figures are the sender's own, what arrived is not known"
            ));
        }
        if let Some(gaps) = gaps(sent) {
            complain(format_args!("{id} gaps between datagrams: {gaps}"));
        }
        let kept = sent.kept_ratio();
        if kept < KEPT {
            complain(format_args!(
                "{id} warning: the sender did not keep the rate asked: {} pauses, {} % of the time; free the processors or ask for less",
                sent.slips,
                format::percent(1.0 - kept)
            ));
        }
    }
}

/// A sender's gaps in words; `None` where there are none.
fn gaps(sent: &Sent) -> Option<String> {
    let at = |percent| {
        sent.gaps
            .percentile(percent)
            .map(|ns| format::time(ns.saturating_mul(1000)))
    };
    let (half, most) = (at(50.0)?, at(99.0)?);
    let longest = format::time(sent.gaps.max_ticks.saturating_mul(1000));
    Some(format!(
        "median {half}, 99 % {most}, longest {longest}; {} pauses were not made up for",
        sent.slips
    ))
}

/// A rate as JSON names it.
pub fn rate(rate: Rate) -> (&'static str, Option<u64>) {
    match rate {
        Rate::BitsPerS(bits) => ("rate_bits_per_s", Some(bits)),
        Rate::PacketsPerS(packets) => ("rate_packets_per_s", Some(packets)),
        Rate::Max => ("rate_bits_per_s", None),
    }
}
