//! `wirelab pulse`: the pulses of a recording; and `measure --pulse`, whose trials take them as their times.

use std::time::SystemTime;

use wirelab_pulse::saved::{PATIENCE, wait};
use wirelab_pulse::{PulseFile, PulseOptions, read, trial};
use wirelab_report::pulses;
use wirelab_trial::{Cancel, ResultsFile};

use crate::args::PulseArgs;
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::terminal::{complain, show_document, show_json};

pub fn run(args: &PulseArgs) -> Result {
    let mut wanted = PulseOptions {
        channel: args.channel.clone(),
        ..PulseOptions::default()
    };
    for (option, value) in [
        ("active", Some(&args.active)),
        ("sampling", args.sampling.as_ref()),
        ("threshold", args.threshold.as_ref()),
        ("shortest", args.shortest.as_ref()),
    ] {
        if let Some(value) = value {
            let set = wanted.set(option, value);
            set.map_err(|why| Failure::usage(format!("--{option}: {why}")))?;
        }
    }
    let found = read(&args.file, &wanted).map_err(Failure::usage)?;
    match args.json {
        true => show_json(&found)?,
        false => show_document(&pulses(&args.file.display().to_string(), &found)),
    }
    Ok(Outcome::Done)
}

/// Makes the pulses of a recording, which is saved after the trials, their times.
pub fn take(
    file: &PulseFile,
    begun: SystemTime,
    results: &mut ResultsFile,
    cancel: &Cancel,
) -> Fallible<()> {
    if results.observations.is_empty() {
        return Ok(());
    }
    let name = file.path.display().to_string();
    let on_wait = || {
        complain(format_args!(
            "wirelab: the trials are over; save the recording of the pin as {name} (waiting up to {} minutes; Ctrl-C goes on without)",
            PATIENCE.as_secs() / 60
        ));
    };
    wait(&file.path, begun, cancel, on_wait)
        .map_err(|why| Failure::failed(format!("--pulse {name}: {why}")))?;
    let found = read(&file.path, &file.wanted).map_err(Failure::usage)?;
    trial::apply(&found, &name, &mut results.observations)
        .map_err(|why| Failure::usage(format!("--pulse {name}: {why}")))
}
