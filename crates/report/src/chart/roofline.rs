//! A picture of bit/s against size, both logarithmic, under the ceilings of a node.

use wirelab_trial::explanation::{Ceiling, CeilingLaw, Roofline, RooflinePoint};
use wirelab_trial::{Direction, Kind};

use super::scatter::{class, mark};
use super::svg::{Canvas, Scale};
use crate::format;
use crate::row;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const BOTTOM: f64 = 52.0;
/// Colours of ceilings; more than these begin again.
const COLOURS: usize = 6;
/// Values are written beside marks up to so many.
const VALUES: usize = 16;

/// The picture; `id` is unique in the page.
pub fn draw(roofline: &Roofline, id: &str) -> String {
    let (x, y) = plane(roofline);
    let mut picture = Canvas::new(id, WIDTH, HEIGHT);
    let unit = roofline.unit.name();
    picture.axes(
        (&x, &format!("{unit} in bytes"), 7, &|v| {
            format::decimal(v, 0)
        }),
        (&y, "data in bit/s", 6, &|v| {
            format::si(v, "").trim_end().to_owned()
        }),
    );
    for (at, ceiling) in roofline.ceilings.iter().enumerate() {
        let inside: Vec<(f64, f64)> = inside(ceiling, &y)
            .map(|(s, v)| (x.at(s), y.at(v)))
            .collect();
        if inside.len() > 1 {
            picture.curve(&style(ceiling, at), inside.into_iter());
        }
    }
    for p in &roofline.points {
        let title = format!(
            "{} B: {}, {} ({}); {}",
            p.bytes,
            format::si(p.bits_per_s, "bit/s"),
            p.direction,
            row::kind(p.kind),
            p.limited_by
        );
        let place = (x.at(p.bytes.into()), y.at(p.bits_per_s));
        picture.mark(
            mark(p.direction),
            &class(p.direction, p.kind),
            place,
            &title,
        );
    }
    values(&mut picture, roofline, &x, &y);
    legend(&mut picture, roofline, &y);
    let described = roofline.points.iter().map(|p| {
        format!(
            "{} B: {}, {}",
            p.bytes,
            format::si(p.bits_per_s, "bit/s"),
            p.limited_by
        )
    });
    picture.finish("Packet roofline", &described.collect::<Vec<_>>().join("; "))
}

/// Scales that show every point and the wire; other ceilings may lie beyond.
fn plane(roofline: &Roofline) -> (Scale, Scale) {
    let sizes = || roofline.points.iter().map(|p| f64::from(p.bytes).max(1.0));
    // What no link could carry is no figure, and would leave no room for those that are.
    let real = |v: &f64| *v > 0.0 && *v < 1e18;
    let rates = || roofline.points.iter().map(|p| p.bits_per_s).filter(real);
    let wire = roofline
        .ceilings
        .iter()
        .filter(|c| c.law == CeilingLaw::Wire);
    let wire = wire
        .flat_map(|c| c.curve.iter().map(|(_, v)| *v))
        .filter(real);
    let (least, most) = (
        sizes().fold(f64::INFINITY, f64::min),
        sizes().fold(1.0, f64::max),
    );
    let least = if least.is_finite() { least } else { 1.0 };
    let low = rates().fold(f64::INFINITY, f64::min);
    let high = rates().chain(wire).fold(0.0, f64::max).max(10.0) * 1.5;
    let low = if low.is_finite() {
        low / 2.0
    } else {
        high / 100.0
    };
    let x = Scale {
        low: least * 0.85,
        high: (most * 1.15).max(least * 2.0),
        from: 60.0,
        to: WIDTH - 20.0,
        log: true,
    };
    let y = Scale {
        low: low.min(high / 12.0).max(1e-3),
        high,
        from: HEIGHT - BOTTOM,
        to: 36.0,
        log: true,
    };
    (x, y)
}

/// The part of a ceiling that the picture has room for.
fn inside<'a>(ceiling: &'a Ceiling, y: &Scale) -> impl Iterator<Item = (f64, f64)> + use<'a> {
    let (low, high) = (y.low, y.high);
    let curve = ceiling
        .curve
        .iter()
        .map(|(size, value)| (f64::from(*size), *value));
    curve.filter(move |(_, value)| (low..=high).contains(value))
}

