//! A timeline of two periods in characters: one line for each resource, `[===]` on the critical circuit, `[---]` beside it.

use wirelab_trial::explanation::{Lane, StageBox, Timeline};

use crate::document::escape::{clip, line};
use crate::format;

/// Widest picture; more columns say nothing new.
const WIDEST: usize = 160;
/// Narrowest lane that still shows anything.
const NARROWEST: usize = 24;
/// Longest name of a lane.
const NAME: usize = 24;

/// The lines of the picture in `width` characters.
pub fn timeline(timeline: &Timeline, width: usize) -> Vec<String> {
    let names: Vec<String> = timeline
        .lanes
        .iter()
        .map(|l| clip(&line(&l.name), NAME))
        .collect();
    let margin = names.iter().map(|n| n.chars().count()).max().unwrap_or(0) + 2;
    let columns = width.min(WIDEST).saturating_sub(margin).max(NARROWEST);
    let span = timeline.end_ps.saturating_sub(timeline.start_ps).max(1);
    let mut out: Vec<String> = timeline
        .lanes
        .iter()
        .zip(&names)
        .map(|(lane, name)| {
            let pad = " ".repeat(margin - name.chars().count());
            format!(
                "{name}{pad}{}",
                draw(lane, timeline.start_ps, span, columns)
            )
        })
        .collect();
    out.push(format!("{}{}", " ".repeat(margin), ruler(span, columns)));
    out.push("[===] on the critical circuit, [---] beside it, | shorter than two columns; numbers are frames".to_owned());
    out
}

/// The line of one resource.
fn draw(lane: &Lane, start_ps: u64, span: u64, columns: usize) -> String {
    let mut cells = vec!['.'; columns];
    let column = |ps: u64| {
        let share = ps.saturating_sub(start_ps).min(span) as f64 / span as f64;
        (share * columns as f64).round() as usize
    };
    for b in &lane.boxes {
        let (from, to) = (column(b.start_ps), column(b.end_ps));
        if b.end_ps <= start_ps || b.start_ps >= start_ps.saturating_add(span) {
            continue;
        }
        match to.saturating_sub(from) {
            0 | 1 => cells[from.min(columns - 1)] = '|',
            wide => fill(&mut cells[from..to], b, wide),
        }
    }
    cells.into_iter().collect()
}

/// A box with as much of its label as fits.
fn fill(cells: &mut [char], b: &StageBox, wide: usize) {
    cells.fill(if b.critical { '=' } else { '-' });
    cells[0] = '[';
    cells[wide - 1] = ']';
    let frames = b.frame_words();
    let labels = [
        format!(" {} {frames} ", line(&b.stage)),
        format!(" {frames} "),
        frames,
    ];
    let room = wide.saturating_sub(2);
    if let Some(label) = labels.iter().find(|l| l.chars().count() <= room) {
        let at = 1 + (room - label.chars().count()) / 2;
        for (cell, c) in cells[at..].iter_mut().zip(label.chars()) {
            *cell = c;
        }
    }
}

/// Times below the timeline at round steps, as many as fit.
fn ruler(span: u64, columns: usize) -> String {
    let mut out = vec![' '; columns + 12];
    let step = super::nice(span as f64 / (columns as f64 / 16.0).max(1.0));
    let mut next_free = 0;
    for n in 0..64 {
        let ps = step * f64::from(n);
        let at = (ps / span as f64 * columns as f64).round() as usize;
        if ps > span as f64 {
            break;
        }
        let label: Vec<char> = match n {
            0 => vec!['^', '0'],
            _ => format!("^{}", format::time_f(ps)).chars().collect(),
        };
        if at >= next_free && at + label.len() <= out.len() {
            out[at..at + label.len()].copy_from_slice(&label);
            next_free = at + label.len() + 1;
        }
    }
    out.into_iter().collect::<String>().trim_end().to_owned()
}
