//! Value change dumps (IEEE 1364, clause 18): of sigrok, logic analysers, simulators and wirelab's own emulator.

use std::io::{BufRead, Read};

use vcd::{Command, IdCode, Parser, TimescaleUnit, Value};

use crate::error::{PulseFault, choose};
use crate::levels::push;
use crate::units::{clock_ps, period_ps};
use crate::{PulseOptions, Samples, UncertaintySource};

/// Bytes of the longest command: a comment, or the value of a wide bus.
const LONGEST: u64 = 1 << 20;
/// Most variables of one bit.
const MOST_CHANNELS: usize = 4096;

/// What the definitions say.
#[derive(Default)]
struct Definitions {
    unit_ps: Option<f64>,
    period_ps: Option<f64>,
    names: Vec<String>,
    codes: Vec<IdCode>,
}

/// The channel of a dump.
///
/// # Errors
/// Why it cannot be read, with the line and the fix.
pub fn read(file: impl BufRead, wanted: &PulseOptions) -> Result<Samples, PulseFault> {
    // The parser takes the last word only if a line end follows it.
    let file = file.chain(&b"\n"[..]);
    let mut parser = Parser::new(file.take(LONGEST));
    let definitions = definitions(&mut parser)?;
    let at = choose(&definitions.names, wanted.channel.as_deref())?;
    let unit_ps = definitions.unit_ps.unwrap_or(1e12);
    let code = definitions.codes[at];
    let mut channel = Channel::default();
    let mut now = None;
    while let Some(command) = next(&mut parser)? {
        match command {
            Command::Timestamp(ticks) => {
                let ps = clock_ps(ticks as f64 * unit_ps)
                    .ok_or_else(|| at_line(&parser, "the time is out of range"))?;
                if now.is_some_and(|before| ps < before) {
                    return Err(at_line(&parser, "the time goes back"));
                }
                now = Some(ps);
                channel.begin_ps = channel.begin_ps.or(now);
            }
            Command::ChangeScalar(of, value) if of == code => channel.take(now, value)?,
            Command::ChangeVector(of, value) if of == code => {
                let value = value.iter().next().unwrap_or(Value::X);
                channel.take(now, value)?;
            }
            _ => {}
        }
    }
    let (period, source) = match (wanted.sampling_ps, definitions.period_ps) {
        (Some(given), _) => (given, UncertaintySource::Given),
        (None, Some(stated)) => (stated, UncertaintySource::Sampling),
        (None, None) => (0.0, UncertaintySource::Resolution),
    };
    Ok(Samples {
        format: "vcd",
        channel: definitions.names[at].clone(),
        begins_high: channel.begins_high,
        edges: channel.edges,
        span_ps: (channel.begin_ps.unwrap_or(0), now.unwrap_or(0)),
        step_ps: step_ps(period, unit_ps),
        source,
        threshold: None,
    })
}

/// How far an edge may be from the truth: a period, and the unit to which its time is rounded where the period is
/// not a multiple of it.
fn step_ps(period: f64, unit_ps: f64) -> u64 {
    let units = period / unit_ps;
    let is_exact = period > 0.0 && (units - units.round()).abs() < 1e-6;
    let step = if is_exact { period } else { period + unit_ps };
    step.ceil() as u64
}

/// Levels so far.
#[derive(Default)]
struct Channel {
    begin_ps: Option<i64>,
    begins_high: Option<bool>,
    high: Option<bool>,
    edges: Vec<crate::Edge>,
}

impl Channel {
    fn take(&mut self, now: Option<i64>, value: Value) -> Result<(), PulseFault> {
        let high = match value {
            Value::V0 => false,
            Value::V1 => true,
            // Unknown or not driven: the level stays.
            Value::X | Value::Z => return Ok(()),
        };
        match self.high.replace(high) {
            None => self.begins_high = Some(high),
            Some(before) if before != high => push(&mut self.edges, Some(now.unwrap_or(0)), high)?,
            Some(_) => {}
        }
        Ok(())
    }
}

fn definitions<R: BufRead>(
    parser: &mut Parser<std::io::Take<R>>,
) -> Result<Definitions, PulseFault> {
    let mut found = Definitions::default();
    while let Some(command) = next(parser)? {
        match command {
            Command::Timescale(count, unit) => {
                found.unit_ps = Some(f64::from(count) * unit_ps(unit))
            }
            Command::Comment(text) => found.period_ps = sampling(&text).or(found.period_ps),
            Command::VarDef(_, 1, code, name, index) => {
                if found.names.len() >= MOST_CHANNELS {
                    return Err(at_line(parser, "it has more than 4096 channels"));
                }
                let index = index.map_or(String::new(), |index| index.to_string());
                found.names.push(format!("{name}{index}"));
                found.codes.push(code);
            }
            Command::Enddefinitions => return Ok(found),
            _ => {}
        }
    }
    Err("its definitions have no end ($enddefinitions); fix: export the recording again".into())
}

