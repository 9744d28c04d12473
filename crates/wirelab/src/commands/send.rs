//! `wirelab send`: sends one direction, or writes it to a capture.

use std::path::Path as FilePath;
use std::time::Duration;

use serde::Serialize;
use wirelab_cores::prefer_this_session;
use wirelab_port::job::SendReport;
use wirelab_port::pcapng::{CaptureError, GenerateSpec, WriterOptions, generate};
use wirelab_ports::{FramePath, Path, bypassed_shapers, one_way};
use wirelab_report::document::Block;
use wirelab_report::format;
use wirelab_trial::{Direction, Extent, Histogram, Kind, Layer, Ledger, Size, SizeUnit, Trial};
use wirelab_wire::LineRate;

use super::receive::frames;
use crate::args::SendArgs;
use crate::ask;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, show, show_json, warn_of, while_showing};

/// Ten seconds, the default of iperf.
const DEFAULT: Extent = Extent::Time {
    time_ps: 10_000_000_000_000,
};
/// Default link rate for the times of a capture.
const CAPTURE_BITS_PER_S: u64 = 1_000_000_000;

pub fn run(args: &SendArgs) -> Result {
    let _preferred = prefer_this_session();
    let sizes = ask::sizes(&args.size, [Size::new(SizeUnit::Frame, 64)]);
    let [size] = sizes[..] else {
        return Err(Failure::usage(
            "send takes one size; fix: give one, or use 'wirelab measure'",
        ));
    };
    let trial = Trial {
        link_bits_per_s: args
            .offer
            .extent
            .rate
            .as_deref()
            .map(|r| ask::rate("--rate", r))
            .transpose()?,
        faults: ask::faults(args.offer.inject.as_deref())?,
        strict_gaps: args.offer.strict_gaps,
        dscp: args.offer.dscp,
        ..Trial::new(
            ask::framing(&args.framing, Layer::Ethernet)?,
            Direction::Transmit,
            size,
            args.load.parse().map_err(Failure::usage)?,
            ask::extent(&args.offer.extent, DEFAULT)?,
        )
    };
    let to = ask::mac("--to", &args.to)?;
    if let Some(file) = &args.to_file {
        return to_file(args, &trial, to, file);
    }
    let path = ask::path(&args.offer.path, &[])?;
    let cancel = cancel_on_signal();
    let port = ask::port(&args.port)?;
    if path == Path::Xdp {
        warn_of(&bypassed_shapers([&port], path));
    }
    let expected = match trial.extent {
        Extent::Time { time_ps } => Some(Duration::from_nanos(time_ps / 1000)),
        Extent::Frames { .. } => None,
    };
    let report = while_showing("sending", expected, || {
        one_way::send(&port, to, args.stream, &trial, path, &cancel)
    })?;
    let requested = Requested::of(&trial, path);
    let sent = Sent::of(&report, &requested, cancel.is_cancelled());
    print(args.json, &sent)
}

/// Values for comparison with the report.
struct Requested {
    path: FramePath,
    frames_per_s: Option<f64>,
}

impl Requested {
    fn of(trial: &Trial, path: Path) -> Requested {
        let frames_per_s = trial.sizes().ok().and_then(|sizes| {
            let rate = trial
                .load
                .frames_per_s(&sizes, trial.framing.layer, trial.link());
            rate.ok().flatten()
        });
        let path = match path {
            Path::Xdp => FramePath::Xdp,
            Path::Auto | Path::Packet => FramePath::Packet,
        };
        Requested { path, frames_per_s }
    }
}

/// What was sent, as `--json` prints it; the text has the same figures.
#[derive(Serialize)]
struct Sent<'a> {
    sent_frames: u64,
    sequences: u64,
    refused_frames: u64,
    achieved_frames_per_s: Option<f64>,
    slips: u64,
    slipped_ns: u64,
    longest_burst_frames: Option<u64>,
    #[serde(rename = "asked_frames_per_s")]
    requested_frames_per_s: Option<f64>,
    kept_rate: Option<bool>,
    gap: &'a Histogram,
    path: FramePath,
    interrupted: bool,
    kind: Kind,
}

