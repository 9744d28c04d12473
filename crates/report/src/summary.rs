//! How a run went in one sentence, and each trial in one line.

use wirelab_trial::search::{GoalResult, Limit, Outcome};
use wirelab_trial::{
    Counts, Field, FlowObservation, Kind, Observation, ResultsFile, SearchOutcome, Status,
};

use crate::datasheet::is_datasheet;
use crate::document::{EMULATED, PageHead, escape};
use crate::finding::unsupported;
use crate::format::{self, count, integer};
use crate::interval;
use crate::judge::{End, Failed, GoalClass, counted, judge};
use crate::loss::{self, Loss};
use crate::row::{self, bad};
use crate::stages::sheet;

/// The result of a run in one sentence.
pub fn verdict(file: &ResultsFile) -> String {
    let total = file.observations.len();
    if total == 0 {
        return "No trial was run.".to_owned();
    }
    if let Some(none) = supports_none(file) {
        return none;
    }
    let judged = judge(file);
    let bad = |end: &&End| end.is_failed();
    let is_refused = |(o, end): &(&Observation, &End)| end.is_failed() && unsupported(o);
    let each = || file.observations.iter().zip(&judged.trials);
    let refused = each().filter(is_refused).count();
    let wrong = judged.trials.iter().filter(bad).count() - refused;
    let missed = judged
        .goals
        .iter()
        .filter(|goal| goal.class == GoalClass::Search);
    let missed = missed.filter(|goal| bad(&&goal.end)).count();
    let trials = if total == 1 { "trial" } else { "trials" };
    let searched = row::searched(file).iter().filter(|s| **s).count();
    let predicted_loss = predicted_losses(file);
    // If loss is what a trial looks for, it is not a failure.
    let or_loss = match is_datasheet(file) || searched == total || predicted_loss > 0 {
        true => "",
        false => " or loss",
    };
    let mut text = if wrong == 0 {
        let injected = file.observations.iter().any(|o| !o.trial.faults.is_clean());
        let beyond = match injected {
            true => " beyond those injected",
            false => "",
        };
        format!("{total} {trials}, none with a fault{or_loss}{beyond}")
    } else {
        format!("{wrong} of {total} {trials} with a fault{or_loss}")
    };
    let of_tester = each().filter(|(o, end)| bad(end) && only_the_tester_dropped(o));
    let of_tester = of_tester.count();
    if of_tester > 0 {
        text.push_str(&format!(
            ", {of_tester} of them only by drops of the tester's own queue"
        ));
    }
    let nothing = |end: &&End| matches!(end, End::Failed(Failed::Nothing, _));
    let nothing = judged.trials.iter().filter(nothing).count();
    if nothing > 0 {
        text.push_str(&format!(" or without the requested figure ({nothing})"));
    }
    if missed > 0 {
        text.push_str(&format!(
            ", {missed} of the rates or losses searched not found"
        ));
    }
    if predicted_loss > 0 {
        text.push_str(&format!(", {predicted_loss} with a predicted loss"));
    }
    if refused > 0 {
        text.push_str(&format!(", {refused} that the node does not support"));
    }
    let unjudged = each().filter(|pair| !counted(pair.0) && !is_refused(pair));
    let unjudged = unjudged.count();
    if unjudged > 0 {
        text.push_str(&format!(", {unjudged} without counted frames"));
    }
    text.push_str(&totals(file));
    if searched > 0 {
        text.push_str(&format!(
            " {} of the trials are of searches, which lose frames on purpose.",
            integer(searched as u64)
        ));
    }
    if let Some(limited) = limited_by_tester(file) {
        text.push_str(&format!(" {limited}"));
    }
    if file.interrupted {
        text.push_str(" The run ended before its plan was done.");
    }
    if file.observations.iter().any(Observation::is_emulated) {
        text.push_str(&format!(" {EMULATED}"));
    }
    text
}

/// The sentence on a run of which the node supports no trial; `None` for others.
pub fn supports_none(file: &ResultsFile) -> Option<String> {
    match file.observations.len() {
        _ if !file.observations.iter().all(unsupported) => None,
        0 => None,
        1 => Some("The node does not support the trial.".to_owned()),
        total => Some(format!("The node supports none of the {total} trials.")),
    }
}

/// In how many trials outside of searches a model predicts that frames are lost.
fn predicted_losses(file: &ResultsFile) -> usize {
    let is_lossy = |flow: &FlowObservation| {
        flow.loss_ratio.kind() == Some(Kind::Predicted) && flow.lost_share().is_some()
    };
    let each = file.observations.iter().zip(row::searched(file));
    each.filter(|(o, searched)| !searched && o.flows.iter().any(is_lossy))
        .count()
}

