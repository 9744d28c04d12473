//! `wirelab verify`: verifies a capture.

use wirelab_port::pcapng::{CaptureError, FlowReport, VerifyOptions, VerifyReport, verify};
use wirelab_report::document::table::{Cell, Head, Shown, Table};
use wirelab_report::document::{Block, Document, Head as Judgement, Verdict};
use wirelab_report::format;
use wirelab_trial::Field;

use crate::args::VerifyArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{show_document, show_json};

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
    let shown = report.shown_flows();
    let mut blocks = vec![Block::Table(Table::counted("", report.rows()))];
    if !shown.is_empty() {
        blocks.push(Block::Table(flows(report, &shown)));
    }
    blocks.push(Block::List(report.remarks()));
    Document {
        title: format!("{}: {}", report.name, report.format),
        blocks,
        verdict: Some(Verdict {
            head: match report.is_clean() {
                true => Judgement::Clean,
                false => Judgement::NotClean,
            },
            text: report.verdict(),
            first: false,
        }),
        ..Document::default()
    }
}

/// A row for each flow, with its rates by the capture's times.
fn flows(report: &VerifyReport, shown: &[&FlowReport]) -> Table {
    let runs = report.runs();
    // The counts behind the first two are shown where any flow has one.
    let all: Vec<_> = shown.iter().map(|flow| flow.found()).collect();
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
        let mut cells = vec![Cell::Text(report.name_of(flow))];
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
