//! A picture of two periods: a lane for each resource, a box for each frame in a stage.

use wirelab_trial::explanation::{StageBox, Timeline};

use super::svg::{Canvas, Scale};
use crate::document::escape::{clip, line};
use crate::format;

const WIDTH: f64 = 860.0;
const LANE: f64 = 30.0;
const GAP: f64 = 10.0;
const TOP: f64 = 14.0;
/// A letter is about this wide; no font is at hand to measure it.
const LETTER: f64 = 6.6;
/// A box narrower than this has no room for an edge.
const THIN: f64 = 4.0;
/// Longest name of a lane.
const NAME: usize = 20;
/// Boxes in the picture; a node with more shows the first ones.
const BOXES: usize = 2000;

/// The picture; `id` is unique in the page.
pub fn draw(timeline: &Timeline, id: &str) -> String {
    let names: Vec<String> = timeline
        .lanes
        .iter()
        .map(|l| clip(&line(&l.name), NAME))
        .collect();
    let longest = names.iter().map(|n| n.chars().count()).max().unwrap_or(0) as f64;
    let bottom = TOP + (LANE + GAP) * names.len() as f64;
    let x = Scale {
        low: 0.0,
        high: timeline.end_ps.saturating_sub(timeline.start_ps).max(1) as f64,
        from: 16.0 + LETTER * longest,
        to: WIDTH - 26.0,
        log: false,
    };
    let mut picture = Canvas::new(id, WIDTH, bottom + 44.0);
    for (at, name) in names.iter().enumerate() {
        let top = TOP + (LANE + GAP) * at as f64;
        picture.text("value", "end", (x.from - 8.0, top + LANE / 2.0 + 4.0), name);
        picture.bar("lane", (x.from, top), (x.to - x.from, LANE), name);
    }
    let mut left = BOXES;
    for (at, lane) in timeline.lanes.iter().enumerate() {
        let top = TOP + (LANE + GAP) * at as f64;
        for b in lane.boxes.iter().take(left) {
            stage(&mut picture, &x, timeline.start_ps, b, top);
        }
        left = left.saturating_sub(lane.boxes.len());
    }
    ruler(&mut picture, &x, timeline, bottom);
    picture.finish(
        "What the node does in its steady state",
        &described(timeline),
    )
}

fn stage(picture: &mut Canvas, x: &Scale, start_ps: u64, b: &StageBox, top: f64) {
    let place = |ps: u64| x.at(ps.saturating_sub(start_ps) as f64);
    let (from, to) = (place(b.start_ps), place(b.end_ps));
    if to <= from && b.end_ps > b.start_ps {
        return;
    }
    let width = (to - from).max(1.0);
    let took = b.end_ps.saturating_sub(b.start_ps);
    let (name, frames) = (line(&b.stage), b.frame_words());
    let title = format!("{name}, frame {frames}: {}", format::time(took));
    let (shape, word) = match (b.critical, width < THIN) {
        (true, false) => ("on", "on-word"),
        (true, true) => ("on thin", "on-word"),
        (false, _) => ("off", "off-word"),
    };
    picture.bar(shape, (from, top + 3.0), (width, LANE - 6.0), &title);
    let labels = [format!("{name} {frames}"), frames];
    let fits = |label: &&String| LETTER * label.chars().count() as f64 + 8.0 <= width;
    if let Some(label) = labels.iter().find(fits) {
        picture.text(
            word,
            "middle",
            (from + width / 2.0, top + LANE / 2.0 + 4.0),
            label,
        );
    }
}

/// Times from the left edge, and where the second period begins.
fn ruler(picture: &mut Canvas, x: &Scale, timeline: &Timeline, bottom: f64) {
    for value in x.ticks(6) {
        let at = x.at(value);
        let label = if value > 0.0 {
            format::time_f(value)
        } else {
            "0".to_owned()
        };
        picture.line("axis", (at, bottom), (at, bottom + 4.0));
        picture.text("tick", "middle", (at, bottom + 17.0), &label);
    }
    picture.line("axis", (x.from, bottom), (x.to, bottom));
    if timeline.period_ps > 0.0 && timeline.period_ps < x.high {
        let at = x.at(timeline.period_ps);
        picture.line("period", (at, TOP - 6.0), (at, bottom));
    }
    let middle = (x.from + x.to) / 2.0;
    let name = format!("time; the period is {}", format::time_f(timeline.period_ps));
    picture.text("name", "middle", (middle, bottom + 36.0), &name);
}

fn described(timeline: &Timeline) -> String {
    let span = timeline.end_ps.saturating_sub(timeline.start_ps).max(1) as f64;
    let lanes = timeline.lanes.iter().map(|lane| {
        let inside = |b: &StageBox| {
            b.end_ps
                .min(timeline.end_ps)
                .saturating_sub(b.start_ps.max(timeline.start_ps)) as f64
        };
        let busy: f64 = lane.boxes.iter().map(inside).sum();
        format!(
            "{} works {} % of the time",
            line(&lane.name),
            format::percent(busy / span)
        )
    });
    lanes.collect::<Vec<_>>().join("; ")
}
