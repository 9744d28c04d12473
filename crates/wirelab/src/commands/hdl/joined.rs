//! Runs the port: brings it up, starts its generator when the user says so, ends it, and shows its counters.

use std::io::stdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use wirelab_hdl::{JoinError, JoinRequest, Joined, JoinedPort, JoinedRecord, RunLimits};
use wirelab_port::tap::{MTU_BYTES, TapError};
use wirelab_report::document::Block;
use wirelab_report::document::table::Table;
use wirelab_trial::{Direction, Extent, Layer, Size, SizeUnit, Trial};

use crate::args::HdlArgs;
use crate::ask;
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::terminal::{cancel_on_signal, complain, show, show_json};

pub fn run(args: &HdlArgs) -> Result {
    let (join_request, when) = (join_request(args)?, when(args)?);
    let port = ask::port(&args.port)?;
    let cancel = cancel_on_signal();
    let mut joined = JoinedPort::up(port, &join_request).map_err(failure)?;
    complain(format_args!(
        "{} is up, with a port of hardware in simulation at its other end; Ctrl-C ends it",
        args.port
    ));
    joined
        .carry(&when, &entered(&when), &cancel)
        .map_err(Failure::failed)?;
    let joined = joined.finish().map_err(Failure::failed)?;
    print(args, &joined.with_sent(args.sent))
}

/// The requested work of the port.
fn join_request(args: &HdlArgs) -> Fallible<JoinRequest> {
    let sizes = ask::sizes(&args.size, []);
    let framing = ask::framing(&args.framing, Layer::Ethernet)?;
    let says_what = !sizes.is_empty() || args.framing.layer.is_some() || args.framing.vlan > 0;
    let frames = match args.frames {
        Some(0) => {
            let why = "--frames 0 requests nothing; fix: give at least 1, or leave it out for a port that only checks";
            return Err(Failure::usage(why));
        }
        None if says_what => {
            let why = "sizes, --layer and --vlan describe the generator's frames; fix: give their number with --frames";
            return Err(Failure::usage(why));
        }
        frames => frames.unwrap_or(1),
    };
    let size = match sizes[..] {
        [] => Size::new(SizeUnit::Frame, 64),
        [size] => size,
        _ => {
            return Err(Failure::usage(
                "the generator of hdl has one size; fix: give one",
            ));
        }
    };
    let load = args.load.parse().map_err(Failure::usage)?;
    let extent = Extent::Frames { frames };
    let mac =
        |option, text: &Option<String>| text.as_deref().map(|m| ask::mac(option, m)).transpose();
    Ok(JoinRequest {
        trial: Trial {
            faults: ask::faults(args.inject.as_deref())?,
            ..Trial::new(framing, Direction::Transmit, size, load, extent)
        },
        to: mac("--to", &args.to)?,
        stream: args.stream,
        from: mac("--from", &args.from)?,
        mtu: args.mtu.map(mtu).transpose()?,
    })
}

/// An MTU in bytes that a TAP device can have.
fn mtu(bytes: u32) -> Fallible<u32> {
    match MTU_BYTES.contains(&bytes) {
        true => Ok(bytes),
        false => Err(Failure::usage(format!(
            "--mtu {bytes}: a TAP device has {} to {} bytes; fix: give one of these, or leave it out",
            MTU_BYTES.start(),
            MTU_BYTES.end()
        ))),
    }
}

fn when(args: &HdlArgs) -> Fallible<RunLimits> {
    let duration = |option: &str, text: &Option<String>| -> Fallible<Option<Duration>> {
        let ps = text.as_deref().map(|text| ask::time_ps(option, text));
        Ok(ps.transpose()?.map(|ps| Duration::from_nanos(ps / 1000)))
    };
    Ok(RunLimits {
        generates: args.frames.is_some(),
        after: duration("--after", &args.after)?,
        time: duration("--time", &args.time)?,
        idle: duration("--idle", &args.idle)?,
    })
}

/// A flag that is set at a line, or at the end of input.
fn entered(when: &RunLimits) -> Arc<AtomicBool> {
    let entered = Arc::new(AtomicBool::new(false));
    if when.generates && when.after.is_none() {
        complain(format_args!("Enter starts its generator"));
        let set = Arc::clone(&entered);
        // The thread may wait at the terminal until the program ends.
        thread::spawn(move || {
            let _ = stdin().read_line(&mut String::new());
            set.store(true, Ordering::Relaxed);
        });
    }
    entered
}

fn failure(error: JoinError) -> Failure {
    match error {
        JoinError::BadTrial(error) => error.into(),
        JoinError::Tap(error) => match &error {
            error if error.is_privilege() => Failure::Privilege(error.to_string()),
            TapError::Setup { .. } => Failure::failed(error),
            _ => Failure::usage(error),
        },
        other => Failure::failed(other),
    }
}

fn print(args: &HdlArgs, joined: &Joined) -> Result {
    let all = Outcome::of(joined.is_clean());
    let record = JoinedRecord::of(joined, &args.port, args.frames.unwrap_or(0), args.sent);
    if args.json {
        show_json(&record)?;
        return Ok(all);
    }
    let mut blocks = Vec::new();
    if args.frames.is_some() {
        let rows = record.generator_rows();
        blocks.push(Block::Table(Table::counted("generator", rows)));
        if joined.interrupted {
            let words = "interrupted: not everything requested was sent";
            blocks.push(Block::Words(words.to_owned()));
        }
    }
    let rows = record.checker_rows();
    blocks.push(Block::Table(Table::counted("checker", rows)));
    if !joined.sticky.is_empty() {
        blocks.push(Block::Words(format!(
            "sticky bits are set: {}; docs/blocks/ethernet_port.md says what each of them means",
            joined.sticky.join(", ")
        )));
    }
    show(String::new(), blocks);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn args(line: &[&str]) -> HdlArgs {
        match Cli::parse_from(["wirelab", "hdl", "tap0"].iter().chain(line)).command {
            Command::Hdl(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_mtu_that_no_tap_device_has_is_refused_before_one_is_made() {
        for bytes in ["68", "1500", "65521"] {
            let mtu = join_request(&args(&["--mtu", bytes])).unwrap().mtu;
            assert_eq!(mtu, bytes.parse().ok());
        }
        assert_eq!(join_request(&args(&[])).unwrap().mtu, None);
        for bytes in ["0", "67", "65522", "100000"] {
            let refusal = join_request(&args(&["--mtu", bytes])).unwrap_err();
            assert_eq!(refusal.code(), 2);
            let words = format!("--mtu {bytes}: a TAP device has 68 to 65521 bytes");
            assert!(refusal.to_string().contains(&words), "{refusal}");
        }
    }
}
