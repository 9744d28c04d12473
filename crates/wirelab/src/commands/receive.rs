//! `wirelab receive`: check what arrives, by hand, and capture it if asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use wirelab_port::job::{CheckJob, CheckReport};
use wirelab_port::packet::{CaptureSink, FrameSink};
use wirelab_port::pcapng::{CaptureWriter, InterfaceSpec, WriterOptions};
use wirelab_ports::one_way::{Until, receive};
use wirelab_report::format;
use wirelab_trial::Counts;
use wirelab_wire::Flow;

use crate::args::ReceiveArgs;
use crate::ask;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, complain, say, while_showing};

pub fn run(args: &ReceiveArgs) -> Result {
    let port = ask::port(&args.port)?;
    let source = args
        .from
        .as_deref()
        .map(|m| ask::mac("--from", m))
        .transpose()?;
    let flow = Flow {
        source,
        udp_port: 0,
        stream: Some(args.stream),
    };
    let job = CheckJob {
        flow,
        slots: None,
        time_every: 1,
    };
    let duration = |option: &str, text: &str| {
        ask::time_ps(option, text).map(|ps| Duration::from_nanos(ps / 1000))
    };
    let until = Until {
        time: args
            .time
            .as_deref()
            .map(|t| duration("--time", t))
            .transpose()?,
        idle: duration("--idle", &args.idle)?,
    };
    let capture = args.write.as_ref().map(|file| {
        let options = WriterOptions {
            overwrite: args.overwrite,
            ..WriterOptions::default()
        };
        CaptureWriter::create(file, &[InterfaceSpec::named(&args.port)], &options)
            .map(|writer| Arc::new(Mutex::new(writer)))
    });
    let capture = capture.transpose().map_err(Failure::usage)?;
    let sink = capture.as_ref().map(|writer| {
        Box::new(CaptureSink {
            writer: Arc::clone(writer),
            interface: 0,
        }) as Box<dyn FrameSink>
    });
    let cancel = cancel_on_signal();
    let path = ask::path(&args.path)?;
    let (mut report, taken) = while_showing("receiving", until.time, || {
        receive(&port, job, path, sink, until, &cancel)
    })?;
    capture.map(finish).transpose()?;
    if let Some(sent) = args.sent {
        report = report.with_sent(sent);
    }
    print(args, &report, taken)
}

/// End a capture when all who wrote into it have ended, and say what is in it.
pub fn finish(capture: Arc<Mutex<CaptureWriter>>) -> std::result::Result<(), Failure> {
    let writer =
        Arc::into_inner(capture).ok_or_else(|| Failure::failed("the capture is still in use"))?;
    let writer = writer.into_inner().unwrap_or_else(|e| e.into_inner());
    let written = writer.finish().map_err(Failure::failed)?;
    let frames = format::integer(written.frames);
    complain(format_args!(
        "captured {frames} frames; judge them with 'wirelab verify'"
    ));
    Ok(())
}

fn print(args: &ReceiveArgs, report: &CheckReport, path: &str) -> Result {
    let c = &report.counts;
    let clean = c.is_clean() && c.received_frames > 0 && report.missed_frames == 0;
    if args.json {
        let value = serde_json::json!({
            "counts": c, "sent_frames": args.sent, "frames_per_s": report.frames_per_s(),
            "checker_missed_frames": report.missed_frames, "notes": report.notes, "path": path,
            "kind": "measured",
        });
        say!(
            "{}",
            serde_json::to_string_pretty(&value).map_err(Failure::failed)?
        );
        return Ok(Outcome::of(clean));
    }
    let rate = report
        .frames_per_s()
        .map_or("–".to_owned(), format::frame_rate);
    say!(
        "{} frames of the flow at {rate} frames/s (measured, path {path})",
        format::integer(c.received_frames)
    );
    tell_counts(c, &[("missed by the checker itself", report.missed_frames)]);
    match args.sent {
        Some(sent) => tell_lost(c, sent),
        None => say!("  losses need the sender's number: give it with --sent"),
    }
    report.notes.iter().for_each(|note| say!("  {note}"));
    Ok(Outcome::of(clean))
}

/// Say how many of so many were lost.
pub fn tell_lost(c: &Counts, sent: u64) {
    say!(
        "  {:>15} lost of {}",
        format::integer(c.lost_frames),
        format::integer(sent)
    );
}

/// Say a checker's counts, and `more` of it: the good frames, and of the others those that are not 0.
pub fn tell_counts(c: &Counts, more: &[(&str, u64)]) {
    let rows = [
        ("good", c.good_frames),
        ("header-corrupt", c.header_corrupt_frames),
        ("truncated", c.truncated_frames),
        ("stale", c.stale_frames),
        ("corrupted", c.corrupted_frames),
        ("duplicated", c.duplicated_frames),
        ("reordered", c.reordered_frames),
        ("too late", c.too_late_frames),
        ("foreign", c.foreign_frames),
    ];
    let (first, others) = rows.split_at(1);
    let others = others.iter().chain(more).filter(|(_, n)| *n > 0);
    for (what, n) in first.iter().chain(others) {
        say!("  {:>15} {what}", format::integer(*n));
    }
}
