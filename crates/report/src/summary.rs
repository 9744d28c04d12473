//! How a run went in one sentence, and each trial in one line.

use wirelab_trial::{Field, Kind, Observation, ResultsFile, Status};

use crate::escape;
use crate::finding::{beyond_loss, faultless, judged};
use crate::format::{self, integer};
use crate::row::{self, bad};
use crate::stages::sheet;

/// How it went in one sentence.
pub fn verdict(file: &ResultsFile) -> String {
    let total = file.observations.len();
    if total == 0 {
        return "No trial was run.".to_owned();
    }
    let searched = row::searched(file);
    let sound = |at: usize, o: &Observation| match searched[at] {
        true => beyond_loss(at + 1, o).is_empty(),
        false => faultless(o),
    };
    let each = file.observations.iter().enumerate();
    let good = each.filter(|(at, o)| sound(*at, o)).count();
    let trials = if total == 1 { "trial" } else { "trials" };
    let mut text = if good == total {
        format!("{total} {trials}, none with a fault or loss")
    } else {
        format!("{} of {total} {trials} with a fault or loss", total - good)
    };
    let unjudged = file.observations.iter().filter(|o| !judged(o)).count();
    if unjudged > 0 {
        text.push_str(&format!(", {unjudged} without counted frames"));
    }
    text.push_str(&totals(file));
    let searched = searched.iter().filter(|s| **s).count();
    if searched > 0 {
        text.push_str(&format!(
            " {} of the trials are of searches, which lose frames on purpose.",
            integer(searched as u64)
        ));
    }
    if file.interrupted {
        text.push_str(" The run ended before its plan was done.");
    }
    text
}

/// Measured frames over all trials; nothing where none were counted.
fn totals(file: &ResultsFile) -> String {
    let (mut sent, mut lost, mut damaged) = (0u64, 0u64, 0u64);
    let flows = file.observations.iter().flat_map(|o| &o.flows);
    for flow in flows {
        let (Some(s), Some(c)) = (flow.sent_frames.value(), flow.counts.value()) else {
            continue;
        };
        if flow.counts.kind() == Some(Kind::Measured) {
            sent = sent.saturating_add(*s);
            lost = lost.saturating_add(c.lost_frames);
            damaged = damaged.saturating_add(bad(c));
        }
    }
    if sent == 0 {
        return ".".to_owned();
    }
    format!(
        ": {} frames sent, {} lost, {} bad (measured).",
        integer(sent),
        integer(lost),
        integer(damaged)
    )
}

/// One line on an observation, shown while a run goes on: size, load and way, then what came of it. Plain text
/// without control characters, whatever the observation holds.
pub fn summary_line(observation: &Observation) -> String {
    let trial = &observation.trial;
    let mut text = format!(
        "payload {} (frame {}), {}, {}",
        observation.sizes.payload,
        observation.sizes.frame,
        row::load(&trial.load),
        trial.direction
    );
    if trial.ports > 1 {
        text.push_str(&format!(", {} ports", trial.ports));
    }
    if let Some(buffers) = trial.buffers {
        text.push_str(&format!(", {buffers}"));
    }
    if let Some(way) = sheet::asked(observation) {
        text.push_str(&format!(", {way}"));
    }
    let rows = row::rows(std::slice::from_ref(observation), false);
    let ways: Vec<String> = rows
        .iter()
        .map(|r| way_in_words(r, rows.len() > 1))
        .collect();
    text.push_str(": ");
    text.push_str(&ways.join("; "));
    match &observation.status {
        Status::Complete => {}
        Status::Partial { why } => text.push_str(&format!(" — PARTIAL: {why}")),
        Status::Void { why } => text.push_str(&format!(" — VOID: {why}")),
    }
    escape::line(&text)
}

fn way_in_words(row: &row::Row<'_>, named: bool) -> String {
    let mut text = if named {
        format!("{} ", row.direction)
    } else {
        String::new()
    };
    let mut shown = None;
    match row.sum(|f| &f.frames_per_s) {
        Field::Observed { value, kind } => {
            text.push_str(&format!("{} frames/s", format::frame_rate(value)));
            shown = Some(kind);
        }
        Field::Absent { absent } => text.push_str(&format!("no frame rate ({absent})")),
    }
    if let Field::Observed { value, kind } = row.sum(|f| &f.payload_bits_per_s) {
        text.push_str(&format!(", {} payload", format::si(value, "bit/s")));
        shown = shown.or(Some(kind));
    }
    if let Field::Observed { value, kind } = row.sum(|f| &f.goodput_bits_per_s) {
        text.push_str(&format!(", {} goodput", format::si(value, "bit/s")));
        shown = shown.or(Some(kind));
    }
    if let Some((low, _)) = row.range(|f| f.efficiency.clone()).value() {
        text.push_str(&format!(", efficiency {} %", format::percent(*low)));
    }
    if let (Some(lost), Some(damaged)) =
        (row.count(|c| c.lost_frames).value(), row.count(bad).value())
    {
        text.push_str(&format!(
            ", {} lost, {} bad",
            integer(*lost),
            integer(*damaged)
        ));
    }
    if let Some(kind) = shown {
        text.push_str(&format!(" ({})", row::kind(kind)));
    }
    text
}
