//! Which histograms are drawn: every delay from the wire with all sizes in it, the ways of frames against each other,
//! and each stage by itself.

use wirelab_trial::format::integer;
use wirelab_trial::stage::Delay;
use wirelab_trial::{ClockKind, Direction};

use super::sheet::{Section, Span, Way};
use crate::chart::bins::Bins;
use crate::chart::delays::{Chapter, Curve, Panel};
use crate::stats::Samples;

/// Pictures of one chapter; the tables have the rest.
const MOST: usize = 48;
/// Series that one picture tells apart; more are drawn in several.
const SERIES: usize = 6;

/// The chapters of a section: the ways against each other, each way from point to point, and its stages.
pub fn of(section: &Section<'_>) -> Vec<Chapter> {
    let mut out = Vec::new();
    let many = section.ways.len() > 1;
    if many {
        out.extend(against(section));
    }
    let (direction, clock) = (section.way(), section.kinds_and_clock());
    let named = |way: &Way<'_>| match many {
        true => format!("{direction} · {}", way.title()),
        false => direction.to_owned(),
    };
    for way in &section.ways {
        let outer = section.spans.iter().filter(|s| s.outer);
        let panels = outer.flat_map(|s| sizes(section, way, s)).collect();
        out.extend(chapter(
            format!("{}: {} in {clock}", named(way), from_the_wire(section)),
            ABOUT,
            !way.is_unloaded(),
            panels,
        ));
    }
    for way in &section.ways {
        let single = section.spans.iter().filter(|s| s.single && !s.outer);
        let panels = single.flat_map(|s| sizes(section, way, s)).collect();
        out.extend(chapter(
            format!("{}: stage by stage in {clock}", named(way)),
            "The steps that the delays above are made of.",
            true,
            panels,
        ));
    }
    out
}

const ABOUT: &str = "How many frames took how long; each length is a histogram of its own. The marks above it show mean \
                     and 3σ.";

fn from_the_wire(section: &Section<'_>) -> String {
    let first = section.spans.iter().find(|s| s.outer);
    let point = first.map_or("", |s| match section.direction {
        Direction::Transmit => s.to,
        _ => s.from,
    });
    match section.direction {
        Direction::Transmit => format!("from each point to the {point}"),
        _ => format!("from the {point} to each point"),
    }
}

fn chapter(title: String, about: &str, folded: bool, mut panels: Vec<Panel>) -> Option<Chapter> {
    let left_out = panels.len().saturating_sub(MOST);
    panels.truncate(MOST);
    (!panels.is_empty()).then(|| Chapter {
        title,
        about: about.to_owned(),
        folded,
        panels,
        left_out,
    })
}

/// One delay of one way, with every length in it.
fn sizes(section: &Section<'_>, way: &Way<'_>, span: &Span<'_>) -> Vec<Panel> {
    let lengths = section.lengths.iter();
    let all = lengths.filter_map(|length| {
        let label = format!("{} B", integer((*length).into()));
        Some((label, way.delay(span, *length)?))
    });
    panels(section, span.name(), all.collect())
}

/// The same delay of several ways, at each length: both ways of a pair that differs in nothing else, or, where no way
/// has another of its kind, all of them.
fn against(section: &Section<'_>) -> Option<Chapter> {
    let compared = |s: &&Span<'_>| {
        let ends = (s.from, s.to);
        ends == ("driver", "application")
            || (s.outer && s.to == "application")
            || s.from == "application" && s.outer
    };
    let fast = section.ways.iter().any(Way::is_fast) && section.ways.iter().any(Way::is_stack);
    let mut groups: Vec<Vec<&Way<'_>>> = Vec::new();
    for way in &section.ways {
        let like = |group: &&mut Vec<&Way<'_>>| !fast || group[0].is_asked_like(way);
        match groups.iter_mut().find(like) {
            Some(group) => group.push(way),
            None => groups.push(vec![way]),
        }
    }
    let mut all_panels = Vec::new();
    for span in section.spans.iter().filter(compared) {
        for length in &section.lengths {
            for group in &groups {
                let all: Vec<_> = group
                    .iter()
                    .filter_map(|way| Some((way.title(), way.delay(span, *length)?)))
                    .collect();
                if all.len() > 1 {
                    let title = format!("{}, length {} B", span.name(), integer((*length).into()));
                    all_panels.extend(panels(section, title, all));
                }
            }
        }
    }
    let title = match fast {
        true => format!("{}: fast track against stack", section.way()),
        false => format!("{}: the ways against each other", section.way()),
    };
    chapter(
        title,
        "The same frames on each way, on one scale.",
        false,
        all_panels,
    )
}

/// One picture, or several where one would not tell all series apart.
fn panels(section: &Section<'_>, title: String, all: Vec<(String, &Delay)>) -> Vec<Panel> {
    let all: Vec<(String, &Delay, Samples)> = all
        .into_iter()
        .filter_map(|(label, delay)| Some((label, delay, Samples::of_series(&delay.series)?)))
        .collect();
    let parts = all.len().div_ceil(SERIES);
    let each = all.chunks(SERIES).enumerate().filter_map(|(at, some)| {
        let title = match parts {
            1 => title.clone(),
            _ => format!("{title} ({} of {parts})", at + 1),
        };
        panel(section, title, some)
    });
    each.collect()
}

fn panel(section: &Section<'_>, title: String, all: &[(String, &Delay, Samples)]) -> Option<Panel> {
    let step = all.iter().map(|(_, d, _)| match d.series.clock.tick_ps {
        Some(ps) => (ps as f64) * d.series.clock.resolution_ticks.max(1) as f64,
        None => 1.0,
    });
    let step = step.reduce(f64::max)?;
    let bins = Bins::of(all.iter().map(|(.., samples)| samples), step)?;
    let curves = all.iter().map(|(label, delay, samples)| {
        let f = &delay.figures;
        let tick = match section.clock {
            ClockKind::Instructions => 1.0,
            _ => f.tick_ps.unwrap_or(1) as f64,
        };
        Curve {
            label: label.clone(),
            binned: bins.fill(samples),
            mean: f.mean_ticks * tick,
            three_sigma: 3.0 * f.stddev_ticks * tick,
            median: f.median_ticks as f64 * tick,
            largest: samples.range().1,
        }
    });
    Some(Panel {
        title,
        kind: section.kinds(),
        unit: section.unit,
        bins,
        curves: curves.collect(),
    })
}
