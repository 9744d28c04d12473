//! The command that repeats a trial, as a reader copies it: nothing in it means more to a shell than it says.

use std::collections::BTreeMap;

use wirelab_trial::{Direction, Extent, Observation, ResultsFile, Trial};
use wirelab_wire::Layer;

/// The commands of a file's trials, by their number from 1.
pub fn commands(file: &ResultsFile) -> BTreeMap<usize, String> {
    let each = file.observations.iter().enumerate();
    each.filter_map(|(at, o)| Some((at + 1, command(o)?)))
        .collect()
}

/// The command that repeats a trial; `None` where no options do: faults are of a plan or of `--inject` alone.
fn command(o: &Observation) -> Option<String> {
    let node = match harmless(&o.node.name) {
        true => &o.node.name,
        false => "NODE",
    };
    of_trial(node, &o.trial)
}

fn of_trial(node: &str, trial: &Trial) -> Option<String> {
    if !trial.faults.is_clean() {
        return None;
    }
    let mut words = vec![format!("wirelab measure {node}")];
    let mut say = |option: &str, value: String| words.push(format!("--{option} {value}"));
    if trial.framing.layer != Layer::Ethernet {
        say("layer", trial.framing.layer.word().to_owned());
    }
    if trial.framing.vlan_tags > 0 {
        say("vlan", trial.framing.vlan_tags.to_string());
    }
    say(trial.size.unit.name(), trial.size.bytes.to_string());
    say("direction", direction_word(trial.direction).to_owned());
    say("load", trial.load.to_string());
    match trial.extent {
        Extent::Frames { frames } => say("frames", frames.to_string()),
        Extent::Time { time_ps } => say("time", time(time_ps)),
    }
    if trial.ports > 1 {
        say("ports", trial.ports.to_string());
    }
    for (option, value) in trial.options() {
        match &*value {
            "" => words.push(format!("--{}", option.flag())),
            value if harmless(value) => words.push(format!("--{} {value}", option.flag())),
            _ => {}
        }
    }
    Some(words.join(" "))
}

const fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::Transmit => "tx",
        Direction::Receive => "rx",
        Direction::Both => "both",
        Direction::Echo => "echo",
    }
}

/// A time as the command line takes it, in the largest unit that needs no fraction.
fn time(ps: u64) -> String {
    let units = [
        (1_000_000_000_000, "s"),
        (1_000_000_000, "ms"),
        (1_000_000, "us"),
    ];
    let fits = units.into_iter().find(|(unit, _)| ps % unit == 0);
    match fits {
        Some((unit, name)) => format!("{}{name}", ps / unit),
        None => format!("{}ns", ps / 1000),
    }
}

/// Whether a text is literal for a shell: a copied command must not do anything else.
pub fn harmless(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".:_-[]%/,=".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.len() <= 200 && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::{Framing, Load, Size, SizeUnit, TrialOption};

    #[test]
    fn each_option_of_a_trial_is_in_its_command() {
        let framing = Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        };
        let size = Size::new(SizeUnit::Datagram, 1000);
        let extent = Extent::Frames { frames: 10 };
        let plain = Trial::new(framing, Direction::Both, size, Load::Max, extent);
        let without = of_trial("lab:1", &plain);
        assert_eq!(
            without.as_deref(),
            Some(
                "wirelab measure lab:1 --layer udp4 --datagram 1000 --direction both --load max --frames 10"
            )
        );
        for option in TrialOption::ALL {
            let with = of_trial("lab:1", &plain.with_option(*option));
            assert_ne!(with, without, "{option:?}: another trial would be repeated");
        }
    }
}