/// The next command; `None` at the end of the file.
fn next<R: BufRead>(parser: &mut Parser<std::io::Take<R>>) -> Result<Option<Command>, PulseFault> {
    parser.reader().set_limit(LONGEST);
    let command = parser.next().transpose();
    command.map_err(|error| at_line(parser, error))
}

fn at_line<R: BufRead>(parser: &Parser<R>, why: impl std::fmt::Display) -> PulseFault {
    let line = parser.line();
    format!("line {line}: {why}; fix: export the recording again").into()
}

const fn unit_ps(unit: TimescaleUnit) -> f64 {
    match unit {
        TimescaleUnit::S => 1e12,
        TimescaleUnit::MS => 1e9,
        TimescaleUnit::US => 1e6,
        TimescaleUnit::NS => 1e3,
        TimescaleUnit::PS => 1.0,
        TimescaleUnit::FS => 1e-3,
    }
}

/// The sampling period in ps that sigrok writes: `Acquisition with 8/8 channels at 24 MHz`.
fn sampling(comment: &str) -> Option<f64> {
    let rate = comment.rsplit_once("channels at ")?.1;
    period_ps(rate.lines().next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, wanted: &PulseOptions) -> Result<Samples, String> {
        read(text.as_bytes(), wanted).map_err(|why| why.to_string())
    }

    fn edges(samples: &Samples) -> Vec<(i64, bool)> {
        samples
            .edges
            .iter()
            .map(|edge| (edge.ps, edge.high))
            .collect()
    }

    const SIGROK: &str = "$date today $end\n$version libsigrok 0.5.2 $end\n\
        $comment\n  Acquisition with 2/8 channels at 24 MHz\n$end\n$timescale 1 ns $end\n\
        $scope module libsigrok $end\n$var wire 1 ! D0 $end\n$var wire 1 \" D1 $end\n$upscope $end\n\
        $enddefinitions $end\n#0 0! 1\"\n#42 1!\n#84 0\"\n#6250042 0!\n#7000000";

    #[test]
    fn a_dump_of_sigrok_states_its_sampling() {
        let wanted = PulseOptions {
            channel: Some("D0".to_owned()),
            ..PulseOptions::default()
        };
        let samples = of(SIGROK, &wanted).unwrap();
        assert_eq!(edges(&samples), [(42_000, true), (6_250_042_000, false)]);
        assert_eq!(
            (samples.begins_high, samples.span_ps),
            (Some(false), (0, 7_000_000_000))
        );
        assert_eq!(
            (samples.step_ps, samples.source),
            (42_667, UncertaintySource::Sampling)
        );
        let error = of(SIGROK, &PulseOptions::default()).unwrap_err();
        assert!(
            error.contains("2 channels") && error.contains("D0, D1"),
            "{error}"
        );
    }

    #[test]
    fn a_dump_that_states_no_sampling_has_its_unit() {
        let text = "$timescale 10 us $end $var wire 1 a pin $end $enddefinitions $end #5 xa #6 0a #7 1a #7 1a #9 0a";
        let samples = of(text, &PulseOptions::default()).unwrap();
        assert_eq!(edges(&samples), [(70_000_000, true), (90_000_000, false)]);
        assert_eq!(
            (samples.step_ps, samples.source),
            (10_000_000, UncertaintySource::Resolution)
        );
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        for (text, words) in [
            ("$var wire 1 a pin $end\n", "no end"),
            ("$enddefinitions $end\n#1\n", "no channel"),
            (
                "$var wire 1 a pin $end\n$enddefinitions $end\n#1 1a\n#0 0a",
                "line 4: the time goes back",
            ),
            ("$var wire 1 a pin $end $enddefinitions $end\n%", "line 2: "),
            (
                "$var wire 1 a pin $end $enddefinitions $end\n#18446744073709551615",
                "out of range",
            ),
        ] {
            let error = of(text, &PulseOptions::default()).unwrap_err();
            assert!(
                error.contains(words) && error.contains("fix: "),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn a_command_without_end_is_bounded() {
        let text = format!("$comment {}", "x".repeat(3 << 20));
        assert!(of(&text, &PulseOptions::default()).is_err());
    }
}
