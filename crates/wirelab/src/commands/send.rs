//! `wirelab send`: sends one direction, or writes it to a capture.

use std::path::Path as FilePath;
use std::time::Duration;

use serde::Serialize;
use wirelab_cores::prefer_this_session;
use wirelab_port::pcapng::{CaptureError, GenerateSpec, WriterOptions, generate};
use wirelab_ports::record::SentRecord;
use wirelab_ports::{Path, bypassed_shapers, one_way};
use wirelab_trial::{Direction, Extent, Layer, Ledger, Size, SizeUnit, Trial, format};
use wirelab_wire::LineRate;

use crate::args::SendArgs;
use crate::ask;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, show_counted, show_json, warn_of, while_showing};

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
    let path = args.path;
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
    let sent = SentRecord::of(&report, &trial, path, cancel.is_cancelled());
    match args.json {
        true => show_json(&sent)?,
        false => show_counted(sent.title(), sent.rows(), sent.remarks()),
    }
    Ok(Outcome::of(sent.is_whole()))
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
        show_counted(title, done.ledger.rows(done.file.frames), Vec::new());
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
