//! Runs the port: brings it up, starts its generator when the user says so, ends it, and shows its counters.

use std::io::stdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use wirelab_hdl::{JoinError, JoinRequest, Joined, JoinedPort, NOT_COUNTED};
use wirelab_port::tap::{MTU_BYTES, TapError};
use wirelab_report::format;
use wirelab_trial::job::CheckReport;
use wirelab_trial::{Cancel, Counts, Direction, Extent, Layer, Size, SizeUnit, Trial};

use crate::args::HdlArgs;
use crate::ask;
use crate::commands::receive;
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::terminal::{cancel_on_signal, complain, say};

/// How long an idle port waits for a frame before it checks whether to end.
const LOOK: Duration = Duration::from_millis(20);

pub fn run(args: &HdlArgs) -> Result {
    let (asked, when) = (asked(args)?, When::of(args)?);
    let port = ask::port(&args.port)?;
    let cancel = cancel_on_signal();
    let mut joined = JoinedPort::up(port, &asked).map_err(failure)?;
    complain(format_args!(
        "{} is up, with a port of hardware in simulation at its other end; Ctrl-C ends it",
        args.port
    ));
    let unsent = carry(&mut joined, &when, &cancel)?;
    let came = joined.finish().map_err(Failure::failed)?;
    print(args, &came, unsent)
}

