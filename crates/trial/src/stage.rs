//! Stages: the times between successive capture points, frame by frame, the table they make, and what grew since then.

mod between;
mod chain;
mod delay;
pub mod functions;
mod point;

use serde::Serialize;
use wirelab_wire::Layer;

use crate::clock::{Clock, ClockKind};
use crate::field::Kind;
use crate::node_path::{Background, Path, Probes, Wait};
use crate::trial::Direction;

pub use between::between;
pub use chain::is_stage;
pub use delay::{Delay, delays, delays_of, every_delay_of, table};
pub use point::{CapturePoint, PassedBy, StageName};

/// The records of one capture point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointTimes {
    /// Its name, e.g. `driver`.
    pub name: String,
    /// The stream whose frames passed.
    pub stream: u8,
    /// The clock of its ticks.
    pub clock: Clock,
    /// Sequence and ticks, in the order they were taken.
    pub times: Vec<(u32, u64)>,
}

/// A stage, or several in a row, at one size: a row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StageFigures {
    /// The node's name.
    pub node: String,
    /// The layer of the frames.
    pub layer: Layer,
    /// Direction from the node's side.
    pub direction: Direction,
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// The path through the node, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// How its application waited, if that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// The frames of the fast track, if a rule was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The background, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
    /// The probes, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<Probes>,
    /// Point where it begins.
    pub from: String,
    /// Point where it ends.
    pub to: String,
    /// Whether it is several stages taken together.
    pub cumulated: bool,
    /// Whether it is the node's own work on a frame: its whole path less the wait for the interrupt or, if it is
    /// sent, for the wire.
    pub cpu_time: bool,
    /// A point between the two that was left out, because it saw few of the frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_over: Option<PassedOver>,
    /// Where the samples come from.
    pub kind: Kind,
    /// The kind of the clock.
    pub clock: ClockKind,
    /// Tick in picoseconds: all figures below are multiples of it; absent if they are instructions.
    pub tick_ps: Option<u64>,
    /// Frames.
    pub count: u64,
    /// Mean in ticks.
    pub mean_ticks: f64,
    /// Standard deviation in ticks.
    pub stddev_ticks: f64,
    /// Smallest in ticks.
    pub min_ticks: u64,
    /// Median in ticks.
    pub median_ticks: u64,
    /// 99 % of the frames take no longer, in ticks.
    pub p99_ticks: u64,
    /// 99.9 % of the frames take no longer, in ticks.
    pub p999_ticks: u64,
    /// Largest in ticks.
    pub max_ticks: u64,
    /// What most frames take, in ticks; not of simulated time.
    pub mode_ticks: Option<u64>,
    /// Frames that differ from most.
    pub outliers: Option<u64>,
}

/// A point on a frame's path that a stage skips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PassedOver {
    /// Its name.
    pub point: String,
    /// Frames of the stage that have a time there.
    pub count: u64,
}

/// A stage that takes more instructions than before, or that no longer exists.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Change {
    /// The stage before.
    pub before: StageFigures,
    /// Its mean now, in instructions; absent if it no longer exists.
    pub now_mean_ticks: Option<f64>,
    /// Its median now, in instructions.
    pub now_median_ticks: Option<u64>,
}

impl Change {
    /// Whether the stage grew, or is gone.
    pub fn is_worse(&self) -> bool {
        self.now_mean_ticks
            .is_none_or(|now| now > self.before.mean_ticks)
    }

    /// Whether its median grew by more than a ratio, or it is gone.
    pub fn is_beyond(&self, ratio: f64) -> bool {
        let most = self.before.median_ticks as f64 * (1.0 + ratio);
        self.now_median_ticks.is_none_or(|now| now as f64 > most)
    }
}

/// The changes of the stages counted in instructions, one by one; `None` if `before` has none. Sums of stages are left
/// out, so that each change is named once.
pub fn changes(before: &[StageFigures], now: &[StageFigures]) -> Option<Vec<Change>> {
    let counted = |row: &&StageFigures| row.clock == ClockKind::Instructions && !row.cumulated;
    let same = |a: &StageFigures, b: &StageFigures| {
        let setting = |row: &StageFigures| {
            let path_setting = (row.path, row.wait, row.rule.clone(), row.background);
            (row.layer, row.direction, row.length_bytes, path_setting)
        };
        setting(a) == setting(b) && (&a.from, &a.to) == (&b.from, &b.to)
    };
    let before: Vec<&StageFigures> = before.iter().filter(counted).collect();
    if before.is_empty() {
        return None;
    }
    let differs = |old: &&StageFigures| {
        let there = now.iter().filter(counted).find(|n| same(n, old));
        let now_mean_ticks = there.map(|n| n.mean_ticks);
        (now_mean_ticks != Some(old.mean_ticks)).then(|| Change {
            before: (*old).clone(),
            now_mean_ticks,
            now_median_ticks: there.map(|n| n.median_ticks),
        })
    };
    Some(before.iter().filter_map(differs).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(to: &str, mean_ticks: f64, clock: ClockKind) -> StageFigures {
        StageFigures {
            node: "board:x".to_owned(),
            layer: Layer::UdpIpv4,
            direction: Direction::Receive,
            length_bytes: 64,
            path: None,
            wait: None,
            rule: None,
            background: None,
            probes: None,
            from: "interrupt".to_owned(),
            to: to.to_owned(),
            cumulated: false,
            cpu_time: false,
            passed_over: None,
            kind: Kind::Measured,
            clock,
            tick_ps: None,
            count: 512,
            mean_ticks,
            stddev_ticks: 0.0,
            min_ticks: 1,
            median_ticks: 1,
            p99_ticks: 1,
            p999_ticks: 1,
            max_ticks: 1,
            mode_ticks: None,
            outliers: None,
        }
    }

    #[test]
    fn what_grew_or_is_gone_is_worse_and_wall_time_is_not_compared() {
        let counted = |to, mean| row(to, mean, ClockKind::Instructions);
        let before = [
            counted("same", 5.0),
            counted("grown", 5.0),
            counted("shrunk", 5.0),
            counted("gone", 5.0),
            row("wall", 5.0, ClockKind::Wall),
        ];
        let now = [
            counted("same", 5.0),
            counted("grown", 5.002),
            counted("shrunk", 4.0),
            row("wall", 9.0, ClockKind::Wall),
        ];
        let changes = changes(&before, &now).unwrap();
        let shown: Vec<_> = changes
            .iter()
            .map(|c| (c.before.to.as_str(), c.is_worse()))
            .collect();
        assert_eq!(shown, [("grown", true), ("shrunk", false), ("gone", true)]);
        assert_eq!(super::changes(&before[4..], &now), None);
        let median = |now_median_ticks| Change {
            before: counted("a", 100.0),
            now_mean_ticks: None,
            now_median_ticks,
        };
        // Its median is 1.
        assert!(median(Some(2)).is_beyond(0.5) && !median(Some(2)).is_beyond(1.0));
        assert!(median(None).is_beyond(9.0), "it is gone");
    }
}
