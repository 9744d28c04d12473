//! `wirelab pulse`: the pulses of a recording; and `measure --pulse`, whose trials take them as their times.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use wirelab_pulse::{Found, PulseFile, Step, Wanted, read, trial};
use wirelab_report::format;
use wirelab_trial::{Cancel, ResultsFile};

use crate::args::PulseArgs;
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::terminal::{complain, say};

/// Most pulses that are shown one a line; JSON has all.
const MOST_SHOWN: usize = 64;
/// How long `measure` waits for the recording to be saved, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(200);
/// A file that did not grow for so long is whole.
const WHOLE: Duration = Duration::from_millis(500);
/// Clocks of file systems are coarse.
const SLACK: Duration = Duration::from_secs(2);

pub fn run(args: &PulseArgs) -> Result {
    let mut wanted = Wanted {
        channel: args.channel.clone(),
        ..Wanted::default()
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
        true => say!(
            "{}",
            serde_json::to_string_pretty(&found).map_err(Failure::failed)?
        ),
        false => print(&args.file, &found),
    }
    Ok(Outcome::Done)
}

fn print(file: &Path, found: &Found) {
    let level = if found.active_high { "high" } else { "low" };
    let threshold = found.threshold_v;
    let threshold = threshold.map_or(String::new(), |v| format!(", threshold {v:.3} V"));
    say!(
        "{}: {}, channel {}, {} {level}{threshold}",
        file.display(),
        found.format,
        found.channel,
        format::count(found.pulses.len() as u64, "pulse")
    );
    let within = match found.uncertainty.is_known() {
        true => format!("± {}", format::time(found.uncertainty.ps)),
        false => "± unknown".to_owned(),
    };
    for (n, pulse) in found.pulses.iter().take(MOST_SHOWN).enumerate() {
        say!(
            "  {}  {} {within}, from {}",
            n + 1,
            format::time(pulse.width_ps),
            format::time_f(pulse.start_ps as f64)
        );
    }
    if found.pulses.len() > MOST_SHOWN {
        say!(
            "  … and {} more (--json has all)",
            found.pulses.len() - MOST_SHOWN
        );
    }
    for note in notes(found) {
        say!("  {note}");
    }
}

fn notes(found: &Found) -> Vec<String> {
    let mut notes = Vec::new();
    notes.push(
        match found.uncertainty.from {
            Step::Sampling => "± is the sampling period that the file states, and the last digit of its times",
            Step::Given => "± is the sampling period that was given, and the last digit of the file's times",
            Step::Resolution => {
                "the file does not state how it was sampled, so the error of a width has no known limit; \
                 fix: give the rate with --sampling, e.g. --sampling 24MHz"
            }
        }
        .to_owned(),
    );
    if found.ignored > 0 {
        notes.push(format!("{} shorter ones are ignored", found.ignored));
    }
    let cut = [(found.cut_at_start, "begins"), (found.cut_at_end, "ends")];
    for (_, word) in cut.into_iter().filter(|(cut, _)| *cut) {
        notes.push(format!(
            "the recording {word} within a further pulse, which is left out"
        ));
    }
    notes
}

/// Refuses plans whose trials have no pulse, before anything is measured.
pub fn check(file: &PulseFile, directions: &[wirelab_trial::Direction]) -> Fallible<()> {
    if directions
        .iter()
        .all(|d| *d == wirelab_trial::Direction::Transmit)
    {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--pulse {}: the pin spans the frames that the node sends; fix: give --direction tx",
        file.path.display()
    )))
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
    wait(&file.path, begun, cancel)?;
    let found = read(&file.path, &file.wanted).map_err(Failure::usage)?;
    let name = file.path.display().to_string();
    trial::apply(&found, &name, &mut results.observations)
        .map_err(|why| Failure::usage(format!("--pulse {name}: {why}")))
}

/// Waits until the file was written since the trials began, and no longer grows.
fn wait(path: &Path, begun: SystemTime, cancel: &Cancel) -> Fallible<()> {
    let since = begun - SLACK;
    let (started, mut told) = (Instant::now(), false);
    let mut still: Option<(u64, Instant)> = None;
    loop {
        let data = std::fs::metadata(path).ok();
        let written = data.as_ref().and_then(|data| data.modified().ok());
        match (data, written) {
            (Some(data), Some(written)) if written >= since => {
                let old = written.elapsed().is_ok_and(|age| age > WHOLE);
                match still {
                    _ if old => return Ok(()),
                    Some((len, at)) if len == data.len() => {
                        if at.elapsed() > WHOLE {
                            return Ok(());
                        }
                    }
                    _ => still = Some((data.len(), Instant::now())),
                }
            }
            _ if !told => {
                told = true;
                complain(format_args!(
                    "wirelab: the trials are over; save the recording of the pin as {} (waiting up to 10 minutes; Ctrl-C goes on \
                     without)",
                    path.display()
                ));
            }
            _ => {}
        }
        if cancel.is_cancelled() || started.elapsed() > PATIENCE {
            return Err(Failure::failed(format!(
                "--pulse {}: no recording was saved there since the trials began; the results are without the pin; fix: save it \
                 there when the trials are over, or read it with 'wirelab pulse'",
                path.display()
            )));
        }
        std::thread::sleep(LOOK);
    }
}
