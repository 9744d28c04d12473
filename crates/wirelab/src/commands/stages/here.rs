//! `wirelab stages here:IFACE`: the node alone, which [`wirelab_stages::Watch`] watches.

use std::time::Duration;

use wirelab_bench::stages::request;
use wirelab_stages::Watch;
use wirelab_trial::measuring::Measuring;
use wirelab_trial::{NodeName, Part, Status, Wait, WarningCode};

use super::{show, split};
use crate::args::{LENGTHS, StagesArgs};
use crate::ask;
use crate::commands::kept::{self, StoreRun};
use crate::exit::{Failure, Fallible, Result};
use crate::terminal::{Bar, cancel_on_signal};

pub fn run(args: &StagesArgs, name: &NodeName) -> Result {
    let (results, pages) = split(&args.output);
    let watch = watch(args, name)?;
    let store = StoreRun::of(&args.keep)?;
    let (bar, cancel) = (Bar::new(), cancel_on_signal());
    let observation = watch.run(&bar, &cancel);
    bar.clear();
    let observation = observation?;
    let notes = observation
        .warnings
        .iter()
        .filter(|w| w.is(WarningCode::NODE));
    let notes = notes.map(|w| w.text.clone()).collect();
    // A separate part: appended to another file it is another run.
    let part = Part {
        name: "stages".to_owned(),
        first: 0,
        observations: 1,
        found: None,
        refused: None,
    };
    let begun = *observation.started_unix_ns.value().unwrap_or(&0);
    let mut file = kept::results(begun, vec![observation], vec![part], cancel.is_cancelled());
    file.measuring = Some(Measuring {
        notes,
        ..Measuring::default()
    });
    if let Some(store) = &store {
        store.finish(&file)?;
    }
    for path in &results {
        wirelab_bench::save(&file, path).map_err(Failure::failed)?;
    }
    let shown = show(args, &file, None, &pages)?;
    match &file.observations[0].status {
        Status::Complete => Ok(shown),
        Status::Partial { why } | Status::Void { why } => Err(Failure::failed(format!(
            "{why}; fix: give a longer --time, or request fewer with --count"
        ))),
    }
}

/// What to watch.
fn watch(args: &StagesArgs, name: &NodeName) -> Fallible<Watch> {
    let wait = match args.wait.as_deref() {
        None => Wait::Sleep,
        Some(word) => word
            .parse()
            .map_err(|why| Failure::usage(format!("--wait with here:IFACE: {why}")))?,
    };
    let time = args.time.as_deref();
    let time = time.map(|t| ask::time_ps("--time", t)).transpose()?;
    let length_bytes = match args.length[..] {
        [one] => Some(one),
        _ if args.length == LENGTHS => None,
        _ => {
            return Err(Failure::usage(
                "--length with here:IFACE: its frames have one length, as they are sent; fix: give one, or leave it out",
            ));
        }
    };
    Ok(Watch {
        port: Watch::port_of(name)?,
        udp_port: args.port,
        stream: args.stream,
        frames: args.count.unwrap_or(request::FRAMES),
        time: time.map(|ps| Duration::from_nanos(ps / 1000)),
        receive: (!args.watch).then_some(wait),
        length_bytes,
        choice: args.probes.parse().map_err(Failure::usage)?,
        xdp: args
            .xdp
            .parse()
            .map_err(|why| Failure::usage(format!("--xdp: {why}")))?,
    })
}
