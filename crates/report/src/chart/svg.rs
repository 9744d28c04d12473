//! What every picture is made of: scales, ticks, marks, and the frame with title and description.

use crate::document::escape::xml;

/// From values to places on the picture.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Smallest value; above 0 on a logarithmic scale.
    pub low: f64,
    /// Largest value, above `low`.
    pub high: f64,
    /// Place of the smallest.
    pub from: f64,
    /// Place of the largest.
    pub to: f64,
    /// Whether equal steps are equal factors.
    pub log: bool,
}

impl Scale {
    /// Place of a value, kept within the scale.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        // A value of 0 on a logarithmic scale, and what is no number, belong at the start.
        let share = if share.is_nan() {
            0.0
        } else {
            share.clamp(0.0, 1.0)
        };
        self.from + share * (self.to - self.from)
    }

    /// Values for ticks: about `wanted` of them, at 1, 2 or 5 times a power of ten, or at powers of ten where a
    /// logarithmic scale spans many.
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        // Within a decade, even steps mark a logarithmic scale better than its few round powers.
        if self.log && self.high > 10.0 * self.low {
            return self.log_ticks(wanted);
        }
        let step = nice((self.high - self.low) / wanted.max(1) as f64);
        let first = (self.low / step).ceil();
        (0..=2 * wanted)
            .map(|n| (first + n as f64) * step)
            .take_while(|v| *v <= self.high * (1.0 + 1e-9))
            .collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<f64> {
        let (low, high) = (self.low.log10(), self.high.log10());
        let decades = (high - low).max(1e-9);
        let every = (decades / wanted.max(1) as f64).ceil().max(1.0) as i32;
        let factors: &[f64] = match decades * 3.0 {
            d if d <= wanted as f64 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let mut out = Vec::new();
        let mut exponent = low.floor() as i32;
        while f64::from(exponent) <= high {
            for factor in factors {
                let value = factor * 10f64.powi(exponent);
                if value >= self.low * (1.0 - 1e-9) && value <= self.high * (1.0 + 1e-9) {
                    out.push(value);
                }
            }
            exponent += every;
        }
        out
    }
}

/// The next of 1, 2 and 5 times a power of ten that is not below `value`.
pub fn nice(value: f64) -> f64 {
    if value.is_nan() || value <= 0.0 || value.is_infinite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let fits = steps
        .iter()
        .map(|s| s * power)
        .find(|s| *s >= value * (1.0 - 1e-9));
    fits.unwrap_or(10.0 * power)
}

/// A picture while it is drawn.
pub struct Canvas {
    id: String,
    width: f64,
    height: f64,
    body: String,
}

impl Canvas {
    /// An empty picture; `id` is unique in the page and made by this crate.
    pub fn new(id: &str, width: f64, height: f64) -> Canvas {
        Canvas {
            id: id.to_owned(),
            width,
            height,
            body: String::new(),
        }
    }

    /// Make room below what was planned.
    pub fn grow(&mut self, by: f64) {
        self.height += by;
    }

