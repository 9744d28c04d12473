//! Curves in a plane: figures against what was asked, a line for each size, named at its end.

use super::svg::{Canvas, Mark, Scale, nice};

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 230.0;
/// Figures outside of this are of no use in a picture.
const SMALLEST: f64 = 1e-30;
const LARGEST: f64 = 1e30;
/// Points of a curve that are drawn.
const POINTS: usize = 600;
/// Colours; a curve is told apart by its name, too.
const COLOURS: usize = 6;

/// An axis.
pub struct Axis {
    /// What it counts, with its unit.
    pub name: &'static str,
    /// Whether equal steps are equal factors.
    pub log: bool,
    /// A tick in words.
    pub show: fn(f64) -> String,
}

/// A point, and what it says under the pointer.
pub struct Point {
    /// Across.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// In words; empty for a point without a mark.
    pub title: String,
}

/// Points of one name.
pub struct Curve {
    /// The name.
    pub label: String,
    /// Whether a line joins them.
    pub joined: bool,
    /// The points, from left to right where they are joined.
    pub points: Vec<Point>,
}

/// A plane with curves.
pub struct Plane {
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// Whether a dashed line shows where both are equal.
    pub diagonal: bool,
    /// Values across that are marked, with their names.
    pub marked: Vec<(f64, String)>,
    /// The curves.
    pub curves: Vec<Curve>,
}

fn usable(value: f64, log: bool) -> bool {
    value.is_finite() && value.abs() <= LARGEST && (!log || value >= SMALLEST)
}

fn scale(values: impl Iterator<Item = f64>, log: bool, (from, to): (f64, f64)) -> Scale {
    let range = |(low, high): (f64, f64), v: f64| (low.min(v), high.max(v));
    let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), range);
    let (low, high) = if log {
        let low = least / 1.15;
        (low, (most * 1.15).max(low * 1.6))
    } else {
        let step = nice(most.max(0.0) / 5.0);
        (0.0, (most / step).ceil().max(1.0) * step)
    };
    Scale {
        low,
        high,
        from,
        to,
        log,
    }
}

/// The picture; `None` where no curve has a point in it.
pub fn draw(plane: &Plane, id: &str, title: &str) -> Option<String> {
    let shown: Vec<(&Curve, Vec<&Point>)> = plane
        .curves
        .iter()
        .map(|curve| {
            let points = curve.points.iter();
            let points = points.filter(|p| usable(p.x, plane.x.log) && usable(p.y, plane.y.log));
            (curve, points.take(POINTS).collect::<Vec<_>>())
        })
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let all = || shown.iter().flat_map(|(_, points)| points.iter());
    all().next()?;
    let marked: Vec<&(f64, String)> = plane
        .marked
        .iter()
        .filter(|(x, _)| usable(*x, plane.x.log))
        .collect();
    let xs = all().map(|p| p.x).chain(marked.iter().map(|m| m.0));
    let x = scale(xs, plane.x.log, (48.0, WIDTH - 52.0));
    let y = scale(all().map(|p| p.y), plane.y.log, (HEIGHT - 44.0, 30.0));
    let mut picture = Canvas::new(id, WIDTH, HEIGHT);
    picture.axes(
        (&x, plane.x.name, 5, &plane.x.show),
        (&y, plane.y.name, 5, &plane.y.show),
    );
    if plane.diagonal {
        let low = x.low.max(y.low);
        let high = x.high.min(y.high);
        if low < high {
            let ends = [low, high].map(|v| (x.at(v), y.at(v)));
            picture.line("limit", ends[0], ends[1]);
        }
    }
    for (n, (value, name)) in marked.iter().enumerate() {
        let at = x.at(*value);
        picture.line("limit", (at, y.to), (at, y.from));
        // One below the other, since bounds lie near each other.
        let level = y.to + 10.0 + 13.0 * (n % 8) as f64;
        picture.text("tick", "end", (at - 4.0, level), name);
    }
    let mut described = Vec::new();
    let mut taken: Vec<f64> = Vec::new();
    for (n, (curve, points)) in shown.iter().enumerate() {
        let class = format!("s{}", n % COLOURS);
        let places: Vec<(f64, f64)> = points.iter().map(|p| (x.at(p.x), y.at(p.y))).collect();
        if curve.joined {
            picture.curve(&format!("curve {class}"), places.iter().copied());
        }
        for (point, place) in points.iter().zip(&places) {
            if !point.title.is_empty() {
                picture.mark(Mark::Diamond, &class, *place, &point.title);
                described.push(point.title.as_str());
            }
        }
        if let Some(last) = places.last() {
            let mut level = last.1 + 4.0;
            // Names of curves that end alike stand below each other.
            while taken.iter().any(|t| (t - level).abs() < 11.0) && level < HEIGHT {
                level += 11.0;
            }
            taken.push(level);
            picture.text("value", "start", (last.0 + 8.0, level), &curve.label);
        }
    }
    described.truncate(100);
    Some(picture.finish(title, &described.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(f64, f64)]) -> Curve {
        let point = |(x, y): &(f64, f64)| Point {
            x: *x,
            y: *y,
            title: "p".to_owned(),
        };
        Curve {
            label: "64 B".to_owned(),
            joined: true,
            points: points.iter().map(point).collect(),
        }
    }

    fn drawn(log: bool, curves: Vec<Curve>) -> Option<String> {
        let axis = || Axis {
            name: "rate",
            log,
            show: |v| v.to_string(),
        };
        let plane = Plane {
            x: axis(),
            y: axis(),
            diagonal: true,
            marked: vec![(f64::NAN, "no".to_owned()), (2.0, "bound".to_owned())],
            curves,
        };
        draw(&plane, "p", "t")
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        for log in [false, true] {
            let odd = [(f64::NAN, 1.0), (1.0, f64::INFINITY), (1e308, 1e308)];
            assert_eq!(drawn(log, vec![curve(&odd)]), None);
            let curves = vec![curve(&[(1.0, 1.0), (4.0, 2.0)]), curve(&odd)];
            let picture = drawn(log, curves);
            let picture = picture.unwrap();
            assert!(
                !picture.contains("NaN") && !picture.contains("inf"),
                "{picture}"
            );
            assert!(picture.contains("64 B") && picture.contains("bound"));
        }
        assert_eq!(drawn(true, vec![curve(&[(0.0, 1.0)])]), None);
    }
}
