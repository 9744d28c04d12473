//! Bit/s against size, both logarithmic, under the ceilings of a node.

use wirelab_trial::Kind;
use wirelab_trial::explanation::{Ceiling, CeilingLaw, Roofline};

use super::plane::{LineLook, Pane, Plane, PlaneLine, Point, Series};
use super::{Axis, Show};
use crate::format;
use crate::row;

/// The roofline as a picture. Ceilings that lie far above all figures are cut off.
pub fn plane(roofline: &Roofline) -> Plane {
    let mut series: Vec<Series> = Vec::new();
    for p in &roofline.points {
        let kind = row::kind(p.kind);
        let rate = format::si(p.bits_per_s, "bit/s");
        let words = format!(
            "{} B: {rate}, {} ({kind}); {}",
            p.bytes, p.direction, p.limited_by
        );
        let point = Point::new(p.bytes.into(), p.bits_per_s, words, None);
        let like = |s: &&mut Series| s.direction == Some(p.direction) && s.kind == Some(p.kind);
        match series.iter_mut().find(like) {
            Some(series) => series.points.push(point),
            None => series.push(Series {
                name: format!("{}, {kind}", p.direction),
                direction: Some(p.direction),
                kind: Some(p.kind),
                joined: false,
                points: vec![point],
            }),
        }
    }
    let high = highest(roofline);
    let lines = roofline.ceilings.iter().map(|ceiling| {
        let curve = ceiling.curve.iter();
        let curve = curve.map(|(size, value)| (f64::from(*size), *value));
        PlaneLine {
            name: ceiling_words(ceiling),
            look: match ceiling.law {
                CeilingLaw::Wire => LineLook::Limit,
                CeilingLaw::PerPacket => LineLook::PerPacket,
                CeilingLaw::PerByte => LineLook::PerByte,
            },
            points: curve.filter(|(_, value)| *value <= high).collect(),
        }
    });
    let plane = Plane {
        x: Axis::log(format!("{} in bytes", roofline.unit.name()), Show::Integer),
        panes: vec![Pane {
            y: Axis::log("data in bit/s", Show::Si),
            series,
            lines: lines.collect(),
        }],
        marked: Vec::new(),
    };
    plane.tidied()
}

/// The end of the axis that shows every point and the wire.
fn highest(roofline: &Roofline) -> f64 {
    // A rate that no link could carry is not a figure, and would squeeze all others.
    let real = |v: &f64| *v > 0.0 && *v < 1e18;
    let rates = roofline.points.iter().map(|p| p.bits_per_s);
    let ceilings = roofline.ceilings.iter();
    let wire = ceilings.filter(|c| c.law == CeilingLaw::Wire);
    let wire = wire.flat_map(|c| c.curve.iter().map(|(_, v)| *v));
    rates.chain(wire).filter(real).fold(10.0, f64::max) * 1.5
}

/// A ceiling in a few words.
pub fn ceiling_name(ceiling: &Ceiling) -> String {
    match ceiling.law {
        CeilingLaw::Wire => ceiling.name.clone(),
        CeilingLaw::PerPacket => format!("{} per packet", ceiling.name),
        CeilingLaw::PerByte => format!("{} per byte", ceiling.name),
    }
}

/// The ceilings in words, a line each, with the kind of the figures behind them.
pub fn ceilings(roofline: &Roofline, kind: Option<Kind>) -> impl Iterator<Item = String> {
    roofline.ceilings.iter().map(move |ceiling| {
        let words = ceiling_words(ceiling);
        match kind.filter(|_| ceiling.law != CeilingLaw::Wire) {
            Some(kind) => format!("{words} ({kind})"),
            None => words,
        }
    })
}

/// A ceiling in words with its cost.
pub fn ceiling_words(ceiling: &Ceiling) -> String {
    let name = ceiling_name(ceiling);
    match ceiling.law {
        CeilingLaw::Wire => format!("{name}: the link rate times the share of data in a frame"),
        CeilingLaw::PerPacket => format!("{name}: {} each", format::time_f(ceiling.cost_ps)),
        CeilingLaw::PerByte => format!(
            "{name}: {} each, {} whatever the size",
            format::time_f(ceiling.cost_ps),
            format::si(8e12 / ceiling.cost_ps, "bit/s")
        ),
    }
}
