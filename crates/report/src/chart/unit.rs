//! One unit for all figures of a table, so that they are compared at a glance.

use serde::Serialize;
use wirelab_trial::format::{decimal, integer, time_unit};
use wirelab_trial::stage::{Delay, StageFigures};

/// A unit, and how many places its figures have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unit {
    /// Its name.
    pub name: &'static str,
    /// Picoseconds in it; `None` for instructions, which are not time, and for a clock without a tick.
    ps: Option<f64>,
    places: usize,
}

impl Unit {
    /// The unit that suits typical delays of one kind of clock, whatever a few late frames took.
    pub fn of(delays: &[&Delay]) -> Unit {
        let timed = delays.iter().filter_map(|d| {
            let f = &d.figures;
            Some(f.median_ticks.max(1) as f64 * f.tick_ps? as f64)
        });
        let logs: Vec<f64> = timed.map(f64::ln).filter(|log| log.is_finite()).collect();
        if logs.is_empty() {
            return Unit {
                name: "instructions",
                ps: None,
                places: 1,
            };
        }
        let usual = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let (name, ps) = match time_unit(usual) {
            // No clock resolves better than 1 ns.
            ("ps", _) => ("ns", 1e3),
            other => other,
        };
        let places = match name {
            "ns" => 1,
            "µs" => 2,
            _ => 3,
        };
        Unit {
            name,
            ps: Some(ps),
            places,
        }
    }

    /// Ticks of a delay in this unit.
    pub fn value(&self, of: &StageFigures, ticks: f64) -> f64 {
        match (self.ps, of.tick_ps) {
            (Some(ps), Some(tick_ps)) => ticks * tick_ps as f64 / ps,
            _ => ticks,
        }
    }

    /// Ticks of a delay as a number without its unit.
    pub fn show(&self, of: &StageFigures, ticks: f64) -> String {
        match self.ps {
            None if ticks.fract() == 0.0 && (0.0..1e15).contains(&ticks) => integer(ticks as u64),
            _ => decimal(self.value(of, ticks), self.places),
        }
    }

    /// A value in picoseconds, or in instructions, as a number without its unit.
    pub fn number(&self, value: f64) -> String {
        decimal(value / self.scale(), self.places)
    }

    /// The divisor that converts a value of a picture to this unit.
    pub fn scale(&self) -> f64 {
        self.ps.unwrap_or(1.0)
    }
}
