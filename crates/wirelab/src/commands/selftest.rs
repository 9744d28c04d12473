//! `wirelab selftest`: measures the tester's own ceiling on this host, and lists what the host lacks.

use serde::Serialize;
use wirelab_port::host;
use wirelab_ports::selftest::{Ceiling, Feature, Steadiness, ceilings, features, steadiness};
use wirelab_report::document::Block;
use wirelab_report::document::table::{Cell, Head, Shown, Table};
use wirelab_report::format;
use wirelab_trial::{Environment, Field, Histogram};

use crate::args::SelftestArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, show, show_json};

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    environment: &'a Environment,
    features: &'a [Feature],
    ceilings: &'a [Ceiling],
    steadiness: &'a [Steadiness],
}

pub fn run(args: &SelftestArgs) -> Result {
    // Each part ends on its own and removes its labs, which a signal would not.
    let cancel = cancel_on_signal();
    let environment = host::environment();
    let features = features();
    // Without a privilege nothing can be measured, and each part would only repeat that.
    let allowed = !features.iter().any(|f| f.privilege);
    let ceilings = if allowed { ceilings() } else { Vec::new() };
    let steady = if allowed && !cancel.is_cancelled() {
        steadiness()
    } else {
        Vec::new()
    };
    if cancel.is_cancelled() {
        return Err(Failure::failed(
            "interrupted; fix: run it again for all figures",
        ));
    }
    let end = if allowed {
        Ok(Outcome::of(features.iter().all(|f| f.missing.is_none())))
    } else {
        let text = "ceilings were not measured: privileges are missing, see above for the fix";
        Err(Failure::Privilege(text.to_owned()))
    };
    if args.json {
        show_json(&Report {
            environment: &environment,
            features: &features,
            ceilings: &ceilings,
            steadiness: &steady,
        })?;
        return end;
    }
    let name = |f: &Field<String>| f.value().cloned().unwrap_or_else(|| "unknown".to_owned());
    let title = format!("{}, {}", name(&environment.kernel), name(&environment.cpu));
    let mut blocks = vec![Block::List(features.iter().map(feature).collect())];
    if allowed {
        blocks.push(Block::heading(
            "Ceiling of the tester against itself: one veth pair, every byte verified",
        ));
        blocks.push(Block::Table(ceilings_table(&ceilings)));
        blocks.push(Block::heading(
            "Gap between frames of a sender that keeps a rate",
        ));
        blocks.push(Block::Table(gaps_table(&steady)));
    }
    show(title, blocks);
    end
}

fn feature(feature: &Feature) -> String {
    let about = format!("{} ({})", feature.name, feature.needed_for);
    match &feature.missing {
        None => format!("has {about}"),
        Some(why) => format!("LACKS {about}: {why}"),
    }
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
            Cell::of(c.lost_frames.clone(), |_| lost(c)),
        ]
    };
    Table::new("", heads, all.iter().map(row).collect())
}

/// Lost frames, from the certain to the possible number.
fn lost(c: &Ceiling) -> String {
    match (c.lost_frames.value(), c.lost_or_missed_frames.value()) {
        (Some(lost), None | Some(0)) => format::integer(*lost),
        (Some(lost), Some(either)) => {
            let most = lost.saturating_add(*either);
            format!("{}–{}", format::integer(*lost), format::integer(most))
        }
        (None, _) => "–".to_owned(),
    }
}

fn gaps_table(all: &[Steadiness]) -> Table {
    let heads = vec![
        Head::words("path", Shown::Always, 0),
        column("frames/s", ""),
        column("requested", ""),
        column("median", ""),
        column("99.9 %", ""),
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

#[cfg(test)]
mod tests {
    use wirelab_ports::FramePath;

    use super::*;

    #[test]
    fn a_loss_that_is_a_range_shows_both_ends() {
        let ceiling = |either| Ceiling {
            path: FramePath::Packet,
            frame_bytes: 64,
            frames_per_s: Field::measured(1e6),
            payload_bits_per_s: Field::measured(1e9),
            lost_frames: Field::measured(3),
            lost_or_missed_frames: Field::measured(either),
        };
        assert_eq!([0, 900].map(|n| lost(&ceiling(n))), ["3", "3–903"]);
    }
}