fn style(ceiling: &Ceiling, at: usize) -> String {
    let law = match ceiling.law {
        CeilingLaw::Wire => "limit",
        CeilingLaw::PerPacket => "per-packet",
        CeilingLaw::PerByte => "per-byte",
    };
    format!("roof {law} c{}", at % COLOURS)
}

/// Values below the marks, left out where one would lie on another.
fn values(picture: &mut Canvas, roofline: &Roofline, x: &Scale, y: &Scale) {
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for p in roofline.points.iter().take(VALUES) {
        let (at, level) = (x.at(p.bytes.into()), y.at(p.bits_per_s));
        let below = level + 22.0;
        let place = if below < y.from - 4.0 {
            below
        } else {
            level - 12.0
        };
        let free =
            |other: &(f64, f64)| (other.0 - at).abs() > 46.0 || (other.1 - place).abs() > 13.0;
        if taken.iter().all(free) {
            taken.push((at, place));
            let value = format::si(p.bits_per_s, "");
            picture.text("value", "middle", (at, place), value.trim_end());
        }
    }
}

/// A line each: ceilings, then the marks that occur.
fn legend(picture: &mut Canvas, roofline: &Roofline, y: &Scale) {
    let mut level = HEIGHT;
    for (at, ceiling) in roofline.ceilings.iter().enumerate() {
        let shown = inside(ceiling, y).count() > 1;
        let beyond = if shown { "" } else { " (beyond the picture)" };
        picture.curve(
            &style(ceiling, at),
            [(60.0, level), (92.0, level)].into_iter(),
        );
        let words = format!("{}{beyond}", ceiling_words(ceiling));
        picture.text("tick", "start", (100.0, level + 4.0), &words);
        picture.grow(18.0);
        level += 18.0;
    }
    for (direction, kind) in sorts(&roofline.points) {
        picture.mark(mark(direction), &class(direction, kind), (76.0, level), "");
        let words = format!("{direction}, {}", row::kind(kind));
        picture.text("tick", "start", (100.0, level + 4.0), &words);
        picture.grow(18.0);
        level += 18.0;
    }
}

/// Directions and kinds that occur, each once.
fn sorts(points: &[RooflinePoint]) -> Vec<(Direction, Kind)> {
    let mut seen = Vec::new();
    for p in points {
        if !seen.contains(&(p.direction, p.kind)) {
            seen.push((p.direction, p.kind));
        }
    }
    seen
}

/// A ceiling in a few words.
pub fn ceiling_name(ceiling: &Ceiling) -> String {
    match ceiling.law {
        CeilingLaw::Wire => ceiling.name.clone(),
        CeilingLaw::PerPacket => format!("{} per packet", ceiling.name),
        CeilingLaw::PerByte => format!("{} per byte", ceiling.name),
    }
}

/// The ceilings in words, a line each, with the kind of what they were told from.
pub fn ceilings(roofline: &Roofline, told: Option<Kind>) -> impl Iterator<Item = String> {
    roofline.ceilings.iter().map(move |ceiling| {
        let words = ceiling_words(ceiling);
        match told.filter(|_| ceiling.law != CeilingLaw::Wire) {
            Some(kind) => format!("{words} ({kind})"),
            None => words,
        }
    })
}

/// A ceiling in words with its cost.
pub fn ceiling_words(ceiling: &Ceiling) -> String {
    let name = ceiling_name(ceiling);
    match ceiling.law {
        CeilingLaw::Wire => format!("{name}: data over what its frame takes of the link"),
        CeilingLaw::PerPacket => format!("{name}: {} each", format::time_f(ceiling.cost_ps)),
        CeilingLaw::PerByte => format!(
            "{name}: {} each, {} whatever the size",
            format::time_f(ceiling.cost_ps),
            format::si(8e12 / ceiling.cost_ps, "bit/s")
        ),
    }
}
