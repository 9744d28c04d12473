//! Pictures of distributions: the sender's gaps and every series, each on logarithmic scales, so that the one
//! frame in a million that came late is seen.

use wirelab_trial::{Kind, ResultsFile};

use super::svg::{Picture, Scale};
use crate::detail;
use crate::escape::{line, xml};
use crate::format;
use crate::row::{self, Row};
use crate::stats::Samples;

/// Pictures of each sort; the results file has the rest.
const PANELS: usize = 24;
const BINS: usize = 72;
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 190.0;

/// One distribution.
struct Panel {
    id: String,
    title: String,
    samples: Samples,
    kind: Kind,
    /// A value to compare with, in the unit of the samples, and what it is.
    mark: Option<(f64, &'static str)>,
}

/// Gaps between the starts of frames by the senders' clocks; `None` where no sender tells.
pub fn gaps(rows: &[Row<'_>]) -> Option<String> {
    let panels: Vec<Panel> = rows
        .iter()
        .enumerate()
        .filter_map(|(at, row)| {
            let senders = || row.flows.iter().filter_map(|f| f.sender.value());
            let gaps = senders().filter_map(|s| s.gap.value());
            let asked = senders().find_map(|s| s.asked_frames_per_s.value());
            let asked = asked
                .filter(|fps| **fps > 0.0)
                .map(|fps| (1e12 / fps, "asked"));
            Some(Panel {
                id: format!("gap-{at}"),
                title: format!("Trial {}", row.label()),
                samples: Samples::of(None, gaps)?,
                kind: senders().find_map(|s| s.gap.kind())?,
                mark: asked,
            })
        })
        .collect();
    grid(&panels)
}

/// Distributions of some series, each with its title; `id` makes the pictures' ids unique. `None` where there are none.
pub fn of<'a>(
    id: &str,
    all: impl Iterator<Item = (String, &'a wirelab_trial::Series)>,
) -> Option<String> {
    let panels = all.enumerate().filter_map(|(at, (title, series))| {
        Some(Panel {
            id: format!("{id}-{at}"),
            title,
            samples: Samples::of_series(series)?,
            kind: series.kind,
            mark: None,
        })
    });
    grid(&panels.collect::<Vec<_>>())
}

/// Every series of times or instructions with samples; `None` where there are none.
pub fn series(file: &ResultsFile) -> Option<String> {
    let places = detail::series(file);
    let all = places.iter().map(|place| {
        let simulated = match place.series.clock.kind {
            wirelab_trial::ClockKind::Simulated => ", simulated time",
            _ => "",
        };
        let (trial, name) = (place.trial, &place.series.name);
        let title = format!("Trial {trial} · {name} · {}{simulated}", place.of);
        (title, place.series)
    });
    of("series", all)
}

fn grid(panels: &[Panel]) -> Option<String> {
    if panels.is_empty() {
        return None;
    }
    let mut out = String::from("<div class=\"panels\">\n");
    for panel in panels.iter().take(PANELS) {
        out.push_str(&figure(panel));
    }
    out.push_str("</div>\n");
    if panels.len() > PANELS {
        out.push_str(&format!(
            "<p class=\"quiet\">{} more are in the results file.</p>\n",
            panels.len() - PANELS
        ));
    }
    Some(out)
}

fn value_text(panel: &Panel, value: f64) -> String {
    if panel.samples.instructions {
        format::decimal(value, 0)
    } else {
        format::time_f(value)
    }
}

fn figure(panel: &Panel) -> String {
    let samples = &panel.samples;
    let (_, most) = samples.range();
    let show = |v: f64| value_text(panel, v);
    let unit = if samples.instructions {
        " instructions"
    } else {
        ""
    };
    let figures = format!(
        "median {}, 99.9 % {}, max {}{unit}; {} samples, {}",
        show(samples.percentile(0.5)),
        show(samples.percentile(0.999)),
        show(most),
        format::integer(samples.count()),
        row::kind(panel.kind)
    );
    let title = line(&panel.title);
    format!(
        "<figure>\n<figcaption>{}</figcaption>\n{}<p>{}</p>\n</figure>\n",
        xml(&title),
        draw(panel, &title, &figures),
        xml(&figures)
    )
}

fn draw(panel: &Panel, title: &str, figures: &str) -> String {
    let (least, most) = panel.samples.range();
    // A logarithmic scale has no 0, and needs some width.
    let low = least.max(most / 1e9).max(1.0) / 1.12;
    let high = (most.max(1.0) * 1.12).max(low * 1.6);
    let x = Scale {
        low,
        high,
        from: 44.0,
        to: WIDTH - 20.0,
        log: true,
    };
    let bins = panel.samples.log_bins(low, high, BINS);
    let tallest = bins.iter().copied().max().unwrap_or(1).max(1);
    // The floor lies below one sample, so that a single one still stands above it.
    let y = Scale {
        low: 0.7,
        high: (tallest as f64 * 1.3).max(10.0),
        from: HEIGHT - 40.0,
        to: 22.0,
        log: true,
    };
    let mut picture = Picture::new(&panel.id, WIDTH, HEIGHT);
    let name = if panel.samples.instructions {
        "instructions"
    } else {
        "time"
    };
    picture.axes(
        (&x, name, 6, &|v| match panel.samples.instructions {
            true => format::si(v, "").trim_end().to_owned(),
            false => format::time_f(v),
        }),
        (&y, "", 4, &|v| format::si(v, "").trim_end().to_owned()),
    );
    let width = (x.to - x.from) / BINS as f64;
    let factor = (high / low).powf(1.0 / BINS as f64);
    for (at, count) in bins.iter().enumerate().filter(|(_, n)| **n > 0) {
        let top = y.at(*count as f64);
        let from = low * factor.powi(at as i32);
        let text = format!(
            "{} to {}: {}",
            value_text(panel, from),
            value_text(panel, from * factor),
            format::integer(*count)
        );
        let place = (x.from + width * at as f64, top);
        picture.bar("bin", place, (width - 0.5, y.from - top), &text);
    }
    if let Some((value, what)) = panel.mark {
        let at = x.at(value);
        picture.line("limit", (at, y.to - 4.0), (at, y.from));
        picture.text("tick", "middle", (at, y.to - 8.0), what);
    }
    picture.finish(title, figures)
}