impl<'a> Sent<'a> {
    fn of(report: &'a SendReport, requested: &Requested, interrupted: bool) -> Sent<'a> {
        Sent {
            sent_frames: report.emitted_frames,
            sequences: report.sequences,
            refused_frames: report.refused_frames,
            achieved_frames_per_s: report.frames_per_s(),
            slips: report.slips,
            slipped_ns: report.slipped_ns,
            longest_burst_frames: report.longest_burst_frames,
            requested_frames_per_s: requested.frames_per_s,
            kept_rate: report.kept_rate(requested.frames_per_s),
            gap: &report.gap,
            path: requested.path,
            interrupted,
            kind: Kind::Measured,
        }
    }

    fn in_words(&self) -> (String, Vec<Block<'static>>) {
        let rate = self.achieved_frames_per_s;
        let rate = rate.map_or("–".to_owned(), format::frame_rate);
        let title = format!(
            "sent at {rate} frames/s ({}, path {})",
            self.kind,
            self.path.word()
        );
        let sequences = self.sequences;
        let last = sequences.saturating_sub(1);
        let mut sent = format!("sent (sequences 0 to {last})");
        let mut rows = Vec::new();
        // A receiver does not know which sequences were not sent.
        match self.refused_frames {
            0 => sent.push_str(&format!("; check with --sent {sequences}")),
            refused => rows.push((refused, "refused by the driver, not sent".to_owned())),
        }
        rows.insert(0, (self.sent_frames, sent));
        let mut said = Vec::new();
        if let (Some(requested), Some(false)) = (self.requested_frames_per_s, self.kept_rate) {
            let requested = format::frame_rate(requested);
            said.push(format!(
                "the sender fell behind the requested {requested} frames/s; fix: free the processors, or offer less"
            ));
        }
        if self.interrupted {
            said.push("interrupted: not everything requested was sent".to_owned());
        }
        (
            title,
            vec![Block::Table(frames("", rows)), Block::List(said)],
        )
    }
}

fn print(json: bool, sent: &Sent<'_>) -> Result {
    if json {
        show_json(sent)?;
    } else {
        let (title, blocks) = sent.in_words();
        show(title, blocks);
    }
    Ok(Outcome::of(sent.refused_frames == 0 && !sent.interrupted))
}

/// An error while writing is not a usage error.
fn capture_failure(error: CaptureError) -> Failure {
    match error {
        CaptureError::Write { .. } => Failure::failed(error),
        _ => Failure::usage(error),
    }
}

fn to_file(args: &SendArgs, trial: &Trial, to: [u8; 6], file: &FilePath) -> Result {
    // A locally administered source address, "WL".
    let source = [0x02, 0x57, 0x4C, 0, 0, args.stream];
    let link = trial.link().or_else(|| LineRate::new(CAPTURE_BITS_PER_S));
    let job = one_way::one_way_job(trial, source, to, args.stream, link)?;
    let spec = GenerateSpec {
        interface: args.port.clone(),
        frame: job.frame,
        sizes: vec![job.sizes],
        stream: args.stream,
        sequences: args.offer.extent.frames.unwrap_or(0),
        link: link.expect("a rate of 0 is refused"),
        start_ns: 0,
        with_time: true,
        slots: None,
        faults: job.faults,
    };
    let done = generate(file, &spec, &WriterOptions::default()).map_err(capture_failure)?;
    if args.json {
        show_json(&Written {
            file,
            frames: done.file.frames,
            bytes: done.file.bytes,
            ledger: &done.ledger,
        })?;
    } else {
        let title = format!("{}: {}", file.display(), format::memory(done.file.bytes));
        let rows = written(done.file.frames, &done.ledger);
        show(title, vec![Block::Table(frames("", rows))]);
    }
    Ok(Outcome::Done)
}

/// A capture, as `--json` prints it.
#[derive(Serialize)]
struct Written<'a> {
    file: &'a FilePath,
    frames: u64,
    bytes: u64,
    ledger: &'a Ledger,
}

/// The frames of a capture, and the injected faults with the names of `--inject`.
fn written(frames: u64, ledger: &Ledger) -> Vec<(u64, String)> {
    let faults = [
        ("dropped", ledger.dropped_frames),
        ("header-corrupt", ledger.header_corrupt_frames),
        ("truncated", ledger.truncated_frames),
        ("stale", ledger.stale_frames),
        ("corrupted", ledger.corrupted_frames),
        ("duplicated", ledger.duplicated_frames),
        ("reordered", ledger.reordered_frames),
        ("with a bad FCS", ledger.bad_fcs_frames),
    ];
    let faults = faults.into_iter().filter(|(_, frames)| *frames > 0);
    let faults: Vec<_> = faults
        .map(|(what, frames)| (frames, format!("{what} (injected)")))
        .collect();
    let mut rows = vec![(frames, "written".to_owned())];
    if !faults.is_empty() {
        rows.push((ledger.sent_frames, "sequences".to_owned()));
        rows.push((ledger.lost_frames, "lost".to_owned()));
    }
    rows.extend(faults);
    rows
}

#[cfg(test)]
mod tests {
    use wirelab_report::Options;
    use wirelab_report::document::{Document, terminal};

    use super::*;

    #[test]
    fn faults_are_reported_in_words() {
        let none = written(10, &Ledger::default());
        assert_eq!(none, [(10, "written".to_owned())]);
        let ledger = Ledger {
            sent_frames: 1_000,
            dropped_frames: 12,
            corrupted_frames: 3,
            lost_frames: 12,
            ..Ledger::default()
        };
        let rows = [
            (988, "written"),
            (1_000, "sequences"),
            (12, "lost"),
            (12, "dropped (injected)"),
            (3, "corrupted (injected)"),
        ];
        let rows = rows.map(|(n, what)| (n, what.to_owned()));
        assert_eq!(written(988, &ledger), rows);
    }

    #[test]
    fn what_was_sent_is_a_table_with_notes() {
        let requested = Requested {
            path: FramePath::Packet,
            frames_per_s: Some(2_000.0),
        };
        let report = SendReport {
            emitted_frames: 995,
            sequences: 1_000,
            refused_frames: 5,
            last_ns: 994_000_000,
            ..SendReport::default()
        };
        let shown = |report: &SendReport, interrupted| {
            let (title, blocks) = Sent::of(report, &requested, interrupted).in_words();
            let document = Document {
                title,
                blocks,
                ..Document::default()
            };
            let text = terminal::render(&document, &Options::default());
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let bad = [
            "sent at 1,000 frames/s (measured, path packet)",
            "",
            "  frames",
            "measured",
            "     995  sent (sequences 0 to 999)",
            "       5  refused by the driver, not sent",
            "- the sender fell behind the requested 2,000 frames/s; fix: free the processors, or offer less",
            "- interrupted: not everything requested was sent",
        ];
        assert_eq!(shown(&report, true), bad);
        let all = SendReport {
            emitted_frames: 1_000,
            refused_frames: 0,
            last_ns: 499_500_000,
            ..report
        };
        let good = shown(&all, false);
        assert_eq!(
            good[4],
            "   1,000  sent (sequences 0 to 999); check with --sent 1000"
        );
        assert_eq!(good.len(), 5);
    }
}
