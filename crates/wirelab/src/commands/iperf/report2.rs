//! What is printed of an iperf 2 test: iperf's own table on standard output, what it leaves out on standard error.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use wirelab_iperf::v2::table::{Format, HEADING, HEADING_UDP, Id, Row};
use wirelab_iperf::v2::{ClientConfig, Leg, Mode, Outcome, Protocol, Rate};
use wirelab_report::format;
use wirelab_trial::Histogram;

use crate::args::IperfArgs;
use crate::exit::Failure;
use crate::terminal::{complain, say};

/// The line that iperf draws.
pub const RULER: &str = "------------------------------------------------------------";
/// Prints the lines of a test; a heading before the first of its kind.
pub struct Printer {
    format: Format,
    enhanced: bool,
    printed: Mutex<Vec<&'static str>>,
}

impl Printer {
    pub fn new(args: &IperfArgs) -> Result<Printer, Failure> {
        Ok(Printer {
            format: super::format(args)?,
            enhanced: args.enhanced,
            printed: Mutex::default(),
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

    /// The ends of a connection or a flow; a client says too how it is used.
    pub fn began(&self, id: Id, local: SocketAddr, peer: SocketAddr, mode: Option<Mode>) {
        let how = match (id, mode) {
            (Id::Stream(_), Some(Mode::Reverse)) => " (reverse)",
            (Id::Stream(_), Some(Mode::FullDuplex)) => " (full-duplex)",
            _ => "",
        };
        let [(ip, port), (peer_ip, peer_port)] =
            [local, peer].map(|end| (end.ip().to_canonical(), end.port()));
        say!("{id} local {ip} port {port} connected with {peer_ip} port {peer_port}{how}");
    }

    fn heading(&self, row: &Row) -> &'static str {
        match (&row.more, row.datagrams) {
            (Some(more), _) if self.enhanced => more.heading(),
            (_, Some(_)) => HEADING_UDP,
            (_, None) => HEADING,
        }
    }

    fn line(&self, row: &Row) -> String {
        match self.enhanced {
            true => row.enhanced_line(self.format),
            false => row.line(self.format),
        }
    }

    /// One line of the table.
    pub fn row(&self, row: &Row) {
        let (heading, line) = (self.heading(row), self.line(row));
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if printed.contains(&heading) {
            say!("{line}");
        } else {
            printed.push(heading);
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
            let row = report.row(id);
            say!(
                "{id} Server Report:\n{}\n{}",
                self.heading(&row),
                self.line(&row)
            );
        }
    }

    /// The lines of a test that is over.
    pub fn test(&self, outcome: &Outcome) {
        for (id, leg) in &outcome.legs {
            self.leg(*id, leg);
        }
        for sum in outcome.sums() {
            self.row(&sum);
        }
    }

    /// What iperf does not say of a leg.
    pub fn notes(&self, id: Id, leg: &Leg) {
        match leg {
            Leg::UdpSent(sent) => {
                let kept = (sent.rate != Rate::Max).then_some(sent.kept_rate());
                if let Some(gaps) = gaps(&sent.gaps, kept) {
                    complain(format_args!("{id} gaps between datagrams: {gaps}"));
                }
            }
            Leg::TcpSent {
                pace: Some(pace), ..
            } => {
                if let Some(gaps) = gaps(&pace.gaps, Some(pace.slips == 0)) {
                    complain(format_args!("{id} gaps between writes: {gaps}"));
                }
            }
            Leg::UdpReceived(seen) if self.enhanced => {
                let kind = seen.generation;
                complain(format_args!("{id} the sender is of the kind {kind:?}"));
            }
            _ => {}
        }
        for note in leg.notes() {
            complain(format_args!("{id} note: {note}"));
        }
    }
}

/// A sender's gaps in words, and whether it kept the rate if one was asked; `None` where there are none.
fn gaps(gaps: &Histogram, kept: Option<bool>) -> Option<String> {
    let at = |percent| {
        gaps.percentile(percent)
            .map(|ns| format::time(ns.saturating_mul(1000)))
    };
    let (half, most) = (at(50.0)?, at(99.0)?);
    let longest = format::time(gaps.max_ticks.saturating_mul(1000));
    let kept = match kept {
        None => "",
        Some(true) => "; the rate was kept",
        Some(false) => "; the rate was not kept",
    };
    Some(format!(
        "median {half}, 99 % {most}, longest {longest}{kept}"
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
