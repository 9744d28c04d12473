//! The cost of each capture point, with a warm node and at the load of the trials.

use std::collections::BTreeMap;

use wirelab_trial::format::integer;
use wirelab_trial::{CostLoad, Direction, Load, PointCost, PointPlace};

use super::sheet::{self, dash};
use crate::document::Block;
use crate::document::table::Head;

/// A direction and a capture point, in the order of the path: whether it is of sent frames, its rank, its name.
type PointKey = (bool, usize, String);
/// Its cost warm and in the trials.
type WarmAndTrials<'a> = [Option<&'a PointCost>; 2];

/// The table of both loads, and the meaning of its figures.
pub fn blocks(all: &[PointCost]) -> Vec<Block<'static>> {
    if all.is_empty() {
        return Vec::new();
    }
    let mut found: BTreeMap<PointKey, WarmAndTrials<'_>> = BTreeMap::new();
    for cost in all {
        let PointPlace { point, direction } = PointPlace::of(&cost.point);
        let sent = direction == Some(Direction::Transmit);
        let key = (sent, sheet::rank(point, sent), point.to_owned());
        let at = usize::from(cost.at == CostLoad::Trial);
        found.entry(key).or_default()[at] = Some(cost);
    }
    let heads = vec![
        Head::text("capture point"),
        Head::number("warm (quartiles)", "ns"),
        Head::number("in trials (quartiles)", "ns"),
        Head::number("clock", "ns"),
    ];
    let rows = found.iter().map(|((sent, _, point), both)| {
        let direction = if *sent { "sent" } else { "received" };
        let mut row = vec![format!("{direction}, {point}")];
        row.extend(both.map(|cost| cost.map_or_else(dash, figures)));
        let clock = both.iter().flatten().next();
        row.push(clock.map_or_else(dash, |c| integer(c.clock_ns)));
        row
    });
    vec![
        Block::heading("What each capture point costs"),
        Block::sentences(heads, rows.collect()),
        Block::Words(about(all)),
    ]
}

fn figures(cost: &PointCost) -> String {
    let [q1, median, q3] = [cost.q1_ns, cost.median_ns, cost.q3_ns].map(integer);
    format!("{median} ({q1} to {q3})")
}

fn about(all: &[PointCost]) -> String {
    let mut text = "Medians of the time that the point's program takes for a frame, measured by the program for each \
                    eighth. Each includes one reading of the clock, whose time is under clock: two readings \
                    with nothing between them."
        .to_owned();
    for (at, what) in [(CostLoad::Warm, "Warm"), (CostLoad::Trial, "In trials")] {
        let mut loads: Vec<String> = Vec::new();
        for cost in all.iter().filter(|cost| cost.at == at) {
            let load = load(cost);
            if !loads.contains(&load) {
                loads.push(load);
            }
        }
        if !loads.is_empty() {
            text.push_str(&format!(" {what}: {}.", loads.join("; ")));
        }
    }
    text.push_str(
        " At a low load code and memory of the programs leave the caches between two frames, and a point costs more.",
    );
    text
}

/// The load of a cost in words: the measured one, else the requested one.
fn load(cost: &PointCost) -> String {
    let direction = match PointPlace::of(&cost.point).direction {
        Some(Direction::Transmit) => "sent",
        _ => "received",
    };
    let rate = |rate: f64| format!("{} frames/s", integer(rate.round() as u64));
    let load = match (cost.frames_per_s, cost.load) {
        (Some(passed), _) => rate(passed),
        (None, Load::FrameRate { frames_per_s }) => rate(frames_per_s),
        (None, other) => other.to_string(),
    };
    format!(
        "{direction}, {load} of length {}",
        integer(cost.length_bytes.into())
    )
}
