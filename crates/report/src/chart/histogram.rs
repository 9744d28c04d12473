//! Pictures of distributions: the sender's gaps and every series, each on logarithmic scales, so that the one
//! frame in a million that came late is seen.

use wirelab_trial::Kind;

use super::svg::{Canvas, Scale};
use crate::format;
use crate::stats::Samples;

const BINS: usize = 72;
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 190.0;

/// One distribution.
pub struct Distribution {
    /// Its samples.
    pub samples: Samples,
    /// Where they come from.
    pub kind: Kind,
    /// A value to compare with, in the unit of the samples, and what it is.
    pub mark: Option<(f64, &'static str)>,
}

impl Distribution {
    fn value(&self, value: f64) -> String {
        match self.samples.instructions {
            true => format::decimal(value, 0),
            false => format::time_f(value),
        }
    }

    /// Its main figures.
    pub fn words(&self) -> String {
        let samples = &self.samples;
        let unit = if samples.instructions {
            " instructions"
        } else {
            ""
        };
        format!(
            "median {}, 99.9 % {}, max {}{unit}; {} samples, {}",
            self.value(samples.percentile(0.5)),
            self.value(samples.percentile(0.999)),
            self.value(samples.range().1),
            format::integer(samples.count()),
            self.kind
        )
    }
}

/// The picture.
pub fn draw(panel: &Distribution, id: &str, title: &str) -> String {
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
    let mut picture = Canvas::new(id, WIDTH, HEIGHT);
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
            panel.value(from),
            panel.value(from * factor),
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
    picture.finish(title, &panel.words())
}
