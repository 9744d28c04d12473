//! The histograms that are drawn: every delay from the wire with all its sizes, the paths against each other, and
//! each stage.

use wirelab_trial::format::{integer, time_f};
use wirelab_trial::stage::{CapturePoint, Delay};
use wirelab_trial::{ClockKind, Direction};

use super::sheet::{Section, Span, Variant};
use crate::chart::bins::Bins;
use crate::chart::delays::{Chapter, Curve, Panel};
use crate::chart::{Axis, Bar, Bars, Look, Part, Picture, Show, usable};
use crate::document::Gallery;
use crate::stats::Samples;

/// Most pictures of one chapter; the tables have the rest.
const MOST: usize = 48;
/// Most series that one picture can distinguish; more are drawn in several.
const SERIES: usize = 6;

/// The chapters of a section: the paths against each other, each path from point to point, and its stages.
pub fn of(section: &Section<'_>) -> Vec<Chapter> {
    let mut out = Vec::new();
    let many = section.variants.len() > 1;
    if many {
        out.extend(against(section));
    }
    let (direction, clock) = (section.direction_name(), section.kinds_and_clock());
    let named = |variant: &Variant<'_>| match many {
        true => format!("{direction} · {}", variant.title()),
        false => direction.to_owned(),
    };
    for variant in &section.variants {
        let outer = section.spans.iter().filter(|s| s.outer);
        let panels = outer.flat_map(|s| sizes(section, variant, s)).collect();
        out.extend(chapter(
            format!("{}: {} in {clock}", named(variant), from_the_wire(section)),
            ABOUT,
            !variant.is_unloaded(),
            panels,
        ));
    }
    for variant in &section.variants {
        let single = section.spans.iter().filter(|s| s.single && !s.outer);
        let panels = single.flat_map(|s| sizes(section, variant, s)).collect();
        out.extend(chapter(
            format!("{}: stage by stage in {clock}", named(variant)),
            "The stages that the delays above consist of.",
            true,
            panels,
        ));
    }
    out
}

const ABOUT: &str = "Number of frames by delay; each length is a separate histogram. The marks above it show mean \
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

/// The stages of each path behind each other, at each length, and how far the whole spreads.
pub fn stacks(section: &Section<'_>) -> Gallery {
    let mut rows = Vec::new();
    for length in &section.lengths {
        for variant in &section.variants {
            rows.extend(stack(section, variant, *length));
        }
    }
    let (show, name) = match section.clock {
        ClockKind::Instructions => (Show::Integer, "instructions"),
        _ => (Show::Time, "mean time"),
    };
    let bars = Bars {
        axis: Axis::linear(name, show),
        rows,
    };
    let picture = Picture::Bars(bars.tidied());
    let caption =
        "Mean of each stage, in the order of a frame's path; the whisker is 3σ of the whole.";
    Gallery {
        pictures: vec![(caption.to_owned(), picture)],
        wide: true,
        ..Gallery::default()
    }
}

/// What each point adds to the delay from the wire, or subtracts from the delay to the wire. It is a difference of sums,
/// because every path has the sums, but only some have the stages.
fn stack(section: &Section<'_>, variant: &Variant<'_>, length: u32) -> Option<Bar> {
    let instructions = section.clock == ClockKind::Instructions;
    let show = |value: f64| match instructions {
        true => integer(value.round().max(0.0) as u64),
        false => time_f(value),
    };
    let outer = section.spans.iter().filter(|span| span.outer);
    let mut sums: Vec<(&Span<'_>, f64, f64)> = outer
        .filter_map(|span| {
            let f = &variant.delay(span, length)?.figures;
            let tick = if instructions { 1.0 } else { f.tick_ps? as f64 };
            let (mean, sigma) = (f.mean_ticks * tick, f.stddev_ticks * tick);
            usable(mean).then_some((span, mean, 3.0 * sigma))
        })
        .collect();
    // From the wire on, whichever end of the path that is; a mean below the one before it is noise.
    if sums.first()?.1 > sums.last()?.1 {
        sums.reverse();
    }
    for at in 1..sums.len() {
        sums[at].1 = sums[at].1.max(sums[at - 1].1);
    }
    let (_, whole, three_sigma) = *sums.last()?;
    let sent = section.direction == Direction::Transmit;
    let mut parts = Vec::new();
    for (at, (span, sum, _)) in sums.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &sums[at]);
        let least = before.map_or(0.0, |(_, sum, _)| *sum);
        // A sent frame reaches the wire last, so its first stage is the farthest from the wire.
        let (from, to, name) = match (sent, before) {
            (false, None) => (0.0, *sum, span.name()),
            (false, Some((last, ..))) => (least, *sum, format!("{} to {}", last.to, span.to)),
            (true, None) => (whole - sum, whole, span.name()),
            (true, Some((next, ..))) => {
                let name = format!("{} to {}", span.from, next.from);
                (whole - sum, whole - least, name)
            }
        };
        parts.push(Part {
            words: format!("{name}: {} of {} on average", show(to - from), show(whole)),
            name,
            from,
            to,
            spread: None,
            look: Look::Plain,
        });
    }
    if sent {
        parts.reverse();
    }
    parts.last_mut()?.spread = Some(three_sigma);
    let label = match variant.label.is_empty() {
        true => format!("{} B", integer(length.into())),
        false => format!("{} B · {}", integer(length.into()), variant.title()),
    };
    Some(Bar {
        label,
        trial: None,
        words: format!("mean {}, 3σ {}", show(whole), show(three_sigma)),
        parts,
    })
}

