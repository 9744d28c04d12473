//! Levels of an analogue channel: the voltage half-way between low and high, and the edges that cross it.

use crate::error::PulseFault;
use crate::{Edge, MOST_EDGES};

/// Half the width of the band around the threshold in which the level is kept, as a share of the amplitude: noise in it
/// makes no edge.
const HYSTERESIS: f64 = 0.1;
/// Most spread of each level, as a share of the distance between them; beyond it, a channel has no two levels.
const WIDEST: f64 = 0.5;

/// Low and high of a channel in V.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// The lower level.
    pub low: f64,
    /// The upper level.
    pub high: f64,
}

/// The two levels of samples: the medians of those below and above the middle (IEEE 181 takes modes, which need bins).
///
/// # Errors
/// Where the samples have no two levels.
pub fn of(samples: &[f32]) -> Result<Levels, PulseFault> {
    let finite = samples.iter().copied().filter(|v| v.is_finite());
    let (least, most) = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| {
        (a.min(v), b.max(v))
    });
    let none = || {
        PulseFault::from(
            "the channel has no two levels; fix: record while the pin changes, or give the voltage between the levels with \
             --threshold",
        )
    };
    if least >= most {
        return Err(none());
    }
    let middle = (f64::from(least) + f64::from(most)) / 2.0;
    let side = |above: bool| -> Vec<f32> {
        let of_side = samples.iter().copied().filter(|v| v.is_finite());
        of_side
            .filter(|v| (f64::from(*v) > middle) == above)
            .collect()
    };
    let (low, low_width) = middle_of(side(false)).ok_or_else(none)?;
    let (high, high_width) = middle_of(side(true)).ok_or_else(none)?;
    match low_width.max(high_width) > WIDEST * (high - low) {
        true => Err(none()),
        false => Ok(Levels { low, high }),
    }
}

/// The median, and the distance of the quartiles.
fn middle_of(mut samples: Vec<f32>) -> Option<(f64, f64)> {
    let at = |samples: &mut Vec<f32>, share: usize| {
        let index = (samples.len().checked_sub(1)?) * share / 4;
        let (_, value, _) = samples.select_nth_unstable_by(index, f32::total_cmp);
        Some(f64::from(*value))
    };
    let lower = at(&mut samples, 1)?;
    let upper = at(&mut samples, 3)?;
    Some((at(&mut samples, 2)?, upper - lower))
}

/// A level as it follows samples.
#[derive(Clone, Debug)]
pub struct Follower {
    threshold: f64,
    band: f64,
    high: Option<bool>,
    before: Option<(f64, f64)>,
    /// The latest crossing of the threshold: its time in ps, and whether upwards. It becomes an edge once the level
    /// leaves the band.
    crossing: Option<(f64, bool)>,
    edges: Vec<Edge>,
    begins_high: Option<bool>,
}

impl Follower {
    /// Follows a channel with these levels, or with this threshold in V.
    pub fn new(levels: Option<Levels>, threshold: Option<f64>) -> Follower {
        let half = levels.map_or(0.0, |l| (l.low + l.high) / 2.0);
        Follower {
            threshold: threshold.unwrap_or(half),
            band: levels.map_or(0.0, |l| HYSTERESIS * (l.high - l.low)),
            high: None,
            before: None,
            crossing: None,
            edges: Vec::new(),
            begins_high: None,
        }
    }

    /// The threshold in V.
    pub const fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Takes the sample of a time in ps.
    ///
    /// # Errors
    /// Too many edges.
    pub fn take(&mut self, ps: f64, volts: f64) -> Result<(), PulseFault> {
        if !volts.is_finite() {
            return Ok(());
        }
        let above = volts > self.threshold;
        if let Some((then_ps, then)) = self.before
            && (then > self.threshold) != above
        {
            // The straight line between two samples crosses here.
            let share = (self.threshold - then) / (volts - then);
            self.crossing = Some((then_ps + share.clamp(0.0, 1.0) * (ps - then_ps), above));
        }
        self.before = Some((ps, volts));
        let is_out = (volts - self.threshold).abs() >= self.band;
        if is_out && self.high != Some(above) {
            match self.high.replace(above) {
                None => self.begins_high = Some(above),
                Some(_) => {
                    let at = self.crossing.filter(|(_, up)| *up == above);
                    self.push(at.map_or(ps, |(at, _)| at), above)?;
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, ps: f64, high: bool) -> Result<(), PulseFault> {
        push(&mut self.edges, crate::units::clock_ps(ps), high)
    }

    /// The level at the begin, and the edges.
    pub fn finish(self) -> (Option<bool>, Vec<Edge>) {
        (self.begins_high, self.edges)
    }
}

/// Appends an edge.
///
/// # Errors
/// A time out of range or out of order, or too many edges.
pub fn push(edges: &mut Vec<Edge>, ps: Option<i64>, high: bool) -> Result<(), PulseFault> {
    let ps = ps.ok_or("its times are out of range; fix: export the part with the pulse alone")?;
    if edges.last().is_some_and(|edge| edge.ps > ps) {
        return Err("its times go back; fix: export the recording again".into());
    }
    if edges.len() >= MOST_EDGES {
        return Err(format!(
            "the channel has more than {MOST_EDGES} edges, so that it is not a pulse of a pin; fix: choose another with \
             --channel, or export the part with the pulse alone"
        )
        .into());
    }
    edges.push(Edge { ps, high });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of a pulse with noise and slow edges.
    fn pulse(noise: f32) -> Vec<f32> {
        let level = |n: i32| match n {
            100..=103 => 3.3 * (n - 99) as f32 / 5.0,
            104..=300 => 3.3,
            _ => 0.0,
        };
        (0..500)
            .map(|n| level(n) + noise * [0.0, 1.0, -1.0, 0.5, -0.5][n as usize % 5])
            .collect()
    }

    fn edges(samples: &[f32]) -> Vec<Edge> {
        let mut follower = Follower::new(Some(of(samples).unwrap()), None);
        for (n, volts) in samples.iter().enumerate() {
            follower.take(n as f64 * 1000.0, f64::from(*volts)).unwrap();
        }
        follower.finish().1
    }

    #[test]
    fn a_noisy_pulse_has_two_edges_at_half_its_height() {
        for noise in [0.0, 0.15] {
            let found = edges(&pulse(noise));
            assert_eq!(found.len(), 2, "{found:?}");
            // The edge rises from 99 to 104, so half of it is at 101.5.
            assert!((found[0].ps - 101_500).abs() < 250, "{found:?}");
            assert!((found[1].ps - 300_500).abs() < 250, "{found:?}");
            assert!(found[0].high && !found[1].high);
        }
    }

    #[test]
    fn noise_and_a_flat_line_have_no_levels() {
        assert!(of(&[1.0; 100]).is_err() && of(&[]).is_err() && of(&[f32::NAN; 9]).is_err());
        let noise: Vec<f32> = (0..1000u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 16) as f32)
            .collect();
        let why = of(&noise).unwrap_err().to_string();
        assert!(
            why.contains("no two levels") && why.contains("fix: "),
            "{why}"
        );
    }
}
