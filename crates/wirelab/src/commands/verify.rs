//! `wirelab verify`: verifies a capture.

use wirelab_port::pcapng::{CaptureError, FlowReport, VerifyOptions, VerifyReport, verify};
use wirelab_report::format;

use crate::args::VerifyArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::say;

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
    if args.json {
        say!(
            "{}",
            serde_json::to_string_pretty(&report).map_err(Failure::failed)?
        );
    } else {
        print(&report);
    }
    Ok(Outcome::of(report.is_clean()))
}

fn print(report: &VerifyReport) {
    say!(
        "{}: {}, {}, {} of test flows, {} foreign",
        report.name,
        report.format,
        format::count(report.frames, "frame"),
        format::integer(report.test_frames()),
        format::integer(report.foreign_frames)
    );
    if !report.end.is_whole() {
        say!("  {}", report.end);
    }
    print_flows(report);
    let rest = [
        (
            "header-corrupt frames of an unknown flow",
            report.unattributed_header_corrupt_frames,
        ),
        (
            "frames truncated by the capture within their header",
            report.cut_in_header_frames,
        ),
        (
            "frames of flows beyond the tracked ones",
            report.untracked_frames,
        ),
        ("late frames of an earlier run", report.other_run_frames),
        (
            "frames that the capture itself dropped",
            report.dropped_by_capture(),
        ),
    ];
    for (what, n) in rest.into_iter().filter(|(_, n)| *n > 0) {
        say!("  {} {what}", format::integer(n));
    }
    for finding in report.findings.iter().chain(&report.gaps) {
        say!("  {finding}");
    }
    let verdict = match report.test_frames() {
        _ if report.is_clean() => "every frame is present and right",
        0 => "NOT clean: it has no test frame",
        _ => "NOT clean",
    };
    say!(
        "{verdict}; verified at {:.2} GB/s (measured)",
        report.bytes_per_s() / 1e9
    );
}

/// Each flow; of many clean ones, as in a capture of many runs, the first.
fn print_flows(report: &VerifyReport) {
    let runs = report.runs();
    if runs > 1 {
        say!("{runs} runs, each judged separately");
    }
    let (mut shown, mut others) = (0, 0);
    for flow in &report.flows {
        if shown >= MOST_CLEAN && flow.is_clean() {
            others += 1;
            continue;
        }
        shown += 1;
        let run = match runs {
            0 | 1 => String::new(),
            _ => format!("section {}: ", report.section_of(flow) + 1),
        };
        print_flow(&run, flow);
    }
    if others > 0 {
        say!(
            "and {} in which every frame is present and right",
            format::count(others as u64, "more flow")
        );
    }
}

fn print_flow(run: &str, flow: &FlowReport) {
    let [a, b, c, d, e, f] = flow.source;
    say!(
        "{run}stream {} from {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}",
        flow.stream
    );
    let n = &flow.counts;
    let rows = [
        ("good", n.good_frames),
        ("lost", n.lost_frames),
        ("header-corrupt", n.header_corrupt_frames),
        ("truncated", n.truncated_frames),
        ("stale", n.stale_frames),
        ("corrupted", n.corrupted_frames),
        ("duplicated", n.duplicated_frames),
        ("reordered", n.reordered_frames),
        ("too late", n.too_late_frames),
        ("truncated by the capture", flow.cut_by_snaplen_frames),
    ];
    let shown = rows
        .iter()
        .enumerate()
        .filter(|(i, (_, n))| *i < 2 || *n > 0);
    let text: Vec<String> = shown
        .map(|(_, (what, n))| format!("{} {what}", format::integer(*n)))
        .collect();
    say!("  {}", text.join(", "));
    if let (Some(fps), Some(bits)) = (flow.frames_per_s(), flow.payload_bits_per_s()) {
        let rate = format::si(bits, "bit/s");
        say!(
            "  {} frames/s, payload {rate} (measured, from the capture's times)",
            format::integer(fps as u64)
        );
    }
}