/// One delay of one path, with every length.
fn sizes(section: &Section<'_>, variant: &Variant<'_>, span: &Span<'_>) -> Vec<Panel> {
    let lengths = section.lengths.iter();
    let all = lengths.filter_map(|length| {
        let label = format!("{} B", integer((*length).into()));
        Some((label, variant.delay(span, *length)?))
    });
    panels(section, span.name(), all.collect())
}

/// The same delay of several paths, at each length: both of a pair that differs only in the path, or, if there is no
/// such pair, all.
fn against(section: &Section<'_>) -> Option<Chapter> {
    let compared = |s: &&Span<'_>| {
        let ends = (s.from, s.to);
        ends == (
            CapturePoint::DRIVER.word(),
            CapturePoint::APPLICATION.word(),
        ) || (s.outer && s.to == CapturePoint::APPLICATION.word())
            || s.from == CapturePoint::APPLICATION.word() && s.outer
    };
    let fast = section.variants.iter().any(Variant::is_fast)
        && section.variants.iter().any(Variant::is_stack);
    let mut groups: Vec<Vec<&Variant<'_>>> = Vec::new();
    for variant in &section.variants {
        let like = |group: &&mut Vec<&Variant<'_>>| !fast || group[0].differs_only_in_path(variant);
        match groups.iter_mut().find(like) {
            Some(group) => group.push(variant),
            None => groups.push(vec![variant]),
        }
    }
    let mut all_panels = Vec::new();
    for span in section.spans.iter().filter(compared) {
        for length in &section.lengths {
            for group in &groups {
                let all: Vec<_> = group
                    .iter()
                    .filter_map(|variant| Some((variant.title(), variant.delay(span, *length)?)))
                    .collect();
                if all.len() > 1 {
                    let title = format!("{}, length {} B", span.name(), integer((*length).into()));
                    all_panels.extend(panels(section, title, all));
                }
            }
        }
    }
    let title = match fast {
        true => format!("{}: fast track against stack", section.direction_name()),
        false => format!("{}: the paths against each other", section.direction_name()),
    };
    chapter(
        title,
        "The same frames on each path, on one scale.",
        false,
        all_panels,
    )
}

/// One picture, or several if one cannot distinguish all series.
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
    let curves = all.iter().filter_map(|(label, delay, samples)| {
        let f = &delay.figures;
        let tick = match section.clock {
            ClockKind::Instructions => 1.0,
            _ => f.tick_ps.unwrap_or(1) as f64,
        };
        let curve = Curve {
            label: label.clone(),
            binned: bins.fill(samples),
            mean: f.mean_ticks * tick,
            three_sigma: 3.0 * f.stddev_ticks * tick,
            median: f.median_ticks as f64 * tick,
            largest: samples.range().1,
        };
        [curve.mean, curve.three_sigma]
            .into_iter()
            .all(usable)
            .then_some(curve)
    });
    Some(Panel {
        title,
        kind: section.kinds(),
        unit: section.unit,
        bins,
        curves: curves.collect(),
    })
}
