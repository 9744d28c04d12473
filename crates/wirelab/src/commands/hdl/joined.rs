//! Runs the port: brings it up, starts its generator when the user says so, ends it, and shows its counters.

use std::io::stdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use wirelab_hdl::{JoinError, JoinRequest, Joined, JoinedPort, NOT_COUNTED, RunLimits};
use wirelab_port::tap::{MTU_BYTES, TapError};
use wirelab_report::document::Block;
use wirelab_report::document::table::Table;
use wirelab_trial::{Counts, Direction, Extent, Kind, Layer, Size, SizeUnit, Trial};

use crate::args::HdlArgs;
use crate::ask;
use crate::commands::receive::{frames, lost, verdicts};
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
    let sizes = ask::sizes(&args.size, &[]);
    let framing = ask::framing(&args.framing, Layer::Ethernet)?;
    let says_what =
        !sizes.is_empty() || args.framing.layer.is_some() || args.framing.vlan.is_some();
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
    if args.json {
        show_json(&Report::of(args, joined))?;
        return Ok(all);
    }
    let mut blocks = Vec::new();
    if args.frames.is_some() {
        blocks.push(Block::Table(generator(args, joined)));
        if joined.interrupted {
            let words = "interrupted: not everything requested was sent";
            blocks.push(Block::Words(words.to_owned()));
        }
    }
    blocks.push(Block::Table(checker(args, joined)));
    if !joined.sticky.is_empty() {
        blocks.push(Block::Words(format!(
            "sticky bits are set: {}; docs/blocks/ethernet_port.md says what each of them means",
            joined.sticky.join(", ")
        )));
    }
    show(String::new(), blocks);
    Ok(all)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    generator: Generator,
    checker: Checker,
    interface: Interface<'a>,
    simulated_clocks: u64,
    sticky: &'a [&'static str],
    kind: Kind,
}

#[derive(Serialize)]
struct Generator {
    #[serde(rename = "asked_frames")]
    requested_frames: u64,
    sequences: u64,
    sent_frames: u64,
    injected_faults: u64,
    interrupted: bool,
}

#[derive(Serialize)]
struct Checker {
    counts: Map<String, Value>,
    sent_frames: Option<u64>,
}

#[derive(Serialize)]
struct Interface<'a> {
    name: &'a str,
    given_frames: u64,
    kept_back_frames: u64,
    taken_frames: u64,
}

impl<'a> Report<'a> {
    fn of(args: &'a HdlArgs, joined: &'a Joined) -> Report<'a> {
        Report {
            generator: Generator {
                requested_frames: args.frames.unwrap_or(0),
                sequences: joined.sequences,
                sent_frames: joined.sent_frames,
                injected_faults: joined.injected_faults,
                interrupted: joined.interrupted,
            },
            checker: Checker {
                counts: counted(&joined.counts),
                sent_frames: args.sent,
            },
            interface: Interface {
                name: &args.port,
                given_frames: joined.to_host_frames,
                kept_back_frames: joined.kept_back_frames,
                taken_frames: joined.from_host_frames,
            },
            simulated_clocks: joined.clocks,
            sticky: &joined.sticky,
            kind: Kind::Measured,
        }
    }
}

/// The checker's counts by name, without those that it has no register for: an unmeasured count is not 0.
fn counted(counts: &Counts) -> Map<String, Value> {
    let Ok(Value::Object(mut counted)) = serde_json::to_value(counts) else {
        return Map::new();
    };
    counted.retain(|name, _| !NOT_COUNTED.contains(&name.as_str()));
    counted
}

fn generator(args: &HdlArgs, joined: &Joined) -> Table {
    let mut rows = vec![(joined.sent_frames, "sent".to_owned())];
    if let Some(last) = joined.sequences.checked_sub(1) {
        let (port, sequences) = (&args.port, joined.sequences);
        rows[0].1 = format!("sent (sequences 0 to {last})");
        let given = format!("given to {port}; check with --sent {sequences}");
        rows.push((joined.to_host_frames, given));
    }
    let kept_back = "not delivered: a host gets no frame with a wrong FCS";
    let others = [
        (joined.injected_faults, "injected faults".to_owned()),
        (joined.kept_back_frames, kept_back.to_owned()),
    ];
    rows.extend(others.into_iter().filter(|(frames, _)| *frames > 0));
    frames("generator", rows)
}

fn checker(args: &HdlArgs, joined: &Joined) -> Table {
    let counts = &joined.counts;
    let mut rows = vec![
        (joined.from_host_frames, "sent by the host".to_owned()),
        (counts.received_frames, "of the flow".to_owned()),
    ];
    rows.extend(verdicts(counts, &[]));
    match args.sent {
        Some(sent) => rows.push(lost(counts, sent)),
        None if counts.received_frames > 0 => {
            let what = "lost between two that arrived; losses at the end need the sender's number: give it with --sent";
            rows.push((counts.lost_frames, what.to_owned()));
        }
        None => {}
    }
    frames("checker", rows)
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

    #[test]
    fn what_no_register_counts_is_not_shown_as_0() {
        let joined = Joined {
            sequences: 0,
            sent_frames: 0,
            interrupted: false,
            injected_faults: 0,
            to_host_frames: 0,
            kept_back_frames: 0,
            from_host_frames: 0,
            counts: Counts::default(),
            clocks: 0,
            sticky: Vec::new(),
        };
        let all = serde_json::to_value(joined.counts).unwrap();
        let args = args(&["--json"]);
        let counts = Report::of(&args, &joined).checker.counts;
        for name in NOT_COUNTED {
            assert!(
                all.get(name).is_some() && counts.get(name).is_none(),
                "{name}"
            );
        }
        assert_eq!(
            counts.len() + NOT_COUNTED.len(),
            all.as_object().unwrap().len()
        );
        assert_eq!(counts["reordered_frames"], 0);
    }
}
