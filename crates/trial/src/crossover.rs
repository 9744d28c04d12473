//! The crossover of two attachments of a MAC: slots that the CPU copies over a bus with wait states, against DMA.
//!
//! For each delay and length it finds which mean is smaller at each pair of wait states. Where that changes, it
//! interpolates between the two neighbouring pairs for the point at which the means are equal.

use std::cmp::Ordering;

use serde::Serialize;

use crate::node_path::Path;
use crate::node_type::{Profile, StageOption, StageProfile};
use crate::results::ResultsFile;
use crate::stage::{self, StageFigures};
use crate::trial::Direction;

/// The set-up key for the attachment of a node's MAC.
pub const ATTACHMENT: &str = "attachment";
/// Its value for DMA.
pub const DMA: &str = "dma";
/// The set-up key of the least clocks from one read of the slots' bus to the next.
pub const READ_CLOCKS: &str = "read_clocks";
/// The set-up key of the least clocks from one write of that bus to the next.
pub const WRITE_CLOCKS: &str = "write_clocks";
/// How the stages of a node with a choice of attachments are measured.
pub const STAGES: StageProfile = StageProfile {
    options: &[
        StageOption::Length,
        StageOption::Count,
        StageOption::FastTrack,
    ],
    more: &[
        StageOption::Image,
        StageOption::Mac,
        StageOption::WaitStates,
        StageOption::Predicted,
    ],
    ..Profile::USUAL.stages
};

/// The point at which delays begin or end.
const LINE: &str = "line";

/// Which has the smaller mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ahead {
    /// Slots.
    Slots,
    /// DMA.
    Dma,
    /// Both are equal.
    Level,
}

/// Slots at one pair of wait states.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Slots {
    /// Clocks from one read of the bus to the next.
    pub read_clocks: u32,
    /// Clocks from one write to the next.
    pub write_clocks: u32,
    /// Mean of the delay, in ps.
    pub mean_ps: f64,
    /// Which mean is smaller there.
    pub ahead: Ahead,
}

/// A change of the smaller one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CrossoverChange {
    /// Index of the last pair before it among the slots, from 0; the change is between it and the next.
    pub after: usize,
    /// The smaller one after it.
    pub then: Ahead,
    /// Where a straight line between the two pairs meets DMA's mean, in clocks from read to read.
    pub level_read_clocks: f64,
    /// The same point in clocks from write to write.
    pub level_write_clocks: f64,
}

/// One delay at one length: slots at each pair of wait states, against DMA.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Crossover {
    /// How the slots are attached.
    pub attachment: String,
    /// As the node sees it.
    pub direction: Direction,
    /// The path through the node, where one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// Point where the delay begins.
    pub from: String,
    /// Point where it ends.
    pub to: String,
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// Slots, by wait states.
    pub slots: Vec<Slots>,
    /// Mean with DMA, in ps.
    pub dma_mean_ps: f64,
    /// Changes of the smaller one; empty where one is always smaller.
    pub changes: Vec<CrossoverChange>,
}

/// The type of a node, from its set-up keys.
enum Kind {
    Slots {
        attachment: String,
        clocks: (u32, u32),
    },
    Dma,
}

/// The crossovers of a file's delays from and to the line, in its order; empty where it lacks DMA, or slots with two
/// pairs of wait states.
#[must_use]
pub fn crossovers(file: &ResultsFile) -> Vec<Crossover> {
    let mut rows = stage::table(file);
    rows.retain(|row| row.from == LINE || row.to == LINE);
    // Each crossover with the first of its rows.
    let mut all: Vec<(&StageFigures, Crossover)> = Vec::new();
    for row in &rows {
        let Some(Kind::Slots { attachment, clocks }) = kind(file, &row.node) else {
            continue;
        };
        let Some(slots_ps) = mean_ps(row) else {
            continue;
        };
        let of_dma = |other: &&StageFigures| {
            matches!(kind(file, &other.node), Some(Kind::Dma)) && is_like(other, row)
        };
        let Some(dma_mean_ps) = rows.iter().find(of_dma).and_then(mean_ps) else {
            continue;
        };
        let place = all
            .iter()
            .position(|(first, known)| known.attachment == attachment && is_like(first, row));
        let place = place.unwrap_or_else(|| {
            all.push((row, Crossover::of(row, &attachment, dma_mean_ps)));
            all.len() - 1
        });
        let (read_clocks, write_clocks) = clocks;
        all[place].1.slots.push(Slots {
            read_clocks,
            write_clocks,
            mean_ps: slots_ps,
            ahead: ahead(slots_ps, dma_mean_ps),
        });
    }
    let mut all: Vec<Crossover> = all.into_iter().map(|(_, crossover)| crossover).collect();
    for crossover in &mut all {
        let slots = &mut crossover.slots;
        slots.sort_by_key(|slots| (slots.read_clocks, slots.write_clocks));
        // The same pair again shows nothing about wait states.
        slots.dedup_by_key(|slots| (slots.read_clocks, slots.write_clocks));
        crossover.changes = changes(slots, crossover.dma_mean_ps);
    }
    all.retain(|crossover| crossover.slots.len() > 1);
    all
}