    /// A line between two points.
    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.body.push_str(&format!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n"
        ));
    }

    /// A line through points.
    pub fn curve(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.body.push_str(&format!(
            "<polyline class=\"{class}\" points=\"{}\"/>\n",
            points.join(" ")
        ));
    }

    /// Words; `anchor` is start, middle or end.
    pub fn text(&mut self, class: &str, anchor: &str, (x, y): (f64, f64), text: &str) {
        self.body.push_str(&format!(
            "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n",
            xml(text)
        ));
    }

    /// A box from its upper left corner, which says `title` under the pointer.
    pub fn bar(&mut self, class: &str, (x, y): (f64, f64), (w, h): (f64, f64), title: &str) {
        self.body.push_str(&format!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>\n",
            w.max(0.0),
            h.max(0.0),
            xml(title)
        ));
    }

    /// A mark at a point, which says `title` under the pointer.
    pub fn mark(&mut self, mark: Mark, class: &str, (x, y): (f64, f64), title: &str) {
        let d = match mark {
            Mark::Up => format!("M{x:.1} {:.1}l5.5 9.5h-11z", y - 6.3),
            Mark::Down => format!("M{x:.1} {:.1}l5.5 -9.5h-11z", y + 6.3),
            Mark::Diamond => format!("M{x:.1} {:.1}l6 6l-6 6l-6 -6z", y - 6.0),
        };
        self.body.push_str(&format!(
            "<path class=\"mark {class}\" d=\"{d}\"><title>{}</title></path>\n",
            xml(title)
        ));
    }

    /// Axes with ticks, grid lines and names. `show` turns a tick's value into its label.
    pub fn axes(
        &mut self,
        (x, x_name, x_ticks, show_x): (&Scale, &str, usize, &dyn Fn(f64) -> String),
        (y, y_name, y_ticks, show_y): (&Scale, &str, usize, &dyn Fn(f64) -> String),
    ) {
        for value in y.ticks(y_ticks) {
            let at = y.at(value);
            self.line("grid", (x.from, at), (x.to, at));
            self.text("tick", "end", (x.from - 6.0, at + 4.0), &show_y(value));
        }
        for value in x.ticks(x_ticks) {
            let at = x.at(value);
            self.line("axis", (at, y.from), (at, y.from + 4.0));
            self.text("tick", "middle", (at, y.from + 17.0), &show_x(value));
        }
        self.line("axis", (x.from, y.from), (x.to, y.from));
        let middle = (x.from + x.to) / 2.0;
        self.text("name", "middle", (middle, y.from + 34.0), x_name);
        if !y_name.is_empty() {
            self.text("name", "start", (x.from - 40.0, y.to - 14.0), y_name);
        }
    }

    /// The picture with what it shows in words, for those who cannot see it.
    pub fn finish(self, title: &str, description: &str) -> String {
        let Canvas {
            id,
            width,
            height,
            body,
        } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
             aria-labelledby=\"{id}-t {id}-d\">\n<title id=\"{id}-t\">{}</title>\n<desc id=\"{id}-d\">{}</desc>\n\
             {body}</svg>\n",
            xml(title),
            xml(description)
        )
    }
}

/// Shapes of marks: told apart without colour, and all seen where they lie on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A triangle that points up.
    Up,
    /// A triangle that points down.
    Down,
    /// A diamond.
    Diamond,
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Scale = Scale {
        low: 0.0,
        high: 1500.0,
        from: 0.0,
        to: 300.0,
        log: false,
    };

    #[test]
    fn places_stay_within() {
        assert_eq!(X.at(750.0), 150.0);
        assert_eq!(X.at(-5.0), 0.0);
        assert_eq!(X.at(f64::INFINITY), 300.0);
        assert_eq!(X.at(f64::NAN), 0.0);
        let log = Scale {
            low: 1.0,
            high: 100.0,
            log: true,
            ..X
        };
        assert_eq!(log.at(10.0), 150.0);
        assert_eq!(log.at(0.0), 0.0);
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(X.ticks(5), [0.0, 500.0, 1000.0, 1500.0]);
        assert_eq!(
            X.ticks(8),
            [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0, 1200.0, 1400.0]
        );
        let log = Scale {
            low: 1e3,
            high: 1e6,
            log: true,
            ..X
        };
        assert_eq!(log.ticks(5), [1e3, 1e4, 1e5, 1e6]);
        let ticks = |scale: Scale| -> Vec<u64> {
            scale.ticks(7).iter().map(|v| v.round() as u64).collect()
        };
        assert_eq!(
            ticks(Scale { high: 2e4, ..log }),
            [1000, 2000, 5000, 10_000, 20_000]
        );
        let narrow = Scale {
            low: 1400.0,
            high: 2900.0,
            ..log
        };
        assert_eq!(ticks(narrow), [1500, 2000, 2500]);
        assert_eq!(nice(f64::NAN), 1.0);
        assert_eq!(nice(0.3), 0.5);
    }
}
