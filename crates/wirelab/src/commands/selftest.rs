//! `wirelab selftest`: measures the tester's own ceiling on this host, and lists what the host lacks.

use wirelab_port::host;
use wirelab_ports::selftest::{Ceiling, Feature, Steadiness, ceilings, features, steadiness};
use wirelab_report::format;

use crate::args::SelftestArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, say};

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
        return Err(Failure::failed("interrupted; run it again for all figures"));
    }
    let end = if allowed {
        Ok(Outcome::of(features.iter().all(|f| f.missing.is_none())))
    } else {
        let text = "ceilings were not measured: privileges are missing, see above for the fix";
        Err(Failure::Privilege(text.to_owned()))
    };
    if args.json {
        let value = serde_json::json!({
            "environment": environment, "features": features, "ceilings": ceilings, "steadiness": steady,
        });
        say!(
            "{}",
            serde_json::to_string_pretty(&value).map_err(Failure::failed)?
        );
        return end;
    }
    let name = |f: &wirelab_trial::Field<String>| {
        f.value().cloned().unwrap_or_else(|| "unknown".to_owned())
    };
    say!("{}, {}", name(&environment.kernel), name(&environment.cpu));
    features.iter().for_each(print_feature);
    if !allowed {
        return end;
    }
    say!("\nCeiling of the tester against itself: one veth pair, every byte verified (measured)");
    say!(
        "{:>8} {:>8} {:>14} {:>16} {:>8}",
        "path",
        "frame B",
        "frames/s",
        "payload Mbit/s",
        "lost"
    );
    ceilings.iter().for_each(print_ceiling);
    say!("\nGap between frames of a sender that keeps a rate (measured)");
    say!(
        "{:>8} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "path",
        "frames/s",
        "asked",
        "median",
        "99.9 %",
        "max"
    );
    steady.iter().for_each(print_steadiness);
    end
}

fn print_feature(feature: &Feature) {
    match &feature.missing {
        None => say!("  has    {} ({})", feature.name, feature.needed_for),
        Some(why) => say!("  LACKS  {} ({}): {why}", feature.name, feature.needed_for),
    }
}

fn print_ceiling(c: &Ceiling) {
    let rate = c
        .frames_per_s
        .value()
        .map_or("–".to_owned(), |r| format::frame_rate(*r));
    let bits = c
        .payload_bits_per_s
        .value()
        .map_or("–".to_owned(), |b| format::mbit(*b));
    let lost = lost(c);
    say!(
        "{:>8} {:>8} {rate:>14} {bits:>16} {lost:>8}",
        c.path,
        c.frame_bytes
    );
    if let wirelab_trial::Field::Absent { absent } = &c.frames_per_s {
        say!("         {absent}");
    }
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

fn print_steadiness(s: &Steadiness) {
    let asked_ps = 1e12 / s.asked_frames_per_s;
    let rate = format::frame_rate(s.asked_frames_per_s);
    match s.gap.value() {
        None => say!("{:>8} {rate:>10} –", s.path),
        Some(gap) => {
            let at = |p| {
                gap.percentile(p)
                    .map_or("–".to_owned(), |ns| format::time(ns * 1000))
            };
            let (median, tail) = (at(50.0), at(99.9));
            let most = format::time(gap.max_ticks * 1000);
            let asked = format::time_f(asked_ps);
            say!(
                "{:>8} {rate:>10} {asked:>10} {median:>10} {tail:>10} {most:>10}",
                s.path
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_that_is_a_range_shows_both_ends() {
        let ceiling = |either| Ceiling {
            path: "packet",
            frame_bytes: 64,
            frames_per_s: wirelab_trial::Field::measured(1e6),
            payload_bits_per_s: wirelab_trial::Field::measured(1e9),
            lost_frames: wirelab_trial::Field::measured(3),
            lost_or_missed_frames: wirelab_trial::Field::measured(either),
        };
        assert_eq!([0, 900].map(|n| lost(&ceiling(n))), ["3", "3–903"]);
    }
}