impl Crossover {
    fn of(row: &StageFigures, attachment: &str, dma_mean_ps: f64) -> Crossover {
        Crossover {
            attachment: attachment.to_owned(),
            direction: row.direction,
            path: row.path,
            from: row.from.clone(),
            to: row.to.clone(),
            length_bytes: row.length_bytes,
            slots: Vec::new(),
            dma_mean_ps,
            changes: Vec::new(),
        }
    }
}

fn kind(file: &ResultsFile, node: &str) -> Option<Kind> {
    let mut nodes = file.observations.iter().map(|o| &o.node);
    let setup = &nodes.find(|described| described.name == node)?.setup;
    let attachment = setup.get(ATTACHMENT)?;
    if attachment == DMA {
        return Some(Kind::Dma);
    }
    let clocks = |key| setup.get(key).and_then(|text| text.parse().ok());
    Some(Kind::Slots {
        attachment: attachment.clone(),
        clocks: (clocks(READ_CLOCKS)?, clocks(WRITE_CLOCKS)?),
    })
}

fn is_like(one: &StageFigures, other: &StageFigures) -> bool {
    let setting = |f: &StageFigures| (f.direction, f.layer, f.path, f.length_bytes, f.cpu_time);
    setting(one) == setting(other) && (&one.from, &one.to) == (&other.from, &other.to)
}

fn mean_ps(row: &StageFigures) -> Option<f64> {
    row.tick_ps.map(|tick| row.mean_ticks * tick as f64)
}

fn ahead(slots_ps: f64, dma_ps: f64) -> Ahead {
    match slots_ps.total_cmp(&dma_ps) {
        Ordering::Less => Ahead::Slots,
        Ordering::Equal => Ahead::Level,
        Ordering::Greater => Ahead::Dma,
    }
}

fn changes(slots: &[Slots], dma_ps: f64) -> Vec<CrossoverChange> {
    let pairs = slots.windows(2).enumerate();
    let changes = pairs.filter(|(_, pair)| pair[0].ahead != pair[1].ahead);
    let changes = changes.map(|(after, pair)| {
        let (one, next) = (&pair[0], &pair[1]);
        let share = (dma_ps - one.mean_ps) / (next.mean_ps - one.mean_ps);
        let between = |a: u32, b: u32| f64::from(a) + share * (f64::from(b) - f64::from(a));
        CrossoverChange {
            after,
            then: next.ahead,
            level_read_clocks: between(one.read_clocks, next.read_clocks),
            level_write_clocks: between(one.write_clocks, next.write_clocks),
        }
    });
    changes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(means: &[(u32, u32, f64)], dma_ps: f64) -> Vec<Slots> {
        let of = |&(read_clocks, write_clocks, mean_ps)| Slots {
            read_clocks,
            write_clocks,
            mean_ps,
            ahead: ahead(mean_ps, dma_ps),
        };
        means.iter().map(of).collect()
    }

    #[test]
    fn it_is_reported_whichever_way_it_falls() {
        let found = |means: &[(u32, u32, f64)], dma_ps| changes(&slots(means, dma_ps), dma_ps);
        let rising = [(4, 2, 10.0), (5, 3, 14.0), (7, 7, 18.0)];
        let change = &found(&rising, 15.0)[..];
        assert_eq!(change.len(), 1);
        assert_eq!((change[0].after, change[0].then), (1, Ahead::Dma));
        // A quarter of the way from 14 to 18.
        assert_eq!(change[0].level_read_clocks, 5.5);
        assert_eq!(change[0].level_write_clocks, 4.0);
        // One of them is always smaller.
        assert!(found(&rising, 19.0).is_empty());
        assert!(found(&rising, 9.0).is_empty());
        // A slower bus with a smaller mean is reported too.
        let falling = found(&[(4, 2, 18.0), (5, 3, 10.0)], 15.0);
        assert_eq!(falling[0].then, Ahead::Slots);
        // Equal at a pair itself.
        let level = found(&[(4, 2, 10.0), (5, 3, 15.0), (6, 4, 15.0)], 15.0);
        assert_eq!((level.len(), level[0].then), (1, Ahead::Level));
        assert_eq!(level[0].level_read_clocks, 5.0);
    }
}
