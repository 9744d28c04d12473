//! A picture of loss: one bar a trial and direction, on a scale that shows one frame in a billion and all of them.

use super::svg::{Canvas, Scale};
use crate::loss::Loss;

/// Bars in the picture; the table has all.
const BARS: usize = 60;
const WIDTH: f64 = 800.0;
const STEP: f64 = 22.0;
/// Where no loss stands, left of the logarithmic scale.
const ZERO: f64 = 250.0;

/// One row of the table.
pub struct Bar {
    /// Trial, size and way.
    pub label: String,
    /// Share of its frames that were lost.
    pub loss: Loss<f64>,
    /// How much it lost, and where that comes from.
    pub words: String,
}

/// The picture; `None` where no trial counted frames.
pub fn draw(counted: &[Bar], id: &str) -> Option<String> {
    if counted.is_empty() {
        return None;
    }
    let shown = &counted[..counted.len().min(BARS)];
    let height = 40.0 + STEP * shown.len() as f64 + 34.0;
    let x = scale(shown);
    let mut picture = Canvas::new(id, WIDTH, height);
    let bottom = height - 40.0;
    picture.text("name", "start", (ZERO, 14.0), "share of frames lost");
    for value in x.ticks(6) {
        picture.line("grid", (x.at(value), 24.0), (x.at(value), bottom));
        picture.text(
            "tick",
            "middle",
            (x.at(value), bottom + 16.0),
            &share(value),
        );
    }
    picture.line("axis", (ZERO, 24.0), (ZERO, bottom));
    picture.text("tick", "middle", (ZERO, bottom + 16.0), "none");
    let mut described = Vec::new();
    for (at, Bar { label, loss, words }) in shown.iter().enumerate() {
        let top = 28.0 + STEP * at as f64;
        picture.text("tick", "end", (ZERO - 10.0, top + 13.0), label);
        let title = format!("{label}: frames lost: {words}");
        let certain = if loss.low > 0.0 { "lost" } else { "none" };
        let mut begin = ZERO;
        for (class, share) in [(certain, Some(loss.low)), ("perhaps", loss.at_most())] {
            let Some(share) = share else { continue };
            let end = if share > 0.0 { x.at(share) } else { ZERO };
            let bar = (end - begin + 3.0, STEP - 8.0);
            picture.bar(class, (begin - 1.5, top + 2.0), bar, &title);
            begin = end;
        }
        picture.text("value", "start", (begin + 8.0, top + 13.0), words);
        described.push(title);
    }
    if counted.len() > shown.len() {
        let rest = format!("and {} more in the table", counted.len() - shown.len());
        picture.text("tick", "start", (ZERO, height - 4.0), &rest);
    }
    Some(picture.finish("Loss of each trial", &described.join("; ")))
}

/// Whole decades from the smallest loss that is not 0 to everything.
fn scale(shown: &[Bar]) -> Scale {
    let ends = shown.iter().flat_map(|bar| [bar.loss.low, bar.loss.high]);
    let losses = ends.filter(|loss| *loss > 0.0);
    let least = losses.fold(1e-5, f64::min).max(1e-12);
    Scale {
        low: 10f64.powf(least.log10().floor()),
        high: 1.0,
        from: ZERO + 64.0,
        to: WIDTH - 190.0,
        log: true,
    }
}

/// A tick of the scale, a power of ten: percent down to 0.001 %, then parts per million and per billion.
fn share(value: f64) -> String {
    let places = |v: f64| (-v.log10()).round().max(0.0) as usize;
    match value {
        v if v > 0.99 => "all".to_owned(),
        v if v > 0.9e-5 => {
            let percent = v * 100.0;
            format!("{} %", crate::format::decimal(percent, places(percent)))
        }
        v if v > 0.9e-7 => format!("{} ppm", crate::format::decimal(v * 1e6, places(v * 1e6))),
        v => format!("{} ppb", crate::format::decimal(v * 1e9, places(v * 1e9))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_in_words() {
        let ticks = [1.0, 0.1, 1e-3, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10].map(share);
        assert_eq!(
            ticks,
            [
                "all", "10 %", "0.1 %", "0.001 %", "1 ppm", "0.1 ppm", "10 ppb", "0.1 ppb"
            ]
        );
    }
}
