//! Pulses of a channel, and how far the sampling leaves their widths open.

use serde::Serialize;

use crate::error::PulseFault;
use crate::{Active, PulseOptions, Samples, UncertaintySource};

/// A pulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pulse {
    /// Its first edge, in ps of the recording's clock.
    pub start_ps: i64,
    /// Its width in ps.
    pub width_ps: u64,
}

/// How far widths may be from the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Uncertainty {
    /// A width may be wrong by this many ps, up or down: each edge is seen up to one sample late. If only the
    /// resolution of the file is known, it is a lower bound.
    pub ps: u64,
    /// Where it comes from.
    pub from: UncertaintySource,
}

impl Uncertainty {
    /// Whether the sampling is known, so that it bounds the error.
    pub fn is_known(self) -> bool {
        self.from != UncertaintySource::Resolution
    }
}

/// The pulses of a recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pulses {
    /// The format of the file.
    pub format: &'static str,
    /// The channel.
    pub channel: String,
    /// Whether a pulse is high.
    pub active_high: bool,
    /// The voltage between the levels, of an analogue channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_v: Option<f64>,
    /// The pulses, in their order.
    pub pulses: Vec<Pulse>,
    /// The uncertainty of each width.
    pub uncertainty: Uncertainty,
    /// Pulses that were too short to count.
    pub ignored: u64,
    /// Whether the recording begins within a pulse, whose width is then unknown.
    pub cut_at_start: bool,
    /// Whether it ends within one.
    pub cut_at_end: bool,
    /// The length of the recording in ps.
    pub recorded_ps: u64,
}

/// The pulses of a channel.
///
/// # Errors
/// Where it has none.
pub fn pulses(samples: &Samples, wanted: &PulseOptions) -> Result<Pulses, PulseFault> {
    let active = wanted.active == Active::High;
    let mut since = None;
    let mut cut_at_start = samples.begins_high == Some(active);
    let begins_in_pulse = cut_at_start;
    let (mut pulses, mut ignored) = (Vec::new(), 0);
    for edge in &samples.edges {
        if edge.high == active {
            since = since.or(Some(edge.ps));
            continue;
        }
        let Some(start_ps) = since.take() else {
            // Without a level before it, the first edge ends what may be a pulse.
            cut_at_start |= samples.begins_high.is_none();
            continue;
        };
        let width_ps = edge.ps.abs_diff(start_ps);
        match width_ps < wanted.shortest_ps.max(1) {
            true => ignored += 1,
            false => pulses.push(Pulse { start_ps, width_ps }),
        }
    }
    let cut_at_end = since.is_some() || (begins_in_pulse && samples.edges.is_empty());
    if pulses.is_empty() {
        let level = if active { "high" } else { "low" };
        let (edges, channel) = (samples.edges.len(), &samples.channel);
        let why = match (cut_at_start || cut_at_end, ignored) {
            (_, 1..) => format!(
                "all {ignored} pulses of {channel} are shorter than wanted; fix: lower --shortest"
            ),
            (true, _) => format!(
                "{channel} is {level} where the recording begins or ends, so that no pulse is whole; fix: record from before the \
                 trial to after it, or give --active {}",
                if active { "low" } else { "high" }
            ),
            _ => format!(
                "{channel} is never {level} ({edges} edges); fix: choose the pin with --channel, or give --active"
            ),
        };
        return Err(why.into());
    }
    Ok(Pulses {
        format: samples.format,
        channel: samples.channel.clone(),
        active_high: active,
        threshold_v: samples.threshold,
        pulses,
        uncertainty: Uncertainty {
            ps: samples.step_ps,
            from: samples.source,
        },
        ignored,
        cut_at_start,
        cut_at_end,
        recorded_ps: samples.span_ps.1.abs_diff(samples.span_ps.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Edge;

    fn channel(begins_high: Option<bool>, edges: &[(i64, bool)]) -> Samples {
        Samples {
            format: "test",
            channel: "D0".to_owned(),
            begins_high,
            edges: edges
                .iter()
                .map(|(ps, high)| Edge {
                    ps: *ps,
                    high: *high,
                })
                .collect(),
            span_ps: (0, 1000),
            step_ps: 10,
            source: UncertaintySource::Sampling,
            threshold: None,
        }
    }

    #[test]
    fn whole_pulses_are_counted_and_cut_ones_are_named() {
        let samples = channel(
            Some(true),
            &[
                (50, false),
                (100, true),
                (300, false),
                (400, true),
                (405, false),
                (900, true),
            ],
        );
        let wanted = PulseOptions {
            shortest_ps: 10,
            ..PulseOptions::default()
        };
        let found = pulses(&samples, &wanted).unwrap();
        assert_eq!(
            found.pulses,
            [Pulse {
                start_ps: 100,
                width_ps: 200
            }]
        );
        assert!(found.cut_at_start && found.cut_at_end);
        assert_eq!((found.ignored, found.recorded_ps), (1, 1000));
        let low = PulseOptions {
            active: Active::Low,
            ..wanted
        };
        let found = pulses(&samples, &low).unwrap();
        let widths: Vec<u64> = found.pulses.iter().map(|p| p.width_ps).collect();
        assert_eq!(widths, [50, 100, 495]);
        assert!(!found.cut_at_start && !found.cut_at_end);
    }

    #[test]
    fn no_pulse_says_why() {
        let short = PulseOptions {
            shortest_ps: 500,
            ..PulseOptions::default()
        };
        for (samples, wanted, words) in [
            (
                channel(Some(false), &[]),
                PulseOptions::default(),
                "never high",
            ),
            (
                channel(Some(false), &[(5, true)]),
                PulseOptions::default(),
                "begins or ends",
            ),
            (
                channel(Some(true), &[(5, false)]),
                PulseOptions::default(),
                "--active low",
            ),
            (
                channel(None, &[(5, false)]),
                PulseOptions::default(),
                "begins or ends",
            ),
            (
                channel(Some(false), &[(5, true), (9, false)]),
                short,
                "--shortest",
            ),
        ] {
            let why = pulses(&samples, &wanted).unwrap_err().to_string();
            assert!(why.contains(words) && why.contains("fix: "), "{why}");
        }
    }
}