/// The verdict at the head of a page: the judgement that decides the exit status.
pub fn head(file: &ResultsFile) -> PageHead {
    if !judge(file).passed() {
        PageHead::NotClean
    } else if supports_none(file).is_some() {
        PageHead::NotJudged
    } else if limited_by_tester(file).is_some() {
        PageHead::TesterLimited
    } else if is_datasheet(file) {
        PageHead::Passed
    } else if file.observations.iter().any(counted) {
        PageHead::Clean
    } else {
        PageHead::NotJudged
    }
}

/// Whether nothing was wrong with a trial but what the tester's own queue dropped, or may have.
fn only_the_tester_dropped(o: &Observation) -> bool {
    let mut counts = o.flows.iter().filter_map(|flow| flow.counts.value());
    o.status == Status::Complete && !o.passed() && counts.all(Counts::is_clean_but_for_the_tester)
}

/// Trials outside of searches in which the tester and not the node was the limit.
pub fn tester_limited(file: &ResultsFile) -> usize {
    let searched = row::searched(file);
    let each = file.observations.iter().zip(searched);
    each.filter(|(o, searched)| !searched && o.tester.was_limit.value() == Some(&true))
        .count()
}

/// Rates that were searched and at which the tester could offer no more, or not even the smallest load.
pub fn goals_limited_by_tester(file: &ResultsFile) -> usize {
    let found = file.parts.iter().filter_map(|part| part.found.as_ref());
    let goals = found.flat_map(|found| match found {
        SearchOutcome::Rates(result) => &result.goals[..],
        SearchOutcome::LossCurve(_) | SearchOutcome::Bursts(_) => &[],
    });
    let of_tester = |goal: &&GoalResult| {
        goal.limited_by.value() == Some(&Limit::Tester) || goal.outcome == Outcome::TesterTooSlow
    };
    goals.filter(of_tester).count()
}

/// In how many trials and searched rates the tester was the limit, in a sentence; `None` where it was in none.
pub fn limited_by_tester(file: &ResultsFile) -> Option<String> {
    let places: Vec<String> = [
        (tester_limited(file), "trials"),
        (goals_limited_by_tester(file), "rates searched"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, of)| format!("in {} of the {of}", integer(count as u64)))
    .collect();
    (!places.is_empty()).then(|| {
        let places = places.join(" and ");
        format!("The tester was the limit {places}: the node may be faster.")
    })
}

/// Counted frames over all trials; nothing where none were counted.
fn totals(file: &ResultsFile) -> String {
    let (mut sent, mut damaged) = (0u64, 0u64);
    let mut lost = Loss { low: 0u64, high: 0 };
    let mut weakest = Kind::Measured;
    let flows = file.observations.iter().flat_map(|o| &o.flows);
    for flow in flows {
        let (Some(s), Some(c)) = (flow.sent_frames.value(), flow.counts.value()) else {
            continue;
        };
        if let Some(kind) = flow.counts.kind().filter(|kind| kind.is_of_node()) {
            weakest = weakest.max(kind);
            sent = sent.saturating_add(*s);
            lost = lost.plus(loss::frames(c));
            damaged = damaged.saturating_add(bad(c));
        }
    }
    if sent == 0 {
        return ".".to_owned();
    }
    format!(
        ": {} sent, {}, {} bad ({weakest}).",
        count(sent, "frame"),
        loss::in_words(lost),
        integer(damaged)
    )
}

/// One line on an observation, shown while a run goes on: size, load and direction, then its result. Plain text
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
    if let Some(options) = sheet::chosen_options(observation) {
        text.push_str(&format!(", {options}"));
    }
    let rows = row::rows(std::slice::from_ref(observation), false);
    let texts: Vec<String> = rows
        .iter()
        .map(|r| row_in_words(r, rows.len() > 1))
        .collect();
    text.push_str(": ");
    text.push_str(&texts.join("; "));
    match &observation.status {
        Status::Complete => {}
        Status::Partial { why } => text.push_str(&format!(" — PARTIAL: {why}")),
        Status::Void { why } => text.push_str(&format!(" — VOID: {why}")),
    }
    escape::line(&text)
}

fn row_in_words(row: &row::Row<'_>, named: bool) -> String {
    let mut text = if named {
        format!("{} ", row.direction)
    } else {
        String::new()
    };
    let mut shown = None;
    match row.sum(|f| &f.frames_per_s) {
        Field::Observed { value, kind } => {
            text.push_str(&format!("{} frames/s", format::frame_rate(value)));
            if let Some(of) = row.interval(|f| f.intervals.frames_per_s) {
                let ends = interval::ends(&of, format::frame_rate);
                text.push_str(&format!(" ({ends} {})", of.over.words()));
            }
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
    if let (Some(lost), Some(damaged)) = (row.lost().value(), row.count(bad).value()) {
        text.push_str(&format!(
            ", {}, {} bad",
            loss::in_words(*lost),
            integer(*damaged)
        ));
    }
    if let Some(kind) = shown {
        text.push_str(&format!(" ({})", row::kind(kind)));
    }
    text
}