/// The requested work of the port.
fn asked(args: &HdlArgs) -> Fallible<JoinRequest> {
    let sizes = ask::sizes(&args.size, &[]);
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

/// When the generator begins, and when everything ends.
struct When {
    generates: bool,
    after: Option<Duration>,
    time: Option<Duration>,
    idle: Option<Duration>,
}

impl When {
    fn of(args: &HdlArgs) -> Fallible<When> {
        let duration = |option: &str, text: &Option<String>| -> Fallible<Option<Duration>> {
            let ps = text.as_deref().map(|text| ask::time_ps(option, text));
            Ok(ps.transpose()?.map(|ps| Duration::from_nanos(ps / 1000)))
        };
        Ok(When {
            generates: args.frames.is_some(),
            after: duration("--after", &args.after)?,
            time: duration("--time", &args.time)?,
            idle: duration("--idle", &args.idle)?,
        })
    }

    /// A flag that is set at a line, or at the end of input.
    fn entered(&self) -> Arc<AtomicBool> {
        let entered = Arc::new(AtomicBool::new(false));
        if self.generates && self.after.is_none() {
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
}

/// Carries frames until the end; returns whether the generator has not sent everything requested.
fn carry(joined: &mut JoinedPort, when: &When, cancel: &Cancel) -> Fallible<bool> {
    let (entered, begun) = (when.entered(), Instant::now());
    let mut waits = when.generates;
    let (mut passed, mut since) = (0, begun);
    while !cancel.is_cancelled() && when.time.is_none_or(|time| begun.elapsed() < time) {
        let is_due = when.after.is_some_and(|after| begun.elapsed() >= after);
        if waits && (is_due || entered.load(Ordering::Relaxed)) {
            joined.start().map_err(Failure::failed)?;
            waits = false;
        }
        joined.advance(LOOK).map_err(Failure::failed)?;
        if joined.flow_frames() != passed || joined.sends() {
            (passed, since) = (joined.flow_frames(), Instant::now());
        }
        let is_over = passed > 0 && !waits;
        if is_over && when.idle.is_some_and(|idle| since.elapsed() >= idle) {
            break;
        }
    }
    Ok(waits || joined.sends())
}

fn failure(error: JoinError) -> Failure {
    match error {
        JoinError::Asked(error) => error.into(),
        JoinError::Tap(error) => match &error {
            error if error.is_privilege() => Failure::Privilege(error.to_string()),
            TapError::Setup { .. } => Failure::failed(error),
            _ => Failure::usage(error),
        },
        other => Failure::failed(other),
    }
}

/// The checker's counts, with the losses at the end where the sender's number is known.
fn counts(came: &Joined, sent: Option<u64>) -> Counts {
    let Some(sent) = sent else {
        return came.counts;
    };
    let report = CheckReport {
        counts: came.counts,
        ..CheckReport::default()
    };
    report.with_sent(sent).counts
}

fn print(args: &HdlArgs, came: &Joined, unsent: bool) -> Result {
    let counts = counts(came, args.sent);
    let all = Outcome::of(counts.is_clean() && !unsent && came.sticky.is_empty());
    if args.json {
        let text = serde_json::to_string_pretty(&document(args, came, &counts, unsent))
            .map_err(Failure::failed)?;
        say!("{text}");
        return Ok(all);
    }
    if args.frames.is_some() {
        tell_generator(args, came, unsent);
    }
    tell_checker(args, came, &counts);
    if !came.sticky.is_empty() {
        say!(
            "sticky bits are set: {}; docs/blocks/ethernet_port.md says what each of them means",
            came.sticky.join(", ")
        );
    }
    Ok(all)
}

/// The output of `--json`.
fn document(args: &HdlArgs, came: &Joined, counts: &Counts, unsent: bool) -> Value {
    serde_json::json!({
        "generator": {
            "asked_frames": args.frames.unwrap_or(0), "sequences": came.sequences, "sent_frames": came.sent_frames,
            "injected_faults": came.injected_faults, "interrupted": unsent,
        },
        "checker": { "counts": counted(counts), "sent_frames": args.sent },
        "interface": {
            "name": args.port, "given_frames": came.to_host_frames, "kept_back_frames": came.kept_back_frames,
            "taken_frames": came.from_host_frames,
        },
        "simulated_clocks": came.clocks, "sticky": came.sticky, "kind": "measured",
    })
}

/// The checker's counts by name, without those that it has no register for: an unmeasured count is not 0.
fn counted(counts: &Counts) -> Value {
    let mut counted = serde_json::json!(counts);
    if let Value::Object(counted) = &mut counted {
        counted.retain(|name, _| !NOT_COUNTED.contains(&name.as_str()));
    }
    counted
}

fn tell_generator(args: &HdlArgs, came: &Joined, unsent: bool) {
    let sent = format::count(came.sent_frames, "frame");
    match came.sequences.checked_sub(1) {
        Some(last) => {
            say!("generator: {sent} sent (measured, sequences 0 to {last})");
            say!(
                "  {:>15} given to {}; check with --sent {}",
                format::integer(came.to_host_frames),
                args.port,
                came.sequences
            );
        }
        None => say!("generator: no frame sent (measured)"),
    }
    for (frames, what) in [
        (came.injected_faults, "injected faults"),
        (
            came.kept_back_frames,
            "not delivered: a host gets no frame with a wrong FCS",
        ),
    ] {
        if frames > 0 {
            say!("  {:>15} {what}", format::integer(frames));
        }
    }
    if unsent {
        say!("  interrupted: not everything requested was sent");
    }
}

fn tell_checker(args: &HdlArgs, came: &Joined, counts: &Counts) {
    let taken = format::integer(came.from_host_frames);
    let received = format::count(counts.received_frames, "frame");
    say!("checker: {received} of the flow (measured), of {taken} that the host sent");
    receive::tell_counts(counts, &[]);
    match args.sent {
        Some(sent) => receive::tell_lost(counts, sent),
        None if counts.received_frames > 0 => say!(
            "  {:>15} lost between two that arrived; losses at the end need the sender's number: give it with --sent",
            format::integer(counts.lost_frames)
        ),
        None => {}
    }
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
            let mtu = asked(&args(&["--mtu", bytes])).unwrap().mtu;
            assert_eq!(mtu, bytes.parse().ok());
        }
        assert_eq!(asked(&args(&[])).unwrap().mtu, None);
        for bytes in ["0", "67", "65522", "100000"] {
            let told = asked(&args(&["--mtu", bytes])).unwrap_err();
            assert_eq!(told.code(), 2);
            let words = format!("--mtu {bytes}: a TAP device has 68 to 65521 bytes");
            assert!(told.to_string().contains(&words), "{told}");
        }
    }

    #[test]
    fn what_no_register_counts_is_not_shown_as_0() {
        let came = Joined {
            sequences: 0,
            sent_frames: 0,
            injected_faults: 0,
            to_host_frames: 0,
            kept_back_frames: 0,
            from_host_frames: 0,
            counts: Counts::default(),
            clocks: 0,
            sticky: Vec::new(),
        };
        let all = serde_json::json!(came.counts);
        let told = document(&args(&["--json"]), &came, &came.counts, false);
        let told = told["checker"]["counts"].as_object().unwrap();
        for name in NOT_COUNTED {
            assert!(
                all.get(name).is_some() && told.get(name).is_none(),
                "{name}"
            );
        }
        assert_eq!(
            told.len() + NOT_COUNTED.len(),
            all.as_object().unwrap().len()
        );
        assert_eq!(told["reordered_frames"], 0);
    }
}
