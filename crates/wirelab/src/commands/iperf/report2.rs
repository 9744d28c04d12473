//! The output of an iperf 2 test: iperf's own table on standard output, additions on standard error.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use wirelab_iperf::v2::csv::{self, Ends};
use wirelab_iperf::v2::enhanced::EnhancedColumns;
use wirelab_iperf::v2::table::{Format, Id, Row};
use wirelab_iperf::v2::{ClientConfig, Leg, Mode, Outcome, Protocol, Rate};
use wirelab_report::format;
use wirelab_socket::calendar::LocalTime;
use wirelab_trial::Histogram;

use crate::args::IperfArgs;
use crate::exit::Failure;
use crate::terminal::{complain, say};

/// Flows whose ends are remembered: more than a server has at once.
const MOST_FLOWS: usize = 1024;
/// The separator line of iperf.
pub const RULER: &str = "------------------------------------------------------------";
/// The style of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// The table of iperf.
    Table,
    /// Only the sums of the table.
    Sums,
    /// Comma-separated values.
    Csv,
}

/// Prints the lines of a test, with a heading before the first of its kind.
pub struct Printer {
    format: Format,
    enhanced: bool,
    style: Style,
    printed: Mutex<Vec<&'static str>>,
    /// The ends of each flow, and the number of its parallel streams.
    flows: Mutex<Vec<(Id, Ends, u32)>>,
}

impl Printer {
    pub fn new(args: &IperfArgs) -> Result<Printer, Failure> {
        Ok(Printer {
            format: super::format(args)?,
            enhanced: args.enhanced,
            style: match (&args.reportstyle, args.sum_only) {
                (Some(_), _) => Style::Csv,
                (None, true) => Style::Sums,
                (None, false) => Style::Table,
            },
            printed: Mutex::default(),
            flows: Mutex::default(),
        })
    }

    /// Whether only the lines of the table are printed, for a program to read.
    pub fn is_csv(&self) -> bool {
        self.style == Style::Csv
    }

    /// The text of iperf before a test.
    pub fn greeting(&self, config: &ClientConfig) {
        if self.is_csv() {
            return;
        }
        let (ip, port) = (config.server.ip(), config.server.port());
        if config.protocol == Protocol::Tcp {
            say!("{RULER}\nClient connecting to {ip}, TCP port {port}\n{RULER}");
            return;
        }
        let length = config.call_bytes();
        let gap = match config.rate.interval_ps(length) {
            Some(ps) => format!(", IPG target: {:.2} us", ps as f64 / 1e6),
            None => String::new(),
        };
        say!(
            "{RULER}\nClient connecting to {ip}, UDP port {port}\nSending {length} byte datagrams{gap}\n{RULER}"
        );
    }

    /// The ends of a connection or a flow, one of `streams`; for a client's own, with its use.
    pub fn began(&self, id: Id, ends: Ends, streams: u32, used: Option<&ClientConfig>) {
        let mut flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        flows.retain(|(known, ..)| *known != id);
        if flows.len() == MOST_FLOWS {
            flows.remove(0);
        }
        flows.push((id, ends, streams));
        drop(flows);
        if self.style != Style::Table {
            return;
        }
        let used = used.filter(|_| matches!(id, Id::Stream(_)));
        let how = match used.map(|config| config.mode) {
            Some(Mode::Reverse) => " (reverse)",
            Some(Mode::FullDuplex) => " (full-duplex)",
            _ => "",
        };
        let times = match used.is_some_and(|config| config.trip_times) {
            true => " (trip-times)",
            false => "",
        };
        let [(ip, port), (peer_ip, peer_port)] =
            [ends.local, ends.peer].map(|end| (end.ip().to_canonical(), end.port()));
        say!("{id} local {ip} port {port} connected with {peer_ip} port {peer_port}{how}{times}");
    }

    /// The ends of a flow; traffic back on the requesting connection has that one's ends.
    fn flow(&self, id: Id) -> Option<(Ends, u32)> {
        let flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |wanted: Id| flows.iter().find(|(known, ..)| *known == wanted);
        let of_id = match id {
            Id::Back(number) => Id::Stream(number),
            other => other,
        };
        let (_, ends, streams) = of(id).or_else(|| of(of_id))?;
        Some((*ends, *streams))
    }

    fn heading(&self, row: &Row) -> &'static str {
        match self.style {
            Style::Sums => row.sum_heading(self.enhanced),
            _ => row.heading(self.enhanced),
        }
    }

    fn line(&self, row: &Row) -> String {
        match (self.style, self.enhanced) {
            (Style::Sums, enhanced) => row.sum_line(self.format, enhanced),
            (_, true) => row.enhanced_line(self.format),
            (_, false) => row.line(self.format),
        }
    }

    /// One line of the table.
    pub fn row(&self, row: &Row) {
        let is_sum = matches!(row.id, Id::Sum | Id::SumBack);
        if self.is_csv() {
            // 2.1.8 prints no such line for sums.
            if let (false, Some((ends, _))) = (is_sum, self.flow(row.id)) {
                say!("{}", csv::line(&self.time(), ends, row));
            }
            return;
        }
        let is_alone = self.flow(row.id).is_none_or(|(_, streams)| streams < 2);
        if self.style == Style::Sums && !is_sum && !is_alone {
            return;
        }
        let (heading, line) = (self.heading(row), self.line(row));
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if printed.contains(&heading) {
            say!("{line}");
        } else {
            printed.push(heading);
            say!("{heading}\n{line}");
        }
    }

    fn time(&self) -> String {
        csv::time(LocalTime::of(SystemTime::now()), self.enhanced)
    }

    /// The lines of a finished leg.
    pub fn leg(&self, id: Id, leg: &Leg) {
        let row = leg.row(id);
        let Leg::UdpSent(sent) = leg else {
            return self.row(&row);
        };
        if self.is_csv() {
            if let Some((ends, _)) = self.flow(id) {
                let report = sent.report.as_ref();
                say!("{}", csv::sent_line(&self.time(), ends, &row, report));
            }
            return;
        }
        self.row(&row);
        if self.style == Style::Table {
            say!("{id} Sent {} datagrams", sent.datagrams);
        }
        if let Some(report) = &sent.report {
            let row = report.row(id);
            // For each stream even where only sums are shown, as in 2.1.8: the server counts each separately.
            let (heading, line) = match self.style {
                Style::Sums => (row.heading(false), row.line(self.format)),
                _ => (self.heading(&row), self.line(&row)),
            };
            say!("{id} Server Report:\n{heading}\n{line}");
        }
    }

    /// The lines of a finished test.
    pub fn test(&self, outcome: &Outcome) {
        for (id, leg) in &outcome.legs {
            self.leg(*id, leg);
        }
        for sum in outcome.sums() {
            self.row(&sum);
            if let (Some(EnhancedColumns::Packets { writes, .. }), false) =
                (&sum.more, self.is_csv())
            {
                say!("{} Sent {writes} datagrams", sum.sum_id());
            }
        }
    }

    /// Notes on a leg that iperf does not print.
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
            Leg::UdpReceived(received) if self.enhanced => {
                let kind = received.generation;
                complain(format_args!("{id} the sender is of the kind {kind:?}"));
            }
            _ => {}
        }
        for note in leg.notes() {
            complain(format_args!("{id} note: {note}"));
        }
    }
}

/// A sender's gaps in words, and whether it kept the requested rate, if any; `None` where there are none.
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
        Some(false) => "; the sender fell behind",
    };
    Some(format!(
        "median {half}, p99 {most}, longest {longest}{kept}"
    ))
}
