//! `wirelab selftest`: measures the tester's own ceiling on this host, and lists what the host lacks.

use wirelab_ports::selftest::{Ceiling, Selftest, Steadiness};
use wirelab_report::document::Block;
use wirelab_report::document::table::{Cell, Head, Shown, Table};
use wirelab_report::format;
use wirelab_trial::{Field, Histogram};

use crate::args::SelftestArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, show, show_json};

pub fn run(args: &SelftestArgs) -> Result {
    // Each part ends on its own and removes its labs, which a signal would not.
    let cancel = cancel_on_signal();
    let found = Selftest::run(&cancel);
    if cancel.is_cancelled() {
        return Err(Failure::failed(
            "interrupted; fix: run it again for all figures",
        ));
    }
    match args.json {
        true => show_json(&found)?,
        false => print(&found),
    }
    match found.is_allowed() {
        true => Ok(Outcome::of(found.has_all())),
        false => {
            let text = "ceilings were not measured: privileges are missing, see above for the fix";
            Err(Failure::Privilege(text.to_owned()))
        }
    }
}

fn print(found: &Selftest) {
    let name = |f: &Field<String>| f.value().cloned().unwrap_or_else(|| "unknown".to_owned());
    let (kernel, cpu) = (&found.environment.kernel, &found.environment.cpu);
    let title = format!("{}, {}", name(kernel), name(cpu));
    let features = found.features.iter().map(ToString::to_string);
    let mut blocks = vec![Block::List(features.collect())];
    if found.is_allowed() {
        blocks.push(Block::heading(
            "Ceiling of the tester against itself: one veth pair, every byte verified",
        ));
        blocks.push(Block::Table(ceilings_table(&found.ceilings)));
        blocks.push(Block::heading(
            "Gap between frames of a sender that keeps a rate",
        ));
        blocks.push(Block::Table(gaps_table(&found.steadiness)));
    }
    show(title, blocks);
}

fn column(name: &'static str, unit: &'static str) -> Head {
    Head::figures(name, unit, Shown::Always, 0)
}

fn ceilings_table(all: &[Ceiling]) -> Table {
    let heads = vec![
        Head::words("path", Shown::Always, 0),
        column("frame", "B"),
        column("frames/s", ""),
        column("payload", "Mbit/s"),
        column("lost", ""),
    ];
    let row = |c: &Ceiling| {
        vec![
            Cell::from(c.path.word()),
            Cell::from(c.frame_bytes.to_string()),
            Cell::of(c.frames_per_s.clone(), format::frame_rate),
            Cell::of(c.payload_bits_per_s.clone(), format::mbit),
            Cell::of(c.lost(), |lost| lost),
        ]
    };
    Table::new("", heads, all.iter().map(row).collect())
}

fn gaps_table(all: &[Steadiness]) -> Table {
    let heads = vec![
        Head::words("path", Shown::Always, 0),
        column("frames/s", ""),
        column("requested", ""),
        column("median", ""),
        column("p99.9", ""),
        column("max", ""),
    ];
    let row = |s: &Steadiness| {
        let at = |ticks: fn(&Histogram) -> Option<u64>| {
            let shown = |ns: Option<u64>| ns.map_or("–".to_owned(), |ns| format::time(ns * 1000));
            Cell::of(s.gap.clone().map(|gap| ticks(&gap)), shown)
        };
        vec![
            Cell::from(s.path.word()),
            Cell::from(format::frame_rate(s.asked_frames_per_s)),
            Cell::from(format::time_f(1e12 / s.asked_frames_per_s)),
            at(|gap| gap.percentile(50.0)),
            at(|gap| gap.percentile(99.9)),
            at(|gap| Some(gap.max_ticks)),
        ]
    };
    Table::new("", heads, all.iter().map(row).collect())
}
