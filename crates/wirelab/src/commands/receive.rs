//! `wirelab receive`: checks arriving frames, and captures them if requested.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use wirelab_port::job::CheckJob;
use wirelab_port::packet::{CaptureSink, FrameSink};
use wirelab_port::pcapng::{
    CaptureWriter, InterfaceSpec, SharedCapture, WriterOptions, end_shared,
};
use wirelab_ports::FramePath;
use wirelab_ports::one_way::{EndCondition, Received, receive};
use wirelab_report::document::Block;
use wirelab_report::document::table::{Cell, Table};
use wirelab_report::format;
use wirelab_trial::{Counts, Field, Kind};
use wirelab_wire::Flow;

use crate::args::ReceiveArgs;
use crate::ask;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, complain, show, show_json, while_showing};

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
        dscp: None,
    };
    let job = CheckJob {
        flow,
        slots: None,
        time_every: 1,
    };
    let duration = |option: &str, text: &str| {
        ask::time_ps(option, text).map(|ps| Duration::from_nanos(ps / 1000))
    };
    let until = EndCondition {
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
            sent_since_ns: None,
        }) as Box<dyn FrameSink>
    });
    let cancel = cancel_on_signal();
    let path = ask::path(&args.path, &[])?;
    let mut received = while_showing("receiving", until.time, || {
        receive(&port, job, path, sink, until, &cancel)
    })?;
    capture.map(finish).transpose()?;
    if let Some(sent) = args.sent {
        received.report = received.report.with_sent(sent);
    }
    print(args, &received)
}

/// Ends a capture when all its writers have ended, and prints its contents.
fn finish(capture: SharedCapture) -> std::result::Result<(), Failure> {
    let written = end_shared(capture).map_err(Failure::failed)?;
    let written =
        written.ok_or_else(|| Failure::failed("the capture is still in use; fix: run it again"))?;
    tell_captured(written.frames);
    Ok(())
}

/// Prints the number of captured frames.
pub fn tell_captured(frames: u64) {
    let frames = format::count(frames, "frame");
    complain(format_args!(
        "captured {frames}; verify with 'wirelab verify'"
    ));
}

/// What arrived, as `--json` prints it; the text has the same figures.
#[derive(Serialize)]
struct Arrived<'a> {
    counts: &'a Counts,
    sent_frames: Option<u64>,
    frames_per_s: Option<f64>,
    checker_missed_frames: u64,
    checker_missed_frames_at_most: Option<u64>,
    checker_held_up_ns: Option<u64>,
    link_fault: Option<&'a str>,
    notes: &'a [String],
    path: FramePath,
    kind: Kind,
}

impl<'a> Arrived<'a> {
    fn of(received: &'a Received, sent_frames: Option<u64>) -> Arrived<'a> {
        let report = &received.report;
        Arrived {
            counts: &report.counts,
            sent_frames,
            frames_per_s: report.frames_per_s(),
            checker_missed_frames: report.missed.at_least,
            checker_missed_frames_at_most: report.missed.bound(),
            checker_held_up_ns: report.held_up_ns,
            link_fault: received.link_fault.as_deref(),
            notes: &report.notes,
            path: received.path,
            kind: Kind::Measured,
        }
    }
}

fn print(args: &ReceiveArgs, received: &Received) -> Result {
    let arrived = Arrived::of(received, args.sent);
    let outcome = Outcome::of(received.is_clean(args.sent));
    if args.json {
        show_json(&arrived)?;
        return Ok(outcome);
    }
    let (c, path, kind) = (arrived.counts, arrived.path.word(), arrived.kind);
    let rate = arrived.frames_per_s;
    let rate = rate.map_or("–".to_owned(), format::frame_rate);
    let title = format!(
        "{} of the flow at {rate} frames/s ({kind}, path {path})",
        format::count(c.received_frames, "frame")
    );
    let mut rows = verdicts(c, &dropped(&arrived));
    let mut said = limits(&arrived);
    match args.sent {
        Some(sent) => rows.push(lost(c, sent)),
        None => said.insert(
            0,
            "losses need the sender's number: give it with --sent".to_owned(),
        ),
    }
    said.extend(arrived.notes.iter().cloned());
    show(
        title,
        vec![Block::Table(frames("", rows)), Block::List(said)],
    );
    Ok(outcome)
}

/// Drops of the host before the checker: of the missing frames where their number is known, otherwise of the port.
fn dropped(arrived: &Arrived<'_>) -> [(&'static str, u64); 2] {
    match arrived.sent_frames {
        Some(_) => [
            (
                "dropped by this host before they were checked, and not lost",
                arrived.counts.missed_frames,
            ),
            (
                "lost, or dropped by this host before they were checked",
                arrived.counts.lost_or_missed_frames,
            ),
        ],
        None => [
            (
                "at least dropped by this host before they were checked",
                arrived.checker_missed_frames,
            ),
            (
                "at most dropped by this host before they were checked, or later without a receiver",
                arrived.checker_missed_frames_at_most.unwrap_or(0),
            ),
        ],
    }
}

/// Possible causes of missing frames at the tester or its link.
fn limits(arrived: &Arrived<'_>) -> Vec<String> {
    let held_ns = arrived.checker_held_up_ns.filter(|ns| *ns > 0);
    let held = held_ns.map(|ns| {
        format!(
            "this host paused the checker for {}",
            format::time(ns.saturating_mul(1000))
        )
    });
    let link = arrived.link_fault;
    let link = link.map(|fault| format!("{fault}: missing frames may have been lost by the link"));
    held.into_iter().chain(link).collect()
}

/// How many of the sent frames were lost.
pub fn lost(c: &Counts, sent: u64) -> (u64, String) {
    (c.lost_frames, format!("lost of {}", format::integer(sent)))
}

/// The frames of a flow by what a checker found about them, the good ones first.
pub fn found(c: &Counts) -> Vec<(&'static str, u64)> {
    vec![
        ("good", c.good_frames),
        ("header-corrupt", c.header_corrupt_frames),
        ("truncated", c.truncated_frames),
        ("stale", c.stale_frames),
        ("corrupted", c.corrupted_frames),
        ("duplicated", c.duplicated_frames),
        ("reordered", c.reordered_frames),
        ("too late", c.too_late_frames),
    ]
}

/// A checker's counts and `more`: the good frames, and of the others those that are not 0.
pub fn verdicts(c: &Counts, more: &[(&'static str, u64)]) -> Vec<(u64, String)> {
    let mut rows = found(c);
    rows.push(("of another run", c.other_run_frames));
    rows.push(("foreign", c.foreign_frames));
    rows.extend(more);
    but_for_zeros(rows, 1)
}

/// Rows of counted frames: the first ones, and of the others those that are not 0.
pub fn but_for_zeros(rows: Vec<(&'static str, u64)>, first: usize) -> Vec<(u64, String)> {
    let rows = rows.into_iter().enumerate();
    rows.filter(|(at, (_, n))| *at < first || *n > 0)
        .map(|(_, (what, n))| (n, what.to_owned()))
        .collect()
}

/// Counted frames, a row for each number of them.
pub fn frames(caption: &str, rows: Vec<(u64, String)>) -> Table {
    let row = |(n, what)| {
        vec![
            Cell::of(Field::measured(n), format::integer),
            Cell::Text(what),
        ]
    };
    Table {
        caption: caption.to_owned(),
        ..Table::sentences(
            vec![("frames", true), ("", false)],
            rows.into_iter().map(row).collect(),
        )
    }
}
