//! A figure over runs as a picture: medians, their spread, levels and changes.

use wirelab_report::compare::{change, value};
use wirelab_report::format::utc;
use wirelab_report::{nice, usable};

use crate::html::xml;
use crate::trend::Trend;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 130.0;
const RIGHT: f64 = 850.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 280.0;
/// Lines across, at least as many as half of these.
const TICKS: f64 = 6.0;
/// Dates below.
const DATES: usize = 4;

/// The picture as SVG, which needs no script: each point is a link to its run, and says in words what it is.
pub fn svg(trend: &Trend) -> String {
    let (points, unit) = (&trend.points, &trend.points[0].figure.unit);
    let scale = Upwards::of(trend);
    let last = points.len().saturating_sub(1).max(1) as f64;
    let across = |at: f64| LEFT + 12.0 + (RIGHT - LEFT - 24.0) * at / last;
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"group\" aria-label=\"{}\">\n",
        xml(&words(trend))
    );
    for at in scale.ticks() {
        let y = scale.y(at);
        let (label, base) = (xml(&value(unit, at)), y + 4.0);
        out.push_str(&format!(
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
        ));
        out.push_str(&format!(
            "<text class=\"tick end\" x=\"{:.1}\" y=\"{base:.1}\">{label}</text>\n",
            LEFT - 8.0
        ));
    }
    // The day, or of runs of one day the time.
    let day = |at: usize| utc(points[at].created_unix_ns).get(..10).map(str::to_owned);
    let part = if day(0) == day(points.len() - 1) {
        11..19
    } else {
        0..10
    };
    for date in 0..DATES.min(points.len()) {
        let at = date * (points.len() - 1) / (DATES.min(points.len()) - 1).max(1);
        let moment = utc(points[at].created_unix_ns);
        let shown = xml(moment.get(part.clone()).unwrap_or(&moment));
        let (x, y) = (across(at as f64), BOTTOM + 20.0);
        out.push_str(&format!(
            "<text class=\"tick middle\" x=\"{x:.1}\" y=\"{y:.1}\">{shown}</text>\n"
        ));
    }
    out.push_str(&format!(
        "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\"/>\n"
    ));
    let (name, below) = (xml(&points[0].figure.figure), BOTTOM + 38.0);
    out.push_str(&format!("<text x=\"8\" y=\"14\">{name}</text>\n"));
    out.push_str(&format!("<text class=\"tick middle\" x=\"{:.1}\" y=\"{below:.1}\">runs, the earliest on the left</text>\n", f64::midpoint(LEFT, RIGHT)));
    for range in trend.levels() {
        let mut medians: Vec<f64> = points[range.clone()]
            .iter()
            .map(|point| point.figure.median)
            .collect();
        medians.sort_by(f64::total_cmp);
        let y = scale.y(medians[medians.len() / 2]);
        let ends = [range.start as f64 - 0.4, range.end as f64 - 0.6]
            .map(|at| across(at).clamp(LEFT, RIGHT));
        out.push_str(&format!(
            "<line class=\"level\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\n",
            ends[0], ends[1]
        ));
    }
    for found in &trend.changes {
        let x = across(found.at as f64 - 0.5);
        let label = xml(&change(trend.scale, found.shift.change));
        out.push_str(&format!(
            "<line class=\"change\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>"
        ));
        out.push_str(&format!(
            "<text class=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{label}</text>\n",
            TOP - 8.0
        ));
    }
    for (at, point) in points.iter().enumerate() {
        let figure = &point.figure;
        let (x, y) = (across(at as f64), scale.y(figure.median));
        let (high, low) = (scale.y(figure.high), scale.y(figure.low));
        let limited = figure.tester_limited > 0;
        let class = if limited { "limited" } else { "point" };
        let note = if limited {
            ", the tester was the limit"
        } else {
            ""
        };
        let said = xml(&format!(
            "run {}, {}: {}, {} to {} of {} repeats{note}",
            point.run,
            utc(point.created_unix_ns),
            value(unit, figure.median),
            value(unit, figure.low),
            value(unit, figure.high),
            figure.repeats
        ));
        out.push_str(&format!(
            "<a href=\"/runs/{}\"><title>{said}</title>\
             <line class=\"spread\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{high:.1}\" y2=\"{low:.1}\"/>\
             <circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/></a>\n",
            point.run
        ));
    }
    out.push_str("</svg>\n");
    out
}

/// The picture in a sentence.
fn words(trend: &Trend) -> String {
    let figure = &trend.points[0].figure;
    let found = match trend.changes.len() {
        0 => "its level did not change".to_owned(),
        1 => "its level changed once".to_owned(),
        n => format!("its level changed {n} times"),
    };
    format!(
        "{} of {} over {} runs: {found}",
        figure.figure,
        figure.trial,
        trend.points.len()
    )
}

/// From values to places.
struct Upwards {
    low: f64,
    high: f64,
}

impl Upwards {
    /// With room for all; not from 0, or a change of some percent would not be seen.
    fn of(trend: &Trend) -> Upwards {
        let figures = || trend.points.iter().map(|point| &point.figure);
        let low = figures()
            .map(|f| f.low)
            .filter(|value| usable(*value))
            .fold(f64::INFINITY, f64::min);
        let high = figures()
            .map(|f| f.high)
            .filter(|value| usable(*value))
            .fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            return Upwards {
                low: 0.0,
                high: 1.0,
            };
        }
        let room = match high - low {
            0.0 => high.abs() * 0.05 + 1e-9,
            range => range * 0.1,
        };
        // What cannot be below 0 is not drawn there.
        let floor = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        Upwards {
            low: (low - room).max(floor),
            high: high + room,
        }
    }

    /// Round values: of a step that is 1, 2 or 5 times a power of ten.
    fn ticks(&self) -> Vec<f64> {
        let step = nice((self.high - self.low) / TICKS);
        if !step.is_normal() {
            return Vec::new();
        }
        let first = (self.low / step).ceil();
        let count = ((self.high / step).floor() - first).clamp(0.0, 2.0 * TICKS);
        (0..=count as u32)
            .map(|n| (first + f64::from(n)) * step)
            .collect()
    }

    fn y(&self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        match share.is_nan() {
            true => BOTTOM,
            false => BOTTOM - (BOTTOM - TOP) * share,
        }
    }
}
