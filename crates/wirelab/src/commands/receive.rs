//! `wirelab receive`: checks arriving frames, and captures them if requested.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use wirelab_port::job::CheckJob;
use wirelab_port::packet::{CaptureSink, FrameSink};
use wirelab_port::pcapng::{
    CaptureWriter, InterfaceSpec, SharedCapture, WriterOptions, end_shared,
};
use wirelab_ports::one_way::{EndCondition, receive};
use wirelab_ports::record::Arrived;
use wirelab_trial::format;
use wirelab_wire::Flow;

use crate::args::ReceiveArgs;
use crate::ask;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, complain, show_counted, show_json, while_showing};

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
    let path = args.path;
    let mut received = while_showing("receiving", until.time, || {
        receive(&port, job, path, sink, until, &cancel)
    })?;
    capture.map(finish).transpose()?;
    if let Some(sent) = args.sent {
        received.report = received.report.with_sent(sent);
    }
    let arrived = Arrived::of(&received, args.sent);
    match args.json {
        true => show_json(&arrived)?,
        false => show_counted(arrived.title(), arrived.rows(), arrived.remarks()),
    }
    Ok(Outcome::of(received.is_clean(args.sent)))
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
