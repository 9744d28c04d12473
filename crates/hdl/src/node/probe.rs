//! The rate meter, read during a trial: each interval between two frames, counted by a probe of 100 MHz.

use wirelab_trial::{Clock, ClockKind, Owner, Series, SeriesBuilder, SeriesName};

use super::plan::HdlTrial;
use crate::bench::{Bench, BenchError};
use crate::registers as reg;

/// A tick of the probe: the rate meter counts four clocks in five of 125 MHz.
pub const PROBE: Clock = Clock {
    kind: ClockKind::Simulated,
    tick_ps: Some(10_000),
    resolution_ticks: 1,
    owner: Owner::Node,
};
/// The name of the probe, as in the node model of the Ethernet FMC.
const NAME: &str = "AXI4-Stream input";
/// Clocks between two reads of the number of periods if a fault may shorten frames: the shortest frame less the three
/// reads.
const PAUSE_CLOCKS: u64 = 16;

/// The read in progress.
#[derive(Clone, Copy, Debug)]
enum ProbeRead {
    /// None, for this many clocks.
    Pause(u64),
    Periods,
    /// The last period, when there were this many.
    Last(u32),
    /// The number again: if it is unchanged, the last period belongs to it.
    Again {
        periods: u32,
        last: u32,
    },
}

/// Reads the rate meter of a port between the clocks of a trial.
#[derive(Debug)]
pub struct Probe {
    port: usize,
    pause_clocks: u64,
    step: ProbeRead,
    last_period: u32,
    samples: SeriesBuilder,
    /// Periods missed between two reads.
    pub missed: u64,
}

impl Probe {
    /// A probe of this port of a bench, for the planned frames.
    pub fn new(port: usize, plan: &HdlTrial) -> Probe {
        // Half of the shortest period, 84 clocks, leaves the other half for the three reads; reading costs the host's
        // time.
        let pause_clocks = match plan.fault {
            None => plan.period_clocks / 2,
            Some(_) => PAUSE_CLOCKS,
        };
        Probe {
            port,
            pause_clocks,
            step: ProbeRead::Pause(pause_clocks),
            last_period: 0,
            samples: SeriesBuilder::new(SeriesName::spacing(NAME), PROBE, 0),
            missed: 0,
        }
    }

    /// One clock has passed.
    pub fn clock(&mut self, bench: &mut Bench) -> Result<(), BenchError> {
        if let ProbeRead::Pause(left) = self.step {
            if left > 0 {
                self.step = ProbeRead::Pause(left - 1);
                return Ok(());
            }
            bench.begin_read(self.port, reg::RATE_PERIODS)?;
            self.step = ProbeRead::Periods;
            return Ok(());
        }
        let Some(word) = bench.answer(self.port)? else {
            return Ok(());
        };
        self.step = self.next(word);
        match self.step {
            ProbeRead::Pause(_) => Ok(()),
            ProbeRead::Last(_) => bench.begin_read(self.port, reg::RATE_LAST_PERIOD),
            ProbeRead::Periods | ProbeRead::Again { .. } => {
                bench.begin_read(self.port, reg::RATE_PERIODS)
            }
        }
    }

    /// The step after a word that was read.
    fn next(&mut self, word: u32) -> ProbeRead {
        match self.step {
            ProbeRead::Periods if word == self.last_period => ProbeRead::Pause(self.pause_clocks),
            ProbeRead::Periods => ProbeRead::Last(word),
            ProbeRead::Last(periods) => ProbeRead::Again {
                periods,
                last: word,
            },
            ProbeRead::Again { periods, last } if periods == word => {
                self.samples.push(u64::from(last));
                self.missed += u64::from(periods.wrapping_sub(self.last_period).wrapping_sub(1));
                self.last_period = periods;
                ProbeRead::Pause(self.pause_clocks)
            }
            ProbeRead::Again { .. } | ProbeRead::Pause(_) => ProbeRead::Last(word),
        }
    }

    /// Whether no read is in progress, so that others may use the bus.
    pub fn rests(&self) -> bool {
        matches!(self.step, ProbeRead::Pause(_))
    }

    /// The series; `None` if it is empty.
    pub fn finish(self) -> Option<Series> {
        (self.samples.count() > 0).then(|| self.samples.finish())
    }
}
