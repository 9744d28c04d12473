//! A picture of loss: one bar a trial and direction, on a scale that shows one frame in a billion and all of them.

use super::svg::{Picture, Scale};
use crate::format::integer;
use crate::row::{self, Row};

/// Bars in the picture; the table has all.
const BARS: usize = 60;
const WIDTH: f64 = 720.0;
const STEP: f64 = 22.0;
/// Where no loss stands, left of the logarithmic scale.
const ZERO: f64 = 250.0;

/// Share of frames lost, or `None` where no trial counted frames.
pub fn loss(rows: &[Row<'_>]) -> Option<String> {
    let counted: Vec<(&Row<'_>, f64)> = rows
        .iter()
        .filter_map(|r| r.loss().value().map(|loss| (r, *loss)))
        .collect();
    if counted.is_empty() {
        return None;
    }
    let shown = &counted[..counted.len().min(BARS)];
    let height = 40.0 + STEP * shown.len() as f64 + 34.0;
    let x = scale(shown);
    let mut picture = Picture::new("loss", WIDTH, height);
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
    for (at, (row, loss)) in shown.iter().enumerate() {
        let top = 28.0 + STEP * at as f64;
        let (lost, sent) = (row.count(|c| c.lost_frames), row.sent());
        let (lost, sent) = (
            lost.value().copied().unwrap_or(0),
            sent.value().copied().unwrap_or(0),
        );
        let mut text = match lost {
            0 => format!("0 of {}", integer(sent)),
            lost => format!("{} of {}", integer(lost), integer(sent)),
        };
        let status = row::status(&row.observation.status);
        if status != "complete" {
            text.push_str(&format!(", {status}"));
        }
        let label = row.label();
        picture.text("tick", "end", (ZERO - 10.0, top + 13.0), &label);
        let end = if lost == 0 { ZERO } else { x.at(*loss) };
        let title = format!("{label}: {text} frames lost");
        picture.bar(
            if lost == 0 { "none" } else { "lost" },
            (ZERO - 1.5, top + 2.0),
            (end - ZERO + 3.0, STEP - 8.0),
            &title,
        );
        picture.text("value", "start", (end + 8.0, top + 13.0), &text);
        described.push(title);
    }
    if counted.len() > shown.len() {
        let rest = format!("and {} more in the table", counted.len() - shown.len());
        picture.text("tick", "start", (ZERO, height - 4.0), &rest);
    }
    Some(picture.finish("Loss of each trial", &described.join("; ")))
}

/// Whole decades from the smallest loss that is not 0 to everything.
fn scale(shown: &[(&Row<'_>, f64)]) -> Scale {
    let losses = shown.iter().map(|(_, loss)| *loss).filter(|l| *l > 0.0);
    let least = losses.fold(1e-5, f64::min).max(1e-12);
    Scale {
        low: 10f64.powf(least.log10().floor()),
        high: 1.0,
        from: ZERO + 30.0,
        to: WIDTH - 150.0,
        log: true,
    }
}

/// A tick of the scale.
fn share(value: f64) -> String {
    if value > 0.99 {
        return "all".to_owned();
    }
    if value > 0.000_99 {
        return format!(
            "{} %",
            crate::format::decimal(value * 100.0, if value < 0.009 { 1 } else { 0 })
        );
    }
    let one_in = (1.0 / value).round();
    format!(
        "1 in {}",
        crate::format::si(one_in, "").trim_end().replace(' ', "")
    )
}
