//! `wirelab verify`: verifies a capture.

use wirelab_port::pcapng::{CaptureError, FlowReport, VerifyOptions, VerifyReport, verify};
use wirelab_report::document::table::{Cell, Head, Shown, Table};
use wirelab_report::document::{Block, Document, PageHead, Verdict};
use wirelab_report::format;
use wirelab_trial::Field;

use super::receive::{but_for_zeros, found, frames};
use crate::args::VerifyArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{show_document, show_json};

/// Most flows that are shown without a fault.
const MOST_CLEAN: usize = 16;

pub fn run(args: &VerifyArgs) -> Result {
    let options = VerifyOptions {
        udp_port: args.udp_port,
        stream: args.stream,
        sent: args.sent,
        slots: None,
    };
    let report = verify(&args.file, &options).map_err(|e| match e {
        CaptureError::Read { .. } => Failure::failed(e),
        _ => Failure::usage(e),
    })?;
    match args.json {
        true => show_json(&report)?,
        false => show_document(&document(&report)),
    }
    Ok(Outcome::of(report.is_clean()))
}

fn document(report: &VerifyReport) -> Document<'static> {
    let mut said: Vec<String> = Vec::new();
    if !report.end.is_whole() {
        said.push(report.end.to_string());
    }
    let (mut shown, mut others) = (Vec::new(), 0);
    for flow in &report.flows {
        // Of many clean ones, as in a capture of many runs, the first.
        match shown.len() >= MOST_CLEAN && flow.is_clean() {
            true => others += 1,
            false => shown.push(flow),
        }
    }
    if others > 0 {
        let more = format::count(others, "more flow");
        said.push(format!("{more}, in which every frame is present and right"));
    }
    let findings = report.findings.iter().chain(&report.gaps);
    said.extend(findings.map(ToString::to_string));
    let mut blocks = vec![Block::Table(counted(report))];
    if !shown.is_empty() {
        blocks.push(Block::Table(flows(report, &shown)));
    }
    blocks.push(Block::List(said));
    let (head, words) = match report.test_frames() {
        _ if report.is_clean() => (PageHead::Clean, "every frame is present and right"),
        0 => (PageHead::NotClean, "NOT clean: it has no test frame"),
        _ => (PageHead::NotClean, "NOT clean"),
    };
    let rate = report.bytes_per_s() / 1e9;
    Document {
        title: format!("{}: {}", report.name, report.format),
        blocks,
        verdict: Some(Verdict {
            head,
            text: format!("{words}; verified at {rate:.2} GB/s (measured)"),
            first: false,
        }),
        ..Document::default()
    }
}

/// The frames of the capture; of those without a flow, all that are not 0.
fn counted(report: &VerifyReport) -> Table {
    let rows = vec![
        ("in the capture", report.frames),
        ("of test flows", report.test_frames()),
        ("foreign", report.foreign_frames),
        (
            "header-corrupt, of an unknown flow",
            report.unattributed_header_corrupt_frames,
        ),
        (
            "truncated by the capture within their header",
            report.cut_in_header_frames,
        ),
        ("of flows beyond the tracked ones", report.untracked_frames),
        ("late, of an earlier run", report.other_run_frames),
        ("dropped by the capture itself", report.dropped_by_capture()),
    ];
    frames("", but_for_zeros(rows, 3))
}

/// The counts of a flow. Those behind the first two are shown where any flow has one.
fn counts(flow: &FlowReport) -> Vec<(&'static str, u64)> {
    let mut all = found(&flow.counts);
    all.insert(1, ("lost", flow.counts.lost_frames));
    all.push(("truncated by the capture", flow.cut_by_snaplen_frames));
    all
}

/// A row for each flow, with its rates by the capture's times.
fn flows(report: &VerifyReport, shown: &[&FlowReport]) -> Table {
    let runs = report.runs();
    let all: Vec<_> = shown.iter().map(|flow| counts(flow)).collect();
    let is_shown = |at: usize| at < 2 || all.iter().any(|counts| counts[at].1 > 0);
    let names = all.first().into_iter().flatten().enumerate();
    let names = names.filter(|(at, _)| is_shown(*at));
    let count = |(_, (name, _)): (usize, &(&'static str, u64))| {
        Head::figures(*name, "frames", Shown::Always, 0)
    };
    let rate = |name, unit, rank| Head::figures(name, unit, Shown::IfObserved, rank);
    let mut heads = vec![Head::words("flow", Shown::Always, 0)];
    heads.extend(names.map(count));
    heads.push(rate("rate", "frames/s", 2));
    heads.push(rate("payload", "Mbit/s", 1));
    let row = |(flow, counts): (&&FlowReport, &Vec<(&str, u64)>)| {
        let [a, b, c, d, e, f] = flow.source;
        let run = match runs {
            0 | 1 => String::new(),
            _ => format!("section {}: ", report.section_of(flow) + 1),
        };
        let name = format!(
            "{run}stream {} from {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}",
            flow.stream
        );
        let mut cells = vec![Cell::Text(name)];
        let counts = counts.iter().enumerate().filter(|(at, _)| is_shown(*at));
        cells.extend(counts.map(|(at, (_, n))| {
            let cell = Cell::fault(Field::measured(*n));
            cell.alarmed(at > 0 && *n > 0)
        }));
        for (rate, show) in [
            (flow.frames_per_s(), format::frame_rate as fn(f64) -> String),
            (flow.payload_bits_per_s(), format::mbit),
        ] {
            let rate = Field::measured_or(rate, "the capture has no span of time");
            cells.push(Cell::of(rate, show));
        }
        cells
    };
    let caption = match runs {
        0 | 1 => String::new(),
        _ => format!("{runs} runs, each judged separately"),
    };
    Table::new(caption, heads, shown.iter().zip(&all).map(row).collect())
}
